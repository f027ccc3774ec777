"""Ledgers: the checkers of beancount and hledger accept them, and their balances are those of the frame."""

from __future__ import annotations

import shutil
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
from support.statements.ledgers import ask_hledger, load_beancount, make_row, needs_hledger

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
    ("Assets:P2P", "USD"): "-742.51",
    ("Assets:P2P", "GBP"): "-9.99",
    ("Assets:P2P", "XXX"): "-0.10",
    ("Expenses:People", "USD"): "12.51",
    ("Expenses:People", "XXX"): "0.07",
    ("Expenses:Fees", "XXX"): "0.03",
    ("Income:People", "USD"): "-20.00",
    ("Assets:Transfers", "USD"): "750.00",
    ("Expenses:Merchants", "GBP"): "9.99",
}


def expect(balances: dict[tuple[str, str], str]) -> dict[tuple[str, str], Decimal]:
    """Return balances as decimals."""
    return {key: Decimal(amount) for key, amount in balances.items()}


def test_beancount_accepts_the_ledger(tmp_path: Path) -> None:
    """Each settled row is a transaction on the day of its completion, with its id and the balances counted by hand."""
    p2p.to_beancount(frame_from_rows(ROWS, PAYMENTS), tmp_path / "p.beancount")
    entries, balances = load_beancount(tmp_path / "p.beancount")
    assert balances == expect(BALANCES)
    told = [entry for entry in entries if isinstance(entry, data.Transaction)]
    assert [(str(one.date), one.meta["payment_id"]) for one in told] == [
        ("2024-05-02", "2024-05-02"),
        ("2024-05-03", "2024-05-03"),
        ("2024-05-05", "2024-05-05"),
        ("2024-05-06", "2024-05-06"),
        ("2024-05-08", "2024-05-08"),
        ("2024-06-01", "2024-05-31"),
    ]
    assert (told[0].payee, told[0].narration) == ('Zoë \\ "Z" Quill', "rent; May | half")
    assert "; 2024-05-07 payment 2024-05-07: its amount is not known" in (tmp_path / "p.beancount").read_text("utf-8")


@needs_hledger
def test_hledger_accepts_the_journal(tmp_path: Path) -> None:
    """The journal has the same balances; in a zone west of UTC the last row belongs to the day before."""
    frame = frame_from_rows(ROWS, PAYMENTS)
    p2p.to_hledger(frame, tmp_path / "p.journal", tz="America/New_York")
    assert ask_hledger(tmp_path / "p.journal") == expect(BALANCES)
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
    p2p.to_beancount(frame_from_rows(rows, PAYMENTS), tmp_path / "p.beancount", accounts=accounts, own="Assets:Wallet")
    _, balances = load_beancount(tmp_path / "p.beancount")
    assert balances == expect(
        {
            ("Assets:Wallet", "USD"): "-745.51",
            ("Assets:Wallet", "GBP"): "-9.99",
            ("Assets:Wallet", "XXX"): "-0.10",
            ("Expenses:Rent", "USD"): "12.51",
            ("Expenses:Rent", "XXX"): "0.07",
            ("Expenses:Fees", "XXX"): "0.03",
            ("Expenses:Rent", "GBP"): "9.99",
            ("Expenses:Ann", "USD"): "3.00",
            ("Income:People", "USD"): "-20.00",
            ("Assets:Bank:Checking", "USD"): "750.00",
        }
    )


