"""The values of a payment that count, of all rows with its id, and the order of payments.

A state that is final precedes a pending one; then a date with seconds precedes one without, as a spreadsheet writes it;
then the row of the file with the later last date; then the later name of the file; then the earlier line. Money has an
separate order: first the row of a file that adds up, last the row of a file that does not. A null replaces no value.

Each value is the first known one in an order of the rows that depends on the rows alone, so it does not matter in which
order the files are read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.problems import list_problems
from p2p_analytics.statements.rows import LABEL
from p2p_analytics.times import DAY_US, EPOCH
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from p2p_analytics.statements.ledger.continuity import Balance
    from p2p_analytics.statements.problems import Problem

NOTICE: Final = "notice"
UNKNOWN: Final = "unknown"
KEY: Final = ("account", "payment_id")
# The file that a row is from: the last date in it, and whether its balances agree with its rows; null if not known.
END: Final = "file_end"
ADDS_UP: Final = "adds_up"
_PLACE: Final = ("file", "line", END, ADDS_UP)
_KIND: Final = ("kind", "action")  # of one row; null is a refund, which other rows decide
_MONEY: Final = ("fee_cents", "tip_cents", "tax_cents", "balance_cents", "currency")
_TEXTS: Final = (
    "type", "note", "from_name", "to_name", "counterparty_name", "counterparty_username", "counterparty_id",
    "funding_source", "destination",
)  # fmt: skip
_STATE: Final = ("status", *_KIND, "flow_cents", "direction", "currency", "minute")
_CONTENT: Final = (*_STATE, *_TEXTS, *_MONEY, "date", "file")
_ORDER: Final = "order"  # begins the names of the columns by which rows are ordered


def describe_files(rows: pl.DataFrame, every: pl.DataFrame, balances: Iterable[Balance]) -> pl.DataFrame:
    """Return rows with `END` and `ADDS_UP`.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS to describe.
    every : polars.DataFrame
        ROWS of all files; the end of a file is its last date.
    balances : iterable of Balance
        Of `reconcile`; a row without currency has the balance of its file, if there is only one.
    """
    names = ["file", "account", "currency"]
    stated = pl.DataFrame(
        [(each.file, each.account, each.currency, each.is_reconciled) for each in balances],
        schema={**dict.fromkeys(names, pl.String), "reconciled": pl.Boolean},
        orient="row",
    )
    only = stated.group_by("file").agg(pl.len(), pl.col("reconciled").first().alias("only")).filter(pl.col("len") == 1)
    last = every.group_by("file").agg(pl.col("date").max().alias(END)).cast({"file": pl.String})
    found = (
        rows.select(pl.col(names).cast(pl.String))
        .join(last, on="file", how="left", maintain_order="left")
        .join(stated, on=names, how="left", nulls_equal=True, maintain_order="left")
        .join(only, on="file", how="left", maintain_order="left")
    )
    return rows.with_columns(found.select(END, pl.coalesce("reconciled", "only").alias(ADDS_UP)))


def unite_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return one row per payment with the values that count, and the rows that contradict another one as problems.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of payments with several, with `END` and `ADDS_UP`.
    """
    values = [name for name in rows.columns if name not in _PLACE or name == ADDS_UP]
    distinct = _sort(_rank(rows)).unique(values, keep="first", maintain_order=True)
    return _choose_values(distinct, rows.columns), _list_contradictions(distinct)


