"""Pages of payments to Arrow columns, many rows at a time.

What nobody has read yet, amounts and people as they were sent, is read here for all rows at once, and each
distinct spelling of a person once. Where anything among the rows is strange, they are read as records
instead, which tell it.
"""

from __future__ import annotations

import contextlib
import sys
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.records import STRANGE, Payments, read_actor, read_target
from p2p_analytics.times import EPOCH, NAIVE_EPOCH, to_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa

    from p2p_analytics.records import Payment, Problem, Row, Target, User

AT_HAND: Final = 8_192  # spellings of people, about so many at most, that are looked up all at once
ROWS_AT_ONCE: Final = 8_192  # pages are let go, and their values become columns, after about so many


class Words(NamedTuple):
    """How a payment is described."""

    status: str | None
    action: str | None
    audience: str | None
    medium: str | None


class Numbered(dict[Any, int]):
    """Numbers of things, in the order in which they first came; a new one that is asked for gets the next."""

    def __init__(self) -> None:
        self.things: list[Any] = []

    def __missing__(self, thing: Any) -> int:  # noqa: ANN401, D105 - whatever can be a key
        return self.number(thing, thing)

    def number(self, key: object, thing: object) -> int:
        """Return the number of what goes by a key."""
        number = self.setdefault(key, len(self.things))
        if number == len(self.things):
            self.things.append(thing)
        return number


class Seen:
    """What comes again and again, each with a number: who was on either side, and how a payment is described."""

    def __init__(self) -> None:
        self.people = Numbered()
        self.words = Numbered()
        self.actors = _Sent(lambda raw: self.number(read_actor[raw]))
        self.targets = _Sent(lambda raw: self.number(read_target[raw]))

    def number(self, person: User | Target | None) -> int:
        """Return the number of an actor or target.

        Pages share them, so they are told apart by identity; they stay alive here, so that none is given twice.
        """
        return self.people.number(id(person), person)


class _Sent(dict[bytes, int]):
    """Numbers of people by how they were sent; what is strange raises one of ``STRANGE``."""

    def __init__(self, read: Callable[[bytes], int]) -> None:
        self._read = read
        self._at_hand: pa.Table | None = None

    def __missing__(self, raw: bytes) -> int:
        self[raw] = number = self._read(raw)
        return number

    def numbers(self, sent: pa.Array) -> pa.Array:
        """Return the number of each: those at hand all at once, the others one by one."""
        import pyarrow as pa
        import pyarrow.compute as pc

        known = self._at_hand
        if known is None or len(known) > AT_HAND:
            known = pa.table({"sent": pa.array([], sent.type), "number": pa.array([], pa.int64())})
        places = pc.index_in(sent, known["sent"])
        if places.null_count:
            new = pc.unique(sent.filter(pc.is_null(places)))
            read = pa.table({"sent": new, "number": pa.array([self[raw] for raw in new.to_pylist()], pa.int64())})
            self._at_hand = known = pa.concat_tables([known, read]).combine_chunks()
            places = pc.index_in(sent, known["sent"])
        return known["number"].combine_chunks().take(places)


def payment_columns(pages: Iterable[Payments], seen: Seen, told: Callable[[Sequence[Problem]], object]) -> pa.Table:
    """Return what is each payment's own as columns, and the numbers of its words, actor and target.

    ``told`` is told what was strange: of a page that has been read as it comes, else with the other rows of its time.
    """
    import pyarrow as pa

    def coming() -> Iterator[Payments]:
        for page in pages:
            if page.answer is None:
                told(page.problems)
            yield page

    chunks = [_read(batch, seen, told) for batch in _batches(coming())]
    return pa.concat_tables(chunks or [_as_records([], seen)])


def _batches(pages: Iterable[Payments]) -> Iterator[list[Payments]]:
    batch: list[Payments] = []
    rows = 0
    for page in pages:
        batch.append(page)
        rows += len(page) + len(page.left_out)
        if rows >= ROWS_AT_ONCE:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch


def _read(batch: Sequence[Payments], seen: Seen, told: Callable[[Sequence[Problem]], object]) -> pa.Table:
    if all(page.answer is not None for page in batch) and any(page.rows or page.left_out for page in batch):
        with contextlib.suppress(*STRANGE):
            return _as_sent(batch, seen)
    for page in batch:
        if page.answer is not None:
            told(page.problems)
    return _as_records(list(chain.from_iterable(batch)), seen)


