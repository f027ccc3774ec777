"""Statement files: what everybody can download becomes PAYMENTS, reconciled to the cent."""

from p2p_analytics.statements._statements import (
    OtherFile,
    Statements,
    build_statements,
    describe_balances,
    find_common_handle,
    find_end,
    list_other_accounts,
    list_refused,
    list_skipped,
    read_statements,
)
from p2p_analytics.statements.collect import collect
from p2p_analytics.statements.formats.cells import match_kinds, parse_money
from p2p_analytics.statements.formats.column_format import FIELDS, ColumnFormat
from p2p_analytics.statements.formats.format import Reading, StatementFormat, Table
from p2p_analytics.statements.formats.instants import parse_instants
from p2p_analytics.statements.formats.registry import find_service, find_title, list_formats, register_format
from p2p_analytics.statements.ledger.derive import View, derive
from p2p_analytics.statements.ledger.files import OtherRow
from p2p_analytics.statements.ledger.reconcile import RECONCILIATION
from p2p_analytics.statements.own_formats import FileDescription, describe_file, read_format
from p2p_analytics.statements.problems import Problem, frame_problems, list_problems, list_unreadable
from p2p_analytics.statements.reading.sources import find_paths
from p2p_analytics.statements.rows import ROWS, SERVICE, Collected, FileInfo, complete_rows, strip_label

__all__ = [
    "FIELDS",
    "RECONCILIATION",
    "ROWS",
    "SERVICE",
    "Collected",
    "ColumnFormat",
    "FileDescription",
    "FileInfo",
    "OtherFile",
    "OtherRow",
    "Problem",
    "Reading",
    "StatementFormat",
    "Statements",
    "Table",
    "View",
    "build_statements",
    "collect",
    "complete_rows",
    "derive",
    "describe_balances",
    "describe_file",
    "find_common_handle",
    "find_end",
    "find_paths",
    "find_service",
    "find_title",
    "frame_problems",
    "list_formats",
    "list_other_accounts",
    "list_problems",
    "list_refused",
    "list_skipped",
    "list_unreadable",
    "match_kinds",
    "parse_instants",
    "parse_money",
    "read_format",
    "read_statements",
    "register_format",
    "strip_label",
]
