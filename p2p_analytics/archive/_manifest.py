"""The manifest: the list of the archive's valid files. All of it is validated before use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from p2p_analytics.errors import ArchiveError
from p2p_analytics.records import Me
from p2p_analytics.times import EPOCH

NAME: Final = "manifest.json"
ROWS: Final = "rows"
"""The kind of the file of an import: ROWS of its statement files."""
EDITS: Final = "edits"
"""The kind of the file of payments that the user has edited or merged."""
_PROBLEMS: Final = "problems"
COUNTS: Final = ("new", "known", "changed", "refused")
"""The counts of an import."""

_FORMAT: Final = 6
_FIRST: Final = "first"
_FILE: Final = re.compile(  # all names of the archive's table files
    rf"(?:(?P<payments>payments)-(?P<start>{_FIRST}|\d{{4}}-\d\d-\d\d)|people|friends|problems|{ROWS}|{EDITS}"
    r"|view_(?:payments|outline|problems|people|reconciliation)-[0-9a-f]{32})-(?P<digest>[0-9a-f]{32})\.parquet",
    re.ASCII,
)
# What a sync loads when a file of this kind is broken.
_LOADS_AGAIN: Final = {
    "payments": "its payments again",
    "friends": "the friends and all payments again",
    "people": "all payments again, and the people with them, but not their earlier names",
    "problems": "all payments again, and their problems with them",
}
_DIGEST_DIGITS: Final = 32
_DIGEST: Final = re.compile(rb',"digest":"([0-9a-f]{64})"\}\Z')

Count = Annotated[int, Meta(ge=0)]
Instant = Annotated[datetime, Meta(tz=True)]


class ManifestError(ValueError):
    """A damaged or contradictory manifest; the message is the reason."""


class BrokenFileError(ArchiveError):
    """A file of the archive cannot be read; `sync` repairs the service's files, an import the statements' files."""

    def __init__(self, path: Path, reason: str, *, by_import: bool) -> None:
        kind = path.name.partition("-")[0]
        repair = f"sync the archive, which sets it aside and loads {_LOADS_AGAIN.get(kind, 'all payments again')}"
        if by_import:
            option = " with repair=True (--repair)" if kind in {ROWS, EDITS} else ""
            repair = f"import all your statement files again{option}, which sets it aside"
        super().__init__(f"{path} is broken ({reason}): {repair}.")


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file. A payment file holds payments from ``start`` to the next file's start; the first has no start."""

    name: str
    rows: Count
    size: Count
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    start: date | None = None
    pending: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The table in the file, such as payments or people."""
        return self.name.partition("-")[0]

    def __post_init__(self) -> None:
        """Raise a ValueError if the fields contradict each other."""
        match = _FILE.fullmatch(self.name)
        if match is None:
            raise ValueError(f"{self.name[:60]!r} is not the name of a file of an archive")
        if match["start"] != (_period(self.start) if match["payments"] else None):
            raise ValueError(f"{self.name} does not hold what starts at {self.start}")
        if not self.sha256.startswith(match["digest"]):
            raise ValueError(f"the digest of {self.name} is not the one in its name")
        if len({*self.pending}) < len(self.pending) or len(self.pending) > self.rows:
            raise ValueError(f"the pending payments of {self.name} are not some of its {self.rows} rows")


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """What the service has listed: the user, the time of the data, the instant up to which it is synced, and files."""

    me: Me
    fetched_at: Instant
    synced_to: Instant | None
    friends_at: Instant
    payments: Annotated[tuple[Entry, ...], Meta(min_length=1)]  # oldest first
    friends: Entry
    problems: Entry
    people: Entry
    people_at: Instant = EPOCH  # the fetch of the most recent of them
    since: Instant | None = None  # a sync has not loaded older payments, except pending ones; None: it has

    @property
    def small(self) -> dict[str, Entry]:
        """The files of tables that have a single file."""
        return {"friends": self.friends, "problems": self.problems, "people": self.people}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All files."""
        return (*self.payments, *self.small.values())

    def __post_init__(self) -> None:
        """Raise a ValueError if the fields contradict each other."""
        if [entry.kind for entry in self.entries] != ["payments"] * len(self.payments) + list(self.small):
            raise ValueError("it names files of one kind as another")
        starts = [entry.start for entry in self.payments]
        if None in starts[1:] or any(before >= after for before, after in pairwise(filter(None, starts))):
            raise ValueError("its files of payments are not in order")
        if not self.me.user.id:
            raise ValueError("it names no account")
        joined = self.me.user.date_joined
        if joined is not None and joined.tzinfo is None:
            raise ValueError("a date in it has no zone")


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One import: its rows, what the user had edited in them, its files by their names, and what it counted."""

    number: Annotated[int, Meta(ge=1)]
    imported_at: Instant
    files: tuple[str, ...]
    rows: Entry
    edits: Entry | None = None
    new: Count
    known: Count
    changed: Count
    refused: Count


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What the service has listed, the imports of statements, and the payments that the user has edited or merged.

    ``problems`` come from the statements of merged histories. ``account`` is the account of the statements, until
    the service has described the user.
    """

    service: Service | None = None
    batches: tuple[Batch, ...] = ()
    edits: Entry | None = None
    problems: Entry | None = None
    account: str | None = None
    format: int = _FORMAT

    @property
    def has_statements(self) -> bool:
        """Whether there are rows beside the service's payments."""
        return bool(self.batches or self.edits)

    @property
    def is_empty(self) -> bool:
        """Whether it holds neither payments of the service nor statements."""
        return not (self.service or self.has_statements)

    @property
    def next_number(self) -> int:
        """The number of the next import."""
        return self.batches[-1].number + 1 if self.batches else 1

    @property
    def synced_entries(self) -> tuple[Entry, ...]:
        """The files that a sync repairs."""
        return (*(self.service.entries if self.service else ()), *filter(None, [self.problems]))

    @property
    def statement_entries(self) -> tuple[Entry, ...]:
        """The files of statements."""
        edits = filter(None, [*(batch.edits for batch in self.batches), self.edits])
        return (*(batch.rows for batch in self.batches), *edits)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All files."""
        return (*self.synced_entries, *self.statement_entries)

    def __post_init__(self) -> None:
        """Raise a ValueError if the fields contradict each other."""
        numbers = [batch.number for batch in self.batches]
        if numbers != sorted(set(numbers)):
            raise ValueError("its imports are not in order")
        kinds = [(self.edits, EDITS), (self.problems, _PROBLEMS), *((batch.edits, EDITS) for batch in self.batches)]
        kinds += ((batch.rows, ROWS) for batch in self.batches)
        if any(entry and entry.kind != kind for entry, kind in kinds):
            raise ValueError("it names files of one kind as another")


class _Format(msgspec.Struct):
    """The format version of a manifest, which is decoded first."""

    format: int


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as JSON; its last member is a digest of all bytes before it."""
    body = msgspec.json.encode(manifest)
    return body[:-1] + b',"digest":"%b"}' % sha256(body[:-1]).hexdigest().encode()