def _as_sent(pages: Sequence[Payments], seen: Seen) -> pa.Table:
    """Return the columns of pages nobody has read, or raise one of ``STRANGE``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows: list[Any] = list(chain.from_iterable(page.rows for page in pages))
    sent = rows + list(chain.from_iterable(page.left_out for page in pages))  # to be looked at, no more
    columns = _same(sent, seen)
    for name in ("date_created", "date_completed"):
        ends = pc.min_max(columns[name].cast(pa.int64()))
        if ends["min"].is_valid and not _FIRST <= ends["min"].as_py() <= ends["max"].as_py() <= _LAST:
            raise ValueError
    described = [seen.words.things[number] for number in pc.unique(columns["words"]).to_pylist()]
    texts = [word.encode() for words in described for word in words if word]
    texts += [bytes(columns[name].buffers()[2] or b"") for name in ("payment_id", "note")]
    if any(not text.isascii() and _REPLACEMENT in text for text in texts):
        raise ValueError
    nothing = pa.nulls(len(sent))
    columns |= {
        "amount_cents": _cents(_joined([row.amount for row in sent])),
        "actor": seen.actors.numbers(_joined([row.actor for row in sent])),
        "target": seen.targets.numbers(_joined([row.target for row in sent])),
        "fee_cents": nothing.cast(pa.int64()),
        "refund_payment_id": nothing.cast(pa.large_string()),
        "refund_amount_cents": nothing.cast(pa.int64()),
    }
    return pa.table(columns).slice(0, len(rows))


def _as_records(rows: Sequence[Payment], seen: Seen) -> pa.Table:
    import pyarrow as pa

    refunds = [row.refund for row in rows]
    columns = {
        **_same(rows, seen),
        "amount_cents": pa.array([row.amount_cents for row in rows], pa.int64()),
        "actor": pa.array([seen.number(row.actor) for row in rows], pa.int64()),
        "target": pa.array([seen.number(row.target) for row in rows], pa.int64()),
        "fee_cents": pa.array([row.fee_cents for row in rows], pa.int64()),
        "refund_payment_id": _text([refund.id if refund else None for refund in refunds]),
        "refund_amount_cents": pa.array([refund and refund.amount_cents for refund in refunds], pa.int64()),
    }
    return pa.table(columns)


def _same(rows: Sequence[Row], seen: Seen) -> dict[str, pa.Array]:
    """Return the columns of what is the same as sent and in a record."""
    import numpy as np
    import pyarrow as pa

    words = zip(
        [row.status for row in rows],
        [row.action for row in rows],
        [row.audience for row in rows],
        [row.medium for row in rows],
        strict=True,
    )
    return {
        "payment_id": _text([row.id for row in rows]),
        "note": _text([row.note for row in rows]),
        "words": pa.array(np.fromiter(map(seen.words.__getitem__, words), np.int64, len(rows))),
        "date_created": _instants([row.date_created for row in rows]),
        "date_completed": _instants([row.date_completed for row in rows]),
    }


def _joined(raws: list[bytes]) -> pa.Array:
    """Return what was sent as an array: joined first, for Arrow would ask each for its bytes in Python."""
    import numpy as np
    import pyarrow as pa

    ends = np.zeros(len(raws) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, raws), np.int64, len(raws)), out=ends[1:])
    return pa.Array.from_buffers(pa.large_binary(), len(raws), [None, pa.py_buffer(ends), pa.py_buffer(b"".join(raws))])


def _cents(amounts: pa.Array) -> pa.Array:
    """Return amounts as cents: a decimal of two places is kept as the whole number of them, in the lower of two words.

    A fraction of a cent, and whatever is no plain number of usual length, is a ValueError: Arrow reads some with very
    many places, or an exponent, as 0.
    """
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.max(pc.binary_length(amounts)).as_py() > _LONGEST or b"e" in bytes(amounts.buffers()[2]).lower():
        raise ValueError
    decimals = amounts.cast(pa.large_string()).cast(pa.decimal128(18, 2))
    words = np.frombuffer(decimals.buffers()[1], np.int64)
    return pa.array(words[::2] if sys.byteorder == "little" else words[1::2])


def _text(values: Sequence[str | None]) -> pa.Array:
    import pyarrow as pa

    if values.count(None) == len(values):  # a look takes a tenth of the time
        return pa.nulls(len(values), pa.large_string())
    return pa.array(values, pa.large_string())


def _instants(instants: list[datetime | None]) -> pa.Array:
    """Return instants in UTC, by way of their distance from 1970: Arrow reads that in a third of the time."""
    import pyarrow as pa

    aware, naive = EPOCH, NAIVE_EPOCH
    since = [instant and instant - (aware if instant.tzinfo else naive) for instant in instants]
    return pa.array(since, pa.duration("us")).cast(pa.int64()).cast(pa.timestamp("us", "UTC"))


_REPLACEMENT: Final = "\ufffd".encode()  # may stand for half of a character pair
_LONGEST: Final = 30  # bytes of an amount
_FIRST: Final = to_microseconds(datetime.min.replace(tzinfo=UTC))
_LAST: Final = to_microseconds(datetime.max.replace(tzinfo=UTC))
