"""Files of other services through the public reader: accounts, currencies, balances, units and names of files."""

import csv
import io
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from support.frames import list_rows, list_values
from support.statements.files import CASH_APP, REVOLUT, SAMPLES, SPLITWISE

_OWN = SAMPLES["gen_d_2024"]


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
    statements = p2p.read_statements(SAMPLES[name])
    assert statements.accounts == [account]
    checked = statements.reconciliation[statements.reconciliation["reconciled"].fillna(value=False)]
    found = list_rows(checked, "currency", "opening_cents", "moved_cents", "closing_cents")
    assert {currency: tuple(cents) for currency, *cents in found} == balances
    listed = {
        currency: cents
        for currency, *cents in list_rows(statements.files, "currency", "opening_cents", "closing_cents")
    }
    assert {currency: listed[currency] for currency in balances} == {
        currency: [opening, closing] for currency, (opening, _, closing) in balances.items()
    }
    assert (statements.files["rows"] == statements.files.loc[:, "payment":"unknown"].sum(axis=1)).all()


def test_splitwise_member():
    """The member's cells add up to the total of each currency; the file has one row for each currency."""
    statements = p2p.read_statements(SAMPLES["splitwise_en"], account="Theo Marsh")
    # The euros of Theo: ten less, fifteen more, 7.50 less, two, five and twenty more: 24.50.
    assert list_rows(statements.reconciliation, "currency", "moved_cents", "closing_cents", "reconciled") == [
        ("EUR", 2450, 2450, True), ("JPY", 120000, 120000, True),
    ]  # fmt: skip
    assert list_rows(statements.files, "currency", "rows", "payment", "merchant", "notice") == [
        ("EUR", 8, 2, 4, 2), ("JPY", 2, 0, 1, 1),
    ]  # fmt: skip
    settlements = statements.payments[statements.payments["kind"] == "payment"]
    assert list_rows(settlements, "counterparty_name", "flow_cents") == [
        ("Lena Ortiz (removed)", -500), ("Nora Quill", 750),
    ]  # fmt: skip


def test_statement_and_activity_of_one_account(write):
    """With the address as account, the statement and the activity of PayPal are one account; their rows are united."""
    activity = (
        "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,To Email Address,Transaction ID,"
        "Balance\n03/15/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,USD,9.00,0,9.00,lena@example.org,"
        "nora@example.org,P1,9.00\n"
    )
    statement = (
        "Date,Time,Time Zone,Description,Currency,Gross,Fee,Net,Balance,Transaction ID,Name\n"
        "03/15/2024,10:00:00,UTC,Mobile Payment,USD,9.00,0,9.00,9.00,P1,Lena Ortiz\n"
    )
    files = [write("activity.csv", activity), write("statement.csv", statement)]
    statements = p2p.read_statements(files, account="nora@example.org")
    assert statements.accounts == ["nora@example.org"]
    assert statements.payments["payment_id"].tolist() == ["P1"]


def test_a_pending_row_is_the_completed_row_of_a_later_file(write):
    """A row without an id is the same when it is completed, although its date is then another one."""
    row = "CARD_PAYMENT,Current,2026-02-08 16:51:50,{0},Bus 13,-2.18,0.00,EUR,{1},{2}\n"
    february = write("february.csv", REVOLUT + row.format("", "PENDING", ""))
    march = write("march.csv", REVOLUT + row.format("2026-02-09 04:00:00", "COMPLETED", "7.82"))
    for paths in ([february, march], [march, february]):
        assert list_rows(p2p.read_statements(paths).payments, "status", "date_completed") == [
            ("settled", pd.Timestamp("2026-02-09 04:00:00", tz="UTC"))
        ]


@pytest.mark.parametrize(("account", "cents"), [("Theo Marsh", -200), ("Theo Marsh (2)", -400)])
def test_members_with_one_name(read, account, cents):
    """The second of two members with one name is called "(2)"; without it, the first is meant."""
    text = f"{SPLITWISE},Nora Quill,Theo Marsh,Theo Marsh\n2024-05-01,Tea,Tea,9.00,EUR,6.00,-2.00,-4.00\n"
    assert read(text, account=account).payments["flow_cents"].tolist() == [cents]


