"""An archive returns each stored payment once, in its newest state, and only its owner can read it."""

from __future__ import annotations

import errno
import itertools
import json
import os
import stat
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta

import pandas as pd
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _folder, _service
from p2p_analytics.errors import ArchiveError, ConfigurationError, SchemaError
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)  # the default time of `history_of`
HOUR = timedelta(hours=1)


@pytest.fixture
def archive(tmp_path) -> p2p.Archive:
    """Return an archive that is not there yet."""
    return p2p.open_archive(tmp_path / "a")


def read_files(archive: p2p.Archive) -> dict[str, bytes]:
    """Return the content of all files."""
    return {path.name: path.read_bytes() for path in archive.path.iterdir()}


def assert_same(found: p2p.History, expected: p2p.History) -> None:
    """Assert that two histories are equal."""
    for name in ("payments", "people", "friends", "problems"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))
    assert (found.me, found.fetched_at) == (expected.me, expected.fetched_at)


def test_a_history_is_restored_unchanged(archive, tmp_path, history_of, payment) -> None:
    """Rows, order, nulls, notes of any kind, friends, problems, the owner and "data as of"; also without payments."""
    history = history_of(
        payment(1),
        payment(2, note='a "quoted"\nnote, \N{SLICE OF PIZZA}', date_created="2019-12-31T23:59:59.000001"),
        payment(3, note=None, status="novel", amount=None),
        payment(4, date_created=None),
        friends=3,
    )
    assert len(history.problems) == 3
    assert archive.merge(history)[:3] == (4, 0, ())
    assert_same(p2p.open_archive(archive.path).history(), history)
    empty = p2p.open_archive(tmp_path / "empty")
    empty.merge(nothing := history_of(friends=0))
    assert_same(empty.history(), nothing)


