"""Payments as a ledger of double entries, in the text formats of beancount and hledger."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.currencies import UNKNOWN_CURRENCY, US_DOLLARS
from p2p_analytics.display import to_zone
from p2p_analytics.errors import ConfigurationError, SchemaError, name_type
from p2p_analytics.export._payments import find_payments
from p2p_analytics.files import atomic_file
from p2p_analytics.frames.arrow import table_of
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.schema import KIND_PAYMENT, KIND_TRANSFER, SOURCE_API, require
from p2p_analytics.money import format_cents
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
    from datetime import date, datetime
    from zoneinfo import ZoneInfo

    import pandas as pd

    from p2p_analytics.history import History

    _Row = Mapping[str, Any]
    _Rule = Mapping[str, str]

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
    """One transaction; without postings, a settled row with an unknown amount.

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
    card paid does not move one's own balance: it comes from the account of a transfer from there. Where statements
    state balances, the first transaction of an account is its opening balance; a comment at the top says if the last
    stated balance does not follow. A currency is a commodity by its code. Where ledgers do not take the code, a comment
    there states the name instead. The id, the source that paid, and a tip and tax inside the amount are metadata. A
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
    _write(_format_beancount(_build_ledger(source, _AccountTable(accounts), own, find_zone(tz))), path)


def to_hledger(
    source: History | pd.DataFrame,
    path: str | os.PathLike[str],
    *,
    accounts: pd.DataFrame | None = None,
    own: str = _DEFAULT_OWN,
    tz: str | ZoneInfo = "UTC",
) -> None:
    """Write settled payments as a journal for hledger, which ledger reads too.

    Transactions, parameters and errors are as in `to_beancount`; the id is the transaction's code.
    """
    _write(_format_hledger(_build_ledger(source, _AccountTable(accounts), own, find_zone(tz))), path)


def _write(lines: Iterator[str], path: str | os.PathLike[str]) -> None:
    with atomic_file(path) as file:
        for line in lines:
            file.write(line.encode() + b"\n")


def _build_ledger(source: History | pd.DataFrame, accounts: _AccountTable, own: str, zone: ZoneInfo) -> _Ledger:
    """Return the settled rows as transactions, after the opening balances."""
    _check_account(own, what="own")
    rows = _list_rows(source)
    commodities = _name_commodities({row["currency"] for row in rows})
    for row in rows:
        row["currency"] = commodities[row["currency"]]
    names = _name_own({row["account_id"] for row in rows}, own)
    movements = _find_movements(rows)
    entries = [
        _build_entry(row, moved, names[row["account_id"]], accounts, zone)
        for row, moved in zip(rows, movements, strict=True)
    ]
    entries.sort(key=lambda entry: (entry.day, entry.payment_id))
    remarks = [
        f"{name} is the currency {code[:_LONGEST_CODE]!r}, which is no name of a commodity."
        for code, name in commodities.items()
        if name != code
    ]
    openings: list[_Entry] = []
    for (account_id, currency), balances in _find_balances(rows, movements).items():
        account = names[account_id]
        if balances.opening:
            postings = (_Posting(account, balances.opening), _Posting(_OPENING, -balances.opening))
            day = to_zone(balances.first, zone).date()
            openings.append(_Entry(day, "", "", "Opening balance", currency, postings))
        if balances.counted != balances.stated:
            remarks.append(
                f"{account}: the statements state {format_cents(balances.stated)} {currency} on "
                f"{to_zone(balances.last, zone).date()}, and the rows until then lead to "
                f"{format_cents(balances.counted)}: rows are missing or not settled, or the account has several "
                "balances."
            )
    return _Ledger(sorted([*openings, *entries], key=lambda entry: entry.day), remarks)


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
        row["currency"] = row["currency"] or (US_DOLLARS if row["source"] in {SOURCE_API, None} else UNKNOWN_CURRENCY)
    return rows


