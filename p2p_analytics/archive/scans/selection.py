"""The part of an archive that a scan reads: columns, and a period of creation."""

from __future__ import annotations

import contextlib
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from p2p_analytics.archive._manifest import list_starts
from p2p_analytics.errors import ConfigurationError, describe_type
from p2p_analytics.times import as_instant, in_utc, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from datetime import date, datetime

    import narwhals.stable.v2 as nw

    from p2p_analytics.archive._manifest import Entry


class Period(NamedTuple):
    """The instants at which payments were created, from the first to before the second; None is no bound."""

    since: datetime | None
    before: datetime | None

    @property
    def is_all(self) -> bool:
        """Whether the period has no bound, so that payments without a date belong to it too."""
        return self.since is None and self.before is None

    def list_files(self, payments: Sequence[Entry]) -> list[Entry]:
        """Return the files, newest first, that can hold payments of the period. A file begins with a day of UTC."""
        starts: list[date | None] = [*list_starts(payments), None]
        found = []
        for entry, (start, end) in zip(payments, pairwise(starts), strict=True):
            is_later = start is not None and self.before is not None and as_instant(start) >= self.before
            is_earlier = end is not None and self.since is not None and as_instant(end) <= self.since
            if not is_later and not is_earlier:
                found.append(entry)
        return found[::-1]

    def filter_rows(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Return the rows of the period, by ``created_us``, of which files have statistics for every engine."""
        import narwhals.stable.v2 as nw

        created = nw.col("created_us")
        if self.since is not None:
            frame = frame.filter(created >= to_microseconds(self.since))
        if self.before is not None:
            frame = frame.filter(created < to_microseconds(self.before))
        return frame


def parse_period(since: datetime | date | str | None, before: datetime | date | str | None) -> Period:
    """Return the period between two bounds from the user.

    Raises
    ------
    ConfigurationError
        A bound is not an instant, or the period ends before it begins.
    """
    period = Period(_parse_bound("since", since), _parse_bound("before", before))
    if period.since is not None and period.before is not None and period.before < period.since:
        raise ConfigurationError(
            f"before={str(before)[:40]!r} is earlier than since={str(since)[:40]!r}: exchange them."
        )
    return period


def check_columns(columns: Iterable[str] | None, available: Collection[str]) -> list[str]:
    """Return the columns to read, all that there are for None.

    Raises
    ------
    ConfigurationError
        They are not names of different columns that there are.
    """
    if columns is None:
        return list(available)
    if isinstance(columns, str):
        raise ConfigurationError(f"columns is a list of names: write columns=[{columns[:40]!r}].")
    try:
        names = list(columns)
    except TypeError:
        raise ConfigurationError(f"columns is a list of names, not {describe_type(columns)}: name some.") from None
    if not names:
        raise ConfigurationError("columns is empty: name at least one, or leave it out to read all.")
    for place, name in enumerate(names):
        if not isinstance(name, str) or name not in available:
            near = get_close_matches(name, available, n=1) if isinstance(name, str) else []
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(available)}."
            raise ConfigurationError(f"columns: the archive has no {name!r}; {meant}")
        if name in names[:place]:
            raise ConfigurationError(f"columns names {name!r} twice: name it once.")
    return names


def _parse_bound(name: str, value: datetime | date | str | None) -> datetime | None:
    if value is None:
        return None
    with contextlib.suppress(ValueError, TypeError, OverflowError, AttributeError):
        return in_utc(as_instant(value))
    raise ConfigurationError(f"{name}: {str(value)[:40]!r} is no date or datetime like 2024-05-31T18:30:00Z.")
