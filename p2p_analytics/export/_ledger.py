"""Payments as a ledger of double entries, in the text formats of beancount and hledger."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS
from p2p_analytics.display import to_zone
from p2p_analytics.errors import SchemaError
from p2p_analytics.export._ledger_accounts import AccountTable, find_bank
from p2p_analytics.export._ledger_movements import find_movements, find_openings
from p2p_analytics.export._ledger_names import check_account, name_commodities, name_own
from p2p_analytics.export._payments import find_payments
from p2p_analytics.files import atomic_file
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.schema import KIND_PAYMENT, SOURCE_API, require
from p2p_analytics.money import format_cents
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping
    from datetime import date
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.export._ledger_movements import Opening, Stated
    from p2p_analytics.history import History

_NEEDED: Final = (
    "payment_id", "status", "note", "date_created", "date_completed", "direction", "counterparty_id",
    "counterparty_name", "flow_cents",
)  # fmt: skip
_OPTIONAL: Final = {
    "kind": KIND_PAYMENT, "account_id": None, "currency": None, "source": SOURCE_API, "fee_cents": None, "type": None,
    "funding_source": None, "destination": None, "tip_cents": None, "tax_cents": None, "balance_cents": None,
    "file": None, "line": None,
}  # fmt: skip
_DEFAULT_OWN: Final = "Assets:P2P"
_OPENING: Final = "Equity:Opening-Balances"
_KIND_FEE: Final = "fee"
_LONGEST_CODE: Final = 40  # characters of a currency in a remark


class _Posting(NamedTuple):
    account: str
    cents: int


class _Entry(NamedTuple):
    """One transaction; without postings, a settled row of which the amount is not known.

    ``parts`` are amounts inside the others, by their names, and ``funding_source`` is as the statement has it.
    """

    day: date
    payment_id: str
    person: str
    note: str
    currency: str
    postings: tuple[_Posting, ...]
    parts: tuple[tuple[str, int], ...] = ()
    funding_source: str = ""


class _Ledger(NamedTuple):
    """Transactions, the oldest first, and remarks for the top of the file."""

    entries: list[_Entry]
    remarks: list[str]


def to_beancount(
    source: History | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    accounts: pd.DataFrame | None = None,
    own: str = _DEFAULT_OWN,
    tz: str | ZoneInfo = "UTC",
) -> None:
    """Write settled payments as a ledger for beancount.

    Each row is one balanced transaction on its day of completion, or creation where that is not known, oldest first:
    what it moved on the account of one's own balance, its fee, and the rest on another account. A row that a bank or
    card paid does not move one's own balance: it comes from the account of a transfer from there. The first transaction
    of an account of which statements state the balance is its opening balance; a comment at the top says if the last
    stated balance does not follow. A currency is a commodity by its code; where that is no name of one, a comment there
    says which name it has. The id, the source that paid, and a tip and tax inside the amount are metadata. A
    row without a person names its bank; if it has no note and is of another kind than payment, its type. Rows without
    an amount become comments. Each account is opened on its first day.

    Parameters
    ----------
    source : History or pandas.DataFrame
        PAYMENTS, also with rows of statements. Rows that are not settled are excluded.
    path : str or os.PathLike
        The file; an existing one is replaced as a whole.
    accounts : pandas.DataFrame, optional
        Which other account a row belongs to: ``account``, and any of ``kind``, ``direction``, ``person`` (id or name),
        ``account_id`` and ``funding_source``. The first line that matches decides; null matches every row. Lines with
        ``funding_source`` are about transfers to or from that bank or card, and rows that it paid. Rows without a match
        belong to ``Expenses:People``, ``Income:People``, ``Assets:Transfers`` and so on, by their kind and direction.
    own : str
        The account of one's own balance. Where the rows have several ``account_id``, each is an account below it.
    tz : str or ZoneInfo
        The zone that decides the days.

    Raises
    ------
    ConfigurationError
        An account has a name that ledgers do not take, the zone is unknown, or the file cannot be written.
    SchemaError
        The frame or the table of accounts lacks a column.
    """
    ledger = _build_ledger(source, AccountTable(accounts), own, find_zone(tz))
    _write(_format_beancount(ledger), path)


def to_hledger(
    source: History | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    accounts: pd.DataFrame | None = None,
    own: str = _DEFAULT_OWN,
    tz: str | ZoneInfo = "UTC",
) -> None:
    """Write settled payments as a journal for hledger, which ledger reads too.

    The transactions, the parameters and the errors are those of `to_beancount`; the id is the transaction's code.
    """
    ledger = _build_ledger(source, AccountTable(accounts), own, find_zone(tz))
    _write(_format_hledger(ledger), path)


def _write(lines: Iterator[str], path: str | os.PathLike[str]) -> None:
    with atomic_file(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")


def _build_ledger(source: History | pd.DataFrame, accounts: AccountTable, own: str, zone: ZoneInfo) -> _Ledger:
    """Return the settled rows as transactions, after the opening balances."""
    check_account(own, what="own")
    rows = _list_rows(source)
    commodities = name_commodities({row["currency"] for row in rows})
    for row in rows:
        row["currency"] = commodities[row["currency"]]
    names = name_own({row["account_id"] for row in rows}, own)
    movements = find_movements(rows)
    entries = [
        _build_entry(row, moved, names[row["account_id"]], accounts, zone)
        for row, moved in zip(rows, movements, strict=True)
    ]
    entries.sort(key=lambda entry: (entry.day, entry.payment_id))
    openings = find_openings(rows, movements)
    opened = [
        _open(names[account], opening, currency, zone)
        for (account, currency), opening in openings.items()
        if opening.cents
    ]
    remarks = [_describe_commodity(name, code) for code, name in commodities.items() if name != code]
    remarks += [
        _describe_difference(names[account], opening.stated, currency, zone)
        for (account, currency), opening in openings.items()
        if opening.stated
    ]
    return _Ledger(sorted([*opened, *entries], key=lambda entry: entry.day), remarks)


def _list_rows(source: History | pd.DataFrame) -> list[dict[str, Any]]:
    """Return the settled rows with ``moment``, the instant that decides their day."""
    table = table_of(find_payments(source))
    require(table.column_names, _NEEDED, what="A ledger")
    table = table.select([name for name in table.column_names if name in {*_NEEDED, *_OPTIONAL}])
    rows = [_OPTIONAL | row for row in table.to_pylist() if row["status"] == Status.SETTLED]
    is_private = getattr(source, "private", False)
    for row in rows:
        if is_private:  # its amounts are changed one by one, so its balances do not follow from them
            row["balance_cents"] = None
        row["moment"] = row["date_completed"] or row["date_created"]
        if row["moment"] is None:
            raise SchemaError(
                f"The settled payment {row['payment_id']!r} has no date, which a ledger needs: fill it or drop the row."
            )
        row["currency"] = _find_currency(row)
    return rows


def _build_entry(row: Mapping[str, Any], moved: int | None, own: str, accounts: AccountTable, zone: ZoneInfo) -> _Entry:
    postings: tuple[_Posting, ...] = ()
    if moved is not None:
        flow: int = row["flow_cents"]
        source = _Posting(accounts.find_source(row), flow) if flow and not moved else _Posting(own, moved)
        fee = 0 if row["kind"] == _KIND_FEE else row["fee_cents"] or 0
        fees = (_Posting(accounts.find_fee(row), fee),) if fee else ()
        postings = (source, *fees, _Posting(accounts.find_other(row), -source.cents - fee))
    return _Entry(
        day=to_zone(row["moment"], zone).date(),
        payment_id=_clean(row["payment_id"]),
        person=_clean(row["counterparty_name"] or row["counterparty_id"] or find_bank(row)),
        note=_clean(row["note"] or (row["type"] if row["kind"] != KIND_PAYMENT else None)),
        currency=row["currency"],
        postings=postings,
        parts=tuple((name, row[f"{name}_cents"]) for name in ("tip", "tax") if row[f"{name}_cents"]),
        funding_source=_clean(row["funding_source"]),
    )


def _open(own: str, opening: Opening, currency: str, zone: ZoneInfo) -> _Entry:
    postings = (_Posting(own, opening.cents), _Posting(_OPENING, -opening.cents))
    return _Entry(to_zone(opening.at, zone).date(), "", "", "Opening balance", currency, postings)


def _describe_commodity(name: str, code: str) -> str:
    return f"{name} is the currency {code[:_LONGEST_CODE]!r}, which is no name of a commodity."


def _describe_difference(own: str, stated: Stated, currency: str, zone: ZoneInfo) -> str:
    at, cents, counted = stated
    return (
        f"{own}: the statements state {format_cents(cents)} {currency} on {to_zone(at, zone).date()}, and the rows "
        f"until then lead to {format_cents(counted)}: rows are missing or not settled, or the account has several "
        "balances."
    )


def _find_currency(row: Mapping[str, Any]) -> str:
    return row["currency"] or (US_DOLLARS if row["source"] in {SOURCE_API, None} else UNKNOWN_CURRENCY)


def _clean(text: str | None) -> str:
    """Return a text on one line, without unprintable characters."""
    text = text or ""
    if not text.isprintable():
        text = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(text.split())


def _format_beancount(ledger: _Ledger) -> Iterator[str]:
    opened: dict[str, date] = {}
    for entry in ledger.entries:
        for posting in entry.postings:
            opened.setdefault(posting.account, entry.day)
    yield 'option "title" "Payments"'
    yield from (f"; {remark}" for remark in ledger.remarks)
    yield from (f"{day} open {account}" for account, day in opened.items())
    for entry in ledger.entries:
        yield ""
        if not entry.postings:
            yield _describe_unknown(entry)
            continue
        yield f'{entry.day} * "{_quote(entry.person)}" "{_quote(entry.note)}"'
        if entry.payment_id:
            yield f'  payment_id: "{_quote(entry.payment_id)}"'
        yield from (f"  {name}: {format_cents(cents)} {entry.currency}" for name, cents in entry.parts)
        if entry.funding_source:
            yield f'  funding_source: "{_quote(entry.funding_source)}"'
        yield from (f"  {account}  {format_cents(cents)} {entry.currency}" for account, cents in entry.postings)


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _format_hledger(ledger: _Ledger) -> Iterator[str]:
    yield from (f"; {remark}" for remark in ledger.remarks)
    currencies = sorted({entry.currency for entry in ledger.entries})
    yield from (f"commodity 1000.00 {_quote_commodity(currency)}" for currency in currencies)
    accounts = sorted({posting.account for entry in ledger.entries for posting in entry.postings})
    yield from (f"account {account}" for account in accounts)
    for entry in ledger.entries:
        yield ""
        if not entry.postings:
            yield _describe_unknown(entry)
            continue
        # In a description, a semicolon starts a comment and a bar ends the payee; a code ends at a parenthesis.
        person, note = (text.replace(";", ",").replace("|", "/") for text in (entry.person, entry.note))
        code = entry.payment_id.replace(")", "").replace("(", "").replace(";", "")
        yield f"{entry.day} * ({code}) {person} | {note}".rstrip()
        commodity = _quote_commodity(entry.currency)
        yield from (f"    ; {name}: {format_cents(cents)} {commodity}" for name, cents in entry.parts)
        if entry.funding_source:
            # In a comment, a word before a colon begins a tag, such as a date, and a comma ends it.
            yield f"    ; funding_source: {entry.funding_source.replace(':', ' ').replace(',', ' ')}"
        yield from (f"    {account}  {format_cents(cents)} {commodity}" for account, cents in entry.postings)


def _quote_commodity(name: str) -> str:
    return name if name.isalpha() else f'"{name}"'


def _describe_unknown(entry: _Entry) -> str:
    return f"; {entry.day} payment {entry.payment_id}: its amount is not known"
