"""The HTML report of a history."""

from p2p_analytics.report._range import select_days
from p2p_analytics.report._report import render_report

__all__ = ["render_report", "select_days"]
