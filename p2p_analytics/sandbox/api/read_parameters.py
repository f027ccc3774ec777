"""Parameters of GET /payments and GET /users/:user_id/friends: filters, bounds and page size (document: "Limits")."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, NamedTuple, TypeVar

from p2p_analytics.sandbox.errors import InvalidParameterError, NotFoundError
from p2p_analytics.sandbox.http.parameters import Parameters, instant_us, read_id
from p2p_analytics.sandbox.storage.index_ranges import list_index_ranges
from p2p_analytics.sandbox.storage.rows import LARGEST, PaymentFilter
from p2p_analytics.vocabulary import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAXIMUM, Action, Status

_Word = TypeVar("_Word", bound=StrEnum)

MOST_COMBINATIONS: Final = 64  # of actor, action and status: each needs a database search
_WHOLE: Final = re.compile(r"[+ ]?\d{1,4000}", re.ASCII)


class PaymentList(NamedTuple):
    """Filter and page size of one GET /payments, and the parameters that its next link repeats."""

    filter: PaymentFilter
    limit: int
    repeated: dict[str, str]


class FriendList(NamedTuple):
    """Bounds and page size of one GET /users/:user_id/friends, and the parameters that its next link repeats."""

    after: int
    before: int
    limit: int
    repeated: dict[str, str]


def read_payment_list(parameters: Parameters) -> PaymentList:
    """Read the parameters of GET /payments."""
    given = {name: parameters.get(name) for name in ("action", "actor", "status", "after", "before")}
    limit = read_page_size(parameters)
    try:
        actors = tuple(sorted({read_id(word) for word in _split(given["actor"])}))
    except NotFoundError:
        raise InvalidParameterError("actor must be a user id, or several separated by commas.") from None
    actions = _read_words("action", given["action"], Action)
    if len(_split(given["action"])) > 1:
        raise InvalidParameterError(f"action takes one value: {' or '.join(Action)}.")
    payment_filter = PaymentFilter(
        actions=actions,
        statuses=_read_words("status", given["status"], Status),
        actors=actors,
        after_us=-LARGEST if given["after"] is None else instant_us("after", given["after"]),
        before_us=LARGEST if given["before"] is None else instant_us("before", given["before"]),
    )
    if len(list(list_index_ranges(0, payment_filter))) > MOST_COMBINATIONS:
        raise InvalidParameterError(
            f"actor, action and status make more than {MOST_COMBINATIONS} combinations; ask for fewer actors at a time."
        )
    repeated = {name: value for name, value in given.items() if value is not None}
    return PaymentList(payment_filter, limit, {"limit": str(limit), **repeated})


def read_friend_list(parameters: Parameters) -> FriendList:
    """Read the parameters of GET /users/:user_id/friends."""
    limit, before = read_page_size(parameters), parameters.get("before")
    return FriendList(
        after=_read_bound(parameters, "after", 0),
        before=_read_bound(parameters, "before", LARGEST),
        limit=limit,
        repeated={"limit": str(limit), **({"before": before} if before else {})},
    )


def read_page_size(parameters: Parameters) -> int:
    """Return the page size: 20 by default, and 50 for any larger value."""
    text = parameters.get("limit")
    if text is None:
        return PAGE_SIZE_DEFAULT
    if not _WHOLE.fullmatch(text) or not int(text):
        raise InvalidParameterError(f"limit must be a whole number from 1 to {PAGE_SIZE_MAXIMUM}.")
    return min(int(text), PAGE_SIZE_MAXIMUM)


def _split(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _read_words(name: str, text: str | None, kind: type[_Word]) -> tuple[_Word, ...]:
    try:
        chosen = {kind(word) for word in _split(text)}
    except ValueError:
        raise InvalidParameterError(f"{name} must be {' or '.join(kind)}.") from None
    return tuple(word for word in kind if word in chosen)


def _read_bound(parameters: Parameters, name: str, default: int) -> int:
    text = parameters.get(name)
    if text is None:
        return default
    if not text.isascii() or not text.isdigit():
        raise InvalidParameterError(f"{name} must be a user id.")
    return min(int(text.lstrip("0")[:20] or "0"), LARGEST)  # 20 digits are enough to be larger
