"""The archive at a million payments: its size, a reload, and a sync of one new payment.

The peer is requests-cache with its defaults: it stores the same pages, and this package rebuilds the frame from them.
"""

import io
import json
import random
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import frames  # beside this file
import requests
import requests_cache
from costs import time_call
from requests.adapters import HTTPAdapter
from urllib3 import HTTPResponse

import p2p_analytics as p2p
from p2p_analytics.frames.build import payments_frame
from p2p_analytics.records import InternTables, Payments, decode_payments

PAYMENTS = 1_000_000
NEWEST = datetime(2025, 6, 30, tzinfo=UTC)
STEP = timedelta(days=8 * 365) / PAYMENTS
ADDRESS = "http://pages.invalid/v1/payments?before="
WORDS = ("rent", "dinner", "lunch", "coffee", "taxi", "groceries", "pizza", "cinema", "tickets", "power", "for", "the")


def measure(add_row, server: p2p.sandbox.SandboxServer) -> None:
    """Add the rows of the archive to the table, each with its target."""
    name = f"{PAYMENTS:,} payments"
    with (
        tempfile.TemporaryDirectory() as folder,
        p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False) as client,
    ):
        history = p2p.load_history(client)
        cache = Path(folder) / "cache.sqlite"
        _fill(cache, server)
        rebuilt, *long = time_call(lambda: payments_frame(_read_cached(cache), str(history.me.user.id)))
        archive = p2p.open_archive(Path(folder) / "archive")
        archive.merge(p2p.History(**vars(history) | {"payments": rebuilt}))
        smaller = cache.stat().st_size / sum(_files(archive).values())
        add_row(f"size of {name}, less", "requests-cache", f"{smaller:.1f}x", wanted="15x or more")
        del rebuilt
        wall, cpu = zip(*(time_call(archive.history)[1:] for _ in range(5)), strict=True)
        add_row(f"reload {name}", "requests-cache", [long[0] / again for again in wall], wanted="50x or more")
        add_row("CPU time of that reload", "requests-cache", [long[1] / again for again in cpu])
        archive.sync(client)
        server.add_payments(server.viewer, [{"date_created": server.now + timedelta(seconds=1)}])
        before = _files(archive)
        server.requests.clear()
        assert archive.sync(client).added == 1
        add_row(f"sync one into {name}", "4 requests", f"{len(server.requests)}", wanted="4 or fewer")
        after = _files(archive)
        written = sum(size for file, size in after.items() if file not in before)
        add_row("bytes rewritten by that", "all bytes", f"{written / sum(before.values()):.2%}", wanted="2% or less")


def _fill(cache: Path, server: p2p.sandbox.SandboxServer) -> None:
    """Store pages of ``PAYMENTS`` payments with distinct people, amounts, dates and notes."""
    pages = enumerate(frames.pages_of(frames.history(server), server.people[0].user_id, PAYMENTS))

    class Pages(HTTPAdapter):
        def send(self, request: requests.PreparedRequest, **_: object) -> requests.Response:
            body, head = io.BytesIO(_vary_page(*next(pages))), {"Content-Type": "application/json"}
            return self.build_response(request, HTTPResponse(body, head, 200, preload_content=False))

    # Neither setting changes the stored pages; they avoid one disk sync per page.
    with requests_cache.CachedSession(str(cache.with_suffix("")), wal=True, fast_save=True) as session:
        session.mount("http://", Pages())
        for number in range(PAYMENTS // frames.PAGE):
            session.get(f"{ADDRESS}{number}")


def _vary_page(number: int, page: bytes) -> bytes:
    """Return a page with distinct dates, spread over the years, and realistic notes."""
    chance = random.Random(number)  # noqa: S311 - the same data each time
    data = json.loads(page)["data"]
    for at, item in enumerate(data, number * frames.PAGE):
        item["date_created"] = f"{NEWEST - at * STEP:%Y-%m-%dT%H:%M:%S}"
        item["status"] = item["status"].replace("pending", "settled")  # or a sync would ask for each by its id
        item["note"] = " ".join(chance.choices(WORDS, k=chance.randint(1, 6)))
    return json.dumps({"data": data, "pagination": {"next": None}}).encode()


def _read_cached(cache: Path) -> Iterator[Payments]:
    with requests_cache.CachedSession(str(cache.with_suffix(""))) as session:
        pages = (session.get(f"{ADDRESS}{number}").content for number in range(PAYMENTS // frames.PAGE))
        tables = InternTables()
        yield from (decode_payments(page, tables).items for page in pages)


def _files(archive: p2p.Archive) -> dict[str, int]:
    """Return the size in bytes of each file in the manifest."""
    return {entry.name: entry.size for entry in archive._folder.read_manifest().entries}
