"""A damaged archive is found out by `verify` and healed by a refresh; what the service lost is kept and listed."""

from __future__ import annotations

import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow.compute as pc
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.archive import _writer
from p2p_analytics.errors import ArchiveError, ConfigurationError, PaginationError, RecordError, ServerError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from p2p_analytics.archive import Archive

COLUMNS = ["month", "payment_id", "difference", "fields"]
# Twelve months of 2024 with five payments each; ids count up.
DATES = {str(number): f"2024-{number // 5 + 1:02}-{number % 5 * 6 + 1:02}T12:00:00" for number in range(60)}
MAY = {payment_id for payment_id, date in DATES.items() if date.startswith("2024-05")}


class Service:
    """A service of one account, whose payments the test changes, and which counts what it is asked."""

    def __init__(self, scripted: Callable[..., Any], payment: Callable[..., dict[str, Any]]) -> None:
        self.payments = {key: payment(key, date_created=date) for key, date in DATES.items()}
        self.account = "7"
        self.fails_after: int | None = None
        self.lists = 0
        self.running = scripted(self._answer)

    def client(self, cache_dir: Path | None = None) -> p2p.Client:
        """Return a client that does not wait between retries."""
        client = p2p.Client("token", base_url=self.running.base_url, cache_dir=cache_dir or False)
        client._transport._sleep = lambda _seconds: None
        return client

    def _answer(self, path: str, sent: dict[str, str]) -> Any:
        if path == "/v1/me":
            return {"data": {"balance": None, "user": {"id": self.account, "friends_count": 0}}}
        if path.startswith("/v1/users"):
            return {"data": [], "pagination": None}
        if path.startswith("/v1/payments/"):
            return 404, {}, {"error": {"message": "no such payment", "code": "283"}}
        self.lists += 1
        if self.fails_after is not None and self.lists > self.fails_after:
            return 500, {}, {"error": {"message": "no", "code": "1"}}
        rows = sorted(self.payments.values(), key=lambda row: row["date_created"], reverse=True)
        rows = [row for row in rows if row["date_created"] < sent.get("before", "9")]
        rows = [row for row in rows if row["date_created"] > sent.get("after", "0")]
        rows = [row for row in rows if sent.get("status", row["status"]) == row["status"]]
        limit = min(int(sent["limit"]), 20)
        return {"data": rows[:limit], "pagination": {"next": "?x"} if len(rows) > limit else None}


@pytest.fixture
def service(scripted, payment) -> Service:
    """Serve sixty payments."""
    return Service(scripted, payment)


@pytest.fixture
def archive(service, tmp_path, monkeypatch) -> Iterator[Archive]:
    """Return an archive of all of them, in several files."""
    monkeypatch.setattr("p2p_analytics.archive._merge.MOST_ROWS", 12)
    monkeypatch.setattr("p2p_analytics.archive._merge._USUAL_ROWS", 10)
    synced = p2p.open_archive(tmp_path / "archive")
    with service.client() as client:
        assert synced.sync(client).added == 60
    return synced


def lose(archive: Archive, payment_ids: set[str]) -> None:
    """Leave an archive as a load that lost some payments did: well formed, without them."""
    folder, manifest = archive._folder, archive._folder.read_manifest()
    entries = []
    for entry in manifest.payments:
        rows = folder.read(entry)
        kept = rows.filter(pc.invert(pc.is_in(rows["payment_id"], value_set=pc.cast([*payment_ids], "string"))))
        entries.append(folder.write("payments", kept, "7", start=entry.start))
    changed = {name: getattr(manifest, name) for name in manifest.__struct_fields__} | {"payments": tuple(entries)}
    folder.commit(type(manifest)(**changed), manifest)


def ids(archive: Archive) -> set[str]:
    """Return the ids of an archive's payments."""
    return set(archive.history().payments["payment_id"])


