"""Forms of pages and ends of lists: each history is exact and has no problem."""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import pytest

from p2p_analytics.client import Client
from p2p_analytics.errors import PaginationError, TransportError
from p2p_analytics.history import load_history

if TYPE_CHECKING:
    from collections.abc import Callable

START = datetime(2019, 5, 1, tzinfo=UTC)
ME = {"data": {"balance": None, "user": {"id": "7", "display_name": "Me", "friends_count": 0}}}
Page = dict[str, object]


def payment(number: int, date: datetime, actor: str = "7", **fields: object) -> dict:
    """Return a payment in the wire form, without a zone as in the document."""
    return {
        "id": str(number), "status": "settled", "action": "pay", "amount": 5, "note": "n", "audience": "private",
        "date_created": f"{date:%Y-%m-%dT%H:%M:%S}", "date_completed": None,
        "actor": {"id": actor}, "target": {"type": "user", "user": {"id": "8"}},
    } | fields  # fmt: skip


class Request(NamedTuple):
    """Request for a page: the rest of the list, the page size, and links."""

    rows: list[dict]
    size: int
    link: str  # to the next page
    same: str  # to this page


def page(asked: Request, next_link: object) -> Page:
    """Return a page with a next link."""
    return {"data": asked.rows[: asked.size], "pagination": {"next": next_link}}


def end_with(end: Page) -> Callable[[Request], Page]:
    """Return a form with another pagination object on its last page."""
    return lambda asked: page(asked, asked.link) if len(asked.rows) > asked.size else {"data": asked.rows} | end


FORMS: dict[str, Callable[[Request], Page]] = {
    "next is null": end_with({"pagination": {"next": None}}),
    "next is empty": end_with({"pagination": {"next": ""}}),
    "next is missing": end_with({"pagination": {}}),
    "pagination is null": end_with({"pagination": None}),
    "pagination is missing": end_with({}),
    "an empty page after a full one": lambda asked: page(asked, asked.link if len(asked.rows) >= asked.size else None),
    "an empty page after the last one": lambda asked: page(asked, asked.link if asked.rows else None),
    "next repeats itself": lambda asked: page(asked, asked.link if len(asked.rows) > asked.size else asked.same),
    "next is never null": lambda asked: page(asked, asked.link),
    "never a next link": lambda asked: page(asked, None),
    "one item on a page": lambda asked: page(asked._replace(size=1), asked.link if len(asked.rows) > 1 else None),
    "one item on a page, and an empty one": lambda asked: page(
        asked._replace(size=1), asked.link if asked.rows else None
    ),
    "pages of uneven length": lambda asked: page(
        asked._replace(size=max(1, asked.size - len(asked.rows) % 7)), asked.link if asked.rows else None
    ),
}  # fmt: skip


def make_service(rows: list[dict], form: Callable[[Request], Page], cap: int, zone: str = "") -> Callable[..., object]:
    """Return the answers of a service that honours every filter; its payments are newest first."""

    def answer(path: str, parameters: dict[str, str]) -> object:
        if path != "/v1/payments":
            return ME if path == "/v1/me" else {"data": [], "pagination": None}
        before = parameters.get("before", "9")
        left = [row for row in rows if row["date_created"] < before]
        for name in ("action", "status", "actor"):
            if words := parameters.get(name):
                left = [r for r in left if (r["actor"]["id"] if name == "actor" else r[name]) in words.split(",")]
        size = min(int(parameters["limit"]), cap)
        last = (left[:size] or [{"date_created": before}])[-1]["date_created"]
        same = f"/v1/payments?limit={size}&before={before}"
        found = form(Request(left, size, f"/v1/payments?limit={size}&before={last}", same))
        return found | {"data": [row | {"date_created": row["date_created"] + zone} for row in found["data"]]}

    return answer


def client_of(start_service: Callable[..., object], answer: Callable[..., object], **options: object) -> Client:
    """Return a client of a scripted service."""
    return Client("token", base_url=start_service(answer).base_url, cache_dir=False, **options)


