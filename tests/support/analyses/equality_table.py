"""The table analyses x engines at the end of a test run: how many tables equal those of plain loops."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

PROPERTY = "equality"
GROUPS = ("seeds", "zones", "hostile")


def describe_equality(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each analysis; a cell has for each engine the equal and all tables of each group."""
    equal: Counter[tuple[str, ...]] = Counter()
    total: Counter[tuple[str, ...]] = Counter()
    names: dict[str, None] = {}
    engines: dict[str, None] = {}
    for report in reports:
        for name, cells in report.user_properties:
            if name != PROPERTY:
                continue
            for analysis, engine, group, is_equal in cells:
                names[analysis] = engines[engine] = None
                equal[analysis, engine, group] += is_equal
                total[analysis, engine, group] += 1
    if not total:
        return []

    def count(analysis: str, engine: str) -> str:
        parts = [(equal[key], total[key]) for group in GROUPS if total[key := (analysis, engine, group)]]
        return " ".join(f"{right}/{every}" for right, every in parts)

    widths = {engine: max(len(engine), *(len(count(name, engine)) for name in names)) for engine in engines}
    first = max(map(len, names))
    lines = [f"{'':{first}}  " + "  ".join(f"{engine:{width}}" for engine, width in widths.items())]
    lines += [
        f"{name:{first}}  " + "  ".join(f"{count(name, engine):{width}}" for engine, width in widths.items())
        for name in names
    ]
    lines = [line.rstrip() for line in lines]
    return [
        *lines,
        f"{equal.total()} of {total.total()} tables equal those of plain loops (towns, zones, hostile frames)",
    ]
