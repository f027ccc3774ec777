"""Computed columns, and what the kinds that divide show of them."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import pyarrow as pa

from p2p_analytics.analyses import _engine

DAY: Final = 24 * 60 * 60 * 10**6  # microseconds
KINDS: Final = {
    "same": _engine.WHOLE.of('the "cents"'),
    "units": _engine.units('the "cents"'),
    "half": _engine.units('the "cents"', times=2),
    "days": _engine.days("time"),
    "whole": _engine.whole_days("time"),
}
# Quotients of which a product with the inverse, or a division of rounded numbers, is another one.
CENTS: Final = [*range(-300, 1000, 7), 5879, 10**15 + 1, 2**53 - 1, -(2**53) + 1]
TIMES: Final = [
    0, 1, -1, DAY - 1, DAY, -DAY, -DAY - 1, 3 * DAY // 7, 73_000 * DAY - 1, 73_000 * DAY, 2**53 - 1, 10**7 * DAY - 1,
]  # fmt: skip


def make_table() -> pa.Table:
    """Return the computed columns, with nulls."""
    times = [None, *TIMES, *(0 for _ in CENTS[len(TIMES) :])]
    return pa.table({'the "cents"': pa.array([None, *CENTS], "int64"), "time": pa.array(times, "int64")})


def list_expected() -> list[dict[str, float | None]]:
    """Return the rows of the result: quotients of whole numbers, rounded once."""
    rows: list[dict[str, float | None]] = [dict.fromkeys(KINDS)]
    for cents, time in zip(CENTS, [*TIMES, *(0 for _ in CENTS[len(TIMES) :])], strict=True):
        row = {"same": cents, "units": float(Fraction(cents, 100)), "half": float(Fraction(cents, 200))}
        rows.append({**row, "days": float(Fraction(time, DAY)), "whole": time // DAY})
    return rows
