"""The balance after each row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.statements._rows import slice_by_files
from p2p_analytics.statements.balances._order import GROUP, order_rows

if TYPE_CHECKING:
    import polars as pl

_SEGMENT = (GROUP, "segment")


def running_balance(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS with ``balance_cents``, the balance after each row, where it is known; the order is unchanged.

    A balance that the file states is kept. Other rows are counted on from the stated balance before them, from the
    opening balance of the file, or back from a later stated balance or the closing balance. The balance stays null
    for notices; where none of these is known without an unreadable amount in between; and in a file with opening and
    closing balances that do not agree with its rows.
    """
    import polars as pl

    opening = pl.col("opening_cents").drop_nulls().first().over(GROUP)
    closing = pl.col("closing_cents").drop_nulls().last().over(GROUP) - pl.col("total").last().over(GROUP)
    last = pl.col("segment").max().over(GROUP)
    contradicts = ((last == 0) & (opening != closing)).fill_null(value=False)
    stated = pl.col("offset_cents")
    before_first = pl.coalesce(
        stated.forward_fill().over(_SEGMENT),
        pl.when((pl.col("segment") == 0) & ~contradicts).then(opening),
        stated.backward_fill().over(_SEGMENT),
        pl.when((pl.col("segment") == last) & ~contradicts).then(closing),
    )
    ordered = (order_rows(part).rows for part in slice_by_files(rows))
    balances = [
        part.with_columns(
            # The rows from one unreadable amount to the next are a segment: no balance is known across it.
            (~pl.col("is_notice") & pl.col("moved_cents").is_null()).cum_sum().over(GROUP).alias("segment"),
            pl.col("known_cents").cum_sum().over(GROUP).alias("total"),
        )
        .select(
            "position",
            pl.when("is_notice").then("balance_cents").otherwise(before_first + pl.col("total")).alias("balance_cents"),
        )
        .sort("position")["balance_cents"]
        for part in ordered
    ]
    return rows.with_columns(pl.concat(balances))
