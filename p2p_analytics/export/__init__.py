"""Frames to CSV and Parquet files and back, with nothing lost on the way.

Files hold people's payments, so they are readable by their owner alone, and each appears whole or
not at all.
"""

from p2p_analytics.export._csv import read_csv, to_csv
from p2p_analytics.export._parquet import read_parquet, to_parquet
from p2p_analytics.files import atomic_file

__all__ = ["atomic_file", "read_csv", "read_parquet", "to_csv", "to_parquet"]
