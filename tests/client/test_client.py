"""Client methods: documented filters, argument checks, friends, and the account of the cache."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta, timezone

import pandas as pd
import pytest

from p2p_analytics.client import Client
from p2p_analytics.errors import ConfigurationError, PaginationError, RecordError, ScopeError, TokenError
from support.canary import CANARY
from support.connections import client_to

EMPTY = {"data": [], "pagination": {"next": None}}
ME = {"data": {"balance": 9.9, "user": {"id": "7", "display_name": "Me"}}}


def test_filters_are_sent_in_the_documented_form(start_service) -> None:
    """Values separated by commas, instants in UTC, and the largest page; an empty page is confirmed."""
    service = start_service(lambda *_: EMPTY)
    client_to(service.base_url).payments(
        action="charge", actor=["8", "9"], status=["pending", "failed"],
        after=date(2024, 5, 1), before=datetime(2024, 6, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    )  # fmt: skip
    assert service.asked == [
        ("/v1/payments", {
            "action": "charge", "actor": "8,9", "status": "pending,failed", "after": "2024-05-01T00:00:00",
            "before": "2024-06-01T00:00:00", "limit": "50", "access_token": CANARY,
        }),
    ] * 2  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"action": "give"}, "action can be pay, charge"),
        ({"status": ["settled", "open"]}, "status can be settled, pending, failed, expired, cancelled"),
        ({"status": []}, "empty list"),
        ({"actor": "8,9"}, "actor cannot be"),
        ({"action": ["pay", "charge"]}, "action"),
        ({"actor": [8]}, "actor must be text"),
        ({"after": pd.NaT}, "after: 'NaT'"),
        ({"before": 20240501}, "before: '20240501'"),
        ({"after": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}, "after: '0001"),
        ({"after": "yesterday"}, "after: 'yesterday'"),
        ({"before": "2024-13-01"}, "before: "),
    ],
)
def test_an_undocumented_filter_is_refused_before_sending(start_service, arguments: dict, sentence: str) -> None:
    """The service would ignore or refuse the value; the message says which values are allowed."""
    service = start_service(lambda *_: EMPTY)
    with pytest.raises(ConfigurationError, match=sentence):
        client_to(service.base_url).payments(**arguments)
    assert service.asked == []


def test_bad_settings_are_refused_by_the_constructor() -> None:
    """Each raises its own error class, before any request."""
    with pytest.raises(ConfigurationError, match="base_url"):
        Client("token")
    with pytest.raises(TokenError, match="P2P_ACCESS_TOKEN"):
        Client(base_url="https://pay.example")
    for name in ("concurrency", "max_attempts", "max_payments"):
        for number in (0, -1, 1.5, "8", None):
            with pytest.raises(ConfigurationError, match=f"{name} must be a whole number from 1, not"):
                Client("token", base_url="https://pay.example", **{name: number})  # type: ignore[arg-type]
    for timeout in (30, None, (1, 2, 3), (0, 1)):
        with pytest.raises(ConfigurationError, match="timeout"):
            Client("token", base_url="https://pay.example", timeout=timeout)  # type: ignore[arg-type]
    with pytest.raises(TokenError):
        Client(5, base_url="https://pay.example")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="page_size"):
        Client("token", base_url="https://pay.example").payment_pages(page_size=51)
    for size in (1, 50):
        Client("token", base_url="https://pay.example").payment_pages(page_size=size)


def test_ids_are_quoted_in_the_path(start_service) -> None:
    """An id is never converted to a number, and adds no segment to the path."""
    service = start_service(lambda *_: {"data": {"id": "x"}})
    client_to(service.base_url).payment("../me?x=1")
    assert service.asked[0][0] == "/v1/payments/..%2Fme%3Fx%3D1"
    for wrong in (1322585332520059420, "", ".", ".."):
        with pytest.raises(ConfigurationError, match="id is text"):
            client_to(service.base_url).user(wrong)  # type: ignore[arg-type]


def test_friends_follow_the_next_links(start_service) -> None:
    """The client sends the parameters of the link without its token, returns each friend once, and confirms the end."""
    pages = {
        None: {"data": [{"id": "1"}, {"id": "2"}], "pagination": {"next": "?after=2&limit=2&access_token=old"}},
        "2": {"data": [{"id": "2"}, {"id": "3"}], "pagination": {"next": None}},
        "3": {"data": [], "pagination": {"next": None}},
    }
    service = start_service(lambda path, sent: ME if path == "/v1/me" else pages[sent.get("after")])
    assert [friend.id for friend in client_to(service.base_url).friends()] == ["1", "2", "3"]
    assert service.asked[1:] == [
        ("/v1/users/7/friends", {"limit": "50", "access_token": CANARY}),
        ("/v1/users/7/friends", {"after": "2", "limit": "2", "access_token": CANARY}),
        ("/v1/users/7/friends", {"after": "3", "limit": "50", "access_token": CANARY}),
    ]


@pytest.mark.parametrize("rest", [["3"], []])
def test_a_list_of_friends_that_ends_early_is_asked_for_again(start_service, rest: list[str]) -> None:
    """The profile counts three; if the third one does not appear, a problem says so, and friends() raises."""
    me = {"data": {"balance": None, "user": {"id": "7", "friends_count": 3}}}
    lists = {None: ["1", "2"], "2": rest}
    service = start_service(
        lambda path, sent: me if path == "/v1/me" else {"data": [{"id": n} for n in lists.get(sent.get("after"), [])]}
    )
    client = client_to(service.base_url)
    pages = list(client.friend_pages())
    assert [friend.id for page in pages for friend in page.items] == ["1", "2", *rest]
    assert [problem.value for page in pages for problem in page.problems] == ([] if rest else ["3 and 2"])
    if not rest:
        with pytest.raises(PaginationError, match="the profile counts more friends than their list holds"):
            client.friends()


@pytest.mark.parametrize("link", ["?after=1", "?after={}"])
def test_an_endless_list_of_friends_raises(start_service, link: str) -> None:
    """A cycle of links, and links without new friends, raise after a few requests."""
    service = start_service(lambda *_: {"data": [{"id": "1"}], "pagination": {"next": link.format(len(service.asked))}})
    with pytest.raises(PaginationError):
        client_to(service.base_url).friends("7")
    assert len(service.asked) <= 4


def test_an_unreadable_record_fails_the_list_but_not_the_pages(start_service) -> None:
    """payments() raises; payment_pages() lists a problem of the page, which has the time of its response."""
    before = datetime.now(UTC)
    service = start_service(lambda *_: {"data": [{"id": "1", "amount": 0.123}], "pagination": None})
    with pytest.raises(RecordError, match="'amount' of payment 1"):
        client_to(service.base_url).payments()
    (page,) = client_to(service.base_url).payment_pages()
    assert [problem.field for problem in page.problems if problem.unreadable] == ["amount"]
    assert before <= page.fetched_at <= datetime.now(UTC)


def test_a_token_without_access_to_me_uses_no_cache(start_service, tmp_path) -> None:
    """Without access_profile the account is unknown, so nothing is cached; friends can still be read."""
    refused = (403, {}, {"error": {"message": "scope", "code": "260"}})
    service = start_service(lambda path, _sent: refused if path == "/v1/me" else EMPTY)
    client = Client("token", base_url=service.base_url, cache_dir=tmp_path)
    assert client.friends("7") == []
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ScopeError):
        client.me()


def test_threads_share_one_request_to_me(start_service, tmp_path) -> None:
    """Sixteen simultaneous calls need one request."""
    service = start_service(lambda path, _sent: ME if path == "/v1/me" else EMPTY)
    client = Client("token", base_url=service.base_url, cache_dir=tmp_path)
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda day: client.payments(before=f"2025-01-{day:02}"), range(1, 17)))
    assert found == [[]] * 16
    assert sum(path == "/v1/me" for path, _ in service.asked) == 1
