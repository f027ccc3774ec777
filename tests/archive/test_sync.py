"""A sync asks for what may have changed, perhaps since a date, and leaves the archive as a load would."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.errors import ConfigurationError, PaginationError, RecordError, ServerError
from p2p_analytics.limits import LIMITS
from support.archives.payments_service import DATES, ids, lose
from support.archives.statements import read_manifest
from support.servers import sandbox_fixture

WRITES = ("make_payments", "access_profile")

town = sandbox_fixture(scope="function", seed=7)


def client_of(server, person: str | None = None, *scopes: str) -> p2p.Client:
    """Return a client of the viewer, or of another user."""
    return p2p.Client(server.token(person or server.viewer, *scopes), base_url=server.base_url, cache_dir=False)


def assert_whole(archive, client) -> None:
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
        monkeypatch.setattr(LIMITS, "friends_valid", timedelta(0))
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


def test_a_sync_that_fails_changes_nothing(service, archive, payment) -> None:
    """Whichever page fails, also in a refresh; the next one asks from where the last whole one was."""
    before = read_manifest(archive)
    service.payments["new"] = payment("new", date_created="2025-05-02T12:00:00")
    with service.client() as client:
        for refresh, pages in ((False, 0), (True, 0), (True, 2)):
            service.lists, service.fails_after = 0, pages
            with pytest.raises(ServerError):
                archive.sync(client, refresh=refresh)
            assert read_manifest(archive) == before
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
    written = read_manifest(archive)["service"]
    assert written["synced_to"] == written["fetched_at"]


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


JULY, MAY = (datetime(2024, month, 1, tzinfo=UTC) for month in (7, 5))
SINCE_JULY, SINCE_MAY = (
    {payment_id for payment_id, made in DATES.items() if made >= month} for month in ("2024-07", "2024-05")
)


@pytest.fixture
def since_july(service, tmp_path) -> p2p.Archive:
    """Return an archive of the payments since July, and of one pending payment of January."""
    service.payments["2"]["status"] = "pending"
    archive = p2p.open_archive(tmp_path / "a")
    with service.client() as client:
        archive.sync(client, since="2024-07-01")
    return archive


def test_a_first_sync_since_a_date(service, since_july) -> None:
    """It loads payments since the date and older pending ones, and keeps the date; `verify` compares since then."""
    assert ids(since_july) == SINCE_JULY | {"2"}
    assert "30" in SINCE_JULY  # made on 1 July
    assert since_july.since == p2p.open_archive(since_july.path).since == JULY
    with service.client() as client:
        assert since_july.verify(client).empty
        lose(since_july, {"45"})
        found = since_july.verify(client)
    assert found[["month", "payment_id", "difference"]].to_numpy().tolist() == [["2024-10", "45", "missing"]]


@pytest.mark.parametrize("since", [date(2024, 7, 1), "2024-11-01"])
def test_the_same_or_a_later_date_is_an_ordinary_sync(service, since_july, since) -> None:
    """Only new payments and pending ones are requested, and the date stays."""
    service.payments["60"] = service.payments["59"] | {"id": "60", "date_created": "2024-12-30T12:00:00"}
    service.lists = 0
    with service.client() as client:
        assert since_july.sync(client, since=since)[:2] == (1, 0)
    assert service.lists <= 4
    assert ids(since_july) == SINCE_JULY | {"2", "60"}
    assert since_july.since == JULY


@pytest.mark.parametrize(
    ("options", "expected", "since"),
    [({"since": "2024-05-01"}, SINCE_MAY | {"2"}, MAY), ({}, set(DATES), None), ({"refresh": True}, set(DATES), None)],
)
def test_an_earlier_date_or_none_loads_more(service, since_july, options, expected, since) -> None:
    """The older payments are added, and the earlier date is kept; a later date does not bring the old one back."""
    with service.client() as client:
        assert since_july.sync(client, **options).added == len(expected - SINCE_JULY - {"2"})
        assert ids(since_july) == expected
        assert since_july.sync(client, since="2024-07-01")[:2] == (0, 0)
        assert since_july.since == since
        assert since_july.verify(client).empty


def test_broken_files_of_a_limited_archive(service, since_july, caplog) -> None:
    """Their payments are loaded again, perhaps with older ones; the archive still reaches back to the date only."""
    for pattern in ("payments-*", "friends-*"):
        (path,) = since_july.path.glob(pattern)
        path.write_bytes(b"")
    with service.client() as client:
        since_july.sync(client, since="2024-07-01")
        assert ids(since_july) >= SINCE_JULY | {"2"}
        assert since_july.since == JULY
        assert since_july.verify(client).empty
    assert "was broken and is set aside" in caplog.text


def test_an_old_pending_payment_is_followed(service, since_july) -> None:
    """A pending payment from before the date is requested by its id once it is not listed as pending any more."""
    service.payments["2"]["status"] = "settled"
    with service.client() as client:
        since_july.sync(client, since="2024-07-01")
        # This service finds no payment by its id.
        assert since_july.history().problems["payment_id"].tolist() == ["2"]
        since_july.sync(client)
        assert since_july.history().payments.set_index("payment_id").loc["2", "status"] == "settled"


def test_merges_keep_the_date(service, history_of, payment, tmp_path) -> None:
    """A merge covers no period: the first sync sets the date; a new archive takes the date of a merged history."""
    archive = p2p.open_archive(tmp_path / "merged")
    archive.merge(history_of(payment("7", date_created=DATES["7"])))
    assert archive.since is None
    with service.client() as client:
        archive.sync(client, since=JULY)
        archive.merge(history_of(payment("8", date_created=DATES["8"])))
        assert ids(archive) == SINCE_JULY | {"7", "8"}
        assert archive.since == JULY
        assert archive.verify(client).empty
        other = p2p.open_archive(tmp_path / "b")
        for since in (JULY, None):
            other.merge(replace(archive.history(), since=since))
            assert other.since == JULY


def test_wrong_dates(service, since_july) -> None:
    """Text that is no date, and a refresh since a date, are refused before anything is requested."""
    service.lists = 0
    with service.client() as client:
        with pytest.raises(ConfigurationError, match="since: 'yesterday' is no date, such as 2024-05-31"):
            since_july.sync(client, since="yesterday")
        with pytest.raises(ConfigurationError, match="refresh reloads everything: leave out since, or refresh"):
            since_july.sync(client, since="2024-07-01", refresh=True)
    assert service.lists == 0


@pytest.mark.usefixtures("draw_nothing")
def test_card_and_report_say_so(since_july, history_of, payment) -> None:
    """In privacy mode only with its day or month, in UTC. A complete history says nothing."""
    words = "Payments made before 2024-07-01 are not loaded, except pending ones."
    history, key = since_july.history(), b"k" * 32
    for shown in (history, history.masked(key=key), history.masked(key=key, strict=True)):
        assert words in shown._repr_html_()
        assert words in p2p.render_report(shown, as_of="2024-12-31")
    complete = replace(history, since=None)
    assert "not loaded" not in complete._repr_html_() + p2p.render_report(complete, as_of="2024-12-31")
    made = datetime(2024, 7, 14, 23, 30, tzinfo=ZoneInfo("America/New_York"))  # 15 July in UTC
    history = replace(history_of(payment(1)), since=made)
    assert history.masked(key=key).since == datetime(2024, 7, 15, tzinfo=UTC)
    assert history.masked(key=key, strict=True).since == JULY
