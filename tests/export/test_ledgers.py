"""Ledgers: the checkers of beancount and hledger accept them, and their balances are those of the frame."""

import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from beancount.core import data

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from support.frames import frame_from_rows
from support.hostile_texts import TEXTS
from support.statements.ledgers import ask_hledger, load_beancount, make_row

SAMPLES = Path(__file__).parents[1] / "statements" / "samples"

ROWS = [
    make_row(-1250, "2024-05-03"),
    make_row(2000, "2024-05-02", counterparty_name='Zoë \\ "Z" Quill', note="rent; May | half"),
    make_row(-500, "2024-05-04", status="pending"),
    make_row(-75000, "2024-05-05", kind="transfer", direction="out", counterparty_id=None, counterparty_name=None),
    make_row(-999, "2024-05-06", kind="merchant", currency="GBP"),
    make_row(None, "2024-05-07"),
    make_row(-10, "2024-05-08", currency=None, fee_cents=3),
    make_row(-1, "2024-05-31", date_completed=None, date_created="2024-06-01T03:00:00Z"),
]
# By hand: the settled amounts of ROWS.
BALANCES = {
    ("Assets:P2P", "USD"): "-742.51", ("Assets:P2P", "GBP"): "-9.99", ("Assets:P2P", "XXX"): "-0.10",
    ("Expenses:People", "USD"): "12.51", ("Expenses:People", "XXX"): "0.07", ("Expenses:Fees", "XXX"): "0.03",
    ("Income:People", "USD"): "-20.00", ("Assets:Transfers", "USD"): "750.00", ("Expenses:Merchants", "GBP"): "9.99",
}  # fmt: skip


def check(source: Any, folder: Path, expected: dict[tuple[str, str], Any], **arguments: Any) -> str:
    """Check the balances of both kinds of ledgers of rows or a history, and return the text for beancount."""
    source = frame_from_rows(source, {**PAYMENTS, **STATEMENT}) if isinstance(source, list) else source
    decimals = {key: Decimal(amount) for key, amount in expected.items()}
    p2p.to_beancount(source, folder / "p.beancount", **arguments)
    assert load_beancount(folder / "p.beancount")[1] == decimals
    if shutil.which("hledger"):
        p2p.to_hledger(source, folder / "p.journal", **arguments)
        assert ask_hledger(folder / "p.journal") == decimals
    return (folder / "p.beancount").read_text("utf-8")


def list_transactions(path: Path) -> list[Any]:
    """Return the transactions of a ledger for beancount."""
    return [entry for entry in load_beancount(path)[0] if isinstance(entry, data.Transaction)]


def test_each_settled_row_is_a_transaction(tmp_path: Path) -> None:
    """It is on the day of its completion, with its id; in a zone west of UTC the last row belongs to the day before."""
    frame = frame_from_rows(ROWS, PAYMENTS)
    text = check(frame, tmp_path, BALANCES)
    told = list_transactions(tmp_path / "p.beancount")
    assert [(str(one.date), one.meta["payment_id"]) for one in told] == [
        *((f"2024-05-0{day}", f"2024-05-0{day}") for day in (2, 3, 5, 6, 8)), ("2024-06-01", "2024-05-31"),
    ]  # fmt: skip
    assert (told[0].payee, told[0].narration) == ('Zoë \\ "Z" Quill', "rent; May | half")
    assert "; 2024-05-07 payment 2024-05-07: its amount is not known" in text
    p2p.to_hledger(frame, tmp_path / "p.journal", tz="America/New_York")
    text = (tmp_path / "p.journal").read_text("utf-8")
    assert "2024-05-31 * (2024-05-31) Tom | tea" in text
    assert '2024-05-02 * (2024-05-02) Zoë \\ "Z" Quill | rent, May / half' in text


