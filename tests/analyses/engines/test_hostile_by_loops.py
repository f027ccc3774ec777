"""Every analysis on every engine against plain loops: payments that break analyses, in the dtypes that users have."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from support.analyses.cases import CASES, compare, pick
from support.analyses.containers import ENGINES, LAYOUTS
from support.analyses.records import HOSTILE

if TYPE_CHECKING:
    from support.analyses.cases import Case
    from support.analyses.records import Record

ZONES = ("America/New_York", "Asia/Kathmandu", "Pacific/Apia", "Australia/Lord_Howe")
# A layout of its own for each frame; `make soak` tries all layouts with all frames.
CHOSEN = {
    "no rows": "as loaded",
    "one row": "categories",
    "one row of nothing": "as loaded",
    "nothing settled": "naive dates",
    "a mixture": "categories",
    "without ids": "another order",
    "notes": "large text",
    "huge amounts": "as loaded",
    "first years": "naive dates",
    "last years": "as loaded",
    "bursts": "dates of New York",
    "nothing but zeros": "nanoseconds",
    "names alike": "chunks",
    "euros of another kind": "as loaded",
}


@cache
def find_expected(name: str) -> list[tuple[Any, tuple[str, ...], list[Record] | None]]:
    """Return a case of each analysis with a zone and the rows by loops; each frame has other arguments."""
    number, records = list(HOSTILE).index(name), HOSTILE[name]()
    return [
        (case, arguments := (ZONES[number % len(ZONES)],) * case.has_zone, case.expect(records, *arguments))
        for case in pick(number)
    ]


# An eager frame of Polars is read as a lazy one.
@pytest.mark.parametrize(
    "engine", [pytest.param(each, marks=pytest.mark.all_frames) if each == "Polars" else each for each in ENGINES]
)
@pytest.mark.parametrize("name", list(CHOSEN))
def test_hostile(name: str, engine: str, record_property: Any) -> None:
    """Row for row and cent for cent, in the same order, whatever the frame holds, and in whatever dtypes."""
    layout = CHOSEN[name]
    runs = [each for each in find_expected(name) if is_comparable(each[0], layout)]
    compare(engine, ENGINES[engine](LAYOUTS[layout](HOSTILE[name]())), runs, record_property, ("hostile", "hostile"))


def is_comparable(case: Case, layout: str) -> bool:
    """Return whether a result does not depend on the order of the rows, or this is the order of the records."""
    return layout != "another order" or case.name != "categorise"


def is_readable(case: Case, name: str, layout: str) -> bool:
    """Return whether Python has the dates of a result: the year 1 begins in the year 0 in New York."""
    return (case.name, name, layout) != ("categorise", "first years", "dates of New York")


@pytest.mark.soak
@pytest.mark.parametrize("name", list(HOSTILE))
def test_every_layout(name: str, record_property: Any) -> None:
    """All arguments and layouts on all engines."""
    records = HOSTILE[name]()
    cases = [(case, (ZONES[0],) * case.has_zone) for case in CASES]
    expected = [(case, arguments, case.expect(records, *arguments)) for case, arguments in cases]
    for layout in LAYOUTS:
        if layout == "nanoseconds" and "years" in name:  # they cannot hold the years 1 and 9999
            continue
        for engine, convert in ENGINES.items():
            runs = [each for each in expected if is_comparable(each[0], layout) and is_readable(each[0], name, layout)]
            compare(engine, convert(LAYOUTS[layout](records)), runs, record_property, ("hostile", "hostile"))