def test_a_whole_archive_differs_in_nothing(service, archive) -> None:
    """No row, with the documented columns, all of text; and nothing in the folder changes."""
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in archive.path.iterdir()}
    with service.client() as client:
        found = archive.verify(client)
    assert found.empty
    assert list(found.columns) == COLUMNS
    assert {str(dtype) for dtype in found.dtypes} == {"str"}
    assert {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in archive.path.iterdir()} == before


def test_verify_names_the_months_and_a_refresh_heals_them(service, archive) -> None:
    """A month is gone: three syncs do not bring it back, verify names it, a refresh does."""
    lose(archive, MAY)
    with service.client() as client:
        for _ in range(3):
            assert archive.sync(client).added == 0
        found = archive.verify(client)
        assert set(found["month"]) == {"2024-05"}
        assert set(found["payment_id"]) == MAY
        assert set(found["difference"]) == {"missing"}
        assert archive.sync(client, refresh=True) == (5, 0, ())
        assert ids(archive) == set(DATES)
        assert archive.verify(client).empty


def test_a_refresh_does_not_ask_the_cache(service, archive, tmp_path) -> None:
    """What the cache says of closed windows may be what damaged the archive; the service decides."""
    lose(archive, MAY)
    hidden = {key: service.payments.pop(key) for key in MAY}
    with service.client(tmp_path / "cache") as client:
        assert len(p2p.load_history(client).payments) == 55
    service.payments |= hidden
    with service.client(tmp_path / "cache") as client:
        assert set(archive.verify(client)["payment_id"]) == MAY
    service.payments = {key: row for key, row in service.payments.items() if key not in MAY}
    with service.client(tmp_path / "cache") as client:
        p2p.load_history(client, refresh=True)
    service.payments |= hidden
    with service.client(tmp_path / "cache") as client:
        assert archive.sync(client, refresh=True).added == 5
    assert ids(archive) == set(DATES)


def test_what_differs_is_named_with_its_columns(service, archive, history_of, payment) -> None:
    """Missing, extra and changed, newest first; a payment without a date has no month; a new name is no difference."""
    archive.merge(history_of(payment("undated", date_created=None)))
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    del service.payments["7"]
    service.payments["3"] |= {"status": "failed", "amount": 6, "date_completed": "2024-01-20T00:00:00"}
    service.payments["4"] |= {"actor": {"id": "7", "display_name": "Another name"}}
    with service.client() as client:
        found = archive.verify(client)
    rows = found.astype(object).where(found.notna(), None).to_numpy().tolist()
    assert rows == [
        ["2024-12", "new", "missing", None],
        ["2024-02", "7", "extra", None],
        ["2024-01", "3", "changed", "status, amount_cents, date_completed"],
        [None, "undated", "extra", None],
    ]


def test_a_refresh_replaces_and_keeps_what_is_not_listed(service, archive, caplog) -> None:
    """Changed rows are replaced even where the archive claims to be newer; lost ones stay, listed once, until back."""
    history = archive.history()
    future = history.fetched_at + timedelta(days=400)
    wrong = history.payments.assign(amount_cents=pd.array([1] * 60, dtype="Int64"))
    archive.merge(p2p.History(**vars(history) | {"payments": wrong, "fetched_at": future}))
    gone = service.payments.pop("7")
    with service.client() as client:
        for _ in range(2):
            archive.sync(client, refresh=True)
            after = archive.history()
            assert ids(archive) == set(DATES)
            amounts = after.payments.set_index("payment_id")["amount_cents"]
            assert set(amounts.drop("7")) == {500}
            assert after.problems[["payment_id", "field"]].to_numpy().tolist() == [["7", "id"]]
            assert "does not list it" in after.problems["problem"].iloc[0]
        assert "keeps 1 payment that the service does not list" in caplog.text
        service.payments["7"] = gone
        archive.sync(client, refresh=True)
        assert archive.history().problems.empty
        assert archive.verify(client).empty


def test_an_unlisted_payment_is_named_beside_its_other_problems(service, archive) -> None:
    """A strange word in it, which was a problem before, does not hide that it is gone."""
    service.payments["7"]["status"] = "novel"
    with service.client() as client:
        archive.sync(client, refresh=True)
        assert archive.history().problems["value"].tolist() == ["novel"]
        del service.payments["7"]
        for _ in range(2):
            archive.sync(client, refresh=True)
            assert archive.history().problems["value"].tolist() == ["novel", "7"]