def _build_entry(
    row: Mapping[str, Any], moved: int | None, own: str, accounts: _AccountTable, zone: ZoneInfo
) -> _Entry:
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
        person=_clean(row["counterparty_name"] or row["counterparty_id"] or _find_bank(row)),
        note=_clean(row["note"] or (row["type"] if row["kind"] != KIND_PAYMENT else None)),
        currency=row["currency"],
        postings=postings,
        parts=tuple((name, row[f"{name}_cents"]) for name in ("tip", "tax") if row[f"{name}_cents"]),
        funding_source=_clean(row["funding_source"]),
    )


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
    commodities = {name: name if name.isalpha() else f'"{name}"' for name in currencies}
    yield from (f"commodity 1000.00 {commodity}" for commodity in commodities.values())
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
        commodity = commodities[entry.currency]
        yield from (f"    ; {name}: {format_cents(cents)} {commodity}" for name, cents in entry.parts)
        if entry.funding_source:
            # In a comment, a word before a colon begins a tag, such as a date, and a comma ends it.
            yield f"    ; funding_source: {entry.funding_source.replace(':', ' ').replace(',', ' ')}"
        yield from (f"    {account}  {format_cents(cents)} {commodity}" for account, cents in entry.postings)


def _describe_unknown(entry: _Entry) -> str:
    return f"; {entry.day} payment {entry.payment_id}: its amount is not known"


# The other account of a row.

_CONDITIONS: Final = ("kind", "direction", "person", "account_id", "funding_source")
# The first line that matches decides; an empty condition matches each row.
_DEFAULTS: Final = (
    {"kind": "payment", "direction": "out", "account": "Expenses:People"},
    {"kind": "payment", "direction": "in", "account": "Income:People"},
    {"kind": KIND_TRANSFER, "account": "Assets:Transfers"},
    {"kind": "merchant", "account": "Expenses:Merchants"},
    {"kind": "card", "account": "Expenses:Card"},
    {"kind": "reward", "account": "Income:Rewards"},
    {"kind": "deposit", "account": "Income:Deposits"},
    {"kind": _KIND_FEE, "account": "Expenses:Fees"},
    {"kind": "asset", "account": "Assets:Investments"},
    {"account": "Equity:Unknown"},
)


class _AccountTable:
    """The lines of a table of accounts, followed by the default lines."""

    def __init__(self, accounts: pd.DataFrame | None) -> None:
        self._rules = [*([] if accounts is None else _read_rules(accounts)), *_DEFAULTS]

    def find_other(self, row: _Row) -> str:
        """Return the account on the other side of a row."""
        return self._find(row, _find_bank(row) if row["kind"] == KIND_TRANSFER else None)

    def find_source(self, row: _Row) -> str:
        """Return the account of the bank or card that paid a row: the account of a transfer from there."""
        transfer = {**row, "kind": KIND_TRANSFER, "direction": "in", "counterparty_id": None, "counterparty_name": None}
        return self._find(
            transfer,
            row["funding_source"],
            lambda rule: rule.get("kind") == KIND_TRANSFER or "funding_source" in rule,
        )

    def find_fee(self, row: _Row) -> str:
        """Return the account of the fee of a row."""
        fee = {**row, "kind": _KIND_FEE, "direction": "out"}
        return self._find(fee, None, lambda rule: rule.get("kind") == _KIND_FEE)

    def _find(self, row: _Row, bank: str | None, is_about: Callable[[_Rule], bool] = lambda _rule: True) -> str:
        """Return the account of the first line that is about these rows and matches this one."""
        values = {**row, "funding_source": bank}
        people = {row["counterparty_id"], row["counterparty_name"]}
        return next(
            rule["account"]
            for rule in self._rules
            if is_about(rule)
            and all(
                value in people if name == "person" else value == values[name]
                for name, value in rule.items()
                if name != "account"
            )
        )


