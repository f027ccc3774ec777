"""Balances of statements: the order of rows, running balances, seams between files, and explanations of differences."""

from __future__ import annotations

from p2p_analytics.statements.balances._continuity import Balance, Period, Seam, join_files
from p2p_analytics.statements.balances._differences import find_mended, list_differences
from p2p_analytics.statements.balances._explanations import MOST_STEPS, Change, Explanations, find_explanations
from p2p_analytics.statements.balances._order import GROUP, OrderedRows, order_rows
from p2p_analytics.statements.balances._running import running_balance

__all__ = [
    "GROUP",
    "MOST_STEPS",
    "Balance",
    "Change",
    "Explanations",
    "OrderedRows",
    "Period",
    "Seam",
    "find_explanations",
    "find_mended",
    "join_files",
    "list_differences",
    "order_rows",
    "running_balance",
]
