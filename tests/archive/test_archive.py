"""An archive returns each stored payment once, in its newest state, and only its owner can read it."""

import json
import os
import stat
import subprocess
import sys
import threading
from datetime import UTC, date, datetime, timedelta

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.archive.tables import arrow_schema
from p2p_analytics.errors import ArchiveError, ConfigurationError, SchemaError
from p2p_analytics.files import hold_lock
from p2p_analytics.frames.merge import keep_newest
from p2p_analytics.limits import LIMITS
from p2p_analytics.records import Me, User
from support.archives.histories import NOON, assert_same_history
from support.archives.statements import digests, read_manifest, row, statements_of
from support.archives.steps import fill_disk

HOUR = timedelta(hours=1)


def test_a_history_is_restored_unchanged(new, tmp_path, history_of, payment) -> None:
    """Rows, order, nulls, any notes, friends, problems, the owner and "data as of"; also without payments."""
    history = history_of(
        payment(1),
        payment(2, note='a "quoted"\nnote, \N{SLICE OF PIZZA}', date_created="2019-12-31T23:59:59.000001"),
        payment(3, note=None, status="novel", amount=None),
        payment(4, date_created=None),
        friends=3,
    )
    assert len(history.problems) == 3
    assert new.merge(history)[:3] == (4, 0, ())
    assert_same_history(p2p.open_archive(new.path).history(), history)
    # Columns are text, integers and UTC microseconds only, even if a column holds only nulls.
    (file,) = new.path.glob("payments-*.parquet")
    assert {str(field.type) for field in pq.read_schema(file)} == {"string", "int64", "timestamp[us, tz=UTC]"}
    assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"
    empty = p2p.open_archive(tmp_path / "empty")
    empty.merge(nothing := history_of(friends=0))
    assert_same_history(empty.history(), nothing)


