"""Who sees which payment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Asking = Callable[..., Any]


@pytest.fixture(scope="module")
def party() -> Iterator[tuple[SandboxServer, dict[str, str], dict[str, str]]]:
    """Run a town with an actor, a target, a friend of the target only, and a stranger; a payment of each audience."""
    with SandboxServer(years=1) as own:
        names = {one.user_id: one.username for one in own.people}
        friends = {
            name: {names[str(one.user_id)] for one in own.store.friends(int(key), after=0, before=2**62, limit=99)}
            for key, name in names.items()
        }
        actor, target, friend, stranger = next(
            (actor, target, friend, stranger)
            for actor in friends
            for target in friends
            for friend in friends[target] - friends[actor] - {actor}
            for stranger in friends
            if stranger not in friends[actor] | friends[target] | {actor, target}
        )
        drafts = [
            {"date_created": own.now, "target": target, "audience": audience}
            for audience in ("public", "friends", "private")
        ]
        ids = own.add_payments(actor, drafts)
        people = {"actor": actor, "target": target, "friend": friend, "stranger": stranger}
        yield own, people, dict(zip(("public", "friends", "private"), ids, strict=True))


@pytest.mark.parametrize(
    ("who", "audience", "sees"),
    [
        ("actor", "public", True), ("actor", "friends", True), ("actor", "private", True),
        ("target", "public", True), ("target", "friends", True), ("target", "private", True),
        ("friend", "public", True), ("friend", "friends", True), ("friend", "private", False),
        ("stranger", "public", True), ("stranger", "friends", False), ("stranger", "private", False),
    ],
)  # fmt: skip
def test_single_payment(ask: Asking, party: tuple[Any, ...], who: str, audience: str, sees: bool) -> None:  # noqa: FBT001
    """Parties see their payment; others by its audience: public all, friends those of either party, private nobody."""
    own, people, ids = party
    asker = ask(people[who], on=own)
    if sees:
        assert asker.ok(f"/payments/{ids[audience]}")["data"]["audience"] == audience
    else:
        assert asker.refused(f"/payments/{ids[audience]}") == (404, "283")
        hidden, missing = (asker.get(f"/payments/{one}").content for one in (ids[audience], "12345678901234567"))
        assert hidden == missing


def test_lists_hold_only_ones_own(ask: Asking, party: tuple[Any, ...]) -> None:
    """GET /payments lists what the token's owner takes part in, whatever the audience of the rest."""
    own, people, ids = party
    for who, listed in (("actor", 3), ("target", 3), ("friend", 0), ("stranger", 0)):
        found = {item["id"] for item in ask(people[who], on=own).all_payments()}
        assert len(found & set(ids.values())) == listed


def test_every_listed_payment_names_its_owner(ask: Asking, server: SandboxServer) -> None:
    """Each listed payment has the token's owner as its actor or its target."""
    for one in server.people[:3]:
        for item in ask(one.username).all_payments():
            target = item["target"]["user"] or {"id": None}
            assert one.user_id in (item["actor"]["id"], target["id"])
