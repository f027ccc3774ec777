"""Samples, words of types and new forms of other services, against the rows that were worked out by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.statements import list_formats
from p2p_analytics.statements.formats.cells import match_kinds
from support.statements.tables import read_text

_SAMPLES = Path(__file__).parent / "samples"
_EXPECTED = sorted(_SAMPLES.glob("*.expected.csv"))


def _to_text(column: pl.Series) -> list[str]:
    if column.dtype == pl.Datetime("us", "UTC"):
        texts = column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
        return [text.removesuffix(".000000").replace(".500000", ".500") if text else "" for text in texts]
    return ["" if value is None else str(value) for value in column]


@pytest.mark.parametrize("path", _EXPECTED, ids=lambda path: path.name.removesuffix(".expected.csv"))
def test_sample(path):
    """A sample gives exactly the rows of the file of expected values, without a change of order."""
    sample = path.with_name(path.name.replace(".expected", ""))
    account = "nora quill" if sample.name.startswith("splitwise") else None
    rows = read_text(sample.read_text(encoding="utf-8"), account=account).rows
    with path.open(encoding="utf-8", newline="") as lines:
        expected = list(csv.DictReader(lines))
    names = list(expected[0])
    columns = (_to_text(rows[name]) for name in names)
    assert [dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)] == expected


_PAYPAL = {
    "payment": [
        "General Payment", "Mobile Payment", "Payment Sent", "Payment Received", "Money Transfer", "Mass Pay Payment",
        "Handyzahlung", "Allgemeine Zahlung", "Pagamento da cellulare", "Pago por móvil", "Paiement sur mobile",
        "Mobiele betaling", "Donation Payment",
    ],
    "merchant": [
        "Express Checkout Payment", "Website Payment", "PreApproved Payment Bill User Payment", "Subscription Payment",
        "eBay Auction Payment", "PayPal Express-Zahlung", "Website-Zahlung", "Pagamento preautorizzato utenza",
        "Pagamento Express Checkout", "Zahlung im Einzugsverfahren mit Zahlungsrechnung",
        "Transazione generica con carta di debito PayPal",
    ],
    "transfer": [
        "General Withdrawal", "User Initiated Withdrawal", "Bank Deposit to PP Account ", "General Card Deposit",
        "General Credit Card Withdrawal", "Bankgutschrift auf PayPal-Konto", "Allgemeine Abbuchung",
        "Allgemeine Gutschrift auf Kreditkarte", "Versamento generico con carta", "Retirada general",
        "Algemene opname", "Retrait général",
    ],
    "asset": [
        "General Currency Conversion", "User Initiated Currency Conversion", "Allgemeine Währungsumrechnung",
        "Algemeen valutaomrekening", "Conversión de divisa general",
    ],
    "hold": [
        "Payment Hold", "Payment Release", "General Authorization", "Void of Authorization",
        "Account Hold for Open Authorization", "Reversal of General Account Hold",
        "Hold on Balance for Dispute Investigation", "Einbehaltung für offene Autorisierung",
        "Freigabe allgemeiner Einbehaltung", "Rückbuchung allgemeiner Einbehaltung",
        "Blocco conto per autorizzazione aperta", "Storno di blocco conto generico",
    ],
    "refund": ["Payment Refund", "Payment Reversal", "Chargeback", "Rückzahlung", "Rimborso", "Remboursement"],
    "fee": ["Chargeback Fee", "Payflow Fees", "Cross-border fee"],
    "reward": ["Cash Back Bonus", "PayPal Rewards"],
    "deposit": ["Direct Deposit"],
    "unknown": ["Zyzzyva", ""],
}  # fmt: skip
_CASH_APP = {
    "payment": ["Sent P2P", "Received P2P", "P2P"],
    "merchant": ["Cash Card Debit", "Cash Card", "Cash Card Refund"],
    "transfer": ["Cash out", "Cash in", "Savings Internal Transfer", "Withdrawal", "Transfers", "ATM Withdrawal"],
    "deposit": ["Direct Deposit", "Deposits", "Paycheck"],
    "reward": ["Boost Payment", "Savings Interest Payment"],
    "asset": ["Bitcoin Buy", "Bitcoin Recurring Buy", "Bitcoin Sale", "Bitcoin Boost", "Stock Sell", "Stock Dividend"],
    "notice": ["Account Notifications"],
    "unknown": ["Borrow Repayment"],
}
_MONZO = {
    "merchant": ["Card payment", "Direct Debit", "card_payment", "Flex"],
    "payment": ["Faster payment", "Monzo-to-Monzo", "Standing order", "p2p_payment"],
    "transfer": ["Pot transfer"],
    "deposit": ["Bacs (Direct Credit)"],
    "reward": ["Account interest"],
    "unknown": ["ledger_adjustment"],
}
_REVOLUT = {
    "merchant": [
        "CARD_PAYMENT",
        "Card Payment",
        "CARD_REFUND",
        "Kartenbezahlung",
        "Pagamento com cartão",
        "Paiement par carte",
    ],
    "transfer": ["TOPUP", "Topup", "Einzahlung", "Carregamento", "ATM", "Deposit"],
    "payment": ["TRANSFER", "Transfer", "Transferência", "Überweisung", "Rev Payment"],
    "asset": ["EXCHANGE", "Câmbio", "Umtausch", "Change"],
    "reward": ["REWARD", "Cashback", "Interest"],
    "fee": ["FEE", "Charge"],
    "unknown": ["Zyzzyva"],
}
_WISE = {
    "payment": ["TRANSFER", "DEPOSIT", "transfer"],
    "merchant": ["CARD", "card", "DIRECT_DEBIT_TRANSACTION"],
    "asset": ["BALANCE", "CONVERSION", "balance"],
    "fee": ["fee-transfer", "FEE"],
    "transfer": ["MONEY_ADDED"],
    "reward": ["BALANCE_CASHBACK", "BALANCE_INTEREST"],
    "unknown": ["ACCRUAL"],
}
_TABLES = {
    "paypal_activity": _PAYPAL,
    "cash_app": _CASH_APP,
    "monzo": _MONZO,
    "revolut": _REVOLUT,
    "wise": _WISE,
}


@pytest.mark.parametrize("service", _TABLES)
def test_kinds_of_types(service):
    """Each type has the kind of its meaning; any other type is unknown."""
    expected = _TABLES[service]
    patterns = next(each.kinds for each in list_formats() if each.name == service)
    types = [word for words in expected.values() for word in words]
    found = match_kinds(pl.Series(types), patterns)
    assert dict(zip(types, found, strict=True)) == {word: kind for kind, words in expected.items() for word in words}


_HUNGARIAN = (
    "Típus,Termék,Kezdés dátuma,Befejezés dátuma,Leírás,Összeg,Díj,Pénznem,Állapot,Egyenleg\n"
    "Feltöltés,Folyószámla,2026-05-07 19:28:23,2026-05-07 19:29:02,Feltöltés,1500.00,0.00,HUF,BEFEJEZVE,1500.00\n"
    "Átutalás,Folyószámla,2026-05-08 10:00:00,2026-05-08 10:00:01,Jan Kowalski,-100.00,0.50,HUF,BEFEJEZVE,1399.50\n"
    "Kártyás fizetés,Folyószámla,2026-05-09 10:00:00,,Kiosk,-23.40,0.00,HUF,FÜGGŐBEN,\n"
)
_TO_2021 = (
    "Completed Date ; {text} ; Paid Out (RON) ; Paid In (RON) ; Exchange Out; Exchange In; Balance (RON); Category; "
    "Notes\n"
    "{0} ; Premium plan fee ; 29.99 ;  ;  ;  ; 13.09; general;\n"
    "{1} ; From Theo Marsh ;  ; 1.42 ;  ;  ; 43.08; transfers; tea\n"
    "{2} ; Corner Bakery ; 1,002.00 ;  ;  ;  ; 41.66; food;\n"
)
_REVOLUT_FORM = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
_MOMENTS = "2026-05-08 10:00:00,2026-05-08 10:00:01"


def _read(folder, text: str) -> p2p.Statements:
    path = folder / "sample.csv"
    path.write_text(text, encoding="utf-8")
    return p2p.read_statements(path, account="ada")


def test_revolut_in_a_language_that_no_column_is_known_in(tmp_path):
    """Ten columns with two moments, amounts and a currency in their places are Revolut's; an unknown word is listed."""
    found = _read(tmp_path, _HUNGARIAN)
    frame = found.payments.sort_values("line")
    assert frame["kind"].tolist() == ["transfer", "payment", "merchant"]
    assert frame["flow_cents"].tolist() == [150000, -10050, -2340]
    assert found.reconciliation["reconciled"].tolist() == [True]
    assert found.problems[["line", "value"]].to_numpy().tolist() == [[4, "FÜGGŐBEN"]]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Description", ("Apr 2, 2019", "Apr 1, 2019", "Mar 30, 2019")),
        ("Reference", ("2 Apr 2019", "1 Apr 2019", "30 Mar 2019")),
    ],
)
def test_revolut_before_2021(tmp_path, text, dates):
    """The currency is in the header, months are words, and the newest row is first."""
    found = _read(tmp_path, _TO_2021.format(*dates, text=text))
    frame = found.payments
    assert frame["date_created"].dt.strftime("%Y-%m-%d").tolist() == ["2019-04-02", "2019-04-01", "2019-03-30"]
    assert frame["kind"].tolist() == ["fee", "payment", "merchant"]
    assert frame["counterparty_name"].fillna("").tolist() == ["", "Theo Marsh", "Corner Bakery"]
    assert set(frame["currency"]) == {"RON"}
    assert found.reconciliation["reconciled"].tolist() == [True]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("To Theo Marsh", "Theo Marsh"), ("Bizum enviado a Ana Ruiz", "Ana Ruiz"), ("Do Jan Kowalski", "Jan Kowalski"),
        ("Przelew od Jan Kowalski", "Jan Kowalski"), ("Überweisung an Theo Marsh", "Theo Marsh"),
        ("Theo Marsh", "Theo Marsh"), ("Toni Marsh", "Toni Marsh"),
    ],
)  # fmt: skip
def test_a_person_inside_of_a_text(text, name):
    """The person is the name alone; the text of a purchase is never cut."""
    row = "{0},Current," + _MOMENTS + ",{1},-5.00,0.00,EUR,COMPLETED,5.00\n"
    reading = read_text(_REVOLUT_FORM + row.format("TRANSFER", text) + row.format("CARD_PAYMENT", "To Go Bakery"))
    assert reading.rows["counterparty_name"].to_list() == [name, "To Go Bakery"]


