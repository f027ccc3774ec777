"""A sync since a date: older payments are not loaded, the archive says so, and a later sync can load them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from support.archives.payments_service import DATES, ids, lose

JULY, MAY = (datetime(2024, month, 1, tzinfo=UTC) for month in (7, 5))
SINCE_JULY = {payment_id for payment_id, made in DATES.items() if made >= "2024-07"}
SINCE_MAY = {payment_id for payment_id, made in DATES.items() if made >= "2024-05"}


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


def test_an_earlier_date_loads_more(service, since_july) -> None:
    """The payments between both dates are added, and the earlier date is kept."""
    with service.client() as client:
        assert since_july.sync(client, since="2024-05-01").added == len(SINCE_MAY - SINCE_JULY)
        assert ids(since_july) == SINCE_MAY | {"2"}
        assert since_july.since == MAY
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


@pytest.mark.parametrize("refresh", [False, True])
def test_a_sync_without_a_date_loads_the_rest(service, since_july, *, refresh: bool) -> None:
    """Afterwards all payments are there, and there is no date any more; a later date does not bring it back."""
    with service.client() as client:
        assert since_july.sync(client, refresh=refresh).added == 60 - len(SINCE_JULY) - 1
        assert ids(since_july) == set(DATES)
        assert since_july.since is None
        assert since_july.sync(client, since="2024-07-01")[:2] == (0, 0)
        assert since_july.since is None
        assert since_july.verify(client).empty


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
def test_card_and_report_say_so(since_july) -> None:
    """In privacy mode only with its day or month. A complete history says nothing."""
    words = "Payments made before 2024-07-01 are not loaded, except pending ones."
    history = since_july.history()
    for shown in (history, history.masked(key=b"k" * 32), history.masked(key=b"k" * 32, strict=True)):
        assert words in shown._repr_html_()
        assert words in p2p.render_report(shown, as_of="2024-12-31")
    complete = replace(history, since=None)
    assert "not loaded" not in complete._repr_html_() + p2p.render_report(complete, as_of="2024-12-31")


def test_a_masked_date_has_no_time_of_day(history_of, payment) -> None:
    """The day, in strict mode the month, and in UTC: 23:30 in New York on 14 July is 15 July."""
    made = datetime(2024, 7, 14, 23, 30, tzinfo=ZoneInfo("America/New_York"))
    history = replace(history_of(payment(1)), since=made)
    assert history.masked(key=b"k" * 32).since == datetime(2024, 7, 15, tzinfo=UTC)
    assert history.masked(key=b"k" * 32, strict=True).since == JULY
