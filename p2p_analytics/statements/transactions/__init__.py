"""Rows of several files to transactions: accounts, ids, the values that count, and kinds of refunds."""

from p2p_analytics.statements.transactions._accounts import ACCOUNT, name_accounts
from p2p_analytics.statements.transactions._ids import (
    fill_ids,
    has_missing_ids,
    join_ids,
    list_shared_ids,
    separate_ids,
)
from p2p_analytics.statements.transactions._refunds import decide_refunds, fill_refunds, list_undecided
from p2p_analytics.statements.transactions._standing import find_standing, sort_newest_first
from p2p_analytics.statements.transactions._unite import ADDS_UP, END, NOTICE, ROW, United, describe_files, unite_rows

__all__ = [
    "ACCOUNT",
    "ADDS_UP",
    "END",
    "NOTICE",
    "ROW",
    "United",
    "decide_refunds",
    "describe_files",
    "fill_ids",
    "fill_refunds",
    "find_standing",
    "has_missing_ids",
    "join_ids",
    "list_shared_ids",
    "list_undecided",
    "name_accounts",
    "separate_ids",
    "sort_newest_first",
    "unite_rows",
]
