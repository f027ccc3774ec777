"""Atomic writes, reads that never block, and lock files."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from p2p_analytics import files
from p2p_analytics.errors import ConfigurationError, SchemaError, describe_os_error
from p2p_analytics.files import NotRegularFileError

LOCK_AND_WAIT = """
import sys
from pathlib import Path
from p2p_analytics.files import hold_lock
with hold_lock(Path(sys.argv[1]), seconds=0):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def things(tmp_path) -> Path:
    """Return a folder with a file, a folder, a pipe, and links to a file, to none, and into /proc."""
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, target in (("link", "file"), ("broken", "absent"), ("proc", "/proc/self/status")):
        (tmp_path / name).symlink_to(target)
    return tmp_path


@pytest.mark.parametrize("umask", [0o000, 0o277])
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


def test_only_a_file_is_replaced(things) -> None:
    """The error names the kind of the path; a link to a file may be replaced, and a missing one be made."""
    for name, kind in (
        ("folder", "a folder"), ("pipe", "a named pipe"), ("proc", "a link that leads to no file"),
        ("broken", "a link that leads to no file"), ("/dev/null", "a device"),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match=rf" is {kind} and is not replaced: give the name of a file\.$"):
            files.require_replaceable(things / name)
    for name in ("missing", "file", "link"):
        files.require_replaceable(things / name)


def test_only_regular_files_are_opened(things) -> None:
    """A pipe does not block, a link counts only where links are followed, and the reason names the kind."""
    for name, options in (("file", {"follow_links": False}), ("link", {})):
        with files.open_regular(things / name, **options) as file:
            assert file.read() == b"content"
    for name, follow_links, kind in (
        ("link", False, "a link"),
        ("folder", True, "a folder"),
        ("pipe", True, "a named pipe"),
    ):
        with pytest.raises(NotRegularFileError) as caught:
            files.open_regular(things / name, follow_links=follow_links)
        assert (caught.value.reason, caught.value.errno) == (f"it is {kind}, not a file", errno.EINVAL)
    with pytest.raises(FileNotFoundError):
        files.open_regular(things / "missing")
    names = ("file", "link", "folder", "pipe", "missing")
    assert [files.is_regular(things / name) for name in names] == [True, False, False, False, False]


@pytest.mark.parametrize("private", [False, True])
def test_a_broken_table_is_one_sentence(tmp_path: Path, *, private: bool) -> None:
    """The first line of the library's message, shortened; in privacy mode none of it."""
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


def test_only_a_file_is_a_lock(things) -> None:
    """Anything else raises an OSError without a wait, and stays."""
    for lock in (things / name for name in ("pipe", "broken", "folder")):
        before = lock.lstat()
        with pytest.raises(OSError, match=r"."), files.hold_lock(lock, seconds=60):
            pass
        assert (lock.lstat().st_mode, lock.lstat().st_ino) == (before.st_mode, before.st_ino)
    assert not (things / "absent").exists()


def test_a_wrong_path_is_one_sentence(tmp_path: Path) -> None:
    """Of a NUL the system would raise a ValueError; other text is a path."""
    with pytest.raises(ConfigurationError, match=r"is no file name: it holds a NUL\.$"):
        files.to_path("a\0b")
    with pytest.raises(ConfigurationError, match="A path is text or a Path, not an int: "):
        files.to_path(5)
    assert files.to_path(str(tmp_path)) == tmp_path


def test_the_reason_of_an_os_error() -> None:
    """It fits into the middle of a sentence."""
    reasons = {
        FileNotFoundError(errno.ENOENT, "No such file or directory"): "there is no such file or folder",
        PermissionError(errno.EACCES, "Permission denied"): "permission denied",
        OSError("Something else"): "something else",
    }
    assert [describe_os_error(error) for error in reasons] == list(reasons.values())
