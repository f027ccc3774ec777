"""The service's JSON history: its text to a table of cells, and these to rows."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import polars as pl
import pyarrow as pa

from p2p_analytics.errors import StatementError
from p2p_analytics.frames.perspective import IN, OUT, UNREGISTERED
from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.handles import normalize_account
from p2p_analytics.statements.formats._service_csv import STATUSES
from p2p_analytics.statements.formats.cells import blank_notices, parse_money
from p2p_analytics.statements.formats.format import NoHeaderError, Reading, StatementFormat
from p2p_analytics.statements.formats.instants import parse_instants
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import SERVICE, UNKNOWN, complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.problems import Problem

PREFIX: Final = "transactions."
FIELDS: Final = (
    "id", "type", "datetime_created", "note", "amount", "way", "status", "action", "reference", "target_type",
    "actor_id", "actor_name", "actor_username",
    "target_id", "target_name", "target_username", "source_name", "source_type", "destination",
    "merchant", "fee_cents", "holder_name", "holder_username", "is_row", "start_balance", "end_balance",
)  # fmt: skip
_PAYMENT_PATHS: Final = {
    "status": "status", "action": "action", "actor_id": "actor.id", "actor_name": "actor.display_name",
    "actor_username": "actor.username", "target_type": "target.type", "target_id": "target.user.id",
    "target_username": "target.user.username",
}  # fmt: skip
_OTHER_PATHS: Final = {
    "destination": "destination.name", "target_type": "destination.type", "fee_cents": "amount_fee_cents",
    "holder_name": "authorization.user.display_name", "holder_username": "authorization.user.username",
}  # fmt: skip
_LONGEST: Final = 2**26  # bytes
_MOST_ROWS: Final = 100_000
_MOST_VALUES: Final = 5_000_000  # as separators of the text, which bound the Python objects before they are made
_SEPARATORS: Final = (b",", b"{", b"[")
IS_OBJECT, IS_OTHER = "yes", "no"  # the words of the field is_row
_IN, _OUT = "in", "out"
_BALANCE: Final = "balance"


def build_cells(utf8: bytes, name: str) -> dict[str, pa.Array]:
    """Return the cells of each field: a row for each transaction, and a last one for the balances."""
    if len(utf8) > _LONGEST or sum(utf8.count(separator) for separator in _SEPARATORS) > _MOST_VALUES:
        raise StatementError(f"{name} is longer than a JSON history: download it again for a shorter period.")
    try:
        # Numbers stay text, so that amounts are exact and no number is too long to be read.
        found = json.loads(utf8.decode(), parse_float=str, parse_int=str, parse_constant=str)
    except (ValueError, RecursionError):
        raise NoHeaderError(f"{name} is no statement: it begins as JSON and cannot be read as such.") from None
    data = found.get("data", found) if isinstance(found, dict) else None
    if not isinstance(data, dict) or not isinstance(data.get("transactions"), list):
        raise NoHeaderError(f"{name} is no statement: a JSON history has a list data.transactions, and this has none.")
    transactions = data["transactions"]
    if len(transactions) > _MOST_ROWS:
        raise StatementError(
            f"{name} has {len(transactions):,} transactions, which no history has: download it for a shorter period."
        )
    columns: dict[str, list[str | None]] = {field: [] for field in FIELDS}
    balances = {"start_balance": data.get("start_balance"), "end_balance": data.get("end_balance")}
    for row in chain(map(_flatten, transactions), [balances]):
        for field, cells in columns.items():
            cells.append(_to_text(row.get(field)))
    return {field: pa.array(cells, pa.string()) for field, cells in columns.items()}


def _flatten(row: object) -> dict[str, Any]:
    """Return the fields of a transaction."""
    if not isinstance(row, dict):
        return {"is_row": IS_OTHER}
    kind = row["type"] if isinstance(row.get("type"), str) else ""
    fields = {name: row.get(name) for name in ("id", "type", "datetime_created", "note", "amount")}
    fields |= {"is_row": IS_OBJECT} | {
        f"source_{name}": _find(row, f"funding_source.{name}") for name in ("name", "type")
    }
    part = row.get(kind)
    if kind not in {"payment", "refund"}:
        merchant = _find(part, "merchant.display_name") or _find(part, "authorization.merchant.display_name")
        status = _find(part, "status") if kind == "transfer" else None
        found = {name: _find(part, path) for name, path in _OTHER_PATHS.items()}
        return fields | found | {"status": status, "merchant": merchant, "way": _find_way(kind, part)}
    if kind == "refund":
        part = _find(part, "payment")
        fields["reference"] = _find(part, "id")
    fields |= {name: _find(part, path) for name, path in _PAYMENT_PATHS.items()}
    fields |= {
        name: (fields[name] or None) if isinstance(fields[name], str) else None for name in ("actor_id", "target_id")
    }
    names = ("target.user.display_name", "target.email", "target.phone", "target.merchant.display_name")
    return fields | {"target_name": next(filter(None, (_find(part, path) for path in names)), None)}


def _find_way(kind: str, part: object) -> str | None:
    """Return whether the money of a transaction that is not a payment came in or went out, if its type says so."""
    if kind == "transfer":
        return _IN if _find(part, "type") == "add_funds" else _OUT
    if kind == "internal_balance_transfer":
        ends = {_OUT: "source.type", _IN: "destination.type"}
        return next((way for way, path in ends.items() if _find(part, path) == _BALANCE), None)
    return {"capture": _OUT, "disbursement": _IN, "direct_deposit": _IN}.get(kind)


def _find(data: object, path: str) -> Any:  # noqa: ANN401 - a value of JSON
    """Return the value at a path of names; None without one."""
    for name in path.split("."):
        data = data.get(name) if isinstance(data, dict) else None
    return data


def _to_text(value: object) -> str | None:
    """Return a value as text; halves of a character that UTF-8 cannot hold become a question mark."""
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


_KINDS: Final = {
    **dict.fromkeys(("payment", "refund"), KIND_PAYMENT),
    **dict.fromkeys(("transfer", "internal_balance_transfer"), "transfer"),
    **dict.fromkeys(("capture", "disbursement"), "merchant"),
    **dict.fromkeys(("direct_deposit", "direct_deposit_reversal"), "deposit"),
    **dict.fromkeys(("credit_repayment", "credit_repayment_refund"), "card"),
    "authorization": "hold",
    "credit_reward": "reward",
    "fee": "fee",
}
_HELD: Final = "held"


def _read(table: Table) -> Reading:
    unregistered = pl.col("target_type").replace_strict(UNREGISTERED, default=None, return_dtype=pl.String)
    cells = table.cells.with_columns(
        pl.coalesce("target_name", unregistered).alias("target_name"),
        payment_id="id",
        cents=parse_money(table.cells["amount"]),
        opening_cents=parse_money(table.cells["start_balance"]),
        closing_cents=parse_money(table.cells["end_balance"]),
        date=parse_instants(table.cells["datetime_created"], tz=table.tz),
        fee=pl.col("fee_cents").str.replace(r"\.0+$", "").cast(pl.Int64, strict=False),
    )
    holders = {"": None, **find_holders(cells, table.account)}
    holder = pl.col("file").replace_strict(holders, default=None, return_dtype=pl.String)
    cells = cells.with_columns(holder.alias("holder"))
    rows = _describe(_find_direction(cells))
    return Reading(rows, _list_problems(cells, rows))


STATEMENT_JSON: Final = StatementFormat(
    "statement_json", {field: (f"{PREFIX}{field}",) for field in FIELDS}, FIELDS, _read, service=SERVICE, zone="UTC"
)


def find_holders(cells: pl.DataFrame, account: str | None) -> dict[str, str | None]:
    """Return the username of the holder of each file, None if it is ambiguous.

    That is the only user in every payment, of two the one who holds another file, or the account that the caller named.
    """
    users = ["file", "actor_username", "target_username", "holder_username"]
    candidates: dict[str, set[str]] = {}
    for file, *names in cells.select(users).unique(maintain_order=True).iter_rows():
        present = {name for name in names if name}
        if present:
            candidates[file] = candidates.get(file, present) & present
    known = {next(iter(found)) for found in candidates.values() if len(found) == 1}
    return {file: _choose(found, known, account) for file, found in candidates.items()}


def _choose(candidates: set[str], known: set[str], account: str | None) -> str | None:
    if account is not None:
        named = [name for name in candidates if normalize_account(name) == normalize_account(account)]
        if named:
            return account if account in named else min(named)
    found = candidates if len(candidates) == 1 else candidates & known
    return next(iter(found)) if len(found) == 1 else None


def _find_direction(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with ``kind``, ``is_actor`` and ``direction``, by the sign where nothing else states it."""
    kind = pl.col("type").replace_strict(_KINDS, default=UNKNOWN, return_dtype=pl.String).fill_null(UNKNOWN)
    is_refund = pl.col("type") == "refund"
    # The refund of a payment that never settled brings back money that was held, and is not a payment.
    is_release = is_refund & (pl.col("status") != Status.SETTLED.value).fill_null(value=True)
    is_held = (pl.col("type") == "internal_balance_transfer") & (pl.col("target_type") == _HELD)
    kind = pl.when(is_release | is_held).then(pl.lit("hold")).otherwise(kind)
    is_target = pl.when(pl.col("target_username") == pl.col("holder")).then(statement=True)
    is_actor = pl.when(pl.col("actor_username") == pl.col("holder")).then(statement=True).otherwise(~is_target)
    pays = is_actor == (pl.col("action") == Action.PAY.value)
    between = pl.when(pays ^ is_refund).then(pl.lit(OUT)).when(~(pays ^ is_refund)).then(pl.lit(IN))
    by_sign = pl.when(pl.col("cents") < 0).then(pl.lit(OUT)).when(pl.col("cents") > 0).then(pl.lit(IN))
    is_between = pl.col("type").is_in(["payment", "refund"])
    return cells.with_columns(
        kind=pl.when(pl.col("is_row").is_null()).then(pl.lit("notice")).otherwise(kind),
        is_actor=is_actor,
        direction=pl.when(is_between).then(between).otherwise(pl.coalesce("way", by_sign)),
    )