def test_a_pending_payment_that_is_not_listed_is_one_problem(service, archive) -> None:
    """It is asked for by its id; what then is not found is not named twice."""
    service.payments["7"]["status"] = "pending"
    with service.client() as client:
        archive.sync(client, refresh=True)
        del service.payments["7"]
        archive.sync(client, refresh=True)
    problems = archive.history().problems
    assert problems["payment_id"].tolist() == ["7"]
    assert "cannot be found" in problems["problem"].iloc[0]


def test_a_refresh_that_fails_changes_nothing(service, archive) -> None:
    """Whichever page fails: the manifest is the one before, and the next refresh heals."""
    lose(archive, MAY)
    before = (archive.path / "manifest.json").read_bytes()
    with service.client() as client:
        for pages in range(3):
            service.lists, service.fails_after = 0, pages
            with pytest.raises(ServerError):
                archive.sync(client, refresh=True)
            assert (archive.path / "manifest.json").read_bytes() == before
        service.fails_after = None
        assert archive.sync(client, refresh=True).added == 5


def test_a_refresh_without_a_manifest_keeps_what_the_files_hold(service, archive) -> None:
    """The manifest is lost and a payment is not listed any more: both are put right, nothing is lost."""
    (archive.path / "manifest.json").write_bytes(b"{}")
    del service.payments["7"]
    with service.client() as client:
        archive.sync(client, refresh=True)
    assert ids(archive) == set(DATES)
    assert archive.history().problems["payment_id"].tolist() == ["7"]


def test_verify_and_refresh_refuse_another_account(service, archive) -> None:
    """Before a list is asked for."""
    service.account = "9"
    service.lists = 0
    with service.client() as client:
        for call in (archive.verify, lambda other: archive.sync(other, refresh=True)):
            with pytest.raises(ArchiveError, match="another account"):
                call(client)
    assert service.lists == 0


def test_verify_where_there_is_nothing(service, tmp_path) -> None:
    """No archive yet: one sentence, no request and no folder. A broken file is named."""
    with service.client() as client, pytest.raises(ArchiveError, match="no archive"):
        p2p.open_archive(tmp_path / "none").verify(client)
    assert service.lists == 0
    assert not (tmp_path / "none").exists()


def test_verify_names_a_broken_file(service, archive) -> None:
    """As reading does."""
    file = min(archive.path.glob("payments-*"))
    file.write_bytes(b"")
    with service.client() as client, pytest.raises(ArchiveError, match=file.name):
        archive.verify(client)


def test_archives_of_no_payments(scripted, payment, tmp_path) -> None:
    """Empty on both sides, and in the archive; an empty answer about an archive with payments is not believed."""
    service = Service(scripted, payment)
    rows, service.payments = service.payments, {}
    empty = p2p.open_archive(tmp_path / "archive")
    with service.client() as client:
        empty.sync(client)
        assert empty.verify(client).empty
        service.payments = rows
        assert Counter(empty.verify(client)["difference"]) == {"missing": 60}
        empty.sync(client, refresh=True)
        service.payments = {}
        with pytest.raises(PaginationError, match="lists no payment at all"):
            empty.verify(client)
        empty.sync(client, refresh=True)
    assert ids(empty) == set(DATES)
    assert len(empty.history().problems) == 60


def test_in_privacy_mode_verify_shows_no_id(service, archive, monkeypatch) -> None:
    """Months and counts are real, ids are invented."""
    lose(archive, MAY)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with service.client() as client:
        found = archive.verify(client)
    assert len(found) == 5
    assert not MAY & set(found["payment_id"])
    assert set(found["difference"]) == {"missing"}


