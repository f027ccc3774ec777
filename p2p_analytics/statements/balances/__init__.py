"""Balances of statements: the order of rows, running balances, seams between files, and explanations of differences."""

from __future__ import annotations

from p2p_analytics.statements.balances._continuity import Balance, OtherRow, OtherRows, Period, Seam, join_files
from p2p_analytics.statements.balances._differences import list_balance_problems
from p2p_analytics.statements.balances._explanations import MOST_STEPS, Change, Explanations, find_explanations
from p2p_analytics.statements.balances._order import GROUP, OrderedRows, order_rows
from p2p_analytics.statements.balances._running import running_balance
from p2p_analytics.statements.balances._tables import (
    RECONCILIATION,
    find_balance,
    frame_balances,
    frame_joined,
    list_balances,
)

__all__ = [
    "GROUP",
    "MOST_STEPS",
    "RECONCILIATION",
    "Balance",
    "Change",
    "Explanations",
    "OrderedRows",
    "OtherRow",
    "OtherRows",
    "Period",
    "Seam",
    "find_balance",
    "find_explanations",
    "frame_balances",
    "frame_joined",
    "join_files",
    "list_balance_problems",
    "list_balances",
    "order_rows",
    "running_balance",
]
