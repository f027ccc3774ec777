"""Pages of payments: decoded by one call where every record has the documented form, else record by record.

After the fast path, people and amounts are decoded when a record, an amount or ``problems`` is read. Both paths give
equal records and problems.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import compress
from operator import not_
from typing import Annotated, Final, Literal, cast, overload

import msgspec

from p2p_analytics.records._intern import InternTables
from p2p_analytics.records._models import Payment, Problem, RawRecords
from p2p_analytics.records._single_records import decode_list, to_payment
from p2p_analytics.records._values import FALLBACK_ERRORS
from p2p_analytics.records._wire_types import (
    DECODE_ERRORS,
    NULL,
    REPLACEMENT_ESCAPE,
    WirePage,
    next_link,
    remove_bom,
)
from p2p_analytics.times import in_utc


def decode_payments(body: bytes, tables: InternTables | None = None) -> PaymentPage:
    """Decode one page of GET /payments; the pages of a load share their tables.

    An item without an id is listed in ``problems`` and is not among the items.
    """
    body = remove_bom(body)
    try:
        page = _FAST_PAGE.decode(body)
        undecoded = UndecodedPage(body, page.data, tables or InternTables())
        return PaymentPage(Payments(page.data, undecoded), next_link(page))
    except DECODE_ERRORS:
        return decode_page_fallback(body)


def decode_page_fallback(body: bytes) -> PaymentPage:
    """Decode a page record by record."""
    items, link, problems = decode_list(body)
    payments = [payment for item in items if (payment := to_payment(item, problems))]
    return PaymentPage(Payments.of(payments, problems.found), link)


class FastPayment(msgspec.Struct, gc=False, kw_only=True):
    """A payment in the documented form.

    The fields are in the order of the list samples (document: "Payment"), where msgspec looks for each key first.
    """

    status: Literal["settled", "pending", "failed", "expired", "cancelled"]
    date_completed: datetime | None = None
    target: msgspec.Raw = NULL
    audience: str | None = None
    actor: msgspec.Raw = NULL
    note: str | None = None
    amount: msgspec.Raw = NULL
    action: Literal["pay", "charge"]
    date_created: datetime
    id: Annotated[str, msgspec.Meta(min_length=1)]
    medium: str | None = None
    fee: None = None  # lists show neither (document: "Payment")
    refund: None = None


class _FastPage(WirePage, kw_only=True):
    """A page of such payments."""

    data: list[FastPayment]


_FAST_PAGE: Final = msgspec.json.Decoder(_FastPage)


class UndecodedPage:
    """The people and amounts of a page that took the fast path, decoded on demand."""

    def __init__(self, body: bytes, rows: Sequence[FastPayment], tables: InternTables) -> None:
        self._body, self._rows, self._tables = body, rows, tables

    @cached_property
    def decoded(self) -> Payments:
        """The records of the whole page, with their problems."""
        body, tables = self._body, self._tables
        if REPLACEMENT_ESCAPE in body:  # it may stand for a repaired character, which the fallback reports
            return decode_page_fallback(body).items
        raw_records = RawRecords(body)  # not the page, which would keep these records alive in a reference cycle
        with contextlib.suppress(*FALLBACK_ERRORS):
            return Payments.of(
                Payment(
                    id=row.id,
                    status=row.status,
                    action=row.action,
                    amount_cents=tables.cents.value(bytes(row.amount)),
                    note=row.note,
                    audience=row.audience,
                    medium=row.medium,
                    date_created=in_utc(row.date_created),
                    date_completed=row.date_completed and in_utc(row.date_completed),
                    actor=tables.actors.value(bytes(row.actor)),
                    target=tables.targets.value(bytes(row.target)),
                    raw_records=raw_records,
                    position=position,
                )
                for position, row in enumerate(self._rows)
            )
        return decode_page_fallback(body).items

    @cached_property
    def cents(self) -> Sequence[int | None]:
        """The amount of each payment."""
        try:
            return [self._tables.cents.value(bytes(row.amount)) for row in self._rows]
        except FALLBACK_ERRORS:
            return self.decoded.cents


class Payments(Sequence[Payment]):
    """The payments of a page, in its order: a sequence of `Payment`.

    ``rows`` holds records; or wire rows, with naive datetimes in UTC, where ``undecoded`` is the page with the rest of
    them. ``excluded`` holds the rows of the page that `select` dropped; their people and amounts are still checked.
    """

    def __init__(
        self,
        rows: Sequence[FastPayment | Payment] = (),
        undecoded: UndecodedPage | None = None,
        positions: Sequence[int] | None = None,
        excluded: Sequence[FastPayment | Payment] = (),
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.rows, self.undecoded, self.excluded = rows, undecoded, excluded
        self._positions = range(len(rows)) if positions is None else positions  # in the page
        self._problems = problems

    @classmethod
    def of(cls, records: Iterable[Payment], problems: Iterable[Problem] = ()) -> Payments:
        """Return a sequence of decoded records with their problems."""
        return cls(tuple(records), problems=tuple(problems))

    @cached_property
    def ids(self) -> list[str]:
        """The payment ids."""
        return [row.id for row in self.rows]

    @cached_property
    def created(self) -> list[datetime | None]:
        """The creation dates, aware and in UTC; None beyond the calendar, which ``problems`` lists."""
        dates = [row.date_created for row in self.rows]
        try:
            return [date if date is None or date.tzinfo is UTC else in_utc(date) for date in dates]
        except OverflowError:
            return [payment.date_created for payment in self]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the whole page."""
        return self._problems if self.undecoded is None else self.undecoded.decoded.problems

    @property
    def cents(self) -> list[int | None]:
        """The amounts in cents."""
        if self.undecoded is None:
            return [payment.amount_cents for payment in self]
        return [self.undecoded.cents[position] for position in self._positions]

    def parties(self, start: int, stop: int) -> Iterator[bytes | str]:
        """Yield the actors and targets of a range of payments, with repetitions: JSON texts, or else user ids."""
        for row in self.rows[start:stop]:
            if isinstance(row, FastPayment):
                yield from (bytes(row.actor), bytes(row.target))
            else:
                people = (row.actor, row.target.user if row.target else None)
                yield from (person.id for person in people if person is not None and person.id)

    def select(self, mask: Iterable[bool]) -> Payments:
        """Return the payments with a true entry in the mask; ``problems`` still cover the page."""
        kept = list(mask)
        if all(kept):
            return self
        return Payments(
            tuple(compress(self.rows, kept)),
            self.undecoded,
            tuple(compress(self._positions, kept)),
            (*self.excluded, *compress(self.rows, map(not_, kept))),
            self._problems,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, position: int) -> Payment: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[Payment, ...]: ...
    def __getitem__(self, position: int | slice) -> Payment | tuple[Payment, ...]:
        if isinstance(position, slice):
            return tuple(self)[position]
        if self.undecoded is None:
            return cast("Payment", self.rows[position])
        return self.undecoded.decoded[self._positions[position]]

    def __iter__(self) -> Iterator[Payment]:
        if self.undecoded is None:
            return iter(cast("Sequence[Payment]", self.rows))
        return map(cast("Sequence[Payment]", self.undecoded.decoded.rows).__getitem__, self._positions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payments) and (tuple(self), self.problems) == (tuple(other), other.problems)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Payments.of({list(self)!r})"


class PaymentPage(msgspec.Struct, frozen=True):
    """One page of payments: the records in order, the next link, and when it was fetched."""

    items: Payments
    next: str | None = None
    fetched_at: datetime | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of its records."""
        return self.items.problems

    @property
    def length(self) -> int:
        """Number of records that were sent, including those without a readable id, which are not among the items."""
        if self.items.undecoded is not None:  # every record has an id
            return len(self.items)
        return len(self.items) + sum(problem.unreadable and problem.record_id is None for problem in self.problems)
