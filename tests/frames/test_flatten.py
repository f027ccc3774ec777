"""Tests of the payment reader: the fast path equals the fallback, and rows equal the JSON."""

import json
import weakref
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.frames.build import payments_frame
from p2p_analytics.records import InternTables, PaymentPage, Payments, Problem, decode_payments, payment_columns

VIEWER = "7"
MAYBE = st.none() | st.text(st.characters(codec="utf-8"), max_size=8)


MOMENTS = st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))  # noqa: DTZ001 - written with Z or without a zone
DATES = st.tuples(MOMENTS, st.booleans(), st.sampled_from(["", "Z"])).map(
    lambda drawn: (drawn[0].replace(microsecond=0) if drawn[1] else drawn[0]).isoformat() + drawn[2]
)
fields = st.fixed_dictionaries
USERS = fields({
    "id": st.sampled_from(["7", "8", "9"]), "username": MAYBE, "display_name": MAYBE, "about": MAYBE,
    "date_joined": st.none() | DATES, "extra": st.booleans(),
})  # fmt: skip
TARGETS = st.one_of(
    fields({"type": st.just("user"), "email": st.none(), "phone": st.none(), "user": USERS}),
    fields({"type": st.sampled_from(["email", "phone"]), "email": MAYBE, "phone": MAYBE, "user": st.none()}),
    fields({"type": st.just("merchant"), "merchant": fields({"display_name": MAYBE})}),
)
DOCUMENTED = fields({
    "id": st.integers(1, 10**19).map(str), "note": MAYBE, "audience": MAYBE, "actor": USERS, "target": TARGETS,
    "status": st.sampled_from(["settled", "pending", "failed", "expired", "cancelled"]),
    "action": st.sampled_from(["pay", "charge"]), "extra": st.lists(st.integers()),
    "amount": st.integers(-(10**8), 10**8).map(lambda cents: cents / 100),
    "date_created": DATES, "date_completed": st.none() | DATES,
    "fee": st.none() | fields({"amount": st.sampled_from([0.25, "0.30"])}),
    "refund": st.none() | fields({"id": st.just("99"), "amount": st.just(5)}),
})  # fmt: skip
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
DEVIATIONS = st.one_of(
    *(st.dictionaries(st.sampled_from(names), st.sampled_from(values), min_size=1) for names, values in ODD)
)
RARE_DEVIATIONS = st.one_of(*[st.just({})] * 7, DEVIATIONS)
QUICK = settings(max_examples=30, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])


def encode(items: list[dict], *, ascii_only: bool = False) -> bytes:
    """Return the body of a page; half of a surrogate pair can only be written as an escape."""
    page = {"data": items, "pagination": {"next": "?more"}}
    try:
        return json.dumps(page, ensure_ascii=ascii_only).encode()
    except UnicodeEncodeError:
        return json.dumps(page).encode()


def decode_by_fallback(items: list[dict], *, ascii_only: bool = False) -> tuple[Payments, PaymentPage]:
    """Return the records and the page of items beside one with a fee, which takes the whole page to the fallback."""
    page = decode_payments(encode([*items, ITEM | {"id": "fee", "fee": {"amount": 1}}], ascii_only=ascii_only))
    assert page.items.undecoded is None
    return page.items.select(payment.id != "fee" for payment in page.items), page


@pytest.mark.parametrize("ascii_only", [True, False])
def test_each_deviation_alone_gives_the_same_by_both_paths(*, ascii_only: bool) -> None:
    """Records, problems and columns of a page do not depend on the path that decoded it."""
    for names, values in ODD:
        for name, value in product(names, values):
            items = [ITEM | {name: value}, ITEM | {"id": "2"}]
            expected, _ = decode_by_fallback(items, ascii_only=ascii_only)
            page = decode_payments(encode(items, ascii_only=ascii_only))
            assert (page.items, page.next) == (expected, "?more"), (name, value)
            mask = [not (place == 0 and ascii_only) for place in range(len(expected))]  # problems stay
            problems: list[Problem] = []
            frame = payments_frame([page.items.select(mask)], VIEWER, problems.extend)
            pd.testing.assert_frame_equal(frame, payments_frame([expected.select(mask)], VIEWER))
            assert problems == list(expected.problems), (name, value)


