"""The order in which the rows of a file moved the balance: services list the newest row first, or last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import polars as pl

GROUP: Final = ("file", "account", "currency")
"""The columns of which each combination has a balance of its own."""

_NEEDED: Final = (
    *GROUP, "line", "date", "kind", "payment_id", "moved_cents", "flow_cents", "opening_cents", "closing_cents",
    "balance_cents",
)  # fmt: skip
_NOTICE: Final = "notice"
_BREAK: Final = 1 << 32  # a balance that does not follow counts for more than any number of dates


def order_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the columns of ROWS that balances need, by file, account and currency, in the order of the balance.

    That is the order of the lines, its reverse, or the order of the dates: the one with the fewest stated balances that
    do not follow from the one before, then with the fewest rows that are older than the one before. A row without
    account or currency has those of its file, if the file has only one. Four columns are added: ``position`` in the
    frame given; ``is_notice``; ``known_cents``, which is ``moved_cents`` with 0 for notices and for amounts that could
    not be read; and ``offset_cents``, the balance before the first row as each stated balance implies it.
    """
    import polars as pl

    known = pl.when("is_notice").then(0).otherwise(pl.col("moved_cents").fill_null(0)).alias("known_cents")
    by_line = (
        rows.select(_NEEDED)
        .with_row_index("position")
        .with_columns(
            (pl.col("kind") == _NOTICE).fill_null(value=False).alias("is_notice"),
            *(_fill_only(name) for name in GROUP[1:]),
        )
        .with_columns(known)
        .sort(*GROUP, "line", "position", nulls_last=True)
    )
    chosen = _choose_orders(by_line)
    return (
        by_line.join(chosen, on=GROUP, nulls_equal=True, how="left", maintain_order="left")
        .with_columns(
            pl.when("is_dated").then("date").alias("by_date"),
            pl.when("is_reversed").then(-pl.col("line")).otherwise("line").alias("by_line"),
        )
        .sort(*GROUP, "by_date", "by_line", "position", nulls_last=True)
        .with_columns((pl.col("balance_cents") - pl.col("known_cents").cum_sum().over(GROUP)).alias("offset_cents"))
        .drop("by_date", "by_line", "is_dated", "is_reversed")
    )


def _fill_only(name: str) -> pl.Expr:
    """Return a column with nulls filled by the value of the file, if it has only one."""
    import polars as pl

    only = pl.when(pl.col(name).drop_nulls().n_unique().over("file") == 1).then(pl.col(name).min().over("file"))
    return pl.coalesce(name, only)


def _choose_orders(by_line: pl.DataFrame) -> pl.DataFrame:
    """Return for each group whether its lines are reversed, and whether the dates are its order."""
    import polars as pl

    transactions = by_line.filter(~pl.col("is_notice"))
    orders = transactions.group_by(GROUP).agg(
        _count_contradictions().alias("forward"), _count_contradictions(is_reversed=True).alias("backward")
    )
    chosen = orders.with_columns(
        (pl.col("backward") < pl.col("forward")).alias("is_reversed"), pl.min_horizontal("forward", "backward")
    )
    mixed = transactions.join(chosen.filter(pl.col("forward") > 0), on=GROUP, nulls_equal=True)
    dated = (
        mixed.sort("date", pl.when("is_reversed").then(-pl.col("line")).otherwise("line"), nulls_last=True)
        .group_by(GROUP)
        .agg(_count_contradictions().alias("dated"))
    )
    is_dated = (pl.col("dated") < pl.col("forward")).fill_null(value=False).alias("is_dated")
    return chosen.join(dated, on=GROUP, nulls_equal=True, how="left").select(*GROUP, "is_reversed", is_dated)


def _count_contradictions(*, is_reversed: bool = False) -> pl.Expr:
    """Return how many stated balances do not follow from the one before, and how many rows are older than it."""
    import polars as pl

    columns = (pl.col(name) for name in ("known_cents", "balance_cents", "date"))
    moved, balance, date = (column.reverse() for column in columns) if is_reversed else columns
    offsets = (balance - moved.cum_sum()).drop_nulls()
    return (offsets.diff() != 0).sum().cast(pl.Int64) * _BREAK + (date.drop_nulls().diff() < pl.duration()).sum()
