"""Several archives in one folder, read as one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from p2p_analytics.archive._archive import Archive
from p2p_analytics.archive._manifest import NAME, is_file_name
from p2p_analytics.archive._scan import Scannable, Source
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.files import to_path
from p2p_analytics.handles import normalize_account

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


_MOST_NAMES: Final = 5


def open_archives(root: str | os.PathLike[str]) -> Archives:
    """Return the archives in a folder: each of its folders is the archive of one account.

    Raises
    ------
    ArchiveError
        The folder does not exist, holds no archive, or is one itself; a folder in it cannot be read, is broken, is no
        archive, or holds the archive of an account that another one holds too. Files beside the archives are ignored.
    """
    path = to_path(root).expanduser().absolute()
    return Archives(path, [Archive(folder) for folder in _list_folders(path)])


class Archives(Scannable):
    """The archives in a folder, each of one account, in the order of their names.

    ``len`` counts them, a loop yields each `Archive`, and ``archives["ada"]`` is the one in the folder ``ada``.

    Attributes
    ----------
    path : Path
        The folder.
    """

    _has_accounts = True

    def __init__(self, path: Path, archives: list[Archive]) -> None:
        self.path = path
        self._archives = {archive.path.name: archive for archive in archives}
        self._open_sources()

    def __repr__(self) -> str:
        """Show the path and the number of archives."""
        return f"<Archives {self.path}: {format_count(len(self), 'archive', 'archives')}>"

    def __len__(self) -> int:
        """Return the number of archives."""
        return len(self._archives)

    def __iter__(self) -> Iterator[Archive]:
        """Yield the archives in the order of their names."""
        return iter(self._archives.values())

    def __getitem__(self, name: str | int) -> Archive:
        """Return the archive in the folder of this name, or at this position."""
        if isinstance(name, int):
            return list(self)[name]
        try:
            return self._archives[name]
        except (KeyError, TypeError):
            known = ", ".join(self.names[:_MOST_NAMES]) + (", ..." if len(self) > _MOST_NAMES else "")
            raise KeyError(f"{self.path} has no archive {name!r}: there are {known}.") from None

    def __contains__(self, name: object) -> bool:
        """Return whether there is an archive in a folder of this name."""
        return name in self._archives

    @property
    def names(self) -> list[str]:
        """The names of the archives' folders, rising."""
        return list(self._archives)

    def _open_sources(self) -> list[Source]:
        """Return the archives, for `scan`: each with its present manifest."""
        sources = [source for archive in self for source in archive._open_sources()]  # noqa: SLF001 - same package
        _require_distinct(sources)
        return sources


def _list_folders(root: Path) -> list[Path]:
    """Return the folders in a folder, and links to folders, in the order of their names."""
    try:
        with os.scandir(root) as entries:
            found = list(entries)
    except OSError as error:
        raise ArchiveError(
            f"{root} cannot be read ({describe_os_error(error)}): name a folder with archives in it."
        ) from None
    if any(entry.name == NAME or is_file_name(entry.name) for entry in found):
        raise ArchiveError(f"{root} is itself an archive: use open_archive, or name the folder that contains it.")
    folders = []
    for entry in found:
        if entry.is_symlink() and not os.path.exists(entry.path):  # noqa: PTH110 - an entry of scandir
            raise ArchiveError(f"{entry.path} is a link that leads nowhere: remove it.")
        if entry.is_dir():
            folders.append(root / entry.name)
    if not folders:
        raise ArchiveError(f"{root} holds no archives: name a folder in which each folder is an archive.")
    return sorted(folders)


def _require_distinct(sources: list[Source]) -> None:
    """Raise an ArchiveError if two archives hold the payments of one account, which would count twice."""
    seen: dict[str, Path] = {}
    synced = [source for source in sources if not isinstance(source.manifest.account_name, str)]
    for folder, manifest in synced:
        _require_new(seen, str(manifest.me.user.id), folder.path)
    # Until its first sync, an archive of statements has a username in place of the id.
    names = {f"@{normalize_account(manifest.me.user.username or '')}": folder.path for folder, manifest in synced}
    for folder, manifest in sources:
        if isinstance(manifest.account_name, str):
            _require_new(names, f"@{normalize_account(manifest.account_name)}", folder.path)


def _require_new(seen: dict[str, Path], account: str, path: Path) -> None:
    other = seen.setdefault(account, path)
    if other != path:
        raise ArchiveError(
            f"{other} and {path} hold the same account, so its payments would count twice: move one away."
        )