@pytest.mark.parametrize(
    "name",
    ["cash_app_2023", "cash_app_2026", "monzo", "paypal_activity_de", "paypal_statement_en", "revolut_en", "revolut_pt",
     "splitwise_en", "wise", "wise_2021"],
)  # fmt: skip
def test_overlapping_halves_in_another_form(tmp_path, name):
    """Tabs, the encoding and the cut into overlapping files change no payment, and no half is taken for a copy."""
    header, *rows = filter(None, csv.reader(io.StringIO(SAMPLES[name].read_text("utf-8"), newline="")))
    middle = len(rows) // 2
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    for path, part in zip(paths, (rows[: middle + 2], rows[max(0, middle - 1) :]), strict=True):
        with path.open("w", encoding="utf-16", newline="") as lines:
            csv.writer(lines, delimiter="\t").writerows([header, *part])
    halves, whole = (p2p.read_statements(each, account="Nora Quill") for each in (paths, SAMPLES[name]))
    # Of a group, only the second half has the total.
    columns = ["file", "line", *(["balance_cents"] if name == "splitwise_en" else [])]
    found, expected = (
        each.payments.drop(columns=columns).sort_values("payment_id", ignore_index=True) for each in (halves, whole)
    )
    pd.testing.assert_frame_equal(found, expected)
    assert not halves.problems["problem"].str.contains("look").any()


def test_two_services_in_one_account():
    """The balance of the one does not follow that of the other, and neither is that of the account."""
    paypal = SAMPLES["paypal_statement_en"]
    found = p2p.read_statements([_OWN, paypal], account="nora-quill")
    assert found.accounts == ["nora-quill"]
    assert found.reconciliation[["follows", "gap_cents"]].isna().all(axis=None)
    assert "between the file before and this one" not in " ".join(found.reconciliation["note"].dropna())
    assert found.history().me.balance_cents is None
    assert p2p.read_statements(_OWN).history().me.balance_cents == 101826
    assert p2p.read_statements(paypal).history().me.balance_cents is None  # in euros and dollars


def test_two_products_of_one_service(write):
    """Current, then 10 dollars saved: 70.00 and 10.00 do not follow each other; a third file follows the first."""
    months = {
        "first.csv": ("Current", 1, [("-20.00", "80.00"), ("-10.00", "70.00")]),
        "saved.csv": ("Savings", 2, [("10.00", "10.00"), ("5.00", "15.00")]),
        "third.csv": ("Current", 2, [("-5.00", "65.00"), ("-5.00", "60.00")]),
    }
    row = "TRANSFER,{0},2024-0{1}-0{2} 10:00:00,2024-0{1}-0{2} 10:00:00,To Theo Marsh,{3},0.00,USD,COMPLETED,{4}\n"
    first, saved, third = (
        write(name, REVOLUT + "".join(row.format(product, month, day, *each) for day, each in enumerate(amounts, 1)))
        for name, (product, month, amounts) in months.items()
    )
    found = p2p.read_statements([first, saved, third], account="nora-quill")
    assert list_rows(found.reconciliation, "file", "gap_cents", "note") == [
        ("first.csv", None, None), ("third.csv", 0, None), ("saved.csv", None, None),
    ]  # fmt: skip
    assert found.history().me.balance_cents is None
    assert p2p.read_statements([first, third], account="nora-quill").history().me.balance_cents == 6000


