"""Journal of imports: for each, the manifest that it replaced, so that the import can be undone to the byte."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from p2p_analytics.archive import _manifest

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
    services: tuple[str, ...] | None = None  # None: an earlier version did not keep them
    under_way: Literal["import", "undo"] | None = None

    def __post_init__(self) -> None:
        """Raise a ValueError if it names other files than those of tables, because an undo removes them."""
        if not all(map(_manifest.is_file_name, self.written)):
            raise ValueError("it names files that are not the archive's")

    @property
    def before_digest(self) -> str | None:
        """The digest of the manifest that the import replaced."""
        return None if self.before is None else digest(self.before.encode())


class _Journal(msgspec.Struct):
    """The content of the file, which ends in a digest."""

    batches: tuple[Batch, ...]


def digest(manifest: bytes) -> str:
    """Return the digest that identifies a state of the archive."""
    return sha256(manifest).hexdigest()


def encode(batches: tuple[Batch, ...]) -> bytes:
    """Return the journal as JSON."""
    return _manifest.append_digest(msgspec.json.encode(_Journal(batches)))


def decode(body: bytes) -> tuple[Batch, ...]:
    """Return the imports, the first one first.

    Raises
    ------
    JournalError
        The journal is damaged.
    """
    try:
        if not _manifest.check_digest(body):
            raise JournalError("its digest is missing")
        return msgspec.json.decode(body, type=_Journal).batches
    except _manifest.ManifestError as error:
        raise JournalError(str(error)) from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise JournalError("it is no journal of imports") from None


def find_current(batches: tuple[Batch, ...], state: str | None) -> tuple[Batch, ...]:
    """Return the imports that are in effect. Only the last one can be under way; a killed process may have left it so.

    Parameters
    ----------
    batches : tuple of Batch
        The journal.
    state : str or None
        The digest of the present manifest, None without one.
    """
    if not batches or batches[-1].under_way is None:
        return batches
    *earlier, last = batches
    is_unchanged = last.before_digest == last.after_digest  # an import of known payments: the state says nothing
    if state == last.before_digest and not (is_unchanged and last.under_way == "import"):
        return (*earlier,)
    return (*earlier, msgspec.structs.replace(last, under_way=None))


def can_undo(batches: tuple[Batch, ...], state: str | None) -> bool:
    """Return whether the archive is as the last of the imports left it."""
    return bool(batches) and batches[-1].after_digest == state
