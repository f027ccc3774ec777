"""Payments as a ledger of double entries, in the text formats of beancount and hledger."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import ConfigurationError, SchemaError, name_type
from p2p_analytics.export._payments import find_payments
from p2p_analytics.files import atomic_file
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.schema import KIND_PAYMENT, SOURCE_API, require
from p2p_analytics.money import format_cents
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping
    from datetime import date
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History

_NEEDED: Final = (
    "payment_id", "status", "note", "date_created", "date_completed", "direction", "counterparty_id",
    "counterparty_name", "flow_cents",
)  # fmt: skip
_OPTIONAL: Final = {
    "kind": KIND_PAYMENT, "account_id": None, "currency": None, "source": SOURCE_API, "fee_cents": None, "type": None,
    "funding_source": None, "destination": None,
}  # fmt: skip
_NO_CURRENCY: Final = "XXX"  # of ISO 4217
_DEFAULT_OWN: Final = "Assets:P2P"
_CONDITIONS: Final = ("kind", "direction", "person", "account_id")
# The first line that matches decides; an empty condition matches each row.
_ACCOUNTS: Final = (
    {"kind": "payment", "direction": "out", "account": "Expenses:People"},
    {"kind": "payment", "direction": "in", "account": "Income:People"},
    {"kind": "transfer", "account": "Assets:Transfers"},
    {"kind": "merchant", "account": "Expenses:Merchants"},
    {"kind": "card", "account": "Expenses:Card"},
    {"kind": "reward", "account": "Income:Rewards"},
    {"kind": "deposit", "account": "Income:Deposits"},
    {"kind": "fee", "account": "Expenses:Fees"},
    {"kind": "asset", "account": "Assets:Investments"},
    {"account": "Equity:Unknown"},
)
_ACCOUNT: Final = re.compile(r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+")
_CODE: Final = re.compile(r"[A-Z]{3}")
_BLANKS: Final = re.compile(r"\s+")


class _Entry(NamedTuple):
    """One settled row; ``cents`` is None where the amount is not known."""

    day: date
    payment_id: str
    person: str
    note: str
    cents: int | None
    currency: str
    own: str
    other: str
    fee: int | None
    funding_source: str


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
    its flow on the account of one's own balance, and the opposite on another account. The id, a fee inside the amount
    and the source that paid it are metadata. A row without a person names its bank; if it has no note and is of another
    kind than payment, its type. Rows without an amount become comments. Each account is opened on its first day.

    Parameters
    ----------
    source : History or pandas.DataFrame
        PAYMENTS, also with rows of statements. Rows that are not settled are excluded.
    path : str or os.PathLike
        The file; an existing one is replaced as a whole.
    accounts : pandas.DataFrame, optional
        Which other account a row belongs to: ``account``, and any of ``kind``, ``direction``, ``person`` (id or name)
        and ``account_id``. The first line that matches decides; null matches every row. Rows without a match belong to
        ``Expenses:People``, ``Income:People``, ``Assets:Transfers`` and so on, by their kind and direction.
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
    entries = _list_entries(source, _read_accounts(accounts), own, find_zone(tz))
    _write(_format_beancount(entries), path)


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
    entries = _list_entries(source, _read_accounts(accounts), own, find_zone(tz))
    _write(_format_hledger(entries), path)


def _write(lines: Iterator[str], path: str | os.PathLike[str]) -> None:
    with atomic_file(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")


def _list_entries(
    source: History | pd.DataFrame, choose: Callable[[Mapping[str, Any]], str], own: str, zone: ZoneInfo
) -> list[_Entry]:
    """Return the settled rows, oldest first."""
    _check_account(own, what="own")
    table = table_of(find_payments(source))
    require(table.column_names, _NEEDED, what="A ledger")
    table = table.select([name for name in table.column_names if name in {*_NEEDED, *_OPTIONAL}])
    rows = [_OPTIONAL | row for row in table.to_pylist() if row["status"] == Status.SETTLED]
    names = _name_own({row["account_id"] for row in rows}, own)
    entries = []
    for row in rows:
        moment = row["date_completed"] or row["date_created"]
        if moment is None:
            raise SchemaError(
                f"The settled payment {row['payment_id']!r} has no date, which a ledger needs: fill it or drop the row."
            )
        entries.append(
            _Entry(
                day=moment.astimezone(zone).date(),
                payment_id=_clean(row["payment_id"]),
                person=_clean(row["counterparty_name"] or row["counterparty_id"] or _find_bank(row)),
                note=_clean(row["note"] or (row["type"] if row["kind"] != KIND_PAYMENT else None)),
                cents=row["flow_cents"],
                currency=_find_currency(row),
                own=names[row["account_id"]],
                other=choose(row),
                fee=row["fee_cents"],
                funding_source=_clean(row["funding_source"]),
            )
        )
    return sorted(entries, key=lambda entry: (entry.day, entry.payment_id))


def _find_bank(row: Mapping[str, Any]) -> str | None:
    """Return the bank or card on the other side of a row without a person, such as a transfer."""
    name: str | None = row["funding_source" if row["direction"] == "in" else "destination"]
    return name


def _find_currency(row: Mapping[str, Any]) -> str:
    code = row["currency"] or (US_DOLLARS if row["source"] in {SOURCE_API, None} else _NO_CURRENCY)
    return code if _CODE.fullmatch(code) else _NO_CURRENCY


def _name_own(ids: set[str | None], own: str) -> dict[str | None, str]:
    """Return the account of one's own balance for each account id; several have different names below one account."""
    if len(ids) <= 1:
        return dict.fromkeys(ids, own)
    names: dict[str | None, str] = {}
    for each in sorted(ids, key=lambda value: (value is None, value or "")):
        plain = unicodedata.normalize("NFKD", each or "unknown").encode("ascii", "ignore").decode()
        word = re.sub("[^A-Za-z0-9]+", "-", plain).strip("-") or "Account"
        name, number = f"{own}:{word[0].upper()}{word[1:]}", 1
        while name in names.values():
            number += 1
            name = f"{own}:{word[0].upper()}{word[1:]}-{number}"
        names[each] = name
    return names


