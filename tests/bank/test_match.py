"""Transfers and the rows of a bank account: pairs worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.bank import BANK_MATCHES, match_bank
from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

PAIRED, LONE, OUTSIDE, IN_BANK = "paired", "only in statement", "outside the bank file", "only in bank"


def make_payments(*rows: tuple[str, str, int], **columns: Any) -> pd.DataFrame:
    """Return PAYMENTS of settled transfers: id, date and flow in cents, with some columns replaced."""
    ids, dates, flows = zip(*rows, strict=True) if rows else ((), (), ())
    usual = {
        "payment_id": pd.Series(ids, dtype="str"),
        "status": "settled",
        "date_created": pd.Series(dates, dtype="datetime64[us, UTC]"),
        "kind": "transfer",
        "flow_cents": pd.Series(flows, dtype="Int64"),
        "fee_cents": pd.Series([None] * len(ids), dtype="Int64"),
        "account_id": "nora-quill",
        "currency": "USD",
        "funding_source": None,
    }
    return pd.DataFrame(usual | columns)


def make_bank(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Return a bank account: date, description, amount."""
    return pd.DataFrame(rows, columns=["Date", "Description", "Amount"], dtype="str")


def _match(payments: pd.DataFrame, bank: pd.DataFrame, *names: str, **options: Any) -> list[tuple[Any, ...]]:
    frame = match_bank(payments, bank, **options)
    assert {str(name): str(dtype) for name, dtype in frame.dtypes.items()} == dict(BANK_MATCHES)
    picked = frame[list(names or ("payment_id", "bank_line", "days", "state"))].astype(object)
    return [*picked.where(picked.notna(), None).itertuples(index=False, name=None)]


def test_a_transfer_out_is_money_into_the_bank() -> None:
    """Equal amounts in opposite directions are a pair, with all that is known of both."""
    payments = make_payments(("t1", "2024-01-28T21:10:55", -20000), ("t2", "2024-02-03T10:00:00", 5000))
    bank = make_bank(("2024-01-30", "VENMO CASHOUT", "200.00"), ("2024-02-02", "VENMO ADD FUNDS", "-50.00"))
    first, second = match_bank(payments, bank).to_dict("records")
    assert pd.isna(first.pop("fee_cents"))
    assert first == {
        "account_id": "nora-quill",
        "payment_id": "t1",
        "kind": "transfer",
        "date": pd.Timestamp("2024-01-28T21:10:55", tz="UTC"),
        "flow_cents": -20000,
        "currency": "USD",
        "bank_line": 1,
        "bank_date": pd.Timestamp("2024-01-30", tz="UTC"),
        "bank_description": "VENMO CASHOUT",
        "bank_amount_cents": 20000,
        "days": 2,
        "state": "paired",
    }
    names = ("payment_id", "flow_cents", "bank_amount_cents", "days")
    assert [second[name] for name in names] == ["t2", 5000, -5000, -1]


_MONTH = [(f"2024-{day}", f"2024-{day}T12:00:00", -100) for day in ("04-30", "05-01", "05-31", "06-01")]
_EVENING = [("t", "2024-01-06T02:00:00", -100)]  # nine in the evening of the day before in New York
_TWO = [("same", "2024-01-10", -100), ("late", "2024-01-20", -700), ("lone", "2024-01-01", -9)]
_TWO_BANK = [("2024-01-10", "VENMO", "-1.00"), ("2024-01-26", "PAYROLL", "7.00"), ("2024-01-11", "GROCER", "-1.00")]
_SERVICE = [("2024-01-05", "PAYROLL", "1.00"), ("2024-01-08", "Venmo* CASHOUT 123", "1.00")]


