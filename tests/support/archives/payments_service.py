"""Scripted service of one account with sixty payments, and archives of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc

import p2p_analytics as p2p
from p2p_analytics.archive import Archive

# Twelve months of 2024 with five payments each; ids count up.
DATES = {str(number): f"2024-{number // 5 + 1:02}-{number % 5 * 6 + 1:02}T12:00:00" for number in range(60)}
MAY = {payment_id for payment_id, date in DATES.items() if date.startswith("2024-05")}


class Service:
    """Service of one account with mutable payments, which counts list requests."""

    def __init__(self, start_service: Callable[..., Any], payment: Callable[..., dict[str, Any]]) -> None:
        self.payments = {key: payment(key, date_created=date) for key, date in DATES.items()}
        self.account = "7"
        self.username: str | None = None
        self.fails_after: int | None = None
        self.by_id: dict[str, Any] = {}  # answers to requests of single payments
        self.lists = 0
        self.running = start_service(self._answer)

    def client(self, cache_dir: Path | None = None) -> p2p.Client:
        """Return a client that does not wait between retries."""
        client = p2p.Client("token", base_url=self.running.base_url, cache_dir=cache_dir or False)
        client._transport._sleep = lambda _seconds: None
        return client

    def _answer(self, path: str, sent: dict[str, str]) -> Any:
        if path == "/v1/me":
            user = {"id": self.account, "username": self.username, "friends_count": 0}
            return {"data": {"balance": None, "user": user}}
        if path.startswith("/v1/users"):
            return {"data": [], "pagination": None}
        if path.startswith("/v1/payments/"):
            missing = 404, {}, {"error": {"message": "no such payment", "code": "283"}}
            return self.by_id.get(path.rpartition("/")[2], missing)
        self.lists += 1
        if self.fails_after is not None and self.lists > self.fails_after:
            return 500, {}, {"error": {"message": "no", "code": "1"}}
        rows = sorted(self.payments.values(), key=lambda row: row["date_created"], reverse=True)
        rows = [row for row in rows if row["date_created"] < sent.get("before", "9")]
        rows = [row for row in rows if row["date_created"] > sent.get("after", "0")]
        rows = [row for row in rows if sent.get("status", row["status"]) == row["status"]]
        limit = min(int(sent["limit"]), 20)
        return {"data": rows[:limit], "pagination": {"next": "?x"} if len(rows) > limit else None}


def lose(archive: Archive, payment_ids: set[str]) -> None:
    """Remove payments from an archive, which stays well formed, as if a load had lost them."""
    folder, manifest = archive._folder, archive._folder.read_manifest()
    entries = []
    for entry in manifest.service.payments:
        rows = folder.read(entry)
        kept = rows.filter(pc.invert(pc.is_in(rows["payment_id"], value_set=pc.cast([*payment_ids], "string"))))
        entries.append(folder.write("payments", kept, "7", start=entry.start))
    service = msgspec.structs.replace(manifest.service, payments=tuple(entries))
    folder.commit(msgspec.structs.replace(manifest, service=service), manifest)


def ids(archive: Archive) -> set[str]:
    """Return the ids of an archive's payments."""
    return set(archive.history().payments["payment_id"])
