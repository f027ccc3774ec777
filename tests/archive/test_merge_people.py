"""Tests of people in an archive: the most recent name stays, and rows of another account are refused."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError

NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


def test_the_name_of_a_person_is_the_one_fetched_last(tmp_path, history_of, payment) -> None:
    """Whatever the order of the merges: in January Bo, in May Bob, in March, merged last, Bobby."""
    archive = p2p.open_archive(tmp_path)
    for month, name in ((1, "Bo"), (5, "Bob"), (3, "Bobby")):
        target = {"type": "user", "user": {"id": "8", "display_name": name}}
        archive.merge(history_of(payment(month, target=target), at=NOON.replace(month=month)))
    person = archive.history().people.set_index("user_id").loc["8"]
    assert (person["display_name"], set(person["also_named"].split("; "))) == ("Bob", {"Bo", "Bobby"})


def test_payments_of_another_account_are_refused(tmp_path, history_of, payment) -> None:
    """An archive holds one account's payments, also if the history says that it is of that account."""
    archive = p2p.open_archive(tmp_path)
    history = history_of(payment(1))
    wrong = history.payments.assign(account_id="999")
    with pytest.raises(ArchiveError, match=r"of other accounts \(999\)"):
        archive.merge(p2p.History(**vars(history) | {"payments": wrong}))
    assert list(tmp_path.iterdir()) == []
