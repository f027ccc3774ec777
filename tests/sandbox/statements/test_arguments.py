"""The arguments of `SandboxServer.statement`, and what no file holds."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError, UnknownPersonError
from p2p_analytics.sandbox.statements.write import GENERATIONS
from support.servers import sandbox_fixture
from support.statements.plain_files import read_csv

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]

ME, FRIEND = "maya-lindqvist", "noor-haddad"

town = sandbox_fixture(people=3, years=1)


def test_at_most_90_days(town: SandboxServer) -> None:
    """90 days with both ends are served, 91 are refused with their number."""
    assert read_csv(town.statement(ME, "2025-01-01", "2025-03-31")).rows
    with pytest.raises(SettingError, match=r"at most 90 days, and 2025-01-01 to 2025-04-01 are 91: ask"):
        town.statement(ME, "2025-01-01", "2025-04-01")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2025-02-01", "2025-01-31"), "cannot end on 2025-01-31, before its start on 2025-02-01"),
        (("2025-02-30", "2025-03-01"), "'2025-02-30' is no date"),
        ((datetime(2025, 1, 1, tzinfo=UTC), date(2025, 1, 2)), "whole days in UTC"),
        ((20250101, date(2025, 1, 2)), "whole days in UTC: give a date, not 20250101"),
        (("2025-01-01", "2025-01-02", "F"), "no statement generation 'F': choose A, B, C, D, D2025, E, E-full or JSON"),
    ],
)
def test_arguments_that_are_refused(town: SandboxServer, arguments: tuple[Any, ...], message: str) -> None:
    """One sentence that names the error."""
    with pytest.raises(SettingError, match=message):
        town.statement(ME, *arguments)


def test_whose_statement(town: SandboxServer) -> None:
    """A username and a user id are the same person; others are refused; a stopped server has none."""
    period = ("2025-05-01", "2025-05-31")
    assert town.statement(town.people[0].user_id, *period) == town.statement(ME, *period)
    with pytest.raises(UnknownPersonError, match="no-such"):
        town.statement("no-such", *period)
    with pytest.raises(SettingError, match="not running"):
        SandboxServer(people=3, years=1).statement(ME, *period)


def test_no_file_holds_a_token(town: SandboxServer, ask: Asking) -> None:
    """Tokens that were issued and used, also for writes, are in no file of any generation."""
    me = ask(ME, "access_profile", "make_payments", on=town)
    me.create(phone="15555550123", amount="20.00")
    issued = [me.token, town.token(ME), town.token(FRIEND)]
    for generation in GENERATIONS:
        text = town.statement(ME, town.now.date(), town.now.date(), generation)
        assert "15555550123" in text
        for token in issued:
            assert len(token) > 20
            assert token not in text