def test_reading_loads_no_engine_and_no_network(new, history_of, payment) -> None:
    """A new interpreter reads an archive without modules that send requests, and no engine but the one asked for."""
    new.merge(history_of(payment(1)))
    code = (
        f"import sys, p2p_analytics as p2p; archive = p2p.open_archive({str(new.path)!r}); "
        "archive.scan('polars'); print(len(archive.history().payments)); "
        "sys.exit(bool({'requests', 'urllib3', 'duckdb', 'pyspark'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)  # noqa: S603 - our own words
    assert done.stdout == "1\n"


def test_fields_missing_from_lists_are_kept(new, history_of, payment) -> None:
    """Fee, refund and medium are kept if a later list lacks them; a new value replaces them, an older one does not."""
    whole = {"medium": "web", "fee": {"amount": 0.25}, "refund": {"id": "99", "amount": 5}}
    new.merge(history_of(payment(1, **whole)))
    new.merge(history_of(payment(1, note="new", medium="api"), at=NOON + HOUR))
    new.merge(history_of(payment(1, note="old", status="pending"), at=NOON))
    columns = ["note", "status", "medium", "fee_cents", "refund_payment_id", "refund_amount_cents"]
    assert new.history().payments[columns].to_numpy().tolist() == [["new", "settled", "api", 25, "99", 500]]


def test_a_change_rewrites_one_file_and_no_change_none(new, history_of, payment, set_limit) -> None:
    """Files hold whole days; a payment with another date moves to another file."""
    set_limit("archive_rows", 3)
    items = [payment(n, date_created=f"2024-05-{n % 10 + 10}T{n // 10:02}:00:00") for n in range(30)]

    def files() -> set[str]:
        return {entry["name"] for entry in read_manifest(new)["service"]["payments"]}

    new.merge(history_of(*items))
    before = files()
    assert len(before) == 10
    assert new.merge(history_of(*items, at=NOON + HOUR))[:3] == (0, 0, ())
    assert files() == before
    changed = payment(15, status="failed", date_created="2024-05-15T01:00:00")
    assert new.merge(history_of(*items[:15], changed, at=NOON + 2 * HOUR))[:3] == (0, 1, ())
    assert len(files() - before) == len(before - files()) == 1
    moved = payment(2, date_created="2024-05-19T05:00:00")
    assert new.merge(history_of(moved, at=NOON + 3 * HOUR))[:3] == (0, 0, ())
    found = new.history().payments["payment_id"].tolist()
    assert (len(found), len(set(found)), found[0]) == (30, 30, "2")


def test_which_parts_come_from_which_history(new, history_of, payment) -> None:
    """Problems are from the newest state, friends and names from the last fetch; earlier names are kept beside."""
    for month, name in ((1, "Bo"), (5, "Bob"), (3, "Bobby")):
        target = {"type": "user", "user": {"id": "11", "display_name": name}}
        new.merge(history_of(payment(f"{month}0", target=target), at=NOON.replace(month=month)))
    new.merge(history_of(payment(1, status="novel"), payment(2, status="strange"), friends=3))
    new.merge(history_of(payment(1), at=NOON - HOUR * 5000, friends=0))
    new.merge(history_of(payment(1), at=NOON + HOUR, friends=3))
    history = new.history()
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


def test_histories_that_cannot_be_merged(new, history_of, payment) -> None:
    """Another account, privacy mode, missing columns and ids: an error; the archive is unchanged."""
    history = history_of(payment(1))
    new.merge(history)
    before = read_manifest(new)
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
            new.merge(given)
    for part, column in (("payments", "account_id"), ("friends", "about")):
        frame = getattr(history, part).drop(columns=column)
        with pytest.raises(SchemaError, match=f"merge needs the columns {column}"):
            new.merge(p2p.History(**vars(history) | {part: frame}))
    assert read_manifest(new) == before
    assert new.history().payments["payment_id"].tolist() == ["1"]


def test_a_full_disk_leaves_the_archive_unchanged(new, history_of, payment) -> None:
    """A write error before the manifest changes is one sentence; the old state stays, and the next merge succeeds."""
    new.merge(history_of(payment(1)))
    before = new.history()
    for step in range(3):
        with fill_disk(step), pytest.raises(ConfigurationError, match="no space left on device"):
            new.merge(history_of(payment(2)))
        assert_same_history(new.history(), before)
    assert new.merge(history_of(payment(2))).added == 1


def test_an_archive_of_another_version_is_left_alone(new, history_of, payment) -> None:
    """Its manifest has another format number, so it is not treated as broken: no call changes a file of it."""
    new.merge(history_of(payment(1)))
    (new.path / "manifest.json").write_text(json.dumps(read_manifest(new) | {"format": 7}))
    before = digests(new.path)
    with p2p.Client("token", base_url="http://127.0.0.1:9", cache_dir=False) as client:
        for call in (
            new.history,
            lambda: new.merge(history_of(payment(2))),
            lambda: new.scan("polars"),
            lambda: new.sync(client, refresh=True),
            lambda: new.import_(statements_of(row(1))),
            new.undo,
            lambda: p2p.open_archive(new.path),
        ):
            with pytest.raises(ArchiveError, match=r"written by another version of p2p_analytics: .* new folder\.$"):
                call()
    assert digests(new.path) == before


def test_two_writers_lose_nothing(new, history_of, payment) -> None:
    """Concurrent merges wait for each other and lose no payment, and readers never fail."""
    new.merge(history_of(payment("x")))
    histories = [history_of(*(payment(f"{writer}{n}") for n in range(5))) for writer in range(1, 5)]
    threads = [threading.Thread(target=p2p.open_archive(new.path).merge, args=(each,)) for each in histories]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert len(p2p.open_archive(new.path).history().payments) % 5 == 1
    for thread in threads:
        thread.join()
    assert len(new.history().payments) == 21


def test_a_second_writer_times_out(new, history_of, payment, monkeypatch) -> None:
    """If the lock stays taken, the error is one sentence."""
    monkeypatch.setattr(LIMITS, "archive_lock_seconds", 0.0)
    new.merge(history_of())
    lock = new.path / "lock"
    with hold_lock(lock, seconds=0), pytest.raises(ArchiveError, match="Another process is writing"):
        new.merge(history_of(payment(1)))


def test_previous_files_stay_for_readers(new, history_of, payment) -> None:
    """The files of one previous state are kept and older ones are removed: a scan survives the next merge."""
    counts = []
    for day in range(1, 5):
        new.merge(history_of(payment(day), at=NOON + day * HOUR))
        counts.append(len(list(new.path.glob("payments-*.parquet"))))
    assert counts == [1, 2, 2, 2]


def test_mixed_up_arguments(new, history_of, payment) -> None:
    """A history for a client, or the other way round, is one sentence that names the call that was meant."""
    history = history_of(payment(1))
    with p2p.Client("token", base_url="http://127.0.0.1:9", cache_dir=False) as client:
        for call, value, message in (
            (new.sync, history, r"sync needs a Client, .*, not a History: merge\(history\) adds a loaded history"),
            (new.verify, history, r"verify needs a Client, such as Client\(token\), not a History\."),
            (new.sync, "token", r"sync needs a Client, such as Client\(token\), not a str\."),
            (new.merge, client, r"merge needs a History, .*, not a Client: sync\(client\) loads into the archive"),
            (new.merge, history.payments, r"merge needs a History, .*, not a DataFrame\."),
            (p2p.open_archive, history, r"A path is text or a Path, not a History: "),
        ):
            with pytest.raises(ConfigurationError, match=message):
                call(value)


EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
DATES = st.one_of(st.none(), st.integers(0, 60 * 24).map(lambda hour: EPOCH + timedelta(hours=hour)))
STATES = st.fixed_dictionaries(
    {
        "payment_id": st.integers(1, 12).map(str),
        "status": st.sampled_from(["pending", "settled", "cancelled", None]),
        "date_created": DATES,
        "fetched_at": st.integers(0, 3).map(lambda hour: EPOCH + timedelta(hours=hour)),
        "medium": st.sampled_from([None, "web", "api"]),
        "fee_cents": st.sampled_from([None, 25]),
    }
)


@given(st.lists(STATES, max_size=40))
@settings(max_examples=20)
def test_each_payment_once_in_its_newest_state(rows) -> None:
    """The state is the maximum in plain Python; fields that lists omit keep their last value; newest first."""
    found = keep_newest(pa.Table.from_pylist(rows, schema=arrow_schema("payments"))).to_pylist()
    expected = {}
    for payment_id in {state["payment_id"] for state in rows}:
        states = [state for state in rows if state["payment_id"] == payment_id]
        states.sort(key=lambda state: (state["fetched_at"], state["status"] not in {"pending", None}))
        told = {name: [state[name] for state in states if state[name] is not None] for name in ("medium", "fee_cents")}
        expected[payment_id] = states[-1] | {name: values[-1] if values else None for name, values in told.items()}
    assert {
        state["payment_id"]: {name: state[name] for name in expected[state["payment_id"]]} for state in found
    } == expected
    made = [(each["date_created"] or EPOCH - timedelta(1), each["payment_id"]) for each in found]
    age = [(date, len(number), number) for date, number in made]
    assert age == sorted(age, reverse=True)


@given(st.lists(DATES, min_size=1, max_size=80), st.integers(1, 20))
@settings(max_examples=15)
def test_files_hold_whole_days_and_every_row(tmp_path_factory, history_of, payment, dates, usual) -> None:
    """Each payment is in the file that its date says, none is lost, and no file is empty."""
    items = [payment(number, date_created=date and f"{date:%Y-%m-%dT%H:%M:%S}") for number, date in enumerate(dates)]
    folder = tmp_path_factory.mktemp("days")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LIMITS, "archive_rows", usual)
        p2p.open_archive(folder).merge(history_of(*items))
    files = sorted(folder.glob("payments-*"), key=lambda path: path.name.replace("first", "0"))
    starts = [date.min, *(date.fromisoformat(path.name[9:19]) for path in files[1:])]
    pieces = [pq.read_table(path).to_pylist() for path in files]
    assert sorted(int(each["payment_id"]) for piece in pieces for each in piece) == list(range(len(dates)))
    for piece, start, end in zip(pieces, starts, [*starts[1:], date.max], strict=True):
        days = [each["date_created"].date() if each["date_created"] else date.min for each in piece]
        assert days
        assert start <= min(days) <= max(days) < end


def test_columns_of_one_value_in_each_file(tmp_path, history_of, payment, set_limit) -> None:
    """A text that all rows of a file share, another in the next file, none in the third, or several, are restored."""
    set_limit("archive_rows", 2)
    notes = ["rent", "rent", "taxi", "taxi", None, None, "rent", None, "a", "b"]
    items = [
        payment(number, note=note, date_created=f"2024-05-{number // 2 + 10}T1{number % 2}:00:00")
        for number, note in enumerate(notes)
    ]
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(*items))
    restored = archive.history().payments.sort_values("payment_id", key=lambda ids: ids.astype(int))
    assert [note if isinstance(note, str) else None for note in restored["note"]] == notes
    assert [entry["rows"] for entry in read_manifest(archive)["service"]["payments"]] == [2, 2, 2, 2, 2]
