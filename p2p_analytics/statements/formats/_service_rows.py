"""Cells of the service's CSV statements to ROWS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from p2p_analytics.statements._cells import list_problems, list_unreadable, parse_instants, parse_money
from p2p_analytics.statements._format import Reading
from p2p_analytics.statements._rows import complete_rows
from p2p_analytics.statements.formats._holder import find_holders, read_handles, read_periods
from p2p_analytics.statements.formats._service_ids import require_whole_ids
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    import polars as pl

    from p2p_analytics.statements._format import Problem, Table

STATUSES: Final = {
    "complete": Status.SETTLED.value,
    "completed": Status.SETTLED.value,
    "issued": Status.SETTLED.value,
    "settled": Status.SETTLED.value,
    "pending": Status.PENDING.value,
    "cancelled": Status.CANCELLED.value,
    "canceled": Status.CANCELLED.value,
    "failed": Status.FAILED.value,
    "expired": Status.EXPIRED.value,
}
_PAYMENT: Final = "payment"
_NOTICE: Final = "notice"
_UNKNOWN: Final = "unknown"
_REFUND: Final = "refund"
_KINDS: Final = {
    "payment": _PAYMENT,
    "charge": _PAYMENT,
    "standard transfer": "transfer",
    "instant transfer": "transfer",
    "merchant transaction": "merchant",
    "credit card payment": "card",
    "credit card reward": "reward",
    "credit card rewards": "reward",
    "direct deposit": "deposit",
    "currency conversion": "asset",
}
_ASSET_WORD: Final = "crypto"
_LAST_WORDS: Final = ("fee", "hold")  # of types with names such as "Payment Fee"; each is the bin too
_SUMMARY: Final = "cryptocurrency summary"
_AMOUNTS: Final = ("total", "tip", "tax", "fee", "net", "beginning", "ending")
_TEXTS: Final = ("type", "status", "from", "to", "funding_source", "destination")
_ALL: Final = (
    *_AMOUNTS, *_TEXTS, "id", "datetime", "date", "time", "note", "margin", "username",
)  # fmt: skip
_NONE: Final = "(None)"
_BALANCE: Final = "balance"


def read_personal(table: Table) -> Reading:
    """Return the rows of a personal statement; datetimes are in the caller's zone."""
    return _read(table, _complete(table.cells), table.tz)


def read_business(table: Table) -> Reading:
    """Return the rows of a business or charity statement, with date and time in UTC apart and "(None)" for empty."""
    import polars as pl

    cells = _complete(table.cells)
    texts = [name for name in _ALL if name not in {"date", "time", "datetime"}]
    cells = cells.with_columns(
        pl.when(pl.col(texts).str.strip_chars() != _NONE).then(pl.col(texts)),
        pl.concat_str("date", "time", separator=" ", ignore_nulls=True).replace("", None).alias("datetime"),
    )
    return _read(table, cells, ZoneInfo("UTC"))


def _complete(cells: pl.DataFrame) -> pl.DataFrame:
    """Return cells with every field, null where the header has no such column, and trimmed words."""
    import polars as pl

    missing = [pl.lit(None, pl.String).alias(name) for name in _ALL if name not in cells.columns]
    trimmed = pl.col(*_TEXTS).str.strip_chars()
    return cells.with_columns(missing).with_columns(
        pl.when(trimmed != "").then(trimmed), pl.col("id").str.strip_chars("\"'=\t ").replace("", None)
    )


def _read(table: Table, cells: pl.DataFrame, tz: ZoneInfo) -> Reading:
    import polars as pl

    cells = cells.with_columns(
        *(parse_money(cells[name], symbol="$").alias(f"{name}_cents") for name in _AMOUNTS),
        parse_instants(cells["datetime"], tz=tz).alias("instant"),
        _is_notice(cells),
    )
    transactions = cells.filter(~pl.col("is_notice"))
    require_whole_ids(transactions.select("file", "line", "id"))
    cells = cells.join(read_handles(table.preambles, cells), on="file", how="left", maintain_order="left")
    rows = _describe(cells)
    rows, contradictions = find_holders(rows)
    problems = [*_list_unread_cells(cells), *_list_unknown_words(rows), *contradictions]
    return Reading(complete_rows(rows), problems, read_periods(table.preambles))


def _is_notice(cells: pl.DataFrame) -> pl.Series:
    """Return which rows are no transactions: balances, fees, disclaimers and the summary of assets."""
    import polars as pl

    has_nothing = pl.all_horizontal(pl.col("id", "datetime", "type", "total").is_null())
    titles = pl.col("margin", "username", "id").str.to_lowercase().str.starts_with(_SUMMARY)
    is_title = pl.any_horizontal(titles).fill_null(value=False)
    below_title = is_title.cum_max().over("file") & pl.col("total").is_null()
    expression = has_nothing | below_title if cells.select(is_title.any()).item() else has_nothing
    return cells.select(expression.alias("is_notice")).to_series()


