"""The HTML report of a history, and of one year of it, to share."""

from p2p_analytics.report._range import Range, select_days
from p2p_analytics.report._report import render_report
from p2p_analytics.report._selected_year import choose_privacy, select_year
from p2p_analytics.report._year import draw_year, render_year

__all__ = ["Range", "choose_privacy", "draw_year", "render_report", "render_year", "select_days", "select_year"]
