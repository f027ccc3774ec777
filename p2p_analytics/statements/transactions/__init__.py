"""Rows of several files to transactions: accounts, ids, the values that count, and kinds of refunds."""

from p2p_analytics.statements.transactions._accounts import ACCOUNT, NAME_AS_HANDLE, name_accounts
from p2p_analytics.statements.transactions._copies import SOURCE, list_copies
from p2p_analytics.statements.transactions._ids import (
    fill_ids,
    has_missing_ids,
    join_ids,
    list_shared_ids,
    separate_ids,
)
from p2p_analytics.statements.transactions._refunds import UNDECIDED
from p2p_analytics.statements.transactions._standing import Settled, find_standing, settle_rows, sort_newest_first
from p2p_analytics.statements.transactions._unite import (
    ADDS_UP,
    END,
    KEY,
    NOTICE,
    ROW,
    United,
    describe_files,
    unite_rows,
)

__all__ = [
    "ACCOUNT",
    "ADDS_UP",
    "END",
    "KEY",
    "NAME_AS_HANDLE",
    "NOTICE",
    "ROW",
    "SOURCE",
    "UNDECIDED",
    "Settled",
    "United",
    "describe_files",
    "fill_ids",
    "find_standing",
    "has_missing_ids",
    "join_ids",
    "list_copies",
    "list_shared_ids",
    "name_accounts",
    "separate_ids",
    "settle_rows",
    "sort_newest_first",
    "unite_rows",
]
