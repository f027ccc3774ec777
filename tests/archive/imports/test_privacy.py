"""Privacy mode of archives with statements: no name, note, file or amount of a statement is shown."""

from __future__ import annotations

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from support.archives.statements import row, statements_of

BO = {"type": "user", "user": {"id": "8", "display_name": "Bo Canary", "username": "bo"}}


@pytest.mark.parametrize("privacy", [True, "strict"])
def test_a_private_history(tmp_path, history_of, payment, privacy) -> None:
    """Matched and unmatched names, notes, sources, files and amounts are invented; kinds and matches are not."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1, target=BO), friends=0))
    own = {"account_id": "7", "file": "canary.csv", "funding_source": "Canary Bank", "note": "canary"}
    rows = (row(1, "Bo Canary", **own), row(2, "Bo Canary", **own), row(3, "Cy Canary", tip_cents=1234567, **own))
    archive.import_(statements_of(*rows, account="7"))
    private = archive.history(privacy=privacy)
    shown = private.payments.to_csv().lower() + private.people.to_csv().lower() + private.problems.to_csv().lower()
    assert "canary" not in shown
    assert "1234567" not in shown
    payments = private.payments
    assert sorted(payments["counterparty_matched"].dropna()) == ["payments"]
    assert set(payments["source"]) == {"api", "statement"}
    assert set(payments["kind"]) == {"payment"}
    matched = payments[payments["counterparty_matched"].notna()]
    known = payments[payments["source"] == "api"]
    assert matched["counterparty_name"].tolist() == known["counterparty_name"].tolist(), "one person, one pseudonym"


def test_calls_that_would_show_names(tmp_path, monkeypatch) -> None:
    """They are refused, with the call to use instead."""
    archive = p2p.open_archive(tmp_path / "a")
    archive.import_(statements_of(row(1)))
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for call in (lambda: archive.people, archive.write_people, lambda: archive.scan("polars")):
        with pytest.raises(ConfigurationError, match=r"use history\(\) instead"):
            call()
    assert not (archive.path / "people.csv").exists()
