"""Scheduler on a model service: complete, ordered, few requests, and no stale page."""

from __future__ import annotations

import bisect
import random
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.client.paging._load_state import LoadState
from p2p_analytics.client.paging._window_task import WindowTask
from p2p_analytics.client.paging.pagination import paginate
from p2p_analytics.client.paging.query import Query
from p2p_analytics.client.paging.scheduler import fetch_history
from p2p_analytics.client.window import BEGINNING, END, Window
from p2p_analytics.errors import PaginationError, TransportError
from p2p_analytics.records import Payment, PaymentPage, Payments, User

START = datetime(2019, 3, 1, tzinfo=UTC)
YEAR = 365 * 86_400


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
        filtered = query.action or query.status or query.actor
        rows = [row for row in self.rows[start:] if self._matches(query, row)] if filtered else self.rows[start:][:51]
        with self._guard:
            self.at_once -= 1
        return PaymentPage(Payments.of(rows[: query.limit]), "?more" if len(rows) > query.limit else None)

    def _start(self, query: Query) -> int:
        """Return where the payments before the bound begin."""
        side = bisect.bisect_left if self.inclusive else bisect.bisect_right
        return 0 if query.before is None else side(self.rows, -query.before.timestamp(), key=_age)

    def _matches(self, query: Query, row: Payment) -> bool:
        filters = {"action": row.action, "status": row.status, "actor": row.actor and row.actor.id}
        return all(
            not getattr(query, name) or value in getattr(query, name).split(",") for name, value in filters.items()
        )

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


def make_rows(seconds: list[int]) -> list[Payment]:
    """Return payments at these seconds."""
    dates = [START + timedelta(seconds=second) for second in seconds]
    return [Payment(id=str(number), date_created=date) for number, date in enumerate(dates)]


def load_ids(
    model: Model, *, concurrency: int = 4, likely_start: datetime | None = None, **bounds: datetime
) -> list[str]:
    """Return the ids of a load."""
    asked = {"after": BEGINNING, "before": END} | bounds
    pages = fetch_history(
        model, likely_start=likely_start, concurrency=concurrency, on_progress=lambda *_: None, **asked
    )
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


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 6 * YEAR // 1000).map(lambda number: number * 1000), max_size=400, unique=True),
    st.booleans(),
    st.integers(1, 8),
    st.sampled_from([None, START, START - timedelta(days=900), START + timedelta(days=900)]),
)
def test_every_payment_is_returned_once_and_in_order(seconds: list[int], inclusive: bool, width: int, since) -> None:  # noqa: FBT001
    """For any density, likely start and kind of bound."""
    model = Model(make_rows([*seconds, *seconds[::7]]), inclusive=inclusive)
    assert load_ids(model, concurrency=width, likely_start=since) == [row.id for row in model.rows]


@pytest.mark.parametrize("since", [None, START - timedelta(days=20)])
@pytest.mark.parametrize("concurrency", [1, 4, 8])
def test_twenty_thousand_uneven_payments_take_few_requests(concurrency: int, since) -> None:
    """At most a tenth more than the minimum, and never more at once than allowed."""
    model = Model(make_uneven(20_000, 6))
    assert load_ids(model, concurrency=concurrency, likely_start=since) == [row.id for row in model.rows]
    assert len(model.asked) <= 1.10 * 20_000 / 50
    assert model.most_at_once <= concurrency


