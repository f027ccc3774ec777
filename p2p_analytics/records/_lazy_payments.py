"""Payments of a page as a lazy sequence: records are decoded on demand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import compress
from operator import not_
from typing import Protocol, cast, overload

import msgspec

from p2p_analytics.records._models import Payment, Problem
from p2p_analytics.times import in_utc


class PaymentRow(Protocol):
    """Fields that are identical in the wire form and the record. Naive datetimes are UTC."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str | None: ...
    @property
    def action(self) -> str | None: ...
    @property
    def note(self) -> str | None: ...
    @property
    def audience(self) -> str | None: ...
    @property
    def medium(self) -> str | None: ...
    @property
    def date_created(self) -> datetime | None: ...
    @property
    def date_completed(self) -> datetime | None: ...


class Undecoded(Protocol):
    """The people and amounts of a page, decoded on demand."""

    @property
    def payments(self) -> Sequence[Payment]: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...
    @property
    def cents(self) -> Sequence[int | None]: ...
    def parties(self, position: int) -> tuple[bytes, bytes]: ...


class Payments(Sequence[Payment]):
    """The payments of a page, in its order: a sequence of `Payment`.

    Attributes
    ----------
    rows : sequence of PaymentRow
        Records; or wire rows where ``undecoded`` holds the rest of them.
    undecoded : Undecoded or None
        The page that the wire rows belong to.
    excluded : sequence of PaymentRow
        The rows of the page that `select` dropped; their people and amounts are still checked.
    """

    __slots__ = ("_created", "_ids", "_positions", "_problems", "excluded", "rows", "undecoded")

    def __init__(
        self,
        rows: Sequence[PaymentRow] = (),
        undecoded: Undecoded | None = None,
        positions: Sequence[int] | None = None,
        excluded: Sequence[PaymentRow] = (),
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.rows, self.undecoded, self.excluded = rows, undecoded, excluded
        self._positions, self._problems = positions, problems
        self._ids: list[str] | None = None
        self._created: list[datetime | None] | None = None

    @classmethod
    def of(cls, records: Iterable[Payment], problems: Iterable[Problem] = ()) -> Payments:
        """Return a sequence of decoded records with their problems."""
        return cls(tuple(records), problems=tuple(problems))

    @property
    def ids(self) -> list[str]:
        """The payment ids."""
        if self._ids is None:
            self._ids = [row.id for row in self.rows]
        return self._ids

    @property
    def created(self) -> list[datetime | None]:
        """The creation dates, aware and in UTC."""
        if self._created is None:
            dates = [row.date_created for row in self.rows]
            self._created = [date if date is None or date.tzinfo is UTC else _in_utc(date) for date in dates]
        return self._created

    @property
    def problems(self) -> tuple[Problem, ...]:
        """The problems of the whole page."""
        return self._problems if self.undecoded is None else self.undecoded.problems

    @property
    def cents(self) -> list[int | None]:
        """The amounts in cents."""
        if self.undecoded is None:
            return [payment.amount_cents for payment in self._records()]
        return [self.undecoded.cents[position] for position in self._page_positions()]

    def parties(self, start: int, stop: int) -> Iterator[bytes | str]:
        """Yield the actors and targets of a range of payments, with repetitions: JSON texts, or else user ids."""
        if self.undecoded is None:
            for payment in self._records()[start:stop]:
                people = (payment.actor, payment.target.user if payment.target else None)
                yield from (person.id for person in people if person is not None and person.id)
        else:
            for position in self._page_positions()[start:stop]:
                yield from self.undecoded.parties(position)

    def select(self, mask: Iterable[bool]) -> Payments:
        """Return the payments with a true entry in the mask; ``problems`` still cover the page."""
        kept = list(mask)
        if all(kept):
            return self
        return Payments(
            tuple(compress(self.rows, kept)),
            self.undecoded,
            tuple(compress(self._page_positions(), kept)),
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
            return self._records()[position]
        if self.undecoded is None:
            return cast("Payment", self.rows[position])
        return self.undecoded.payments[position if self._positions is None else self._positions[position]]

    def __iter__(self) -> Iterator[Payment]:
        return iter(self._records())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payments) and (self._records(), self.problems) == (other._records(), other.problems)

    def __hash__(self) -> int:
        return hash(self._records())

    def __repr__(self) -> str:
        return f"Payments.of({list(self)!r})"

    def _page_positions(self) -> Sequence[int]:
        """Return the position of each row in its page."""
        return range(len(self.rows)) if self._positions is None else self._positions

    def _records(self) -> tuple[Payment, ...]:
        if self.undecoded is None:
            return cast("tuple[Payment, ...]", tuple(self.rows))
        payments = self.undecoded.payments
        return tuple(payments if self._positions is None else (payments[position] for position in self._positions))


def _in_utc(date: datetime) -> datetime | None:
    try:
        return in_utc(date)
    except OverflowError:  # beyond the calendar; ``problems`` lists it
        return None


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
