"""Statement files of a town, in the forms of all generations."""

from __future__ import annotations

from datetime import date
from typing import Final

from p2p_analytics.sandbox.errors import SettingError
from p2p_analytics.sandbox.statements.account import read_account, town_period_us
from p2p_analytics.sandbox.statements.cells import to_datetime
from p2p_analytics.sandbox.statements.cut import cut_statement, list_periods, read_period
from p2p_analytics.sandbox.statements.generations import CSV_FORMS
from p2p_analytics.sandbox.statements.json_history import write_json
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store

JSON: Final = "JSON"
GENERATIONS: Final = (*CSV_FORMS, JSON)


def write_statement(store: Store, user: Person, start: date | str, end: date | str, generation: str) -> str:
    """Return the text of one file.

    Raises
    ------
    SettingError
        The generation is unknown, or the dates are not a period of at most 90 days.
    """
    if generation not in GENERATIONS:
        raise SettingError(
            f"There is no statement generation {generation!r}: choose {', '.join(GENERATIONS[:-1])} or {JSON}."
        )
    period = read_period(start, end)
    statement = cut_statement(read_account(store, user), *period)
    return write_json(statement) if generation == JSON else CSV_FORMS[generation].write(statement)


def list_statement_periods(store: Store) -> list[tuple[date, date]]:
    """Return the periods of the files that cover the history of a town up to its clock, with overlaps of a week."""
    start_us, _ = town_period_us(store.settings())
    return list_periods(to_datetime(start_us).date(), to_datetime(store.now_us()).date())
