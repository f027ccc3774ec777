"""Handles of accounts and names of their holders, in the forms in which they are compared."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Mapping


def normalize_account(name: str) -> str:
    """Return an account's name in the form in which names are compared: handles with and without "@" are equal."""
    return name.strip().removeprefix("@").casefold()


def fold_name(name: str | None) -> str:
    """Return a display name without case, repeated blanks and other ways of writing the same letters."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", name or "").casefold()).split())


def find_handle(name: str, handles: Mapping[str, Collection[str]]) -> str | None:
    """Return the account of a file that shows the name of its holder and no handle: the one handle of this name.

    Without one, or with several, it is None, and the name itself is the account. ``handles`` has the handles of the
    holders of each name, which is as `fold_name` returns it.
    """
    of_name = handles.get(fold_name(name), ())
    return next(iter(of_name)) if len(of_name) == 1 else None


def has_other_name(handle: str, name: str, handles: Mapping[str, Collection[str]]) -> bool:
    """Return whether the holder of a handle has names, and a given one is not among them.

    ``handles`` is as in `find_handle`.
    """
    names = {each for each, found in handles.items() if handle in found}
    return bool(names) and fold_name(name) not in names
