"""An archive in place of its history is refused, with the call that gives it."""

from __future__ import annotations

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from support.archives.statements import row, statements_of


def test_what_has_a_history_is_not_one(tmp_path, history_of, payment) -> None:
    """Report, explorer, household and match_bank say how to get the history of an archive or of statements."""
    archive = p2p.open_archive(tmp_path)
    archive.merge(history_of(payment(1)))
    calls = (
        lambda given: p2p.render_report(given, as_of="2024-06-01"),
        p2p.Explorer,
        lambda given: p2p.household([given]),
    )
    for call in calls:
        for given in (archive, statements_of(row(1))):
            with pytest.raises(ConfigurationError, match=rf"not {type(given).__name__}: call \.history\(\) of"):
                call(given)
    with pytest.raises(ConfigurationError, match=r"or a history, not an Archive: call \.history\(\) of it\.$"):
        p2p.match_bank(archive, "bank.csv")
