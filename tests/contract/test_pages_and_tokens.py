"""Lists, next links and the client-side flow of the interface document, over plain HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from contract.plain_http import EVERY, MAYA, get, send

from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def crowd() -> Iterator[SandboxServer]:
    """Run a town of sixty people, all of them friends of maya."""
    with SandboxServer(people=60, years=1) as server:
        maya, *others = (int(one.user_id) for one in server.people)
        with server.store.writing() as connection:
            pairs = [pair for other in others for pair in ((maya, other), (other, maya))]
            connection.executemany("INSERT OR IGNORE INTO friendships VALUES (?, ?)", pairs)
        yield server


@pytest.mark.parametrize(
    ("limit", "size"), [({}, 20), ({"limit": "3"}, 3), ({"limit": "50"}, 50), ({"limit": "51"}, 50)]
)
def test_page_sizes_of_both_lists(crowd: SandboxServer, limit: dict[str, str], size: int) -> None:
    """Payments and friends have 20 items per page by default, `limit` on request, and at most 50."""
    for path in ("/payments", f"/users/{crowd.people[0].user_id}/friends"):
        body = get(crowd, path, **limit)
        assert len(body["data"]) == size
        assert body["pagination"]["next"] is not None


def test_next_links_need_the_token_appended(crowd: SandboxServer) -> None:
    """A next link without the token is 401, with `&access_token=` it is the next page; friends use `after`."""
    mine = crowd.people[0].user_id
    token = crowd.token(MAYA, *EVERY)
    for path, continued in (("/payments", "before"), (f"/users/{mine}/friends", "after")):
        first = get(crowd, path, limit="30")
        link = first["pagination"]["next"]
        assert set(parse_qs(urlsplit(link).query)) == {continued, "limit"}
        assert requests.get(link, timeout=10).status_code == 401
        second = requests.get(f"{link}&access_token={token}", timeout=10).json()
        seen, more = ({item["id"] for item in page["data"]} for page in (first, second))
        assert more
        assert not seen & more
    assert len(seen | more) == 59


@pytest.mark.parametrize("space", ["%20", "+"])
def test_a_token_of_the_client_side_flow(space: str) -> None:
    """Scopes are separated by an encoded space; after consent, `access_token` is valid for exactly 30 minutes."""
    time = [1_000_000_000.0]
    with SandboxServer(people=3, years=1, clock=lambda: time[0]) as own:
        scopes = f"access_profile{space}access_email"
        landed = own.sign_in(f"{own.base_url}/oauth/authorize?client_id={own.client_id}&scope={scopes}", own.viewer)
        assert landed.startswith("http://127.0.0.1/callback?access_token=")
        (token,) = parse_qs(urlsplit(landed).query)["access_token"]
        assert send(own, "GET", "/me", token).body["data"]["user"]["email"] is not None
        time[0] += 30 * 60 - 1
        assert send(own, "GET", "/me", token).status == 200
        time[0] += 1
        assert send(own, "GET", "/me", token).status == 401
