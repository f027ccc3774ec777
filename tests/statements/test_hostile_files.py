"""Files made to do harm are refused with one sentence, within bounded time and memory; nothing is half read."""

import os
import socket

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, StatementError
from support.statements.files import SAMPLES, read_sample

_A = SAMPLES["gen_a_2018"].read_bytes()
_HEADER = read_sample("gen_a_2018").partition("\n")[0].encode() + b"\n"
_SHORT = b"1,,,,,,,,,,\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (_A.replace(b"Tutoring", b"Tut\0ring"), r"line 2: there is a NUL character"),
        (_A + b'"' + b"x" * 300_000 + b'"\n', r"line 8: the line has more than 256 kB"),
        (b"," * 1_000_000, "more than 256 kB"),
        (b"," * 5_000, "line 1: the row has 5,001 cells"),
        (_A + b"," * 5_000 + b"\n", "line 8: the row has 5,001 cells"),
        (_A + b'"' + b"x\n" * 100_000, "a cell is larger than a statement has"),
        (b"\x89PNG\r\n\x1a\n\x81\x8d" + bytes(range(128, 256)), "is not text"),
        (b"\x7fELF\0\0\xc3\xa9\xff", "is not text"),
        (b"%PDF-1.7\n%\xc3\xa4\xff\n1 0 obj\n", "is a PDF, which cannot be read: download the CSV file instead"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "file.csv is a workbook of a spreadsheet, which"),
        (b"\xff\xfe" + _A.decode().encode("utf-16-le")[:-1], "the text is damaged"),
        ("Zoë".encode() + _A[:-20] + b"\xff\xfe", "the text is damaged"),
        (_A.replace(b"2410000000000000117", b"2.41E+18"), r"line 2: the id 2\.41E\+18 was rounded"),
        (_A.replace(b"0000000117", b"0000000000").replace(b"0000000225", b"0000000000"), "was rounded"),
        (_A.replace(b"2410000000000000117", b"########"), "line 2: the id ######## was rounded"),
        (_A.replace(b"2410000000000000117", b"2,410,000,000,000,000,117"), "was rounded"),
        # Short rows are filled to the width of the header: rows, cells and headers are bounded, not bytes alone.
        (_HEADER + b"x\n" * 10_001, "more than 10,000 rows with too many or too few cells"),
        (_HEADER + _HEADER * 1_000, "more than 1,000 headers, which no statement has: import the files"),
    ],
)
def test_a_named_file_that_is_no_statement_is_refused(content, message, write):
    """The error names the file, the line where there is one, and the reason."""
    path = write("file.csv", content)
    with pytest.raises(StatementError, match=message) as caught:
        p2p.read_statements(path, account="ada")
    assert str(path) in str(caught.value)
    assert len(str(caught.value)) < 900


@pytest.mark.parametrize(
    ("limit", "counts", "message"),
    [
        (("statement_cells", 1_000), [91], "has more rows than a statement"),  # 1,001 cells
        (("statement_rows", 100), [51, 51], "^The files have more than 100 rows together: read them in several"),
        (("zip_directory_bytes", 1_000), [1] * 100, "lists more files than statements need"),
    ],
)
def test_small_files_that_are_large_in_memory_are_refused(limit, counts, message, pack, set_limit):
    """A file of many cells, many files of few rows each, and the list of a zip archive cannot fill the memory."""
    set_limit(*limit)
    path = pack("s.zip", {f"{number}.csv": _HEADER + _SHORT * count for number, count in enumerate(counts)})
    with pytest.raises(StatementError, match=message):
        p2p.read_statements(path, account="ada")


def test_problems_of_very_many_rows_are_counted_not_kept(read):
    """Of 12,000 rows with an id alone, each of the five problems is listed 10,000 times, and 2,000 are counted."""
    content = _HEADER + b"".join(b"%d,,,,,,,,,,\n" % number for number in range(12_000))
    listed = read(content, account="ada").problems
    of_dates = listed[listed["field"] == "datetime"]
    assert of_dates["problem"].to_list() == ["there is no date"] * 10_000 + [
        "2,000 more rows have the same problem: there is no date"
    ]
    assert of_dates["line"].iloc[-1] == 10_002
    assert len(listed) == 10_001 * listed["field"].nunique()


def test_a_pattern_of_endless_files_is_refused(tmp_path, set_limit, write):
    """The names that match are counted while they are listed: two links to their own folder make them endless."""
    set_limit("statement_files", 50)
    for name in ("here", "there"):
        (tmp_path / name).symlink_to(tmp_path)
    for number in range(51):
        write(f"{number}.csv", "")
    with pytest.raises(StatementError, match=r"\*\.csv leads to more than 50 files: name fewer of them\.$"):
        p2p.read_statements(tmp_path / "**" / "*.csv")


