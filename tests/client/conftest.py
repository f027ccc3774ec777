"""Fixtures of the tests of the client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.client import Client
from p2p_analytics.client.desk import PaymentDesk
from support.canary import CANARY
from support.payment_book import PaymentBook

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def open_desk(start_service):
    """Return a function that opens a desk; it returns desk, book, service and the list of waits.

    A wait advances the clock of the book.
    """

    def start(fault: Callable[[PaymentBook, dict[str, str]], Any], **options: Any):
        book = PaymentBook(fault)
        service = start_service(book)
        client = Client(CANARY, base_url=service.base_url, timeout=(1.0, 0.5), **({"cache_dir": False} | options))
        client._transport._sleep = lambda _seconds: None
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            book.now += seconds

        return PaymentDesk(client, sleep=sleep), book, service, waits

    return start
