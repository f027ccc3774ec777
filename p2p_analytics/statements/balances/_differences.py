"""Files that do not add up, as problems, and the problems that further files replace."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import format_money
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP
from p2p_analytics.money import to_units
from p2p_analytics.statements._format import Problem

if TYPE_CHECKING:
    import pandas as pd

_DIFFERENCE: Final = re.compile(r"(\S+), (\S+), (\d{4}-\d\d-\d\d) to (\d{4}-\d\d-\d\d): ", re.ASCII)


def list_differences(reconciliation: pd.DataFrame, files: pd.DataFrame) -> list[Problem]:
    """Return a problem for each file, account and currency of which the balances and the rows do not add up.

    The value names the format, the currency and the period, by which `find_mended` knows the file again.
    """
    from pandas import isna

    formats = dict(zip(files["file"], files["format"], strict=True))
    problems = []
    for row in reconciliation[(~reconciliation["reconciled"]).fillna(value=False)].to_dict("records"):
        code = row["currency"] if isinstance(row["currency"], str) else None
        days = [f"{row[name]:%Y-%m-%d}" for name in ("period_start", "period_end") if not isna(row[name])]
        found = "amounts cannot be read"
        if not isna(row["difference_cents"]):
            found = f"differ by {format_money(to_units(int(row['difference_cents'])), currency=code)}"
        if isinstance(row["suggestion"], str):
            found += f", which {row['suggestion']} would explain"
        value = f"{formats[row['file']]}, {code or UNKNOWN_CURRENCY}, {' to '.join(days) or 'no dates'}: {found}"
        problems.append(Problem(row["file"], 0, None, "balance", value, DOES_NOT_ADD_UP))
    return problems


def find_mended(problems: pd.DataFrame, reconciliation: pd.DataFrame, files: pd.DataFrame) -> pd.Series[bool]:
    """Return which problems of `list_differences` are of files that further files replace.

    These are of the same format and currency, and add up for the whole period, or are about exactly this period.
    """
    import pandas as pd

    is_open = problems["problem"] == DOES_NOT_ADD_UP
    if not is_open.any():
        return is_open
    formats = dict(zip(files["file"], files["format"], strict=True))
    known = reconciliation.dropna(subset=["reconciled", "period_start", "period_end"])
    checks = [
        (
            (formats[row["file"]], row["currency"] if isinstance(row["currency"], str) else UNKNOWN_CURRENCY),
            f"{row['period_start']:%Y-%m-%d}",
            f"{row['period_end']:%Y-%m-%d}",
            bool(row["reconciled"]),
        )
        for row in known.to_dict("records")
    ]

    def is_mended(problem: object, value: object) -> bool:
        found = _DIFFERENCE.match(str(value)) if problem == DOES_NOT_ADD_UP else None
        if found is None:
            return False
        name, code, first, last = found.groups()
        return any(
            key == (name, code) and ((start <= first and last <= end) if adds_up else (start, end) == (first, last))
            for key, start, end, adds_up in checks
        )

    pairs = zip(problems["problem"], problems["value"], strict=True)
    return pd.Series([is_mended(*pair) for pair in pairs], index=problems.index, dtype=bool)
