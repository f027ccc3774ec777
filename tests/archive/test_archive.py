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
from p2p_analytics.archive import _folder, _service, tables
from p2p_analytics.errors import ArchiveError, ConfigurationError, SchemaError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)  # the default time of `history_of`
HOUR = timedelta(hours=1)


def assert_same(found: p2p.History, expected: p2p.History) -> None:
    """Assert that two histories are equal."""
    pd.testing.assert_frame_equal(found.payments, expected.payments)
    pd.testing.assert_frame_equal(found.people, expected.people)
    pd.testing.assert_frame_equal(found.friends, expected.friends)
    pd.testing.assert_frame_equal(found.problems, expected.problems)
    assert found.me == expected.me
    assert found.fetched_at == expected.fetched_at


def test_a_history_is_restored_unchanged(tmp_path, history_of, payment) -> None:
    """Rows, order, nulls, notes of any kind, friends, problems, the owner and "data as of" are restored."""
    history = history_of(
        payment(1),
        payment(2, note='a "quoted"\nnote, \N{SLICE OF PIZZA}', date_created="2019-12-31T23:59:59.000001"),
        payment(3, note=None, status="novel", amount=None),
        payment(4, date_created=None),
        friends=3,
    )
    assert len(history.problems) == 3
    assert p2p.open_archive(tmp_path / "a").merge(history)[:3] == (4, 0, ())
    assert_same(p2p.open_archive(tmp_path / "a").history(), history)


def test_an_archive_without_payments(tmp_path, history_of) -> None:
    """An archive without payments is readable, and its empty frames have all columns."""
    history = history_of(friends=0)
    p2p.open_archive(tmp_path).merge(history)
    assert_same(p2p.open_archive(tmp_path).history(), history)


def test_a_history_needs_no_network(tmp_path, history_of, payment) -> None:
    """A new interpreter reads an archive without importing any module that sends requests."""
    p2p.open_archive(tmp_path).merge(history_of(payment(1)))
    code = (
        f"import sys, p2p_analytics as p2p; print(len(p2p.open_archive({str(tmp_path)!r}).history().payments)); "
        "sys.exit(bool({'requests', 'urllib3'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 - our own words
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("states", "status"),
    [
        ((("pending", NOON), ("settled", NOON + HOUR)), "settled"),
        ((("settled", NOON + HOUR), ("pending", NOON)), "settled"),
        ((("pending", NOON), ("settled", NOON)), "settled"),
        ((("cancelled", NOON), ("pending", NOON)), "cancelled"),
        ((("novel", NOON), ("pending", NOON)), "novel"),
        ((("settled", NOON), ("failed", NOON)), "failed"),
    ],
)
def test_the_newer_state_is_kept(tmp_path, history_of, payment, states, status) -> None:
    """The later fetch wins; at equal times, the state that is not pending, or else the later merge."""
    archive = p2p.open_archive(tmp_path)
    for word, at in states:
        archive.merge(history_of(payment(1, status=word), at=at))
    assert archive.history().payments["status"].tolist() == [status]


def test_fields_missing_from_lists_are_kept(tmp_path, history_of, payment) -> None:
    """Fee, refund and medium are kept if a later list lacks them; a new value replaces them."""
    archive = p2p.open_archive(tmp_path)
    whole = {"medium": "web", "fee": {"amount": 0.25}, "refund": {"id": "99", "amount": 5}}
    archive.merge(history_of(payment(1, **whole)))
    archive.merge(history_of(payment(1, note="new"), at=NOON + HOUR))
    columns = ["note", "medium", "fee_cents", "refund_payment_id", "refund_amount_cents"]
    assert archive.history().payments[columns].to_numpy().tolist() == [["new", "web", 25, "99", 500]]
    archive.merge(history_of(payment(1, medium="api"), at=NOON + 2 * HOUR))
    assert archive.history().payments["medium"].tolist() == ["api"]