def test_reading_loads_no_engine_and_no_network(archive, history_of, payment) -> None:
    """A new interpreter reads an archive without modules that send requests, and no engine but the one asked for."""
    archive.merge(history_of(payment(1)))
    code = (
        f"import sys, p2p_analytics as p2p; archive = p2p.open_archive({str(archive.path)!r}); "
        "archive.scan('polars'); print(len(archive.history().payments)); "
        "sys.exit(bool({'requests', 'urllib3', 'duckdb', 'pyspark'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 - our own words
    assert done.stdout == "1\n"


def test_fields_missing_from_lists_are_kept(archive, history_of, payment) -> None:
    """Fee, refund and medium are kept if a later list lacks them; a new value replaces them, an older one does not."""
    whole = {"medium": "web", "fee": {"amount": 0.25}, "refund": {"id": "99", "amount": 5}}
    archive.merge(history_of(payment(1, **whole)))
    archive.merge(history_of(payment(1, note="new", medium="api"), at=NOON + HOUR))
    archive.merge(history_of(payment(1, note="old", status="pending"), at=NOON))
    columns = ["note", "status", "medium", "fee_cents", "refund_payment_id", "refund_amount_cents"]
    assert archive.history().payments[columns].to_numpy().tolist() == [["new", "settled", "api", 25, "99", 500]]


def test_a_change_rewrites_one_file_and_nothing_new_rewrites_none(archive, history_of, payment, monkeypatch) -> None:
    """Files hold whole days; a payment with another date moves to another file."""
    monkeypatch.setattr(_service, "MOST_ROWS", 4)
    monkeypatch.setattr(_service, "_USUAL_ROWS", 3)
    items = [payment(n, date_created=f"2024-05-{n % 10 + 10}T{n // 10:02}:00:00") for n in range(30)]

    def files() -> set[str]:
        return {entry.name for entry in archive._folder.read_manifest().service.payments}

    archive.merge(history_of(*items))
    before = files()
    assert len(before) == 10
    assert archive.merge(history_of(*items, at=NOON + HOUR))[:3] == (0, 0, ())
    assert files() == before
    changed = payment(15, status="failed", date_created="2024-05-15T01:00:00")
    assert archive.merge(history_of(*items[:15], changed, at=NOON + 2 * HOUR))[:3] == (0, 1, ())
    assert len(files() - before) == len(before - files()) == 1
    moved = payment(2, date_created="2024-05-19T05:00:00")
    assert archive.merge(history_of(moved, at=NOON + 3 * HOUR))[:3] == (0, 0, ())
    found = archive.history().payments["payment_id"].tolist()
    assert (len(found), len(set(found)), found[0]) == (30, 30, "2")


def test_which_parts_come_from_which_history(archive, history_of, payment) -> None:
    """Problems are those of the newest state; friends those fetched last; names too, with the earlier ones."""
    for month, name in ((1, "Bo"), (5, "Bob"), (3, "Bobby")):
        target = {"type": "user", "user": {"id": "11", "display_name": name}}
        archive.merge(history_of(payment(f"{month}0", target=target), at=NOON.replace(month=month)))
    archive.merge(history_of(payment(1, status="novel"), payment(2, status="strange"), friends=3))
    archive.merge(history_of(payment(1), at=NOON - HOUR * 5000, friends=0))
    archive.merge(history_of(payment(1), at=NOON + HOUR, friends=3))
    history = archive.history()
    assert history.problems[["payment_id", "value"]].to_numpy().tolist() == [["2", "strange"]]
    assert (len(history.payments), len(history.friends), history.fetched_at) == (5, 3, NOON - HOUR * 5000)
    person = history.people.set_index("user_id").loc["11"]
    assert (person["display_name"], set(person["also_named"].split("; "))) == ("Bob", {"Bo", "Bobby"})


@pytest.mark.parametrize("mask", [0o000, 0o277])
def test_only_the_owner_can_read_it(tmp_path, history_of, payment, mask) -> None:
    """New folders are 0700 and files 0600 under any umask; permissions of an open folder are restricted."""
    (tmp_path / "open").mkdir(mode=0o755)
    before = os.umask(mask)
    try:
        for name in ("above/new", "open"):
            p2p.open_archive(tmp_path / name).merge(history_of(payment(1)))
    finally:
        os.umask(before)
    for name in ("above", "above/new", "open"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.glob("*/*.*")} == {0o600}


def test_all_files_have_the_same_schema(archive, history_of, payment) -> None:
    """Columns are text, integers and UTC microseconds only, even if a column holds only nulls."""
    archive.merge(history_of(payment(1)))
    (file,) = archive.path.glob("payments-*.parquet")
    types = {str(field.type) for field in pq.read_schema(file)}
    assert types == {"string", "int64", "timestamp[us, tz=UTC]"}
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_folder_without_an_archive(tmp_path) -> None:
    """Reading suggests what to do and creates nothing; a file, or a folder of other files, is refused."""
    with pytest.raises(ArchiveError, match=r"no archive .* yet: sync it"):
        p2p.open_archive(tmp_path / "none").history()
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError, match="is a file"):
        p2p.open_archive(tmp_path / "file")
    with pytest.raises(ArchiveError, match="other things"):
        p2p.open_archive(tmp_path)


def test_histories_that_cannot_be_merged(archive, history_of, payment) -> None:
    """Another account, privacy mode, missing columns and ids: an error; the archive is unchanged."""
    history = history_of(payment(1))
    archive.merge(history)
    before = read_files(archive)
    payments, naive = history.payments, NOON.replace(tzinfo=None)
    for wrong, words in (
        (history_of(payment(2), account="9"), "another account"),
        (history.masked(), "privacy mode"),
        ({"payments": payments.assign(account_id="999")}, r"of other accounts \(999\)"),
        ({"payments": payments.assign(payment_id=pd.Series([None], dtype="str"))}, "without an id"),
        ({"fetched_at": naive}, "no zone"),
        ({"me": Me(user=User(id="7", date_joined=naive))}, "no zone"),
        ({"me": Me(user=User(id=None))}, "no account"),
        ({"me": Me(user=User(id="7", friends_count="many"))}, "cannot be kept"),
    ):
        given = wrong if isinstance(wrong, p2p.History) else p2p.History(**vars(history) | wrong)
        with pytest.raises(ArchiveError, match=words):
            archive.merge(given)
    for part, column in (("payments", "account_id"), ("friends", "about")):
        frame = getattr(history, part).drop(columns=column)
        with pytest.raises(SchemaError, match=f"merge needs the columns {column}"):
            archive.merge(p2p.History(**vars(history) | {part: frame}))
    assert read_files(archive)["manifest.json"] == before["manifest.json"]
    assert archive.history().payments["payment_id"].tolist() == ["1"]


