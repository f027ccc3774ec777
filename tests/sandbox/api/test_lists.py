"""Paging, filters, order and limits of the two lists."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from p2p_analytics.sandbox import SandboxServer

NOON = datetime(2024, 3, 1, 12, tzinfo=UTC)
MAYA, NOOR, TOM = "maya-lindqvist", "noor-haddad", "tom-ohara"
SHAPES = (("pay", "settled"), ("charge", "settled"), ("pay", "failed"), ("charge", "pending"), ("charge", "cancelled"))


@pytest.fixture(scope="module")
def old_town() -> Iterator[SandboxServer]:
    """Run a town with 100 payments in the far past, one an hour, between three people."""
    with SandboxServer(years=1) as running:
        drafts = [
            {
                "payment_id": str(5_000 + number), "date_created": NOON + timedelta(hours=number),
                "actor": (MAYA, NOOR, TOM)[number % 3],
                "action": SHAPES[number % 5][0], "status": SHAPES[number % 5][1],
            }
            for number in range(100)
        ]  # fmt: skip
        running.add_payments(MAYA, drafts)
        yield running


CRAFTED = {"after": "2024-03-01T11:59:59", "before": "2024-03-06"}


def numbers(body: dict[str, Any]) -> list[int]:
    """Return which of its payments a page holds."""
    return [int(item["id"]) - 5_000 for item in body["data"]]


def test_default_and_largest_page(ask, old_town) -> None:
    """20 items by default, 50 at most, newest first; next names the size in force, also where it was clamped."""
    me = ask(on=old_town)
    for limit, size in ((None, 20), (1, 1), (7, 7), ("050", 50), (51, 50), (100_000, 50), ("9" * 3_000, 50)):
        body = me.get_body("/payments", **({} if limit is None else {"limit": limit}), **CRAFTED)
        assert numbers(body) == list(range(99, 99 - size, -1))
        assert parse_qs(urlsplit(body["pagination"]["next"]).query)["limit"] == [str(size)]


def test_a_limit_that_is_none(ask) -> None:
    """A limit below one or not a whole number is refused."""
    me = ask()
    for path in ("/payments", f"/users/{me.id}/friends"):
        for limit in ("0", "-1", "ten", "1.5", "1e1", "٣", "0x10", "1\x00"):
            assert me.get_refusal(path, limit=limit) == (400, "400")


def test_both_bounds_exclude_their_instant(ask, old_town) -> None:
    """Before and after leave out a payment of that very instant."""
    body = ask(on=old_town).get_body("/payments", after="2024-03-01T13:00:00Z", before="2024-03-01T17:00:00Z")
    assert numbers(body) == [4, 3, 2]


def test_every_spelling_of_a_bound(ask, old_town) -> None:
    """A bound may have Z, no zone (UTC), a fraction, an offset, or be a date (its first moment)."""
    me = ask(on=old_town)
    for text in (
        "2024-03-02T00:00:00Z", "2024-03-02T00:00:00", "2024-03-02T00:00:00.000", "2024-03-02 00:00:00", "2024-03-02",
        "2024-03-02T02:00:00+02:00", "2024-03-02T02:00:00+0200", "2024-03-01T19:00:00-05:00",
        "2024-03-02T02:00:00 02:00",
    ):  # fmt: skip
        assert numbers(me.get_body("/payments", after="2024-03-01T20:00:00", before=text)) == [11, 10, 9]


@pytest.mark.parametrize("name", ["before", "after"])
def test_no_datetime(ask, name: str) -> None:
    """Text that is not a datetime, or not an existing one, is refused."""
    me = ask()
    for text in (
        "yesterday", "1709294400", "2024-02-30", "2024-13-01", "0000-00-00", "2024-03-01T25:00:00Z",
        "2024-03-01T12:00:60Z", "2024-03-01T12:00:00+99:99", "2024-03-01T12:00:00-24:00", "2024-03-01T12:00:00+01:60",
        "2024-03-01T12", "99999-01-01", "2024-03-01T12:00:00ZZ", "\u0662\u0660\u0662\u0664-03-01", "2024-03-01\x00",
    ):  # fmt: skip
        assert me.get_refusal("/payments", **{name: text}) == (400, "400")


@pytest.mark.parametrize(
    ("filters", "keep"),
    [
        ({"action": "pay"}, lambda n: n % 5 in (0, 2)),
        ({"action": "charge"}, lambda n: n % 5 in (1, 3, 4)),
        ({"status": "pending"}, lambda n: n % 5 == 3),
        ({"status": "expired"}, lambda n: False),
        ({"status": "failed,cancelled"}, lambda n: n % 5 in (2, 4)),
        ({"status": " failed , cancelled,"}, lambda n: n % 5 in (2, 4)),
        ({"status": "settled", "action": "charge"}, lambda n: n % 5 == 1),
        ({"actor": "{maya}"}, lambda n: n % 3 == 0),
        ({"actor": "{noor},{tom}"}, lambda n: n % 3 != 0),
        ({"actor": "{noor}", "status": "settled", "action": "pay"}, lambda n: n % 3 == 1 and n % 5 == 0),
        ({"actor": "999"}, lambda n: False),
        ({"actor": "9199999999999999999"}, lambda n: False),
        ({"action": "", "status": "", "actor": ""}, lambda n: True),
        ({"offset": "3", "metadata": "x"}, lambda n: True),
    ],
)
def test_filters_on_every_page(ask, old_town, filters: dict[str, str], keep: Callable[[int], bool]) -> None:
    """Filters select, together and with several values; blank and unknown ones do nothing; next carries them all."""
    me = ask(on=old_town)
    ids = {name.split("-")[0]: me_id for me_id, name, _ in old_town.people}
    filters = {name: value.format(**ids) for name, value in filters.items()}
    page, found = me.get_body("/payments", limit=7, **filters, **CRAFTED), []
    while True:
        assert len(page["data"]) <= 7
        found += numbers(page)
        if page["pagination"]["next"] is None:
            break
        page = me.follow(page)
    assert found == [number for number in range(99, -1, -1) if keep(number)]


def test_the_form_of_the_next_link(ask, old_town) -> None:
    """Next is absolute, from the service's own address, without the token, with limit, filters and a whole second."""
    me = ask(on=old_town)
    noor = next(one.user_id for one in old_town.people if one.username == NOOR)
    for headers in ({}, {"Host": "localhost:1"}):
        me.session.headers.update(headers)
        asked = {"limit": 3, "status": "settled,failed", "actor": noor, "action": "pay", "after": "2024-03-01"}
        link = me.get_body("/payments", before="2024-03-05T00:00:00.5Z", junk="1", **asked)["pagination"]["next"]
        assert link.startswith(f"{old_town.base_url}/payments?")
        assert "token" not in link
        assert me.token not in link
        query = parse_qs(urlsplit(link).query, strict_parsing=True)
        before = query.pop("before")
        assert before == ["2024-03-04T07:00:00"]
        assert query == {name: [str(value)] for name, value in asked.items()}


