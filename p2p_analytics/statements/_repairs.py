"""Problems that another file has repaired: it has the amount or the date that could not be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

_CELLS: Final = {"flow_cents": "is not an amount", "date": "is not a date"}  # how the problems of a column begin
_OTHERS: Final = ("tip", "tax", "fee", "balance")  # fields of money that are not the amount


def find_repaired(
    problems: Sequence[tuple[str | None, str, str]], versions: pl.DataFrame, standing: pl.DataFrame
) -> list[bool]:
    """Return, for each problem, whether it is an unreadable amount or date that the payment has from another row.

    Parameters
    ----------
    problems : sequence of tuple of str
        The payment_id, field and description of each.
    versions, standing : polars.DataFrame
        ``payment_id``, ``flow_cents`` and ``date`` of all rows, and of the values that count.
    """
    columns = [_find_column(field, problem) if identifier else None for identifier, field, problem in problems]
    wanted = [str(each[0]) for each, column in zip(problems, columns, strict=True) if column]
    if not wanted:
        return [False] * len(problems)
    filled = {name: _find_filled(name, wanted, versions, standing) for name in _CELLS}
    return [bool(name) and each[0] in filled[str(name)] for each, name in zip(problems, columns, strict=True)]


def _find_column(field: str, problem: str) -> str | None:
    """Return the column that a problem left empty; None for other problems."""
    if any(word in field for word in _OTHERS):
        return None
    return next((name for name, beginning in _CELLS.items() if problem.startswith(beginning)), None)


def _find_filled(name: str, ids: Sequence[str], versions: pl.DataFrame, standing: pl.DataFrame) -> set[Any]:
    """Return the ids of payments that have a value, of which some row has none."""
    import polars as pl

    is_wanted = pl.col("payment_id").is_in(ids)
    empty = versions.filter(pl.col(name).is_null() & is_wanted)["payment_id"]
    return set(standing.filter(pl.col(name).is_not_null() & pl.col("payment_id").is_in(empty.implode()))["payment_id"])
