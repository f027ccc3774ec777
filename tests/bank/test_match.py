"""Transfers and the rows of a bank account: pairs worked out by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.bank import BANK_MATCHES, Candidate, assign, match_bank
from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

Transfer = tuple[str, str, int]


def make_payments(*rows: Transfer, **columns: Any) -> pd.DataFrame:
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
    picked = frame[list(names or ("payment_id", "bank_line", "days", "state"))]
    return [tuple(None if pd.isna(value) else value for value in row) for row in picked.itertuples(index=False)]


def test_a_transfer_out_is_money_into_the_bank() -> None:
    """Equal amounts in opposite directions are a pair, with all that is known of both."""
    payments = make_payments(("t1", "2024-01-28T21:10:55", -20000), ("t2", "2024-02-03T10:00:00", 5000))
    bank = make_bank(("2024-01-30", "VENMO CASHOUT", "200.00"), ("2024-02-02", "VENMO ADD FUNDS", "-50.00"))
    rows = match_bank(payments, bank).to_dict("records")
    assert pd.isna(rows[0].pop("fee_cents"))
    assert rows[0] == {
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
    assert [rows[1][name] for name in ("payment_id", "flow_cents", "bank_amount_cents", "days")] == [
        "t2", 5000, -5000, -1,
    ]  # fmt: skip


def test_what_has_no_pair_is_listed() -> None:
    """The same direction is no pair, nor is a day too many; other bank rows are not listed, in order of time."""
    payments = make_payments(("same", "2024-01-10", -100), ("late", "2024-01-20", -700), ("lone", "2024-01-01", -9))
    bank = make_bank(
        ("2024-01-10", "VENMO", "-1.00"), ("2024-01-26", "PAYROLL", "7.00"), ("2024-01-11", "GROCER", "-1.00")
    )
    assert _match(payments, bank) == [
        ("lone", None, None, "outside the bank file"),
        ("same", None, None, "only in statement"),
        (None, 1, None, "only in bank"),
        ("late", None, None, "only in statement"),
    ]
    assert _match(payments, bank, days=6)[-1] == ("late", 2, 6, "paired")


def test_transfers_outside_the_days_of_the_bank_file() -> None:
    """Before the first and after the last day the file says nothing; on these days it does, and pairs stay pairs."""
    days = ["2024-04-30", "2024-05-01", "2024-05-31", "2024-06-01", "2024-06-02"]
    payments = make_payments(*((day, f"{day}T12:00:00", -100 * at) for at, day in enumerate(days, 1)))
    bank = make_bank(("2024-05-01", "Rent", "-9.00"), ("2024-05-31", "VENMO", "4.00"))
    outside, alone = "outside the bank file", "only in statement"
    states = [outside, alone, alone, "paired", outside]
    assert _match(payments, bank, "payment_id", "state") == [*zip(days, states, strict=True)]
    assert {state for (state,) in _match(payments, make_bank(), "state")} == {alone}


def test_the_closest_row_is_not_always_right() -> None:
    """The first transfer could take the row of the second, one day away; then the second would have none."""
    payments = make_payments(("t1", "2024-01-05", -100), ("t2", "2024-01-08", -100))
    bank = make_bank(("2024-01-01", "X", "1.00"), ("2024-01-06", "X", "1.00"))
    assert _match(payments, bank) == [("t1", 1, -4, "paired"), ("t2", 2, -2, "paired")]


def test_equal_distances_go_in_order() -> None:
    """Three equal transfers and rows on the same days: first with first; a fourth transfer has none."""
    payments = make_payments(*((f"t{day}", f"2024-01-0{day}", -100) for day in (1, 2, 3, 4)))
    bank = make_bank(*((f"2024-01-0{day}", "X", "1.00") for day in (4, 3, 2)))
    assert _match(payments, bank) == [
        ("t1", None, None, "outside the bank file"),
        ("t2", 3, 0, "paired"), ("t3", 2, 0, "paired"), ("t4", 1, 0, "paired"),
    ]  # fmt: skip


def test_rows_that_name_a_service_are_preferred() -> None:
    """The pay of an employer is of the same amount and closer, but it does not name the service."""
    payments = make_payments(("t", "2024-01-05", -100))
    bank = make_bank(("2024-01-05", "PAYROLL", "1.00"), ("2024-01-08", "Venmo* CASHOUT 123", "1.00"))
    assert _match(payments, bank) == [("t", 2, 3, "paired")]
    assert _match(payments, bank, names=["payroll"]) == [("t", 1, 0, "paired")]
    assert _match(make_payments(), make_bank(("2024-01-05", "likewise", "1"), ("2024-01-05", "WISE", "1"))) == [
        (None, 2, None, "only in bank")
    ]


def test_a_fee_is_inside_the_amount() -> None:
    """200.00 with a fee of 3.50 arrive as 196.50; a bank that shows 200.00 all the same is a second choice."""
    payments = make_payments(("t", "2024-01-05", -20000), fee_cents=pd.array([350], dtype="Int64"))
    gross, net = ("2024-01-05", "X", "200.00"), ("2024-01-07", "X", "196.50")
    assert _match(payments, make_bank(gross, net)) == [("t", 2, 2, "paired")]
    assert _match(payments, make_bank(gross)) == [("t", 1, 0, "paired")]


def test_payments_that_the_bank_funded() -> None:
    """They are in the bank account too, if it names the service; one that is not is no missing transfer."""
    payments = make_payments(
        ("bank", "2024-01-05", -6410),
        ("card", "2024-01-05", -100),
        ("own", "2024-01-05", -500),
        ("cash", "2024-01-05", -500),
        kind=["payment", "merchant", "payment", "payment"],
        funding_source=["Bank of Sand *1234", "Visa *1", "Venmo balance", "Your Cash"],
    )
    bank = make_bank(
        ("2024-01-06", "VENMO PAYMENT", "-64.10"), ("2024-01-05", "TEA", "-1.00"), ("2024-01-05", "VENMO", "-5.00")
    )
    assert _match(payments, bank, "payment_id", "kind", "bank_line", "state") == [
        ("bank", "payment", 1, "paired"),
        (None, None, 3, "only in bank"),
    ]


def test_only_settled_transfers_count() -> None:
    """A pending transfer, and one without a date or amount, moved nothing."""
    payments = make_payments(
        ("a", "2024-01-05", -100),
        ("b", "2024-01-05", -100),
        ("c", "2024-01-05", -100),
        status=["pending", "settled", "settled"],
    )
    payments.loc[1, "flow_cents"] = None
    payments.loc[2, "date_created"] = pd.NaT
    assert _match(payments, make_bank(("2024-01-05", "X", "1.00"))) == []


@pytest.mark.parametrize("tz", ["Asia/Tokyo", "America/New_York"])
def test_the_ends_of_the_calendar(tz: str) -> None:
    """A day that the zone would put outside of the calendar is that in UTC."""
    payments = make_payments(("first", "0001-01-01T00:00:00", -100), ("last", "9999-12-31T23:59:59", -100))
    states = dict(_match(payments, make_bank(("2024-01-05", "X", "1.00")), "payment_id", "state", tz=tz))
    assert states == {"first": "outside the bank file", "last": "outside the bank file"}


def test_the_zone_decides_the_day() -> None:
    """Nine in the evening in New York is the next day in UTC."""
    payments = make_payments(("t", "2024-01-06T02:00:00", -100))
    bank = make_bank(("2024-01-05", "X", "1.00"))
    assert _match(payments, bank) == [("t", 1, -1, "paired")]
    assert _match(payments, bank, tz="America/New_York", days=0) == [("t", 1, 0, "paired")]


def test_currencies_are_not_mixed() -> None:
    """One euro is not one dollar, where the bank names its currency."""
    payments = make_payments(("usd", "2024-01-05", -100), ("eur", "2024-01-05", -100), currency=["USD", "EUR"])
    bank = make_bank(("2024-01-05", "X", "1.00")).assign(Currency="EUR")
    assert _match(payments, bank) == [("eur", 1, 0, "paired"), ("usd", None, None, "only in statement")]


def test_equal_transfers_without_ids_are_two() -> None:
    """Two transfers that look alike get two rows."""
    payments = make_payments(("t", "2024-01-05", -100), ("t", "2024-01-05", -100))
    bank = make_bank(("2024-01-05", "X", "1.00"), ("2024-01-05", "X", "1.00"))
    assert [row[3] for row in _match(payments, bank)] == ["paired", "paired"]


def test_nothing_on_either_side() -> None:
    """Empty frames give an empty frame with all columns."""
    assert _match(make_payments(), make_bank()) == []
    assert _match(make_payments(("t", "2024-01-05", -1)), make_bank()) == [("t", None, None, "only in statement")]


def test_what_has_payments_is_accepted() -> None:
    """Statements and histories hand over their payments; a private one has invented amounts."""
    payments = make_payments(("t", "2024-01-05", -100))
    bank = make_bank(("2024-01-05", "X", "1.00"))
    assert len(match_bank(SimpleNamespace(payments=payments, private=False), bank)) == 1
    with pytest.raises(ConfigurationError, match="In privacy mode amounts are invented"):
        match_bank(SimpleNamespace(payments=payments, private=True), bank)


def test_privacy_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of a bank are not shown in privacy mode."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with pytest.raises(ConfigurationError, match="switch it off first"):
        match_bank(make_payments(), make_bank())


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
    ],
)
def test_wrong_arguments(arguments: tuple[Any, Any], options: dict[str, Any], message: str) -> None:
    """One sentence names the argument."""
    with pytest.raises(ConfigurationError, match=message):
        match_bank(*arguments, **options)


def test_payments_without_kinds() -> None:
    """The missing column is named."""
    with pytest.raises(SchemaError, match="match_bank needs the columns kind; pass what read_statements returns"):
        match_bank(make_payments().drop(columns="kind"), make_bank())


_DAYS = st.lists(st.integers(1, 12), max_size=5)


def _count_best(transfers: Sequence[int], rows: Sequence[tuple[int, bool]], most: int) -> tuple[int, int, int]:
    """Return pairs, named rows and days of the best assignment, by trying all of them."""
    if not transfers:
        return 0, 0, 0
    best = _count_best(transfers[1:], rows, most)
    for at, (day, is_named) in enumerate(rows):
        if abs(day - transfers[0]) <= most:
            pairs, named, apart = _count_best(transfers[1:], [*rows[:at], *rows[at + 1 :]], most)
            found = (pairs + 1, named + is_named, apart - abs(day - transfers[0]))
            best = max(best, found)
    return best


@settings(max_examples=25, deadline=None, derandomize=True)
@given(_DAYS, st.lists(st.tuples(st.integers(1, 12), st.booleans()), max_size=5), st.integers(0, 6), st.randoms())
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
    alone = frame[frame["bank_line"].isna()]
    assert len(alone) == len(days) - len(pairs)
    first, last = (min(bank)[0], max(bank)[0]) if bank else (1, 12)
    is_inside = alone["date"].dt.day.between(first, last)
    assert alone["state"].tolist() == [("outside the bank file", "only in statement")[inside] for inside in is_inside]
    shuffle.shuffle(rows)
    shuffle.shuffle(transfers)
    again = match_bank(make_payments(*transfers), make_bank(*rows), days=most)
    kept = ["payment_id", "bank_date", "bank_description", "state"]
    pd.testing.assert_frame_equal(again[kept], frame[kept])


def test_a_long_chain_of_equal_transfers() -> None:
    """One transfer a day for 54 years, each at the bank two days later: only rows within reach are compared."""
    days = 20_000
    pairs = assign(list(range(days)), [Candidate(day + 2, is_named=True) for day in range(days)], 5)
    assert pairs == [(day, day) for day in range(days)]
