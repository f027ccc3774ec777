"""Wrong but plausible pages: all payments, or an error."""

import random
from collections.abc import Iterator
from datetime import datetime, timedelta

import msgspec
import pytest

from p2p_analytics.client.paging.pager import Query
from p2p_analytics.client.paging.scheduler import paginate
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import Payment, PaymentPage, Payments, User
from p2p_analytics.times import END
from support.payment_list import START, Model, load_pages


def read_pages(model: Model, way: str, before: datetime = END) -> Iterator[PaymentPage]:
    """Return the pages of a list by pagination, or by a load on one connection."""
    if way == "walk":
        return paginate(model.fetch_current, Query(), before=before)
    return load_pages(model, before=before, concurrency=1)


class FaultyModel(Model):
    """Model that answers one request with a wrong but plausible page."""

    def __init__(self, rows: list[Payment], fault: str, at: int, page: int) -> None:
        super().__init__(rows)
        self.fault, self.at, self.page = fault, at, page
        self.before: PaymentPage | None = None

    def fetch_current(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return one page, or a wrong one."""
        wrong = len(self.asked) == self.at
        hours = {"zone": 5, "day": 24}.get(self.fault, 0) if wrong and query.before is not None else 0
        bound = query.before and query.before - timedelta(hours=hours)
        page = super().fetch_current(msgspec.structs.replace(query, before=bound, limit=min(query.limit, self.page)))
        stale, self.before = self.before, page
        if not wrong:
            return page
        if self.fault == "stale" and stale is not None:
            return stale
        items = {"empty": (), "empty and on": (), "cut": list(page.items)[:1]}.get(self.fault, page.items)
        link = {"empty": None, "empty and on": "?more", "no link": None, "cut": None}.get(self.fault, page.next)
        return PaymentPage(Payments.of(items), link)


@pytest.mark.fault("read")
@pytest.mark.parametrize("fault", ["empty", "empty and on", "no link", "zone", "day", "stale", "cut"])
@pytest.mark.parametrize(
    ("count", "page", "tied", "bound"),
    [(260, 50, 0, END), (260, 50, 70, END), (25, 1, 0, END), (260, 50, 0, START + timedelta(days=6, hours=1))],
    ids=["spread", "crowded end", "one on a page", "until a bound"],
)
def test_whichever_page_is_wrong_nothing_is_lost(fault: str, count: int, page: int, tied: int, bound: datetime) -> None:
    """Each request of a pagination and of a load in turn gets a wrong page once: all payments, or an error."""
    chance = random.Random(2)  # noqa: S311 - the same data each time
    seconds = sorted(chance.randrange(count * 3_000) for _ in range(count)) + [-5] * tied
    made = [
        Payment(id=str(n), date_created=START + timedelta(seconds=second), actor=User(id=str(20 + n % 30)),
                action="pay", status="settled")
        for n, second in enumerate(seconds)
    ]  # fmt: skip
    expected = sorted(row.id for row in made if row.date_created < bound)
    for way in ("walk", "load"):
        at, asked = 0, 1
        while at < min(asked, 20):
            model = FaultyModel(made, fault, at, page)
            try:
                found = sorted(row.id for each in read_pages(model, way, bound) for row in each.items)
            except PaginationError:
                found = expected
            assert found == expected, f"{way}, request {at}"
            at, asked = at + 1, len(model.asked)


@pytest.mark.parametrize("way", ["walk", "load"])
def test_a_list_that_repeats_its_payments_raises(way: str) -> None:
    """Pages without new payments are an error, not an endless loop."""
    asked: list[Query] = []

    def fetch(query: Query, *, refetch: bool = False) -> PaymentPage:
        asked.append(query)
        until = query.before or START
        rows = [Payment(id=str(n), date_created=until - timedelta(seconds=n + 1)) for n in range(3)]
        return PaymentPage(Payments.of(rows), "?more")

    model = Model([])
    model.fetch_current = model.fetch_closed = fetch
    with pytest.raises(PaginationError):
        list(read_pages(model, way))
    assert len(asked) < 3_000
