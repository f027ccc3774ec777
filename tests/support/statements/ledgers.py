"""Rows of ledgers, and the balances that the checkers of beancount and hledger find in their files."""

import os
import subprocess
from decimal import Decimal
from pathlib import Path
from typing import Any

from beancount import loader
from beancount.core import realization


def make_row(cents: int | None, day: str, **more: Any) -> dict[str, Any]:
    """Return a settled row of Ada's account, received if the cents are positive."""
    return {
        "payment_id": day, "status": "settled", "flow_cents": cents, "direction": "in" if (cents or 0) > 0 else "out",
        "date_created": f"{day}T10:00:00Z", "date_completed": f"{day}T12:00:00Z", "counterparty_id": "7",
        "counterparty_name": "Tom", "account_id": "ada", "currency": "USD", "kind": "payment", "source": "statement",
        "note": "tea", **more,
    }  # fmt: skip


def load_beancount(path: Path) -> tuple[list[Any], dict[tuple[str, str], Decimal]]:
    """Return the entries of a ledger and the balances by account and currency; fail if its checker finds an error."""
    entries, errors, _ = loader.load_file(str(path))
    assert errors == []
    found: dict[tuple[str, str], Decimal] = {}
    for account in realization.iter_children(realization.realize(entries), leaf_only=True):
        for position in account.balance:
            found[account.account, position.units.currency] = position.units.number
    return entries, found


def ask_hledger(path: Path) -> dict[tuple[str, str], Decimal]:
    """Return the balance of each account and currency; fail if the checker finds an error."""
    command = ["hledger", "-f", str(path)]
    checks = ["accounts", "commodities", "ordereddates"]
    environment = {**os.environ, "LC_ALL": "C.UTF-8"}  # in the locale C, hledger reads ASCII alone
    subprocess.run([*command, "check", *checks], check=True, capture_output=True, env=environment)  # noqa: S603 - fixed
    table = subprocess.run(  # noqa: S603
        [*command, "balance", "--flat", "--no-total", "--layout=bare", "-O", "csv"],
        check=True, capture_output=True, encoding="utf-8", env=environment,
    ).stdout  # fmt: skip
    lines = [line.strip('"').split('","') for line in table.splitlines()[1:]]
    return {(account, currency): Decimal(amount) for account, currency, amount in lines}