@QUICK
@given(items=st.lists(LISTED, max_size=4))
def test_documented_records_take_the_fast_path(items: list[dict]) -> None:
    """A page of documented records, as lists show them, takes the fast path and has no problems."""
    page = decode_payments(encode(items))
    assert page.items.undecoded is not None
    assert [json.loads(payment.raw) for payment in page.items] == items
    assert page.problems == ()


@settings(QUICK, max_examples=40)
@given(
    pages=st.lists(st.lists(st.tuples(LISTED | DOCUMENTED, RARE_DEVIATIONS), max_size=3), max_size=4),
    first=st.integers(0, 1),
)
def test_columns_equal_those_of_the_records(pages: list[list[tuple[dict, dict]]], first: int) -> None:
    """Reading many pages together gives the same frame and the same problems as reading records, by both paths."""
    changed = [[item | odd for item, odd in page] for page in pages]
    bodies = [encode(items) for items in changed]
    for body, items in zip(bodies, changed, strict=True):
        page = decode_payments(body)
        expected, fallback = decode_by_fallback(items)
        assert (page.items, page.length) == (expected, fallback.length - 1)
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


def test_documented_pages_become_columns_without_records() -> None:
    """No record is made, neither for the frame nor for paging."""
    items = decode_payments(encode([ITEM, ITEM | {"id": "2", "actor": {"id": "8"}}])).items
    assert (items.ids, items.created) == (["1", "2"], [datetime(2024, 5, 1, 12, tzinfo=UTC)] * 2)
    assert payments_frame([items], VIEWER)["actor_id"].tolist() == ["8", "7"]
    assert "decoded" not in vars(items.undecoded)


@pytest.mark.parametrize("dialect", ["documented", "observed"])
def test_both_dialects_take_the_fast_path(dialect: str) -> None:
    """Pages in the documented and in the observed form pass the checks of the fast path."""
    with (
        p2p.sandbox.SandboxServer(seed=7, dialect=dialect) as server,
        p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client,
    ):
        items = [json.loads(payment.raw) for payment in next(client.payment_pages()).items]
    page = decode_payments(encode(items))
    assert page.items.undecoded is not None
    assert page.items == decode_by_fallback(items)[0]


def test_pages_are_released() -> None:
    """While a frame is built only the latest pages are in memory, and a page goes with its decoded records."""
    page_refs: list[weakref.ref[object]] = []
    most = 0

    def pages() -> Iterator[Payments]:
        nonlocal most
        for number in range(100):
            page = decode_payments(encode([ITEM | {"id": f"{number}{at:03}"} for at in range(100)]))
            page_refs.append(weakref.ref(page.items.undecoded))
            yield page.items
            most = max(most, sum(page_ref() is not None for page_ref in page_refs))

    assert len(payments_frame(pages(), VIEWER)) == 10_000
    assert most <= 42  # two batches of about 2,000 rows
    page = decode_payments(encode([ITEM]))
    assert (page.problems, page.items[0].raw != b"") == ((), True)
    page_ref = weakref.ref(page.items.undecoded)
    del page
    assert page_ref() is None


def test_a_person_has_one_code_in_a_load() -> None:
    """Also if there are more distinct texts than the table of recent ones holds."""
    rounds = [
        decode_payments(encode([ITEM | {"id": f"{turn}{who:05}", "actor": {"id": f"{who}"}} for who in people]))
        for turn, people in enumerate([range(5_000), range(5_000, 10_000), range(10_000)])
    ]
    tables = InternTables()
    columns = payment_columns((page.items for page in rounds), tables, list)
    assert columns["actor"].to_pylist() == [*range(10_000)] * 2
    assert columns["target"].to_pylist() == [0] * 20_000
    assert (len(tables.actors.entries), len(tables.targets.entries)) == (10_000, 1)
