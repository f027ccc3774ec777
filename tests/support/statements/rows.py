"""Rows of invented statement files, as formats return them."""

from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from p2p_analytics.statements.rows import FileInfo, polars_schema

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
            "account": "nora-quill", "payment_id": f"{file}-{number}", "date": start + timedelta(days=number - 1),
            "kind": "payment", "flow_cents": row.get("moved_cents"),
        }  # fmt: skip
        rows.append(usual | row)
    rows.append({"kind": "notice", "closing_cents": closing})
    full = [{"file": file, "line": line, "currency": "USD"} | row | common for line, row in enumerate(rows, start=1)]
    return pl.DataFrame(full, schema=polars_schema())


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
        service = dict.fromkeys(("format", "service", "account_service"), "sample")
        infos.append(FileInfo(file=file, period_start=start, period_end=end, is_broken=file in broken, **service))
    return infos