def test_the_table_of_accounts_decides(tmp_path: Path) -> None:
    """The first line that matches decides, by id or name; a null matches each row, and the rest keeps its account."""
    accounts = pd.DataFrame(
        {"person": ["7", "Ann", None], "direction": ["out", None, None], "kind": [None, None, "transfer"],
         "account": ["Expenses:Rent", "Expenses:Ann", "Assets:Bank:Checking"]}
    )  # fmt: skip
    rows = [*ROWS, make_row(-300, "2024-05-09", counterparty_id=None, counterparty_name="Ann")]
    expected = {
        ("Assets:Wallet", "USD"): "-745.51", ("Assets:Wallet", "GBP"): "-9.99", ("Assets:Wallet", "XXX"): "-0.10",
        ("Expenses:Rent", "USD"): "12.51", ("Expenses:Rent", "XXX"): "0.07", ("Expenses:Fees", "XXX"): "0.03",
        ("Expenses:Rent", "GBP"): "9.99", ("Expenses:Ann", "USD"): "3.00", ("Income:People", "USD"): "-20.00",
        ("Assets:Bank:Checking", "USD"): "750.00",
    }  # fmt: skip
    check(frame_from_rows(rows, PAYMENTS), tmp_path, expected, accounts=accounts, own="Assets:Wallet")


def test_several_accounts_have_balances_of_their_own(tmp_path: Path) -> None:
    """Each account id is an account below one's own, also where the names differ in signs only, or there is none."""
    ids = ["@ada-b", "ada b", "émil", "日本", None]
    rows = [make_row(-(10**at), f"2024-01-0{at + 1}", account_id=name) for at, name in enumerate(ids)]
    names = {"Ada-b": "0.01", "Ada-b-2": "0.10", "Emil": "1.00", "Account": "10.00", "Unknown": "100.00"}
    expected = {(f"Assets:P2P:{name}", "USD"): f"-{amount}" for name, amount in names.items()}
    check(frame_from_rows(rows, PAYMENTS), tmp_path, expected | {("Expenses:People", "USD"): "111.11"})


def test_the_table_names_banks_and_fees(tmp_path: Path) -> None:
    """A line with a bank or card is about what it paid and transfers with it; those of kind fee are about all fees."""
    card, bank = "Visa Debit *8967", "Bank of Sand *4321"
    transfer = {"kind": "transfer", "counterparty_id": None, "counterparty_name": None}
    rows = [
        make_row(-6000, "2025-01-01", funding_source=card, fee_cents=180),
        make_row(5000, "2025-01-02", **transfer, funding_source=card, destination="Service balance"),
        make_row(-2000, "2025-01-03", **transfer, fee_cents=25, destination=bank, funding_source="Service Balance"),
        make_row(-700, "2025-01-04", funding_source="Other card"),
        make_row(-40, "2025-01-05", kind="fee", fee_cents=40),
    ]
    accounts = pd.DataFrame(
        [
            {"person": "Tom", "account": "Expenses:Tom"},
            {"kind": "fee", "account": "Expenses:Bank:Fees"},
            {"funding_source": card, "account": "Liabilities:Card"},
            {"funding_source": bank, "account": "Assets:Bank"},
        ]
    )
    expected = {
        ("Assets:P2P", "USD"): "29.60", ("Liabilities:Card", "USD"): "-110.00", ("Assets:Bank", "USD"): "19.75",
        ("Assets:Transfers", "USD"): "-7.00", ("Expenses:Tom", "USD"): "65.60", ("Expenses:Bank:Fees", "USD"): "2.05",
    }  # fmt: skip
    check(rows, tmp_path, expected, accounts=accounts)


