"""The order in which the rows of a file moved the balance, and the balance after each row.

Some files list the newest row first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import polars as pl

from p2p_analytics.statements.rows import slice_by_files

GROUP: Final = "group"
"""Number of the balance that a row belongs to: each file, account and currency has one of its own."""

_NAMES: Final = ("file", "account", "currency")
_NEEDED: Final = (
    *_NAMES, "line", "date", "kind", "payment_id", "moved_cents", "flow_cents", "opening_cents", "closing_cents",
    "balance_cents",
)  # fmt: skip
_SEGMENT: Final = (GROUP, "segment")
_LINE: Final = pl.when("is_reversed").then(-pl.col("line")).otherwise("line")
_BREAK: Final = 1 << 32  # a balance that does not follow counts for more than any number of dates


class OrderedRows(NamedTuple):
    """Rows by balance, each in the order in which they moved it.

    Attributes
    ----------
    rows : polars.DataFrame
        The columns of ROWS that balances need, and five more: ``group``; ``position`` in the frame given;
        ``is_notice``; ``known_cents``, which is ``moved_cents`` with 0 for notices and for amounts that could not be
        read; and ``offset_cents``, the balance before the first row as each stated balance implies it.
    names : polars.DataFrame
        ``file``, ``account`` and ``currency`` of each group, in the order of their numbers.
    """

    rows: pl.DataFrame
    names: pl.DataFrame


def order_rows(rows: pl.DataFrame) -> OrderedRows:
    """Return the rows of each balance in the order in which they moved it.

    That is the order of the lines, its reverse, or the order of the dates: the one with the fewest stated balances that
    do not follow from the one before, then with the fewest rows that are older than the one before. A row without
    account or currency has those of its file, if the file has only one.
    """
    groups, names = _number_groups(rows.select(_NAMES))
    is_notice = (pl.col("kind") == "notice").fill_null(value=False)
    known = pl.when(is_notice).then(0).otherwise(pl.col("moved_cents").fill_null(0))
    by_line = (
        rows.select(name for name in _NEEDED if name not in _NAMES)
        .with_columns(groups, is_notice.alias("is_notice"), known.alias("known_cents"))
        .with_row_index("position")
    )
    group, line = (pl.col(name).cast(pl.Int64).diff() for name in (GROUP, "line"))
    is_next = ((group > 0) | ((group == 0) & (line > 0))).fill_null(value=True)
    if not by_line.select(is_next.all()).item():
        by_line = by_line.sort(GROUP, "line", "position")
    orders = _choose_orders(by_line)
    ordered = by_line
    if not orders.is_empty():
        ordered = (
            by_line.join(orders, on=GROUP, how="left")
            .sort(GROUP, pl.when("is_dated").then("date"), _LINE, "position", nulls_last=True)
            .drop("is_dated", "is_reversed")
        )
    offset = pl.col("balance_cents") - pl.col("known_cents").cum_sum().over(GROUP)
    return OrderedRows(ordered.with_columns(offset.alias("offset_cents")), names)


def running_balance(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS with ``balance_cents``, the balance after each row, where it is known; the order is unchanged.

    A balance that the file states is kept. Other rows are counted on from the stated balance before them, from the
    opening balance of the file, or back from a later stated balance or the closing balance. The balance stays null
    for notices; where none of these is known without an unreadable amount in between; and in a file with opening and
    closing balances that do not agree with its rows.
    """
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
        for part in (order_rows(each).rows for each in slice_by_files(rows))
    ]
    return rows.with_columns(pl.concat(balances))


def _number_groups(keys: pl.DataFrame) -> tuple[pl.Series, pl.DataFrame]:
    """Return the number of each row's group, and the names of the groups in the order of their numbers.

    Rows of one file mostly follow each other, so this is worked out once for each run of rows with the same names.
    """
    runs = keys.select(pl.struct(_NAMES).rle_id().alias("run")).to_series()
    own = pl.col(_NAMES[1:])
    only = pl.when(own.drop_nulls().n_unique().over("file") == 1).then(own.min().over("file"))
    firsts = keys.filter(runs.diff().fill_null(1) != 0).with_columns(own.fill_null(only))
    names = firsts.unique().sort(_NAMES, nulls_last=True)
    numbers = firsts.join(names.with_row_index(GROUP), on=_NAMES, nulls_equal=True, how="left", maintain_order="left")
    return numbers[GROUP].gather(runs), names


def _choose_orders(by_line: pl.DataFrame) -> pl.DataFrame:
    """Return whether the lines are reversed, and whether the dates are the order, of groups not ordered by line."""
    transactions = by_line.filter(~pl.col("is_notice"))
    forward = transactions.group_by(GROUP).agg(_count_contradictions().alias("forward"))
    mixed = transactions.join(forward.filter(pl.col("forward") > 0), on=GROUP)
    if mixed.is_empty():
        return mixed.select(GROUP)
    before, backward = pl.col("forward").first(), _count_contradictions(is_reversed=True)
    chosen = mixed.group_by(GROUP).agg(
        (backward < before).alias("is_reversed"), pl.min_horizontal(before, backward).alias("fewest")
    )
    orders = (
        mixed.join(chosen, on=GROUP)
        .sort("date", _LINE, nulls_last=True)
        .group_by(GROUP)
        .agg(pl.col("is_reversed").first(), (_count_contradictions() < pl.col("fewest").first()).alias("is_dated"))
    )
    return orders.filter(pl.any_horizontal("is_reversed", "is_dated"))


def _count_contradictions(*, is_reversed: bool = False) -> pl.Expr:
    """Return how many stated balances do not follow from the one before, and how many rows are older than it."""
    columns = (pl.col(name) for name in ("known_cents", "balance_cents", "date"))
    moved, balance, date = (column.reverse() for column in columns) if is_reversed else columns
    offsets = (balance - moved.cum_sum()).drop_nulls()
    return (offsets.diff() != 0).sum().cast(pl.Int64) * _BREAK + (date.drop_nulls().diff() < pl.duration()).sum()
