"""Interning tables: values that repeat across pages, decoded once and dictionary-encoded."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.records._models import Target, User
from p2p_analytics.records._values import decode_actor, decode_cents, decode_target

T = TypeVar("T")
_RECENT: Final = 8_192  # approximate number of distinct keys that one call of Arrow looks up


class InternTable(dict[Any, int], Generic[T]):
    """Codes of values by key; the code of a value is its index in ``entries``.

    Keys are JSON texts, which ``decode`` turns into values, or whatever else identifies a value. Threads may share a
    table. A text that ``decode`` refuses raises one of ``FALLBACK_ERRORS`` and gets no code.
    """

    def __init__(self, decode: Callable[[Any], T]) -> None:
        self.entries: list[T] = []
        self._decode = decode
        self._lock = threading.Lock()
        self._recent: pa.Table | None = None

    def __missing__(self, key: Any) -> int:  # noqa: ANN401 - whatever can be a key
        return self.add(key, self._decode(key))

    def add(self, key: object, value: T) -> int:
        """Return the code of a key; a new key gets the next code for this value."""
        with self._lock:
            code = self.get(key)
            if code is None:
                code = len(self.entries)
                self.entries.append(value)
                self[key] = code  # last, because other threads look keys up without the lock
            return code

    def add_object(self, value: T) -> int:
        """Return the code of an object, identified by its identity; the table keeps it alive, so no id is reused."""
        return self.add(id(value), value)

    def value(self, key: object) -> T:
        """Return the value of a key."""
        return self.entries[self[key]]

    def codes(self, keys: pa.Array) -> pa.Array:
        """Return the code of each of many binary keys.

        Arrow looks up recent keys all at once; only the others cost a call of Python each.
        """
        recent = self._recent
        if recent is None or len(recent) > _RECENT:
            recent = pa.table({"key": pa.array([], keys.type), "code": pa.array([], pa.int64())})
        positions = pc.index_in(keys, recent["key"])
        if positions.null_count:
            new = pc.unique(keys.filter(pc.is_null(positions)))
            added = pa.table({"key": new, "code": pa.array([self[key] for key in new.to_pylist()], pa.int64())})
            self._recent = recent = pa.concat_tables([recent, added]).combine_chunks()
            positions = pc.index_in(keys, recent["key"])
        return recent["code"].combine_chunks().take(positions)


class Description(NamedTuple):
    """The words that describe a payment; a load has few distinct combinations of them."""

    status: str | None
    action: str | None
    audience: str | None
    medium: str | None


class InternTables:
    """Tables by JSON text that the pages of one list share, or the rows of one frame; they are freed with these.

    A load has both: the client decodes records only where they are needed, the frame encodes every row.
    """

    def __init__(self) -> None:
        self.actors: InternTable[User | None] = InternTable(decode_actor)
        self.targets: InternTable[Target | None] = InternTable(decode_target)
        self.cents = InternTable(decode_cents)
        self.descriptions: InternTable[Description] = InternTable(Description._make)
