"""Samples, words of types, new forms and difficult cases, against the rows that were worked out by hand."""

import csv
from pathlib import Path

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.statements import list_formats, match_kinds
from support.frames import list_rows
from support.statements.files import CASH_APP, REVOLUT, SAMPLES
from support.statements.tables import read_text

_EXPECTED = sorted((Path(__file__).parent / "samples").glob("*.expected.csv"))


def _to_text(column: pl.Series) -> list[str]:
    if column.dtype == pl.Datetime("us", "UTC"):
        texts = column.dt.strftime("%Y-%m-%dT%H:%M:%S%.6f")
        return [text.removesuffix(".000000").replace(".500000", ".500") if text else "" for text in texts]
    return ["" if value is None else str(value) for value in column]


@pytest.mark.parametrize("path", _EXPECTED, ids=lambda path: path.name.removesuffix(".expected.csv"))
def test_sample(path):
    """A sample gives exactly the rows of the file of expected values, without a change of order."""
    name = path.name.removesuffix(".expected.csv")
    account = "nora quill" if name.startswith("splitwise") else None
    rows = read_text(SAMPLES[name].read_text("utf-8"), account=account).rows
    with path.open(encoding="utf-8", newline="") as lines:
        names, *expected = csv.reader(lines)
    assert [*zip(*(_to_text(rows[name]) for name in names), strict=True)] == [*map(tuple, expected)]


# The words of each kind, separated by semicolons; an empty type is unknown.
_TYPES = {
    "paypal_activity": {
        "payment":
            "General Payment; Mobile Payment; Payment Sent; Payment Received; Money Transfer; Mass Pay Payment; "
            "Handyzahlung; Allgemeine Zahlung; Pagamento da cellulare; Pago por móvil; Paiement sur mobile; "
            "Mobiele betaling; Donation Payment",
        "merchant":
            "Express Checkout Payment; Website Payment; PreApproved Payment Bill User Payment; Subscription Payment; "
            "eBay Auction Payment; PayPal Express-Zahlung; Website-Zahlung; Pagamento preautorizzato utenza; "
            "Pagamento Express Checkout; Zahlung im Einzugsverfahren mit Zahlungsrechnung; "
            "Transazione generica con carta di debito PayPal",
        "transfer":
            "General Withdrawal; User Initiated Withdrawal; Bank Deposit to PP Account ; General Card Deposit; "
            "General Credit Card Withdrawal; Bankgutschrift auf PayPal-Konto; Allgemeine Abbuchung; "
            "Allgemeine Gutschrift auf Kreditkarte; Versamento generico con carta; Retirada general; "
            "Algemene opname; Retrait général; Reversal of ACH Deposit; Reversal of ACH Withdrawal Transaction",
        "asset":
            "General Currency Conversion; User Initiated Currency Conversion; Allgemeine Währungsumrechnung; "
            "Algemeen valutaomrekening; Conversión de divisa general",
        "hold":
            "Payment Hold; Payment Release; General Authorization; Void of Authorization; "
            "Account Hold for Open Authorization; Reversal of General Account Hold; "
            "Hold on Balance for Dispute Investigation; Einbehaltung für offene Autorisierung; "
            "Freigabe allgemeiner Einbehaltung; Rückbuchung allgemeiner Einbehaltung; "
            "Blocco conto per autorizzazione aperta; Storno di blocco conto generico",
        "refund": "Payment Refund; Payment Reversal; Chargeback; Rückzahlung; Rimborso; Remboursement",
        "fee": "Chargeback Fee; Payflow Fees; Cross-border fee",
        "reward": "Cash Back Bonus; PayPal Rewards", "deposit": "Direct Deposit", "unknown": "Zyzzyva; ",
    },
    "cash_app": {
        "payment": "Sent P2P; Received P2P; P2P", "merchant": "Cash Card Debit; Cash Card; Cash Card Refund",
        "transfer": "Cash out; Cash in; Savings Internal Transfer; Withdrawal; Transfers; ATM Withdrawal",
        "deposit": "Direct Deposit; Deposits; Paycheck", "reward": "Boost Payment; Savings Interest Payment",
        "asset": "Bitcoin Buy; Bitcoin Recurring Buy; Bitcoin Sale; Bitcoin Boost; Stock Sell; Stock Dividend",
        "notice": "Account Notifications", "unknown": "Borrow Repayment",
    },
    "monzo": {
        "merchant": "Card payment; Direct Debit; card_payment; Flex", "transfer": "Pot transfer",
        "payment": "Faster payment; Monzo-to-Monzo; Standing order; p2p_payment", "deposit": "Bacs (Direct Credit)",
        "reward": "Account interest", "unknown": "ledger_adjustment",
    },
    "revolut": {
        "merchant":
            "CARD_PAYMENT; Card Payment; CARD_REFUND; Kartenbezahlung; Pagamento com cartão; Paiement par carte",
        "transfer": "TOPUP; Topup; Einzahlung; Carregamento; ATM; Deposit", "reward": "REWARD; Cashback; Interest",
        "payment": "TRANSFER; Transfer; Transferência; Überweisung; Rev Payment", "fee": "FEE; Charge",
        "asset": "EXCHANGE; Câmbio; Umtausch; Change", "unknown": "Zyzzyva",
    },
    "wise": {
        "payment": "TRANSFER; DEPOSIT; transfer", "merchant": "CARD; card; DIRECT_DEBIT_TRANSACTION",
        "asset": "BALANCE; CONVERSION; balance", "fee": "fee-transfer; FEE", "transfer": "MONEY_ADDED",
        "reward": "BALANCE_CASHBACK; BALANCE_INTEREST", "unknown": "ACCRUAL",
    },
}  # fmt: skip