def test_verify_costs_one_pass(tmp_path) -> None:
    """At the sandbox: whose token it is, and no more lists than a load without a cache asks for."""
    with (
        p2p.sandbox.SandboxServer(seed=7) as server,
        p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False, concurrency=1) as client,
    ):
        archive = p2p.open_archive(tmp_path)
        archive.sync(client)
        server.requests.clear()
        history = p2p.load_history(client)
        one_pass = sum(path.startswith("/v1/payments") for _, path in server.requests)
        server.requests.clear()
        assert archive.verify(client).empty
        assert sum(path.startswith("/v1/payments") for _, path in server.requests) <= one_pass
        assert len(server.requests) <= one_pass + 1
    assert len(history.payments) > 500


def test_the_commands(service, archive, capsys, monkeypatch) -> None:
    """Verify ends with 0 or 1 and says what to do; sync --refresh does it."""
    monkeypatch.setenv("P2P_BASE_URL", service.running.base_url)
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "token")
    folder = str(archive.path)
    assert cli.main(["verify", folder]) == 0
    assert capsys.readouterr().out == f"{folder} and the service agree.\n"
    lose(archive, MAY)
    service.payments["3"]["status"] = "failed"
    assert cli.main(["verify", folder]) == 1
    assert capsys.readouterr().out == (
        "2024-01: 1 changed\n2024-05: 5 missing from the archive\n"
        f"6 payments differ in 2 months: run p2p-analytics sync --refresh {folder}.\n"
    )
    assert cli.main(["sync", "--refresh", folder]) == 0
    assert capsys.readouterr().out == f"5 new payments, 1 with another status, in {folder}\n"
    assert cli.main(["verify", folder]) == 0
    capsys.readouterr()
    del service.payments["3"]
    assert cli.main(["verify", folder]) == 1
    assert capsys.readouterr().out.endswith("the archive keeps what the service does not list any more.\n")
    assert cli.main(["verify", folder + "-none"]) == 1
    assert "no archive" in capsys.readouterr().err


def test_the_words_of_an_unlisted_payment_can_be_shown_in_privacy_mode() -> None:
    """A sentence with a number or a quotation in it is hidden there."""
    assert not any(character.isdigit() or character in "'\"" for character in _writer._UNLISTED)


def test_an_archive_synced_to_a_wrong_moment_is_put_right(service, archive, payment) -> None:
    """A refresh starts from the service's newest payment, whatever the archive believed."""
    manifest = archive._folder.read_manifest()
    changed = {name: getattr(manifest, name) for name in manifest.__struct_fields__}
    changed["synced_to"] = datetime(2900, 1, 1, tzinfo=UTC)
    archive._folder.commit(type(manifest)(**changed), manifest)
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    with service.client() as client:
        archive.sync(client, refresh=True)
        service.payments["newer"] = payment("newer", date_created="2025-01-31T00:00:00")
        assert archive.sync(client).added == 1
    written = json.loads((archive.path / "manifest.json").read_bytes())
    assert written["synced_to"] == "2025-01-31T00:00:00Z"


