"""The payments of a page: enough to go through the list is read at once, the rest when it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import compress
from operator import not_
from typing import TYPE_CHECKING, Protocol, cast, overload

import msgspec

from p2p_analytics.records._models import Payment
from p2p_analytics.times import in_utc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from p2p_analytics.records._models import Problem


class Row(Protocol):
    """What of a payment is the same as sent and in a record, but that a datetime as sent may lack a zone: it is UTC."""

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


class Unread(Protocol):
    """An answer whose records nobody has read yet."""

    @property
    def payments(self) -> Sequence[Payment]: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...
    @property
    def cents(self) -> Sequence[int | None]: ...
    def parties(self, place: int) -> tuple[bytes, bytes]: ...


class Payments(Sequence[Payment]):
    """The payments of a page, in its order: a sequence of `Payment`.

    Attributes
    ----------
    rows : sequence of Row
        Records, or what was sent where there is an ``answer``.
    left_out : sequence of Row
        What else the page held.
    """

    __slots__ = ("_created", "_ids", "_places", "_problems", "answer", "left_out", "rows")

    def __init__(
        self,
        rows: Sequence[Row] = (),
        answer: Unread | None = None,
        places: Sequence[int] | None = None,
        left_out: Sequence[Row] = (),
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.rows, self.answer, self.left_out = rows, answer, left_out
        self._places, self._problems = places, problems
        self._ids: list[str] | None = None
        self._created: list[datetime | None] | None = None

    @classmethod
    def of(cls, records: Iterable[Payment], problems: Iterable[Problem] = ()) -> Payments:
        """Return records as such a sequence, with what was strange in them."""
        return cls(tuple(records), problems=tuple(problems))

    @property
    def ids(self) -> list[str]:
        """Their ids."""
        if self._ids is None:
            self._ids = [row.id for row in self.rows]
        return self._ids

    @property
    def created(self) -> list[datetime | None]:
        """When each was made, aware UTC."""
        if self._created is None:
            dates = [row.date_created for row in self.rows]
            self._created = [date if date is None or date.tzinfo is UTC else _in_utc(date) for date in dates]
        return self._created

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is strange in the records of the page."""
        return self._problems if self.answer is None else self.answer.problems

    @property
    def cents(self) -> list[int | None]:
        """Amount of each, in cents."""
        if self.answer is None:
            return [payment.amount_cents for payment in self._records()]
        return [self.answer.cents[place] for place in self._answer_places()]

    def parties(self, start: int, stop: int) -> Iterator[bytes | str]:
        """Return the actors and targets of some of them, unread as sent, or else as user ids; some repeat."""
        if self.answer is None:
            for payment in self._records()[start:stop]:
                people = (payment.actor, payment.target.user if payment.target else None)
                yield from (person.id for person in people if person is not None and person.id)
        else:
            for place in self._answer_places()[start:stop]:
                yield from self.answer.parties(place)

    def only(self, keep: Iterable[bool]) -> Payments:
        """Return those whose entry is true; ``problems`` stay those of the page."""
        kept = list(keep)
        if all(kept):
            return self
        return Payments(
            tuple(compress(self.rows, kept)),
            self.answer,
            tuple(compress(self._answer_places(), kept)),
            (*self.left_out, *compress(self.rows, map(not_, kept))),
            self._problems,
        )

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Payment: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Payment, ...]: ...
    def __getitem__(self, place: int | slice) -> Payment | tuple[Payment, ...]:
        if isinstance(place, slice):
            return self._records()[place]
        if self.answer is None:
            return cast("Payment", self.rows[place])
        return self.answer.payments[place if self._places is None else self._places[place]]

    def __iter__(self) -> Iterator[Payment]:
        return iter(self._records())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Payments) and (self._records(), self.problems) == (other._records(), other.problems)

    def __hash__(self) -> int:
        return hash(self._records())

    def __repr__(self) -> str:
        return f"Payments.of({list(self)!r})"

    def _answer_places(self) -> Sequence[int]:
        """Return where each stands in the answer."""
        return range(len(self.rows)) if self._places is None else self._places

    def _records(self) -> tuple[Payment, ...]:
        if self.answer is None:
            return cast("tuple[Payment, ...]", tuple(self.rows))
        payments = self.answer.payments
        return tuple(payments if self._places is None else (payments[place] for place in self._places))


def _in_utc(date: datetime) -> datetime | None:
    try:
        return in_utc(date)
    except OverflowError:  # beyond the calendar, as ``problems`` tell
        return None


class PaymentPage(msgspec.Struct, frozen=True):
    """One page of payments: in order, the next link, and when it was given."""

    items: Payments
    next: str | None = None
    fetched_at: datetime | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is strange in its records."""
        return self.items.problems

    @property
    def length(self) -> int:
        """Records that were sent, including those without a readable id, which are not among the items."""
        if self.items.answer is not None:  # every record has one
            return len(self.items)
        return len(self.items) + sum(problem.unreadable and problem.record_id is None for problem in self.problems)
