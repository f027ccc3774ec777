"""Frames to CSV and Parquet files and back, without loss. Files are private to their owner and written atomically."""

from p2p_analytics.export._csv import read_csv, to_csv, write_csv
from p2p_analytics.export._parquet import read_parquet, to_parquet

__all__ = ["read_csv", "read_parquet", "to_csv", "to_parquet", "write_csv"]