CASES = [
    *((form, 52 if form.startswith("one item") else 130) for form in FORMS),
    *((form, count) for form in ("next is null", "next is never null", "never a next link") for count in (100, 1, 0)),
]


@pytest.mark.parametrize(("form", "count"), CASES)
def test_every_form_of_a_list_is_read_to_its_end(start_service, form: str, count: int) -> None:
    """All payments, once, in order, by pagination and by a load, even if the last page has a next link."""
    rows = [payment(number, START + timedelta(days=3 * number, seconds=number)) for number in reversed(range(count))]
    client = client_of(start_service, make_service(rows, FORMS[form], 50, "Z"))
    assert [found.id for found in client.payments()] == [row["id"] for row in rows]
    history = load_history(client)
    assert list(history.payments["payment_id"]) == [row["id"] for row in rows]
    assert history.problems.empty


@pytest.mark.parametrize("form", ["next is null", "next is never null", "an empty page after a full one"])
def test_every_form_may_end_with_ties(start_service, form: str) -> None:
    """The oldest second of a list may hold several payments, and so may the only second."""
    for more in (0, 60):
        rows = [payment(100 + n, START + timedelta(days=n + 1)) for n in reversed(range(more))]
        rows += [payment(n, START, actor=str(20 + n)) for n in reversed(range(9))]
        client = client_of(start_service, make_service(rows, FORMS[form], 50))
        assert sorted(found.id for found in client.payments()) == sorted(row["id"] for row in rows)


def test_a_crowded_second_without_proof_is_an_error(start_service) -> None:
    """Sixty unknown people in one second: the client cannot request hidden ones, and raises or reports a problem."""
    rows = [payment(n, START, actor=str(20 + n)) for n in reversed(range(60))] + [
        payment(99, START - timedelta(days=1))
    ]
    client = client_of(start_service, make_service(rows, FORMS["next is null"], 20))
    with pytest.raises(PaginationError, match=r"share one second.* seen nowhere else.*\(2019-05-01T00:00:00Z\)"):
        client.payments()
    with pytest.raises(PaginationError, match='on_bad_record="report"'):
        load_history(client)
    with pytest.raises(PaginationError) as caught:
        load_history(client, privacy=True)
    assert "2019" not in str(caught.value)
    history = load_history(client, on_bad_record="report")
    (problem,) = history.problems.loc[history.problems["code"] == "incomplete", "problem"]
    assert "others may be missing" in problem
    assert len(history.payments) == 21


def test_a_repeated_id_is_returned_once(start_service) -> None:
    """On one page or on two; different contents are a problem of the payment."""
    rows = [payment(n, START + timedelta(days=n)) for n in reversed(range(120))]
    rows[3:3] = [rows[3], rows[3] | {"note": "other"}]
    rows.insert(90, payment(100, START + timedelta(days=31, hours=1), amount=7))
    client = client_of(start_service, make_service(rows, FORMS["next is null"], 50))
    ids = [str(n) for n in reversed(range(120))]
    assert [found.id for found in client.payments()] == ids
    history = load_history(client)
    assert list(history.payments["payment_id"]) == ids
    assert sorted(history.problems["payment_id"]) == ["100", "116"]
    assert set(history.problems["code"]) == {"unexpected"}
    assert set(history.problems["problem"]) == {"listed twice with different contents; one is kept"}


def test_a_pending_payment_may_settle_between_pages(start_service) -> None:
    """Settling does not count as different contents."""
    rows = [payment(n, START + timedelta(days=n), status="pending") for n in reversed(range(60))]
    answer = make_service(rows, FORMS["next is null"], 50)

    def answer_settled(path: str, parameters: dict[str, str]) -> object:
        found = answer(path, parameters)
        rows[:] = [row | {"status": "settled"} for row in rows] if path == "/v1/payments" else rows
        return found

    history = load_history(client_of(start_service, answer_settled))
    assert len(history.payments) == 60
    assert history.problems.empty


