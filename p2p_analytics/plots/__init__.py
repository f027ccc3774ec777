"""Plots of finished tables on matplotlib axes; each has the name of the analysis that makes its table.

A plot displays and saves nothing, and adds up only what it does not show one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.plots._parts.others import count_shown as count_shown
from p2p_analytics.plots._parts.others import sum_other_people as sum_other_people
from p2p_analytics.plots._parts.others import sum_other_requests as sum_other_requests
from p2p_analytics.plots._parts.periods import build_period_table as build_period_table
from p2p_analytics.plots._parts.periods import choose_period as choose_period
from p2p_analytics.plots._parts.render import to_image as to_image
from p2p_analytics.plots._parts.style import mark_private as mark_private
from p2p_analytics.plots._parts.style import name_people as name_people
from p2p_analytics.plots._parts.theme import theme as theme
from p2p_analytics.plots.bills import *
from p2p_analytics.plots.flow import *
from p2p_analytics.plots.hours import *
from p2p_analytics.plots.outliers import *
from p2p_analytics.plots.pending import *
from p2p_analytics.plots.people import *
from p2p_analytics.plots.reconciliation import *
from p2p_analytics.plots.requests import *
from p2p_analytics.plots.series import *
from p2p_analytics.plots.spend import *
from p2p_analytics.plots.spending import *
from p2p_analytics.plots.status import *
from p2p_analytics.plots.visibility import *

if not TYPE_CHECKING:  # type checkers take every imported name
    _for_pages = (
        "build_period_table", "choose_period", "count_shown", "mark_private", "name_people", "reconciliation",
        "sum_other_people", "sum_other_requests", "theme", "to_image",
    )  # fmt: skip
    __all__ = sorted([*ANALYSES, *_for_pages])  # noqa: PLE0605 - a list all the same
