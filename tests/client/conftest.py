"""Fixtures of the tests of the client."""

from collections.abc import Callable
from typing import Any

import pytest

from p2p_analytics.client.desk import PaymentDesk
from support.connections import client_to
from support.payment_book import PaymentBook


@pytest.fixture
def open_desk(start_service):
    """Return a function that opens a desk; it returns desk, book, service and the list of waits.

    A wait advances the clock of the book; ``on_wait`` is called after it.
    """

    def start(
        fault: Callable[[PaymentBook, dict[str, str]], Any],
        on_wait: Callable[[], object] = lambda: None,
        **options: Any,
    ):
        book = PaymentBook(fault)
        service = start_service(book)
        waits: list[float] = []

        def sleep(seconds: float) -> None:
            waits.append(seconds)
            book.now += seconds
            on_wait()

        client = client_to(service.base_url, timeout=(1.0, 0.5), **options)
        return PaymentDesk(client, sleep=sleep), book, service, waits

    return start
