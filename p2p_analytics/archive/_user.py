"""Check that an archive belongs to the user of a load or of a merged history."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.archive.imports.owners import HOLDERS, list_names
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.arrow import frame_of
from p2p_analytics.handles import fold_name, is_name_of

if TYPE_CHECKING:
    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.archive._manifest import Manifest
    from p2p_analytics.records import Me, User


def require_user(folder: ArchiveFolder, manifest: Manifest, me: Me) -> None:
    """Raise an ArchiveError if the archive belongs to another account.

    One that only statements have filled belongs to the user with the username that they name, or with the name of their
    holder if this is their account.
    """
    name = manifest.account_name
    if manifest.me.user.id == me.user.id:
        return
    if not isinstance(name, str):
        raise folder.account_error()
    if not is_name_of(name, me.user.username) and not _is_holder(folder, manifest, name, me.user):
        raise ArchiveError(
            f"{folder.path} holds statements of {name}, not of {me.user.username or me.user.id}: name another folder."
        )


def _is_holder(folder: ArchiveFolder, manifest: Manifest, name: str, user: User) -> bool:
    """Return whether the account of an archive is the name of the holder in its files, and a user has this name.

    An account that the importer has named is a handle, which display names are not compared with; so is one that files
    show. Damaged files show no name.
    """
    is_named = bool(user.display_name) and fold_name(user.display_name) == fold_name(name)
    entry = manifest.small.get("statements")
    if not is_named or manifest.me.user.username or entry is None or not folder.is_sound(entry):
        return False
    return name in list_names(frame_of(folder.read(entry, columns=[*HOLDERS])))
