"""Pagination of a list of friends by its next links."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from p2p_analytics.client.paging.next_link import parse_next_link
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import Page, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from p2p_analytics.records import User

    class FetchFriends(Protocol):
        """Callable that fetches a page of friends."""

        def __call__(self, parameters: dict[str, str], *, refetch: bool = False) -> Page[User]:
            """Return the page for request parameters; ``refetch`` bypasses the cache."""


class FriendCount(NamedTuple):
    """Number of friends by the user's profile, None if unknown.

    ``read`` returns the last known number; ``refetch`` requests the profile.
    """

    read: Callable[[], int | None]
    refetch: Callable[[], int | None]


def paginate_friends(
    fetch: FetchFriends, list_url: str, page_size: int, *, count: FriendCount, max_friends: int
) -> Iterator[Page[User]]:
    """Yield the pages of a list of friends; a last page without friends reports that some may be missing.

    The list ends when it holds as many friends as the profile counts, or else when a request for those after the
    last one returns no new friend.

    Parameters
    ----------
    fetch : FetchFriends
        Fetches a page.
    list_url : str
        Address of the list, which its next links must continue.
    page_size : int
        Friends per page.
    count : FriendCount
        Number of friends by the profile.
    max_friends : int
        Friends after which the list is considered endless.

    Raises
    ------
    PaginationError
        The list does not end, or a next link leads elsewhere.
    """
    limit = str(page_size)
    parameters = {"limit": limit}
    seen: dict[str, None] = {}
    followed: list[dict[str, str]] = []
    confirming = False
    while True:
        page = fetch(parameters, refetch=confirming)
        yield page
        new = [friend.id for friend in page.items if friend.id and friend.id not in seen]
        seen.update(dict.fromkeys(new))
        if len(seen) > max_friends:
            raise PaginationError(
                f"The service listed more than {max_friends:,} friends, so the list seems to have no end and nothing "
                "is returned. If the account has more, raise the limit: Client(max_payments=...)."
            )
        if (page.next is None or not new) and len(seen) == count.read():
            return
        if page.next is not None and page.items:
            followed.append(parameters)
            parameters = parse_next_link(page.next, list_url)
            if parameters in followed or (not new and confirming):
                raise PaginationError(
                    "The service's next links lead to no end of the list; nothing is returned: try again later."
                )
            confirming = not new
        elif confirming and not new:
            break
        else:
            confirming = True
            parameters = {"after": next(reversed(seen)), "limit": limit} if seen else {"limit": limit}
    if len(seen) < (count.read() or 0) and len(seen) < (count.refetch() or 0):
        numbers = f"{count.read()} and {len(seen)}"
        text = "the profile counts more friends than their list holds"
        yield Page((), None, (Problem(None, "friends_count", numbers, text, incomplete=True),))
