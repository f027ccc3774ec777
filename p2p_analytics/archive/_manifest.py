"""The manifest: which files of the folder count. Everything in it is checked before anything uses it."""

from __future__ import annotations

import re
from datetime import date, datetime
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from p2p_analytics.records import Me

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME: Final = "manifest.json"
_FORMAT: Final = 2  # 1 had no digest
_FIRST: Final = "first"
# Files of the archive have such names and no others. Earlier versions wrote 12 random hexadecimal digits at the end.
_FILE: Final = re.compile(
    rf"(?:(?P<payments>payments)-(?P<start>{_FIRST}|\d{{4}}-\d\d-\d\d)|friends|problems)"
    r"-(?P<digest>[0-9a-f]{32}|[0-9a-f]{12})\.parquet",
    re.ASCII,
)
_DIGEST_DIGITS: Final = 32
_DIGEST: Final = re.compile(rb',"digest":"([0-9a-f]{64})"\}\Z')

Count = Annotated[int, Meta(ge=0)]
Instant = Annotated[datetime, Meta(tz=True)]


class ManifestError(ValueError):
    """A manifest that cannot be relied on; says what is wrong with it."""


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One file. Of payments, it holds those from ``start`` up to the next file's; the first has no start."""

    name: str
    rows: Count
    size: Count
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
    start: date | None = None
    pending: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """What the file holds: payments, friends or problems."""
        return self.name.partition("-")[0]

    def __post_init__(self) -> None:
        """Raise a ValueError where the parts contradict each other."""
        match = _FILE.fullmatch(self.name)
        if match is None:
            raise ValueError(f"{self.name[:60]!r} is not the name of a file of an archive")
        if match["start"] != (_period(self.start) if match["payments"] else None):
            raise ValueError(f"{self.name} does not hold what starts at {self.start}")
        if len(match["digest"]) == _DIGEST_DIGITS and not self.sha256.startswith(match["digest"]):
            raise ValueError(f"the digest of {self.name} is not the one in its name")
        if len({*self.pending}) < len(self.pending) or len(self.pending) > self.rows:
            raise ValueError(f"the pending payments of {self.name} are not some of its {self.rows} rows")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What counts: whose history, as of when, synced up to which payment's instant, and in which files."""

    me: Me
    fetched_at: Instant
    synced_to: Instant | None
    friends_at: Instant
    payments: Annotated[tuple[Entry, ...], Meta(min_length=1)]  # oldest first
    friends: Entry
    problems: Entry
    format: int = _FORMAT

    @property
    def small(self) -> dict[str, Entry]:
        """The files there is one of."""
        return {"friends": self.friends, "problems": self.problems}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All of its files."""
        return (*self.payments, *self.small.values())

    def __post_init__(self) -> None:
        """Raise a ValueError where the parts contradict each other."""
        kinds = [entry.kind for entry in self.entries]
        if kinds != ["payments"] * len(self.payments) + ["friends", "problems"]:
            raise ValueError("it names files of one kind as another")
        starts = [entry.start for entry in self.payments]
        if None in starts[1:] or any(before >= after for before, after in pairwise(filter(None, starts))):
            raise ValueError("its files of payments are not in order")
        if not self.me.user.id:
            raise ValueError("it names no account")
        joined = self.me.user.date_joined
        if joined is not None and joined.tzinfo is None:
            raise ValueError("a date in it has no zone")


class _Format(msgspec.Struct):
    """The part of a manifest that tells whether the rest can be read."""

    format: int = 1


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as JSON whose last member is a digest of all bytes before it."""
    body = msgspec.json.encode(manifest)[:-1]
    return body + b',"digest":"%b"}' % sha256(body).hexdigest().encode()


def decode(body: bytes) -> Manifest | None:
    """Return the manifest, None where a newer version of this package wrote it.

    Raises
    ------
    ManifestError
        It is damaged, or contradicts itself. A manifest of an earlier version has no digest to check.
    """
    found = _DIGEST.search(body)
    if found is not None and sha256(body[: found.start()]).hexdigest().encode() != found[1]:
        raise ManifestError("it is not what was written")
    try:
        written_as = msgspec.json.decode(body, type=_Format).format
        if written_as > _FORMAT:
            return None
        if written_as != (1 if found is None else _FORMAT):
            raise ManifestError("its digest is missing or does not belong there")
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.ValidationError as error:
        raise ManifestError(f"it is no manifest: {_first_line(error)}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ManifestError("it is no manifest") from None
    return msgspec.structs.replace(manifest, format=_FORMAT)


def file_name(kind: str, start: date | None, digest: str) -> str:
    """Return the name of a new file, which holds a digest of its content: it can be checked without a manifest."""
    period = f"{_period(start)}-" if kind == "payments" else ""
    return f"{kind}-{period}{digest[:_DIGEST_DIGITS]}.parquet"


def is_file_name(name: str) -> bool:
    """Return whether the archive gives its files such names."""
    return _FILE.fullmatch(name) is not None


def fits_name(name: str, content: bytes) -> bool:
    """Return whether a file's content has the digest in its name; a name of an earlier version fits any content."""
    match = _FILE.fullmatch(name)
    return match is not None and (
        len(match["digest"]) < _DIGEST_DIGITS or sha256(content).hexdigest().startswith(match["digest"])
    )


def starts_of(entries: Iterable[Entry]) -> list[date | None]:
    """Return where each file starts; the first one holds everything before the second."""
    starts = [entry.start for entry in entries]
    return [None, *starts[1:]]


def _period(start: date | None) -> str:
    return _FIRST if start is None else start.isoformat()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