def _read_accounts(accounts: pd.DataFrame | None) -> Callable[[Mapping[str, Any]], str]:
    """Return a function that finds the other account of a row."""
    rules: list[Mapping[str, Any]] = []
    if accounts is not None:
        if not hasattr(accounts, "columns"):
            raise SchemaError(f"accounts is a pandas frame with a column account, not {name_type(accounts)}.")
        require(accounts.columns, ["account"], what="The table of accounts", instead="one with account and person")
        if unknown := [str(name) for name in accounts.columns if name not in {"account", *_CONDITIONS}]:
            known = ", ".join(_CONDITIONS)
            raise SchemaError(f"The table of accounts has the column {unknown[0]!r}: its columns are account, {known}.")
        rules = [
            {str(name): value for name, value in row.items() if isinstance(value, str)}
            for row in accounts.to_dict("records")
        ]
    for rule in rules:
        _check_account(rule.get("account"), what="The table of accounts")
    rules.extend(_ACCOUNTS)

    def choose(row: Mapping[str, Any]) -> str:
        people = {row["counterparty_id"], row["counterparty_name"]}
        for rule in rules:
            if all(
                rule[name] in people if name == "person" else row[name] == rule[name]
                for name in _CONDITIONS
                if name in rule
            ):
                return str(rule["account"])
        raise AssertionError("the last rule has no condition")

    return choose


def _check_account(name: object, *, what: str) -> None:
    if not isinstance(name, str) or not _ACCOUNT.fullmatch(name):
        raise ConfigurationError(
            f"{what} names the account {name!r}, which ledgers do not take: begin with Assets, Liabilities, Equity, "
            "Income or Expenses, and add parts of letters, digits and hyphens with a capital first, as Expenses:Rent."
        )


def _clean(text: str | None) -> str:
    """Return a text on one line, without unprintable characters."""
    kept = "".join(char if char.isprintable() else " " for char in text or "")
    return _BLANKS.sub(" ", kept).strip()


def _format_beancount(entries: list[_Entry]) -> Iterator[str]:
    opened: dict[str, date] = {}
    for entry in entries:
        for account in (entry.own, entry.other):
            opened.setdefault(account, entry.day)
    yield 'option "title" "Payments"'
    yield from (f"{day} open {account}" for account, day in opened.items())
    for entry in entries:
        yield ""
        if entry.cents is None:
            yield _describe_unknown(entry)
            continue
        yield f'{entry.day} * "{_quote(entry.person)}" "{_quote(entry.note)}"'
        yield f'  payment_id: "{_quote(entry.payment_id)}"'
        if entry.fee:
            yield f"  fee: {format_cents(entry.fee)} {entry.currency}"
        if entry.funding_source:
            yield f'  funding_source: "{_quote(entry.funding_source)}"'
        yield f"  {entry.own}  {format_cents(entry.cents)} {entry.currency}"
        yield f"  {entry.other}  {format_cents(-entry.cents)} {entry.currency}"


def _quote(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _format_hledger(entries: list[_Entry]) -> Iterator[str]:
    currencies = Counter(entry.currency for entry in entries)
    yield from (f"commodity 1000.00 {currency}" for currency in sorted(currencies))
    accounts = sorted({account for entry in entries for account in (entry.own, entry.other)})
    yield from (f"account {account}" for account in accounts)
    for entry in entries:
        yield ""
        if entry.cents is None:
            yield _describe_unknown(entry)
            continue
        # In a description, a semicolon starts a comment and a bar ends the payee; a code ends at a parenthesis.
        person, note = (text.replace(";", ",").replace("|", "/") for text in (entry.person, entry.note))
        code = entry.payment_id.replace(")", "").replace("(", "").replace(";", "")
        yield f"{entry.day} * ({code}) {person} | {note}".rstrip()
        if entry.fee:
            yield f"    ; fee: {format_cents(entry.fee)} {entry.currency}"
        if entry.funding_source:
            # In a comment, a word before a colon begins a tag, such as a date, and a comma ends it.
            yield f"    ; funding_source: {entry.funding_source.replace(':', ' ').replace(',', ' ')}"
        yield f"    {entry.own}  {format_cents(entry.cents)} {entry.currency}"
        yield f"    {entry.other}  {format_cents(-entry.cents)} {entry.currency}"


def _describe_unknown(entry: _Entry) -> str:
    return f"; {entry.day} payment {entry.payment_id}: its amount is not known"
