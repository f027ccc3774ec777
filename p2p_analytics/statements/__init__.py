"""Statement files: what everybody can download becomes PAYMENTS, reconciled to the cent."""

from p2p_analytics.statements._cells import list_unreadable, parse_instants, parse_money
from p2p_analytics.statements._files import list_once
from p2p_analytics.statements._format import Problem, Reading, StatementFormat, Table
from p2p_analytics.statements._read import read_statements
from p2p_analytics.statements._reconcile import reconcile_balances
from p2p_analytics.statements._registry import list_formats, register_format
from p2p_analytics.statements._repairs import find_repaired
from p2p_analytics.statements._rows import ROWS, complete_rows
from p2p_analytics.statements._sources import find_paths
from p2p_analytics.statements._statements import (
    OtherFile,
    Statements,
    describe_balances,
    find_common_handle,
    list_other_accounts,
    list_services,
    list_skipped,
    select_row_problems,
)
from p2p_analytics.statements._versions import (
    UnitedPayments,
    find_holder_name,
    find_problems,
    list_corrections,
    separate_payments,
    unite_payments,
)
from p2p_analytics.statements.balances import OtherRow, OtherRows, find_balance
from p2p_analytics.statements.formats import SERVICE
from p2p_analytics.statements.transactions import ACCOUNT as OTHER_ACCOUNT
from p2p_analytics.statements.transactions import NAME_AS_HANDLE, UNDECIDED

__all__ = [
    "NAME_AS_HANDLE",
    "OTHER_ACCOUNT",
    "ROWS",
    "SERVICE",
    "UNDECIDED",
    "OtherFile",
    "OtherRow",
    "OtherRows",
    "Problem",
    "Reading",
    "StatementFormat",
    "Statements",
    "Table",
    "UnitedPayments",
    "complete_rows",
    "describe_balances",
    "find_balance",
    "find_common_handle",
    "find_holder_name",
    "find_paths",
    "find_problems",
    "find_repaired",
    "list_corrections",
    "list_formats",
    "list_once",
    "list_other_accounts",
    "list_services",
    "list_skipped",
    "list_unreadable",
    "parse_instants",
    "parse_money",
    "read_statements",
    "reconcile_balances",
    "register_format",
    "select_row_problems",
    "separate_payments",
    "unite_payments",
]
