"""Frames to CSV and Parquet files and back without loss, and to JSON Lines, ledgers, workbooks and databases.

Files are private to their owner and written atomically.
"""

from p2p_analytics.export._csv import read_csv, to_csv, write_csv
from p2p_analytics.export._excel import to_excel, write_workbook
from p2p_analytics.export._jsonl import to_jsonl
from p2p_analytics.export._ledger import to_beancount, to_hledger
from p2p_analytics.export._parquet import read_parquet, to_parquet
from p2p_analytics.export._sqlite import to_sqlite, write_database

__all__ = [
    "read_csv",
    "read_parquet",
    "to_beancount",
    "to_csv",
    "to_excel",
    "to_hledger",
    "to_jsonl",
    "to_parquet",
    "to_sqlite",
    "write_csv",
    "write_database",
    "write_workbook",
]
