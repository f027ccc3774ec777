"""What follows from the other rows of an account: the two sides of a transaction, and the kinds of refunds.

A file shows names, not who they are. What follows from the holder's name is worked out when all rows of an account are
known, and again when further ones are: the same rows have the same sides, whatever files they came with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.statements.ledger.unite import UNKNOWN
from p2p_analytics.statements.problems import UNDECIDED, list_problems
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Collection

    from p2p_analytics.statements.problems import Problem

_NAMED: Final = ("account", "counterparty_name")
_FLOW: Final = pl.col("flow_cents")
_HAS_SIGN: Final = (_FLOW != 0).fill_null(value=False)
# Names say who the counterparty is, and no id does.
_HAS_NAMES: Final = pl.any_horizontal(pl.col("from_name", "to_name").is_not_null()) & pl.all_horizontal(
    pl.col("counterparty_username", "counterparty_id").is_null()
)
# The actor of a payment sends the money, the actor of a charge receives it; null for other rows and without a sign.
_IS_ACTOR: Final = pl.when(_FLOW != 0).then((_FLOW > 0) == (pl.col("action") == Action.CHARGE.value))
_OWN_NAME: Final = pl.when(_IS_ACTOR).then("from_name").when(~_IS_ACTOR).then("to_name")
_OTHER_NAME: Final = pl.when(_IS_ACTOR).then("to_name").when(~_IS_ACTOR).then("from_name")
COUNTERPARTY: Final = pl.coalesce(
    "counterparty_name", _OTHER_NAME, pl.when(_FLOW < 0).then("to_name").otherwise("from_name"), "type"
).alias("name")
"""The counterparty, where it is not settled the name on the other side by the sign, else the type."""


def find_owners(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the name of the account holder by account or file: the columns ``key`` and ``owner``.

    The sign of an amount says on which side of a payment the holder is; the buyer of a purchase is on the first. The
    holder has the name that is most often on that side; if two are equally frequent, the account is left out.
    """
    best = _find_most_frequent(rows, key)
    return best.filter(pl.len().over("key") == 1).select("key", pl.col("own").alias("owner"))


def name_holders(rows: pl.DataFrame, others: Collection[str] = ()) -> dict[str, str]:
    """Return the name of the holder of each account: the most frequent one, of equal ones the first in the alphabet.

    The names are counted as by `find_owners`. An account is left out if none of its rows shows the holder's name.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS, one per transaction.
    others : collection of str
        Files that name another account, which count only in the absence of others.
    """
    is_own = ~pl.col("file").cast(pl.String).is_in(list(others)).fill_null(value=False)
    names: dict[str, str] = {}
    for part in [rows, rows.filter(is_own)] if others else [rows]:
        best = _find_most_frequent(part, "account").cast({"key": pl.String, "own": pl.String})
        names |= dict(best.group_by("key").agg(pl.col("own").min()).iter_rows())
    return names