@pytest.mark.parametrize(
    ("transfers", "bank", "options", "expected"),
    [
        ([], [], {}, []),
        ([("t", "2024-01-05", -1)], [], {}, [("t", None, None, LONE)]),
        # The same direction is no pair, nor is a day too many; other bank rows are not listed.
        (_TWO, _TWO_BANK, {}, [("lone", None, None, OUTSIDE), ("same", None, None, LONE), (None, 1, None, IN_BANK),
                               ("late", None, None, LONE)]),
        (_TWO[1:2], _TWO_BANK, {"days": 6}, [(None, 1, None, IN_BANK), ("late", 2, 6, PAIRED)]),
        # Before the first and after the last day the file says nothing.
        (_MONTH, [("2024-05-01", "Rent", "-9.00"), ("2024-05-31", "VENMO", "1.00")], {"days": 0},
         [("2024-04-30", None, None, OUTSIDE), ("2024-05-01", None, None, LONE), ("2024-05-31", 2, 0, PAIRED),
          ("2024-06-01", None, None, OUTSIDE)]),
        # The first transfer could take the row of the second, one day away; then the second would have none.
        ([("t1", "2024-01-05", -100), ("t2", "2024-01-08", -100)],
         [("2024-01-01", "X", "1.00"), ("2024-01-06", "X", "1.00")], {},
         [("t1", 1, -4, PAIRED), ("t2", 2, -2, PAIRED)]),
        # Equal transfers and rows go in order; a fourth transfer has none.
        ([(f"t{day}", f"2024-01-0{day}", -100) for day in (1, 2, 3, 4)],
         [(f"2024-01-0{day}", "X", "1.00") for day in (4, 3, 2)], {},
         [("t1", None, None, OUTSIDE), ("t2", 3, 0, PAIRED), ("t3", 2, 0, PAIRED), ("t4", 1, 0, PAIRED)]),
        # A row that names the service is preferred to a closer one; names are whole words.
        ([("t", "2024-01-05", -100)], _SERVICE, {}, [("t", 2, 3, PAIRED)]),
        ([("t", "2024-01-05", -100)], _SERVICE, {"names": ["payroll"]}, [("t", 1, 0, PAIRED)]),
        ([], [("2024-01-05", "likewise", "1"), ("2024-01-05", "WISE", "1")], {}, [(None, 2, None, IN_BANK)]),
        # The zone decides the day.
        (_EVENING, [("2024-01-05", "X", "1.00")], {}, [("t", 1, -1, PAIRED)]),
        (_EVENING, [("2024-01-05", "X", "1.00")], {"tz": "America/New_York", "days": 0}, [("t", 1, 0, PAIRED)]),
        # A day that the zone would put outside of the calendar is that in UTC.
        ([("first", "0001-01-01T00:00:00", -1)], _TWO_BANK[1:], {"tz": "America/New_York"},
         [("first", None, None, OUTSIDE)]),
        ([("last", "9999-12-31T23:59:59", -1)], _TWO_BANK[1:], {"tz": "Asia/Tokyo"}, [("last", None, None, OUTSIDE)]),
    ],
)  # fmt: skip
def test_pairs(transfers, bank, options, expected) -> None:
    """Id, line of the bank, days between and state, in order of time."""
    assert _match(make_payments(*transfers), make_bank(*bank), **options) == expected


def test_a_fee_is_inside_the_amount() -> None:
    """200.00 with a fee of 3.50 arrive as 196.50; a bank that shows 200.00 all the same is a second choice."""
    payments = make_payments(("t", "2024-01-05", -20000), fee_cents=pd.array([350], dtype="Int64"))
    gross, net = ("2024-01-05", "X", "200.00"), ("2024-01-07", "X", "196.50")
    assert _match(payments, make_bank(gross, net)) == [("t", 2, 2, PAIRED)]
    assert _match(payments, make_bank(gross)) == [("t", 1, 0, PAIRED)]


def test_payments_that_the_bank_funded() -> None:
    """They are in the bank account too, if it names the service; one that is not is no missing transfer."""
    payments = make_payments(
        ("bank", "2024-01-05", -6410), ("card", "2024-01-05", -100), ("own", "2024-01-05", -500),
        ("cash", "2024-01-05", -500),
        kind=["payment", "merchant", "payment", "payment"],
        funding_source=["Bank of Sand *1234", "Visa *1", "Venmo balance", "Your Cash"],
    )  # fmt: skip
    bank = make_bank(
        ("2024-01-06", "VENMO PAYMENT", "-64.10"), ("2024-01-05", "TEA", "-1.00"), ("2024-01-05", "VENMO", "-5.00")
    )
    assert _match(payments, bank, "payment_id", "kind", "bank_line", "state") == [
        ("bank", "payment", 1, PAIRED),
        (None, None, 3, IN_BANK),
    ]


