"""The moments between which an archive's folder changes: copies of the folder at each, and a death at one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

STEPS = ((os, "fsync"), (os, "replace"), (os, "rename"), (os, "unlink"), (os, "mkdir"), (tempfile, "mkstemp"))


@contextlib.contextmanager
def act_before_each_step(act: Callable[[], None]) -> Iterator[None]:
    """Call a function before each call that changes a folder or waits for the disk, unless it makes them itself."""
    acting = False

    def watch(call: Callable[..., Any]) -> Callable[..., Any]:
        def act_and_call(*arguments: Any, **keywords: Any) -> Any:
            nonlocal acting
            if not acting:
                acting = True
                act()
                acting = False
            return call(*arguments, **keywords)

        return act_and_call

    with contextlib.ExitStack() as stack:
        for module, name in STEPS:
            stack.enter_context(mock.patch.object(module, name, watch(getattr(module, name))))
        yield


class Copies:
    """Copies of a folder before each step of a change, as a process that is killed there leaves it."""

    def __init__(self, folder: Path, to: Path) -> None:
        self.steps = 0
        self.different: list[Path] = []
        self._folder = folder
        self._to = to
        self._last: object = ()

    @contextlib.contextmanager
    def watch_changes(self) -> Iterator[None]:
        """Copy the folder before each step in this block, and at its end; only if it differs from the last copy."""
        with act_before_each_step(self._copy):
            yield
        self._copy()

    def _copy(self) -> None:
        self.steps += 1
        files = sorted(self._folder.iterdir()) if self._folder.exists() else None
        found = files and [(file.name, hashlib.sha256(file.read_bytes()).digest()) for file in files]
        if found != self._last:
            self._last = found
            copy = self._to / f"{self.steps}"
            self.different.append(copy)
            if files is not None:
                shutil.copytree(self._folder, copy)
