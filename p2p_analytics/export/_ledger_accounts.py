"""The table of accounts of a ledger, which assigns one to each row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.errors import SchemaError, name_type
from p2p_analytics.export._ledger_names import check_account
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.schema import KIND_TRANSFER, require

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    Row = Mapping[str, Any]

_CONDITIONS: Final = ("kind", "direction", "person", "account_id", "funding_source")
_KIND_FEE: Final = "fee"
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


class AccountTable:
    """The lines of a table of accounts, followed by those of the default."""

    def __init__(self, accounts: pd.DataFrame | None) -> None:
        rules = [] if accounts is None else _read_rules(accounts)
        self._rules: tuple[Mapping[str, str], ...] = (*rules, *_DEFAULTS)

    def find_other(self, row: Row) -> str:
        """Return the account on the other side of a row."""
        bank = find_bank(row) if row["kind"] == KIND_TRANSFER else None
        return next(rule["account"] for rule in self._rules if _is_match(rule, row, bank))

    def find_source(self, row: Row) -> str:
        """Return the account of the bank or card that paid a row: that of a transfer from there."""
        transfer = {**row, "kind": KIND_TRANSFER, "direction": "in", "counterparty_id": None, "counterparty_name": None}
        bank = row["funding_source"]
        return next(
            rule["account"]
            for rule in self._rules
            if (rule.get("kind") == KIND_TRANSFER or "funding_source" in rule) and _is_match(rule, transfer, bank)
        )

    def find_fee(self, row: Row) -> str:
        """Return the account of the fee of a row."""
        fee = {**row, "kind": _KIND_FEE, "direction": "out"}
        return next(
            rule["account"] for rule in self._rules if rule.get("kind") == _KIND_FEE and _is_match(rule, fee, None)
        )


def find_bank(row: Row) -> str | None:
    """Return the bank or card on the other side of a row without a person, such as a transfer."""
    sides: list[str | None] = [row["funding_source"], row["destination"]]
    named = [side for side in (sides if row["direction"] == "in" else sides[::-1]) if side]
    return next((side for side in named if is_bank_or_card(side)), named[0] if named else None)


def _is_match(rule: Mapping[str, str], row: Row, bank: str | None) -> bool:
    for name in _CONDITIONS:
        if name not in rule:
            continue
        if name == "person":
            found = rule[name] in {row["counterparty_id"], row["counterparty_name"]}
        else:
            found = rule[name] == (bank if name == "funding_source" else row[name])
        if not found:
            return False
    return True


def _read_rules(accounts: pd.DataFrame) -> list[Mapping[str, str]]:
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
        check_account(rule.get("account"), what="The table of accounts")
    return list(rules)