@pytest.mark.parametrize("service", _TYPES)
def test_kinds_of_types(service):
    """Each type has the kind of its meaning; any other type is unknown."""
    expected = {word: kind for kind, words in _TYPES[service].items() for word in words.split("; ")}
    patterns = next(each.kinds for each in list_formats() if each.name == service)
    assert dict(zip(expected, match_kinds(pl.Series([*expected]), patterns), strict=True)) == expected


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


def test_revolut_in_a_language_that_no_column_is_known_in(read):
    """Ten columns with two moments, amounts and a currency in their places are Revolut's; an unknown word is listed."""
    found = read(_HUNGARIAN, account="ada")
    assert list_rows(found.payments.sort_values("line"), "kind", "flow_cents") == [
        ("transfer", 150000), ("payment", -10050), ("merchant", -2340),
    ]  # fmt: skip
    assert found.reconciliation["reconciled"].tolist() == [True]
    assert list_rows(found.problems, "line", "value") == [(4, "FÜGGŐBEN")]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("Description", ("Apr 2, 2019", "Apr 1, 2019", "Mar 30, 2019")),
        ("Reference", ("2 Apr 2019", "1 Apr 2019", "30 Mar 2019")),
    ],
)
def test_revolut_before_2021(read, text, dates):
    """The currency is in the header, months are words, and the newest row is first."""
    found = read(_TO_2021.format(*dates, text=text), account="ada")
    frame = found.payments.assign(day=found.payments["date_created"].dt.strftime("%Y-%m-%d"))
    assert list_rows(frame, "day", "kind", "counterparty_name", "currency") == [
        ("2019-04-02", "fee", None, "RON"),
        ("2019-04-01", "payment", "Theo Marsh", "RON"),
        ("2019-03-30", "merchant", "Corner Bakery", "RON"),
    ]
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
    row = "{0},Current,2026-05-08 10:00:00,2026-05-08 10:00:01,{1},-5.00,0.00,EUR,COMPLETED,5.00\n"
    reading = read_text(REVOLUT + row.format("TRANSFER", text) + row.format("CARD_PAYMENT", "To Go Bakery"))
    assert reading.rows["counterparty_name"].to_list() == [name, "To Go Bakery"]


@pytest.mark.parametrize(
    ("verbs", "status"),
    [("SENT REVERSED RETURNED", "settled"), ("DECLINED", "failed"), ("CANCELED", "cancelled"),
     ("WAITING HELD", "pending"), ("EXPIRED", "expired")],
)  # fmt: skip
def test_the_verb_of_a_status_of_cash_app_decides(verbs, status):
    """Whatever the noun is."""
    words = [f"{noun} {verb}" for noun in ("TRANSFER", "CARD") for verb in verbs.split()]
    row = "a{0},2024-03-01 10:00:00 CST,Cash out,USD,-$5,$0,-$5,,,,{1},,,\n"
    reading = read_text(CASH_APP + "".join(row.format(*each) for each in enumerate(words)))
    assert reading.rows["status"].to_list() == [status] * len(words)
    assert reading.problems == []


