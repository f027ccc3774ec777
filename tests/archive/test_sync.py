"""A sync asks for what may have changed, and leaves the archive as a load of everything would."""

from __future__ import annotations

from datetime import timedelta

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _service
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.errors import PaginationError, RecordError, ServerError
from support.archives.payments_service import ids
from support.servers import sandbox_fixture

WRITES = ("make_payments", "access_profile")

server = sandbox_fixture(scope="function", seed=7, people=5, years=1)
town = sandbox_fixture(scope="function", seed=7)


def client_of(server: p2p.sandbox.SandboxServer, person: str | None = None, *scopes: str) -> p2p.Client:
    """Return a client of the viewer, or of another user."""
    return p2p.Client(server.token(person or server.viewer, *scopes), base_url=server.base_url, cache_dir=False)


def assert_whole(archive: p2p.Archive, client: p2p.Client) -> None:
    """Compare the archive with all there is at the service, but for what its lists do not show."""
    found, expected = archive.history(), p2p.load_history(client)
    unlisted = ["medium", "fee_cents", "refund_payment_id", "refund_amount_cents"]
    pd.testing.assert_frame_equal(found.payments.drop(columns=unlisted), expected.payments.drop(columns=unlisted))
    pd.testing.assert_frame_equal(found.friends, expected.friends)
    pd.testing.assert_frame_equal(found.problems, expected.problems)


def test_a_sync_of_one_new_payment_asks_four_times(server, tmp_path) -> None:
    """The requests are /me, new payments, pending payments and the end of that list; the rest is known."""
    archive = p2p.open_archive(tmp_path)
    with client_of(server) as client, client_of(server, server.people[1].username, *WRITES) as other:
        assert archive.sync(client).added == len(p2p.load_history(client).payments)
        PaymentDesk(other).charge(user_id=server.people[0].user_id, amount="1.23", note="lunch")
        server.requests.clear()
        assert archive.sync(client)[:3] == (1, 0, ())
        assert [path.split("?")[0] for _, path in server.requests] == ["/v1/me", *["/v1/payments"] * 3]
        assert_whole(archive, client)


def test_what_was_pending_is_looked_after(town, tmp_path) -> None:
    """Settled, cancelled or expired, however old: each is asked for by its id, and by nothing else."""
    archive = p2p.open_archive(tmp_path)
    me, friend = town.people[0], town.people[1]
    with (
        client_of(town) as client,
        client_of(town, me.username, *WRITES) as mine,
        client_of(town, friend.username, *WRITES) as theirs,
    ):
        charges = [PaymentDesk(mine).charge(user_id=friend.user_id, amount="1", note=word).payment.id for word in "abc"]
        town.advance(days=9)
        PaymentDesk(mine).charge(user_id=friend.user_id, amount="2", note="new")
        archive.sync(client)
        town.deposit(friend.username, 1_000)
        PaymentDesk(theirs).approve(charges[0])
        PaymentDesk(theirs).deny(charges[1])
        town.requests.clear()
        assert archive.sync(client)[:3] == (0, 2, ())
        by_id = {path.rpartition("/")[2] for _, path in town.requests if "?" not in path and "/payments/" in path}
        assert by_id == set(charges[:2])
        rows = archive.history().payments.set_index("payment_id")
        assert rows.loc[charges, "status"].tolist() == ["settled", "cancelled", "pending"]
        town.advance(days=400)
        assert archive.sync(client).changed > 0
        assert_whole(archive, client)


def test_friends_are_asked_for_when_their_number_or_the_day_changes(server, tmp_path, monkeypatch) -> None:
    """The number is in the answer to /me; a friend replaced by another appears a day later."""
    archive = p2p.open_archive(tmp_path)

    def list_requests() -> bool:
        server.requests.clear()
        archive.sync(client)
        return any("/friends" in path for _, path in server.requests)

    with client_of(server) as client:
        assert [list_requests(), list_requests()] == [True, False]
        monkeypatch.setattr(_service, "_FRIENDS_VALID", timedelta(0))
        assert list_requests()
        monkeypatch.undo()
        assert not list_requests()
        with server.store.writing() as connection:
            connection.execute("DELETE FROM friendships")
        assert list_requests()
    assert len(archive.history().friends) == 0


