"""Ids that a spreadsheet rounded: the file is refused, because each payment would get a wrong id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import StatementError

if TYPE_CHECKING:
    import polars as pl

# A spreadsheet keeps 15 digits of a number, and a binary float is exact up to 16.
_FEW: Final = 3  # ids that are floats by chance: one of 256 or more
_REWRITTEN: Final = (  # 3.18E+18, 3180000000000000000.0, 3,180,000,000,000,000,000, and ##### of a narrow column
    r"^[0-9]+(?:[.,][0-9]+)?[Ee][+]?[0-9]+$|^[0-9]{15,}[.,]0+$|^[0-9]{1,3}(?:[,. '\u00a0\u202f][0-9]{3}){5,}$|^##+$"
)
_RARE: Final = 100  # long ids, of which one may end in zeros by chance


def require_whole_ids(rows: pl.DataFrame) -> None:
    """Raise a StatementError if ids are numbers in scientific notation, or rounded by a spreadsheet or a float.

    Parameters
    ----------
    rows : polars.DataFrame
        ``file``, ``line`` and ``id`` of transactions.
    """
    import polars as pl

    rows = rows.filter(pl.col("id").is_not_null())
    text = pl.col("id")
    is_long = text.str.contains(r"^[1-9][0-9]{16,18}$")
    others = rows.filter(~is_long)
    _refuse(others.filter(text.str.contains(_REWRITTEN)))
    long = (rows if others.is_empty() else rows.filter(is_long)).with_columns(number=text.cast(pl.Int64, strict=False))
    if long.is_empty():
        return
    has_zeros = text.str.contains("^[0-9]{15}0+$")
    is_float = pl.col("number") == pl.col("number").cast(pl.Float64).cast(pl.Int64, strict=False)
    counts = long.group_by("file", maintain_order=True).agg(
        line=pl.col("line").min(),
        count=pl.len(),
        zeros=has_zeros.sum(),
        floats=is_float.sum(),
        id=text.filter(has_zeros | is_float).first(),
    )
    many_zeros = (pl.col("zeros") == pl.col("count")) | (
        (pl.col("zeros") > 1) & (pl.col("zeros") * _RARE > pl.col("count"))
    )
    all_floats = (pl.col("floats") == pl.col("count")) & (pl.col("count") >= _FEW)
    _refuse(counts.filter(many_zeros | all_floats))


def _refuse(rows: pl.DataFrame) -> None:
    if rows.is_empty():
        return
    file, line, text = rows.select("file", "line", "id").row(0)
    raise StatementError(
        f"{file}, line {line}: the id {text} was rounded by a spreadsheet or another program, and cannot be restored: "
        "download the file again and do not save it with one."
    )
