"""The order that a caller places with POST /payments: pay or charge a recipient."""

from __future__ import annotations

from typing import NamedTuple

from p2p_analytics.vocabulary import Audience, TargetType


class Recipient(NamedTuple):
    """Address of a payment: `text` is a user id, a lower-case email, or 11 digits that begin with 1."""

    kind: TargetType
    text: str


class Order(NamedTuple):
    """Payment or charge to create; `cents` are negative for a charge."""

    recipient: Recipient
    cents: int
    note: str
    audience: Audience