def _rank(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the columns by which they are ordered and classed."""
    us = pl.col("date").dt.epoch("us")
    minute = 60_000_000
    is_final = (pl.col("status").cast(pl.String) != Status.PENDING.value).fill_null(value=False)
    is_settled = pl.col("status").cast(pl.String) == Status.SETTLED.value
    precision = (us % minute >= minute // 60).cast(pl.Int8) + (us % DAY_US != 0).cast(pl.Int8)
    trust = pl.when(pl.col(ADDS_UP) & is_settled).then(2).when(~pl.col(ADDS_UP)).then(0).otherwise(1)
    return rows.with_columns(
        (us // minute).alias("minute"),
        is_final.alias(f"{_ORDER}_final"),
        precision.alias(f"{_ORDER}_precision"),
        pl.col("file").cast(pl.String).str.replace_all(LABEL, "").alias(f"{_ORDER}_name"),
        pl.col("flow_cents").is_not_null().alias(f"{_ORDER}_known"),
        trust.alias(f"{_ORDER}_trust"),
        # Whole units look rounded, unless the file adds up.
        ((pl.col("flow_cents") % 100 != 0) | (trust == 2)).alias(f"{_ORDER}_cents"),  # noqa: PLR2004
    )


def _sort(ranked: pl.DataFrame, *, by_money: bool = False) -> pl.DataFrame:
    """Return rows by payment, and in the order of their values or of their money."""
    order = ("known", "trust", "final", "cents", "precision") if by_money else ("final", "precision")
    named = [f"{_ORDER}_{name}" for name in order]
    keys: list[str | pl.Expr] = [*KEY, *named, END, f"{_ORDER}_name", "line"]
    descending = [False] * len(KEY) + [True] * (len(named) + 2) + [False]
    if ranked.select(pl.struct(*KEY, END, f"{_ORDER}_name", "line").is_duplicated().any()).item():
        # Files of one name, which differ in their content only.
        keys += [pl.col(name).cast(pl.String) if ranked[name].dtype == pl.Categorical else name for name in _CONTENT]
        descending += [True] * len(_CONTENT)
    return ranked.sort(keys, descending=descending, nulls_last=True)


def _choose_values(distinct: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return one row per payment with the values that count."""
    is_known = (pl.col("kind").cast(pl.String) != UNKNOWN).fill_null(value=True).cast(pl.Int8)
    by_money = _sort(distinct, by_money=True)
    is_kept = pl.col("flow_cents").eq_missing(pl.col("flow_cents").first())
    own: dict[str, pl.Expr] = {name: pl.col(name).first() for name in _PLACE if name in columns}
    own |= {name: pl.col(name).get(is_known.arg_max()) for name in _KIND}
    money = {name: pl.col(name).drop_nulls().first() for name in _MONEY} | {
        "flow_cents": pl.col("flow_cents").first(),
        "direction": pl.col("direction").filter(is_kept).drop_nulls().first(),
    }
    others = {name: pl.col(name).drop_nulls().first() for name in columns if name not in {*KEY, *own, *money}}
    described = distinct.group_by(KEY, maintain_order=True).agg(**own, **others)
    paid = by_money.group_by(KEY, maintain_order=True).agg(**money)
    return pl.concat([described, paid.drop(KEY)], how="horizontal").select(columns)


def _list_contradictions(distinct: pl.DataFrame) -> list[Problem]:
    """Return a problem for each further amount or date of a payment, which names the row that counts."""
    by_money = _sort(distinct, by_money=True).filter(pl.col("flow_cents").is_not_null())
    # A pending payment has another date than the completed one, and rows of no file have the date of the service.
    dated = distinct.filter(pl.col(f"{_ORDER}_final"), pl.col(END) > EPOCH, pl.col("minute").is_not_null())
    problems = []
    for rows, value, column, code in (
        (by_money, "flow_cents", "flow_cents", "other_amount"),
        (dated, "minute", "date", "other_date"),
    ):
        kept = [pl.col(name).first().over(KEY).alias(f"kept_{name}") for name in (value, "file", "line", ADDS_UP)]
        others = rows.with_columns(kept).filter(pl.col(value) != pl.col(f"kept_{value}"))
        others = others.unique([*KEY, value], keep="first", maintain_order=True)
        is_trusted = others.select((pl.col(f"kept_{ADDS_UP}") & ~pl.col(ADDS_UP)).fill_null(value=False)).to_series()
        problems += list_problems(
            others,
            others[column].is_not_null(),
            others[column],
            field=column,
            code=code,
            details=(others["kept_line"], is_trusted if column == "flow_cents" else False),
            other_file=others["kept_file"].cast(pl.String),
        )
    return problems


def sort_newest_first(rows: pl.DataFrame) -> pl.Series:
    """Return the positions of the transactions, by date, id and account.

    Only rows with one date are compared by more than the date: comparing all takes several times the memory.
    """
    places = rows.select((pl.col("kind") != NOTICE).fill_null(value=True).arg_true()).to_series()
    dates = rows["date"].gather(places)
    order = dates.arg_sort(descending=True, nulls_last=True)
    dates = dates.gather(order)
    order = places.gather(order)
    is_same = dates.eq_missing(dates.shift(1)) & (pl.int_range(len(dates), eager=True) > 0)
    if not is_same.any():
        return order
    tied = (is_same | is_same.shift(-1, fill_value=False)).arg_true()
    same = rows.select("date", "payment_id", "account", place=pl.int_range(pl.len(), dtype=pl.UInt32))[
        order.gather(tied)
    ]
    keys = ["date", pl.col("payment_id").str.len_bytes(), "payment_id", "account"]
    by_all = same.sort(keys, descending=[True, True, True, False], nulls_last=True, maintain_order=True)
    return order.scatter(tied, by_all["place"])
