"""Which file holds which payments, and what a merge changed. Works on tables only, without files."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.merge import FETCHED_AT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import date, datetime

    import numpy as np
    import pyarrow as pa

    from p2p_analytics.archive._manifest import Manifest

MOST_ROWS: Final = 18_000  # in one file: a change rewrites less than 2 % of a million rows, with few files
_USUAL_ROWS: Final = 16_000


def find_later(previous: Manifest, fetched_at: datetime, *, has_listed: bool) -> tuple[datetime, bool]:
    """Return the date of an archive's data after a merge, and whether the archive's own balance and friends are later.

    An archive of statements only is as recent as its last file; of one that was synced, all is known to the first date.

    Parameters
    ----------
    previous : Manifest
        The manifest before the merge.
    fetched_at : datetime
        The date of the history to merge.
    has_listed : bool
        Whether that history has payments that the service listed.
    """
    is_synced = not isinstance(previous.account_name, str) or any(entry.rows for entry in previous.payments)
    if not (is_synced or has_listed):
        return max(fetched_at, previous.fetched_at), fetched_at < previous.fetched_at
    return min(fetched_at, previous.fetched_at), fetched_at < previous.friends_at


def limit_fetched_at(rows: pa.Table, moment: datetime) -> pa.Table:
    """Return the rows with ``fetched_at`` before a moment; a wrong clock may have written later times."""
    import pyarrow as pa
    import pyarrow.compute as pc

    latest = pa.scalar(moment - timedelta(microseconds=1), rows.schema.field(FETCHED_AT).type)
    place = rows.column_names.index(FETCHED_AT)
    fetched = rows[FETCHED_AT]
    return rows.set_column(place, FETCHED_AT, pc.if_else(pc.greater(fetched, latest), latest, fetched))


def count_changes(old: pa.Table, new: pa.Table) -> tuple[int, int]:
    """Return the number of added payments, and the number of payments with another status."""
    import pyarrow.compute as pc

    def count(keys: tuple[Any, Any]) -> int:
        found: int = pc.sum(pc.invert(pc.is_in(keys[1], value_set=keys[0]))).as_py() or 0
        return found

    def states(rows: pa.Table) -> Any:  # noqa: ANN401 - an Arrow array
        return pc.binary_join_element_wise(rows["payment_id"], pc.fill_null(rows["status"], ""), "\n")

    added = count((old["payment_id"], new["payment_id"]))
    return added, count((states(old), states(new))) - added


def assign_files(rows: pa.Table, starts: Sequence[date | None]) -> np.ndarray[Any, Any]:
    """Return the index of the file for each row; rows without a date go into the first."""
    import numpy as np

    days = np.array(starts, dtype="datetime64[D]").view("int64")  # NaT, the start of the first, is smallest
    return np.searchsorted(days, _days(rows).view("int64"), side="right") - 1


def split_rows(rows: pa.Table, start: date | None) -> list[tuple[date | None, pa.Table]]:
    """Split the rows of one file into files of whole days and about ``_USUAL_ROWS`` rows, each with its start."""
    days = _days(rows)[::-1]
    parts = 1 if rows.num_rows <= MOST_ROWS else -(-rows.num_rows // _USUAL_ROWS)
    firsts = {days[len(days) * part // parts].item() for part in range(1, parts)}
    starts = [start, *sorted(firsts - {None, days[0].item()})] if firsts else [start]
    where = assign_files(rows, starts)
    return [(start, rows.filter(where == place)) for place, start in enumerate(starts)]


def _days(rows: pa.Table) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = rows["date_created"].to_numpy().astype("datetime64[D]")
    return found
