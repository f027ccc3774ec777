"""Statement files as rows, read with the csv module and nothing of the toolkit."""

import csv
import io
import json
import re
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple

OWN_BALANCE = "Venmo balance"


class StatementFile(NamedTuple):
    """Rows of a file by header name, as text, and its balances in cents."""

    rows: list[dict[str, str]]
    opening: int | None
    closing: int | None


def to_cents(text: str) -> int:
    """Return an amount such as ``- $1,234.56`` in cents."""
    sign, units, rest = re.fullmatch(r"(?:([-+]) )?\$([\d,]+)\.(\d\d)", text).groups()
    cents = int(units.replace(",", "")) * 100 + int(rest)
    return -cents if sign == "-" else cents


def read_csv(text: str) -> StatementFile:
    """Return the rows of a CSV file that have an id, and the balances that it names."""
    table = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    at = next(place for place, row in enumerate(table) if {"Type", "Status"} <= set(row))
    names = [name.strip() for name in table[at]]
    key = "ID" if "ID" in names else "Transaction ID"
    rows = [dict(zip(names, row, strict=True)) for row in table[at + 1 :]]
    found = []
    for row in rows:
        identifier = row[key].strip('"')
        if identifier.isdigit():  # a cryptocurrency block has the name of a coin there
            found.append({name: "" if cell == "(None)" else cell for name, cell in row.items()} | {"ID": identifier})
    balances = [
        next((to_cents(row[name]) for row in rows if row.get(name, "").startswith("$")), None)
        for name in ("Beginning Balance", "Ending Balance")
    ]
    return StatementFile(found, *balances)


def moved_cents(row: dict[str, str]) -> int:
    """Return the change of the balance by a row, by the rule of the files."""
    moves = row["Status"] in {"Complete", "Issued"} and row["Funding Source"] in {"", OWN_BALANCE}
    return to_cents(row.get("Amount (net)") or row["Amount (total)"]) if moves else 0


def instant(row: dict[str, str]) -> datetime:
    """Return the instant of a row."""
    if "Datetime" in row:
        return datetime.fromisoformat(row["Datetime"]).replace(tzinfo=UTC)
    text = f"{row['Date']} {row['Time (UTC)']}"
    return datetime.strptime(text, "%m/%d/%Y %H:%M:%S").replace(tzinfo=UTC)


def read_json(text: str) -> dict[str, Any]:
    """Return the data of a JSON history, with exact numbers."""
    return json.loads(text, parse_float=Decimal)["data"]