def _find_bank(row: _Row) -> str | None:
    """Return the bank or card on the other side of a row without a person, such as a transfer."""
    sides: list[str | None] = [row["funding_source"], row["destination"]]
    named = [side for side in (sides if row["direction"] == "in" else sides[::-1]) if side]
    return next((side for side in named if is_bank_or_card(side)), named[0] if named else None)


def _read_rules(accounts: pd.DataFrame) -> list[_Rule]:
    if not hasattr(accounts, "columns"):
        raise SchemaError(f"accounts is a pandas frame with a column account, not {name_type(accounts)}.")
    require(accounts.columns, ["account"], what="The table of accounts", instead="one with account and person")
    if unknown := [str(name) for name in accounts.columns if name not in {"account", *_CONDITIONS}]:
        known = ", ".join(_CONDITIONS)
        raise SchemaError(f"The table of accounts has the column {unknown[0]!r}: its columns are account, {known}.")
    rules: list[_Rule] = [
        {str(name): value for name, value in row.items() if isinstance(value, str)}
        for row in accounts.to_dict("records")
    ]
    for rule in rules:
        _check_account(rule.get("account"), what="The table of accounts")
    return rules


# By how much each settled row changed the account holder's balance, and where that began.

_GROSS_TYPES: Final = ("payment", "charge")  # in statements of businesses, the fee of these is beside the amount


class _Balances(NamedTuple):
    """Balances of an account and currency for which statements state any.

    ``opening`` is the one before its ``first`` row, ``stated`` the last stated one, and ``counted`` the one that the
    rows lead to at that instant.
    """

    first: datetime
    opening: int
    last: datetime
    stated: int
    counted: int


def _find_movements(rows: Sequence[_Row]) -> list[int | None]:
    """Return by how many cents each settled row changed the balance; None where its amount is not known.

    A fee is inside the flow, except for payments that a business received and payments from the service's API. Where
    two neighbours of a file have balances, their difference decides.
    """
    movements = [_expect_movement(row) for row in rows]
    for file in _list_files(rows):
        for before, after in pairwise(file):
            balances = rows[before]["balance_cents"], rows[after]["balance_cents"]
            if movements[after] is not None and None not in balances:
                change = balances[1] - balances[0]
                flow, fee = rows[after]["flow_cents"], rows[after]["fee_cents"] or 0
                if change in {flow, flow - fee, 0, -flow}:  # with the fee inside or apart, or the opposite of a debt
                    movements[after] = change
    return movements


def _expect_movement(row: _Row) -> int | None:
    """Return by how many cents a row changed the balance, as far as the row itself shows."""
    flow: int | None = row["flow_cents"]
    if flow is None:
        return None
    if flow < 0 and row["kind"] != KIND_TRANSFER and is_bank_or_card(row["funding_source"]):
        return 0  # the bank or card paid
    fee: int = row["fee_cents"] or 0
    if row["file"] is None:
        has_fee_apart = row["source"] in {SOURCE_API, None}
    else:
        is_received = row["kind"] == KIND_PAYMENT and row["direction"] == "in"
        has_fee_apart = is_received and (row["type"] or "").lower() in _GROSS_TYPES
    return flow - fee if has_fee_apart else flow


def _list_files(rows: Sequence[_Row]) -> Iterator[list[int]]:
    """Yield the positions of the rows of each file, account and currency, the oldest first."""
    files: dict[Hashable, list[int]] = {}
    for at, row in enumerate(rows):
        if row["file"] is not None:
            files.setdefault((row["file"], row["account_id"], row["currency"]), []).append(at)
    for file in files.values():
        by_line = sorted(file, key=lambda at: rows[at]["line"] or 0)
        dates = [rows[at]["moment"] for at in by_line]
        yield by_line[::-1] if dates[0] > dates[-1] else by_line


