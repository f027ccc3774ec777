"""Pagination with ties: no loss, on a model service with a lossy next link."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.client.paging.pager import Query
from p2p_analytics.client.paging.scheduler import paginate
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import Payment, PaymentPage, Payments
from p2p_analytics.times import END

START = datetime(2024, 5, 1, tzinfo=UTC)
WORDS = {"action": "pay", "status": "settled"}


class Model:
    """List in memory by the documented rules: newest first, exclusive bound, at most 50 per page."""

    def __init__(self, microseconds: list[int]) -> None:
        dates = [START + timedelta(microseconds=at) for at in microseconds]
        made = [Payment(id=str(number), date_created=date, **WORDS) for number, date in enumerate(dates)]
        self.rows = sorted(made, key=lambda row: (row.date_created, int(row.id)), reverse=True)
        self.requests = 0

    def fetch(self, query: Query, *, refetch: bool = False) -> PaymentPage:
        """Return one page."""
        self.requests += 1
        asked = {"action": query.action, "status": query.status}
        rows = [
            row
            for row in self.rows
            if (query.before is None or row.date_created < query.before)
            and all(getattr(row, name) in words.split(",") for name, words in asked.items() if words)
        ]
        return PaymentPage(Payments.of(rows[: min(query.limit, 50)]), "?more" if len(rows) > query.limit else None)


def list_ids(model: Model, page_size: int, before: datetime = END) -> list[str]:
    """Return the ids of all pages, in order."""
    return [row.id for page in paginate(model.fetch, Query(limit=page_size), before=before) for row in page.items]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 40).map(lambda tenth: tenth * 100_000), max_size=60).filter(
        lambda times: max((sum(t // 1_000_000 == s for t in times) for s in range(5)), default=0) < 50
    ),
    st.sampled_from([1, 2, 7, 20, 50]),
)
def test_every_payment_is_returned_once_and_in_order(times: list[int], page_size: int) -> None:
    """For any ties within a second and any page size."""
    model = Model(times)
    assert list_ids(model, page_size) == [row.id for row in model.rows]


def test_the_overlap_costs_few_requests() -> None:
    """2,000 payments without ties and pages of 50 take at most 5 % more requests than the minimum."""
    model = Model([second * 1_000_000 for second in range(2_000)])
    assert len(list_ids(model, 50)) == 2_000
    assert model.requests <= 2_000 / 50 * 1.05


def test_a_bound_within_a_second_is_exact() -> None:
    """A list before .5 of a second holds the earlier payments of that second, once."""
    model = Model([0, 400_000, 500_000, 900_000])
    assert list_ids(model, 1, before=START + timedelta(microseconds=500_000)) == ["1", "0"]


def test_the_ends_of_the_calendar_do_not_overflow() -> None:
    """Payments at both ends are in the list."""
    dates = [datetime(9999, 12, 31, 23, 59, 59, 5, tzinfo=UTC), START, datetime(1, 1, 1, tzinfo=UTC)]
    model = Model([])
    model.rows = [Payment(id=str(number), date_created=date) for number, date in enumerate(dates)]
    assert list_ids(model, 1) == list_ids(model, 50) == ["0", "1", "2"]


def test_an_unsorted_list_raises() -> None:
    """The cursor requires the newest first."""
    model = Model([1_000_000, 2_000_000])
    model.rows.reverse()
    with pytest.raises(PaginationError, match="newest first"):
        list_ids(model, 50)


def test_a_page_without_dates_but_with_a_next_link_raises() -> None:
    """Without a date, the next page cannot be requested."""
    with pytest.raises(PaginationError, match="no readable date"):
        list(paginate(lambda _query, **_: PaymentPage(Payments.of([Payment(id="1")]), "?more"), Query()))


@pytest.mark.parametrize("status", ["pending", ""])
@pytest.mark.parametrize("changed", [1, 3])
def test_a_payment_may_leave_a_filtered_list_between_two_pages(status: str, changed: int) -> None:
    """A pending payment that settles leaves the list of pending ones; the unfiltered list may not lose it."""
    model = Model([second * 1_000_000 for second in range(120)])
    model.rows = [msgspec.structs.replace(row, status="pending") for row in model.rows]
    pages = paginate(model.fetch, Query(status=status))
    first = [row.id for row in next(pages).items]
    del model.rows[50 - changed : 50]
    if status:
        rest = [row.id for page in pages for row in page.items]
        assert [*first[: 50 - changed], *rest] == [row.id for row in model.rows]
    else:
        with pytest.raises(PaginationError, match="does not continue"):
            list(pages)


@pytest.mark.parametrize("lost", ["empty", "head"])
def test_a_lost_page_of_a_filtered_list_raises(lost: str) -> None:
    """The previous page still holds the missing payment, so it has not settled."""
    model = Model([second * 1_000_000 for second in range(120)])
    model.rows = [msgspec.structs.replace(row, status="pending") for row in model.rows]

    def fetch(query: Query, *, refetch: bool = False) -> PaymentPage:
        page = model.fetch(query)
        if query.before is None:
            return page
        return PaymentPage(Payments() if lost == "empty" else Payments.of(list(page.items)[5:]), page.next)

    with pytest.raises(PaginationError, match=r"does not continue|no readable date"):
        list(paginate(fetch, Query(status="pending")))
