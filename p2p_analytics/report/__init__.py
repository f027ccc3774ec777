"""The HTML report of a history, and of one year of it, to share."""

from p2p_analytics.report._range import select_days
from p2p_analytics.report._report import render_report
from p2p_analytics.report._year import choose_privacy, render_year, select_year

__all__ = ["choose_privacy", "render_report", "render_year", "select_days", "select_year"]