# By hand: the balances of the samples; one's own is the closing balance of the file, which the next line has where the
# file states it.
SAMPLE_BALANCES = {
    "gen_a_2018": {"Assets:P2P": "82.50", "Assets:Transfers": "810.00", "Expenses:People": "340.00",
                   "Income:People": "-1232.50"},
    "gen_b_2019": {"Assets:P2P": "59.25", "Assets:Transfers": "-64.10", "Expenses:People": "76.10",
                   "Income:People": "-31.25", "Equity:Opening-Balances": "-40.00"},
    "gen_c_2021": {"Assets:P2P": "233.00", "Assets:Transfers": "-60.00", "Expenses:People": "115.00",
                   "Income:People": "-188.00", "Equity:Opening-Balances": "-100.00"},
    "gen_d_2024": {"Assets:P2P": "1018.26", "Assets:Transfers": "196.50", "Expenses:People": "120.50",
                   "Income:People": "-120.00", "Expenses:Merchants": "32.25", "Expenses:Fees": "3.50",
                   "Equity:Unknown": "-1.01", "Equity:Opening-Balances": "-1250.00"},
    "gen_d_2025": {"Assets:P2P": "35.00", "Income:People": "-25.00", "Equity:Opening-Balances": "-10.00"},
    "gen_e_business_2025": {"Assets:Transfers": "19.52", "Income:People": "-20.00", "Expenses:Fees": "0.48"},
}  # fmt: skip


@pytest.mark.parametrize("sample", SAMPLE_BALANCES)
def test_ones_own_account_is_the_balance_of_the_service(sample: str, tmp_path: Path) -> None:
    """It goes from the opening to the closing balance: without what a card paid, and with the fee of each row apart."""
    history = p2p.read_statements(SAMPLES / f"{sample}.csv").history()
    expected = {(name, "USD"): amount for name, amount in SAMPLE_BALANCES[sample].items()}
    assert "\n; " not in check(history, tmp_path, expected)


def test_the_balances_of_a_file_decide_where_a_fee_is(tmp_path: Path) -> None:
    """A fee is inside what was received or apart, and a row moves nothing, as the balances beside it say."""
    rows = [
        make_row(1000, "2025-01-01", type="Payment", line=5, balance_cents=6000),
        make_row(2000, "2025-01-02", type="Payment", line=4, balance_cents=8000, fee_cents=50),
        make_row(3000, "2025-01-03", type="Payment", line=3, balance_cents=10930, fee_cents=70),
        make_row(400, "2025-01-04", type="Interest", line=2, kind="reward", balance_cents=10930),
    ]
    frame = frame_from_rows([row | {"file": "a.csv"} for row in rows], {**PAYMENTS, **STATEMENT})
    expected = {
        ("Assets:P2P", "USD"): "109.30", ("Assets:Transfers", "USD"): "4.00", ("Expenses:Fees", "USD"): "1.20",
        ("Income:People", "USD"): "-60.50", ("Income:Rewards", "USD"): "-4.00",
        ("Equity:Opening-Balances", "USD"): "-50.00",
    }  # fmt: skip
    check(frame, tmp_path, expected)
    p2p.to_beancount(frame.iloc[[1, 3]], tmp_path / "p.beancount")
    assert (
        "; Assets:P2P: the statements state 109.30 USD on 2025-01-04, and the rows until then lead to 84.00: rows are "
        "missing or not settled, or the account has several balances."
    ) in (tmp_path / "p.beancount").read_text("utf-8")