def _describe(cells: pl.DataFrame) -> pl.DataFrame:
    status = pl.col("status").str.to_lowercase().replace_strict(STATUSES, default=None, return_dtype=pl.String)
    status = pl.coalesce(status, "status", pl.lit(Status.SETTLED.value))
    is_refund = (pl.col("type") == "refund").fill_null(value=False)
    status = pl.when(is_refund).then(pl.lit(Status.SETTLED.value)).otherwise(status)
    sign = pl.when(pl.col("direction") == OUT).then(-1).when(pl.col("direction") == IN).then(1)
    flow = sign * pl.col("cents").abs()
    by_balance = (pl.col("source_type") == _BALANCE).fill_null(value=True)
    moved = pl.when(status != Status.SETTLED.value).then(0).when(by_balance).then(flow).otherwise(0)
    own, other = (
        {
            key: pl.when("is_actor").then(f"{sides[0]}_{key}").when(~pl.col("is_actor")).then(f"{sides[1]}_{key}")
            for key in ("id", "name", "username")
        }
        for sides in (("actor", "target"), ("target", "actor"))
    )
    rows = cells.with_columns(
        pl.lit("USD").alias("currency"),
        pl.when(pl.col("note") != "").then("note").alias("note"),
        account="holder",
        owner=pl.coalesce(own["name"], "holder_name"),
        reference_id="reference",
        status=status,
        action=pl.when(pl.col("kind") == KIND_PAYMENT).then("action"),
        # A refund goes the other way: as in PAYMENTS, its sender is the receiver of the payment.
        from_name=pl.when(is_refund).then("target_name").otherwise("actor_name"),
        to_name=pl.when(is_refund).then("actor_name").otherwise(pl.coalesce("target_name", "merchant")),
        counterparty_name=pl.coalesce(other["name"], "merchant"),
        counterparty_username=other["username"],
        counterparty_id=other["id"],
        flow_cents=flow,
        fee_cents=pl.col("fee").abs(),
        funding_source="source_name",
        moved_cents=moved,
    )
    return blank_notices(complete_rows(rows))