@pytest.fixture
def killed() -> Iterator[Callable[..., int]]:
    """Return a function that has a process change an archive, and returns how the process ended."""
    with subprocess.Popen(  # noqa: S603 - our own file
        [sys.executable, str(Path(__file__).with_name("killed.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def order(**words: str | float | bool) -> int:
            process.stdin.write(json.dumps(words) + "\n")
            process.stdin.flush()
            return int(process.stdout.readline())

        yield order
        process.stdin.close()


def test_a_refresh_that_is_killed_at_any_step(service, archive, killed) -> None:
    """The archive is the damaged one or the healed one, never another; the next refresh heals it."""
    lose(archive, MAY)
    step, ended = 0, -signal.SIGKILL
    seen = Counter()
    while ended == -signal.SIGKILL:
        copied = archive.path.with_name(f"copy {step}")
        shutil.copytree(archive.path, copied)
        order = {"archive": str(copied), "token": "token", "base_url": service.running.base_url, "refresh": True}
        ended = killed(**order, step=step)
        found = ids(p2p.open_archive(copied))
        assert found in (set(DATES), set(DATES) - MAY)
        seen[len(found)] += 1
        with service.client() as client:
            p2p.open_archive(copied).sync(client, refresh=True)
            assert p2p.open_archive(copied).verify(client).empty
        step += 1
    assert ended == 0
    assert seen[55] > 5


def test_syncs_refreshes_and_verify_at_the_same_time(service, archive, payment) -> None:
    """Writers wait for each other, verify reads one state; none of them fails, and all agree in the end."""
    errors: list[BaseException] = []

    def repeat(call: Callable[[p2p.Client], object]) -> None:
        try:
            with service.client() as client:
                for _ in range(4):
                    call(client)
        except BaseException as error:  # noqa: BLE001 - the test looks at them
            errors.append(error)

    calls = (archive.sync, archive.verify, lambda client: archive.sync(client, refresh=True), archive.verify)
    threads = [threading.Thread(target=repeat, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    service.payments["new"] = payment("new", date_created="2024-12-31T00:00:00")
    for thread in threads:
        thread.join()
    assert errors == []
    with service.client() as client:
        archive.sync(client)
        assert archive.verify(client).empty


def test_an_archive_behind_a_link(service, archive, tmp_path) -> None:
    """The folder may be a link; its files may not."""
    (tmp_path / "link").symlink_to(archive.path)
    linked = p2p.open_archive(tmp_path / "link")
    lose(archive, MAY)
    with service.client() as client:
        assert len(linked.verify(client)) == 5
        assert linked.sync(client, refresh=True).added == 5
    assert (tmp_path / "link").is_symlink()
    assert ids(archive) == set(DATES)
    (tmp_path / "nowhere").symlink_to(tmp_path / "nothing")
    with service.client() as client, pytest.raises(ArchiveError, match="cannot be used"):
        p2p.open_archive(tmp_path / "nowhere").sync(client)
    assert not (tmp_path / "nothing").exists()


def test_a_disk_that_takes_no_more(service, archive) -> None:
    """The system refuses the write in the middle of a refresh: one sentence, the state before, no file left over."""
    lose(archive, MAY)
    before = {path.name: path.read_bytes() for path in archive.path.iterdir()}
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, limit[1]))
    try:
        with service.client() as client, pytest.raises(ConfigurationError, match=r"Cannot write .*: file too large"):
            archive.sync(client, refresh=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert {path.name: path.read_bytes() for path in archive.path.iterdir()} == before
    with service.client() as client:
        assert archive.sync(client, refresh=True).added == 5


def test_a_record_without_an_id_is_not_passed_over(service, archive, monkeypatch) -> None:
    """It may be a payment that the archive lacks; in privacy mode the error quotes nothing of it."""
    service.payments["7"] |= {"id": None, "note": "4711"}
    with service.client() as client:
        with pytest.raises(RecordError, match="'id'"):
            archive.verify(client)
        monkeypatch.setenv("P2P_PRIVACY", "1")
        with pytest.raises(RecordError) as caught:
            archive.verify(client)
    assert "4711" not in str(caught.value)


def test_a_sync_heals_whatever_bits_changed(service, archive) -> None:
    """One bit of any file: the sync after it leaves the exact history, and what was broken is kept beside."""
    chance = random.Random(15)  # noqa: S311 - no secret
    expected = archive.history().payments
    for _ in range(40):
        file = chance.choice(sorted(path for path in archive.path.iterdir() if path.suffix in {".json", ".parquet"}))
        content = bytearray(file.read_bytes())
        place = chance.randrange(len(content))
        content[place] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        counted = file.name in {"manifest.json", *(entry.name for entry in entries_of(archive))}
        with service.client() as client:
            changes = archive.sync(client)
        assert changes.set_aside == ((file.name,) if counted else ())
        assert archive.history().payments.equals(expected)
        if counted:
            (aside,) = archive.path.glob(f"{file.name}.corrupt-*")
            assert aside.read_bytes() == content
            aside.unlink()


def entries_of(archive: Archive) -> tuple[Any, ...]:
    """Return the entries of an archive's manifest, none where it is broken."""
    try:
        return archive._folder.read_manifest().entries
    except ArchiveError:
        return ()