_CASES = Path(__file__).parents[1] / "cases"  # files with difficult rows, as real services write them
_NORA = "Nora Quill"


@pytest.mark.parametrize(
    ("files", "account", "columns", "rows"),
    [
        # TRANSFER became Transfer: the rows of both files are the same transactions.
        ("revolut-words-1 revolut-words-2", "ada", "kind counterparty_name flow_cents",
         [("transfer", None, 64000), ("merchant", "Corner Bakery", -3980), ("payment", "Theo Marsh", -6020),
          ("payment", "Theo Marsh", -10000)]),
        # A later export of a group replaces the earlier one: an amount was corrected, or a row deleted.
        ("splitwise-snapshot-s0 splitwise-snapshot-amount", _NORA, "kind flow_cents",
         [("merchant", 300), ("payment", 5000)]),
        ("splitwise-snapshot-s0 splitwise-snapshot-deleted", _NORA, "kind flow_cents", [("merchant", 300)]),
        # The refund has the id of its payment in the month before.
        ("same-id-two-months-cashapp-p2p-1 same-id-two-months-cashapp-p2p-2", "ada", "flow_cents status",
         [(-4000, "settled"), (4000, "settled")]),
        ("paypal-personal", "ada", "kind flow_cents", [("payment", 4500), ("merchant", -1250), ("transfer", -3250)]),
        ("paypal-pt-br-2018", "ada", "kind counterparty_name flow_cents currency",
         [("payment", "Theo Marsh", 9461, "BRL"), ("payment", "Lena Ortiz", 4700, "BRL")]),
        ("revolut-polish", "ada", "kind status counterparty_name flow_cents",
         [("transfer", "settled", None, 150000), ("payment", "settled", "Jan Kowalski", -10000),
          ("merchant", "settled", "Kiosk", -2340)]),
        # The fee is outside of the source amount; a conversion is one row about two balances.
        ("wise-history", "ada", "currency kind status counterparty_name flow_cents",
         [("EUR", "payment", "settled", "Theo Marsh", -13162), ("GBP", "payment", "settled", "Lena Ortiz", 8850),
          ("EUR", "asset", "settled", None, -25000), ("GBP", "asset", "settled", None, 21410),
          ("EUR", "payment", "cancelled", "Ravi Shah", -4762)]),
        # The totals of both groups need the equal rows.
        ("splitwise-groups-home splitwise-groups-trip", _NORA, "flow_cents",
         [(2000,), (-1000,), (-45000,), (2000,), (-1000,), (15000,)]),
        # 03-05-2026 and 03/05/2026 are one day.
        ("wise-refund-date-1 wise-refund-date-2", "ada", "flow_cents",
         [(-1240,), (1240,), (-2050,), (-50,), (5000,), (-3000,)]),
        # The balance shows that a hold and a pending deposit moved it.
        ("paypal-holds", "ada", "flow_cents", [(820,), (-820,), (-5000,), (820,), (4180,)]),
        # PAYMENT REVERSED is the row of the money that came back: the verb decides.
        ("cash-app-reversed", "ada", "counterparty_name flow_cents",
         [("Ravi Shah", 1500), ("Ravi Shah", -1500), ("Ravi Shah", -4000), ("Rob", -2500), ("Rob", 2500),
          ("Rob", 6000)]),
    ],
)  # fmt: skip
def test_rows_of_a_case(files, account, columns, rows):
    """In either order of the files; no id is twice, and a balance that a file states agrees."""
    for order in (1, -1):
        paths = [_CASES / f"{name}.csv" for name in files.split()][::order]
        found = p2p.read_statements(paths, account=account)
        assert sorted(list_rows(found.payments, *columns.split()), key=str) == sorted(rows, key=str)
        assert found.payments["payment_id"].is_unique
        assert found.reconciliation["difference_cents"].fillna(0).eq(0).all()
        assert found.reconciliation.iloc[-1:]["reconciled"].fillna(value=True).all()
        assert "wrong_sign" not in set(found.problems["code"])
        if files == "cash-app-reversed":
            assert found.reconciliation["moved_cents"].tolist() == [2000]
            assert found.problems.empty
