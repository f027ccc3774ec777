"""Ids that a spreadsheet rounded: the file is refused, because each payment would get a wrong id."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.errors import StatementError
from p2p_analytics.statements.problems import list_problems

if TYPE_CHECKING:
    from p2p_analytics.statements.problems import Problem

# A spreadsheet keeps 15 digits of a number, and a binary float is exact up to 16.
_KEPT: Final = 15
_FEW: Final = 3  # ids that are floats by chance: one of 256 or more
_REWRITTEN: Final = (  # 3.18E+18, 3180000000000000000.0, 3,180,000,000,000,000,000, and ##### of a narrow column
    r"^[0-9]+(?:[.,][0-9]+)?[Ee][+]?[0-9]+$|^[0-9]{15,}[.,]0+$|^[0-9]{1,3}(?:[,. '\u00a0\u202f][0-9]{3}){5,}$|^##+$"
)
_RARE: Final = 100  # long ids, of which one may end in zeros by chance
_CHANCE: Final = 1 / 300  # less, and the zeros are no accident: one id of 18 digits, or two of 17


def check_ids(rows: pl.DataFrame) -> list[Problem]:
    """Return a problem for each file with ids that a spreadsheet may have rounded, too few of them to be sure.

    One id of 17 digits in a hundred ends in two zeros, so it may be the true id of a file with one payment.

    Parameters
    ----------
    rows : polars.DataFrame
        ``file``, ``line`` and ``id`` of transactions.

    Raises
    ------
    StatementError
        Ids are numbers in scientific notation, or were rounded by a spreadsheet or a float.
    """
    rows = rows.filter(pl.col("id").is_not_null())
    text = pl.col("id")
    is_long = text.str.contains(r"^[1-9][0-9]{16,18}$")
    others = rows.filter(~is_long)
    _refuse(others.filter(text.str.contains(_REWRITTEN)))
    long = (rows if others.is_empty() else rows.filter(is_long)).with_columns(number=text.cast(pl.Int64, strict=False))
    if long.is_empty():
        return []
    has_zeros = text.str.contains("^[0-9]{15}0+$")
    is_float = pl.col("number") == pl.col("number").cast(pl.Float64).cast(pl.Int64, strict=False)
    counts = long.group_by("file", maintain_order=True).agg(
        line=pl.col("line").min(),
        count=pl.len(),
        zeros=has_zeros.sum(),
        expected=pl.lit(10.0).pow(_KEPT - text.str.len_bytes().cast(pl.Int64)).sum(),
        floats=is_float.sum(),
        id=text.filter(has_zeros | is_float).first(),
    )
    many_zeros = (pl.col("zeros") == pl.col("count")) | (
        (pl.col("zeros") > 1) & (pl.col("zeros") * _RARE > pl.col("count"))
    )
    all_floats = (pl.col("floats") == pl.col("count")) & (pl.col("count") >= _FEW)
    # An upper bound of the chance of this count, for a Poisson distribution (Chernoff).
    is_accident = pl.col("zeros") * (1 + (pl.col("expected") / pl.col("zeros")).log()) > math.log(_CHANCE)
    _refuse(counts.filter((many_zeros & ~is_accident) | all_floats))
    doubtful = counts.filter(pl.col("zeros") == pl.col("count")).with_columns(pl.col("id").alias("payment_id"))
    return list_problems(doubtful, doubtful["id"].is_not_null(), doubtful["id"], field="id", code="rounded_id")


def _refuse(rows: pl.DataFrame) -> None:
    if rows.is_empty():
        return
    file, line, text = rows.select("file", "line", "id").row(0)
    raise StatementError(
        f"{file}, line {line}: the id {text} was rounded by a spreadsheet or another program, and cannot be restored: "
        "download the file again and do not save it with one, or leave it out if it is a copy."
    )
