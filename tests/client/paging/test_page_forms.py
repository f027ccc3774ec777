"""Forms of pages and ends of lists: each history is exact and has no problem."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import pytest

from p2p_analytics.client import Client
from p2p_analytics.errors import PaginationError, TransportError
from p2p_analytics.history import load_history
from support.connections import client_to

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


def list_ids(rows: list[dict]) -> list[str]:
    """Return the ids of payments, sorted as text."""
    return sorted(row["id"] for row in rows)


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
}


def make_service(rows: list[dict], form: str = "next is null", cap: int = 50, zone: str = "") -> Callable[..., object]:
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
        found = FORMS[form](Request(left, size, f"/v1/payments?limit={size}&before={last}", same))
        return found | {"data": [row | {"date_created": row["date_created"] + zone} for row in found["data"]]}

    return answer


@pytest.mark.fault("read")
@pytest.mark.parametrize(
    ("form", "count"),
    [
        *((form, 52 if form.startswith("one item") else 130) for form in FORMS),
        *((form, n) for form in ("next is null", "next is never null", "never a next link") for n in (100, 1, 0)),
    ],
)
def test_every_form_of_a_list_is_read_to_its_end(start_service, form: str, count: int) -> None:
    """All payments, once, in order, by pagination and by a load, even if the last page has a next link."""
    rows = [payment(number, START + timedelta(days=3 * number, seconds=number)) for number in reversed(range(count))]
    client = client_to(start_service(make_service(rows, form, zone="Z")).base_url)
    assert [found.id for found in client.payments()] == [row["id"] for row in rows]
    history = load_history(client)
    assert list(history.payments["payment_id"]) == [row["id"] for row in rows]
    assert history.problems.empty


@pytest.mark.parametrize(
    ("form", "cap", "newer", "tied"),
    [
        ("next is null", 50, 0, 9), ("next is never null", 50, 60, 9), ("an empty page after a full one", 50, 60, 9),
        ("next is null", 20, 120, 80), ("never a next link", 50, 120, 80), ("next is never null", 20, 120, 80),
    ],
)  # fmt: skip
def test_the_oldest_second_may_hold_several_payments(start_service, form: str, cap: int, newer: int, tied: int) -> None:
    """Some, or more than a page holds; the list is complete, with or without next links."""
    rows = [payment(1000 + n, START + timedelta(hours=5 * n + 1), actor=str(20 + n % 30)) for n in range(newer)][::-1]
    rows += [payment(n, START, actor=str(20 + n % 30)) for n in reversed(range(tied))]
    client = client_to(start_service(make_service(rows, form, cap)).base_url)
    assert sorted(found.id for found in client.payments()) == list_ids(rows)
    assert sorted(load_history(client).payments["payment_id"]) == list_ids(rows)


def test_a_crowded_second_without_proof_is_an_error(start_service) -> None:
    """Sixty unknown people in one second: the client cannot request hidden ones, and raises or reports a problem."""
    rows = [payment(n, START, actor=str(20 + n)) for n in reversed(range(60))]
    rows.append(payment(99, START - timedelta(days=1)))
    client = client_to(start_service(make_service(rows, cap=20)).base_url)
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


def test_a_record_without_an_id_does_not_hide_a_crowded_second(start_service) -> None:
    """The record counts towards the length of its page, so the page still counts as full."""
    rows = [payment(1000 + n, START + timedelta(hours=5 * n + 1), actor=str(20 + n % 30)) for n in reversed(range(60))]
    rows += [payment(n, START, actor=str(20 + n % 30)) for n in reversed(range(80))]
    rows[-3], rows[62] = rows[-3] | {"id": None}, rows[62] | {"id": None}
    history = load_history(client_to(start_service(make_service(rows)).base_url), on_bad_record="report")
    assert set(history.payments["payment_id"]) == {row["id"] for row in rows if row["id"]}


def test_a_repeated_id_is_returned_once(start_service) -> None:
    """On one page or on two; different contents are a problem of the payment."""
    rows = [payment(n, START + timedelta(days=n)) for n in reversed(range(120))]
    ids = [row["id"] for row in rows]
    rows[3:3] = [rows[3], rows[3] | {"note": "other"}]
    rows.insert(90, payment(100, START + timedelta(days=31, hours=1), amount=7))
    client = client_to(start_service(make_service(rows)).base_url)
    assert [found.id for found in client.payments()] == ids
    history = load_history(client)
    assert list(history.payments["payment_id"]) == ids
    text = "listed twice with different contents; one is kept"
    problems = history.problems[["payment_id", "code", "problem"]].sort_values("payment_id")
    assert problems.to_numpy().tolist() == [["100", "unexpected", text], ["116", "unexpected", text]]


def test_a_pending_payment_may_settle_between_pages(start_service) -> None:
    """Settling does not count as different contents."""
    rows = [payment(n, START + timedelta(days=n), status="pending") for n in reversed(range(60))]
    answer = make_service(rows)

    def answer_settled(path: str, parameters: dict[str, str]) -> object:
        found = answer(path, parameters)
        rows[:] = [row | {"status": "settled"} for row in rows] if path == "/v1/payments" else rows
        return found

    history = load_history(client_to(start_service(answer_settled).base_url))
    assert (len(history.payments), len(history.problems)) == (60, 0)


def answer_endlessly(path: str, parameters: dict[str, str]) -> object:
    """Return fifty payments before any bound, one per second, or fifty more friends."""
    if path == "/v1/me":
        return ME
    if "friends" in path:
        first = int(parameters.get("after", "0"))
        return {"data": [{"id": str(first + n)} for n in range(1, 51)], "pagination": {"next": f"?after={first + 50}"}}
    until = datetime.fromisoformat(parameters.get("before", "2024-01-01T00:00:00")).replace(tzinfo=UTC)
    dates = [until - timedelta(seconds=n + 1) for n in range(50)]
    data = [payment(int(date.timestamp()), date) for date in dates]
    return {"data": data, "pagination": {"next": f"/v1/payments?before={dates[-1]:%Y-%m-%dT%H:%M:%S}"}}


@pytest.mark.parametrize("work", [Client.payments, Client.friends, load_history], ids=lambda work: work.__name__)
def test_an_endless_list_stops_at_the_limit(start_service, work: Callable[[Client], object]) -> None:
    """The error names the setting."""
    client = client_to(start_service(answer_endlessly).base_url, max_payments=1_000)
    with pytest.raises(PaginationError, match=r"more than 1,000 .*max_payments="):
        work(client)


@pytest.mark.parametrize("threads", [0, 5])
def test_a_process_without_more_threads_raises(start_service, monkeypatch, threads: int) -> None:
    """Whichever thread cannot start, the client raises its own error, and nothing hangs."""
    rows = [payment(n, START + timedelta(days=3 * n)) for n in reversed(range(900))]
    client = client_to(start_service(make_service(rows)).base_url)
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