@pytest.mark.parametrize(("count", "requests"), [(0, 2), (1, 2), (50, 2), (60, 3), (75, 3), (100, 5)])
def test_a_short_history_takes_few_requests(count: int, requests: int) -> None:
    """A hundred payments in ten years take five requests at most, fifty take two: the end is confirmed."""
    model = Model(make_rows([number * 10 * YEAR // 100 // 2 for number in range(count)]))
    assert len(load_ids(model)) == count
    assert len(model.asked) <= requests


@pytest.mark.parametrize(
    ("left", "idle", "shared"),
    [(3, 0, False), (3, 1, True), (2, 3, False), (20, -1, False), (20, 1, True), (72, 0, True)],
)
def test_idle_connections_split_a_window(left: int, idle: int, shared: bool) -> None:  # noqa: FBT001
    """Three pages are split for an idle connection; with an estimated start, seven."""
    model, window = Model([]), Window(datetime(2021, 1, 1, tzinfo=UTC), datetime(2022, 1, 1, tzinfo=UTC))
    parts = [
        part.window for part in WindowTask(window, model.fetch_closed, LoadState(), pages_left=left).split(None, idle)
    ]
    assert bool(parts) == shared
    assert [later.start for later in parts[:-1]] == [earlier.end for earlier in parts[1:]]
    guessed = WindowTask(Window(BEGINNING, window.end), model.fetch_closed, LoadState(), pages_left=left)
    assert bool(guessed.split(None, idle)) == (shared and left > 6)


def test_a_second_load_only_fetches_the_open_window() -> None:
    """Closed windows get the same requests as before; only the newest page differs."""
    model = Model(make_uneven(5_000, 6))
    load_ids(model)
    before = Counter(query.before for query in model.asked)
    model.rows.insert(0, Payment(id="9999999", date_created=START + timedelta(days=6 * 365, seconds=1)))
    model.asked.clear()
    assert load_ids(model) == [row.id for row in model.rows]
    assert [query for query in model.asked if query.before not in before] == []


def test_daily_loads_send_few_new_requests() -> None:
    """With a payment every eight hours, a load needs at most two new requests."""
    every = make_rows([number * 8 * 3600 for number in range(3 * 500)])
    model = Model(every[:300])
    known: set[datetime | None] = {None}
    for day in range(120):
        model.rows = sorted(every[: 300 + 3 * day], key=lambda row: row.date_created, reverse=True)
        model.asked.clear()
        assert len(load_ids(model)) == len(model.rows)
        anew = {query.before for query in model.asked} - known if day else set()
        assert len(anew) <= 2, day
        known |= {query.before for query in model.asked}


def test_bounds_are_exclusive() -> None:
    """A load between the dates of two payments excludes both, even within complete windows."""
    model = Model(make_rows([number * 40_000 for number in range(3_000)]), inclusive=True)
    load_ids(model)
    ordered = list(reversed(model.rows))
    for low, high in ((10, 20), (100, 2_900), (0, 2_999), (2_950, 2_999)):
        after, before = ordered[low].date_created, ordered[high].date_created
        assert load_ids(model, after=after, before=before) == [row.id for row in reversed(ordered[low + 1 : high])]


def make_crowd(count: int, *, known: bool = True, **kinds: list[str]) -> list[Payment]:
    """Return payments of one second with these actions, statuses and actors in turn, and some before and after.

    Payments before and after have the same actors if ``known``.
    """
    words = {"action": ["pay"], "status": ["settled"], "actor": ["7"]} | kinds
    made = [
        Payment(
            id=str(number),
            date_created=START,
            action=words["action"][number % len(words["action"])],
            status=words["status"][number // 2 % len(words["status"])],
            actor=User(id=words["actor"][number // 3 % len(words["actor"])]),
        )
        for number in range(count)
    ]
    around = make_rows([-9, -8, -1, 1, 2, 80_000])
    actors = words["actor"] if known else ["7"]
    return made + [
        msgspec.structs.replace(
            row, id=str(10**6 + n), action="pay", status="settled", actor=User(id=actors[n % len(actors)])
        )
        for n, row in enumerate(around)
    ]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(
    "kinds",
    [
        {"action": ["pay", "charge"], "status": ["settled", "pending", "failed"]},
        {"action": ["pay", "charge"], "actor": ["7", "8", "9", "10"]},
        {"actor": ["7", "8", "9", "10"]},
    ],
    ids=["action and status", "action and actor", "actor"],
)
def test_filters_complete_a_crowded_second(kinds: dict, inclusive: bool) -> None:  # noqa: FBT001
    """A hundred and thirty payments in one second among others: all of them, once."""
    model = Model(make_crowd(130, **kinds), inclusive=inclusive)
    found = load_ids(model)
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(row.id for row in model.rows)
    assert list_problems(model) == []


def test_microseconds_complete_a_crowded_second() -> None:
    """If they differ and the service compares them, no filter is needed."""
    made = [Payment(id=str(number), date_created=START + timedelta(microseconds=number)) for number in range(130)]
    model = Model([*made, *make_crowd(0)])
    assert load_ids(model) == [row.id for row in model.rows]
    assert not any(query.action for query in model.asked)


def list_problems(model: Model, friends: tuple[str, ...] = ()) -> list[str]:
    """Return the problems of a load that make it incomplete."""
    pages = fetch_history(
        model,
        after=BEGINNING,
        before=END,
        likely_start=None,
        concurrency=2,
        on_progress=lambda *_: None,
        list_friend_ids=lambda: friends,
    )
    return [problem.problem for page in pages for problem in page.problems if problem.incomplete]


def test_an_inseparable_crowded_second_is_a_problem() -> None:
    """Fifty-one payments of one second, kind and actor, or of an unknown action, are reported as incomplete."""
    (found,) = list_problems(Model(make_crowd(51)))
    assert "of one kind and one person" in found
    assert any("found by no filter" in text for text in list_problems(Model(make_crowd(60, action=["pay", "gift"]))))


def test_unknown_people_make_a_crowded_second_doubtful() -> None:
    """The page may hide others like them; friends, and people on other payments, are known."""
    strangers = make_crowd(130, actor=["7", "8", "9", "10"], known=False)
    (found,) = list_problems(Model(strangers))
    assert "some of the people in it are seen nowhere else; others may be missing" in found
    assert list_problems(Model(strangers), friends=("8", "9", "10")) == []
    assert list_problems(Model(make_crowd(130, actor=["7", "8", "9", "10"]))) == []


@pytest.mark.parametrize("people", [100, 400])
def test_people_from_later_pages_complete_a_crowded_second(people: int) -> None:
    """Two hundred payments by up to a hundred people, of whom the page shows fifty: none is lost."""
    chance = random.Random(3)  # noqa: S311 - the same data each time
    ids = [str(100 + number) for number in range(people)]
    words = {"action": "pay", "status": "settled"}
    made = [Payment(id=str(n), date_created=START, actor=User(id=ids[n % people]), **words) for n in range(200)]
    older = [
        Payment(id=str(1000 + n), date_created=START - timedelta(days=n + 1), actor=User(id=each), **words)
        for n, each in enumerate(chance.sample(ids, people))
    ]
    model = Model([*made, *older])
    assert sorted(load_ids(model)) == sorted(row.id for row in model.rows)
    assert list_problems(model) == []


@pytest.mark.parametrize("concurrency", [1, 4])
def test_a_fault_ends_the_load_and_its_threads(concurrency: int) -> None:
    """The error is raised unchanged, and no thread is left."""
    model = Model(make_uneven(3_000, 3))
    model.fetch_closed = lambda query, **_: (
        raise_error(TransportError("gone")) if len(model.asked) > 12 else model.fetch_current(query)
    )
    with pytest.raises(TransportError, match="gone"):
        load_ids(model, concurrency=concurrency)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]


def raise_error(error: Exception) -> PaymentPage:
    """Raise an error."""
    raise error


def test_closing_the_generator_ends_the_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing keeps running."""
    model = Model(make_uneven(3_000, 3))
    pages = fetch_history(
        model, after=BEGINNING, before=END, likely_start=None, concurrency=4, on_progress=lambda *_: None
    )
    next(pages)
    next(pages)
    pages.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("p2p-load")]


def test_progress_has_a_fair_estimate() -> None:
    """It never decreases, ends at the number of payments, and is within a third halfway."""
    model = Model(make_uneven(20_000, 6))
    progress: list[tuple[int, int]] = []
    pages = fetch_history(
        model,
        after=BEGINNING,
        before=END,
        likely_start=START,
        concurrency=4,
        on_progress=lambda *each: progress.append(each),
    )
    assert sum(len(page.items) for page in pages) == 20_000
    assert progress == sorted(progress, key=lambda each: each[0])
    assert progress[-1] == (20_000, 20_000)
    expected = next(expected for payments, expected in progress if payments > 10_000)
    assert 2 / 3 <= expected / 20_000 <= 4 / 3


class FaultyModel(Model):
    """Model that answers one request with a wrong but plausible page."""

    def __init__(self, rows: list[Payment], fault: str, at: int, *, page: int = 50) -> None:
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


def make_list(name: str) -> list[Payment]:
    """Return the payments of a case: spread, few, or with a crowded second in the middle or at the end."""
    words = {"action": "pay", "status": "settled"}
    chance = random.Random(2)  # noqa: S311 - the same data each time
    count = {"few": 40, "one on a page": 40}.get(name, 260)
    seconds = sorted(chance.randrange(count * 3_000) for _ in range(count))
    crowd = {"crowd": seconds[130] if count > 130 else 0, "crowded end": -5}.get(name)
    seconds += [] if crowd is None else [crowd] * 70
    return [
        Payment(id=str(n), date_created=START + timedelta(seconds=second), actor=User(id=str(20 + n % 30)), **words)
        for n, second in enumerate(seconds)
    ]


@pytest.mark.fault("read")
@pytest.mark.parametrize("fault", ["empty", "empty and on", "no link", "zone", "day", "stale", "cut"])
@pytest.mark.parametrize("name", ["spread", "crowd", "crowded end", "few", "one on a page", "until a bound"])
def test_whichever_page_is_wrong_nothing_is_lost(name: str, fault: str) -> None:
    """Each request of a pagination and of a load in turn gets a wrong page once: all payments, or an error."""
    made = make_list(name)
    page = 1 if name == "one on a page" else 50
    bound = START + timedelta(days=6, hours=1) if name == "until a bound" else END
    expected = sorted(row.id for row in made if row.date_created < bound)
    for way in ("walk", "load"):
        at, asked = 0, 1
        while at < min(asked, 45):
            model = FaultyModel(made, fault, at, page=page)
            if way == "walk":
                pages = paginate(model.fetch_current, Query(), before=bound)
            else:
                pages = fetch_history(
                    model, after=BEGINNING, before=bound, likely_start=None, concurrency=1, on_progress=lambda *_: None
                )
            try:
                found = sorted(row.id for each in pages for row in each.items)
            except PaginationError:
                found = expected
            assert found == expected, f"{way}, request {at}"
            at, asked = at + 1, len(model.asked)


@pytest.mark.parametrize("way", ["walk", "load"])
def test_a_list_that_repeats_its_payments_raises(way: str) -> None:
    """Pages without new payments are an error, not an endless loop."""
    count = 0

    def fetch(query: Query, *, refetch: bool = False) -> PaymentPage:
        nonlocal count
        count += 1
        until = query.before or START
        rows = [Payment(id=str(n), date_created=until - timedelta(seconds=n + 1)) for n in range(50)]
        return PaymentPage(Payments.of(rows), "?more")

    model = Model([])
    model.fetch_current = model.fetch_closed = fetch
    pages = (
        paginate(fetch, Query())
        if way == "walk"
        else fetch_history(
            model, after=BEGINNING, before=END, likely_start=None, concurrency=1, on_progress=lambda *_: None
        )
    )
    with pytest.raises(PaginationError):
        list(pages)
    assert count < 3_000
