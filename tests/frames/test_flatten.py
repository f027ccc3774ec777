"""Tests of the payment reader: the fast path equals the fallback, and rows equal the JSON."""

from __future__ import annotations

import json
import weakref
from collections import Counter
from datetime import UTC, datetime
from itertools import product
from typing import TYPE_CHECKING

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.frames.build import payments_frame
from p2p_analytics.records import (
    InternTables,
    Payments,
    _columns,
    _intern,
    _payment_pages,
    decode_payments,
    payment_columns,
)
from p2p_analytics.records._payment_pages import decode_page_fallback

if TYPE_CHECKING:
    from collections.abc import Iterator

    from p2p_analytics.records import Problem

VIEWER = "7"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAYBE = st.none() | st.text(st.characters(codec="utf-8"), max_size=8)


def fields(**known: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """Return a strategy for objects with these fields."""
    return st.fixed_dictionaries(known)


def changes(names: list[str], *values: object) -> st.SearchStrategy[dict[str, object]]:
    """Return a strategy that gives one or more of the fields one of the values."""
    return st.dictionaries(st.sampled_from(names), st.sampled_from(values), min_size=1)


MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001 - written with Z or without a zone
DATES = st.builds(
    lambda moment, whole, zone: (moment.replace(microsecond=0) if whole else moment).isoformat() + zone,
    MOMENTS,
    st.booleans(),
    st.sampled_from(["", "Z"]),
)
USERS = fields(
    id=st.sampled_from(["7", "8", "9"]),
    username=MAYBE,
    display_name=MAYBE,
    date_joined=st.none() | DATES,
    about=MAYBE,
    extra=st.booleans(),
)
TARGETS = st.one_of(
    fields(type=st.just("user"), email=st.none(), phone=st.none(), user=USERS),
    fields(type=st.sampled_from(["email", "phone"]), email=MAYBE, phone=MAYBE, user=st.none()),
    fields(type=st.just("merchant"), merchant=fields(display_name=MAYBE)),
)
DOCUMENTED = fields(
    id=st.integers(1, 10**19).map(str),
    status=st.sampled_from(["settled", "pending", "failed", "expired", "cancelled"]),
    action=st.sampled_from(["pay", "charge"]),
    amount=st.integers(-(10**8), 10**8).map(lambda cents: cents / 100),
    note=MAYBE,
    audience=MAYBE,
    date_created=DATES,
    date_completed=st.none() | DATES,
    actor=USERS,
    target=TARGETS,
    fee=st.none() | fields(amount=st.sampled_from([0.25, "0.30"])),
    refund=st.none() | fields(id=st.just("99"), amount=st.just(5)),
    extra=st.lists(st.integers()),
)
LISTED = DOCUMENTED.map(lambda item: item | {"fee": None, "refund": None})  # as lists show them
ITEM = {
    "id": "1", "status": "settled", "action": "pay", "amount": 5, "note": "lunch", "audience": "private",
    "date_created": "2024-05-01T12:00:00Z", "date_completed": "2024-05-01T12:00:00", "actor": {"id": "7"},
    "target": {"type": "user", "user": {"id": "8"}},
}  # fmt: skip
ODD: tuple[tuple[list[str], tuple[object, ...]], ...] = (
    (["id", "status", "action", "note"], (None, "", 5, "held", "a\ufffd", "\ud83c", "\udf55\ud83c", "\\ud83c")),
    (["amount"], (None, "9.90", 0.001, "1e400", 1e20, {}, [], "\uff15", ".5", "-.5", "5.", "+5", "-0", " 5")),
    (["date_created", "date_completed"], (
        None, "", 5, "never", "2014-02-30T00:00:00", "2014-05-01T24:00:01Z", "2014-05-01 12:00:00",
        "2014-W18-4T12:00:00Z", "2014-05-01T12:00:00+05:30", "2014-05-01T12:00:00.1234567", "2014-05-01T12:00:00.5Z",
        "2014-05-01T12:00:00z", "20140501T120000.123Z", "2014-05-01T12:00:00ZZ", "2014-05-01T12:00:00.12345ZZ",
        "0001-01-01T00:00:00+23:00",
    )),
    (["actor", "target"], (
        None, 3, {}, {"id": 5}, {"user": {"id": 5}}, {"user": {"date_joined": "never"}}, {"about": "\udf55", "id": "8"},
        {"date_joined": "2013-13-01T00:00:00"}, {"type": "x"},
    )),
    (["fee", "refund"], ({}, 5, {"amount": "x"}, {"id": 5}, {"id": "6", "amount": None})),
)  # fmt: skip
DEVIATIONS = st.one_of(*(changes(names, *values) for names, values in ODD))
RARE_DEVIATIONS = st.one_of(*[st.just({})] * 7, DEVIATIONS)
QUICK = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def encode(items: list[dict], *, ascii_only: bool) -> bytes:
    """Return the body of a page; half of a surrogate pair can only be written as an escape."""
    page = {"data": items, "pagination": {"next": "?more"}}
    try:
        return json.dumps(page, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return json.dumps(page).encode()


@pytest.mark.parametrize("ascii_only", [True, False])
def test_each_deviation_alone_gives_the_same_by_both_paths(*, ascii_only: bool) -> None:
    """Records, problems and columns of a page do not depend on the path that decoded it."""
    for names, values in ODD:
        for name, value in product(names, values):
            body = encode([ITEM | {name: value}, ITEM | {"id": "2"}], ascii_only=ascii_only)
            expected = decode_page_fallback(body)
            assert decode_payments(body) == expected, (name, value)
            mask = [not (place == 0 and ascii_only) for place in range(len(expected.items))]  # problems stay
            problems: list[Problem] = []
            frame = payments_frame([decode_payments(body).items.select(mask)], VIEWER, problems.extend)
            pd.testing.assert_frame_equal(frame, payments_frame([expected.items.select(mask)], VIEWER))
            assert problems == list(expected.problems), (name, value)


@QUICK
@given(items=st.lists(st.tuples(DOCUMENTED, st.just({}) | DEVIATIONS), max_size=4), ascii_only=st.booleans())
def test_the_fast_path_equals_the_fallback(items: list[tuple[dict, dict]], ascii_only: bool) -> None:  # noqa: FBT001 - drawn
    """The same for several records with any fields."""
    body = encode([item | odd for item, odd in items], ascii_only=ascii_only)
    assert decode_payments(body) == decode_page_fallback(body)


@QUICK
@given(items=st.lists(LISTED, max_size=4))
def test_documented_records_take_the_fast_path(items: list[dict]) -> None:
    """A page of documented records, as lists show them, takes the fast path and has no problems."""
    page = decode_payments(json.dumps({"data": items}, ensure_ascii=False).encode())
    assert page.items.undecoded is not None
    assert [json.loads(payment.raw) for payment in page.items] == items
    assert page.problems == ()


@settings(QUICK, max_examples=40)
@given(pages=st.lists(st.lists(st.tuples(LISTED, RARE_DEVIATIONS), max_size=3), max_size=4), first=st.integers(0, 1))
def test_columns_equal_those_of_the_records(pages: list[list[tuple[dict, dict]]], first: int) -> None:
    """Reading many pages together gives the same frame and the same problems as reading records."""
    bodies = [json.dumps({"data": [item | odd for item, odd in page]}).encode() for page in pages]
    reported: tuple[list[Problem], list[Problem]] = [], []

    def unread() -> Iterator[Payments]:
        for body in bodies:
            items = decode_payments(body).items
            yield items.select(place >= first for place in range(len(items)))

    records = [Payments.of(items, items.problems) for items in unread()]
    frame = payments_frame(unread(), VIEWER, reported[0].extend)
    pd.testing.assert_frame_equal(frame, payments_frame(records, VIEWER, reported[1].extend))
    assert Counter(reported[0]) == Counter(reported[1])


@pytest.mark.parametrize(
    ("spelling", "cents"),
    [
        ("12.30", 1230), ("12.3", 1230), ("-0.10", -10), ("0.100000", 10), ("-0", 0), ("5e-2", 5), ("1E2", 10_000),
        ("250." + 41 * "0", None), ("250." + 39 * "0", 25_000), ("3e-41", None), ("9.999" + 38 * "0", None),
        ("1e0002", None), ("0.005", None), ("1e400", None), ("90071992547409.93", 9_007_199_254_740_993),
        ("92233720368547758.07", 2**63 - 1), ("92233720368547758.08", None), ('"9.90"', 990), ("{}", None),
    ],
)  # fmt: skip
def test_an_amount_is_exact_or_a_problem(spelling: str, cents: int | None) -> None:
    """A number or text of any length, beside plain amounts, gives its exact cents, or null and a problem."""
    body = b'{"data": [%b, %b]}' % (
        json.dumps(ITEM | {"id": "2", "amount": 1.5}).encode(),
        json.dumps(ITEM | {"amount": "AMOUNT"}).replace('"AMOUNT"', spelling).encode(),
    )
    reported: list[Problem] = []
    frame = payments_frame([decode_payments(body).items], VIEWER, reported.extend)
    assert frame["amount_cents"].fillna(-1).tolist() == [150, -1 if cents is None else cents]
    assert [problem.field for problem in reported] == ["amount"] * (cents is None)


def test_documented_pages_become_columns_without_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """No record is made, neither for the frame nor for paging."""
    monkeypatch.setattr(_payment_pages, "Payment", pytest.fail)
    body = json.dumps({"data": [ITEM, ITEM | {"id": "2", "actor": {"id": "8"}}]}).encode()
    items = decode_payments(body).items
    assert (items.ids, items.created) == (["1", "2"], [datetime(2024, 5, 1, 12, tzinfo=UTC)] * 2)
    assert payments_frame([items], VIEWER)["actor_id"].tolist() == ["8", "7"]


def test_a_status_of_a_dropped_row_is_not_counted() -> None:
    """Of two states of one payment the later is kept, and no value of the other remains in the frame."""
    pages = [json.dumps({"data": [ITEM | {"status": status}]}).encode() for status in ("pending", "settled")]
    frame = payments_frame([decode_payments(body).items for body in pages], VIEWER)
    assert frame["status"].value_counts().to_dict() == {"settled": 1}


@pytest.mark.parametrize("dialect", ["documented", "observed"])
def test_both_dialects_take_the_fast_path(dialect: str) -> None:
    """Pages in the documented and in the observed form pass the checks of the fast path."""
    with p2p.sandbox.SandboxServer(seed=7, dialect=dialect) as server:
        client = p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False)
        raw = [payment.raw for payment in next(client.payment_pages()).items]
        client.close()
    body = b'{"data": [%b]}' % b",".join(raw)
    page = decode_payments(body)
    assert page.items.undecoded is not None
    assert page == decode_page_fallback(body)


def test_pages_are_released_while_the_frame_is_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of five hundred pages only the latest are in memory at a time, though all have the same two people."""
    user = {"id": "8", "username": "theo"}
    item = {"status": "settled", "action": "pay", "amount": 5, "date_created": "2014-08-18T17:15:15", "actor": user,
            "target": {"type": "user", "user": user}}  # fmt: skip
    page_refs: list[weakref.ref[object]] = []

    def pages() -> Iterator[Payments]:
        for number in range(1, 501):
            page = decode_payments(json.dumps({"data": [item | {"id": str(number)}]}).encode())
            page_refs.append(weakref.ref(page.items.undecoded))
            yield page.items
            most.append(sum(page_ref() is not None for page_ref in page_refs))

    monkeypatch.setattr(_columns, "BATCH_ROWS", 20)
    most: list[int] = []
    assert len(payments_frame(pages(), VIEWER)) == 500
    assert max(most) <= 2 * 20


def test_a_decoded_page_is_released() -> None:
    """A page is freed with its records, after they were decoded or checked for problems."""
    page = decode_payments(json.dumps({"data": [ITEM]}).encode())
    assert page.problems == ()
    assert page.items[0].raw
    page_ref = weakref.ref(page.items.undecoded)
    del page
    assert page_ref() is None


def test_a_person_has_one_code_in_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if there are more distinct texts than recent keys."""
    monkeypatch.setattr(_intern, "RECENT", 1)
    monkeypatch.setattr(_columns, "BATCH_ROWS", 1)
    rounds = [
        decode_payments(json.dumps({"data": [ITEM | {"id": f"{turn}{who}", "actor": {"id": f"{who}"}}]}).encode())
        for turn in range(1, 4)
        for who in range(1, 6)
    ]
    tables = InternTables()
    columns = payment_columns((page.items for page in rounds), tables, list)
    assert columns["actor"].to_pylist() == [0, 1, 2, 3, 4] * 3
    assert columns["target"].to_pylist() == [0] * 15
    assert (len(tables.actors.entries), len(tables.targets.entries)) == (5, 1)


def test_each_cell_can_be_changed() -> None:
    """Columns are writable: a value of each can be set to null."""
    frame = payments_frame([decode_payments(json.dumps({"data": [ITEM]}).encode()).items], VIEWER)
    for name in frame.columns:
        frame.loc[0, name] = None
    assert frame.isna().all(axis=None)
