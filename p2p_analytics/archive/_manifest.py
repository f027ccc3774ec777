"""The manifest: the list of the archive's valid files. All of it is validated before use."""

from __future__ import annotations

import re
from datetime import date, datetime
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Final

import msgspec
from msgspec import Meta

from p2p_analytics.errors import ArchiveError
from p2p_analytics.records import Me
from p2p_analytics.times import EPOCH

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

NAME: Final = "manifest.json"
_FORMAT: Final = 3  # 1 had no digest; up to 2, the rows of payments held the profiles of people
# Versions that do not know statements, or their versions of payments, refuse these; without statements it is still 3.
_FORMAT_WITH_STATEMENTS: Final = 4
_FORMAT_WITH_VERSIONS: Final = 5
_FIRST: Final = "first"
# All names of the archive's table files. Earlier versions used 12 random hexadecimal digits instead of the digest.
_FILE: Final = re.compile(
    rf"(?:(?P<payments>payments)-(?P<start>{_FIRST}|\d{{4}}-\d\d-\d\d)|people|friends|problems|statements|statement_(?:versions|problems|balances))"
    r"-(?P<digest>[0-9a-f]{32}|[0-9a-f]{12})\.parquet",
    re.ASCII,
)
STATEMENT_KINDS: Final = ("statements", "statement_versions", "statement_problems", "statement_balances")
# Earlier versions kept no balances, and no versions of payments before that.
_KINDS_OF_STATEMENTS: Final = ((), STATEMENT_KINDS, STATEMENT_KINDS[:3], ("statements", "statement_problems"))
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
    """A file of the archive cannot be read; `sync` repairs the archive, an import its files of statements."""

    def __init__(self, path: Path, reason: str, *, by_import: bool) -> None:
        kind = path.name.partition("-")[0]
        repair = f"sync the archive, which sets it aside and loads {_LOADS_AGAIN.get(kind, 'all payments again')}"
        if by_import:
            option = " with repair=True (--repair)" if kind in STATEMENT_KINDS else ""
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
        if len(match["digest"]) == _DIGEST_DIGITS and not self.sha256.startswith(match["digest"]):
            raise ValueError(f"the digest of {self.name} is not the one in its name")
        if len({*self.pending}) < len(self.pending) or len(self.pending) > self.rows:
            raise ValueError(f"the pending payments of {self.name} are not some of its {self.rows} rows")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The account, the time of the data, the instant up to which it is synced, and the valid files.

    The last five fields are there in archives with imported statements only.
    """

    me: Me
    fetched_at: Instant
    synced_to: Instant | None
    friends_at: Instant
    payments: Annotated[tuple[Entry, ...], Meta(min_length=1)]  # oldest first
    friends: Entry
    problems: Entry
    people: Entry | None = None  # None where the rows of payments hold the profiles
    people_at: Instant = EPOCH  # the fetch of the most recent of them; `decode` fills it in for the earlier form
    since: Instant | None = None  # a sync has not loaded older payments, except pending ones; None: it has
    format: int = _FORMAT
    statements: Entry | msgspec.UnsetType = msgspec.UNSET
    statement_problems: Entry | msgspec.UnsetType = msgspec.UNSET
    statement_versions: Entry | msgspec.UnsetType = msgspec.UNSET  # not in archives of earlier versions
    statement_balances: Entry | msgspec.UnsetType = msgspec.UNSET  # not in archives of earlier versions
    account_name: str | msgspec.UnsetType = msgspec.UNSET  # while only statements name the account: no user id is known

    @property
    def small(self) -> dict[str, Entry]:
        """The files of tables that have a single file."""
        optional = {"people": self.people, **{kind: getattr(self, kind) for kind in STATEMENT_KINDS}}
        present = {kind: entry for kind, entry in optional.items() if isinstance(entry, Entry)}
        return {"friends": self.friends, "problems": self.problems, **present}

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All files."""
        return (*self.payments, *self.small.values())

    def __post_init__(self) -> None:
        """Raise a ValueError if the fields contradict each other."""
        kinds = [entry.kind for entry in self.entries]
        if kinds != ["payments"] * len(self.payments) + list(self.small):
            raise ValueError("it names files of one kind as another")
        starts = [entry.start for entry in self.payments]
        if None in starts[1:] or any(before >= after for before, after in pairwise(filter(None, starts))):
            raise ValueError("its files of payments are not in order")
        if not self.me.user.id:
            raise ValueError("it names no account")
        present = tuple(kind for kind in STATEMENT_KINDS if kind in self.small)
        if present not in _KINDS_OF_STATEMENTS:
            raise ValueError("it names a part of the files of statements only")
        if self.account_name is not msgspec.UNSET and not (self.account_name and "statements" in self.small):
            raise ValueError("it names an account of statements and no statements")
        joined = self.me.user.date_joined
        if joined is not None and joined.tzinfo is None:
            raise ValueError("a date in it has no zone")


