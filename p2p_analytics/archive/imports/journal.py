"""Journal of imports: for each, the manifest that it replaced, so that the import can be undone to the byte."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final

import msgspec
from msgspec import Meta

NAME: Final = "batches.json"
Count = Annotated[int, Meta(ge=0)]


class JournalError(ValueError):
    """A damaged journal; the message is the reason."""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One import: what it counted, the manifests before and after it, and the files that it wrote."""

    number: Annotated[int, Meta(ge=1)]
    imported_at: Annotated[datetime, Meta(tz=True)]
    files: tuple[str, ...]
    new: Count
    known: Count
    changed: Count
    refused: Count
    before: str | None  # the text of the manifest; None: there was no archive
    after_digest: str
    written: tuple[str, ...]

    @property
    def before_digest(self) -> str | None:
        """The digest of the manifest that the import replaced."""
        return None if self.before is None else digest(self.before.encode())


def digest(manifest: bytes) -> str:
    """Return the digest that identifies a state of the archive."""
    return sha256(manifest).hexdigest()


def encode(batches: tuple[Batch, ...]) -> bytes:
    """Return the journal as JSON."""
    return msgspec.json.encode(batches)


def decode(body: bytes) -> tuple[Batch, ...]:
    """Return the imports, the first one first.

    Raises
    ------
    JournalError
        The journal is damaged.
    """
    try:
        return msgspec.json.decode(body, type=tuple[Batch, ...])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise JournalError("it is no journal of imports") from None


def find_current(batches: tuple[Batch, ...], state: str | None) -> tuple[Batch, ...]:
    """Return the imports that took effect; those after them were interrupted, or undone by a process that was killed.

    Parameters
    ----------
    batches : tuple of Batch
        The journal.
    state : str or None
        The digest of the present manifest, None without one.
    """
    for place in reversed(range(len(batches))):
        if batches[place].after_digest == state:
            return batches[: place + 1]
        if batches[place].before_digest == state:
            return batches[:place]
    return batches  # a sync or merge came after them


def can_undo(batches: tuple[Batch, ...], state: str | None) -> bool:
    """Return whether the archive is as the last of the imports left it."""
    return bool(batches) and batches[-1].after_digest == state