@pytest.mark.parametrize("other", ["Lena Ortiz", "Theo Marsh"])
def test_two_groups_of_splitwise(other, tmp_path, write):
    """Each group starts at 0, also one of the same members with other rows that was exported on the same day."""
    for name, member, day, cells in (("one", "Theo Marsh", 1, "4.00,-4.00"), ("two", other, 5, "-4.00,4.00")):
        rows = f"2024-01-0{day},Tea,Food,8.00,USD,{cells}\n2024-01-31,Total balance,,,USD,{cells}\n"
        write(f"{name}.csv", f"{SPLITWISE},Nora Quill,{member}\n{rows}")
    found = p2p.read_statements(tmp_path, account="Nora Quill")
    assert list_rows(found.reconciliation, "gap_cents", "reconciled") == [(None, True)] * 2
    assert found.history().me.balance_cents is None


def test_generations_of_one_service_connect(write):
    """A CSV file closes with 1,018.26, and a JSON history opens with it."""
    later = write(
        "later.json",
        '{"transactions": [{"id": "9", "type": "direct_deposit", "datetime_created": "2024-06-01T10:00:00", '
        '"amount": 1.0, "direct_deposit": {}}], "start_balance": 1018.26, "end_balance": 1019.26}',
    )
    found = p2p.read_statements([_OWN, later], account="nora-quill")
    assert found.reconciliation["gap_cents"].dropna().to_list() == [0]
    assert found.history().me.balance_cents == 101926


_ROW = 'TRANSFER,Current,2024-01-01 10:00:00,2024-01-01 10:00:01,To Ada Quill,"{0}",0,{2},COMPLETED,"{1}"\n'


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
def test_amounts_are_hundredths_of_the_unit(read, row, cents, displayed) -> None:
    """And are displayed with the decimals of the currency."""
    history = read(REVOLUT + _ROW.format(*row), account="nora").history()
    assert list_values(history.payments["flow_cents"]) == [cents]
    assert (row[0] in history.problems["value"].tolist()) == (cents is None)
    assert cents is None or displayed in history._repr_html_()


def wallet(number: int) -> str:
    """Return a file of one payment, and of an amount that cannot be read."""
    row = f"{{0}}{number},2024-03-0{number} 10:00:00 CST,P2P,USD,{{1}},$0,{{1}},,,,COMPLETE,,Ada Quill,\n"
    return CASH_APP + row.format("tx_", "$5") + row.format("bad_", "many")


def test_the_names_of_files(tmp_path: Path, write) -> None:
    """They have no folders, in frames and in the texts of problems, except where these distinguish equal names."""
    for number, name in enumerate(["x/old/a.csv", "y/old/a.csv", "y/new/a.csv", "y/b.csv"], start=1):
        write(name, wallet(number))
    write("other.csv", "x,y\n1,2\n")
    statements = p2p.read_statements(tmp_path / "**" / "*.csv", account="nora")
    names = {"x/old/a.csv", "y/old/a.csv", "new/a.csv", "b.csv"}
    assert set(statements.payments["file"]) == set(statements.files["file"]) == names
    assert statements.payments.set_index("payment_id")["file"]["tx_3"] == "new/a.csv"
    assert set(statements.reconciliation["file"]) == names
    assert set(statements.problems["file"]) == {*names, "other.csv"}
    history = statements.history()
    own = [statements.payments, statements.files, statements.reconciliation, statements.problems]
    for frame in [*own, history.payments, history.problems]:
        assert tmp_path.name not in frame.to_csv()


def test_members_of_archives_have_the_name_of_the_archive(tmp_path: Path, pack, write) -> None:
    """Also if a folder has the name of the archive; no two files share a name."""
    for name, number in (("one.zip", 1), ("two.zip", 2)):
        pack(name, {"2024/a.csv": wallet(number)})
    names = p2p.read_statements(tmp_path, account="nora").files["file"]
    assert sorted(names) == ["one.zip/2024/a.csv", "two.zip/2024/a.csv"]
    folders = [write("three/one.zip/2024/a.csv", wallet(3)), write("three/2024/a.csv", wallet(4))]
    names = p2p.read_statements([tmp_path / "one.zip", *folders], account="nora").files["file"]
    assert names.is_unique
    assert not names.str.contains(tmp_path.name).any()
