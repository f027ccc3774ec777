"""The moments between which an archive's folder changes: copies of the folder at each, and a full disk."""

import contextlib
import errno
import hashlib
import itertools
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

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


@contextlib.contextmanager
def fill_disk(after: int = 0) -> Iterator[None]:
    """Let no file reach the disk after some that do."""
    calls = itertools.count()

    def flush(_descriptor: int) -> None:
        if next(calls) >= after:
            raise OSError(errno.ENOSPC, "No space left on device")

    with mock.patch.object(os, "fsync", flush):
        yield


def copy_before_each_step(folder: Path, to: Path, change: Callable[[], object]) -> list[Path]:
    """Return copies of a folder before each step of a change and at its end, without repetitions.

    A process that is killed before a step leaves the folder so.
    """
    copies: list[Path] = []
    last: object = ()

    def copy() -> None:
        nonlocal last
        files = sorted(folder.iterdir()) if folder.exists() else None
        found = files and [(file.name, hashlib.sha256(file.read_bytes()).digest()) for file in files]
        if found != last:
            last = found
            copies.append(to / f"{folder.name}-{len(copies)}")
            if files is not None:
                shutil.copytree(folder, copies[-1])

    with act_before_each_step(copy):
        change()
    copy()
    return copies