def test_a_short_selection_of_paypal():
    """Without Total, the amount is what moved; without a status, rows are settled."""
    header = "Date,Time,Time zone,Name,Type,Currency,Amount,Transaction ID\n"
    reading = read_text(header + "14/02/2026,15:25:46,GMT,Lena Ortiz,Mobile Payment,GBP,45.00,A1\n")
    assert reading.rows.select("kind", "status", "flow_cents", "moved_cents").rows() == [
        ("payment", "settled", 4500, 4500)
    ]


@pytest.mark.parametrize("verb", ["SENT", "REVERSED", "RETURNED", "DECLINED", "CANCELED", "WAITING", "HELD", "EXPIRED"])
def test_the_verb_of_a_status_of_cash_app_decides(verb):
    """Whatever the noun is."""
    header = "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Status\n"
    row = "{0},2024-03-01 10:00:00 CST,Cash out,USD,-$5,$0,-$5,,{1} {2}\n"
    reading = read_text(header + row.format("a1", "TRANSFER", verb) + row.format("a2", "CARD", verb))
    status = {
        "DECLINED": "failed", "CANCELED": "cancelled", "WAITING": "pending", "HELD": "pending", "EXPIRED": "expired",
    }.get(verb, "settled")  # fmt: skip
    assert reading.rows["status"].to_list() == [status, status]
    assert reading.problems == []


def test_transfers_of_paypal():
    """Reversals of deposits and withdrawals are transfers, not refunds."""
    header = "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,Transaction ID\n"
    row = "14/02/2026,15:25:46,GMT,,{0},Completed,GBP,1.00,0.00,1.00,{1}\n"
    types = ["Reversal of ACH Deposit", "Reversal of ACH Withdrawal Transaction"]
    reading = read_text(header + "".join(row.format(word, at) for at, word in enumerate(types)))
    assert reading.rows["kind"].to_list() == ["transfer", "transfer"]


def test_formats_of_the_service_are_in_utc():
    """Its zone is known, so that the zone of the caller cannot move a date; other formats take the caller's."""
    zones = {each.name: each.zone for each in list_formats()}
    assert {name for name, zone in zones.items() if zone == "UTC"} == {
        *(f"statement_{letter}" for letter in "abcde"), "statement_json",
    }  # fmt: skip
    header = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination\n"
    row = "4100000000000000001,2024-01-12T09:10:11,Payment,Complete,x,Nora Quill,Theo Marsh,- $1.00,,,\n"
    reading = read_text(header + row, tz="America/New_York")
    assert reading.rows.select(pl.col("date").dt.hour()).to_series().to_list() == [9]
