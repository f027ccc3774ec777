"""The service's JSON history: amounts without a sign, and usernames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.frames.perspective import IN, OUT, UNREGISTERED
from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.handles import normalize_account
from p2p_analytics.statements.formats._service_csv import PERSONAL
from p2p_analytics.statements.formats.cells import parse_instants, parse_money
from p2p_analytics.statements.formats.format import Reading, StatementFormat
from p2p_analytics.statements.formats.json_cells import FIELDS, IS_OTHER, PREFIX
from p2p_analytics.statements.problems import NOT_A_DATE, NOT_AN_AMOUNT, list_problems, list_unreadable
from p2p_analytics.statements.rows import complete_rows
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Iterable

    from p2p_analytics.statements.formats.format import Table
    from p2p_analytics.statements.problems import Problem

_KINDS: Final = {
    "payment": KIND_PAYMENT,
    "refund": KIND_PAYMENT,
    "transfer": "transfer",
    "internal_balance_transfer": "transfer",
    "capture": "merchant",
    "authorization": "hold",
    "disbursement": "merchant",
    "direct_deposit": "deposit",
    "direct_deposit_reversal": "deposit",
    "credit_repayment": "card",
    "credit_repayment_refund": "card",
    "credit_reward": "reward",
    "fee": "fee",
}
_STATUSES: Final = {
    "issued": Status.SETTLED.value,
    "complete": Status.SETTLED.value,
    "completed": Status.SETTLED.value,
    "canceled": Status.CANCELLED.value,
} | {status.value: status.value for status in Status}
_HELD: Final = "held"
_BALANCE: Final = "balance"


def _read(table: Table) -> Reading:
    cells = table.cells.with_columns(
        parse_money(table.cells["amount"]).alias("cents"),
        parse_money(table.cells["start_balance"]).alias("opening_cents"),
        parse_money(table.cells["end_balance"]).alias("closing_cents"),
        parse_instants(table.cells["datetime_created"], tz=table.tz).alias("date"),
        pl.col("fee_cents").str.replace(r"\.0+$", "").cast(pl.Int64, strict=False).alias("fee"),
        pl.col("target_name").fill_null(
            pl.col("target_type").replace_strict(UNREGISTERED, default=None, return_dtype=pl.String)
        ),
        pl.col("id").alias("payment_id"),
    )
    holders = find_holders(cells, table.account)
    names = {file: holder for file, holder in holders.items() if holder is not None}
    cells = cells.with_columns(
        pl.col("file").replace_strict(names or {"": ""}, default=None, return_dtype=pl.String).alias("holder")
    )
    rows = _describe(_find_direction(cells))
    return Reading(complete_rows(rows), _list_problems(cells, rows))


STATEMENT_JSON: Final = StatementFormat(
    "statement_json", {field: (f"{PREFIX}{field}",) for field in FIELDS}, FIELDS, _read, service=PERSONAL, zone="UTC"
)


def find_holders(cells: pl.DataFrame, account: str | None) -> dict[str, str | None]:
    """Return the username of the holder of each file, None if it is ambiguous.

    The holder is the only user who is in every payment of the file. Where both sides of all its payments are the same
    two users, it is the one of them who holds another file, or the account that the caller named.
    """
    users = ["file", "actor_username", "target_username", "holder_username"]
    candidates: dict[str, set[str]] = {}
    for file, *names in cells.select(users).unique(maintain_order=True).iter_rows():
        present = {name for name in names if name}
        if present:
            candidates[file] = candidates.get(file, present) & present
    known = {next(iter(found)) for found in candidates.values() if len(found) == 1}
    return {file: _choose(found, known, account) for file, found in candidates.items()}


def _choose(candidates: set[str], known: Iterable[str], account: str | None) -> str | None:
    if account is not None:
        named = [name for name in candidates if normalize_account(name) == normalize_account(account)]
        if named:
            return account if account in named else min(named)
    found = candidates if len(candidates) == 1 else candidates & set(known)
    return next(iter(found)) if len(found) == 1 else None


def _find_direction(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with ``kind``, ``is_actor`` and ``direction``, that of the sign where nothing else says it."""
    kind = pl.col("type").replace_strict(_KINDS, default="unknown", return_dtype=pl.String).fill_null("unknown")
    is_refund = pl.col("type") == "refund"
    # The refund of a payment that never settled brings back money that was held, and is no payment.
    is_release = is_refund & (pl.col("status") != Status.SETTLED.value).fill_null(value=True)
    is_held = (pl.col("type") == "internal_balance_transfer") & (pl.col("target_type") == _HELD)
    is_actor = (
        pl.when(pl.col("actor_username") == pl.col("holder"))
        .then(statement=True)
        .when(pl.col("target_username") == pl.col("holder"))
        .then(statement=False)
    )
    pays = is_actor == (pl.col("action") == Action.PAY.value)
    between = pl.when(pays ^ is_refund).then(pl.lit(OUT)).when(~(pays ^ is_refund)).then(pl.lit(IN))
    by_sign = pl.when(pl.col("cents") < 0).then(pl.lit(OUT)).when(pl.col("cents") > 0).then(pl.lit(IN))
    is_between = pl.col("type").is_in(["payment", "refund"])
    return cells.with_columns(
        pl.when(pl.col("is_row").is_null())
        .then(pl.lit("notice"))
        .when(is_release | is_held)
        .then(pl.lit("hold"))
        .otherwise(kind)
        .alias("kind"),
        is_actor.alias("is_actor"),
        pl.when(is_between).then(between).otherwise(pl.coalesce("way", by_sign)).alias("direction"),
    )


