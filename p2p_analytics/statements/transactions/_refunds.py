"""The kind of refunds: of a payment between people or of a purchase, as the other rows of the counterparty say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.statements._cells import list_problems
from p2p_analytics.statements.transactions._unite import UNKNOWN
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    import polars as pl

    from p2p_analytics.statements._format import Problem

_MERCHANT: Final = "merchant"
_NAMED: Final = ("account", "counterparty_name")
UNDECIDED: Final = "no other row says whether this refund comes from a person or a merchant"


def fill_refunds(rows: pl.DataFrame, payments: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the kind and action of each refund; the kind is unknown if it is not decided.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS; the kind of a refund is null.
    payments : polars.DataFrame
        One row per payment, which decide; refunds among them that are decided change nothing.
    """
    import polars as pl

    places = rows["kind"].is_null().arg_true()
    if places.is_empty():
        return rows
    refunds = rows.select(_NAMED)[places]
    kinds = refunds.join(_decide_refunds(payments), on=_NAMED, how="left", maintain_order="left")["decided"].fill_null(
        UNKNOWN
    )
    actions = pl.select(pl.when(kinds == KIND_PAYMENT).then(pl.lit(Action.PAY.value))).to_series()
    return rows.with_columns(
        rows[name].cast(pl.String).scatter(places, values).cast(rows[name].dtype)
        for name, values in (("kind", kinds), ("action", actions))
    )


def list_undecided(rows: pl.DataFrame, filled: pl.DataFrame) -> list[Problem]:
    """Return a problem for each refund of an unknown kind, of the rows before and after the kinds were filled."""
    is_undecided = rows["kind"].is_null() & (filled["kind"] == UNKNOWN)
    return list_problems(rows, is_undecided, rows["counterparty_name"], field="kind", problem=UNDECIDED)


def _decide_refunds(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the kind of refunds by account and counterparty, where the other rows are of one kind: ``decided``."""
    import polars as pl

    kinds = pl.col("kind").cast(pl.String)
    others = rows.filter(kinds.is_in([KIND_PAYMENT, _MERCHANT]), pl.col("counterparty_name").is_not_null())
    seen = others.group_by(_NAMED).agg(kinds.unique().alias("decided"))
    return seen.filter(pl.col("decided").list.len() == 1).with_columns(pl.col("decided").list.first())