def _list_problems(cells: pl.DataFrame, rows: pl.DataFrame) -> list[Problem]:
    is_other = (cells["is_row"] == IS_OTHER).fill_null(value=False)
    is_row = cells["is_row"].is_not_null() & ~is_other
    is_known = rows["status"].is_in(list(map(str, Status))).fill_null(value=False)
    found = list_problems(cells, is_other, cells["type"], field="row", code="not_a_transaction")
    for name, value, field, code in (
        ("amount", "cents", "amount", NOT_AN_AMOUNT),
        ("datetime_created", "date", "datetime_created", NOT_A_DATE),
        ("fee_cents", "fee", "amount_fee_cents", "not_whole_cents"),
    ):
        found += list_unreadable(cells, cells[name], cells[value], field=field, code=code)
    for is_wrong, text, field, code in (
        (rows["kind"] == "unknown", cells["type"], "type", "unknown_type"),
        (~is_known, rows["status"], "status", "unknown_status"),
        (rows["direction"].is_null(), cells["type"], "direction", "no_direction"),
    ):
        found += list_problems(cells, is_row & is_wrong, text, field=field, code=code)
    for field, name in (("id", "id"), ("cents", "amount"), ("date", "datetime_created")):
        missing = is_row & cells[name].is_null() & cells[field].is_null()
        found += list_problems(cells, missing, cells[name], field=name, code="missing", details=(name,))
    return found
