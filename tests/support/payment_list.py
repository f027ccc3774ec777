"""Model of the list of payments, and loads from it."""

from __future__ import annotations

import bisect
import random
import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from p2p_analytics.client.paging.scheduler import fetch_history
from p2p_analytics.records import Payment, PaymentPage, Payments
from p2p_analytics.times import BEGINNING, END, Window

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from p2p_analytics.client.paging.pager import Query

START = datetime(2019, 3, 1, tzinfo=UTC)
YEAR = 365 * 86_400
_FILTERS: dict[str, Callable[[Payment], str | None]] = {
    "action": lambda row: row.action,
    "status": lambda row: row.status,
    "actor": lambda row: row.actor and row.actor.id,
}


class Model:
    """List in memory, newest first; ``inclusive`` makes bounds inclusive."""

    def __init__(self, rows: list[Payment], *, inclusive: bool = False) -> None:
        self.rows = sorted(rows, key=lambda row: (row.date_created, int(row.id)), reverse=True)
        self.inclusive = inclusive
        self.asked: list[Query] = []
        self.windows: list[Window] = []
        self.at_once = self.most_at_once = 0
        self._guard = threading.Lock()

    def fetch_current(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return one page."""
        with self._guard:
            self.asked.append(query)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        start = self._start(query)
        names = [name for name in _FILTERS if getattr(query, name)]
        rows = self.rows[start:] if names else self.rows[start : start + 51]
        for name in names:
            words, value = getattr(query, name).split(","), _FILTERS[name]
            rows = [row for row in rows if value(row) in words]
        with self._guard:
            self.at_once -= 1
        return PaymentPage(Payments.of(rows[: query.limit]), "?more" if len(rows) > query.limit else None)

    def _start(self, query: Query) -> int:
        """Return where the payments before the bound begin."""
        side = bisect.bisect_left if self.inclusive else bisect.bisect_right
        return 0 if query.before is None else side(self.rows, -query.before.timestamp(), key=_age)

    def fetch_closed(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return one page; nothing is cached."""
        return self.fetch_current(query)

    def read_complete_windows(self) -> list[Window]:
        """Return the recorded windows."""
        return self.windows

    def record_window(self, window: Window) -> None:
        """Record a window."""
        self.windows.append(window)


def _age(row: Payment) -> float:
    return -row.date_created.timestamp()


def make_rows(seconds: Iterable[float]) -> list[Payment]:
    """Return payments at these seconds."""
    dates = [START + timedelta(seconds=second) for second in seconds]
    return [Payment(id=str(number), date_created=date) for number, date in enumerate(dates)]


def load_ids(model: Model, *, concurrency: int = 4, likely_start: datetime | None = None, **options: Any) -> list[str]:
    """Return the ids of a load."""
    options = {"after": BEGINNING, "before": END, "on_progress": lambda *_: None} | options
    pages = fetch_history(model, likely_start=likely_start, concurrency=concurrency, **options)
    return [row.id for page in pages for row in page.items]


def make_uneven(count: int, years: int, seed: int = 1) -> list[Payment]:
    """Return payments in months of very different size; one in twenty shares a second with another."""
    chance = random.Random(seed)  # noqa: S311 - the same data each time
    weights = [chance.lognormvariate(0, 0.7) for _ in range(12 * years)]
    months = chance.choices(range(12 * years), weights, k=count)
    seconds = [month * YEAR // 12 + chance.randrange(YEAR // 12) for month in months]
    for _ in range(count // 20):
        seconds[chance.randrange(count)] = seconds[chance.randrange(count)]
    return make_rows(seconds)
