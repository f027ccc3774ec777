"""Pagination with ties: no loss, on a model service with a lossy next link."""

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
from support.payment_list import START, Model, load_ids, make_rows


def list_ids(model: Model, page_size: int, before: datetime = END) -> list[str]:
    """Return the ids of all pages, in order."""
    pages = paginate(model.fetch_current, Query(limit=page_size), before=before)
    return [row.id for page in pages for row in page.items]


def make_pending() -> Model:
    """Return a list of 120 pending payments."""
    model = Model(make_rows(range(120)))
    model.rows = [msgspec.structs.replace(row, status="pending") for row in model.rows]
    return model


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 40).map(lambda tenth: tenth / 10), max_size=60).filter(
        lambda times: max((sum(int(t) == s for t in times) for s in range(5)), default=0) < 50
    ),
    st.sampled_from([1, 2, 7, 20, 50]),
)
def test_every_payment_is_returned_once_and_in_order(times: list[float], page_size: int) -> None:
    """For any ties within a second and any page size."""
    model = Model(make_rows(times))
    assert list_ids(model, page_size) == [row.id for row in model.rows]


def test_the_overlap_costs_few_requests() -> None:
    """2,000 payments without ties and pages of 50 take at most 5 % more requests than the minimum."""
    model = Model(make_rows(range(2_000)))
    assert len(list_ids(model, 50)) == 2_000
    assert len(model.asked) <= 2_000 / 50 * 1.05


def test_a_bound_within_a_second_is_exact() -> None:
    """A list before .5 of a second holds the earlier payments of that second, once."""
    model = Model(make_rows([0, 0.4, 0.5, 0.9]))
    assert list_ids(model, 1, before=START + timedelta(seconds=0.5)) == ["1", "0"]


def test_the_ends_of_the_calendar_do_not_overflow() -> None:
    """Payments at both ends are in the list and in a load: the bounds of all time exclude nothing."""
    dates = [datetime(9999, 12, 31, 23, 59, 59, 5, tzinfo=UTC), START, datetime(1, 1, 1, tzinfo=UTC)]
    model = Model([])
    model.rows = [Payment(id=str(number), date_created=date) for number, date in enumerate(dates)]
    assert list_ids(model, 1) == list_ids(model, 50) == load_ids(model) == ["0", "1", "2"]


def test_an_unsorted_list_raises() -> None:
    """The cursor requires the newest first."""
    model = Model(make_rows([1, 2]))
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
    model = make_pending()
    pages = paginate(model.fetch_current, Query(status=status))
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
    model = make_pending()

    def fetch(query: Query, *, refetch: bool = False) -> PaymentPage:
        page = model.fetch_current(query)
        if query.before is None:
            return page
        return PaymentPage(Payments() if lost == "empty" else Payments.of(list(page.items)[5:]), page.next)

    with pytest.raises(PaginationError, match=r"does not continue|no readable date"):
        list(paginate(fetch, Query(status="pending")))


def test_new_payments_during_pagination_lose_nothing() -> None:
    """A new payment shifts every page; each earlier payment is still returned once."""
    model = Model(make_rows([number // 3 for number in range(130)]))
    before = [row.id for row in model.rows]
    found = []
    for number, page in enumerate(paginate(model.fetch_current, Query(limit=20))):
        found += [row.id for row in page.items]
        model.rows.insert(0, Payment(id=str(900 + number), date_created=START + timedelta(days=1 + number)))
    assert found == before
