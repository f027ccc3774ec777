"""Comparison of an archive with the service's list. Works on tables only, without files."""

from __future__ import annotations

import contextlib
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics import records
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of
from p2p_analytics.frames.build import payments_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import datetime

    from p2p_analytics.client import Client
    from p2p_analytics.privacy import Mask
    from p2p_analytics.records import Me, Payments, Problem

_KEY: Final = "payment_id"
# Fields of the payment itself; names of its people change independently.
COMPARED: Final = (_KEY, "status", "action", "amount_cents", "note", "date_created", "date_completed")


def list_payments(
    client: Client, me: Me, on_progress: Callable[[int, int], object], mask: Mask | None, *, since: datetime | None
) -> pd.DataFrame:
    """Return the compared columns of payments, listed once without the cache; raise a RecordError without an id."""

    def iterate_payments() -> Iterator[Payments]:
        after = None if since is None else since - timedelta(seconds=1)  # the service's bounds are exclusive
        with contextlib.closing(client.history_pages(after=after, refresh=True, progress=on_progress)) as pages:
            for page in pages:
                yield page.items

    def require_ids(found: Sequence[Problem]) -> None:
        nameless = [problem for problem in found if problem.record_id is None]
        records.raise_unreadable(nameless if mask is None else mask.problems(nameless))

    listed = payments_frame(iterate_payments(), str(me.user.id), require_ids)[[*COMPARED]]
    return listed if since is None else listed[listed["date_created"] >= since].reset_index(drop=True)


def limit_to(archived: pa.Table, since: datetime | None) -> pa.Table:
    """Return the rows of payments made since a date; without one, all rows."""
    return archived if since is None else archived.filter(pc.greater_equal(archived["date_created"], since))


def find_differences(archived: Sequence[pa.Table], listed: pd.DataFrame) -> pd.DataFrame:
    """Return one row per payment that differs, as `Archive.verify` describes it."""
    held = frame_of(pa.concat_tables(archived))
    both = held.merge(listed, on=_KEY, how="outer", suffixes=("", "_listed"), indicator="side")
    shared = both["side"] == "both"
    differ = pd.DataFrame({name: shared & ~_is_equal(both[name], both[f"{name}_listed"]) for name in COMPARED[1:]})
    differs = ~shared | differ.any(axis="columns")
    found, differ = both[differs], differ[differs]
    kinds = {"left_only": "extra", "right_only": "missing", "both": "changed"}
    created = found["date_created_listed"].fillna(found["date_created"])
    fields = [", ".join(differ.columns[row]) or None for row in differ.to_numpy()]
    named = pd.DataFrame(
        {
            "month": created.dt.strftime("%Y-%m").astype(schema.TEXT),
            _KEY: found[_KEY],
            "difference": found["side"].astype(schema.TEXT).map(kinds).astype(schema.TEXT),
            "fields": pd.Series(fields, index=found.index, dtype=schema.TEXT),
            "created": created,
        }
    )
    return named.sort_values(["created", _KEY], ascending=False, ignore_index=True).drop(columns="created")


def _is_equal(one: pd.Series[Any], other: pd.Series[Any]) -> pd.Series[bool]:
    """Return, for each row, whether two columns hold the same value or both a null."""
    return one.eq(other).fillna(value=False).astype(bool) | (one.isna() & other.isna())