def test_transfers_name_their_bank(tmp_path: Path) -> None:
    """A row without a person has the bank on the other side; sources, tips and taxes are metadata, or a comment."""
    transfer = {"kind": "transfer", "counterparty_id": None, "counterparty_name": None, "note": None}
    rows = [
        make_row(-1952, "2025-01-11", **transfer, type="Standard Transfer", destination="(355400018)"),
        make_row(5000, "2025-01-12", **transfer, type="Instant Transfer", funding_source="Visa Debit *8967"),
        make_row(-6000, "2025-01-13", note=None, type="Payment", funding_source="Bank: of, Sand"),
        make_row(-3225, "2025-01-14", kind="merchant", tip_cents=200, tax_cents=31),
    ]
    frame = frame_from_rows(rows, {**PAYMENTS, **STATEMENT})
    p2p.to_beancount(frame, tmp_path / "p.beancount")
    *_, tipped = list_transactions(tmp_path / "p.beancount")
    assert (str(tipped.meta["tip"]), str(tipped.meta["tax"])) == ("2.00 USD", "0.31 USD")
    assert [str(posting.units) for posting in tipped.postings] == ["-32.25 USD", "32.25 USD"]
    lines = (tmp_path / "p.beancount").read_text("utf-8").splitlines()
    assert [line for line in lines if " * " in line] == [
        '2025-01-11 * "(355400018)" "Standard Transfer"', '2025-01-12 * "Visa Debit *8967" "Instant Transfer"',
        '2025-01-13 * "Tom" ""', '2025-01-14 * "Tom" "tea"',
    ]  # fmt: skip
    assert lines.count('  funding_source: "Bank: of, Sand"') == 1
    p2p.to_hledger(frame, tmp_path / "p.journal")
    lines = (tmp_path / "p.journal").read_text("utf-8").splitlines()
    assert "2025-01-11 * (2025-01-11) (355400018) | Standard Transfer" in lines
    assert lines.count("    ; funding_source: Bank  of  Sand") == 1
    assert lines[-4:-2] == ["    ; tip: 2.00 USD", "    ; tax: 0.31 USD"]


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    """No name, note or id becomes a directive, an account or an amount."""
    more = ('" "', '"\n2024-01-01 open Assets:Evil', "; Assets:Evil  5 USD", ") x", "(y", "* z", "!", "|", "\\", '\\"')
    rows = [
        make_row(-100, "2024-01-01", payment_id=f"{at}{text}", note=text, counterparty_name=text, funding_source=text)
        for at, text in enumerate((*TEXTS, *more, "date:2024-13-45", "a, date2:x"))
    ]
    check(rows, tmp_path, {("Assets:Transfers", "USD"): -len(rows), ("Expenses:People", "USD"): len(rows)})


