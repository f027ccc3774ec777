"""Plots of finished tables on matplotlib axes; each has the name of the analysis that makes its table.

A plot displays and saves nothing, and adds up only what it does not show one by one.
"""

from __future__ import annotations

from p2p_analytics.plots._parts.others import count_shown, sum_other_people, sum_other_requests
from p2p_analytics.plots._parts.periods import build_period_table, choose_period
from p2p_analytics.plots._parts.render import to_image
from p2p_analytics.plots._parts.style import mark_private, name_people
from p2p_analytics.plots._parts.theme import theme
from p2p_analytics.plots.bills import split_bills
from p2p_analytics.plots.category import categories
from p2p_analytics.plots.flow import monthly_flow
from p2p_analytics.plots.hours import activity
from p2p_analytics.plots.outliers import unusual
from p2p_analytics.plots.pending import pending_ageing, pending_requests
from p2p_analytics.plots.people import people_by_year
from p2p_analytics.plots.reconciliation import reconciliation
from p2p_analytics.plots.requests import request_outcomes, time_to_settle
from p2p_analytics.plots.series import recurring
from p2p_analytics.plots.spend import spend_by_friend
from p2p_analytics.plots.spending import spending_over_time
from p2p_analytics.plots.status import status_mix
from p2p_analytics.plots.visibility import exposure, sensitive_notes

__all__ = [
    "activity",
    "build_period_table",
    "categories",
    "choose_period",
    "count_shown",
    "exposure",
    "mark_private",
    "monthly_flow",
    "name_people",
    "pending_ageing",
    "pending_requests",
    "people_by_year",
    "reconciliation",
    "recurring",
    "request_outcomes",
    "sensitive_notes",
    "spend_by_friend",
    "spending_over_time",
    "split_bills",
    "status_mix",
    "sum_other_people",
    "sum_other_requests",
    "theme",
    "time_to_settle",
    "to_image",
    "unusual",
]
