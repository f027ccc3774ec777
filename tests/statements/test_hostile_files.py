"""Files made to do harm are refused with one sentence, within bounded time and memory; nothing is half read."""

from __future__ import annotations

import importlib
import os
import socket
import zipfile
from itertools import count
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.statements import Problem, problems
from p2p_analytics.statements.reading import sources, tables

# The package has a function of the module's name.
_COLLECT = importlib.import_module("p2p_analytics.statements.collect")
_SAMPLES = Path(__file__).parent / "samples"
_A = (_SAMPLES / "gen_a_2018.csv").read_bytes()
_HEADER = _A.removeprefix(b"\xef\xbb\xbf").splitlines(keepends=True)[0]


def write(folder: Path, name: str, content: bytes | str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def pack(folder: Path, members: dict[str, bytes], name: str = "s.zip") -> Path:
    """Write a zip archive and return its path."""
    path = folder / name
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it is empty"),
        (b"a,b,c\n1,2,3\n", r"is not a statement \(columns: a, b, c\)\."),
        (_A.replace(b"Tutoring", b"Tut\0ring"), r"line 2: there is a NUL character"),
        (_A + b'"' + b"x" * 300_000 + b'"\n', r"line 8: the line has more than 256 kB"),
        (b"," * 1_000_000, "more than 256 kB"),
        (b"," * 5_000, "line 1: the row has 5,001 cells"),
        (_A + b"," * 5_000 + b"\n", "line 8: the row has 5,001 cells"),
        (_A + b'"' + b"x\n" * 100_000, "a cell is larger than a statement has"),
        (b"\x89PNG\r\n\x1a\n\x81\x8d" + bytes(range(128, 256)), "is not text"),
        (b"\x7fELF\0\0\xc3\xa9\xff", "is not text"),
        (
            b"%PDF-1.7\n%\xc3\xa4\xff\n1 0 obj\n",
            "file.csv is a PDF, which cannot be read: download the CSV file instead",
        ),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "file.csv is a workbook of a spreadsheet, which"),
        (b"\xff\xfe" + _A.decode().encode("utf-16-le")[:-1], "the text is damaged"),
        ("Zoë".encode() + _A[:-20] + b"\xff\xfe", "the text is damaged"),
        (_A.replace(b"2410000000000000117", b"2.41E+18"), r"line 2: the id 2\.41E\+18 was rounded"),
        (_A.replace(b"0000000117", b"0000000000").replace(b"0000000225", b"0000000000"), "was rounded"),
        (_A.replace(b"2410000000000000117", b"########"), "line 2: the id ######## was rounded"),
        (_A.replace(b"2410000000000000117", b"2,410,000,000,000,000,117"), "was rounded"),
    ],
)
def test_a_named_file_that_is_no_statement_is_refused(content, message, tmp_path):
    """The error names the file, the line where there is one, and the reason."""
    path = write(tmp_path, "file.csv", content)
    with pytest.raises(StatementError, match=message) as caught:
        p2p.read_statements(path)
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 900


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_HEADER + b"x\n" * 10_001, "more than 10,000 rows with too many or too few cells"),
        (_HEADER + _HEADER * 1_000, "more than 1,000 headers, which no statement has: import the files"),
        (_HEADER + b"1,,,,,,,,,,\n" * 91, "more rows than a statement"),  # 1,001 cells
    ],
)  # fmt: skip
def test_small_files_that_are_large_in_memory_are_refused(content, message, tmp_path, monkeypatch):
    """Short rows are filled to the width of the header: rows, cells and headers are bounded, not bytes alone."""
    if "more rows" in message:
        monkeypatch.setattr(tables, "_MOST_FILE_CELLS", 1_000)
    with pytest.raises(StatementError, match=message):
        p2p.read_statements(write(tmp_path, "file.csv", content), account="ada")


def test_the_rows_of_all_files_are_bounded(tmp_path, monkeypatch):
    """A zip archive of many files, each with few rows, cannot fill the memory either."""
    monkeypatch.setattr(_COLLECT, "_MOST_ROWS", 100)
    path = pack(tmp_path, {f"{number}.csv": _HEADER + b"1,,,,,,,,,,\n" * 51 for number in range(2)})
    with pytest.raises(StatementError, match=r"^The files have more than 100 rows together: read them in several"):
        p2p.read_statements(path, account="ada")