def _describe(cells: pl.DataFrame) -> pl.DataFrame:
    status = pl.col("status").str.to_lowercase().replace_strict(_STATUSES, default=None, return_dtype=pl.String)
    status = pl.coalesce(status, "status", pl.lit(Status.SETTLED.value))
    is_refund = (pl.col("type") == "refund").fill_null(value=False)
    status = pl.when(is_refund).then(pl.lit(Status.SETTLED.value)).otherwise(status)
    is_notice, is_payment = pl.col("kind") == "notice", pl.col("kind") == KIND_PAYMENT
    sign = pl.when(pl.col("direction") == OUT).then(-1).when(pl.col("direction") == IN).then(1)
    flow = sign * pl.col("cents").abs()
    by_balance = (pl.col("source_type") == _BALANCE).fill_null(value=True)
    moved = pl.when(status != Status.SETTLED.value).then(0).when(by_balance).then(flow).otherwise(0)
    other_name = pl.when(pl.col("is_actor")).then("target_name").when(~pl.col("is_actor")).then("actor_name")
    other_username = (
        pl.when(pl.col("is_actor")).then("target_username").when(~pl.col("is_actor")).then("actor_username")
    )
    other_id = pl.when(pl.col("is_actor")).then("target_id").when(~pl.col("is_actor")).then("actor_id")
    own_name = pl.when(pl.col("is_actor")).then("actor_name").when(~pl.col("is_actor")).then("target_name")
    transaction = {
        "owner": pl.coalesce(own_name, "holder_name"),
        "payment_id": pl.col("id"),
        "reference_id": pl.col("reference"),
        "date": pl.col("date"),
        "type": pl.col("type"),
        "status": status,
        "action": pl.when(is_payment).then(pl.col("action")),
        "direction": pl.col("direction"),
        "note": pl.when(pl.col("note") != "").then("note"),
        # A refund goes the other way: as in PAYMENTS, its sender is the receiver of the payment.
        "from_name": pl.when(is_refund).then("target_name").otherwise("actor_name"),
        "to_name": pl.when(is_refund).then("actor_name").otherwise(pl.coalesce("target_name", "merchant")),
        "counterparty_name": pl.coalesce(other_name, "merchant"),
        "counterparty_username": other_username,
        "counterparty_id": other_id,
        "flow_cents": flow,
        "fee_cents": pl.col("fee").abs(),
        "funding_source": pl.col("source_name"),
        "destination": pl.col("destination"),
        "moved_cents": moved,
    }
    return cells.select(
        "file",
        "line",
        pl.col("holder").alias("account"),
        pl.lit("USD").alias("currency"),
        "kind",
        pl.when(is_notice).then("opening_cents").alias("opening_cents"),
        pl.when(is_notice).then("closing_cents").alias("closing_cents"),
        *(pl.when(~is_notice).then(expression).alias(name) for name, expression in transaction.items()),
    )


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
