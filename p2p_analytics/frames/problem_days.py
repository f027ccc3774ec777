"""Days of statement files that do not add up or follow a gap, as the values of these problems name them."""

from __future__ import annotations

import re
from datetime import date
from typing import Final, NamedTuple

from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, FOLLOWS_A_GAP

_DAY: Final = r"\d{4}-\d\d-\d\d"
# A name of a file can hold anything, so the days of a gap are the last ones.
_PATTERNS: Final = {
    DOES_NOT_ADD_UP: re.compile(
        rf"(?P<format>[^,]*), (?P<currency>[^,]*), (?P<start>{_DAY})(?: to (?P<end>{_DAY}))?: (?P<found>.*)",
        re.ASCII | re.DOTALL,
    ),
    FOLLOWS_A_GAP: re.compile(rf"after .*, (?P<start>{_DAY}) to (?P<end>{_DAY}): (?P<found>.*)", re.ASCII | re.DOTALL),
}


class ProblemDays(NamedTuple):
    """The first and last day of a problem, the words after them and, of a file that does not add up, what it is of."""

    start: date
    end: date
    found: str
    format: str | None = None
    currency: str | None = None


def parse_days(problem: object, value: object) -> ProblemDays | None:
    """Return the days that a problem of a statement file is about.

    None for other problems, and where the value does not name days, as in privacy mode.
    """
    pattern = _PATTERNS.get(problem) if isinstance(problem, str) else None
    match = pattern.fullmatch(value) if pattern and isinstance(value, str) else None
    if match is None:
        return None
    words = match.groupdict()
    try:
        start, end = (date.fromisoformat(day) for day in (words["start"], words["end"] or words["start"]))
    except ValueError:  # such as the 99th of a month
        return None
    return ProblemDays(start, end, words["found"], words.get("format"), words.get("currency"))
