"""Visibility of payments by party, friendship and audience."""

from collections.abc import Iterator

import pytest

from p2p_analytics.sandbox import SandboxServer


@pytest.fixture(scope="module")
def party() -> Iterator[tuple[SandboxServer, dict[str, str], dict[str, str]]]:
    """Run a town with an actor, a target, a friend of the target only, and a stranger; a payment of each audience."""
    with SandboxServer(people=4, years=1) as own:
        people = dict(zip(("actor", "target", "friend", "stranger"), own.people, strict=True))
        pair = int(people["target"].user_id), int(people["friend"].user_id)
        with own.store.writing() as connection:
            connection.execute("DELETE FROM friendships")
            connection.executemany("INSERT INTO friendships VALUES (?, ?)", [pair, pair[::-1]])
        names = {who: person.username for who, person in people.items()}
        drafts = {one: {"target": names["target"], "audience": one} for one in ("public", "friends", "private")}
        drafts["email"] = {"email": "old@example.net", "status": "expired", "audience": "public"}
        drafts["phone"] = {"phone": "15555550199", "status": "pending", "audience": "public"}
        ids = own.add_payments(names["actor"], [{"date_created": own.now, **draft} for draft in drafts.values()])
        expired = own.store.payment(int(ids[3]))
        own.store.add_payments([expired.build_refund(own.store.next_payment_id(), expired.created_us)])
        yield own, names, dict(zip(drafts, ids, strict=True))


@pytest.mark.parametrize(
    ("who", "sees"),
    [
        ("actor", ["public", "friends", "private"]), ("target", ["public", "friends", "private"]),
        ("friend", ["public", "friends"]), ("stranger", ["public"]),
    ],
)  # fmt: skip
def test_single_payment(ask, party, who: str, sees: list[str]) -> None:
    """Parties see their payment; a friend of either sees audience friends, every user sees public."""
    own, people, ids = party
    client = ask(people[who], on=own)
    for audience in ("public", "friends", "private"):
        found, missing = client.get(f"/payments/{ids[audience]}"), client.get("/payments/12345678901234567")
        if audience in sees:
            assert found.json()["data"]["audience"] == audience
        else:
            assert (found.status_code, found.content) == (404, missing.content)


def test_what_others_see_of_a_refunded_payment(ask, party) -> None:
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


def test_lists_hold_only_ones_own(ask, party) -> None:
    """GET /payments lists only payments of the token's owner, for any audience of other payments."""
    own, people, ids = party
    for who, listed in (("actor", 5), ("target", 3), ("friend", 0), ("stranger", 0)):
        found = {item["id"] for item in ask(people[who], on=own).get_body("/payments", limit=50)["data"]}
        assert len(found & set(ids.values())) == listed
