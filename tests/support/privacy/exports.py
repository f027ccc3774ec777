"""All files that can be made of a history, in a form that a search for a text can read."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Any

import p2p_analytics as p2p

if TYPE_CHECKING:
    from pathlib import Path


def export_all(history: p2p.History, folder: Path, *, as_of: Any) -> None:
    """Write the payments of a history in each kind of file, and the parts of the workbook unpacked."""
    p2p.to_csv(history.payments, folder / "payments.csv")
    p2p.to_parquet(history.payments, folder / "payments.parquet")
    p2p.to_jsonl(history, folder / "payments.jsonl")
    p2p.to_beancount(history, folder / "payments.beancount")
    p2p.to_hledger(history, folder / "payments.journal")
    p2p.to_sqlite(history, folder / "payments.sqlite", as_of=as_of)
    p2p.to_excel(history, folder / "payments.xlsx", as_of=as_of)
    with zipfile.ZipFile(folder / "payments.xlsx") as parts:
        for part in parts.namelist():
            (folder / f"workbook {part.replace('/', ' ')}").write_bytes(parts.read(part))
