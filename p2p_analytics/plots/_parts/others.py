"""Sums of the rows of a finished table that are not shown one by one, so that a plot or table adds up."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from p2p_analytics.money import add_units
from p2p_analytics.plots._parts import style

if TYPE_CHECKING:
    from narwhals.stable.v2.typing import IntoFrame


class OtherPeople(NamedTuple):
    """The people of a table of `spend_by_friend` that are not shown one by one; amounts in currency units."""

    people: int
    payments: int
    sent: float
    received: float
    net: float
    share_of_sent: float


class OtherRequests(NamedTuple):
    """The requests of a table of `pending_requests` that are not shown one by one; amounts in currency units."""

    requests: int
    to_receive: float
    to_pay: float
    without_amount: int


def count_shown(total: int, top: int) -> int:
    """Return how many of the rows are shown one by one: ``top``, or one more if a single row would be left."""
    return total if total <= top + 1 else top


def sum_other_people(table: IntoFrame, shown: int) -> OtherPeople:
    """Return the sums of all rows after the first ``shown``; zeros if there are none.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.spend_by_friend`. ``payments`` and ``share_of_sent`` may be absent, and are 0 then.
    shown : int
        Number of rows that are shown one by one.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = style.read_columns(table, ["sent", "received"], what="sum_other_people")
    sent, received = add_units(data["sent"][shown:]), add_units(data["received"][shown:])
    return OtherPeople(
        people=len(data["sent"][shown:]),
        payments=sum(data.get("payments", [])[shown:]),
        sent=sent,
        received=received,
        net=add_units([received, -sent]),
        share_of_sent=math.fsum(data.get("share_of_sent", [])[shown:]),
    )


def sum_other_requests(table: IntoFrame, shown: int) -> OtherRequests:
    """Return the sums of all rows after the first ``shown``; zeros if there are none.

    Parameters
    ----------
    table : frame
        The result of `p2p_analytics.pending_requests`. A null amount counts as 0 and in ``without_amount``.
    shown : int
        Number of rows that are shown one by one.

    Raises
    ------
    SchemaError
        The table lacks a column.
    """
    data = style.read_columns(table, ["direction", "amount"], what="sum_other_requests")
    rest: list[tuple[Any, Any]] = list(zip(data["direction"], data["amount"], strict=True))[shown:]
    return OtherRequests(
        requests=len(rest),
        to_receive=add_units(amount for direction, amount in rest if direction == "in"),
        to_pay=add_units(amount for direction, amount in rest if direction == "out"),
        without_amount=sum(amount is None for _, amount in rest),
    )
