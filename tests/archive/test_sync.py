"""A sync asks for what may have changed, and leaves the archive as a load of everything would."""

from __future__ import annotations

import json
from datetime import timedelta

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import _service
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.errors import ArchiveError, PaginationError, RecordError, ServerError
from support.servers import sandbox_fixture

WRITES = ("make_payments", "access_profile")


server = sandbox_fixture(scope="function", seed=7)


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


def test_what_was_pending_is_looked_after(server, tmp_path) -> None:
    """Settled, cancelled or expired, however old: each is asked for by its id, and by nothing else."""
    archive = p2p.open_archive(tmp_path)
    me, friend = server.people[0], server.people[1]
    with (
        client_of(server) as client,
        client_of(server, me.username, *WRITES) as mine,
        client_of(server, friend.username, *WRITES) as theirs,
    ):
        charges = [PaymentDesk(mine).charge(user_id=friend.user_id, amount="1", note=word).payment.id for word in "abc"]
        server.advance(days=9)
        PaymentDesk(mine).charge(user_id=friend.user_id, amount="2", note="new")
        archive.sync(client)
        server.deposit(friend.username, 1_000)
        PaymentDesk(theirs).approve(charges[0])
        PaymentDesk(theirs).deny(charges[1])
        server.requests.clear()
        assert archive.sync(client)[:3] == (0, 2, ())
        by_id = {path.rpartition("/")[2] for _, path in server.requests if "?" not in path and "/payments/" in path}
        assert by_id == set(charges[:2])
        rows = archive.history().payments.set_index("payment_id")
        assert rows.loc[charges, "status"].tolist() == ["settled", "cancelled", "pending"]
        server.advance(days=400)
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


