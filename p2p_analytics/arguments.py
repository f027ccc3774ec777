"""Checks of arguments that analyses, plots and pages share."""

from __future__ import annotations

import contextlib
import operator
import re
from datetime import timedelta
from typing import Final, SupportsIndex, cast

from p2p_analytics.errors import ConfigurationError

_DURATION: Final = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|h|d)", re.ASCII)
_UNITS: Final = {
    "s": timedelta(seconds=1), "min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1),
}  # fmt: skip


def check_top(top: SupportsIndex) -> int:
    """Return the maximum number of rows that are returned or drawn one by one.

    Raises
    ------
    ConfigurationError
        It is not a whole number from 1.
    """
    rows = read_whole_number(top)
    if rows is None or rows < 1:
        raise ConfigurationError(f"top={top!r} is not valid: give the number of rows, 1 or more.")
    return rows


def read_whole_number(value: object) -> int | None:
    """Return a whole number from the user, also one of a table, such as a numpy integer; None for another value."""
    with contextlib.suppress(TypeError):
        return None if isinstance(value, bool) else operator.index(cast("SupportsIndex", value))
    return None


def parse_duration(name: str, duration: timedelta | str) -> timedelta:
    """Return a duration from the user: a timedelta, or text like ``90s``, ``10min``, ``6h`` or ``2d``.

    Raises
    ------
    ConfigurationError
        It is neither, or negative.
    """
    if isinstance(duration, str) and (found := _DURATION.fullmatch(duration)):
        number, unit = found.groups()
        with contextlib.suppress(OverflowError):
            return float(number) * _UNITS[unit]
    if isinstance(duration, timedelta) and duration >= timedelta():
        return duration
    raise ConfigurationError(f"{name}={duration!r} is not a duration: give a timedelta, or text like '10min' or '6h'.")