def decode(body: bytes) -> Manifest | None:
    """Return the manifest, None if another version wrote it; raise a ManifestError if it is damaged."""
    try:
        if msgspec.json.decode(body, type=_Format).format != _FORMAT:
            return None
        found = _DIGEST.search(body)
        if found is None or sha256(body[: found.start()]).hexdigest().encode() != found[1]:
            raise ManifestError("its content is not as it was written")
        return msgspec.json.decode(body, type=Manifest)
    except msgspec.ValidationError as error:
        raise ManifestError(f"it is not a manifest: {str(error).splitlines()[0].rstrip('.')}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ManifestError("it is not a manifest") from None


def build_file_name(kind: str, start: date | None, digest: str) -> str:
    """Return the name of a new file. It includes a digest of the content, so it can be checked without a manifest."""
    period = f"{_period(start)}-" if kind == "payments" else ""
    return f"{kind}-{period}{digest[:_DIGEST_DIGITS]}.parquet"


def parse_start(name: str) -> date | None:
    """Return the start of a file by its name."""
    match = _FILE.fullmatch(name)
    return date.fromisoformat(match["start"]) if match and match["start"] not in {None, _FIRST} else None


def is_file_name(name: str) -> bool:
    """Return whether a file name follows the archive's naming scheme."""
    return _FILE.fullmatch(name) is not None


def matches_name(name: str, content: bytes) -> bool:
    """Return whether a file's content has the digest in its name."""
    match = _FILE.fullmatch(name)
    return match is not None and sha256(content).hexdigest().startswith(match["digest"])


def list_starts(entries: Iterable[Entry]) -> list[date | None]:
    """Return the start of each file; the first has None, because it holds everything before the second."""
    starts = [entry.start for entry in entries]
    return [None, *starts[1:]]


def _period(start: date | None) -> str:
    return _FIRST if start is None else start.isoformat()
