"""Rows of statements in an archive: what an import adds to them. Works on frames only, without files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.archive.tables import BATCH, MATCHED, SCHEMAS
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.merge_sources import is_pending, rename_account, sort_frame
from p2p_analytics.frames.schema import KIND_PAYMENT, PAYMENTS, PROBLEMS, SOURCE_STATEMENT, STATEMENT, TEXT, WHOLE

if TYPE_CHECKING:
    import pandas as pd

# Of a payment that the service lists, a statement cannot say something else.
LISTED: Final = ("payment_id", "status", "amount_cents", "direction", "currency")
_OWN_SIDE: Final = ("account_id", "actor_id", "actor_username", "target_user_id", "target_user_username")
_NOT_COMPARED: Final = ("file", "line", *_OWN_SIDE)  # the same payment in another file is not another payment
_KEY: Final = "payment_id"
_END: Final = "end"  # the last date of the file that a row is from
_PEOPLE: Final = (
    ("actor_id", "actor_username"),
    ("target_user_id", "target_user_username"),
    ("counterparty_id", "counterparty_username"),
)
_REFUSED: Final = "contradicts what the service says of this payment, so the row of the statement is refused"
_OUTCOMES: Final = ("new", "known", "changed", "refused")
_DETAILS: Final = {"file": TEXT, "line": "Int64", _KEY: TEXT, "outcome": TEXT, "fields": TEXT}


class ImportPlan(NamedTuple):
    """Result of an import, or of its dry run. Each row of the statements is in exactly one count.

    Attributes
    ----------
    new : int
        Number of transactions that the archive did not hold.
    known : int
        Number of transactions that it held already; what the statement knows more, such as a fee, is added.
    changed : int
        Number of transactions that it held with another value, such as pending payments that are settled now.
    refused : int
        Number of rows that contradict the service's amount, currency or direction of the payment.
    details : DataFrame
        One row per changed or refused transaction, by file and line: ``file``, ``line``, ``payment_id``, ``outcome``
        ("changed" or "refused") and ``fields``, the columns that differ, such as "status, fee_cents".
    kinds : DataFrame
        The counts by kind, the most frequent first, after "payment": ``kind``, ``new``, ``known``, ``changed`` and
        ``refused``.
    """

    new: int
    known: int
    changed: int
    refused: int
    details: pd.DataFrame
    kinds: pd.DataFrame


class MergedRows(NamedTuple):
    """The rows to store, the counts, and a problem for each refused row."""

    rows: pd.DataFrame
    plan: ImportPlan
    problems: pd.DataFrame


def check_rows(payments: pd.DataFrame, account: str) -> pd.DataFrame:
    """Return PAYMENTS and STATEMENT of a frame in their dtypes, with a name of the account.

    Raises
    ------
    ArchiveError
        A payment has no id, or an id is repeated.
    """
    rows = payments.reindex(columns=[*PAYMENTS, *STATEMENT]).astype({**PAYMENTS, **STATEMENT})
    rows = rename_account(rows, account, account)
    if rows[_KEY].isna().any():
        raise ArchiveError("A payment without an id cannot be identified: leave it out of the statements.")
    if not rows[_KEY].is_unique:
        repeated = rows.loc[rows[_KEY].duplicated(), _KEY].iloc[0]
        raise ArchiveError(f"The payment_id {repeated} is repeated: leave all of its rows out but one.")
    return rows.reset_index(drop=True)


def merge_rows(known: pd.DataFrame, listed: pd.DataFrame, given: pd.DataFrame, batch: int) -> MergedRows:
    """Merge rows of statements into the rows that the archive holds.

    Parameters
    ----------
    known : DataFrame
        The rows of statements that the archive holds, with their batch.
    listed : DataFrame
        The columns `LISTED` of the payments that the service has listed.
    given : DataFrame
        The rows to add, as `check_rows` returns them.
    batch : int
        The number of the import.
    """
    import numpy as np
    import pandas as pd

    ids = pd.Index(given[_KEY])
    service = _align(listed, ids)
    contradictions = _find_contradictions(given, service)
    is_refused = contradictions.any(axis="columns")
    before = _align(known.assign(**{_END: _find_ends(known)}), ids)
    is_held = pd.Series(ids.isin(known[_KEY]))
    is_older = is_held & _find_older(before, given)
    after = _fill_nulls(given, before).mask(is_older, _fill_nulls(before[given.columns], given))
    after = after.astype(given.dtypes.to_dict())
    differ = _find_changes(before, after)
    # What was null is not held otherwise, except that a payment without a status can still change.
    is_new_value = before[list(differ)].isna().assign(status=False)
    is_changed = is_held & (differ & ~is_new_value).any(axis="columns") & ~is_older
    is_listed = pd.Series(ids.isin(listed[_KEY]))
    has_ended = ~is_held & is_listed & is_pending(service) & ~is_pending(given)
    differ = differ.where(is_held, other=False).assign(status=differ["status"].where(is_held, has_ended))
    outcome = pd.Series(
        np.select(
            [is_refused, is_changed | has_ended, is_held | is_listed], ["refused", "changed", "known"], default="new"
        ),
        dtype=TEXT,
    )
    numbers = before[BATCH].where(is_older, batch)  # of an older row only what was null is stored
    stored = after.assign(**{BATCH: numbers})[~is_refused & (~is_held | differ.any(axis="columns"))]
    kept = known[~known[_KEY].isin(stored[_KEY])]
    rows = pd.concat([kept, stored], ignore_index=True).astype({**PAYMENTS, **STATEMENT, BATCH: WHOLE})
    details = _describe(given, outcome, differ.where(~is_refused, contradictions.reindex(columns=differ.columns)))
    counts = {name: int((outcome == name).sum()) for name in _OUTCOMES}
    problems = _list_refused(given[is_refused].assign(**{BATCH: batch}), contradictions[is_refused])
    plan = ImportPlan(details=details, kinds=_count_kinds(given["kind"], outcome), **counts)
    return MergedRows(sort_frame(rows), plan, problems)


def add_problems(*tables: pd.DataFrame) -> pd.DataFrame:
    """Return the problems of several tables. A problem that several imports found keeps the first number."""
    import pandas as pd

    columns = dict(SCHEMAS["statement_problems"])
    problems = pd.concat([table.astype(columns) for table in tables], ignore_index=True)
    return problems.drop_duplicates([name for name in columns if name != BATCH], ignore_index=True)


def has_contradictions(known: pd.DataFrame, listed: pd.DataFrame) -> bool:
    """Return whether rows of statements contradict payments that the service has listed; both have `LISTED`."""
    return bool(_compare(known, listed).any(axis=None))


def refuse_rows(known: pd.DataFrame, problems: pd.DataFrame, listed: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of an archive that do not contradict what the service listed later, and all problems."""
    contradictions = _compare(known, listed)
    is_refused = contradictions.any(axis="columns")
    new = _list_refused(known[is_refused], contradictions[is_refused])
    return known[~is_refused].reset_index(drop=True), add_problems(problems, new)


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
    stated = _find_other_name(payments)
    name = payments["counterparty_name"].mask(is_matched & stated.notna(), stated)
    held = payments.assign(source=SOURCE_STATEMENT, counterparty_name=name)
    for number, username in _PEOPLE:
        is_other = names_other & (held[number] != held["account_id"])
        held = held.assign(**{number: held[number].mask(is_other), username: held[username].mask(is_other)})
    return payments[~is_own], held[is_own | is_shared]


