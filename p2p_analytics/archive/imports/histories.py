"""What statements say in histories that an archive merges, and where it comes from. Works on frames only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.archive.imports.owners import find_sides
from p2p_analytics.archive.tables import BATCH, MATCHED
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.schema import PLACE, PROBLEMS, SOURCE_STATEMENT, STATEMENT, TEXT
from p2p_analytics.times import EPOCH

if TYPE_CHECKING:
    import pandas as pd

_PEOPLE: Final = (
    ("actor_id", "actor_username"),
    ("target_user_id", "target_user_username"),
    ("counterparty_id", "counterparty_username"),
)


def split_rows(payments: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the payments of a history into the rows that the service listed and the rows of statements.

    A payment that both know is in both parts. The second part is as statements know it: without ids of other people,
    and with the names in the files, because decisions of the user about names are in people.csv alone.
    """
    import pandas as pd

    is_own = payments["source"] == SOURCE_STATEMENT
    if not set(STATEMENT) <= set(payments):
        return payments[~is_own], payments[is_own]
    is_shared = ~is_own & payments["file"].notna()
    is_matched = payments.get(MATCHED, pd.Series(index=payments.index, dtype=TEXT)).notna()
    names_other = is_shared | is_matched
    _, stated = find_sides(payments)
    name = payments["counterparty_name"].mask(is_matched & stated.notna(), stated)
    # What the service says of a payment is older than any file, and no date of a statement.
    ends = payments["date_created"].where(is_own).groupby(payments["file"]).transform("max").mask(is_shared, EPOCH)
    held = payments.assign(source=SOURCE_STATEMENT, counterparty_name=name, file_end=ends)
    for number, username in _PEOPLE:
        is_other = names_other & (held[number] != held["account_id"])
        held = held.assign(**{number: held[number].mask(is_other), username: held[username].mask(is_other)})
    return payments[~is_own], held[is_own | is_shared]


def split_problems(problems: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split the problems of a history into those of the service's records and those of files, with PLACE."""
    columns = {**PROBLEMS, **PLACE}
    stated = problems.reindex(columns=list(columns)).astype(columns)
    is_stated = stated["file"].notna()
    return problems.loc[~is_stated, list(PROBLEMS)].reset_index(drop=True), stated[is_stated].reset_index(drop=True)


def drop_undecided(problems: pd.DataFrame) -> pd.DataFrame:
    """Return problems without those of refunds of an unknown kind: the rows of an archive show which these are."""
    return problems[~_is_undecided(problems)]


def infer_origins(rows: pd.DataFrame, problems: pd.DataFrame) -> pd.DataFrame:
    """Return rows with ``is_refund`` and ``is_corrected`` as far as they and their problems show these.

    Parameters
    ----------
    rows : DataFrame
        PAYMENTS, STATEMENT and ORIGIN of rows of which the origin is not known.
    problems : DataFrame
        Their problems, which name the refunds of an unknown kind.
    """
    from p2p_analytics.statements import list_corrections

    is_refund = is_among(rows["payment_id"], problems.loc[_is_undecided(problems), "payment_id"])
    return rows.assign(
        is_refund=rows["is_refund"].mask(is_refund & (rows["kind"] == "unknown"), other=True),
        is_corrected=list_corrections(rows),
    )


def fill_origins(rows: pd.DataFrame, problems: pd.DataFrame) -> pd.DataFrame:
    """Return rows of an archive of an earlier version with their origin, and the last date of their file's rows."""
    if rows.empty:
        return rows
    last = rows.groupby(["file", BATCH], dropna=False)["date_created"].transform("max")
    return infer_origins(rows.assign(file_end=rows["file_end"].fillna(last)), problems)


def _is_undecided(problems: pd.DataFrame) -> pd.Series[bool]:
    from p2p_analytics.statements import UNDECIDED

    return (problems["problem"] == UNDECIDED).fillna(value=False)
