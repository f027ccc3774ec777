"""A folder of archives is read as one, and nothing in it is left out silently."""

import os
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of

ENGINES = ["pandas", "polars", "duckdb"]


@pytest.fixture(scope="module")
def fill(history_of, payment):
    """Return a function that makes an archive with two payments of a user."""

    def make(path: Path, account: str, username: str | None = None) -> p2p.Archive:
        actor = {"actor": {"id": account, "display_name": "Ada"}}
        days = [payment(f"{account}0{day}", date_created=f"2024-0{day}-01T12:00:00", **actor) for day in (4, 5)]
        archive = p2p.open_archive(path)
        archive.merge(replace(history_of(*days, account=account), me=Me(user=User(id=account, username=username))))
        return archive

    return make


@pytest.fixture(scope="module")
def town(tmp_path_factory, fill) -> Path:
    """Return a folder with three archives, one in a folder that is named like a column, and a file beside them."""
    folder = tmp_path_factory.mktemp("archives") / "town"
    for name, account in (("ada", "21"), ("status=x", "22"), ("b*", "23")):
        fill(folder / name, account)
    (folder / "read me.txt").write_text("three archives")
    return folder


@pytest.fixture
def root(town, tmp_path) -> Path:
    """Return a copy of it."""
    return shutil.copytree(town, tmp_path / "town")


def list_rows(frame) -> list[tuple[object, ...]]:
    """Return the rows of a scan, sorted."""
    if isinstance(frame, pl.LazyFrame):
        frame = frame.collect()
    table = pl.from_arrow(frame.to_arrow_table()) if hasattr(frame, "to_arrow_table") else pl.DataFrame(frame)
    return sorted(table.rows(), key=str)


def test_archives_by_name_and_number(town) -> None:
    """They are counted, listed and yielded in the order of their names; the text names the folder alone."""
    archives = p2p.open_archives(str(town))
    assert isinstance(archives, p2p.Archives)
    assert (len(archives), archives.names) == (3, ["ada", "b*", "status=x"])
    assert [archive.path.name for archive in archives] == archives.names
    assert archives["b*"].path == archives[1].path == town / "b*"
    assert ("ada" in archives, "bo" in archives) == (True, False)
    assert repr(archives) == f"<Archives {town}: 3 archives>"
    with pytest.raises(KeyError, match="no archive 'bo': there are ada, b"):
        archives["bo"]
    with pytest.raises(IndexError):
        archives[3]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_reads_all_of_them(town, engine) -> None:
    """Each row has its account, also where other columns are chosen."""
    archives = p2p.open_archives(town)
    scan = archives.scan(engine)
    assert list(scan.collect_schema() if engine == "polars" else scan.columns)[: len(PAYMENTS)] == list(PAYMENTS)
    assert len(list_rows(scan)) == 6
    some = archives.scan(engine, columns=["payment_id"], since="2024-04-15")
    assert list_rows(some) == [("21", "2105"), ("22", "2205"), ("23", "2305")]
    last = archives.scan(engine, columns=["status", "account_id"], before="2024-04-15")
    assert list_rows(last) == [("settled", "21"), ("settled", "22"), ("settled", "23")]
    assert list_rows(archives.scan(engine, columns=["note"], since="2030-01-01")) == []


def test_files_are_given_to_the_engine_as_one_list(town, monkeypatch) -> None:
    """Python opens the manifests alone."""
    archives = p2p.open_archives(town)
    opened: Counter[str] = Counter()
    original = os.open

    def count(path, *arguments) -> int:
        opened[Path(path).suffix] += 1
        return original(path, *arguments)

    monkeypatch.setattr(os, "open", count)
    scan = archives.scan("polars")
    assert opened == {".json": 3}
    assert scan.explain().count("Parquet SCAN") == 1


def test_statements_in_some_of_them(root, fill) -> None:
    """All rows have the columns of statements; an account that statements alone name has that name."""
    fill(root / "known", "24", "cyd").import_(statements_of(row(9, account_id="cyd"), account="cyd"))
    p2p.open_archive(root / "new").import_(statements_of(row(1), row(2), account="ada"))
    archives = p2p.open_archives(root)
    for engine in ENGINES:
        rows = list_rows(archives.scan(engine, columns=["file", "payment_id"]))
        assert Counter(each[0] for each in rows) == {"21": 2, "22": 2, "23": 2, "24": 3, "ada": 2}
        assert {(each[1] or "") for each in rows} == {"", "may.csv"}


@pytest.mark.parametrize(
    ("is_removed", "spoil", "sentence"),
    [
        (False, lambda at: (at / "manifest.json").write_text("{"), r"manifest\.json is broken"),
        (False, lambda at: next(at.glob("payments-*")).unlink(), r"payments-.*\.parquet is broken \(it is missing\)"),
        (False, lambda at: next(at.glob("payments-*")).write_bytes(b"PAR1"), "is broken .*not as it was written"),
        (True, lambda at: at.mkdir(), "There is no archive in"),
        (True, lambda at: (at / ".git").mkdir(parents=True), "holds other things and no archive"),
        (True, lambda at: at.symlink_to(at / "gone"), "is a link that leads nowhere: remove it"),
        (True, lambda at: shutil.copytree(at.parent / "ada", at / "ada"), "holds other things"),
    ],
    ids=["manifest", "missing file", "short file", "empty", "foreign", "dead link", "nested"],
)
def test_a_folder_that_cannot_be_read_is_named(root, is_removed, spoil, sentence) -> None:
    """One sentence names it; the other archives are not read without it."""
    if is_removed:
        shutil.rmtree(root / "status=x")
    spoil(root / "status=x")
    with pytest.raises(ArchiveError, match=sentence) as caught:
        p2p.open_archives(root).scan("polars")
    assert str(root / "status=x") in str(caught.value)


@pytest.mark.parametrize("kind", ["copy", "link", "statements"])
def test_one_account_twice_is_refused(root, fill, kind) -> None:
    """A copy, a link, or statements of an account that is synced elsewhere would count payments twice."""
    other = root / "other"
    if kind == "copy":
        shutil.copytree(root / "ada", other)
    elif kind == "link":
        other.symlink_to(root / "ada")
    else:
        fill(root / "dan", "25", "Dan")
        p2p.open_archive(other).import_(statements_of(row(1, account_id="dan"), account="dan"))
    with pytest.raises(
        ArchiveError, match=rf"town/{'dan' if kind == 'statements' else 'ada'} and .*town/other hold the"
    ):
        p2p.open_archives(root)


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("gone", "cannot be read .*no such file or folder"),
        ("ada", "is itself an archive: use open_archive"),
        ("read me.txt", "cannot be read .*not a directory"),
        ("empty", "holds no archives"),
    ],
)
def test_a_root_without_archives_is_refused(root, path, sentence) -> None:
    """Each kind of wrong folder has its own sentence."""
    (root / "empty").mkdir()
    with pytest.raises(ArchiveError, match=sentence):
        p2p.open_archives(root / path)
    with pytest.raises(ConfigurationError, match="A path is text"):
        p2p.open_archives(None)


def test_each_row_names_its_account_in_one_way(tmp_path, history_of, payment) -> None:
    """A history made by hand may leave the account out, or name it by the username."""
    history = replace(history_of(payment(1), payment(2)), me=Me(user=User(id="7", username="ada")))
    payments = history.payments.assign(account_id=["ada", None]).astype({"account_id": "str"})
    p2p.open_archive(tmp_path / "a").merge(replace(history, payments=payments))
    assert list_rows(p2p.open_archives(tmp_path).scan("polars", columns=["account_id"])) == [("7",), ("7",)]
