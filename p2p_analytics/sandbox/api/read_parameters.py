"""Parameters of GET /payments and GET /users/:user_id/friends: filters, bounds and page size (document: "Limits")."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeVar

from p2p_analytics.sandbox.errors import InvalidParameterError, NotFoundError
from p2p_analytics.sandbox.http.parameters import Parameters, instant_us, read_id
from p2p_analytics.sandbox.storage.index_ranges import count_index_ranges
from p2p_analytics.sandbox.storage.rows import LARGEST, PaymentFilter
from p2p_analytics.vocabulary import PAGE_SIZE_DEFAULT, PAGE_SIZE_MAXIMUM, Action, Status

_Word = TypeVar("_Word", bound=StrEnum)

MOST_COMBINATIONS: Final = 64  # of actor, action and status: each needs a database search
_WHOLE: Final = re.compile(r"[+ ]?\d{1,4000}", re.ASCII)


@dataclass(frozen=True, slots=True)
class PaymentList:
    """Filter and page size of one GET /payments, and the parameters that its next link repeats."""

    filter: PaymentFilter
    limit: int
    repeated: dict[str, str]


@dataclass(frozen=True, slots=True)
class FriendList:
    """Bounds and page size of one GET /users/:user_id/friends, and the parameters that its next link repeats."""

    after: int
    before: int
    limit: int
    repeated: dict[str, str]


def read_payment_list(parameters: Parameters) -> PaymentList:
    """Read the parameters of GET /payments."""
    given = {name: parameters.get(name) for name in ("action", "actor", "status", "after", "before")}
    limit = read_page_size(parameters)
    actors = tuple(sorted({_read_actor(word) for word in _split(given["actor"])}))
    payment_filter = PaymentFilter(
        actions=_read_words("action", given["action"], Action, several=False),
        statuses=_read_words("status", given["status"], Status, several=True),
        actors=actors,
        after_us=-LARGEST if given["after"] is None else instant_us("after", given["after"]),
        before_us=LARGEST if given["before"] is None else instant_us("before", given["before"]),
    )
    if count_index_ranges(payment_filter) > MOST_COMBINATIONS:
        raise InvalidParameterError(
            f"actor, action and status make more than {MOST_COMBINATIONS} combinations; ask for fewer actors at a time."
        )
    repeated = {name: value for name, value in given.items() if value is not None and name != "before"}
    return PaymentList(payment_filter, limit, {"limit": str(limit), **repeated})


def read_friend_list(parameters: Parameters) -> FriendList:
    """Read the parameters of GET /users/:user_id/friends."""
    limit = read_page_size(parameters)
    after, before = parameters.get("after"), parameters.get("before")
    return FriendList(
        after=0 if after is None else _read_bound("after", after),
        before=LARGEST if before is None else _read_bound("before", before),
        limit=limit,
        repeated={"limit": str(limit), **({"before": before} if before else {})},
    )


def read_page_size(parameters: Parameters) -> int:
    """Return the page size: 20 by default, and 50 for any larger value."""
    text = parameters.get("limit")
    if text is None:
        return PAGE_SIZE_DEFAULT
    digits = text.lstrip("+ ").lstrip("0")
    if not _WHOLE.fullmatch(text) or not digits:
        raise InvalidParameterError(f"limit must be a whole number from 1 to {PAGE_SIZE_MAXIMUM}.")
    return PAGE_SIZE_MAXIMUM if len(digits) > len(str(PAGE_SIZE_MAXIMUM)) else min(int(digits), PAGE_SIZE_MAXIMUM)


def _split(text: str | None) -> list[str]:
    return [word.strip() for word in (text or "").split(",") if word.strip()]


def _read_words(name: str, text: str | None, kind: type[_Word], *, several: bool) -> tuple[_Word, ...]:
    words = _split(text)
    try:
        chosen = {kind(word) for word in words}
    except ValueError:
        raise InvalidParameterError(f"{name} must be {' or '.join(kind)}.") from None
    if len(words) > 1 and not several:
        raise InvalidParameterError(f"{name} takes one value: {' or '.join(kind)}.")
    return tuple(word for word in kind if word in chosen)


def _read_actor(word: str) -> int:
    try:
        return read_id(word)
    except NotFoundError:
        raise InvalidParameterError("actor must be a user id, or several separated by commas.") from None


def _read_bound(name: str, text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise InvalidParameterError(f"{name} must be a user id.")
    digits = text.lstrip("0") or "0"
    return LARGEST if len(digits) > len(str(LARGEST)) else min(int(digits), LARGEST)
