"""Analyses of payments: each takes a PAYMENTS frame and returns a small table of the same kind of frame.

They are pure functions: they change no input, read no clock and draw nothing. They accept pandas and
Polars frames, including lazy ones.
"""

from __future__ import annotations

from p2p_analytics.analyses._parts.rules import default_rules
from p2p_analytics.analyses.bills import split_bills
from p2p_analytics.analyses.category import categories, categorise
from p2p_analytics.analyses.flow import monthly_flow
from p2p_analytics.analyses.hours import activity
from p2p_analytics.analyses.outliers import unusual
from p2p_analytics.analyses.pending import pending_ageing, pending_requests
from p2p_analytics.analyses.people import people_by_year
from p2p_analytics.analyses.requests import request_outcomes, time_to_settle
from p2p_analytics.analyses.series import recurring
from p2p_analytics.analyses.spend import spend_by_friend
from p2p_analytics.analyses.spending import spending_over_time
from p2p_analytics.analyses.status import status_mix
from p2p_analytics.analyses.visibility import exposure, sensitive_notes

__all__ = [
    "activity",
    "categories",
    "categorise",
    "default_rules",
    "exposure",
    "monthly_flow",
    "pending_ageing",
    "pending_requests",
    "people_by_year",
    "recurring",
    "request_outcomes",
    "sensitive_notes",
    "spend_by_friend",
    "spending_over_time",
    "split_bills",
    "status_mix",
    "time_to_settle",
    "unusual",
]
