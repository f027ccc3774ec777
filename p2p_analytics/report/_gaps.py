"""Gaps between statement files, and files that do not add up, as far as they are about the days of a page."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.frames.problem_days import parse_days
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, FOLLOWS_A_GAP

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

_OF_FILES: Final = (DOES_NOT_ADD_UP, FOLLOWS_A_GAP)
_BETWEEN_PERIODS: Final = re.compile(r"[\d,]+ days? (?:is|are) in no file", re.ASCII)
_ONE_DAY: Final = timedelta(days=1)


class Span(NamedTuple):
    """The first and the last day of a problem."""

    start: date
    end: date


def select_overlapping(problems: pd.DataFrame, first: datetime, after: datetime) -> pd.DataFrame:
    """Return problems without those of statement files that are about other days than a period, or later ones.

    Problems of files that do not say their days are kept.
    """
    import numpy as np

    is_wanted = [span is None or _overlaps(span, first, after) for span in _find_spans(problems)]
    return problems[np.array(is_wanted, dtype=bool)].reset_index(drop=True)


def list_gaps(problems: pd.DataFrame, format_day: Callable[[datetime], str]) -> list[str]:
    """Return the days of each gap between statement files as text, each once."""
    gaps = problems[problems["problem"] == FOLLOWS_A_GAP]
    return [*dict.fromkeys(_describe(span, format_day) for span in _find_spans(gaps))]


def are_rows_missing(problems: pd.DataFrame) -> bool:
    """Return whether a statement file does not add up, or follows a gap."""
    return bool(problems["problem"].isin(_OF_FILES).any())


def _find_spans(problems: pd.DataFrame) -> list[Span | None]:
    return [_find_span(*row) for row in problems[["problem", "value"]].itertuples(index=False, name=None)]


def _find_span(problem: object, value: object) -> Span | None:
    """Return the days that a problem is about; None if it does not say, as in privacy mode."""
    days = parse_days(problem, value)
    if days is None:
        return None
    if problem == FOLLOWS_A_GAP and _BETWEEN_PERIODS.match(days.found):  # both days are in the files
        return Span(days.start + _ONE_DAY, days.end - _ONE_DAY)
    return Span(days.start, days.end)


def _overlaps(span: Span, first: datetime, after: datetime) -> bool:
    start, end = (datetime.combine(day, time.min, UTC) for day in (span.start, span.end + _ONE_DAY))
    return start < after and first < end


def _describe(span: Span | None, format_day: Callable[[datetime], str]) -> str:
    if span is None:
        return "days that are not known"
    days = dict.fromkeys(format_day(datetime.combine(day, time(12), UTC)) for day in span)
    return " to ".join(days)
