"""Next links: the same origin and path, without a token."""

import pytest

from p2p_analytics.client.paging.pager import parse_next_link
from p2p_analytics.errors import PaginationError

LIST = "https://pay.example/v1/payments"


@pytest.mark.parametrize(
    "link",
    [
        f"{LIST}?limit=3&before=2013-12-27T16:43:40",
        "https://pay.example:443/v1/payments?limit=3&before=2013-12-27T16:43:40",
        "https://PAY.example/v1/payments?limit=3&before=2013-12-27T16:43:40",
        "?limit=3&before=2013-12-27T16:43:40&access_token=abc",
        "/v1/payments?Access_Token=abc&limit=3&before=2013-12-27T16:43:40",
    ],
)
def test_a_link_to_the_list_is_parsed_without_a_token(link: str) -> None:
    """The document omits the token; if a link has one, it is removed."""
    assert parse_next_link(link, LIST) == {"limit": "3", "before": "2013-12-27T16:43:40"}


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/v1/payments?limit=3", "https://pay.example.evil.example/v1/payments",
        "https://pay.example@evil.example/v1/payments", "https://user@pay.example/v1/payments",
        "http://pay.example/v1/payments", "https://pay.example:8443/v1/payments", "//evil.example/v1/payments",
        "https:\\\\evil.example/v1/payments", "https://pay.example\\@evil.example/v1/payments",
        "https://pay.example/v1/me", f"{LIST}/../me", f"{LIST}\n?limit=3", "javascript:alert(1)",
        "https://[::1/v1/payments", "https://pay.example:port/v1/payments",
    ],
)  # fmt: skip
def test_a_link_to_another_place_is_refused(link: str) -> None:
    """A next link is response data: another origin or path ends the list in an error."""
    with pytest.raises(PaginationError):
        parse_next_link(link, LIST)
