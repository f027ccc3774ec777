"""Index ranges that a page of payments is merged from.

Each combination of filter values is one ordered range of one index of ``party``, so the cost of a page depends on its
size and on the number of values in the filters, never on the length of the history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from p2p_analytics.sandbox.storage.rows import PaymentFilter
from p2p_analytics.vocabulary import Action, Status

_RANGE: Final = "date_us > ? AND date_us < ? ORDER BY date_us DESC, payment_id DESC LIMIT ?"
_KEYS: Final = "SELECT date_us, payment_id FROM party"
_BY_DATE: Final = f"{_KEYS} WHERE user_id = ? AND {_RANGE}"
_BY_KIND: Final = f"{_KEYS} INDEXED BY party_kind WHERE user_id = ? AND action = ? AND status = ? AND {_RANGE}"
_BY_ACTOR: Final = f"{_KEYS} INDEXED BY party_actor WHERE user_id = ? AND actor_id = ? AND {_RANGE}"
_BY_ACTOR_AND_KIND: Final = (
    f"{_KEYS} INDEXED BY party_actor_kind WHERE user_id = ? AND actor_id = ? AND action = ? AND status = ? AND {_RANGE}"
)


def list_index_ranges(user_id: int, wanted: PaymentFilter) -> Iterator[tuple[str, tuple[object, ...]]]:
    """Yield the query and the leading arguments of each index range; an absent action or status filter means all."""
    everything = set(wanted.actions or Action) == set(Action) and set(wanted.statuses or Status) == set(Status)
    kinds = [
        (action.value, status.value) for action in wanted.actions or Action for status in wanted.statuses or Status
    ]
    if wanted.actors and everything:
        yield from ((_BY_ACTOR, (user_id, actor)) for actor in wanted.actors)
    elif wanted.actors:
        yield from ((_BY_ACTOR_AND_KIND, (user_id, actor, *kind)) for actor in wanted.actors for kind in kinds)
    elif everything:
        yield _BY_DATE, (user_id,)
    else:
        yield from ((_BY_KIND, (user_id, *kind)) for kind in kinds)