def answer_endlessly(_path: str, parameters: dict[str, str]) -> object:
    """Return fifty payments before any bound, one per second."""
    if _path == "/v1/me":
        return ME
    if "friends" in _path:
        first = int(parameters.get("after", "0"))
        return {"data": [{"id": str(first + n)} for n in range(1, 51)], "pagination": {"next": f"?after={first + 50}"}}
    until = datetime.fromisoformat(parameters.get("before", "2024-01-01T00:00:00")).replace(tzinfo=UTC)
    dates = [until - timedelta(seconds=n + 1) for n in range(50)]
    data = [payment(int(date.timestamp()), date) for date in dates]
    return {"data": data, "pagination": {"next": f"/v1/payments?before={dates[-1]:%Y-%m-%dT%H:%M:%S}"}}


@pytest.mark.parametrize("work", [Client.payments, Client.friends, load_history], ids=lambda work: work.__name__)
def test_an_endless_list_stops_at_the_limit(start_service, work: Callable[[Client], object]) -> None:
    """The error names the setting."""
    client = client_of(start_service, answer_endlessly, max_payments=1_000)
    with pytest.raises(PaginationError, match=r"more than 1,000 .*max_payments="):
        work(client)


@pytest.mark.parametrize("threads", [0, 5])
def test_a_process_without_more_threads_raises(start_service, monkeypatch, threads: int) -> None:
    """Whichever thread cannot start, the client raises its own error, and nothing hangs."""
    rows = [payment(n, START + timedelta(days=3 * n)) for n in reversed(range(900))]
    answers = start_service(make_service(rows, FORMS["next is null"], 50))
    client = Client("token", base_url=answers.base_url, cache_dir=False)
    client._transport._sleep = lambda _seconds: None
    real, started = threading.Thread.start, []

    def start(thread: threading.Thread) -> None:
        if thread.name.startswith("p2p-load") or isinstance(thread, threading.Timer):
            started.append(thread)
            if len(started) > threads:
                raise RuntimeError("can't start new thread")
        real(thread)

    monkeypatch.setattr(threading.Thread, "start", start)
    with pytest.raises(TransportError):
        load_history(client)


@pytest.mark.parametrize(("form", "cap"), [("next is null", 20), ("never a next link", 50), ("next is never null", 20)])
def test_the_oldest_second_may_be_crowded(start_service, form: str, cap: int) -> None:
    """The list is complete, with or without next links."""
    rows = [payment(1000 + n, START + timedelta(hours=5 * n + 1), actor=str(20 + n % 30)) for n in reversed(range(120))]
    rows += [payment(n, START, actor=str(20 + n % 30)) for n in reversed(range(80))]
    client = client_of(start_service, make_service(rows, FORMS[form], cap))
    expected = sorted(row["id"] for row in rows)
    assert sorted(found.id for found in client.payments()) == expected
    assert sorted(load_history(client).payments["payment_id"]) == expected


def test_a_record_without_an_id_does_not_hide_a_crowded_second(start_service) -> None:
    """The record counts towards the length of its page, so the page still counts as full."""
    rows = [payment(1000 + n, START + timedelta(hours=5 * n + 1), actor=str(20 + n % 30)) for n in reversed(range(60))]
    rows += [payment(n, START, actor=str(20 + n % 30)) for n in reversed(range(80))]
    rows[-3] = rows[-3] | {"id": None}
    rows[62] = rows[62] | {"id": None}
    client = client_of(start_service, make_service(rows, FORMS["next is null"], 50))
    history = load_history(client, on_bad_record="report")
    assert set(history.payments["payment_id"]) == {row["id"] for row in rows if row["id"]}


def test_a_payment_of_the_year_1_is_returned(start_service) -> None:
    """The bound of all time does not exclude it."""
    rows = [payment(2, START), payment(1, START, date_created="0001-01-01T00:00:00")]
    client = client_of(start_service, make_service(rows, FORMS["next is null"], 50))
    assert [found.id for found in client.payments()] == ["2", "1"]
    assert list(load_history(client).payments["payment_id"]) == ["2", "1"]