def test_problems_of_very_many_rows_are_counted_not_kept(tmp_path, monkeypatch):
    """Of 25,000 rows with an id alone, each of the five problems is listed 10,000 times, and 15,000 are counted."""
    content = _HEADER + b"".join(b"%d,,,,,,,,,,\n" % number for number in range(25_000))
    made = []
    monkeypatch.setattr(problems, "Problem", lambda *values, **named: made.append(values) or Problem(*values, **named))
    listed = p2p.read_statements(write(tmp_path, "file.csv", content), account="ada").problems
    of_dates = listed[listed["field"] == "datetime"]
    assert of_dates["problem"].to_list() == ["there is no date"] * 10_000 + [
        "15,000 more rows have the same problem: there is no date"
    ]
    assert of_dates["line"].iloc[-1] == 10_002
    assert len(made) == len(listed) == 10_001 * listed["field"].nunique()


def test_a_pattern_of_endless_files_is_refused(monkeypatch):
    """The names that match are counted while they are listed, not only when all are known."""
    monkeypatch.setattr(sources, "_MOST_FILES", 50)
    monkeypatch.setattr(sources.glob, "iglob", lambda *_, **__: (f"{number}.csv" for number in count()))
    with pytest.raises(StatementError, match=r"^\*\.csv leads to more than 50 files: name fewer of them\.$"):
        p2p.read_statements("*.csv")


