"""Caveats of analyses, in words for people: what rows of statements lack that an analysis needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.display import format_count
from p2p_analytics.frames.schema import SOURCE_STATEMENT, select_payments
from p2p_analytics.vocabulary import Action, Audience, Status

if TYPE_CHECKING:
    from typing import Any

    import pandas as pd

_SETTLED: Final = ("settled request", "settled requests")
_PAYMENTS: Final = ("payment", "payments")
_DATED: Final = "have the date of the payment, not of the request"
_UNSEEN: Final = "do not say who can see them"
# What follows "12 settled requests are from statement files, which".
_CAVEATS: Final = {
    "request_outcomes": "do not say when they were made: how long these took is not known.",
    "time_to_settle": "do not say when they were made: how long these took is not known.",
    "split_bills": f"{_DATED}: bills that were paid at different times are missing, or shown in parts.",
    "recurring": f"{_DATED}: series of requests that were paid irregularly are missing.",
    "activity": f"{_DATED}: these count at the hour in which they were paid.",
    "unusual": f"{_DATED}: duplicates among them were paid at nearly the same time.",
    "exposure": f"{_UNSEEN}.",
    "sensitive_notes": f"{_UNSEEN}: their notes are not looked at.",
}
_OF_AUDIENCES: Final = frozenset({"exposure", "sensitive_notes"})


def describe_caveat(name: str, payments: pd.DataFrame) -> str:
    """Return a sentence about what the rows of statements among the payments lack that an analysis needs.

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
    if name not in _CAVEATS or "source" not in payments:
        return ""
    rows = select_payments(payments[payments["source"] == SOURCE_STATEMENT])
    if name in _OF_AUDIENCES:
        count, words = int((~_is_known(rows)).sum()), _PAYMENTS
    else:
        sides = ["in"] if name == "split_bills" else ["in", "out"]
        is_request = (rows["action"] == Action.CHARGE.value) & (rows["status"] == Status.SETTLED.value)
        count, words = int((is_request & rows["direction"].isin(sides)).sum()), _SETTLED
    if not count:
        return ""
    return f"{format_count(count, *words)} {'is' if count == 1 else 'are'} from statement files, which {_CAVEATS[name]}"


def lacks_audiences(name: str, payments: pd.DataFrame) -> bool:
    """Return whether an analysis is about audiences, there are payments, and the audience of none is known."""
    if name not in _OF_AUDIENCES:
        return False
    rows = select_payments(payments)
    return len(rows) > 0 and _is_known(rows).sum() == 0


def _is_known(payments: pd.DataFrame) -> pd.Series[Any]:
    return payments["audience"].isin([audience.value for audience in Audience])
