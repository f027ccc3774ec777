"""Files of other services through the public reader: accounts, currencies, balances, units and names of files."""

from __future__ import annotations

import csv
import io
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pandas as pd
import pytest

import p2p_analytics as p2p
from support.frames import list_values

if TYPE_CHECKING:
    from p2p_analytics.history import History


_WHOLE = (
    "cash_app_2023", "cash_app_2026", "monzo", "paypal_activity_de", "paypal_statement_en", "revolut_en",
    "splitwise_en", "wise",
)  # fmt: skip
_SAMPLES = Path(__file__).parent / "samples"
_REVOLUT = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh"


def _write(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / f"{name}.csv" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.mark.parametrize(
    ("name", "account", "balances"),
    [
        # opening + moved = closing, as the comment beside each sample's rows adds up
        ("paypal_statement_en", "paypal", {"USD": (10000, -4791, 5209)}),
        ("paypal_statement_es", "paypal", {"EUR": (120000, 3559, 123559)}),
        ("paypal_activity_de", "nora@example.org", {"EUR": (50000, -1314, 48686), "USD": (0, 0, 0)}),
        ("paypal_activity_2015", "nora@example.org", {"EUR": (0, 0, 0), "USD": (0, 2975, 2975)}),
        ("monzo", "monzo", {"GBP": (50000, 126890, 176890)}),
        ("wise", "wise", {"EUR": (100000, -35063, 64937)}),
        ("revolut_en", "revolut", {"EUR": (0, 7629, 7629)}),
    ],
)
def test_each_currency_reconciles(name, account, balances):
    """Every currency of a file has a balance of its own, which its rows explain to the cent."""
    statements = p2p.read_statements(_SAMPLES / f"{name}.csv")
    assert statements.accounts == [account]
    checked = statements.reconciliation[statements.reconciliation["reconciled"].fillna(value=False)]
    found = checked[["currency", "opening_cents", "moved_cents", "closing_cents"]].itertuples(index=False)
    assert {currency: tuple(cents) for currency, *cents in found} == balances
    listed = statements.files.set_index("currency")[["opening_cents", "closing_cents"]]
    assert {currency: (listed.loc[currency].tolist()) for currency in balances} == {
        currency: [opening, closing] for currency, (opening, _, closing) in balances.items()
    }
    assert (statements.files["rows"] == statements.files.loc[:, "payment":"unknown"].sum(axis=1)).all()


def test_splitwise_member():
    """The member's cells add up to the total of each currency; the file has one row for each currency."""
    statements = p2p.read_statements(_SAMPLES / "splitwise_en.csv", account="Theo Marsh")
    # The euros of Theo: ten less, fifteen more, 7.50 less, two, five and twenty more: 24.50.
    found = statements.reconciliation[["currency", "moved_cents", "closing_cents", "reconciled"]]
    assert list(found.itertuples(index=False, name=None)) == [("EUR", 2450, 2450, True), ("JPY", 120000, 120000, True)]
    assert statements.files[["currency", "rows", "payment", "merchant", "notice"]].to_numpy().tolist() == [
        ["EUR", 8, 2, 4, 2],
        ["JPY", 2, 0, 1, 1],
    ]
    settlements = statements.payments[statements.payments["kind"] == "payment"]
    assert list(settlements[["counterparty_name", "flow_cents"]].itertuples(index=False, name=None)) == [
        ("Lena Ortiz (removed)", -500),
        ("Nora Quill", 750),
    ]


def test_statement_and_activity_of_one_account(tmp_path):
    """With the address as account, the statement and the activity of PayPal are one account; their rows are united."""
    activity, statement = _write(
        tmp_path,
        activity="Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,To Email Address,"
        "Transaction ID,Balance\n"
        "03/15/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,USD,9.00,0,9.00,lena@example.org,nora@example.org,"
        "P1,9.00\n",
        statement="Date,Time,Time Zone,Description,Currency,Gross,Fee,Net,Balance,Transaction ID,Name\n"
        "03/15/2024,10:00:00,UTC,Mobile Payment,USD,9.00,0,9.00,9.00,P1,Lena Ortiz\n",
    )
    statements = p2p.read_statements([activity, statement], account="nora@example.org")
    assert statements.accounts == ["nora@example.org"]
    assert statements.payments["payment_id"].tolist() == ["P1"]


def test_a_pending_row_is_the_completed_row_of_a_later_file(tmp_path):
    """A row without an id is the same when it is completed, although its date is then another one."""
    row = "CARD_PAYMENT,Current,2026-02-08 16:51:50,{0},Bus 13,-2.18,0.00,EUR,{1},{2}\n"
    files = _write(
        tmp_path,
        february=_REVOLUT + row.format("", "PENDING", ""),
        march=_REVOLUT + row.format("2026-02-09 04:00:00", "COMPLETED", "7.82"),
    )
    for paths in (files, files[::-1]):
        payments = p2p.read_statements(paths).payments
        assert payments["status"].tolist() == ["settled"]
        assert payments["date_completed"].tolist() == [pd.Timestamp("2026-02-09 04:00:00", tz="UTC")]


def test_members_with_one_name(tmp_path):
    """The second of two members with one name is called "(2)"; without it, the first is meant."""
    (path,) = _write(tmp_path, group=f"{_SPLITWISE},Theo Marsh\n2024-05-01,Tea,Tea,9.00,EUR,6.00,-2.00,-4.00\n")
    found = {
        account: p2p.read_statements(path, account=account).payments["flow_cents"].tolist()
        for account in ("Theo Marsh", "Theo Marsh (2)")
    }
    assert found == {"Theo Marsh": [-200], "Theo Marsh (2)": [-400]}


def test_a_refund_from_another_file_follows_its_counterparty(tmp_path):
    """A refund of a payment that no file has is a purchase or a payment as the other rows of its counterparty are."""
    header = "Date,Time,Time Zone,Description,Currency,Gross,Fee,Net,Balance,Transaction ID,Name,Reference Txn ID\n"
    (path,) = _write(
        tmp_path,
        statement=header
        + "03/15/2024,10:00:00,UTC,Express Checkout Payment,USD,-9.00,0,-9.00,1.00,P1,Corner Store,\n"
        + "03/16/2024,10:00:00,UTC,Payment Refund,USD,4.00,0,4.00,5.00,P2,Corner Store,P0\n",
    )
    assert p2p.read_statements(path).payments["kind"].tolist() == ["merchant", "merchant"]


def _read_payments(paths: list[Path]) -> pd.DataFrame:
    payments = p2p.read_statements(paths, account="Nora Quill").payments
    return payments.drop(columns=["file", "line"]).sort_values("payment_id", ignore_index=True)


@pytest.mark.parametrize("name", _WHOLE)
def test_overlapping_halves_in_another_form(tmp_path, name):
    """Tabs, the encoding and the cut into overlapping files change no payment."""
    sample = _SAMPLES / f"{name}.csv"
    header, *rows = csv.reader(io.StringIO(sample.read_text(encoding="utf-8"), newline=""))
    rows = [row for row in rows if row]
    middle = len(rows) // 2
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for path, part in zip(paths, (rows[: middle + 2], rows[middle - 1 :]), strict=True):
        with path.open("w", encoding="utf-16", newline="") as lines:
            csv.writer(lines, delimiter="\t").writerows([header, *part])
    found, expected = _read_payments(paths), _read_payments([sample])
    if name == "splitwise_en":  # only the second half has the total
        expected, found = (frame.drop(columns="balance_cents") for frame in (expected, found))
    pd.testing.assert_frame_equal(found, expected)


_OWN = Path(__file__).parents[1] / "samples" / "gen_d_2024.csv"
_SPLITWISE_BALANCE = "Date,Description,Category,Cost,Currency,Nora Quill,{}\n2024-01-0{},Tea,Food,8.00,USD,{},{}\n"


def _revolut(folder: Path, name: str, month: int, amounts: list[tuple[str, str]], product: str = "Current") -> Path:
    rows = [
        f"TRANSFER,{product},2024-0{month}-0{day} 10:00:00,2024-0{month}-0{day} 10:00:00,To Theo Marsh,{amount},0.00,"
        f"USD,COMPLETED,{balance}\n"
        for day, (amount, balance) in enumerate(amounts, 1)
    ]
    path = folder / name
    path.write_text(_REVOLUT + "".join(rows), encoding="utf-8")
    return path


def _list_seams(statements: p2p.Statements) -> list[tuple[object, object, object]]:
    frame = statements.reconciliation
    frame = frame.assign(file=[Path(name).name for name in frame["file"]])[["file", "gap_cents", "note"]].astype(object)
    return list(frame.where(frame.notna(), None).itertuples(index=False, name=None))


def test_two_services_in_one_account():
    """The balance of the one does not follow that of the other, and neither is that of the account."""
    paypal = _SAMPLES / "paypal_statement_en.csv"
    found = p2p.read_statements([_OWN, paypal], account="nora-quill")
    assert found.accounts == ["nora-quill"]
    assert found.reconciliation["follows"].isna().all()
    assert found.reconciliation["gap_cents"].isna().all()
    assert "between the file before and this one" not in " ".join(found.reconciliation["note"].dropna())
    assert found.history().me.balance_cents is None
    assert p2p.read_statements(_OWN).history().me.balance_cents == 101826
    assert p2p.read_statements(paypal).history().me.balance_cents is None  # in euros and dollars


def test_two_products_of_one_service(tmp_path):
    """Current, then 10 dollars saved: 70.00 and 10.00 do not follow each other; a third file follows the first."""
    first = _revolut(tmp_path, "first.csv", 1, [("-20.00", "80.00"), ("-10.00", "70.00")])
    saved = _revolut(tmp_path, "saved.csv", 2, [("10.00", "10.00"), ("5.00", "15.00")], "Savings")
    third = _revolut(tmp_path, "third.csv", 2, [("-5.00", "65.00"), ("-5.00", "60.00")])
    found = p2p.read_statements([first, saved, third], account="nora-quill")
    assert _list_seams(found) == [("first.csv", None, None), ("third.csv", 0, None), ("saved.csv", None, None)]
    assert found.history().me.balance_cents is None
    assert p2p.read_statements([first, third], account="nora-quill").history().me.balance_cents == 6000


@pytest.mark.parametrize("other", ["Lena Ortiz", "Theo Marsh"])
def test_two_groups_of_splitwise(other, tmp_path):
    """Each group starts at 0, also one of the same members with other rows that was exported on the same day."""
    (tmp_path / "one.csv").write_text(
        _SPLITWISE_BALANCE.format("Theo Marsh", 1, "4.00", "-4.00") + "2024-01-31,Total balance,,,USD,4.00,-4.00\n"
    )
    (tmp_path / "two.csv").write_text(
        _SPLITWISE_BALANCE.format(other, 5, "-4.00", "4.00") + "2024-01-31,Total balance,,,USD,-4.00,4.00\n"
    )
    found = p2p.read_statements(tmp_path, account="Nora Quill")
    assert found.reconciliation["gap_cents"].isna().all()
    assert found.reconciliation["reconciled"].tolist() == [True, True]
    assert found.history().me.balance_cents is None


def test_generations_of_one_service_connect(tmp_path):
    """A CSV file closes with 1,018.26, and a JSON history opens with it."""
    rows = (
        '{"transactions": [{"id": "9", "type": "direct_deposit", "datetime_created": "2024-06-01T10:00:00", '
        '"amount": 1.0, "direct_deposit": {}}], "start_balance": 1018.26, "end_balance": 1019.26}'
    )
    (tmp_path / "later.json").write_text(rows, encoding="utf-8")
    found = p2p.read_statements([_OWN, tmp_path / "later.json"], account="nora-quill")
    assert found.reconciliation["gap_cents"].dropna().to_list() == [0]
    assert found.history().me.balance_cents == 101926


HEADER = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"


def read(folder: Path, amount: str, balance: str, currency: str, kind: str = "TRANSFER") -> History:
    """Return the history of a file with one row."""
    row = f'{kind},Current,2024-01-01 10:00:00,2024-01-01 10:00:01,To Ada Quill,"{amount}",0,{currency},COMPLETED,'
    (folder / "account.csv").write_text(f'{HEADER}{row}"{balance}"\n', "utf-8")
    return p2p.read_statements(folder / "account.csv", account="nora").history()


@pytest.mark.parametrize(
    ("row", "cents", "displayed"),
    [
        (("-1200", "8800", "JPY"), -120000, "¥1,200<"),
        (("-1,200", "8,800", "JPY"), -120000, "¥1,200<"),
        (("-1200.00", "8800.00", "JPY"), -120000, "¥1,200<"),
        (("-1.250", "8.750", "KWD"), -125, "KWD\N{NO-BREAK SPACE}1.250<"),
        (("-12.5", "88.5", "CHF"), -1250, "CHF\N{NO-BREAK SPACE}12.50<"),
        # Thousandths are not guessed; nor is a point that may separate thousands.
        (("-1.255", "8.75", "KWD"), None, ""),
        (("-12.005", "8.75", "USD"), None, ""),
        (("-12.000", "8.75", "CLP"), None, ""),
    ],
)
def test_amounts_are_hundredths_of_the_unit(tmp_path, row, cents, displayed) -> None:
    """And are displayed with the decimals of the currency."""
    history = read(tmp_path, *row)
    assert list_values(history.payments["flow_cents"]) == [cents]
    assert (row[0] in history.problems["value"].tolist()) == (cents is None)
    assert cents is None or displayed in history._repr_html_()


def test_transfers_alone_are_in_their_currency(tmp_path: Path) -> None:
    """Without a payment between people, the currency is that of the other rows; nothing is in dollars."""
    history = read(tmp_path, "100.00", "100.00", "GBP", kind="TOPUP")
    assert history.payments["kind"].tolist() == ["transfer"]
    card = history._repr_html_()
    assert "balance £100.00" in card
    assert card.count("£0.00") == 5
    assert "$" not in card


HEADER_NAME: Final = "Transaction ID,Date,Time,Type,Name,Category,Amount,Currency,Local amount,Local currency,Notes and #tags,Address,Receipt,Description,Category split,Balance,Balance currency\n"  # noqa: E501 - as the service writes it


def write(path: Path, number: int, *, amount: str = "-12.50") -> Path:
    """Write a file of one payment of £12.50, and of an amount that cannot be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    row = f"tx_{number},{number:02}/02/2024,10:00:00,Monzo-to-Monzo,Ada Quill,Transfers,{{}},GBP,{{}},GBP,,,,Ada,,,\n"
    path.write_text(HEADER_NAME + row.format(amount, amount) + f"bad{row.format('many', 'many')}", "utf-8")
    return path


def test_the_name_without_folders(tmp_path: Path) -> None:
    """In every frame, and in the texts of problems."""
    write(tmp_path / "a.csv", 1)
    (tmp_path / "other.csv").write_text("x,y\n1,2\n", "utf-8")
    statements = p2p.read_statements(tmp_path, account="nora")
    assert set(statements.payments["file"]) == {"a.csv"}
    assert statements.files["file"].tolist() == statements.reconciliation["file"].tolist() == ["a.csv"]
    assert statements.problems["file"].iloc[0] == "other.csv"
    assert set(statements.problems["file"]) == {"a.csv", "other.csv"}
    history = statements.history()
    own = [statements.payments, statements.files, statements.reconciliation, statements.problems]
    for frame in [*own, history.payments, history.problems]:
        assert str(tmp_path) not in frame.to_csv()
        assert tmp_path.name not in frame.to_csv()


def test_as_many_folders_as_distinguish_the_files(tmp_path: Path) -> None:
    """Only the files with an equal name have folders; those in one folder of a name have one more."""
    for number, name in enumerate(["x/old/a.csv", "y/old/a.csv", "y/new/a.csv", "y/b.csv"], start=1):
        write(tmp_path / name, number)
    statements = p2p.read_statements(tmp_path / "**" / "*.csv", account="nora")
    assert set(statements.files["file"]) == {"x/old/a.csv", "y/old/a.csv", "new/a.csv", "b.csv"}
    assert statements.payments.set_index("payment_id")["file"]["tx_3"] == "new/a.csv"


def test_members_of_archives_have_the_name_of_the_archive(tmp_path: Path) -> None:
    """Also if a folder has the name of the archive; no two files share a name."""
    for folder, number in (("one", 1), ("two", 2)):
        with zipfile.ZipFile(tmp_path / f"{folder}.zip", "w") as archive:
            archive.write(write(tmp_path / folder / "a.csv", number), "2024/a.csv")
    names = p2p.read_statements(tmp_path, account="nora").files["file"]
    assert sorted(names) == ["one.zip/2024/a.csv", "two.zip/2024/a.csv"]
    write(tmp_path / "three" / "one.zip" / "2024" / "a.csv", 3)
    write(tmp_path / "three" / "2024" / "a.csv", 4)
    every = [tmp_path / "one.zip", *sorted(tmp_path.glob("three/**/*.csv"))]
    names = p2p.read_statements(every, account="nora").files["file"]
    assert names.is_unique
    assert not names.str.contains(tmp_path.name).any()
