"""Files written from known transactions, with their columns in any order, are read back exactly."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.statements.tables import read_text

if TYPE_CHECKING:
    from collections.abc import Callable

_START = datetime(2021, 1, 1, tzinfo=UTC)
_HOLDER = "Nora Quill"


class _Transaction(NamedTuple):
    """A payment to or from a person; cents are + to the account holder."""

    identity: str
    moment: datetime
    cents: int
    name: str
    note: str
    currency: str


_TEXTS = st.text(st.sampled_from("aZé🍕, \"'=-;\n(%)"), min_size=1, max_size=12).filter(
    lambda text: text.strip() == text
)
_NAMES = st.sampled_from(["Theo Marsh", "Lena, Ortiz", 'Imani "I" Cole', "Ø", "NA", "José 🎈"])
_TRANSACTIONS = st.lists(
    st.builds(
        _Transaction,
        identity=st.just(""),
        moment=st.integers(0, 3 * 365 * 86400).map(lambda seconds: _START + timedelta(seconds=seconds)),
        cents=st.integers(-10_000_000, 10_000_000).filter(bool),
        name=_NAMES,
        note=_TEXTS,
        currency=st.sampled_from(["USD", "EUR", "GBP", "JPY"]),
    ),
    min_size=1,
    max_size=8,
).map(lambda rows: [row._replace(identity=f"id{position:03}") for position, row in enumerate(rows)])


def _with_point(cents: int) -> str:
    units, part = divmod(abs(cents), 100)
    return f"{'-' if cents < 0 else ''}{units:,}.{part:02}"


def _with_comma(cents: int) -> str:
    return _with_point(cents).translate(str.maketrans(",.", ".,"))


def _in_dollars(cents: int) -> str:
    """Return the form of Cash App, without cents where there are none."""
    return ("-" if cents < 0 else "") + "$" + _with_point(abs(cents)).removesuffix(".00")


def _write_cash_app(row: _Transaction) -> dict[str, str]:
    local = row.moment - timedelta(hours=5)
    return {
        "Transaction ID": row.identity, "Date": f"{local:%Y-%m-%d %H:%M:%S} CDT", "Transaction Type": "P2P",
        "Currency": row.currency, "Amount": _in_dollars(row.cents), "Fee": "$0", "Net Amount": _in_dollars(row.cents),
        "Asset Type": "", "Asset Price": "", "Asset Amount": "", "Status": "COMPLETE", "Notes": row.note,
        "Name of sender/receiver": row.name, "Account": "Your Cash",
    }  # fmt: skip


def _write_activity(row: _Transaction) -> dict[str, str]:
    local = row.moment + timedelta(hours=1)
    return {
        "Datum": f"{local:%d.%m.%Y}", "Uhrzeit": f"{local:%H:%M:%S}", "Zeitzone": "MEZ", "Name": row.name,
        "Typ": "Handyzahlung", "Status": "Abgeschlossen", "Währung": row.currency,
        "Brutto": _with_comma(row.cents + 35), "Gebühr": "-0,35", "Netto": _with_comma(row.cents),
        "Transaktionscode": row.identity, "Hinweis": row.note,
        "Auswirkung auf Guthaben": "Soll" if row.cents < 0 else "Haben",
    }  # fmt: skip


def _write_statement(row: _Transaction) -> dict[str, str]:
    return {
        "Date": f"{row.moment:%m/%d/%Y}", "Time": f"{row.moment:%H:%M:%S}", "Time Zone": "UTC",
        "Description": "Mobile Payment", "Currency": row.currency, "Gross": _with_point(row.cents), "Fee": "0.00",
        "Net": _with_point(row.cents), "Balance": "0.00", "Transaction ID": row.identity, "Name": row.name,
        "From Email Address": "", "Bank Name": "", "Bank Account": "", "Sales Tax": "", "Invoice ID": row.note,
    }  # fmt: skip


def _write_monzo(row: _Transaction) -> dict[str, str]:
    amount = _with_point(row.cents)
    return {
        "Transaction ID": row.identity, "Date": f"{row.moment:%d/%m/%Y}", "Time": f"{row.moment:%H:%M:%S}",
        "Type": "Faster payment", "Name": row.name, "Emoji": "", "Category": "General", "Amount": amount,
        "Currency": row.currency, "Local amount": amount, "Local currency": row.currency, "Notes and #tags": row.note,
        "Money Out": amount if row.cents < 0 else "", "Money In": amount if row.cents > 0 else "",
    }  # fmt: skip


def _write_wise(row: _Transaction) -> dict[str, str]:
    return {
        "TransferWise ID": f"TRANSFER-{row.identity}", "Date": f"{row.moment:%d-%m-%Y}",
        "Date Time": f"{row.moment:%d-%m-%Y %H:%M:%S}", "Amount": _with_point(row.cents), "Currency": row.currency,
        "Description": "Sent or received", "Payment Reference": row.note, "Running Balance": "0.00",
        "Payer Name": row.name if row.cents > 0 else "", "Payee Name": row.name if row.cents < 0 else "",
        "Merchant": "", "Total fees": "0.00",
    }  # fmt: skip


def _write_revolut(row: _Transaction) -> dict[str, str]:
    return {
        "Type": "TRANSFER", "Product": "Current", "Started Date": "2020-12-31 00:00:00",
        "Completed Date": f"{row.moment:%Y-%m-%d %H:%M:%S}", "Amount": _with_point(row.cents + 15), "Fee": "0.15",
        "Description": f"{'To' if row.cents < 0 else 'From'} {row.name}", "Currency": row.currency,
        "State": "COMPLETED", "Balance": "0.00",
    }  # fmt: skip


def _write_splitwise(row: _Transaction) -> dict[str, str]:
    return {
        "Fecha": f"{row.moment:%Y-%m-%d}", "Descripción": row.note, "Categoría": "Pago", "Moneda": row.currency,
        "Coste": _with_point(abs(row.cents)), _HOLDER: _with_point(-row.cents), row.name: _with_point(row.cents),
    }  # fmt: skip


_WRITERS: dict[str, Callable[[_Transaction], dict[str, str]]] = {
    "cash_app": _write_cash_app,
    "paypal_activity": _write_activity,
    "paypal_statement": _write_statement,
    "monzo": _write_monzo,
    "wise": _write_wise,
    "revolut": _write_revolut,
    "splitwise": _write_splitwise,
}


_WITHOUT_IDS = ("revolut", "splitwise")  # null here; the ledger makes ids of the content


def _expect(row: _Transaction, name: str) -> dict[str, Any]:
    day = row.moment.replace(hour=0, minute=0, second=0)
    expected = {
        "date": day if name == "splitwise" else row.moment,
        "kind": "payment",
        "status": "settled",
        "action": "pay",
        "direction": "in" if row.cents > 0 else "out",
        "counterparty_name": row.name,
        "flow_cents": row.cents,
        "moved_cents": -row.cents if name == "splitwise" else row.cents,
        "currency": row.currency,
    }
    if name not in _WITHOUT_IDS:
        expected["payment_id"] = f"TRANSFER-{row.identity}" if name == "wise" else row.identity
    if name not in {"paypal_statement", "revolut"}:
        expected["note"] = row.note
    return expected


@pytest.mark.parametrize("name", _WRITERS)
@given(data=st.data())
@settings(max_examples=8, deadline=None, derandomize=True)
def test_written_files_are_read_back(name, data):
    """Ids, instants, cents, direction, people, notes and currencies are those of the transactions."""
    transactions = data.draw(_TRANSACTIONS)
    written = [_WRITERS[name](row) for row in transactions]
    header = data.draw(st.permutations(list(dict.fromkeys(key for row in written for key in row))))
    text = io.StringIO(newline="")
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    line_end = data.draw(st.sampled_from(["\n", "\r\n"]))
    writer = csv.DictWriter(text, header, restval="0.00", quoting=quoting, lineterminator=line_end)
    writer.writeheader()
    writer.writerows(written)

    reading = read_text(text.getvalue(), account=_HOLDER)
    assert [problem for problem in reading.problems if problem.code != "ambiguous_date"] == []
    assert reading.rows["payment_id"].n_unique() == (1 if name in _WITHOUT_IDS else len(transactions))
    expected = [_expect(row, name) for row in transactions]
    assert reading.rows.select(list(expected[0])).to_dicts() == expected