def test_a_payment_with_a_changed_date_is_stored_once(tmp_path, history_of, payment, monkeypatch) -> None:
    """Payments are matched by id, even if the changed date belongs to another file."""
    monkeypatch.setattr(_service, "MOST_ROWS", 2)
    monkeypatch.setattr(_service, "_USUAL_ROWS", 2)
    archive = p2p.open_archive(tmp_path)
    days = [payment(day, date_created=f"2024-05-{day:02}T12:00:00") for day in range(1, 9)]
    archive.merge(history_of(*days))
    assert archive.merge(history_of(payment(2, date_created="2024-05-07T09:00:00"), at=NOON + HOUR))[:3] == (0, 0, ())
    assert archive.history().payments["payment_id"].tolist() == ["8", "7", "2", "6", "5", "4", "3", "1"]


def test_a_change_rewrites_one_file_and_nothing_new_rewrites_none(tmp_path, history_of, payment, monkeypatch) -> None:
    """Files hold whole days; a file is not rewritten when its rows are merged again unchanged."""
    monkeypatch.setattr(_service, "MOST_ROWS", 4)
    monkeypatch.setattr(_service, "_USUAL_ROWS", 3)
    archive = p2p.open_archive(tmp_path)
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
    assert len(archive.history().payments) == 30


def test_problems_are_those_of_the_newest_state(tmp_path, history_of, payment) -> None:
    """A payment that is merged again without its problem loses it; other payments keep theirs."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1, status="novel"), payment(2, status="strange")))
    archive.merge(history_of(payment(1), at=NOON + HOUR))
    assert archive.history().problems[["payment_id", "value"]].to_numpy().tolist() == [["2", "strange"]]


def test_friends_and_balance_are_those_fetched_last(tmp_path, history_of, payment) -> None:
    """Merging an older history adds its payments, and leaves friends and balance as they are."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1), friends=3))
    archive.merge(history_of(payment(2), friends=1, at=NOON - HOUR))
    history = archive.history()
    assert (len(history.payments), len(history.friends), history.fetched_at) == (2, 3, NOON - HOUR)


def test_an_archive_has_one_account(tmp_path, history_of, payment) -> None:
    """The history of another account is refused, and pseudonyms are not mixed with real names."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    with pytest.raises(ArchiveError, match="another account"):
        archive.merge(history_of(payment(2), account="9"))
    with pytest.raises(ArchiveError, match="privacy mode"):
        archive.merge(history_of(payment(2)).masked())
    assert len(archive.history().payments) == 1


def test_privacy_mode_masks_what_is_read(tmp_path, history_of, payment, monkeypatch) -> None:
    """By argument or environment; the files hold real data, so a scan is refused."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    assert archive.history(privacy=True).private
    assert archive.history().me.user.display_name == "Ada"
    monkeypatch.setenv("P2P_PRIVACY", "1")
    assert archive.history().me.user.display_name != "Ada"
    with pytest.raises(ConfigurationError, match="privacy mode"):
        archive.scan("polars")


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_only_the_owner_can_read_it(tmp_path, history_of, payment, mask) -> None:
    """The folder is 0700 and each file 0600 under any umask; permissions of an open folder are restricted."""
    (tmp_path / "open").mkdir(mode=0o755)
    before = os.umask(mask)
    try:
        for name in ("new", "open"):
            p2p.open_archive(tmp_path / name).merge(history_of(payment(1)))
    finally:
        os.umask(before)
    for name in ("new", "open"):
        folder = tmp_path / name
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


def test_created_parent_folders_are_private(tmp_path, history_of, payment) -> None:
    """Other users cannot replace the archive through a parent folder, whatever the umask."""
    before = os.umask(0)
    try:
        p2p.open_archive(tmp_path / "above" / "archive").merge(history_of(payment(1)))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "above").stat().st_mode) == 0o700


def test_all_files_have_the_same_schema(tmp_path, history_of, payment) -> None:
    """Columns are text, integers and UTC microseconds only, even if a column holds only nulls."""
    p2p.open_archive(tmp_path).merge(history_of(payment(1)))
    (file,) = tmp_path.glob("payments-*.parquet")
    types = {str(field.type) for field in pq.read_schema(file)}
    assert types == {"string", "int64", "timestamp[us, tz=UTC]"}
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"


