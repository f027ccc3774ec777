"""Which town a sandbox has: what makes it, and how it comes into the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.town import build as town
from p2p_analytics.sandbox.town.people import TEST_USER

if TYPE_CHECKING:
    from datetime import datetime

    from p2p_analytics.sandbox.storage.store import Store


class Plan(NamedTuple):
    """What makes a town what it is: the same plan, the same town."""

    seed: int
    people: int
    years: int
    now: datetime

    def settings(self) -> dict[str, str]:
        """Return the plan as the database keeps it."""
        return {
            "seed": str(self.seed), "people": str(self.people), "years": str(self.years), "now": self.now.isoformat(),
            "books": "1",
        }  # fmt: skip

    def build(self) -> town.Town:
        """Return the town."""
        return town.build(self.seed, people=self.people, years=self.years, now=self.now)

    def move_in(self, store: Store, built: town.Town, *, anew: bool = False) -> None:
        """Put the built town, and the fixed test user, into a new database; with `anew` into any, in its place."""
        store.create(
            {**self.settings(), "viewer": built.people[0].username, "test_user": str(TEST_USER.user_id)},
            [*built.people, TEST_USER],
            built.friendships,
            built.payments,
            trusts=town.trusts(built),
            banks=[TEST_USER.user_id],  # its charges settle whatever it holds
            now_us=town.microseconds(self.now),
            anew=anew,
        )

    def settle(self, store: Store) -> None:
        """Make sure that the database holds the town.

        Raises
        ------
        SettingError
            It holds another one.
        """
        if not store.settings():
            self.move_in(store, self.build())
        found, wanted = store.settings(), self.settings()
        if any(found.get(name) != value for name, value in wanted.items()):
            made = ", ".join(f"{name} {found.get(name)}" for name in wanted)
            raise SettingError(f"{store.path} holds another town ({made}); choose another file or the same settings.")
        store.check()