class _Format(msgspec.Struct):
    """The format version of a manifest, which is decoded first."""

    format: int = 1


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as JSON; its last member is a digest of all bytes before it."""
    return append_digest(msgspec.json.encode(msgspec.structs.replace(manifest, format=_find_format(manifest))))


def decode(body: bytes) -> Manifest | None:
    """Return the manifest, or None if a newer version of this package wrote it.

    Raises
    ------
    ManifestError
        The manifest is damaged or contradicts itself. One of an earlier version has no digest to check.
    """
    has_digest = check_digest(body)
    try:
        written_as = msgspec.json.decode(body, type=_Format).format
        if written_as > _FORMAT_WITH_VERSIONS:
            return None
        if (written_as == 1) == has_digest:
            raise ManifestError("its digest is missing or does not belong there")
        manifest = msgspec.json.decode(body, type=Manifest)
        if (written_as >= _FORMAT) != (manifest.people is not None):
            raise ManifestError("its file of people is missing or does not belong there")
        if max(written_as, _FORMAT) != _find_format(manifest):
            raise ManifestError("its file of statements is missing or does not belong there")
    except msgspec.ValidationError as error:
        raise ManifestError(f"it is no manifest: {_first_line(error)}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise ManifestError("it is no manifest") from None
    people_at = max(manifest.fetched_at, manifest.friends_at) if manifest.people is None else manifest.people_at
    return msgspec.structs.replace(manifest, people_at=people_at, format=_FORMAT)


def _find_format(manifest: Manifest) -> int:
    """Return the format version in which a manifest is written."""
    if "statement_versions" in manifest.small:
        return _FORMAT_WITH_VERSIONS
    return _FORMAT_WITH_STATEMENTS if "statements" in manifest.small else _FORMAT


def append_digest(body: bytes) -> bytes:
    """Return a JSON object with a last member that is a digest of all bytes before it."""
    return body[:-1] + b',"digest":"%b"}' % sha256(body[:-1]).hexdigest().encode()


def check_digest(body: bytes) -> bool:
    """Return whether a JSON object ends in its digest.

    Raises
    ------
    ManifestError
        The digest is of another content.
    """
    found = _DIGEST.search(body)
    if found is not None and sha256(body[: found.start()]).hexdigest().encode() != found[1]:
        raise ManifestError("its content is not as it was written")
    return found is not None


def build_file_name(kind: str, start: date | None, digest: str) -> str:
    """Return the name of a new file. It includes a digest of the content, so it can be checked without a manifest."""
    period = f"{_period(start)}-" if kind == "payments" else ""
    return f"{kind}-{period}{digest[:_DIGEST_DIGITS]}.parquet"


def is_file_name(name: str) -> bool:
    """Return whether a name is one that the archive gives to its table files."""
    return _FILE.fullmatch(name) is not None


def matches_name(name: str, content: bytes) -> bool:
    """Return whether a file's content has the digest in its name; names of earlier versions match any content."""
    match = _FILE.fullmatch(name)
    return match is not None and (
        len(match["digest"]) < _DIGEST_DIGITS or sha256(content).hexdigest().startswith(match["digest"])
    )


def list_starts(entries: Iterable[Entry]) -> list[date | None]:
    """Return the start of each file; that of the first is None, as it holds everything before the second."""
    starts = [entry.start for entry in entries]
    return [None, *starts[1:]]


def _period(start: date | None) -> str:
    return _FIRST if start is None else start.isoformat()


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".")