def _find_other_name(payments: pd.DataFrame) -> pd.Series[str]:
    """Return the name of the side that is not the account holder; null where neither is the holder."""
    is_target = payments["target_user_id"] == payments["account_id"]
    is_actor = payments["actor_id"] == payments["account_id"]
    return payments["actor_display_name"].where(is_target, payments["target_user_display_name"].where(is_actor))


def _align(frame: pd.DataFrame, ids: pd.Index[Any]) -> pd.DataFrame:
    """Return the row of each id, null where there is none, in the order of the ids."""
    return frame.set_index(_KEY, drop=False).reindex(ids).reset_index(drop=True).astype(frame.dtypes.to_dict())


def _compare(known: pd.DataFrame, listed: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return _find_contradictions(known, _align(listed, pd.Index(known[_KEY])))


def _find_contradictions(given: pd.DataFrame, service: pd.DataFrame) -> pd.DataFrame:
    """Return, for each row and column of `LISTED`, whether both sides are known and differ; amounts without sign."""
    import pandas as pd

    found = {}
    for name in LISTED[2:]:
        one, other = (given[name], service[name])
        if name == "amount_cents":
            one, other = one.abs(), other.abs()
        found[name] = (one != other).fillna(value=False).astype(bool) & one.notna() & other.notna()
    return pd.DataFrame(found)


def _find_older(before: pd.DataFrame, given: pd.DataFrame) -> pd.Series[bool]:
    """Return whether a row says what was true before: it is pending again, or its file ends earlier."""
    was_pending, is_now = is_pending(before), is_pending(given)
    ends_earlier = (_find_ends(given) < before[_END]).fillna(value=False).astype(bool)
    return (~was_pending & is_now) | ((was_pending == is_now) & ends_earlier)


def _find_ends(rows: pd.DataFrame) -> pd.Series[Any]:
    """Return the last date of each row's file, by the rows that are given or still stored."""
    keys = [name for name in ("file", BATCH) if name in rows]
    return rows.groupby(keys, dropna=False)["date_created"].transform("max")


def _fill_nulls(rows: pd.DataFrame, more: pd.DataFrame) -> pd.DataFrame:
    return rows.where(rows.notna(), more[rows.columns])


def _find_changes(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return, for each row and column, whether the row differs from the one before."""
    import pandas as pd

    found = {}
    for name in after:
        if name not in _NOT_COMPARED:
            is_same = (before[name] == after[name]).fillna(value=False).astype(bool)
            found[name] = ~is_same & ~(before[name].isna() & after[name].isna())
    return pd.DataFrame(found)


def _describe(given: pd.DataFrame, outcome: pd.Series[str], differ: pd.DataFrame) -> pd.DataFrame:
    """Return the details of an `ImportPlan`."""
    is_shown = outcome.isin(["changed", "refused"])
    flags = differ[is_shown].fillna(value=False).astype(bool).to_numpy()
    fields = [", ".join(differ.columns[row]) for row in flags]
    shown = given.loc[is_shown, ["file", "line", _KEY]].assign(outcome=outcome[is_shown], fields=fields)
    return shown.sort_values(["file", "line", _KEY], ignore_index=True).astype(_DETAILS)


def _count_kinds(kinds: pd.Series[str], outcome: pd.Series[str]) -> pd.DataFrame:
    """Return the ``kinds`` of an `ImportPlan`."""
    import pandas as pd

    kind = kinds.fillna(KIND_PAYMENT)
    table = pd.DataFrame({name: (outcome == name).groupby(kind).sum() for name in _OUTCOMES}).reset_index(names="kind")
    order = sorted(
        table.index, key=lambda at: (table["kind"][at] != KIND_PAYMENT, -table.loc[at, [*_OUTCOMES]].sum(), at)
    )
    return table.loc[order].reset_index(drop=True).astype({"kind": TEXT, **dict.fromkeys(_OUTCOMES, "int64")})


def _list_refused(refused: pd.DataFrame, contradictions: pd.DataFrame) -> pd.DataFrame:
    """Return a problem for each field of a refused row that contradicts the service."""
    import pandas as pd

    found = [
        (row[_KEY], name, str(row[name]), _REFUSED, row["file"], row["line"], row[BATCH])
        for row, flags in zip(refused.to_dict("records"), contradictions.to_dict("records"), strict=True)
        for name, is_wrong in flags.items()
        if is_wrong
    ]
    return pd.DataFrame(found, columns=[*PROBLEMS, "file", "line", BATCH]).astype(dict(SCHEMAS["statement_problems"]))
