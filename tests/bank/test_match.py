"""Bank files in several languages and forms, and their rows paired with transfers; all values worked out by hand."""

import datetime as dt
import os
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.bank import BANK_MATCHES, match_bank
from p2p_analytics.errors import ConfigurationError, SchemaError, StatementError
from support.frames import list_rows

PAIRED, LONE, OUTSIDE, IN_BANK = "paired", "only in statement", "outside the bank file", "only in bank"


def make_payments(*rows: tuple[str, str, int], **columns: Any) -> pd.DataFrame:
    """Return PAYMENTS of settled transfers: id, date and flow in cents, with some columns replaced."""
    ids, dates, flows = zip(*rows, strict=True) if rows else ((), (), ())
    usual = {
        "payment_id": pd.Series(ids, dtype="str"), "status": "settled", "kind": "transfer", "currency": "USD",
        "date_created": pd.Series(dates, dtype="datetime64[us, UTC]"), "account_id": "nora-quill",
        "flow_cents": pd.Series(flows, dtype="Int64"), "fee_cents": pd.Series([None] * len(ids), dtype="Int64"),
        "funding_source": None,
    }  # fmt: skip
    return pd.DataFrame(usual | columns)


def make_bank(*rows: tuple[str, str, str]) -> pd.DataFrame:
    """Return a bank account: date, description, amount."""
    return pd.DataFrame(rows, columns=["Date", "Description", "Amount"], dtype="str")


def _match(payments: pd.DataFrame, bank: object, *names: str, **options: Any) -> list[tuple[Any, ...]]:
    frame = match_bank(payments, bank, **options)
    assert {str(name): str(dtype) for name, dtype in frame.dtypes.items()} == dict(BANK_MATCHES)
    return list_rows(frame, *(names or ("payment_id", "bank_line", "days", "state")))


def test_arguments_of_other_types() -> None:
    """A number of numpy is one, and a value of another type is named."""
    payments = make_payments(("1", "2024-05-01", -500))
    assert _match(payments, make_bank(("2024-05-03", "VENMO", "5.00")), "state", days=np.int64(2)) == [(PAIRED,)]
    for options in ({"columns": ["date"]}, {"days": 1.5}):
        with pytest.raises(ConfigurationError, match=next(iter(options))):
            match_bank(payments, make_bank(), **options)


def _read(bank: object, *names: str, **options: Any) -> list[tuple[Any, ...]]:
    """Return date, description and cents of the bank's rows with one of these words, which need no transfer."""
    found = _match(make_payments(), bank, "bank_date", "bank_description", "bank_amount_cents", names=names, **options)
    return [(f"{date:%Y-%m-%d}", text, cents) for date, text, cents in found]


def _write(folder: Path, content: str | bytes) -> Path:
    path = folder / "bank.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