def test_files_hold_what_is_real_and_no_token(server, tmp_path, monkeypatch) -> None:
    """In privacy mode too: a sync masks nothing, reading does."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    token = server.token(server.viewer)
    archive = p2p.open_archive(tmp_path)
    with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
        archive.sync(client)
    name = server.people[0].display_name
    assert archive.history(privacy=False).me.user.display_name == name != archive.history().me.user.display_name
    assert not [file for file in tmp_path.iterdir() if token.encode() in file.read_bytes()]


@pytest.mark.parametrize("kind", ["payments", "manifest"])
def test_a_missing_file_is_loaded_anew(service, archive, kind) -> None:
    """Of payments, its own time alone is requested; without the manifest, files are recovered, with merged payments."""
    files = sorted(archive.path.glob(f"{kind}*"))
    files[len(files) // 2].unlink()
    with service.client() as client:
        service.lists = 0
        assert archive.sync(client).set_aside == ((files[3].name,) if kind == "payments" else ())
        if kind == "payments":
            assert service.lists <= 5
        assert archive.sync(client)[:3] == (0, 0, ())
        assert archive.verify(client).empty


def test_a_sync_that_fails_changes_nothing(service, archive, payment) -> None:
    """Whichever page fails, also in a refresh; the next one asks from where the last whole one was."""
    before = (archive.path / "manifest.json").read_bytes()
    service.payments["new"] = payment("new", date_created="2025-05-02T12:00:00")
    with service.client() as client:
        for refresh, pages in ((False, 0), (True, 0), (True, 2)):
            service.lists, service.fails_after = 0, pages
            with pytest.raises(ServerError):
                archive.sync(client, refresh=refresh)
            assert (archive.path / "manifest.json").read_bytes() == before
        service.fails_after = None
        assert archive.sync(client)[:3] == (1, 0, ())


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ((404, {}, {"error": {"message": "gone", "code": "283"}}), "cannot be found"),
        ({"data": {"id": "47", "amount": 0.123456}}, "cannot be read"),
    ],
)
def test_a_pending_payment_that_is_gone_stays_and_is_told(service, archive, monkeypatch, answer, told) -> None:
    """No payment is dropped silently; the problem is listed once, and not after the payment is back."""
    service.payments["47"]["status"] = "pending"
    with service.client() as client:
        archive.sync(client, refresh=True)
        gone, service.by_id["47"] = service.payments.pop("47"), answer
        for _ in range(2):
            assert archive.sync(client, on_bad_record="report")[:3] == (0, 0, ())
            history = archive.history()
            assert history.payments.set_index("payment_id").loc["47", "status"] == "pending"
            assert history.problems["problem"].str.contains(told).tolist() == [True]
        if told == "cannot be read":
            monkeypatch.setenv("P2P_PRIVACY", "1")
            with pytest.raises(RecordError) as caught:
                archive.sync(client)
            assert "123456" not in str(caught.value)
            monkeypatch.delenv("P2P_PRIVACY")
        service.by_id["47"] = {"data": gone | {"status": "settled"}}
        assert archive.sync(client)[:3] == (0, 1, ())
        assert len(archive.history().problems) == 0


def test_an_unreadable_record_stops_a_sync_unless_it_is_to_be_reported(service, tmp_path) -> None:
    """As in a load; a payment that is dated ahead hides no later one: a sync goes on from its own moment at most."""
    service.payments["7"] |= {"amount": 0.001, "date_created": "2999-01-01T00:00:00"}
    archive = p2p.open_archive(tmp_path / "new")
    with service.client() as client:
        with pytest.raises(RecordError, match="amount"):
            archive.sync(client)
        assert not archive.path.exists()
        assert archive.sync(client, on_bad_record="report")[:3] == (60, 0, ())
    assert archive.history().problems["field"].tolist() == ["amount"]
    assert archive._folder.read_manifest().service.synced_to == archive.history().fetched_at


def test_a_list_without_the_newest_known_payment_is_no_answer(service, archive) -> None:
    """Nothing is changed; a refresh accepts the list, keeps unlisted payments, and later syncs continue from it."""
    del service.payments["59"]
    with service.client() as client:
        with pytest.raises(PaginationError, match="as new as the newest one that is known"):
            archive.sync(client)
        archive.sync(client, refresh=True)
        assert archive.history().problems["payment_id"].tolist() == ["59"]
        assert archive.sync(client)[:3] == (0, 0, ())
    assert len(ids(archive)) == 60
