"""A broken file is replaced only by a complete reload of its payments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import PaginationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from p2p_analytics.archive import Archive

PLACES = {"oldest": 0, "middle": 2, "newest": -1}


@pytest.fixture(autouse=True)
def small_files(monkeypatch) -> None:
    """Fill a file with a few payments."""
    monkeypatch.setattr("p2p_analytics.archive._merge.MOST_ROWS", 120)
    monkeypatch.setattr("p2p_analytics.archive._merge._USUAL_ROWS", 100)


def payment_files(archive: Archive) -> list[Path]:
    """Return the paths of an archive's files of payments, oldest first."""
    return [archive.path / entry.name for entry in archive._store.manifest().payments]


def ids(archive: Archive) -> set[str]:
    """Return the ids of an archive's payments."""
    return set(archive.history().payments["payment_id"])


def content(archive: Archive) -> dict[str, bytes]:
    """Return the content of all files of a folder."""
    return {path.name: path.read_bytes() for path in archive.path.iterdir()}


@pytest.fixture(scope="module")
def town() -> Iterator[p2p.sandbox.SandboxServer]:
    """Serve a town whose viewer has several files of payments."""
    with p2p.sandbox.SandboxServer(seed=7) as running:
        yield running


@pytest.mark.parametrize(
    ("kind", "place", "friends"),
    [
        ("empty-page", "oldest", "whole"),
        ("empty-page", "middle", "whole"),
        ("empty-page", "newest", "whole"),
        ("empty-page", "middle", "broken"),
        ("no-next", "middle", "whole"),
    ],
)
def test_incomplete_lists_replace_no_broken_file(town, tmp_path, kind, place, friends) -> None:
    """Pages that hide payments from any request on: the sync is exact, or refused and changes nothing."""
    archive = p2p.open_archive(tmp_path)
    with p2p.Client(town.token(town.viewer), base_url=town.base_url, cache_dir=False, concurrency=1) as client:
        archive.sync(client)
        expected = ids(archive)
        payment_files(archive)[PLACES[place]].write_bytes(b"broken")
        if friends == "broken":
            next(tmp_path.glob("friends-*.parquet")).write_bytes(b"broken")
        before = content(archive)
        refused = 0
        for number in (1, 2, 3, 5):
            town.faults = f"ok*{number} {kind}*9000"
            try:
                archive.sync(client)
            except PaginationError:
                refused += 1
                assert content(archive) == before
            else:
                assert ids(archive) == expected
            finally:
                town.faults = ""
            archive.sync(client)
            assert ids(archive) == expected
            for path in tmp_path.iterdir():
                path.unlink()
            for name, data in before.items():
                (tmp_path / name).write_bytes(data)
    assert refused or kind == "no-next"  # the client sees through the latter


class Service:
    """A service of one account that lists the payments the test gives it."""

    def __init__(self, scripted: Callable[..., Any], rows: dict[str, dict[str, Any]]) -> None:
        self.rows = rows
        self._running = scripted(self._answer)

    def client(self) -> p2p.Client:
        """Return a client that does not wait between retries."""
        client = p2p.Client("token", base_url=self._running.base_url, cache_dir=False)
        client._transport._sleep = lambda _seconds: None
        return client

    def _answer(self, path: str, sent: dict[str, str]) -> Any:
        if path == "/v1/me":
            return {"data": {"balance": None, "user": {"id": "7", "friends_count": 0}}}
        if path.startswith("/v1/payments/"):
            return 404, {}, {"error": {"message": "no such payment", "code": "283"}}
        if path != "/v1/payments":
            return {"data": [], "pagination": None}
        rows = sorted(self.rows.values(), key=lambda row: row["date_created"], reverse=True)
        rows = [row for row in rows if sent.get("after", "0") < row["date_created"] < sent.get("before", "9")]
        return {"data": [row for row in rows if sent.get("status", row["status"]) == row["status"]], "pagination": None}


@pytest.fixture
def service(scripted, payment, monkeypatch) -> Service:
    """Serve forty payments, ten in each of four files."""
    monkeypatch.setattr("p2p_analytics.archive._merge.MOST_ROWS", 12)
    monkeypatch.setattr("p2p_analytics.archive._merge._USUAL_ROWS", 10)
    dates = {str(number): f"2024-{number // 10 + 1:02}-{number % 10 + 1:02}T12:00:00" for number in range(40)}
    return Service(scripted, {key: payment(key, date_created=date) for key, date in dates.items()})


CASES = [
    ("oldest", "4", "settled"), ("middle", "24", "settled"), ("newest", "34", "settled"), ("newest", "34", "pending"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_payment_less_is_refused_until_a_refresh(service, tmp_path, payment, caplog, case) -> None:
    """Payments that are new, or of other files, make up for none; a refresh is the way out and counts the loss."""
    place, gone, status = case
    service.rows[gone]["status"] = status
    archive = p2p.open_archive(tmp_path)
    with service.client() as client:
        archive.sync(client)
        file = payment_files(archive)[PLACES[place]]
        file.write_bytes(b"broken")
        before = content(archive)
        lost = service.rows.pop(gone)
        service.rows |= {f"new {day}": payment(f"new {day}", date_created=f"2024-06-0{day}T12:00:00") for day in (1, 2)}
        for _ in range(2):
            with pytest.raises(PaginationError, match=r"lists 9 of the 10 payments .*: try again .* refresh=True"):
                archive.sync(client, on_bad_record="report")
            assert content(archive) == before
        service.rows[gone] = lost
        assert archive.sync(client).set_aside == (file.name,)
        assert ids(archive) == set(service.rows)
        file = payment_files(archive)[PLACES[place]]
        held = archive._store.manifest().payments[PLACES[place]].rows
        file.write_bytes(b"broken")
        del service.rows[gone]
        assert archive.sync(client, refresh=True, on_bad_record="report").set_aside == (file.name,)
        assert f"lists {held - 1} of the {held} payments" in caplog.text
        assert ids(archive) == set(service.rows)
        assert archive.sync(client, on_bad_record="report").set_aside == ()


def test_merged_payments_that_the_service_does_not_list_are_not_dropped(service, tmp_path, history_of, payment) -> None:
    """A file that holds them too is reloaded by a refresh alone."""
    archive = p2p.open_archive(tmp_path)
    with service.client() as client:
        archive.sync(client)
        archive.merge(history_of(payment("merged", date_created="2024-03-05T12:00:00")))
        payment_files(archive)[PLACES["middle"]].write_bytes(b"broken")
        with pytest.raises(PaginationError, match=r"from 2024-03-01 before 2024-04-01 .* refresh=True"):
            archive.sync(client)
        archive.sync(client, refresh=True)
        assert ids(archive) == set(service.rows)