def test_paths_that_are_no_files_are_refused(tmp_path):
    """Pipes, sockets, devices, loops of links, missing files and patterns without a match do not block."""
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.csv"))
        for name in ("pipe.csv", "loop.csv", "socket.csv", "missing.csv", "*.tsv", "/dev/null", "/dev/zero"):
            with pytest.raises(StatementError, match=r"cannot be read|No file matches"):
                p2p.read_statements(tmp_path / name)
    for paths in ([], ["a\0b"]):
        with pytest.raises(ConfigurationError):
            p2p.read_statements(paths)


def test_a_folder_skips_what_is_no_statement(tmp_path, write):
    """Other files of a folder, links and folders in it are skipped and listed; the statements are read."""
    for name, content in (("a.csv", _A), ("notes.csv", b"x;y\n"), ("manual.pdf", b"%PDF"), ("inner.csv/x", b"")):
        write(name, content)
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "link.csv").symlink_to("/etc/passwd")
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
def test_other_files_do_not_hinder_statements(content, tmp_path, pack, write):
    """A file that cannot be read and does not begin as a statement is skipped, in a folder, archive or list."""
    files = [write("._a.csv", content), write("a.csv", _A)]
    for paths in (tmp_path, pack("s.zip", {"__MACOSX/._a.csv": content, "a.csv": _A}), files):
        statements = p2p.read_statements(paths, skip_others=paths is files)
        assert len(statements.payments) == 6
        skipped = statements.problems[statements.problems["problem"].str.startswith("skipped: ")]
        assert skipped["file"].str.endswith("._a.csv").all()
        assert len(skipped) >= 1
    with pytest.raises(StatementError):
        p2p.read_statements(files[0])
    write("b.csv", _A + b"\0")
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
        ({"[Content_Types].xml": b""}, r"s\.zip is a file of an office program: download the CSV file\.$"),
        (
            {"[Content_Types].xml": b"", "xl/workbook.xml": b""},
            r"is a damaged workbook: download it again, or as CSV\.$",
        ),
        # More than a file, and than an archive may unpack to.
        ({"a.csv": b"0" * 200_000}, "unpacks to more"),
        ({f"{number}.csv": b"0" * 90_000 for number in range(2)}, "unpacks to more"),
    ],
)
def test_zip_archives_that_are_refused(members, message, pack, set_limit):
    """Names that lead out of the folder, archives in archives, archives without statements, and too large ones."""
    set_limit("statement_bytes", 100_000)
    set_limit("zip_bytes", 150_000)
    with pytest.raises(StatementError, match=message):
        p2p.read_statements(pack("s.zip", members))


def test_sizes_that_an_archive_lies_about(pack, set_limit, write):
    """A member that unpacks to more than the archive states is not unpacked whole; a plain file has the same limit."""
    set_limit("statement_bytes", 100_000)
    path = pack("s.zip", {"a.csv": b"0" * 200_000})
    content = path.read_bytes()
    position = content.rindex(b"PK\x01\x02")
    path.write_bytes(content[: position + 24] + (50_000).to_bytes(4, "little") + content[position + 28 :])
    for file, message in ((path, "damaged|more than"), (write("big.csv", b"x" * 100_001), "more than 0 MB")):
        with pytest.raises(StatementError, match=message):
            p2p.read_statements(file)


def test_rows_that_are_packed_too_well(pack, set_limit):
    """A small archive of many short rows is refused, unless it unpacks to little."""
    content = _A + b"\n" + _SHORT * 20_000
    path = pack("s.zip", {"a.csv": content})
    assert len(content) > 100 * path.stat().st_size
    set_limit("small_zip_bytes", 200_000)
    with pytest.raises(StatementError, match="unpacks to more than statements have"):
        p2p.read_statements(path)
    set_limit("small_zip_bytes", 300_000)
    assert p2p.read_statements(path).files["rows"].tolist() == [20_006]


@pytest.mark.parametrize("cut", [4, 30, 200, -1, -10, -30])
def test_damaged_zip_archives(cut, pack):
    """A zip archive that is cut off is refused."""
    path = pack("s.zip", {"a.csv": _A})
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(StatementError):
        p2p.read_statements(path)


def test_the_same_file_is_read_once(tmp_path, write):
    """A file that is named twice, or in a folder too, counts once."""
    path = write("a.csv", _A)
    statements = p2p.read_statements([path, str(path), tmp_path, tmp_path / "*.csv"])
    assert statements.files["rows"].tolist() == [6]
    assert statements.problems.empty