def test_last_page(ask, old_town) -> None:
    """On the last page next is null; a list without items is one page."""
    me = ask(on=old_town)
    assert me.get_body("/payments", **{**CRAFTED, "after": "2024-03-05T03:00:00"})["pagination"] == {"next": None}
    assert me.get_body("/payments", before="1999-01-01") == {"pagination": {"next": None}, "data": []}
    exactly = me.get_body("/payments", after="2024-03-01T11:00:00", before="2024-03-01T15:00:00", limit=3)
    assert numbers(exactly) == [2, 1, 0]
    assert exactly["pagination"] == {"next": None}


def test_ties_of_one_second(ask, old_town) -> None:
    """Payments of one instant are ordered by their ids as numbers; the documented next link passes over such a tie."""
    me, noon = ask(on=old_town), datetime(2023, 3, 1, 12, tzinfo=UTC)
    ids = ["9", "10", "9007199254740993", "9007199254740992"]
    old_town.add_payments(MAYA, [{"date_created": noon, "payment_id": one} for one in ids])
    old_town.add_payments(MAYA, [{"date_created": noon - timedelta(days=1), "payment_id": "8"}])
    first = me.get_body("/payments", before="2023-03-02", limit=3)
    overlapping = me.get_body("/payments", before="2023-03-01T12:00:01", limit=50)
    assert [item["id"] for item in first["data"]] == ["9007199254740993", "9007199254740992", "10"]
    assert [item["id"] for item in me.follow(first)["data"]] == ["8"]
    assert [item["id"] for item in overlapping["data"]] == ["9007199254740993", "9007199254740992", "10", "9", "8"]