def _find_balances(rows: Sequence[_Row], movements: Sequence[int | None]) -> dict[tuple[str | None, str], _Balances]:
    """Return the balances of each account and currency for which statements state any.

    The opening balance follows from the first stated one. Accounts with a row of unknown amount before that are left
    out.
    """
    # The oldest rows first; rows of one second in the order of their file.
    places = {at: place for file in _list_files(rows) for place, at in enumerate(file)}
    accounts: dict[tuple[str | None, str], list[int]] = {}
    for at in sorted(range(len(rows)), key=lambda at: (rows[at]["moment"], places.get(at, 0))):
        accounts.setdefault((rows[at]["account_id"], rows[at]["currency"]), []).append(at)
    found = {}
    for key, account in accounts.items():
        known = [place for place, at in enumerate(account) if rows[at]["balance_cents"] is not None]
        if not known:
            continue
        until = [movements[at] for at in account[: known[-1] + 1]]
        if None in until[: known[0] + 1]:
            continue
        first, last = rows[account[known[0]]], rows[account[known[-1]]]
        opening = first["balance_cents"] - _add(until[: known[0] + 1])
        found[key] = _Balances(
            rows[account[0]]["moment"], opening, last["moment"], last["balance_cents"], opening + _add(until)
        )
    return found


def _add(movements: Iterable[int | None]) -> int:
    return sum(cents for cents in movements if cents is not None)


# Names that ledgers take.

_ACCOUNT: Final = re.compile(r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+")
_COMMODITY: Final = re.compile(r"(?!(TRUE|FALSE|NULL)$)[A-Z][A-Z0-9]{1,23}")  # the words have a meaning in beancount
_LONGEST_WORD: Final = 16  # of a commodity that gets a hyphen and digits of a hash too
_DIGITS: Final = 6


def _check_account(name: object, *, what: str) -> None:
    """Raise a ConfigurationError if ledgers do not take the name of an account."""
    if not isinstance(name, str) or not _ACCOUNT.fullmatch(name):
        raise ConfigurationError(
            f"{what} names the account {name!r}, which ledgers do not take: begin with Assets, Liabilities, Equity, "
            "Income or Expenses, and add parts of letters, digits and hyphens with a capital first, as Expenses:Rent."
        )


def _name_own(ids: set[str | None], own: str) -> dict[str | None, str]:
    """Return the account of one's own balance for each account id; several have different names below one account."""
    if len(ids) <= 1:
        return dict.fromkeys(ids, own)
    names: dict[str | None, str] = {}
    for each in sorted(ids, key=lambda value: (value is None, value or "")):
        word = re.sub("[^A-Za-z0-9]+", "-", _to_ascii(each or "unknown")).strip("-") or "Account"
        names[each] = _make_unique(f"{own}:{word[0].upper()}{word[1:]}", names.values())
    return names


def _name_commodities(codes: set[str]) -> dict[str, str]:
    """Return the commodity of each currency, by its code; it does not depend on the other currencies.

    It is the code, or for a word that ledgers do not take, the letters and digits of the word and of its hash:
    CA-DA44C5 for "CA$", and XXX-09FC96 for "$". No code has a hyphen.

    Raises
    ------
    SchemaError
        Two currencies have one name, so that their amounts would be added up.
    """
    names = {}
    for code in sorted(codes):
        names[code] = code
        if not _COMMODITY.fullmatch(code):
            word = re.sub("[^A-Z0-9]", "", _to_ascii(code).upper())[:_LONGEST_WORD]
            name = word if _COMMODITY.fullmatch(word) else f"{UNKNOWN_CURRENCY}-{word}"
            digest = hashlib.sha256(code.encode()).hexdigest()[:_DIGITS].upper()
            names[code] = f"{name[:_LONGEST_WORD].rstrip('-')}-{digest}"
    for one, other in combinations(names, 2):
        if names[one] == names[other]:
            raise SchemaError(
                f"The currencies {one} and {other} have the same name in a ledger, {names[one]}: write one of them at "
                "a time."
            )
    return names


def _to_ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _make_unique(name: str, taken: Collection[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique
