"""Rows of invented statement files, as formats return them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import polars as pl

from p2p_analytics.statements.rows import FileInfo

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

ROW_TYPES = {
    "file": pl.String,
    "line": pl.Int64,
    "account": pl.String,
    "payment_id": pl.String,
    "date": pl.Datetime("us", "UTC"),
    "kind": pl.String,
    "flow_cents": pl.Int64,
    "currency": pl.String,
    "moved_cents": pl.Int64,
    "opening_cents": pl.Int64,
    "closing_cents": pl.Int64,
    "balance_cents": pl.Int64,
    "type": pl.String,
    "action": pl.String,
    "from_name": pl.String,
    "to_name": pl.String,
    "counterparty_name": pl.String,
}
"""The columns of ROWS that balances need."""

Row = dict[str, Any]


def make_file(
    file: str,
    moved: Sequence[int | Row | None],
    *,
    opening: int | None = None,
    closing: int | None = None,
    start: datetime = datetime(2024, 1, 1, tzinfo=UTC),
    **common: Any,
) -> pl.DataFrame:
    """Return the rows of a file: an opening notice, one payment a day with the cents that it moved, a closing notice.

    An item of ``moved`` can also be a dict of columns. Payments are called ``<file>-1``, ``<file>-2`` and so on.
    """
    rows: list[Row] = [{"kind": "notice", "opening_cents": opening}]
    for number, each in enumerate(moved, start=1):
        row = each if isinstance(each, dict) else {"moved_cents": each}
        usual = {
            "account": "nora-quill",
            "payment_id": f"{file}-{number}",
            "date": start + timedelta(days=number - 1),
            "kind": "payment",
            "flow_cents": row.get("moved_cents"),
        }
        rows.append(usual | row)
    rows.append({"kind": "notice", "closing_cents": closing})
    full = [{"file": file, "line": line, "currency": "USD"} | row | common for line, row in enumerate(rows, start=1)]
    return pl.DataFrame(full, schema=ROW_TYPES)


def describe_files(
    rows: pl.DataFrame,
    *,
    periods: Mapping[str, tuple[datetime, datetime]] | None = None,
    broken: Collection[str] = (),
) -> list[FileInfo]:
    """Return a FileInfo per file of ROWS, all of one format, perhaps with a stated period."""
    infos = []
    for file in rows["file"].cast(pl.String).unique(maintain_order=True):
        start, end = (periods or {}).get(file, (None, None))
        infos.append(
            FileInfo(
                file=file,
                format="sample",
                service="sample",
                account_service="sample",
                period_start=start,
                period_end=end,
                is_broken=file in broken,
            )
        )
    return infos
