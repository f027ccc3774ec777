"""One row for each payment of several files, and the order of payments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.statements._cells import list_problems
from p2p_analytics.statements.holders import find_owners, settle_sides
from p2p_analytics.statements.transactions._copies import list_copies
from p2p_analytics.statements.transactions._ids import join_ids
from p2p_analytics.statements.transactions._refunds import fill_refunds, list_undecided
from p2p_analytics.statements.transactions._unite import KEY, NOTICE, describe_files, find_ends, unite_rows

if TYPE_CHECKING:
    from datetime import datetime

    import pandas as pd
    import polars as pl

    from p2p_analytics.statements._format import Problem

_ACCOUNT: Final = "account"
_REPEATED: Final = "the id is repeated in this file, and counted once"


class Standing(NamedTuple):
    """Transactions of several files.

    Attributes
    ----------
    every : polars.DataFrame
        All ROWS, with the kinds of refunds.
    rows : polars.DataFrame
        The same with one row for each transaction of an account.
    needed : polars.DataFrame
        The rows that decide about a transaction when further files are known: the `United.needed` ones, and refunds,
        of which the kind is null.
    owners : dict
        The name of the holder of each account, where its rows show it.
    ends : dict
        The last date of each file.
    problems : list of Problem
        Rows that contradict each other or themselves, repeated ids, and refunds of an unknown kind.
    """

    every: pl.DataFrame
    rows: pl.DataFrame
    needed: pl.DataFrame
    owners: dict[str, str]
    ends: dict[str, datetime | None]
    problems: list[Problem]


class Settled(NamedTuple):
    """Transactions with what follows from all of them together.

    Attributes
    ----------
    rows : polars.DataFrame
        The transactions, with their sides and the kinds of refunds.
    owners : polars.DataFrame
        As `find_owners` returns them.
    problems : list of Problem
        Signs that contradict the sides, and refunds of an unknown kind.
    """

    rows: pl.DataFrame
    owners: pl.DataFrame
    problems: list[Problem]


def settle_rows(standing: pl.DataFrame) -> Settled:
    """Return one row per transaction with what follows from the others: the sides, and the kinds of refunds."""
    owners = find_owners(standing, _ACCOUNT)
    sided, problems = settle_sides(standing, owners, _ACCOUNT)
    filled = fill_refunds(sided, sided)
    return Settled(filled, owners, problems + list_undecided(sided, filled))


def find_standing(rows: pl.DataFrame, reconciliation: pd.DataFrame) -> Standing:
    """Return the rows that stand, of ROWS with ids, accounts and balances."""
    import polars as pl

    ends = find_ends(rows)

    def describe(part: pl.DataFrame) -> pl.DataFrame:
        return pl.concat([part, describe_files(part, ends, reconciliation)], how="horizontal")

    standing, problems, needed = rows, [], describe(rows.clear())
    is_repeated = _find_repeated(rows)
    if is_repeated is not None:
        repeated = rows.filter(is_repeated)
        problems = _list_repeated(repeated)
        united = unite_rows(describe(repeated))
        standing = pl.concat([rows.filter(~is_repeated), united.standing.select(rows.columns)])
        needed, problems = united.needed, united.problems + problems
    refunds = standing.filter(pl.col("kind").is_null())
    settled = settle_rows(standing)
    every = settled.rows
    if standing is not rows:
        sided, _ = settle_sides(rows, settled.owners, _ACCOUNT)
        every = fill_refunds(sided, settled.rows)
    needed = pl.concat([needed, describe(refunds).join(needed, on=KEY, how="anti", nulls_equal=True)])
    needed, _ = settle_sides(needed, settled.owners, _ACCOUNT)
    problems += settled.problems + list_copies(settled.rows, needed)
    owners = dict(settled.owners.cast(pl.String).iter_rows())
    return Standing(every, settled.rows, needed, owners, ends, problems)


def _find_repeated(rows: pl.DataFrame) -> pl.Series | None:
    """Return which rows are of a transaction with several; None if there are none."""
    import polars as pl

    hashes = rows["payment_id"].drop_nulls().hash().sort()  # takes little time and memory
    if not (hashes == hashes.shift()).any():
        return None
    is_other = (pl.col("kind") != NOTICE).fill_null(value=True)
    return rows.select(pl.struct(KEY).is_duplicated() & is_other).to_series()


def _list_repeated(repeated: pl.DataFrame) -> list[Problem]:
    """Return a problem for each further row of an id in one file, with the id that the file gives."""
    import polars as pl

    further = repeated.filter(pl.struct("file", *KEY).is_duplicated()).sort("line")
    further, _ = join_ids(further.filter(~pl.struct("file", *KEY).is_first_distinct()))
    return list_problems(
        further, further["payment_id"].is_not_null(), further["payment_id"], field="payment_id", problem=_REPEATED
    )


def sort_newest_first(rows: pl.DataFrame) -> pl.Series:
    """Return the positions of the transactions, by date, id and account.

    Only rows with one date are compared by more than the date: comparing all takes several times the memory.
    """
    import polars as pl

    places = rows.select((pl.col("kind") != NOTICE).fill_null(value=True).arg_true()).to_series()
    dates = rows["date"].gather(places)
    order = dates.arg_sort(descending=True, nulls_last=True)
    dates = dates.gather(order)
    order = places.gather(order)
    is_same = dates.eq_missing(dates.shift(1)) & (pl.int_range(len(dates), eager=True) > 0)
    tied = (is_same | is_same.shift(-1, fill_value=False)).arg_true()
    keys = rows.select("date", "payment_id", "account")[order.gather(tied)]
    by_all = keys.select(
        pl.arg_sort_by(
            "date",
            pl.col("payment_id").str.len_bytes(),
            "payment_id",
            "account",
            descending=[True, True, True, False],
            nulls_last=True,
        )
    ).to_series()
    return order.scatter(tied, order.gather(tied).gather(by_all))