@pytest.mark.parametrize("write", [p2p.to_beancount, p2p.to_hledger])
def test_what_cannot_be_written_is_refused(write: Any, tmp_path: Path) -> None:
    """Names of accounts, tables and frames that do not fit are refused in one sentence, and no file is left."""

    def accounts(**line: str | None) -> dict[str, pd.DataFrame]:
        return {"accounts": pd.DataFrame([line])}

    frame = frame_from_rows(ROWS, PAYMENTS)
    undated = frame_from_rows([make_row(-1, "2024-01-01", date_created=None, date_completed=None)], PAYMENTS)
    for error, sentence, source, arguments in (
        (ConfigurationError, "own names the account 'my wallet', which ledgers do not", frame, {"own": "my wallet"}),
        (ConfigurationError, "account 'Rent', which", frame, accounts(account="Rent")),
        (ConfigurationError, "account None, which", frame, accounts(account=None, kind="card")),
        (SchemaError, "needs the columns account", frame, accounts(person="7")),
        (SchemaError, "has the column 'who'", frame, accounts(who="7", account="Income:A")),
        (SchemaError, "not list", frame, {"accounts": [1]}),
        (SchemaError, "A ledger needs the columns status", frame.drop(columns="status"), {}),
        (SchemaError, "'2024-01-01' has no date", undated, {}),
    ):
        with pytest.raises(error, match=sentence):
            write(source, tmp_path / "p", **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("strict", [False, True])
def test_a_masked_ledger_has_the_accounts_of_the_original(tmp_path: Path, *, strict: bool) -> None:
    """What one's own balance paid stays on it, what a card paid does not; masked balances decide nothing."""
    # A balance of 0 beside the third row would say that the row moved nothing.
    transfer = {"kind": "transfer", "counterparty_id": None, "counterparty_name": None, "balance_cents": 0}
    rows = [
        make_row(-1000, "2025-01-01", funding_source="Venmo balance"),
        make_row(-2000, "2025-01-01", payment_id="2", funding_source="Visa *1559", balance_cents=0),
        make_row(-3000, "2025-01-01", payment_id="3", **transfer, funding_source="Venmo balance", destination="Sand"),
        make_row(4000, "2025-01-01", payment_id="4", **transfer, funding_source="Sand", destination="Venmo balance"),
    ]
    frame = frame_from_rows([row | {"file": "a.csv", "line": 9} for row in rows], {**PAYMENTS, **STATEMENT})
    history = p2p.read_statements(SAMPLES / "gen_d_2024.csv").history()
    private = replace(history, payments=frame).masked(strict=strict)
    p2p.to_beancount(private, tmp_path / "p.beancount")
    postings = sorted(
        tuple((posting.account, posting.units.number > 0) for posting in entry.postings)
        for entry in list_transactions(tmp_path / "p.beancount")
    )
    assert postings == [
        (("Assets:P2P", False), ("Assets:Transfers", True)),
        (("Assets:P2P", False), ("Expenses:People", True)),
        (("Assets:P2P", True), ("Assets:Transfers", False)),
        (("Assets:Transfers", False), ("Expenses:People", True)),
    ]


def test_each_currency_is_a_commodity(tmp_path: Path) -> None:
    """Amounts of different words are never added; words that ledgers do not take get names, which remarks explain."""
    same = [make_row(-100, "2025-01-01", payment_id=code, currency=code) for code in ("£₿~", "¥=₼")]
    with pytest.raises(SchemaError, match=r"£₿~ and ¥=₼ have the same name in a ledger, XXX-AEC4F8: write one"):
        p2p.to_beancount(frame_from_rows(same, PAYMENTS), tmp_path / "p.beancount")
    assert not [*tmp_path.iterdir()]
    codes = ["USD", "USDC", "PYUSD", "CA$", "CA", "usd", "$", "XXX", None, "1INCH", "NULL", "US\nD 1", "X" * 30, "T1"]
    rows = [
        make_row(-(2**at), "2025-01-01", payment_id=f"{at}", currency=code, tip_cents=1)
        for at, code in enumerate(codes)
    ]
    # Words that are no name end in the first six digits of the SHA-256 of their UTF-8.
    names = ["USD", "USDC", "PYUSD", "CA-DA44C5", "CA", "USD-D60FBD", "XXX-09FC96", "XXX", "XXX", "XXX-1INCH-7A19D7"]
    names += ["XXX-NULL-FB3290", "USD1-417ACE", "X" * 16 + "-40037B", "T1"]
    expected = dict.fromkeys(names, Decimal(0))
    for at, name in enumerate(names):
        expected[name] += Decimal(2**at) / 100
    both = {("Expenses:People", name): amount for name, amount in expected.items()}
    check(rows, tmp_path, both | {("Assets:P2P", name): -amount for name, amount in expected.items()})
    for path in tmp_path.iterdir():
        remarks = [line for line in path.read_text("utf-8").splitlines() if line.startswith("; ")]
        assert len(remarks) == 7
        assert "; CA-DA44C5 is the currency 'CA$', which is no name of a commodity." in remarks
        assert "; USD1-417ACE is the currency 'US\\nD 1', which is no name of a commodity." in remarks


@pytest.mark.parametrize("tz", ["Asia/Tokyo", "America/New_York"])
def test_days_at_the_ends_of_the_calendar(tz: str, tmp_path: Path) -> None:
    """A day that the zone would put outside of the calendar is that in UTC; without rows there are no entries."""
    rows = [
        make_row(-100, "0001-01-01", date_completed="0001-01-01T00:00:01Z"),
        make_row(-200, "9999-12-31", date_completed="9999-12-31T23:59:59Z"),
    ]
    check(rows, tmp_path, {("Assets:P2P", "USD"): "-3.00", ("Expenses:People", "USD"): "3.00"}, tz=tz)
    assert [str(one.date) for one in list_transactions(tmp_path / "p.beancount")] == ["0001-01-01", "9999-12-31"]
    check([], tmp_path, {}, tz=tz)
    assert load_beancount(tmp_path / "p.beancount") == ([], {})
