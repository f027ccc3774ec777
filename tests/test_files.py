"""Atomic writes, reads that never block, and lock files."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import files
from p2p_analytics.errors import ConfigurationError, SchemaError, describe_os_error
from p2p_analytics.files import NotRegularFileError

if TYPE_CHECKING:
    from pathlib import Path

LOCK_AND_WAIT = """
import sys
from pathlib import Path
from p2p_analytics.files import hold_lock
with hold_lock(Path(sys.argv[1]), seconds=0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_an_atomic_file_is_private_and_complete(tmp_path: Path, umask: int) -> None:
    """The path has the whole content or does not exist; the mode is 0600 under any umask."""
    before = os.umask(umask)
    try:
        with files.atomic_file(tmp_path / "f", prefix=".mine-") as file:
            file.write(b"whole")
            (temporary,) = tmp_path.iterdir()
            assert temporary.name.startswith(".mine-")
            assert temporary.suffix == ".part"
    finally:
        os.umask(before)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == b"whole"
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == 0o600


def test_the_callers_own_errors_pass_through(tmp_path: Path) -> None:
    """An error of the block is not reported as one of the file; nothing is left, and an old file stays."""
    for before in ([], [b"old"]):
        for content in before:
            (tmp_path / "f").write_bytes(content)
        with pytest.raises(ZeroDivisionError), files.atomic_file(tmp_path / "f") as file:
            file.write(b"half" * (file.write(b"half") // 0))
        assert [path.read_bytes() for path in tmp_path.iterdir()] == before


def test_an_atomic_file_is_flushed_before_and_after_the_rename(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The content is on the disk before the name, and the name at the end: a crash leaves the old file or the new."""
    steps = []
    replace = os.replace
    monkeypatch.setattr(os, "fsync", lambda file: steps.append(stat.S_ISDIR(os.fstat(file).st_mode) or "content"))
    monkeypatch.setattr(os, "replace", lambda source, target: (steps.append("rename"), replace(source, target)))
    with files.atomic_file(tmp_path / "f") as file:
        file.write(b"whole")
    assert steps == ["content", "rename", True]


def test_only_a_file_is_replaced(tmp_path: Path) -> None:
    """The error names the kind of the path; a link to a file may be replaced, and a missing one be made."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for name, target in (("link", "file"), ("broken", "absent"), ("proc", "/proc/self/status")):
        (tmp_path / name).symlink_to(target)
    for name, kind in (
        ("folder", "a folder"), ("pipe", "a named pipe"), ("proc", "a link that leads to no file"),
        ("broken", "a link that leads to no file"), ("/dev/null", "a device"),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match=rf" is {kind} and is not replaced: give the name of a file\.$"):
            files.require_replaceable(tmp_path / name)
    for name in ("missing", "file", "link"):
        files.require_replaceable(tmp_path / name)


def test_only_regular_files_are_opened(tmp_path: Path) -> None:
    """A pipe does not block, a link counts only where links are followed, and the reason names the kind."""
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with files.open_regular(tmp_path / "file", follow_links=False) as file:
        assert file.read() == b"content"
    with files.open_regular(tmp_path / "link") as file:
        assert file.read() == b"content"
    for name, follow_links, reason in (
        ("link", False, "it is a link, not a file"),
        ("folder", True, "it is a folder, not a file"),
        ("pipe", True, "it is a named pipe, not a file"),
    ):
        with pytest.raises(NotRegularFileError) as caught:
            files.open_regular(tmp_path / name, follow_links=follow_links)
        assert caught.value.reason == reason
        assert caught.value.errno == errno.EINVAL
    with pytest.raises(FileNotFoundError):
        files.open_regular(tmp_path / "missing")
    assert [files.is_regular(tmp_path / name) for name in ("file", "link", "folder", "pipe", "missing")] == [
        True, False, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize("private", [False, True])
def test_a_broken_table_is_one_sentence(tmp_path: Path, *, private: bool) -> None:
    """The first line of the library's message, shortened; in privacy mode none of it."""
    import pyarrow as pa

    (tmp_path / "t").touch()
    with pytest.raises(SchemaError) as caught, files.open_table(tmp_path / "t", private=private):
        raise pa.ArrowInvalid("secret \x00\ufffd" + "x" * 300 + "\nsecond line")
    assert str(caught.value).startswith(f"{tmp_path / 't'} cannot be read as a table: ")
    assert ("secret" in str(caught.value)) is not private
    assert "second line" not in str(caught.value)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < len(str(tmp_path)) + 250
    with (
        pytest.raises(ConfigurationError, match=r"^Cannot read .*: there is no such file or folder\.$"),
        files.open_table(tmp_path / "missing", private=private),
    ):
        pass


def test_a_lock_excludes_other_processes_until_they_end(tmp_path: Path) -> None:
    """A held lock raises BlockingIOError after the wait; a killed process releases it. The file is private."""
    lock = tmp_path / "lock"
    with subprocess.Popen(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-c", LOCK_AND_WAIT, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError), files.hold_lock(lock, seconds=0.1):
            pass
        holder.kill()
    with files.hold_lock(lock, seconds=5):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600


def test_only_a_file_is_a_lock(tmp_path: Path) -> None:
    """Anything else raises an OSError without a wait, and stays."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "missing")
    (tmp_path / "folder").mkdir()
    for lock in list(tmp_path.iterdir()):
        before = lock.lstat()
        with pytest.raises(OSError, match=r"."), files.hold_lock(lock, seconds=60):
            pass
        assert (lock.lstat().st_mode, lock.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert not (tmp_path / "missing").exists()


def test_a_wrong_path_is_one_sentence(tmp_path: Path) -> None:
    """Of a NUL the system would raise a ValueError; other text is a path."""
    with pytest.raises(ConfigurationError, match=r"is no file name: it holds a NUL\.$"):
        files.to_path("a\0b")
    with pytest.raises(ConfigurationError, match="A path is text or a Path, not an int: "):
        files.to_path(5)
    assert files.to_path(str(tmp_path)) == tmp_path


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (FileNotFoundError(errno.ENOENT, "No such file or directory"), "there is no such file or folder"),
        (PermissionError(errno.EACCES, "Permission denied"), "permission denied"),
        (OSError("Something else"), "something else"),
    ],
)
def test_the_reason_of_an_os_error(error: OSError, reason: str) -> None:
    """It fits into the middle of a sentence."""
    assert describe_os_error(error) == reason
