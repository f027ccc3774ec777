"""The data that an archive holds already, from which a sync starts."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final

from p2p_analytics.archive._manifest import Entry, Manifest, list_starts
from p2p_analytics.history import Baseline, MissingPeriod

if TYPE_CHECKING:
    from collections.abc import Sequence

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.records import Me

_FRIENDS_VALID: Final = timedelta(days=1)


def build_baseline(  # noqa: PLR0913 - the old state, the user, and the kind of sync
    folder: ArchiveFolder,
    manifest: Manifest | None,
    broken: Sequence[Entry],
    me: Me,
    *,
    refresh: bool,
    start: datetime | None,
) -> Baseline:
    """Return what an incremental load need not request again: payments, and friends if they are recent."""
    pending = frozenset(name for entry in manifest.payments for name in entry.pending) if manifest else frozenset()
    if manifest is None:
        return Baseline(pending=pending, refresh=refresh, start=start)
    starts = [*list_starts(manifest.payments), None]
    missing = tuple(
        MissingPeriod(_midnight(starts[place]), _midnight(starts[place + 1]), entry.rows)
        for place, entry in enumerate(manifest.payments)
        if entry in broken
    )
    if refresh:
        return Baseline(pending=pending, missing=missing, refresh=True)
    everything = any(entry in broken for entry in manifest.small.values())
    if manifest.synced_to is not None:
        if manifest.since is None or (start is not None and start >= manifest.since):
            start = manifest.since  # the archive reaches back as far already
        else:
            everything = True
    stay = (
        not everything
        and manifest.synced_to is not None
        and timedelta(0) <= datetime.now(UTC) - manifest.friends_at < _FRIENDS_VALID
        and manifest.friends.rows == me.user.friends_count
    )
    return Baseline(
        since=manifest.synced_to,
        pending=pending,
        missing=missing,
        friends=folder.read_frame(manifest.friends) if stay else None,
        everything=everything,
        start=start,
    )


def _midnight(day: date | None) -> datetime | None:
    if day is None or day == date.min:  # the first file has no start
        return None
    return datetime.combine(day, time(), UTC)
