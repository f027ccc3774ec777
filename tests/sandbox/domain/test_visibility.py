"""Visibility of payments by party, friendship and audience."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from p2p_analytics.sandbox.storage.rows import Payment

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
        drafts += [
            {"date_created": own.now, "email": "old@example.net", "status": "expired", "audience": "public"},
            {"date_created": own.now, "phone": "15555550199", "status": "pending", "audience": "public"},
        ]
        ids = own.add_payments(actor, drafts)
        people = {"actor": actor, "target": target, "friend": friend, "stranger": stranger}
        own.store.add_payments([_refund_of(own.store.payment(int(ids[3])), own.store.next_payment_id())])
        yield own, people, dict(zip(("public", "friends", "private", "email", "phone"), ids, strict=True))


def _refund_of(payment: Payment, payment_id: int) -> Payment:
    """Return a refund, which only the parties may see."""
    return payment._replace(
        payment_id=payment_id, status="settled", audience="private", target_type="user", target_email=None,
        target_user_id=payment.actor_id, refund_of=payment.payment_id,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("who", "sees"),
    [
        ("actor", ["public", "friends", "private"]), ("target", ["public", "friends", "private"]),
        ("friend", ["public", "friends"]), ("stranger", ["public"]),
    ],
)  # fmt: skip
def test_single_payment(ask: Asking, party: tuple[Any, ...], who: str, sees: list[str]) -> None:
    """Parties see their payment; a friend of either sees audience friends, every user sees public."""
    own, people, ids = party
    client = ask(people[who], on=own)
    for audience in ("public", "friends", "private"):
        found, missing = client.get(f"/payments/{ids[audience]}"), client.get("/payments/12345678901234567")
        if audience in sees:
            assert found.json()["data"]["audience"] == audience
        else:
            assert (found.status_code, found.content) == (404, missing.content)


def test_what_others_see_of_a_refunded_payment(ask: Asking, party: tuple[Any, ...]) -> None:
    """Only the sender of a public payment to an address sees the address and the refund; the fields stay."""
    own, people, ids = party
    for who in ("actor", "target", "friend", "stranger"):
        client, is_party = ask(people[who], on=own), who == "actor"
        by_email, by_phone = (client.get_body(f"/payments/{ids[one]}")["data"] for one in ("email", "phone"))
        hidden = {"user": None, "email": None, "phone": None}
        address = {"email": "old@example.net"} if is_party else {}
        assert by_email["target"] == hidden | {"type": "email"} | address
        assert by_phone["target"] == hidden | {"type": "phone"} | ({"phone": "15555550199"} if is_party else {})
        assert (by_email["refund"] is not None) is is_party


def test_lists_hold_only_ones_own(ask: Asking, party: tuple[Any, ...]) -> None:
    """GET /payments lists only payments of the token's owner, for any audience of other payments."""
    own, people, ids = party
    for who, listed in (("actor", 5), ("target", 3), ("friend", 0), ("stranger", 0)):
        found = {item["id"] for item in ask(people[who], on=own).list_payments()}
        assert len(found & set(ids.values())) == listed