@pytest.mark.parametrize("damage", [b"", None])
@pytest.mark.parametrize("kind", ["payments", "friends", "problems", "manifest"])
def test_what_is_broken_is_set_aside_and_loaded_anew(server, tmp_path, monkeypatch, kind, damage) -> None:
    """The next sync names it, keeps it under another name, and leaves the archive whole."""
    monkeypatch.setattr("p2p_analytics.archive._service.MOST_ROWS", 100)
    monkeypatch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 100)
    archive = p2p.open_archive(tmp_path)
    with client_of(server) as client:
        archive.sync(client)
        files = sorted(tmp_path.glob(f"{kind}*"))
        broken = files[len(files) // 2]
        broken.unlink() if damage is None else broken.write_bytes(damage)
        server.requests.clear()
        changes = archive.sync(client)
        assert changes.set_aside == (() if (kind, damage) == ("manifest", None) else (broken.name,))
        assert len(list(tmp_path.glob(f"{broken.name}.corrupt-*"))) == (damage is not None)
        if kind == "payments":
            assert len(server.requests) <= 3 + 4  # its own time alone; a page with a bound is asked for twice
        assert_whole(archive, client)
        assert archive.sync(client)[:3] == (0, 0, ())


def test_a_broken_manifest_costs_no_payment(server, tmp_path, history_of, payment) -> None:
    """Payments of the files that the service does not list are kept by the sync that rebuilds the manifest."""
    archive = p2p.open_archive(tmp_path)
    with client_of(server) as client:
        archive.sync(client)
        archive.merge(history_of(payment(5), account=server.people[0].user_id))
        (tmp_path / "manifest.json").write_bytes(b"{")
        archive.sync(client)
    assert "5" in set(archive.history().payments["payment_id"])


def test_another_account_is_refused_before_anything_is_asked(server, tmp_path) -> None:
    """Only /me is requested; the archive is unchanged."""
    archive = p2p.open_archive(tmp_path)
    with client_of(server) as client, client_of(server, server.people[2].username) as other:
        archive.sync(client)
        before = (tmp_path / "manifest.json").read_bytes()
        server.requests.clear()
        with pytest.raises(ArchiveError, match="another account"):
            archive.sync(other)
        assert server.requests == [("GET", "/v1/me")]
    assert (tmp_path / "manifest.json").read_bytes() == before


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


def open_scripted_client(start_service, state):
    """Return a client of a service; the test changes the payments and responses of the service through `state`."""

    def answer(path: str, sent: dict[str, str]):
        if path == "/v1/me":
            return {"data": {"balance": None, "user": {"id": "7", "display_name": "Ada", "friends_count": 0}}}
        if path == "/v1/payments":
            if state.get("fails"):
                return 500, {}, {"error": {"message": "no", "code": "1"}}
            items = [item for item in state["payments"] if sent.get("status") in {None, item["status"]}]
            return {"data": items, "pagination": None}
        return state.get(path, {"data": [], "pagination": None})

    client = p2p.Client("token", base_url=start_service(answer).base_url, cache_dir=False)
    client._transport._sleep = lambda _seconds: None
    return client


def test_a_sync_that_fails_changes_nothing(start_service, tmp_path, payment) -> None:
    """The next one asks from where the last whole one was."""
    state = {"payments": [payment(1)]}
    archive = p2p.open_archive(tmp_path)
    with open_scripted_client(start_service, state) as client:
        archive.sync(client)
        before = (tmp_path / "manifest.json").read_bytes()
        state |= {"payments": [payment(2, date_created="2024-05-02T12:00:00"), payment(1)], "fails": True}
        with pytest.raises(ServerError):
            archive.sync(client)
        assert (tmp_path / "manifest.json").read_bytes() == before
        state["fails"] = False
        assert archive.sync(client)[:3] == (1, 0, ())


@pytest.mark.parametrize(
    ("by_id", "told"),
    [
        ((404, {}, {"error": {"message": "gone", "code": "283"}}), "cannot be found"),
        ({"data": {"id": "1", "amount": 0.001}}, "cannot be read"),
    ],
)
def test_a_pending_payment_that_is_gone_stays_and_is_told(start_service, tmp_path, payment, by_id, told) -> None:
    """No payment is dropped silently; the problem is listed once, and not after the payment is back."""
    newer = payment(2, date_created="2024-05-02T12:00:00")
    state = {"payments": [newer, payment(1, status="pending")]}
    archive = p2p.open_archive(tmp_path)
    with open_scripted_client(start_service, state) as client:
        archive.sync(client)
        state |= {"payments": [newer], "/v1/payments/1": by_id}
        for _ in range(2):
            assert archive.sync(client, on_bad_record="report")[:3] == (0, 0, ())
            history = archive.history()
            assert history.payments["status"].tolist() == ["settled", "pending"]
            assert history.problems["problem"].str.contains(told).tolist() == [True]
        state["/v1/payments/1"] = {"data": payment(1)}
        assert archive.sync(client)[:3] == (0, 1, ())
        assert len(archive.history().problems) == 0


def test_an_unreadable_record_stops_a_sync_unless_it_is_to_be_reported(start_service, tmp_path, payment) -> None:
    """As in a load."""
    state = {"payments": [payment(1, amount=0.001)]}
    archive = p2p.open_archive(tmp_path)
    with open_scripted_client(start_service, state) as client:
        with pytest.raises(RecordError, match="amount"):
            archive.sync(client)
        assert not (tmp_path / "manifest.json").exists()
        assert archive.sync(client, on_bad_record="report")[:3] == (1, 0, ())
    assert archive.history().problems["field"].tolist() == ["amount"]
    assert json.loads((tmp_path / "manifest.json").read_bytes())["service"]["synced_to"] == "2024-05-01T12:00:00Z"


def test_a_list_without_the_newest_known_payment_is_no_answer(start_service, tmp_path, payment) -> None:
    """Nothing is changed; a refresh accepts the list, keeps unlisted payments, and later syncs continue from it."""
    state = {"payments": [payment(2, date_created="2024-05-02T12:00:00"), payment(1)]}
    archive = p2p.open_archive(tmp_path)
    with open_scripted_client(start_service, state) as client:
        archive.sync(client)
        state["payments"] = [payment(1)]
        with pytest.raises(PaginationError, match="as new as the newest one that is known"):
            archive.sync(client)
        archive.sync(client, refresh=True)
        assert archive.history().payments["payment_id"].tolist() == ["2", "1"]
        assert archive.history().problems["payment_id"].tolist() == ["2"]
        assert archive.sync(client)[:3] == (0, 0, ())


def test_a_payment_dated_ahead_hides_no_later_one(start_service, tmp_path, payment) -> None:
    """A sync goes on from its own moment at most, so a date in the far future moves nothing."""
    state = {"payments": [payment(1, date_created="2999-01-01T00:00:00")]}
    archive = p2p.open_archive(tmp_path)
    with open_scripted_client(start_service, state) as client:
        archive.sync(client)
    assert archive._folder.read_manifest().service.synced_to == archive.history().fetched_at


def test_in_privacy_mode_an_error_quotes_nothing(start_service, tmp_path, payment, monkeypatch) -> None:
    """Neither the id nor the value of a payment that was pending and cannot be read."""
    newer = payment(2, date_created="2024-05-02T12:00:00")
    state = {"payments": [newer, payment(47114711, status="pending")]}
    archive = p2p.open_archive(tmp_path)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with open_scripted_client(start_service, state) as client:
        archive.sync(client)
        state |= {"payments": [newer], "/v1/payments/47114711": {"data": {"id": "47114711", "amount": 0.123456}}}
        with pytest.raises(RecordError) as caught:
            archive.sync(client)
    assert "47114711" not in str(caught.value)
    assert "123456" not in str(caught.value)
