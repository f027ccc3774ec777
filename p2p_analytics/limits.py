"""Sizes and times that bound the package's work and waits.

Code reads them when it needs them, so a test makes one small to see what happens beyond it, and a program that reads
larger files than a person has can raise one: ``p2p_analytics.limits.LIMITS.statement_rows = 20_000_000``.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final


@dataclass(slots=True)
class Limits:
    """Sizes in rows, bytes, cells or characters, and times in seconds."""

    # Statement files: more raises a StatementError.
    statement_files: int = 100_000
    """Files that a folder or a pattern may lead to."""
    statement_bytes: int = 256 * 2**20
    """Of one file, unpacked."""
    statement_cells: int = 20_000_000
    """Of one file."""
    statement_rows: int = 5_000_000
    """Of all files of one call."""
    zip_bytes: int = 2**30
    """Of all members of a zip archive, unpacked."""
    small_zip_bytes: int = 16 * 2**20
    """Of all members of an archive that may be packed to any size; in a larger one each byte stands for at most 100."""
    zip_directory_bytes: int = 16 * 2**20
    """Of the list of members of a zip archive."""
    sheet_cells: int = 5_000_000
    """Of a sheet of a workbook, with the empty ones."""
    sheet_characters: int = 2**26
    """Of all sheets of a workbook, which can repeat a long text with a few bytes."""

    # Work at once: more is done in parts, with the same result in less memory.
    reconciled_rows: int = 50_000
    """Statement rows that are checked together."""
    recurring_payments: int = 2_000_000
    """Payments that `recurring` searches together; each million takes 0.5 GB."""
    bill_requests: int = 4_000_000
    """Requests by the viewer that `split_bills` groups together; each million takes 0.35 GB on Polars."""
    unusual_payments: int = 3_000_000
    """Payments that `unusual` compares together; each million takes 0.4 GB on Polars."""
    series_payments: int = 150_000
    """Payments with candidate sets that are built together; they take 0.1 GB, and fewer take longer."""
    threaded_payments: int = 50_000
    """Payments in candidate sets from which on threads take less time than it takes to start them."""
    archive_rows: int = 16_000
    """In one file of an archive, which a change rewrites whole; a file with up to an eighth more is not split."""

    # Times.
    archive_lock_seconds: float = 10.0
    """To wait for another process that writes into an archive; then an error says so."""
    friends_valid: timedelta = timedelta(days=1)
    """How long the friends in an archive are the current ones; a sync requests older ones again."""


LIMITS: Final = Limits()