def test_only_settled_transfers_count() -> None:
    """A pending transfer, and one without a date or amount, moved nothing."""
    payments = make_payments(*((name, "2024-01-05", -100) for name in "abc"), status=["pending", "settled", "settled"])
    payments.loc[1, "flow_cents"] = None
    payments.loc[2, "date_created"] = pd.NaT
    assert _match(payments, make_bank(("2024-01-05", "X", "1.00"))) == []


def test_currencies_are_not_mixed() -> None:
    """One euro is not one dollar, where the bank names its currency."""
    payments = make_payments(("usd", "2024-01-05", -100), ("eur", "2024-01-05", -100), currency=["USD", "EUR"])
    bank = make_bank(("2024-01-05", "X", "1.00")).assign(Currency="EUR")
    assert _match(payments, bank) == [("eur", 1, 0, PAIRED), ("usd", None, None, LONE)]


def test_what_has_payments_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements and histories hand over their payments; in privacy mode amounts are invented."""
    payments, bank = make_payments(("t", "2024-01-05", -100)), make_bank(("2024-01-05", "X", "1.00"))
    assert len(match_bank(SimpleNamespace(payments=payments, private=False), bank)) == 1
    with pytest.raises(ConfigurationError, match="In privacy mode amounts are invented"):
        match_bank(SimpleNamespace(payments=payments, private=True), bank)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with pytest.raises(ConfigurationError, match="switch it off first"):
        match_bank(payments, bank)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((5, make_bank()), {}, "payments is what read_statements returns, or a history, not an int"),
        ((make_payments(), 5), {}, "bank is a CSV file or a frame, not an int"),
        ((make_payments(), make_bank()), {"days": -1}, "days=-1 is not valid"),
        ((make_payments(), make_bank()), {"days": True}, "days=True is not valid"),
        ((make_payments(), make_bank()), {"columns": {"colour": "x"}}, "columns names the field 'colour'"),
        ((make_payments(), make_bank()), {"columns": {"date": 1}}, r"columns\['date'\] is the name of a column"),
        ((make_payments(), make_bank()), {"names": [" "]}, "names are words such as 'venmo'"),
        ((make_payments().drop(columns="kind"), make_bank()), {}, "match_bank needs the columns kind; pass what read_"),
    ],
)
def test_wrong_arguments(arguments: tuple[Any, Any], options: dict[str, Any], message: str) -> None:
    """One sentence names the argument."""
    with pytest.raises((ConfigurationError, SchemaError), match=message):
        match_bank(*arguments, **options)


def _count_best(transfers: Sequence[int], rows: Sequence[tuple[int, bool]], most: int) -> tuple[int, int, int]:
    """Return pairs, named rows and days of the best assignment, by trying all of them."""
    if not transfers:
        return 0, 0, 0
    best = _count_best(transfers[1:], rows, most)
    for at, (day, is_named) in enumerate(rows):
        if abs(day - transfers[0]) <= most:
            pairs, named, apart = _count_best(transfers[1:], [*rows[:at], *rows[at + 1 :]], most)
            best = max(best, (pairs + 1, named + is_named, apart - abs(day - transfers[0])))
    return best


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(1, 12), max_size=5),
    st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=5),
    st.integers(0, 6),
    st.randoms(),
)
def test_the_assignment_is_the_best(days: list[int], bank: list[tuple[int, bool]], most: int, shuffle: Any) -> None:
    """No assignment has more pairs, or as many and more named rows, or as many and fewer days; in any order."""
    rows = [(f"2024-01-{day:02d}", "VENMO" if is_named else "X", "1.00") for day, is_named in bank]
    transfers = [(f"{number}", f"2024-01-{day:02d}", -100) for number, day in enumerate(days)]
    frame = match_bank(make_payments(*transfers), make_bank(*rows), days=most)
    pairs = frame[frame["state"] == "paired"]
    assert pairs["bank_line"].is_unique
    assert pairs["payment_id"].is_unique
    found = (len(pairs), int((pairs["bank_description"] == "VENMO").sum()), -int(pairs["days"].abs().sum()))
    assert found == _count_best(days, bank, most)
    assert len(frame[frame["bank_line"].isna()]) == len(days) - len(pairs)
    shuffle.shuffle(rows)
    shuffle.shuffle(transfers)
    again = match_bank(make_payments(*transfers), make_bank(*rows), days=most)
    kept = ["payment_id", "bank_date", "bank_description", "state"]
    pd.testing.assert_frame_equal(again[kept], frame[kept])