def test_a_folder_without_an_archive(tmp_path, history_of, payment) -> None:
    """Reading suggests what to do and creates nothing; a file, or a folder of other files, is refused."""
    with pytest.raises(ArchiveError, match=r"no archive .* yet: sync it"):
        p2p.open_archive(tmp_path / "none").history()
    assert not (tmp_path / "none").exists()
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArchiveError, match="is a file"):
        p2p.open_archive(tmp_path / "file")
    with pytest.raises(ArchiveError, match="other things"):
        p2p.open_archive(tmp_path)


def test_unreadable_values_are_not_written(tmp_path, history_of, payment) -> None:
    """A value of the wrong type in the owner's record is refused; the archive is unchanged."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    before = (tmp_path / "manifest.json").read_bytes()
    strange = Me(user=User(id="7", friends_count="many"))
    with pytest.raises(ArchiveError, match="cannot be kept"):
        archive.merge(p2p.History(**vars(history_of(payment(2))) | {"me": strange}))
    assert (tmp_path / "manifest.json").read_bytes() == before
    assert archive.history().payments["payment_id"].tolist() == ["1"]


def test_a_frame_that_is_no_history_is_refused(tmp_path, history_of, payment) -> None:
    """Missing columns and missing ids are errors; the archive is unchanged."""
    archive = p2p.open_archive(tmp_path)
    history = history_of(payment(1))
    with pytest.raises(SchemaError, match="account_id"):
        archive.merge(p2p.History(**vars(history) | {"payments": history.payments.drop(columns="account_id")}))
    joined = User(id="7", date_joined=NOON.replace(tzinfo=None))
    for wrong in ({"fetched_at": NOON.replace(tzinfo=None)}, {"me": Me(user=User(id=None))}, {"me": Me(user=joined)}):
        with pytest.raises(ArchiveError, match=r"no zone|no account"):
            archive.merge(p2p.History(**vars(history) | wrong))
    nameless = history.payments.assign(payment_id=pd.Series([None], dtype="str"))
    with pytest.raises(ArchiveError, match="without an id"):
        archive.merge(p2p.History(**vars(history) | {"payments": nameless}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "damage"),
    [
        (kind, damage)
        for kind in ("payments", "people", "friends", "problems")
        for damage in (b"", b"no table at all", None)
    ]
    + [("manifest", b""), ("manifest", b"{}")],
)
def test_a_broken_file_is_named(tmp_path, history_of, payment, kind, damage) -> None:
    """For an empty, overwritten or missing file, reading and merging name the file and change nothing."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    (file,) = tmp_path.glob(f"{kind}*")
    manifest = tmp_path / "manifest.json"
    file.unlink() if damage is None else file.write_bytes(damage)
    before = manifest.read_bytes()
    for read in (archive.history, lambda: archive.merge(history_of(payment(2)))):
        with pytest.raises(ArchiveError, match=rf"{file.name} is broken .*: sync"):
            read()
    assert manifest.read_bytes() == before