def test_amounts_are_exact_numbers(ask, old_town) -> None:
    """An amount is a JSON number with the very digits of its cents, whatever a binary float would make of them."""
    me, cents = ask(on=old_town), (1, 10, 29, 30, 115, 1_005, 12_345_678_901_234_567)
    ids = old_town.add_payments(MAYA, [{"date_created": old_town.now, "amount_cents": amount} for amount in cents])
    texts = [me.get(f"/payments/{one}").text for one in ids]
    written = [text.partition('"amount":')[2].partition(",")[0] for text in texts]
    assert written == ["0.01", "0.10", "0.29", "0.30", "1.15", "10.05", "123456789012345.67"]


def test_unknown_words_are_refused(ask) -> None:
    """A word outside the document's closed lists, or an actor that is no id, is refused, never ignored."""
    me = ask()
    for name, words in (
        ("action", ("give", "pay,charge", "PAY")),
        ("status", ("done", "settled,done")),
        ("actor", ("maya", "1,x", "-1", "1\x00", "9223372036854775808")),
    ):
        assert [me.get_refusal("/payments", **{name: word}) for word in words] == [(400, "400")] * len(words)


@pytest.mark.parametrize(
    ("actors", "filters"),
    [(64, {}), (64, {"action": "pay", "status": "settled"}), (32, {"status": "settled"}),
     (8, {"status": "settled,pending,failed,cancelled"}), (64, {"status": "settled,pending,failed,expired,cancelled"})],
)  # fmt: skip
def test_too_many_combinations(ask, actors: int, filters: dict[str, str]) -> None:
    """Up to 64 combinations of actor, action and status are served, one more is refused; a filter of all is none."""
    me = ask()
    assert me.get("/payments", actor=",".join(map(str, range(1, actors + 1))), **filters).status_code == 200
    assert me.get_refusal("/payments", actor=",".join(map(str, range(1, actors + 2))), **filters) == (400, "400")


def test_a_parameter_given_twice(ask, default_server) -> None:
    """A documented parameter that is given twice is refused, because it is ambiguous."""
    me = ask()
    for name, values in (("status", ("settled", "pending")), ("limit", ("1", "2")), ("access_token", (me.token, "x"))):
        assert me.get_refusal("/payments", **{name: values}) == (400, "400")


def test_friends_ascend_and_next_has_after(ask, default_server) -> None:
    """Friends are ordered by numeric id; next carries `after`, the last id, and limit; following it skips no friend."""
    me, mine = ask(), default_server.people[0].user_id
    everyone = [item["id"] for item in me.get_body(f"/users/{mine}/friends", limit=50)["data"]]
    assert everyone == sorted(everyone, key=int)
    assert len({len(one) for one in everyone}) > 1, "ids of several lengths make this test worth something"
    page, found = me.get_body(f"/users/{mine}/friends", limit=2), []
    while True:
        found += [item["id"] for item in page["data"]]
        link = page["pagination"]["next"]
        if link is None:
            break
        assert link == f"{default_server.base_url}/users/{mine}/friends?after={found[-1]}&limit=2"
        page = me.follow(page)
    assert found == everyone
    exactly = me.get_body(f"/users/{mine}/friends", limit=len(everyone))
    assert (len(exactly["data"]), exactly["pagination"]) == (len(everyone), {"next": None})


def test_friends_before(ask, default_server) -> None:
    """Before keeps the user ids less than it, as numbers, on the first page and on the next ones."""
    me, mine = ask(), default_server.people[0].user_id
    everyone = [item["id"] for item in me.get_body(f"/users/{mine}/friends", limit=50)["data"]]
    page = me.get_body(f"/users/{mine}/friends", before=everyone[-1], limit=50)
    assert [item["id"] for item in page["data"]] == everyone[:-1]
    link = me.get_body(f"/users/{mine}/friends", before=everyone[-1], limit=1)["pagination"]["next"]
    assert parse_qs(urlsplit(link).query) == {"after": [everyone[0]], "limit": ["1"], "before": [everyone[-1]]}
    assert me.get_body(f"/users/{mine}/friends", before="9" * 3_000)["data"] != []
    assert me.get_refusal(f"/users/{mine}/friends", before="x") == (400, "400")