def test_paths_that_are_no_files_are_refused(tmp_path):
    """Pipes, sockets, devices, loops of links, missing files and patterns without a match do not block."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.csv"))
        for name in ("pipe.csv", "loop.csv", "socket.csv", "missing.csv", "*.tsv", "/dev/null", "/dev/zero"):
            with pytest.raises(StatementError, match=r"cannot be read|No file matches"):
                p2p.read_statements(tmp_path / name)
    for paths in ([], None, 7, [7], ["a\0b"]):
        with pytest.raises(ConfigurationError):
            p2p.read_statements(paths)


def test_a_folder_skips_what_is_no_statement(tmp_path):
    """Other files of a folder, links and folders in it are skipped and listed; the statements are read."""
    write(tmp_path, "a.csv", _A)
    write(tmp_path, "notes.csv", b"x;y\n")
    write(tmp_path, "manual.pdf", b"%PDF")
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
    (tmp_path / "inner.csv").mkdir()
    statements = p2p.read_statements(tmp_path)
    assert len(statements.payments) == 6
    skipped = statements.problems.set_index("file")["problem"]
    assert sorted(skipped.index) == sorted([tmp_path.name, "link.csv", "manual.pdf", "notes.csv", "pipe.csv"])
    assert skipped["link.csv"] == "skipped: link.csv cannot be read: it is a link, not a file"
    assert skipped[tmp_path.name].startswith(f"skipped: {tmp_path.name} has folders in it (inner.csv), which are ")
    assert skipped.str.startswith("skipped: ").all()
    (tmp_path / "a.csv").unlink()
    with pytest.raises(StatementError, match="No statement was found"):
        p2p.read_statements(tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"\0\5\x16\7" + b"Mac OS X", bytes(range(256)), b"x" * 300_000, b"," * 5_000 + b"\n1\n", b'{"a": "\xff"}'],
    ids=["resource fork", "no text", "long line", "many cells", "other JSON"],
)
def test_other_files_do_not_hinder_statements(content, tmp_path):
    """A file that cannot be read and does not begin as a statement is skipped, in a folder, archive or list."""
    write(tmp_path, "._a.csv", content)
    write(tmp_path, "a.csv", _A)
    paths = [
        tmp_path,
        pack(tmp_path, {"__MACOSX/._a.csv": content, "a.csv": _A}),
        [tmp_path / "._a.csv", tmp_path / "a.csv"],
    ]
    for path in paths:
        statements = p2p.read_statements(path, skip_others=isinstance(path, list))
        assert len(statements.payments) == 6
        skipped = statements.problems[statements.problems["problem"].str.startswith("skipped: ")]
        assert skipped["file"].str.endswith("._a.csv").all()
        assert len(skipped) >= 1
    with pytest.raises(StatementError):
        p2p.read_statements(tmp_path / "._a.csv")
    write(tmp_path, "b.csv", _A + b"\0")
    with pytest.raises(StatementError):
        p2p.read_statements(tmp_path)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"../a.csv": _A}, "leads out of its folder"),
        ({"/etc/a.csv": _A}, "leads out of its folder"),
        ({"C:\\a.csv": _A}, "leads out of its folder"),
        ({"a\\..\\..\\b.csv": _A}, "leads out of its folder"),
        ({"inner.zip": b"PK"}, "holds another zip archive"),
        ({"readme.md": b"hello"}, "No statement was found"),
    ],
)
def test_zip_archives_that_are_refused(members, message, tmp_path):
    """Names that lead out of the folder, archives in archives and archives without statements are refused."""
    with pytest.raises(StatementError, match=message):
        p2p.read_statements(pack(tmp_path, members))


def test_zip_bombs(tmp_path, monkeypatch):
    """Archives that unpack to more than the limits, also where they lie about it, are refused without unpacking all."""
    monkeypatch.setattr(sources, "LARGEST_FILE", 100_000)
    monkeypatch.setattr(sources, "_LARGEST_ARCHIVE", 150_000)
    with pytest.raises(StatementError, match="unpacks to more"):
        p2p.read_statements(pack(tmp_path, {"a.csv": b"0" * 200_000}))
    with pytest.raises(StatementError, match="unpacks to more"):
        p2p.read_statements(pack(tmp_path, {f"{number}.csv": b"0" * 90_000 for number in range(2)}))
    path = pack(tmp_path, {"a.csv": b"0" * 200_000})
    content = path.read_bytes()
    position = content.rindex(b"PK\x01\x02")
    path.write_bytes(content[: position + 24] + (50_000).to_bytes(4, "little") + content[position + 28 :])
    with pytest.raises(StatementError, match=r"damaged|more than"):
        p2p.read_statements(path)
    with pytest.raises(StatementError, match=r"more than 0 MB"):
        p2p.read_statements(write(tmp_path, "big.csv", b"x" * 100_001))


def test_rows_that_are_packed_too_well(tmp_path, monkeypatch):
    """A small archive of a million short rows is refused, unless it unpacks to little."""
    content = _A + b"\n" + b"1,,,,,,,,,,\n" * 50_000
    path = pack(tmp_path, {"a.csv": content})
    assert len(content) > 100 * path.stat().st_size
    monkeypatch.setattr(sources, "_SMALL_ARCHIVE", 500_000)
    with pytest.raises(StatementError, match="unpacks to more than statements have"):
        p2p.read_statements(path)
    monkeypatch.setattr(sources, "_SMALL_ARCHIVE", 700_000)
    assert p2p.read_statements(path).files["rows"].tolist() == [50_006]


def test_a_large_list_of_members_is_not_loaded(tmp_path, monkeypatch):
    """The list of a zip archive is measured before it is read."""
    monkeypatch.setattr(sources, "_LARGEST_DIRECTORY", 1_000)
    path = pack(tmp_path, {f"{number}.csv": b"" for number in range(100)})
    with pytest.raises(StatementError, match="lists more files than statements need"):
        p2p.read_statements(path)


@pytest.mark.parametrize("cut", [4, 30, 200, -1, -10, -30])
def test_damaged_zip_archives(cut, tmp_path):
    """A zip archive that is cut off is refused."""
    path = pack(tmp_path, {"a.csv": _A})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StatementError):
        p2p.read_statements(path)


def test_the_same_file_is_read_once(tmp_path):
    """A file that is named twice, or in a folder too, counts once."""
    path = write(tmp_path, "a.csv", _A)
    statements = p2p.read_statements([path, str(path), tmp_path, tmp_path / "*.csv"])
    assert statements.files["rows"].tolist() == [6]
    assert statements.problems.empty


def test_privacy_mode_quotes_no_column(tmp_path, monkeypatch):
    """In privacy mode the error for another file shows none of its cells."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    path = write(tmp_path, "file.csv", b"Nora Quill,secret\n")
    with pytest.raises(StatementError) as caught:
        p2p.read_statements(path)
    assert "Nora" not in str(caught.value)
