"""The values of a payment that count, of all rows with its id: one rule, for files in one call and in several imports.

A state that is final precedes a pending one; then a date with seconds precedes one without, as a spreadsheet writes it;
then the row of the file with the later last date; then the later name of the file; then the earlier line. Money has an
order of its own: first the row of a file that adds up, last that of a file that does not. A null replaces no value.

Each value is the first known one in an order of the rows that depends on the rows alone. So it does not matter in which
order or in which groups the rows are united, if `needed` rows stay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.statements._cells import list_problems
from p2p_analytics.times import EPOCH
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import pandas as pd
    import polars as pl

    from p2p_analytics.statements._format import Problem

NOTICE: Final = "notice"
UNKNOWN: Final = "unknown"
KEY: Final = ("account", "payment_id")
# The file that a row is from: the last date in it, and whether its balances agree with its rows; null if not known.
END: Final = "file_end"
ADDS_UP: Final = "adds_up"
ROW: Final = "row"  # number of the row that the caller may give, by which equal rows are ordered
_PLACE: Final = ("file", "line", END, ADDS_UP, ROW)
_KIND: Final = ("kind", "action")  # of one row; null is a refund, which other rows decide
_MONEY: Final = ("fee_cents", "tip_cents", "tax_cents", "balance_cents", "currency")
_TEXTS: Final = (
    "type", "note", "from_name", "to_name", "counterparty_name", "counterparty_username", "counterparty_id",
    "funding_source", "destination",
)  # fmt: skip
# Rows that differ in one of these are never united into one: they are a change of state, or contradict each other.
_CLASS: Final = (*KEY, "status", *_KIND, "flow_cents", "direction", "currency", "minute")
_ORDER: Final = "order"  # begins the names of the columns by which rows are ordered
_AMOUNT: Final = "another row of this payment has another amount, and is the one that is kept"
_DATE: Final = "another row of this payment has another date, and is the one that is kept"


class United(NamedTuple):
    """Rows of payments.

    Attributes
    ----------
    standing : polars.DataFrame
        One row per payment, of the values that count.
    needed : polars.DataFrame
        The rows that these values come from, and rows that contradict them, of payments with several of these.
    problems : list of Problem
        Rows that contradict another one, which is named.
    """

    standing: pl.DataFrame
    needed: pl.DataFrame
    problems: list[Problem]


def find_ends(rows: pl.DataFrame) -> dict[str, datetime | None]:
    """Return the last date of each file of ROWS."""
    import polars as pl

    ends = rows.group_by("file").agg(pl.col("date").max()).cast({"file": pl.String})
    return dict(ends.iter_rows())


def describe_files(
    places: pl.DataFrame, ends: Mapping[str, datetime | None], reconciliation: pd.DataFrame
) -> pl.DataFrame:
    """Return `END` and `ADDS_UP` of rows.

    Parameters
    ----------
    places : polars.DataFrame
        The columns ``file``, ``account`` and ``currency`` of the rows.
    ends : mapping of str to datetime or None
        The last date of each file.
    reconciliation : DataFrame
        As `reconcile` returns it; the columns may be missing.
    """
    import polars as pl

    names = ["file", "account", "currency"]
    table = reconciliation.reindex(columns=[*names, "reconciled"])
    checks = pl.DataFrame(
        [
            pl.Series(name, table[name].astype(object).where(table[name].notna(), None).tolist(), pl.String)
            for name in names
        ]
    ).with_columns(
        pl.Series(
            ADDS_UP, table["reconciled"].astype(object).where(table["reconciled"].notna(), None).tolist(), pl.Boolean
        )
    )
    only = checks.group_by("file").agg(pl.len(), pl.col(ADDS_UP).first().alias("only")).filter(pl.col("len") == 1)
    last = pl.DataFrame(
        {"file": list(ends), END: list(ends.values())},
        schema={"file": pl.String, END: pl.Datetime("us", "UTC")},
    )
    keys = places.select(pl.col(name).cast(pl.String) for name in names)
    found = (
        keys.join(last, on="file", how="left", maintain_order="left")
        .join(checks, on=names, how="left", nulls_equal=True, maintain_order="left")
        .join(only, on="file", how="left", maintain_order="left")
    )
    return found.select(END, pl.coalesce(ADDS_UP, "only").alias(ADDS_UP))


def unite_rows(rows: pl.DataFrame) -> United:
    """Return the values that count of rows with `END` and `ADDS_UP`, and of payments with several, the rows needed.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS, of which some columns may be missing, with `END` and `ADDS_UP`, and perhaps `ROW`.
    """
    import polars as pl

    if ROW in rows.columns:  # files that an archive holds already
        rows = rows.unique([name for name in rows.columns if name != ROW], keep="first", maintain_order=True)
    ranked = _rank(rows)
    values = [name for name in rows.columns if name not in _PLACE or name == ADDS_UP]
    is_only = pl.len().over(KEY) == 1
    distinct = _sort(ranked).unique([*values], keep="first", maintain_order=True).with_row_index("place")
    needed = _select_needed(distinct.filter(~is_only))
    standing = pl.concat([distinct.filter(is_only), needed.filter(is_only)]).select(rows.columns)
    needed = needed.filter(~is_only)
    if needed.is_empty():
        return United(standing, needed.select(rows.columns), [])
    united = _choose_values(needed, rows.columns)
    return United(pl.concat([standing, united]), needed.select(rows.columns), _list_contradictions(needed))


def _rank(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the columns by which they are ordered and classed."""
    import polars as pl

    us = pl.col("date").dt.epoch("us")
    second, minute = 1_000_000, 60_000_000
    day = 24 * 60 * minute
    is_final = (pl.col("status").cast(pl.String) != Status.PENDING.value).fill_null(value=False)
    is_settled = (pl.col("status").cast(pl.String) == Status.SETTLED.value).fill_null(value=False)
    precision = (us % minute >= second).cast(pl.Int8) + (us % day != 0).cast(pl.Int8)
    trust = pl.when(pl.col(ADDS_UP) & is_settled).then(2).when(~pl.col(ADDS_UP)).then(0).otherwise(1)
    return rows.with_columns(
        (us // minute).alias("minute"),
        is_final.alias(f"{_ORDER}_final"),
        precision.alias(f"{_ORDER}_precision"),
        pl.col("file").cast(pl.String).str.replace(r"^.*/", "").alias(f"{_ORDER}_name"),
        pl.col("flow_cents").is_not_null().alias(f"{_ORDER}_known"),
        trust.alias(f"{_ORDER}_trust"),
        # Whole units look rounded, unless the file adds up.
        ((pl.col("flow_cents") % 100 != 0) | (trust == 2)).alias(f"{_ORDER}_cents"),  # noqa: PLR2004
    )


def _sort(ranked: pl.DataFrame, *, by_money: bool = False) -> pl.DataFrame:
    """Return rows by payment, and in the order of their values or of their money."""
    import polars as pl

    of_money = ["known", "trust"] if by_money else []
    named = [f"{_ORDER}_{name}" for name in (*of_money, "final", *(["cents"] if by_money else []), "precision")]
    keys: list[str | pl.Expr] = [*KEY, *named, END, f"{_ORDER}_name", "line"]
    descending = [False] * len(KEY) + [True] * (len(named) + 2) + [False]
    if ranked.select(pl.struct(*KEY, END, f"{_ORDER}_name", "line").is_duplicated().any()).item():
        # Files of one name, which differ in their content only.
        content = [name for name in (*_CLASS, *_TEXTS, *_MONEY, "date", "file") if name not in KEY]
        keys += [pl.col(name).cast(pl.String) if ranked[name].dtype == pl.Categorical else name for name in content]
        descending += [True] * len(content)
    if ROW in ranked.columns:
        keys.append(ROW)
        descending.append(False)
    return ranked.sort(keys, descending=descending, nulls_last=True)


def _select_needed(ordered: pl.DataFrame) -> pl.DataFrame:
    """Return the first row of each class in both orders, and rows with the first known value of a column."""
    import polars as pl

    def find_first(rows: pl.DataFrame, names: Sequence[str]) -> pl.Series:
        is_known = {name: pl.col(name).is_not_null() for name in names}
        first = pl.int_range(pl.len()).over(_CLASS) == 0
        firsts = [known & (known.cum_sum().over(_CLASS) == 1) for known in is_known.values()]
        return rows.filter(pl.any_horizontal(first, *firsts))["place"]

    own = {*_CLASS, *_PLACE, "place"}
    others = [name for name in ordered.columns if name not in own and not name.startswith(_ORDER)]
    places = {*find_first(ordered, others).to_list(), *find_first(_sort(ordered, by_money=True), _MONEY).to_list()}
    return ordered.filter(pl.col("place").is_in(places))


def _choose_values(needed: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return one row per payment with the values that count."""
    import polars as pl

    is_known = (pl.col("kind").cast(pl.String) != UNKNOWN).fill_null(value=True).cast(pl.Int8)
    by_money = _sort(needed, by_money=True)
    is_kept = pl.col("flow_cents").eq_missing(pl.col("flow_cents").first())
    own: dict[str, pl.Expr] = {name: pl.col(name).first() for name in _PLACE if name in columns}
    own |= {name: pl.col(name).get(is_known.arg_max()) for name in _KIND}
    money = {name: pl.col(name).drop_nulls().first() for name in _MONEY} | {
        "flow_cents": pl.col("flow_cents").first(),
        "direction": pl.col("direction").filter(is_kept).drop_nulls().first(),
    }
    others = {name: pl.col(name).drop_nulls().first() for name in columns if name not in {*KEY, *own, *money}}
    described = needed.group_by(KEY, maintain_order=True).agg(**own, **others)
    paid = by_money.group_by(KEY, maintain_order=True).agg(**money)
    return pl.concat([described, paid.drop(KEY)], how="horizontal").select(columns)


def _list_contradictions(needed: pl.DataFrame) -> list[Problem]:
    """Return a problem for each further amount or date of a payment, which names the row that counts."""
    import polars as pl

    def find(rows: pl.DataFrame, value: str) -> tuple[pl.DataFrame, pl.Series]:
        firsts = [pl.col(name).first().over(KEY).alias(f"first_{name}") for name in (value, "file", "line", ADDS_UP)]
        others = rows.with_columns(firsts).filter(pl.col(value) != pl.col(f"first_{value}"))
        others = others.unique([*KEY, value], keep="first", maintain_order=True)
        # A row that is not from a file has no place.
        place = pl.format(": line {} of '{}'", "first_line", pl.col("first_file").cast(pl.String)).fill_null("")
        return others, others.select(place).to_series()

    by_money = _sort(needed, by_money=True).filter(pl.col("flow_cents").is_not_null())
    amounts, places = find(by_money, "flow_cents")
    trusted = (pl.col("first_adds_up") & ~pl.col(ADDS_UP)).fill_null(value=False)
    reason = amounts.select(pl.when(trusted).then(pl.lit(", a file that adds up")).otherwise(pl.lit(""))).to_series()
    problems = list_problems(
        amounts, amounts["flow_cents"].is_not_null(), amounts["flow_cents"],
        field="flow_cents", problem=_AMOUNT + places + reason,
    )  # fmt: skip
    # A pending payment has another date than the completed one, and rows of no file have that of the service.
    dated = needed.filter(pl.col(f"{_ORDER}_final"), pl.col(END) > EPOCH, pl.col("minute").is_not_null())
    dates, places = find(dated, "minute")
    return problems + list_problems(
        dates, dates["date"].is_not_null(), dates["date"], field="date", problem=_DATE + places
    )