def _describe(cells: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ROWS that follow from a row alone."""
    import polars as pl

    is_notice = pl.col("is_notice")
    status = pl.col("status").str.to_lowercase().replace_strict(STATUSES, default=None, return_dtype=pl.String)
    action = pl.when(pl.col("type").str.to_lowercase() == Action.CHARGE.value).then(pl.lit(Action.CHARGE.value))
    kind = pl.when(is_notice).then(pl.lit(_NOTICE)).otherwise(_find_kind())
    transaction = {
        "payment_id": pl.col("id"),
        "date": pl.col("instant"),
        "type": pl.col("type"),
        "status": pl.coalesce(status, "status"),
        "action": pl.when(kind == _PAYMENT).then(pl.coalesce(action, pl.lit(Action.PAY.value))),
        "note": pl.col("note"),
        "from_name": pl.col("from"),
        "to_name": pl.col("to"),
        "flow_cents": pl.col("total_cents"),
        "fee_cents": pl.col("fee_cents").abs(),
        "tip_cents": pl.col("tip_cents"),
        "tax_cents": pl.col("tax_cents"),
        "funding_source": pl.col("funding_source"),
        "destination": pl.col("destination"),
        "moved_cents": _find_moved(status),
    }
    return cells.select(
        "file",
        "line",
        "account",
        pl.lit("USD").alias("currency"),
        kind.alias("kind"),
        pl.when(is_notice).then("beginning_cents").alias("opening_cents"),
        pl.when(is_notice).then("ending_cents").alias("closing_cents"),
        *(pl.when(~is_notice).then(expression).alias(name) for name, expression in transaction.items()),
    )


def _find_kind() -> pl.Expr:
    """Return the bin of a type; null for refunds, which have one when the payments of all files are known."""
    import polars as pl

    word = pl.col("type").str.to_lowercase()
    last_word = word.str.extract(r"(\w+)$")
    return (
        pl.when(word == _REFUND)
        .then(None)
        .when(word.str.contains(_ASSET_WORD, literal=True))
        .then(pl.lit("asset"))
        .when(last_word.is_in(_LAST_WORDS))
        .then(last_word)
        .otherwise(word.replace_strict(_KINDS, default=_UNKNOWN, return_dtype=pl.String).fill_null(_UNKNOWN))
    )


def _find_moved(status: pl.Expr) -> pl.Expr:
    """Return by how much rows changed the balance; null for an unknown status."""
    import polars as pl

    funding = pl.col("funding_source").str.to_lowercase()
    by_balance = funding.str.ends_with(_BALANCE).fill_null(value=True)
    settled = pl.when(by_balance).then(pl.coalesce("net_cents", "total_cents")).otherwise(0)
    return pl.when(status == Status.SETTLED.value).then(settled).when(status.is_not_null()).then(0)


def _list_unread_cells(cells: pl.DataFrame) -> list[Problem]:
    """Return a problem for each amount, datetime and balance that cannot be read, and for each missing id."""
    import polars as pl

    problems: list[Problem] = []
    for is_notice, fields in ((False, _AMOUNTS[:5]), (True, _AMOUNTS[5:])):
        part = cells.filter(pl.col("is_notice") == is_notice).rename({"id": "payment_id"})
        for name in fields:
            problems += list_unreadable(
                part, part[name], part[f"{name}_cents"], field=name, problem="is not an amount of US dollars"
            )
        if is_notice:
            continue
        problems += list_unreadable(part, part["datetime"], part["instant"], field="datetime", problem="is no date")
        for name, words in (("datetime", "there is no date"), ("total", "there is no amount")):
            problems += list_problems(part, part[name].is_null(), part[name], field=name, problem=words)
        problems += list_problems(
            part, part["payment_id"].is_null(), part["payment_id"], field="id", problem="there is no id"
        )
    return problems


def _list_unknown_words(rows: pl.DataFrame) -> list[Problem]:
    import polars as pl

    rows = rows.filter(pl.col("kind").is_null() | (pl.col("kind") != _NOTICE))
    known = set(STATUSES.values())
    return [
        *list_problems(
            rows, rows["kind"] == _UNKNOWN, rows["type"], field="type", problem="is not a type that this version knows"
        ),
        *list_problems(
            rows,
            ~rows["status"].is_in(known).fill_null(value=False),
            rows["status"],
            field="status",
            problem="is not a status that this version knows",
        ),
    ]