def test_one_flipped_bit_is_detected(tmp_path, history_of, payment) -> None:
    """A file with one flipped bit is refused, even if it can still be parsed as a table."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    (file,) = tmp_path.glob("payments-*")
    body = bytearray(file.read_bytes())
    body[20] ^= 1
    file.write_bytes(body)
    with pytest.raises(ArchiveError, match="not as it was written"):
        archive.history()


def test_a_file_with_fewer_columns_is_refetched(tmp_path, history_of, payment, monkeypatch) -> None:
    """A file of an earlier version with fewer columns is not read with nulls in their place."""
    columns = {kind: dict(names) for kind, names in tables.SCHEMAS.items()}
    del columns["payments"]["flow_cents"]
    archive = p2p.open_archive(tmp_path)
    with monkeypatch.context() as earlier:
        earlier.setattr(tables, "SCHEMAS", columns)
        earlier.delitem(PAYMENTS, "flow_cents")
        archive.merge(history_of(payment(1)))
    with pytest.raises(ArchiveError, match="another version wrote it, with other columns"):
        archive.history()
    assert not archive._folder.is_sound(archive._folder.read_manifest().service.payments[0])


def test_a_full_disk_leaves_the_archive_unchanged(tmp_path, history_of, payment, monkeypatch) -> None:
    """A write error before the manifest changes is one sentence; the old state stays, and the next merge succeeds."""
    archive = p2p.open_archive(tmp_path)
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


@pytest.mark.parametrize("number", [1, 5, 7, 99])
def test_an_archive_of_another_version_is_left_alone(tmp_path, history_of, payment, number) -> None:
    """Its manifest has another format number, so it is not treated as broken: no call changes a file of it."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    manifest = tmp_path / "manifest.json"
    body = json.loads(manifest.read_bytes()) | {"format": number}
    manifest.write_text(json.dumps(body))
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    with p2p.Client("token", base_url="http://127.0.0.1:9", cache_dir=False) as client:
        for call in (
            archive.history,
            lambda: archive.merge(history_of(payment(2))),
            lambda: archive.scan("polars"),
            lambda: archive.sync(client),
            lambda: archive.sync(client, refresh=True),
            lambda: archive.import_(statements_of(row(1))),
            archive.undo,
            lambda: p2p.open_archive(tmp_path),
        ):
            with pytest.raises(ArchiveError, match=r"written by another version of p2p_analytics: .* new folder\.$"):
                call()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_payments_are_recovered_without_a_manifest(tmp_path, history_of, payment) -> None:
    """A merge into a folder without its manifest keeps the payments of its files."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1), payment(2)))
    (tmp_path / "manifest.json").unlink()
    with pytest.raises(ArchiveError, match="another account"):
        archive.merge(history_of(payment(3), account="9"))
    archive.merge(history_of(payment(3)))
    assert set(archive.history().payments["payment_id"]) == {"1", "2", "3"}


def test_two_writers_lose_nothing(tmp_path, history_of, payment) -> None:
    """Concurrent merges wait for each other and lose no payment, and readers never fail."""
    histories = [history_of(*(payment(f"{writer}{n}") for n in range(5))) for writer in range(1, 7)]
    p2p.open_archive(tmp_path).merge(history_of(payment("x")))
    threads = [threading.Thread(target=p2p.open_archive(tmp_path).merge, args=(each,)) for each in histories]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(p2p.open_archive(tmp_path).history().payments) % 5 == 1
    for thread in threads:
        thread.join()
    assert len(p2p.open_archive(tmp_path).history().payments) == 31


def test_a_second_writer_times_out(tmp_path, history_of, payment, monkeypatch) -> None:
    """If the lock stays taken, the error is one sentence."""
    monkeypatch.setattr(_folder, "LOCK_WAIT_SECONDS", 0.0)
    archive = p2p.open_archive(tmp_path)
    with archive._folder.lock(), pytest.raises(ArchiveError, match="Another process is writing"):
        p2p.open_archive(tmp_path).merge(history_of(payment(1)))


def test_previous_files_stay_for_readers(tmp_path, history_of, payment) -> None:
    """The files of one previous state are kept and older ones are removed: a scan survives the next merge."""
    archive = p2p.open_archive(tmp_path)
    counts = []
    for day in range(1, 5):
        archive.merge(history_of(payment(day), at=NOON + day * HOUR))
        counts.append(len(list(tmp_path.glob("payments-*.parquet"))))
    assert counts == [1, 2, 2, 2]


def test_mixed_up_arguments(service, archive) -> None:
    """A history for a client, or the other way round, is one sentence that names the call that was meant."""
    history = archive.history()
    with service.client() as client:
        for call, value, message in (
            (
                archive.sync,
                history,
                r"sync needs a Client, .*, not a History: merge\(history\) adds a loaded history\.",
            ),
            (archive.verify, history, r"verify needs a Client, such as Client\(token\), not a History\."),
            (archive.sync, "token", r"sync needs a Client, such as Client\(token\), not a str\."),
            (
                archive.merge,
                client,
                r"merge needs a History, .*, not a Client: sync\(client\) loads into the archive\.",
            ),
            (archive.merge, history.payments, r"merge needs a History, .*, not a DataFrame\."),
            (p2p.open_archive, history, r"A path is text or a Path, not a History: "),
        ):
            with pytest.raises(ConfigurationError, match=message):
                call(value)
