"""The plan of a town: the settings that determine it, and its entry into the database."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from p2p_analytics.sandbox.domain.test_user import TEST_USER
from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.sandbox.town import build as town
from p2p_analytics.sandbox.town.timeline import to_microseconds


class Plan(NamedTuple):
    """Settings that determine a town: the same plan produces the same town."""

    seed: int
    people: int
    years: int
    now: datetime
    series: bool = False

    def settings(self) -> dict[str, str]:
        """Return the plan in the form that the database stores."""
        return {
            "seed": str(self.seed), "people": str(self.people), "years": str(self.years), "now": self.now.isoformat(),
            "books": "1", "series": str(int(self.series)),
        }  # fmt: skip

    def build(self) -> town.Town:
        """Return the town."""
        return town.build(self.seed, people=self.people, years=self.years, now=self.now, series=self.series)

    def move_in(self, store: Store, built: town.Town, *, replace: bool = False) -> None:
        """Write the built town and the test user to a new database, or with `replace` over the content of any."""
        store.create(
            {**self.settings(), "viewer": built.people[0].username, "test_user": str(TEST_USER.user_id)},
            [*built.people, TEST_USER],
            built.friendships,
            built.payments,
            trusts=town.trusts(built),
            banks=[TEST_USER.user_id],  # charges to the test user settle at any balance
            now_us=to_microseconds(self.now),
            replace=replace,
        )

    def settle(self, store: Store) -> None:
        """Create the town in a new database, or check that the database holds it.

        Raises
        ------
        SettingError
            The database holds another town, or its tables were altered.
        """
        if not store.settings():
            self.move_in(store, self.build())
        found, wanted = {"series": "0", **store.settings()}, self.settings()  # older files lack it
        if any(found.get(name) != value for name, value in wanted.items()):
            made = ", ".join(f"{name} {found.get(name)}" for name in wanted)
            raise SettingError(f"{store.path} holds another town ({made}); choose another file or the same settings.")
        store.check()