# Each has a row CASHOUT of 30 January, 1200.00, and a row FEE of the day after, -1.50.
FORMS = {
    "American": "Date,Description,Amount\n01/30/2024,CASHOUT,1200.00\n01/31/2024,FEE,-1.5\n",
    "card": "Details,Posting Date,Description,Amount,Type,Balance\n"
        "CREDIT,01/30/2024,CASHOUT,1200.00,ACH,1\nDEBIT,01/31/2024,FEE,-1.50,X,1\n",
    "two columns": "Transaction Date,Description,Debit,Credit\n2024-01-30,CASHOUT,,1200.00\n2024-01-31,FEE,1.50,\n",
    "negative debit": "Date,Memo,Money Out,Money In\n2024-01-30,CASHOUT,,1200\n2024-01-31,FEE,-1.50,\n",
    "brackets": 'Date,Description,Amount\n2024-01-30,CASHOUT,$1200.00\n2024-01-31,FEE,"($1.50)"\n',
    "DR": "Date,Description,Amount\n2024-01-30,CASHOUT,1200.00 CR\n2024-01-31,FEE,1.50 DR\n",
    "thousands": 'Date,Description,Amount\n2024-01-30,CASHOUT,"1,200.00"\n2024-01-31,FEE,-1.50\n',
    "German": '"Buchungstag";"Buchungstext";"Verwendungszweck";"Betrag";"Währung"\n'
        '"30.01.24";"GUTSCHRIFT";"CASHOUT";"1.200,00";"EUR"\n"31.01.24";"X";"FEE";"-1,50";"EUR"\n',
    "Dutch": "Datum;Naam / Omschrijving;Rekening;Code;Af Bij;Bedrag (EUR);Mededelingen\n"
        "20240130;CASHOUT;NL1;GT;Bij;1200,00;x\n20240131;FEE;NL1;GT;Af;1,50;y\n",
    "French": "Date de comptabilisation;Libellé;Débit;Crédit\n30/01/2024;CASHOUT;;1200,00\n31/01/2024;FEE;-1,50;\n",
    "Spanish": "Fecha\tConcepto\tImporte\n30/01/2024\tCASHOUT\t1200,00\n31/01/2024\tFEE\t-1,50\n",
    "Italian": "Data contabile;Causale;Dare;Avere\n30/01/2024;CASHOUT;;1200,00\n31/01/2024;FEE;1,50;\n",
    "Portuguese": "Data;Descrição;Valor\n30-01-2024;CASHOUT;1200,00\n31-01-2024;FEE;-1,50\n",
    "preamble": "Account,123\nFrom,01/01/2024\n\nDate,Description,Amount\n"
        "2024-01-30,CASHOUT,1200.00\n\n2024-01-31,FEE,-1.50\n",
    "rows without an amount": "Date,Description,Amount\n,Opening fee,\n2024-01-30,CASHOUT,1200.00\n"
        "2024-01-31,FEE,-1.50\n2024-01-31,Fee,\n",
}  # fmt: skip


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_forms_of_banks(content: str, tmp_path: Path) -> None:
    """The columns, the sign, the separators and the order of day and month are found."""
    for again in (content.encode(), ("\ufeff" + content.replace("\n", "\r\n")).encode(), content.encode("utf-16")):
        assert _read(_write(tmp_path, again), "cashout", "fee") == [
            ("2024-01-30", "CASHOUT", 120000), ("2024-01-31", "FEE", -150),
        ]  # fmt: skip


def test_columns_can_be_named(tmp_path: Path) -> None:
    """The caller's names win over the known ones; the message for a missing one has both."""
    path = _write(tmp_path, "Day,Date,What,Amount,Sum\n2024-01-30,1999-01-01,rent,5,-7.25\n")
    columns = {"date": "day", "amount": "SUM", "description": "What"}
    assert _read(path, "rent", columns=columns) == [("2024-01-30", "rent", -725)]
    path = _write(tmp_path, "Date,Amount\n2024-01-30,1\n")
    with pytest.raises(StatementError, match=r"no header with the columns 'Day'\. Its columns are: Date, Amount"):
        _read(path, columns={"date": "Day"})


def test_lines_are_those_of_the_file(tmp_path: Path) -> None:
    """A row is called by the line on which it begins, whatever line breaks its cells have."""
    path = _write(tmp_path, 'x\nDate,Description,Amount\n2024-01-30,"a\nb",1\n\n2024-01-31,c,2\n')
    found = _match(make_payments(), path, "bank_line", "bank_description", names=["a b", "c"])
    assert found == [(3, "a b"), (6, "c")]