def test_several_accounts_have_balances_of_their_own(tmp_path: Path) -> None:
    """Each account id is an account below one's own, also where the names differ in signs only, or there is none."""
    ids = ["@ada-b", "ada b", "émil", "日本", None]
    rows = [make_row(-(10**at), f"2024-01-0{at + 1}", account_id=name) for at, name in enumerate(ids)]
    p2p.to_beancount(frame_from_rows(rows, PAYMENTS), tmp_path / "p.beancount")
    _, balances = load_beancount(tmp_path / "p.beancount")
    assert {name: str(amount) for (name, _), amount in balances.items() if name.startswith("Assets")} == {
        "Assets:P2P:Ada-b": "-0.01",
        "Assets:P2P:Ada-b-2": "-0.10",
        "Assets:P2P:Emil": "-1.00",
        "Assets:P2P:Account": "-10.00",
        "Assets:P2P:Unknown": "-100.00",
    }


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
    p2p.to_beancount(frame_from_rows(rows, {**PAYMENTS, **STATEMENT}), tmp_path / "p.beancount", accounts=accounts)
    _, balances = load_beancount(tmp_path / "p.beancount")
    assert balances == expect(
        {
            ("Assets:P2P", "USD"): "29.60",
            ("Liabilities:Card", "USD"): "-110.00",
            ("Assets:Bank", "USD"): "19.75",
            ("Assets:Transfers", "USD"): "-7.00",
            ("Expenses:Tom", "USD"): "65.60",
            ("Expenses:Bank:Fees", "USD"): "2.05",
        }
    )


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
    p2p.to_beancount(history, tmp_path / "p.beancount")
    expected = {(name, "USD"): Decimal(amount) for name, amount in SAMPLE_BALANCES[sample].items()}
    assert load_beancount(tmp_path / "p.beancount")[1] == expected
    assert "\n; " not in (tmp_path / "p.beancount").read_text("utf-8")
    if shutil.which("hledger"):
        p2p.to_hledger(history, tmp_path / "p.journal")
        assert ask_hledger(tmp_path / "p.journal") == expected


def test_the_balances_of_a_file_decide_where_a_fee_is(tmp_path: Path) -> None:
    """A fee is inside what was received or apart, and a row moves nothing, as the balances beside it say."""
    rows = [
        make_row(1000, "2025-01-01", type="Payment", line=5, balance_cents=6000),
        make_row(2000, "2025-01-02", type="Payment", line=4, balance_cents=8000, fee_cents=50),
        make_row(3000, "2025-01-03", type="Payment", line=3, balance_cents=10930, fee_cents=70),
        make_row(400, "2025-01-04", type="Interest", line=2, kind="reward", balance_cents=10930),
    ]
    frame = frame_from_rows([row | {"file": "a.csv"} for row in rows], {**PAYMENTS, **STATEMENT})
    p2p.to_beancount(frame, tmp_path / "p.beancount")
    assert load_beancount(tmp_path / "p.beancount")[1] == expect(
        {
            ("Assets:P2P", "USD"): "109.30",
            ("Assets:Transfers", "USD"): "4.00",
            ("Expenses:Fees", "USD"): "1.20",
            ("Income:People", "USD"): "-60.50",
            ("Income:Rewards", "USD"): "-4.00",
            ("Equity:Opening-Balances", "USD"): "-50.00",
        }
    )
    p2p.to_beancount(frame.iloc[[1, 3]], tmp_path / "p.beancount")
    assert (
        "; Assets:P2P: the statements state 109.30 USD on 2025-01-04, and the rows until then lead to 84.00: rows are "
        "missing or not settled, or the account has several balances."
    ) in (tmp_path / "p.beancount").read_text("utf-8")


def test_tips_and_taxes_stay_inside_the_amount(tmp_path: Path) -> None:
    """They are metadata, or a comment."""
    rows = [make_row(-3225, "2025-01-01", kind="merchant", tip_cents=200, tax_cents=31)]
    frame = frame_from_rows(rows, {**PAYMENTS, **STATEMENT})
    p2p.to_beancount(frame, tmp_path / "p.beancount")
    (entry,) = [one for one in load_beancount(tmp_path / "p.beancount")[0] if isinstance(one, data.Transaction)]
    assert (str(entry.meta["tip"]), str(entry.meta["tax"])) == ("2.00 USD", "0.31 USD")
    assert [str(posting.units) for posting in entry.postings] == ["-32.25 USD", "32.25 USD"]
    p2p.to_hledger(frame, tmp_path / "p.journal")
    lines = (tmp_path / "p.journal").read_text("utf-8").splitlines()
    assert lines[-4:-2] == ["    ; tip: 2.00 USD", "    ; tax: 0.31 USD"]


