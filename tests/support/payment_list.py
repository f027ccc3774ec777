"""Model of the list of payments, and loads from it."""

import bisect
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from p2p_analytics.client.paging.pager import Query
from p2p_analytics.client.paging.scheduler import fetch_history
from p2p_analytics.records import Payment, PaymentPage, Payments
from p2p_analytics.times import BEGINNING, END, Window

START = datetime(2019, 3, 1, tzinfo=UTC)
YEAR = 365 * 86_400
_FILTERS: dict[str, Callable[[Payment], str | None]] = {
    "action": lambda row: row.action,
    "status": lambda row: row.status,
    "actor": lambda row: row.actor and row.actor.id,
}


class Model:
    """List in memory, newest first; ``inclusive`` makes bounds inclusive. Nothing is cached."""

    def __init__(self, rows: list[Payment], *, inclusive: bool = False) -> None:
        self.rows = sorted(rows, key=lambda row: (row.date_created, int(row.id)), reverse=True)
        self._find_bound = bisect.bisect_left if inclusive else bisect.bisect_right
        self.asked: list[Query] = []
        self.windows: list[Window] = []
        self.record_window = self.windows.append
        self.read_complete_windows = lambda: self.windows
        self.at_once = self.most_at_once = 0
        self._guard = threading.Lock()

    def fetch_current(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return one page."""
        with self._guard:
            self.asked.append(query)
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
        before, age = query.before, lambda row: -row.date_created.timestamp()
        start = 0 if before is None else self._find_bound(self.rows, -before.timestamp(), key=age)
        names = [name for name in _FILTERS if getattr(query, name)]
        rows = self.rows[start:] if names else self.rows[start : start + 51]
        for name in names:
            words, value = getattr(query, name).split(","), _FILTERS[name]
            rows = [row for row in rows if value(row) in words]
        with self._guard:
            self.at_once -= 1
        return PaymentPage(Payments.of(rows[: query.limit]), "?more" if len(rows) > query.limit else None)

    def fetch_closed(self, query: Query, **_options: bool) -> PaymentPage:
        """Return one page."""
        return self.fetch_current(query)


def make_rows(seconds: Iterable[float]) -> list[Payment]:
    """Return payments at these seconds."""
    dates = [START + timedelta(seconds=second) for second in seconds]
    return [Payment(id=str(number), date_created=date) for number, date in enumerate(dates)]


def load_pages(model: Model, **options: Any) -> Iterator[PaymentPage]:
    """Return the pages of a load; by default of the whole list, on four connections."""
    defaults = {"after": BEGINNING, "before": END, "likely_start": None, "concurrency": 4}
    return fetch_history(model, **(defaults | {"on_progress": lambda *_: None} | options))


def load_ids(model: Model, **options: Any) -> list[str]:
    """Return the ids of a load."""
    return [row.id for page in load_pages(model, **options) for row in page.items]


def make_uneven(count: int, years: int, seed: int = 1) -> list[Payment]:
    """Return payments in months of very different size; one in twenty shares a second with another."""
    chance = random.Random(seed)  # noqa: S311 - the same data each time
    weights = [chance.lognormvariate(0, 0.7) for _ in range(12 * years)]
    months = chance.choices(range(12 * years), weights, k=count)
    seconds = [month * YEAR // 12 + chance.randrange(YEAR // 12) for month in months]
    for _ in range(count // 20):
        seconds[chance.randrange(count)] = seconds[chance.randrange(count)]
    return make_rows(seconds)