def test_frames() -> None:
    """Frames hold text, dates, instants, decimals, whole numbers or floats; a missing amount is no booking."""
    days = [dt.date(2024, 1, 30), dt.date(2024, 1, 31)]
    table = pd.DataFrame({"Date": pd.to_datetime(days), "Description": ["a", "b"], "Amount": [12.3, -5.0]})
    for frame in (
        table,
        table.assign(Date=days, Amount=[Decimal("12.30"), -5]),
        table.assign(Date=pd.to_datetime(days, utc=True), Amount=["12.3", "-5"]),
        pl.from_pandas(table),
    ):
        assert _read(frame, "a", "b") == [("2024-01-30", "a", 1230), ("2024-01-31", "b", -500)]
    missing = table.assign(Amount=pd.array([None, -5], dtype="Int64"), Description=[None, pd.NA])
    payments = make_payments(("t1", "2024-01-30", -1230), ("t2", "2024-01-31", 500))
    assert _match(payments, missing, "bank_line", "bank_description") == [(None, None), (2, None)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Date,Description,Amount\n2024-01-30,x,1\n2024-01-31,y,12 apples\n", "line 3: the amount '12 apples' is not"),
        ("Date,Description,Amount\n2024-01-30,x,1.234\n2024-01-30,x,2.50\n", "line 2: the amount '1.234' is not an"),
        ("Date,Description,Amount\nsoon,x,1\n", "line 2: the date 'soon' is not a date"),
        ("Date,Description,Amount\n,x,1\n", "line 2: the date '' is not a date"),
        ("Date,Description,Amount\n01/02/2024,x,1\n", "line 2: the date '01/02/2024' can be month/day or day/month:"),
        ("a,b\n1,2\n", "bank.csv has no header with a date and an amount: name them.*Its columns are: a, b"),
        ("", "bank.csv has no header with a date and an amount"),
        (b"\x00\x01", "bank.csv"),
        ('Date,Description,Amount\n2024-01-30,"' + "x\n" * 200_000, "a cell is too large: is a quote open"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(content: str | bytes, message: str, tmp_path: Path) -> None:
    """One sentence names the file, the line and the value, and says how to go on."""
    with pytest.raises(StatementError, match=message):
        _read(_write(tmp_path, content))


@pytest.mark.parametrize(
    ("days", "day_first", "first"),
    [
        (("01/02/2024", "13/02/2024"), None, "2024-02-01"), (("01/02/2024", "02/13/2024"), None, "2024-01-02"),
        (("01.02.2024",), None, "2024-02-01"), (("02/02/2024",), None, "2024-02-02"),
        (("01/02/2024",), True, "2024-02-01"), (("01/02/2024",), False, "2024-01-02"),
    ],
)  # fmt: skip
def test_day_and_month(days: tuple[str, ...], day_first: bool | None, first: str, tmp_path: Path) -> None:  # noqa: FBT001 - a case
    """One day above 12, a point, or the caller decides the order; equal numbers need no decision."""
    path = _write(tmp_path, "Date,Description,Amount\n" + "".join(f"{day},x,1\n" for day in days))
    assert _read(path, "x", day_first=day_first)[0][0] == first


def test_files_that_are_none(tmp_path: Path) -> None:
    """A missing file, a folder and a pipe are refused without waiting."""
    os.mkfifo(tmp_path / "pipe")
    for path, message in ((tmp_path / "no.csv", "no such file"), (tmp_path, "folder"), (tmp_path / "pipe", "pipe")):
        with pytest.raises(StatementError, match=message):
            _read(path)


_CELLS = st.sampled_from(
    ["Date", "Amount", "Description", "Betrag", "Soll", "2024-01-30", "01/02/2024", "31.1.24", "1", "-1,5", "1.234,56",
     "(2.00)", "3 DR", "", '"', "x\ny", "\u202e", "99999999999999999999", "=1+1", "NaN", "0x1", "٣", "1e3"],
)  # fmt: skip


@settings(max_examples=10, deadline=None, derandomize=True)
@given(
    cells=st.lists(st.lists(_CELLS, max_size=5), max_size=6),
    delimiter=st.sampled_from([",", ";", "\t"]),
    header=st.sampled_from([[], ["Date", "Description", "Amount"]]),
    rest=st.text(),
)
def test_any_text(cells, delimiter, header, rest, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Any text gives a table or one sentence that names the file; never another error."""
    text = "\n".join([*(delimiter.join(row) for row in [header, *cells]), rest])
    path = _write(tmp_path_factory.getbasetemp(), text.encode("utf-8", "replace"))
    try:
        _read(path, "1", "Date", "x y")
    except StatementError as refused:
        assert "bank.csv" in str(refused)  # noqa: PT017 - it may also be read
        assert "\n" not in str(refused)  # noqa: PT017


def test_a_transfer_out_is_money_into_the_bank() -> None:
    """Equal amounts in opposite directions are a pair, with all that is known of both."""
    payments = make_payments(("t1", "2024-01-28T21:10:55", -20000), ("t2", "2024-02-03T10:00:00", 5000))
    bank = make_bank(("2024-01-30", "VENMO CASHOUT", "200.00"), ("2024-02-02", "VENMO ADD FUNDS", "-50.00"))
    assert _match(payments, bank, *BANK_MATCHES) == [
        ("nora-quill", "t1", "transfer", pd.Timestamp("2024-01-28T21:10:55Z"), -20000, None, "USD",
         1, pd.Timestamp("2024-01-30T00:00Z"), "VENMO CASHOUT", 20000, 2, PAIRED),
        ("nora-quill", "t2", "transfer", pd.Timestamp("2024-02-03T10:00:00Z"), 5000, None, "USD",
         2, pd.Timestamp("2024-02-02T00:00Z"), "VENMO ADD FUNDS", -5000, -1, PAIRED),
    ]  # fmt: skip


_MONTH = [(f"2024-{day}", f"2024-{day}T12:00:00", -100) for day in ("04-30", "05-01", "05-31", "06-01")]
_EVENING = [("t", "2024-01-06T02:00:00", -100)]  # nine in the evening of the day before in New York
_TWO = [("same", "2024-01-10", -100), ("late", "2024-01-20", -700), ("lone", "2024-01-01", -9)]
_TWO_BANK = [("2024-01-10", "VENMO", "-1.00"), ("2024-01-26", "PAYROLL", "7.00"), ("2024-01-11", "GROCER", "-1.00")]
_SERVICE = [("2024-01-05", "PAYROLL", "1.00"), ("2024-01-08", "Venmo* CASHOUT 123", "1.00")]


@pytest.mark.parametrize(
    ("transfers", "bank", "options", "expected"),
    [
        ([], [], {}, []),
        ([("t", "2024-01-05", -1)], [], {}, [("t", None, None, OUTSIDE)]),  # a file without rows says nothing
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
        ([], _SERVICE, {"names": "payroll"}, [(None, 1, None, IN_BANK)]),
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


_T, _ONE = ("t", "2024-01-05", -100), make_bank(("2024-01-05", "X", "1.00"))
_FEE = make_payments(("t", "2024-01-05", -20000), fee_cents=pd.array([350], dtype="Int64"))
_GROSS, _NET = ("2024-01-05", "X", "200.00"), ("2024-01-07", "X", "196.50")
_FUNDED = make_payments(
    ("bank", "2024-01-05", -6410), ("card", "2024-01-05", -100), ("own", "2024-01-05", -500),
    ("cash", "2024-01-05", -500),
    kind=["payment", "merchant", "payment", "payment"],
    funding_source=["Bank of Sand *1234", "Visa *1", "Venmo balance", "Your Cash"],
)  # fmt: skip
_FUNDING = make_bank(
    ("2024-01-06", "VENMO PAYMENT", "-64.10"), ("2024-01-05", "TEA", "-1.00"), ("2024-01-05", "VENMO", "-5.00")
)


@pytest.mark.parametrize(
    ("payments", "bank", "expected"),
    [
        # 200.00 with a fee of 3.50 arrive as 196.50; a bank that shows 200.00 all the same is a second choice.
        (_FEE, make_bank(_GROSS, _NET), [("t", 2, 2, PAIRED)]),
        (_FEE, make_bank(_GROSS), [("t", 1, 0, PAIRED)]),
        # A row that a transfer without a fee could have is left for the second choice of another one.
        (pd.concat([_FEE, make_payments(("free", "2024-01-05", -20000))]),
         make_bank(("2024-01-04", "X", "200.00"), _GROSS), [("free", 2, 0, PAIRED), ("t", 1, -1, PAIRED)]),
        # What the bank funded is in its account too, if it names the service; what it did not is no missing transfer.
        (_FUNDED, _FUNDING, [("bank", 1, 1, PAIRED), (None, 3, None, IN_BANK)]),
        # A pending transfer, and one without a date or amount, moved nothing.
        (make_payments(_T, status="pending"), _ONE, []),
        (make_payments(_T, date_created=pd.NaT), _ONE, []),
        (make_payments(_T, flow_cents=pd.NA), _ONE, []),
        # One euro is not one dollar, where the bank names its currency.
        (make_payments(_T, ("eur", "2024-01-05", -100), currency=["USD", "EUR"]), _ONE.assign(Currency="EUR"),
         [("eur", 1, 0, PAIRED), ("t", None, None, LONE)]),
    ],
)  # fmt: skip
def test_what_is_in_the_bank_account(payments, bank, expected) -> None:
    """Settled transfers less their fee, and what the bank funded, in one currency."""
    assert _match(payments, bank) == expected


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


@settings(max_examples=12, deadline=None, derandomize=True)
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
