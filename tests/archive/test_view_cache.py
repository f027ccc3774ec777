"""Cached tables of a view: they may be missing, damaged or not writable, and readers see the same payments."""

import os
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from support.archives.histories import assert_same_history
from support.archives.statements import row, statements_of
from support.archives.steps import fill_disk

TABLES = ("payments", "people", "problems", "reconciliation")


@pytest.fixture
def archive(tmp_path, history_of, payment) -> p2p.Archive:
    """Return an archive of one payment that the service listed, and two that only a statement has."""
    filled = p2p.open_archive(tmp_path / "archive")
    filled.merge(history_of(payment(1)))
    filled.import_(statements_of(row(2, account_id="7"), row(3, account_id="7", currency=None)))
    return filled


@pytest.fixture
def watch_opened(monkeypatch):
    """Return a function that lets another one look at each file that Python opens, before it is opened."""
    original = os.open

    def watch(look) -> None:
        def look_and_open(path, *arguments) -> int:
            look(Path(path))
            return original(path, *arguments)

        monkeypatch.setattr(os, "open", look_and_open)

    return watch


def list_views(archive) -> list[Path]:
    """Return the files of cached tables."""
    return sorted(archive.path.glob("view_*"))


@pytest.mark.parametrize("damage", [pytest.param(None, marks=pytest.mark.full), b"broken"])
def test_a_cached_table_that_is_gone_or_damaged_is_derived_again(archive, damage) -> None:
    """Each of them alone, and all together; a damaged one does not break the archive. A sound one is read."""
    expected, balances = archive.history(), archive.reconciliation()
    whole = {path: path.stat().st_mtime_ns for path in list_views(archive)}
    assert {path.name.partition("-")[0] for path in whole} >= {f"view_{name}" for name in TABLES}
    assert_same_history(archive.history(), expected)
    assert {path: path.stat().st_mtime_ns for path in list_views(archive)} == whole
    for files in [*([path] for path in whole), whole]:
        for path in files:
            path.unlink(missing_ok=True) if damage is None else path.write_bytes(damage)
        assert_same_history(archive.history(), expected)
        pd.testing.assert_frame_equal(archive.reconciliation(), balances)
    scan = archive.scan("pandas").set_index("payment_id").sort_index()
    pd.testing.assert_frame_equal(
        scan[expected.payments.columns[1:]], expected.payments.set_index("payment_id").sort_index()
    )
    assert archive.import_(statements_of(row(4, account_id="7"))).new == 1


def test_a_folder_that_cannot_be_written_is_read(archive) -> None:
    """A full disk or a folder that is only readable: no reader fails, and no file is left over."""
    expected, balances, people = archive.history(), archive.reconciliation(), archive.people
    for path in list_views(archive):
        path.unlink()
    before = sorted(archive.path.iterdir())
    with fill_disk():
        assert_same_history(archive.history(), expected)
        pd.testing.assert_frame_equal(archive.reconciliation(), balances)
        pd.testing.assert_frame_equal(archive.people, people)
        assert set(archive.scan("pandas")["payment_id"]) == {"1", "2", "3"}
        assert set(archive.scan("duckdb").to_arrow_table()["payment_id"].to_pylist()) == {"1", "2", "3"}
    assert sorted(archive.path.iterdir()) == before


def test_a_cached_table_may_go_while_it_is_read(archive, watch_opened) -> None:
    """A writer removes it after the reader has listed the folder."""
    expected = archive.history()
    watch_opened(lambda path: path.unlink(missing_ok=True) if path.name.startswith("view_") else None)
    assert_same_history(archive.history(), expected)


def test_a_view_of_earlier_inputs_is_not_shown(archive, history_of, payment) -> None:
    """A change of each input of a view shows at once, and a scan survives one import."""

    def read() -> set[str]:
        return set(archive.history().payments["payment_id"])

    assert read() == {"1", "2", "3"}
    archive.merge(history_of(payment(8)))
    assert read() == {"1", "2", "3", "8"}
    scan = archive.scan("polars")
    archive.import_(statements_of(row(9, account_id="7")))
    assert read() == {"1", "2", "3", "8", "9"}
    assert set(scan.collect()["payment_id"]) == {"1", "2", "3", "8"}
    archive.undo()
    assert read() == {"1", "2", "3", "8"}
    (archive.path / "people.csv").write_text("alias,person\nBo,Bea\n")
    names = archive.history().payments.set_index("payment_id")["counterparty_name"]
    assert names.loc[["2", "3"]].tolist() == ["Bea", "Bea"]


def test_a_history_with_a_cached_view_reads_the_friends_alone(archive, watch_opened) -> None:
    """All else is in the view."""
    archive.history()
    opened = set()
    watch_opened(lambda path: opened.add(path.name.partition("-")[0]))
    archive.history()
    assert opened == {"manifest.json", "people.csv", "friends", *(f"view_{name}" for name in TABLES)}
