"""Caveats of analyses: the number of rows of statements that lack what an analysis needs, by hand."""

from __future__ import annotations

import pandas as pd
import pytest

from p2p_analytics.analyses.caveats import describe_caveat, lacks_audiences
from p2p_analytics.catalogue import ANALYSES

ROWS = pd.DataFrame(
    [
        ("statement", "payment", "charge", "settled", "in", None),
        ("statement", "payment", "charge", "settled", "out", None),
        ("statement", None, "charge", "settled", "out", "public"),
        ("statement", "payment", "charge", "settled", None, None),
        ("statement", "payment", "charge", "pending", "in", "everyone"),
        ("statement", "payment", "pay", "settled", "in", None),
        ("statement", "transfer", None, "settled", "in", None),
        ("api", "payment", "charge", "settled", "in", None),
        (None, "payment", "charge", "settled", "in", None),
    ],
    columns=["source", "kind", "action", "status", "direction", "audience"],
    dtype="str",
)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("split_bills", "1 settled request is from statement files, which have the date of the payment, not of the re"),
        ("unusual", "3 settled requests are from statement files, which have the date of the payment, not of the requ"),
        ("time_to_settle", "3 settled requests are from statement files, which do not say when they were made: how l"),
        ("request_outcomes", "3 settled requests are from statement files, which do not say when they were made"),
        ("activity", "3 settled requests are from statement files, which have the date of the payment, not of the re"),
        ("recurring", "3 settled requests are from statement files, which have the date of the payment, not of the r"),
        ("exposure", "5 payments are from statement files, which do not say who can see them."),
        ("sensitive_notes", "5 payments are from statement files, which do not say who can see them: their notes are"),
    ],
)
def test_rows_are_counted(name: str, words: str) -> None:
    """Settled requests between people count; for split bills those of the viewer; else payments without an audience."""
    assert describe_caveat(name, ROWS).startswith(words)
    assert describe_caveat(name, ROWS[7:]) == describe_caveat(name, ROWS.drop(columns="source")) == ""


def test_other_analyses_have_no_caveat() -> None:
    """They do not depend on the date of a request, or on audiences."""
    silent = [name for name in ANALYSES if not describe_caveat(name, ROWS)]
    assert silent == [
        "spend_by_friend", "categories", "spending_over_time", "monthly_flow", "people_by_year", "status_mix",
        "pending_ageing", "pending_requests",
    ]  # fmt: skip


def test_known_audiences() -> None:
    """An unknown word is no known audience, and neither is that of a transfer; without payments nothing is missing."""
    assert not lacks_audiences("exposure", ROWS)
    assert lacks_audiences("exposure", ROWS.drop(index=2))
    assert lacks_audiences("sensitive_notes", ROWS[5:7].assign(audience=[None, "public"]))
    assert not lacks_audiences("exposure", ROWS[6:7])
    assert not lacks_audiences("activity", ROWS.drop(index=2))
