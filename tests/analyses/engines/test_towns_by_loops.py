"""Every analysis on every engine against plain loops: the payments of three towns, in four zones."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pytest

from support.analyses.cases import compare, pick
from support.analyses.containers import ENGINES, make_table
from support.analyses.records import make_town

if TYPE_CHECKING:
    from support.analyses.records import Record

SEEDS = (3, 5, 11)
ZONES = ("UTC", "America/New_York", "Asia/Kathmandu", "Pacific/Apia")


@cache
def find_expected(seed: int) -> list[tuple[Any, tuple[str, ...], list[Record] | None]]:
    """Return the cases of a seed with their zone and the rows by loops; each zone has other arguments."""
    records, number = make_town(seed), SEEDS.index(seed) * len(ZONES)
    runs = [(case, ()) for case in pick(number) if not case.has_zone]
    runs += [(case, (zone,)) for at, zone in enumerate(ZONES, number) for case in pick(at) if case.has_zone]
    return [(case, arguments, case.expect(records, *arguments)) for case, arguments in runs]


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("seed", [SEEDS[0], *(pytest.param(seed, marks=pytest.mark.all_frames) for seed in SEEDS[1:])])
def test_towns(seed: int, engine: str, record_property: Any) -> None:
    """Row for row and cent for cent, in the same order."""
    frame = ENGINES[engine](make_table(make_town(seed), {}))
    compare(engine, frame, find_expected(seed), record_property, ("seeds", "zones"))
