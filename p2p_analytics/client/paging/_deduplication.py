"""De-duplication of the payments of one list, and detection of lists without an end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics.client.paging.page_dates import is_between
from p2p_analytics.errors import PaginationError
from p2p_analytics.records import PaymentPage, Payments, Problem
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

_MAX_BARREN_PAGES: Final = 1_000  # consecutive pages without a new payment


class Deduplicator:
    """Payments that a load has passed on, each once.

    Parameters
    ----------
    max_payments : int
        Payments after which the list is considered endless.
    """

    def __init__(self, max_payments: int) -> None:
        self._max_payments = max_payments
        self._contents: dict[str, int] = {}
        self._count = self._barren = 0

    def __contains__(self, payment_id: str) -> bool:
        """Return whether a payment was passed on."""
        return payment_id in self._contents

    def __len__(self) -> int:
        """Return the number of payments passed on."""
        return len(self._contents)

    def require_end(self, count: int) -> None:
        """Raise a PaginationError if the list seems to have no end. Call this once per page.

        Parameters
        ----------
        count : int
            Distinct payments fetched so far.
        """
        self._count, self._barren = count, self._barren + 1 if count == self._count else 0
        if self._barren > _MAX_BARREN_PAGES:
            raise PaginationError(
                f"{_MAX_BARREN_PAGES:,} consecutive pages held no new payment, so the list seems to have no end and "
                "nothing is returned: try again later."
            )
        if count > self._max_payments:
            raise PaginationError(
                f"The service listed more than {self._max_payments:,} payments, so the list seems to have no end and "
                "nothing is returned. If the account has more, raise the limit: Client(max_payments=...)."
            )

    def filter_page(self, page: PaymentPage, after: datetime, before: datetime) -> Iterator[PaymentPage]:
        """Yield the new payments of a page between two bounds, then a page of problems if contents differ."""
        items, contents = page.items, self._contents
        keep, problems = [], []
        for row, date, cents in zip(items.rows, items.created, items.cents, strict=True):
            content = (row.action, cents, row.note, date)
            known = contents.get(row.id)
            new = known is None and (date is None or is_between(date, after, before))
            keep.append(new)
            if new:
                contents[row.id] = hash((content, row.status))
            elif known is not None and not _is_same(known, content, row.status):
                problems.append(Problem(row.id, "payment_id", "", "listed twice with different contents; one is kept"))
        yield msgspec.structs.replace(page, items=items.select(keep))
        if problems:
            yield PaymentPage(Payments.of((), problems))


def _is_same(known: int, content: tuple[object, ...], status: str | None) -> bool:
    """Return whether the known payment has the same contents; only a pending one may have changed its status."""
    statuses = (*Status, None) if status == Status.PENDING else (status, Status.PENDING)
    return any(known == hash((content, each)) for each in statuses)
