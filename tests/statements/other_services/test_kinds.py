"""Types that the services write, in several languages, and the kind that each one means."""

from __future__ import annotations

import polars as pl
import pytest

from p2p_analytics.statements import list_formats
from p2p_analytics.statements.formats.cells import match_kinds

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