def test_transfers_name_their_bank(tmp_path: Path) -> None:
    """A row without a person has the bank on the other side and its type; the source of a payment is noted."""
    transfer = {"kind": "transfer", "counterparty_id": None, "counterparty_name": None, "note": None}
    rows = [
        make_row(-1952, "2025-01-11", **transfer, type="Standard Transfer", destination="(355400018)"),
        make_row(5000, "2025-01-12", **transfer, type="Instant Transfer", funding_source="Visa Debit *8967"),
        make_row(-6000, "2025-01-13", note=None, type="Payment", funding_source="Bank: of, Sand"),
    ]
    frame = frame_from_rows(rows, {**PAYMENTS, **STATEMENT})
    p2p.to_beancount(frame, tmp_path / "p.beancount")
    load_beancount(tmp_path / "p.beancount")
    lines = (tmp_path / "p.beancount").read_text("utf-8").splitlines()
    assert [line for line in lines if " * " in line] == [
        '2025-01-11 * "(355400018)" "Standard Transfer"', '2025-01-12 * "Visa Debit *8967" "Instant Transfer"',
        '2025-01-13 * "Tom" ""',
    ]  # fmt: skip
    assert lines.count('  funding_source: "Bank: of, Sand"') == 1
    p2p.to_hledger(frame, tmp_path / "p.journal")
    lines = (tmp_path / "p.journal").read_text("utf-8").splitlines()
    assert "2025-01-11 * (2025-01-11) (355400018) | Standard Transfer" in lines
    assert lines.count("    ; funding_source: Bank  of  Sand") == 1


@pytest.mark.parametrize("name", ["p.beancount", pytest.param("p.journal", marks=needs_hledger)])
def test_hostile_texts_stay_texts(name: str, tmp_path: Path) -> None:
    """No name, note or id becomes a directive, an account or an amount."""
    more = ('" "', '"\n2024-01-01 open Assets:Evil', "; Assets:Evil  5 USD", ") x", "(y", "* z", "!", "|", "\\", '\\"')
    rows = [
        make_row(-100, "2024-01-01", payment_id=f"{at}{text}", note=text, counterparty_name=text, funding_source=text)
        for at, text in enumerate((*TEXTS, *more, "date:2024-13-45", "a, date2:x"))
    ]
    frame = frame_from_rows(rows, {**PAYMENTS, **STATEMENT})
    if name == "p.beancount":
        p2p.to_beancount(frame, tmp_path / name)
        balances = load_beancount(tmp_path / name)[1]
    else:
        p2p.to_hledger(frame, tmp_path / name)
        balances = ask_hledger(tmp_path / name)
    total = Decimal(len(rows))
    assert balances == {("Assets:Transfers", "USD"): -total, ("Expenses:People", "USD"): total}


@pytest.mark.parametrize("write", [p2p.to_beancount, p2p.to_hledger])
def test_what_cannot_be_written_is_refused(write: Any, tmp_path: Path) -> None:
    """Names of accounts, tables and frames that do not fit are refused in one sentence, and no file is left."""
    frame = frame_from_rows(ROWS, PAYMENTS)
    for error, sentence, arguments in (
        (
            ConfigurationError,
            "own names the account 'my wallet', which ledgers do not take",
            {"own": "my wallet"},
        ),
        (ConfigurationError, "account 'Rent', which", {"accounts": pd.DataFrame({"account": ["Rent"]})}),
        (ConfigurationError, "account None, which", {"accounts": pd.DataFrame({"account": [None], "kind": ["card"]})}),
        (SchemaError, "needs the columns account", {"accounts": pd.DataFrame({"person": ["7"]})}),
        (SchemaError, "has the column 'who'", {"accounts": pd.DataFrame({"who": ["7"], "account": ["Income:A"]})}),
        (SchemaError, "not list", {"accounts": [1]}),
    ):
        with pytest.raises(error, match=sentence):
            write(frame, tmp_path / "p", **arguments)
    with pytest.raises(SchemaError, match="A ledger needs the columns status"):
        write(frame.drop(columns="status"), tmp_path / "p")
    undated = frame_from_rows([make_row(-1, "2024-01-01", date_created=None, date_completed=None)], PAYMENTS)
    with pytest.raises(SchemaError, match="'2024-01-01' has no date"):
        write(undated, tmp_path / "p")
    assert list(tmp_path.iterdir()) == []


def test_a_frame_without_rows(tmp_path: Path) -> None:
    """It gives a ledger without transactions."""
    p2p.to_beancount(frame_from_rows([], PAYMENTS), tmp_path / "p.beancount")
    assert load_beancount(tmp_path / "p.beancount") == ([], {})
