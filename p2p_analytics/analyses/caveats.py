"""Caveats of analyses, as sentences: information that an analysis needs and statements lack."""

from __future__ import annotations

from typing import Any

import pandas as pd

from p2p_analytics.catalogue import ANALYSES, AUDIENCES
from p2p_analytics.display import format_count
from p2p_analytics.frames.schema import SOURCE_STATEMENT, select_payments
from p2p_analytics.vocabulary import Action, Audience, Status


def describe_caveat(name: str, payments: pd.DataFrame) -> str:
    """Return a sentence about information that an analysis needs and rows of statements lack.

    Parameters
    ----------
    name : str
        The analysis.
    payments : DataFrame
        PAYMENTS.

    Returns
    -------
    str
        With the number of these rows; empty if there are none, or if they do not matter to the analysis.
    """
    analysis = ANALYSES.get(name)
    if analysis is None or not analysis.caveat or "source" not in payments:
        return ""
    rows = select_payments(payments[payments["source"] == SOURCE_STATEMENT])
    if AUDIENCES in analysis.reads:
        count, nouns = int((~_is_known(rows)).sum()), ("payment", "payments")
    else:
        sides = ["in"] if name == "split_bills" else ["in", "out"]
        is_request = (rows["action"] == Action.CHARGE.value) & (rows["status"] == Status.SETTLED.value)
        count, nouns = int((is_request & rows["direction"].isin(sides)).sum()), ("settled request", "settled requests")
    if not count:
        return ""
    verb = "is" if count == 1 else "are"
    return f"{format_count(count, *nouns)} {verb} from statement files, which {analysis.caveat}"


def lacks_audiences(name: str, payments: pd.DataFrame) -> bool:
    """Return whether an analysis is about audiences and there are payments, but none with a known audience."""
    if AUDIENCES not in ANALYSES[name].reads:
        return False
    rows = select_payments(payments)
    return len(rows) > 0 and _is_known(rows).sum() == 0


def _is_known(payments: pd.DataFrame) -> pd.Series[Any]:
    return payments["audience"].isin([audience.value for audience in Audience])