def _find_most_frequent(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the most frequent names on the holder's side, by account or file: ``key``, ``own`` and ``count``."""
    is_purchase = pl.col("action").is_null() & (pl.col("kind") == "merchant") & (_FLOW < 0)
    own = pl.coalesce(_OWN_NAME, pl.when(is_purchase).then("from_name"))
    counts = rows.select(key=key, own=own).drop_nulls("own").group_by("key", "own").len("count")
    return counts.filter(pl.col("count") == pl.col("count").max().over("key"))


def blank_sides(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without what follows from the holder's name; `settle_sides` fills it in.

    Rows with a user id or username of the counterparty stay, and so do those with a counterparty that does not follow
    from their names.
    """
    name, first, second = (pl.col(each) for each in ("counterparty_name", "from_name", "to_name"))
    is_first = (name == first) & (second.is_not_null() | (_FLOW > 0))
    is_second = (name == second) & (first.is_not_null() | (_FLOW < 0))
    is_open = _HAS_NAMES & (name.is_null() | (is_first | is_second).fill_null(value=False))
    by_name = is_open & pl.col("action").is_not_null() & ~_HAS_SIGN
    return rows.with_columns(
        pl.when(~is_open).then(name).alias("counterparty_name"),
        pl.when(~by_name).then("direction").alias("direction"),
    )


def settle_sides(rows: pl.DataFrame, owners: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return rows with the counterparty, and the direction of amounts of zero, and problems for contradicting signs.

    Where the sign puts the holder on the other side, the direction follows the sign, and the counterparty is the other
    name. An amount of zero has the direction of the names.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS as `blank_sides` returns them; other counterparties and directions stay.
    owners : polars.DataFrame
        As `find_owners` returns them by account.
    """
    is_open = _HAS_NAMES & pl.col("counterparty_name").is_null()
    found = rows.select(
        "from_name",
        "to_name",
        "action",
        "flow_cents",
        is_open.alias("is_open"),
        _OWN_NAME.alias("own"),
        _OTHER_NAME.alias("other"),
        key="account",
    ).join(owners, on="key", how="left", maintain_order="left")
    own, other, owner = (pl.col(name) for name in ("own", "other", "owner"))
    contradicts = pl.col("is_open") & (own != owner) & (other == owner)
    is_from, is_to = (pl.col(side) == owner for side in ("from_name", "to_name"))
    is_first = pl.when(is_from).then(statement=True).when(is_to).then(statement=False)
    sends = pl.coalesce(is_first, pl.when(_FLOW != 0).then(_FLOW < 0))
    by_side = pl.when(sends).then("to_name").when(~sends).then("from_name")
    name = pl.coalesce(pl.when(contradicts).then(own), other, by_side)
    is_in = is_first == (pl.col("action") == Action.CHARGE.value)
    direction = pl.when(is_in).then(pl.lit("in")).when(~is_in).then(pl.lit("out"))
    sides = found.select(
        pl.when("is_open").then(name).alias("name"),
        pl.when(pl.col("is_open") & ~_HAS_SIGN).then(direction).alias("direction"),
        contradicts.alias("contradicts"),
    )
    dtype = rows["direction"].dtype
    settled = rows.with_columns(
        pl.coalesce("counterparty_name", sides["name"]).alias("counterparty_name"),
        pl.coalesce("direction", sides["direction"].cast(dtype)).alias("direction"),
    )
    problems = list_problems(rows, sides["contradicts"], rows["flow_cents"], field="total", code="wrong_side")
    return settled, problems


def fill_refunds(rows: pl.DataFrame, payments: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the kind and action of each refund; the kind is unknown if it is not decided.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS; the kind of a refund is null.
    payments : polars.DataFrame
        One row per payment. A refund has the kind of the other payments with its counterparty, if they have one kind;
        refunds among them that are decided change nothing.
    """
    places = rows["kind"].is_null().arg_true()
    if places.is_empty():
        return rows
    kind = pl.col("kind").cast(pl.String)
    others = payments.filter(kind.is_in([KIND_PAYMENT, "merchant"]), pl.col("counterparty_name").is_not_null())
    seen = others.group_by(_NAMED).agg(kind.unique().alias("decided")).filter(pl.col("decided").list.len() == 1)
    decided = seen.with_columns(pl.col("decided").list.first())
    refunds = rows.select(_NAMED)[places].join(decided, on=_NAMED, how="left", maintain_order="left")
    kinds = refunds["decided"].fill_null(UNKNOWN)
    actions = pl.select(pl.when(kinds == KIND_PAYMENT).then(pl.lit(Action.PAY.value))).to_series()
    return rows.with_columns(
        rows[name].cast(pl.String).scatter(places, values).cast(rows[name].dtype)
        for name, values in (("kind", kinds), ("action", actions))
    )


def list_undecided(rows: pl.DataFrame, filled: pl.DataFrame) -> list[Problem]:
    """Return a problem for each refund of an unknown kind, of the rows before and after the kinds were filled."""
    is_undecided = rows["kind"].is_null() & (filled["kind"] == UNKNOWN)
    return list_problems(rows, is_undecided, rows["counterparty_name"], field="kind", code=UNDECIDED)