def test_a_full_disk_leaves_the_archive_unchanged(archive, history_of, payment, monkeypatch) -> None:
    """A write error before the manifest changes is one sentence; the old state stays, and the next merge succeeds."""
    archive.merge(history_of(payment(1)))
    before = archive.history()
    for step in range(3):
        calls = itertools.count()

        def full(_descriptor: int, calls=calls, step=step) -> None:
            if next(calls) >= step:
                raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as disk:
            disk.setattr(os, "fsync", full)
            with pytest.raises(ConfigurationError, match="no space left on device"):
                archive.merge(history_of(payment(2)))
        assert_same(archive.history(), before)
    assert archive.merge(history_of(payment(2))).added == 1


def test_an_archive_of_another_version_is_left_alone(archive, history_of, payment) -> None:
    """Its manifest has another format number, so it is not treated as broken: no call changes a file of it."""
    archive.merge(history_of(payment(1)))
    manifest = archive.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | {"format": 7}))
    before = read_files(archive)
    with p2p.Client("token", base_url="http://127.0.0.1:9", cache_dir=False) as client:
        for call in (
            archive.history,
            lambda: archive.merge(history_of(payment(2))),
            lambda: archive.scan("polars"),
            lambda: archive.sync(client, refresh=True),
            lambda: archive.import_(statements_of(row(1))),
            archive.undo,
            lambda: p2p.open_archive(archive.path),
        ):
            with pytest.raises(ArchiveError, match=r"written by another version of p2p_analytics: .* new folder\.$"):
                call()
    assert read_files(archive) == before


def test_payments_are_recovered_without_a_manifest(archive, history_of, payment) -> None:
    """A merge into a folder without its manifest keeps the payments of its files."""
    archive.merge(history_of(payment(1), payment(2)))
    (archive.path / "manifest.json").unlink()
    with pytest.raises(ArchiveError, match="another account"):
        archive.merge(history_of(payment(3), account="9"))
    archive.merge(history_of(payment(3)))
    assert set(archive.history().payments["payment_id"]) == {"1", "2", "3"}


def test_two_writers_lose_nothing(archive, history_of, payment) -> None:
    """Concurrent merges wait for each other and lose no payment, and readers never fail."""
    archive.merge(history_of(payment("x")))
    histories = [history_of(*(payment(f"{writer}{n}") for n in range(5))) for writer in range(1, 5)]
    threads = [threading.Thread(target=p2p.open_archive(archive.path).merge, args=(each,)) for each in histories]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(p2p.open_archive(archive.path).history().payments) % 5 == 1
    for thread in threads:
        thread.join()
    assert len(archive.history().payments) == 21


def test_a_second_writer_times_out(archive, history_of, payment, monkeypatch) -> None:
    """If the lock stays taken, the error is one sentence."""
    monkeypatch.setattr(_folder, "LOCK_WAIT_SECONDS", 0.0)
    with archive._folder.lock(), pytest.raises(ArchiveError, match="Another process is writing"):
        p2p.open_archive(archive.path).merge(history_of(payment(1)))


def test_previous_files_stay_for_readers(archive, history_of, payment) -> None:
    """The files of one previous state are kept and older ones are removed: a scan survives the next merge."""
    counts = []
    for day in range(1, 5):
        archive.merge(history_of(payment(day), at=NOON + day * HOUR))
        counts.append(len(list(archive.path.glob("payments-*.parquet"))))
    assert counts == [1, 2, 2, 2]


def test_mixed_up_arguments(archive, history_of, payment) -> None:
    """A history for a client, or the other way round, is one sentence that names the call that was meant."""
    history = history_of(payment(1))
    with p2p.Client("token", base_url="http://127.0.0.1:9", cache_dir=False) as client:
        for call, value, message in (
            (archive.sync, history, r"sync needs a Client, .*, not a History: merge\(history\) adds a loaded history"),
            (archive.verify, history, r"verify needs a Client, such as Client\(token\), not a History\."),
            (archive.sync, "token", r"sync needs a Client, such as Client\(token\), not a str\."),
            (archive.merge, client, r"merge needs a History, .*, not a Client: sync\(client\) loads into the archive"),
            (archive.merge, history.payments, r"merge needs a History, .*, not a DataFrame\."),
            (p2p.open_archive, history, r"A path is text or a Path, not a History: "),
        ):
            with pytest.raises(ConfigurationError, match=message):
                call(value)
