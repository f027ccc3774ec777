"""Rows of statements in an archive: what an import adds to them. Works on frames only, without files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.archive.tables import BATCH, MERGED, SCHEMAS
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.arrow import is_among, table_of
from p2p_analytics.frames.merge_sources import (
    COMPARED,
    find_contradictions,
    is_pending,
    list_refused,
    rename_account,
    sort_frame,
)
from p2p_analytics.frames.schema import (
    KIND_PAYMENT,
    ORIGIN,
    PAYMENTS,
    PLACE,
    PROBLEMS,
    STATEMENT,
    TEXT,
    WHOLE,
    set_dtypes,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import pandas as pd

    from p2p_analytics.statements import OtherFile

# Of a payment that the service lists, a statement cannot say something else.
LISTED: Final = ("payment_id", "status", *COMPARED)
_OWN_SIDE: Final = ("account_id", "actor_id", "actor_username", "target_user_id", "target_user_username")
_NOT_COMPARED: Final = ("file", "line", *_OWN_SIDE)  # the same payment in another file is not another payment
_KEY: Final = "payment_id"
_COLUMNS: Final = {**PAYMENTS, **STATEMENT, **ORIGIN, BATCH: WHOLE}
_PROBLEM: Final = [*PROBLEMS, *PLACE]
_OUTCOMES: Final = ("new", "known", "changed", "refused")
# A row without one of these could not be read: a statement that has it changes the row.
_NEVER_EMPTY: Final = ("status", "amount_cents", "flow_cents", "date_created")
_DETAILS: Final = {"file": TEXT, "line": "Int64", _KEY: TEXT, "outcome": TEXT, "fields": TEXT}


class StoredRows(NamedTuple):
    """Rows of statements in an archive: one per payment, and the versions of payments that are made of several rows."""

    rows: pd.DataFrame
    versions: pd.DataFrame


class ImportPlan(NamedTuple):
    """Result of an import, or of its dry run.

    Each transaction of the statements is in exactly one count, and so are refunds of earlier imports that it changes.

    Attributes
    ----------
    new : int
        Number of transactions that the archive did not hold.
    known : int
        Number of transactions that it held already; what the statement knows more, such as a fee, is added.
    changed : int
        Number of transactions that it held with another value, such as pending payments that are settled now, or
        without an amount, date or status, which could not be read; also refunds of earlier imports, if the statements
        say now whether they come from a person or a merchant.
    refused : int
        Number of transactions that contradict the service's amount, currency or direction of the payment.
    details : DataFrame
        One row per changed or refused transaction, by file and line: ``file``, ``line``, ``payment_id``, ``outcome``
        ("changed" or "refused") and ``fields``, the columns that differ, such as "status, fee_cents".
    kinds : DataFrame
        The counts by kind, the most frequent first, after "payment": ``kind``, ``new``, ``known``, ``changed`` and
        ``refused``.
    problems : DataFrame
        The problems that the archive lists after the import: those of the given files, and others that it did not
        list before, such as a copy of a file of an earlier import. PROBLEMS, then ``file`` and ``line``.
    new_services : tuple of str
        The services, such as "cash_app", of which the archive had no payments, if it had those of others or if the
        statements are of several; "statement" is the service of this package. Empty for an archive with imports of an
        earlier version, which did not keep the services.
    other_accounts : tuple of OtherFile
        The files that name another account than the one with which the statements were read: ``file``, ``account``
        and ``transactions``, the number of its transactions that count as those of the archive's account.
    """

    new: int
    known: int
    changed: int
    refused: int
    details: pd.DataFrame
    kinds: pd.DataFrame
    problems: pd.DataFrame
    new_services: tuple[str, ...] = ()
    other_accounts: tuple[OtherFile, ...] = ()


class MergedRows(NamedTuple):
    """The rows to store, the counts, and all problems, of which those of the plan are the ones of the rows."""

    stored: StoredRows
    plan: ImportPlan
    problems: pd.DataFrame


class _United(NamedTuple):
    """The rows to store of versions, and their problems."""

    stored: StoredRows
    problems: pd.DataFrame


def require_ids(payments: pd.DataFrame) -> None:
    """Raise an ArchiveError if a payment has no id, or an id is repeated."""
    if payments[_KEY].isna().any():
        raise ArchiveError("A payment without an id cannot be identified: leave it out of the statements.")
    if not payments[_KEY].is_unique:
        repeated = payments.loc[payments[_KEY].duplicated(), _KEY].iloc[0]
        raise ArchiveError(f"The payment_id {repeated} is repeated: leave all of its rows out but one.")


def name_rows(versions: pd.DataFrame, account: str) -> pd.DataFrame:
    """Return PAYMENTS, STATEMENT and ORIGIN of versions in their dtypes, with a name of the account."""
    columns = {**PAYMENTS, **STATEMENT, **ORIGIN}
    rows = set_dtypes(versions.reindex(columns=list(columns)), columns)
    return rename_account(rows, account, account).reset_index(drop=True)


def rename_stored(stored: StoredRows, account: str) -> StoredRows:
    """Return rows of an archive with the name of its account, which earlier ones can have in another spelling."""
    tables = (
        table if (table["account_id"] == account).all() else rename_account(table, account, account) for table in stored
    )
    return StoredRows(*tables)


def select_further(given: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a history that an archive holds otherwise or not; of the others it knows the origin too."""
    import pandas as pd

    ids = pd.Index(given[_KEY])
    before, after = _align(known, ids), given.reset_index(drop=True)
    is_same = ~_find_changes(before, after).any(axis="columns")
    for name in PLACE:
        is_same &= (before[name] == after[name]).fillna(value=False).astype(bool)
    return after[~is_same].reset_index(drop=True)


def merge_rows(
    known: StoredRows, listed: pd.DataFrame, given: pd.DataFrame, batch: int, problems: Sequence[pd.DataFrame]
) -> MergedRows:
    """Merge rows of statements into the rows that the archive holds, as if all files were read together.

    Parameters
    ----------
    known : StoredRows
        The rows of statements that the archive holds, with their batch.
    listed : DataFrame
        The columns `LISTED` of the payments that the service has listed.
    given : DataFrame
        The versions to add, as `name_rows` returns them.
    batch : int
        The number of the import.
    problems : sequence of DataFrame
        The problems that the archive lists, and those of the files to add. Of them, problems of rows together are left
        out where all rows together do not show them any more.
    """
    before, given = _list_versions(known), given.assign(**{BATCH: batch})
    apart = (before, given)
    rows, earlier, given = _separate(known.rows, before, given)
    contradictions = _compare(given, listed)
    is_refused = contradictions.any(axis="columns")
    # A sync leaves a damaged file of statements as it is: what the service listed meanwhile is compared here.
    earlier_contradictions = _compare(earlier, listed)
    is_outdated = earlier_contradictions.any(axis="columns")
    united = _unite(_concat(earlier[~is_outdated], given[~is_refused]))
    plan = _plan(rows, listed, given, contradictions, united)
    refused = [
        _list_refused(table, differ)
        for table, differ in ((earlier, earlier_contradictions), (given, contradictions))
        if differ.any(axis=None)
    ]
    found = united.problems.assign(**{BATCH: batch})
    joined = _join_problems([*_drop_outdated(problems, apart, found), found, *refused])
    return MergedRows(united.stored, plan, _drop_repaired(joined, _concat(earlier, given), united.stored.rows))


def select_shown(problems: pd.DataFrame, known: pd.DataFrame, files: Collection[str]) -> pd.DataFrame:
    """Return the problems of files, and the other ones that are not known, as `ImportPlan` has them."""
    is_new = problems.index.isin(_subtract(problems.reset_index(), known)["index"])
    shown = problems[is_new | problems["file"].isin(list(files))]
    return shown[_PROBLEM].reset_index(drop=True)


def has_contradictions(known: pd.DataFrame, listed: pd.DataFrame) -> bool:
    """Return whether rows of statements contradict payments that the service has listed; both have `LISTED`."""
    return bool(_compare(known, listed).any(axis=None))


def refuse_rows(known: StoredRows, problems: pd.DataFrame, listed: pd.DataFrame) -> tuple[StoredRows, pd.DataFrame]:
    """Return the rows of an archive that do not contradict what the service listed later, and all problems."""
    versions = _list_versions(known)
    contradictions = _compare(versions, listed)
    united = _unite(versions[~contradictions.any(axis="columns")])
    left = _drop_outdated([problems], [versions], united.problems)
    return united.stored, _join_problems([*left, _list_refused(versions, contradictions)])


def _list_versions(stored: StoredRows) -> pd.DataFrame:
    """Return the versions of all payments."""
    rows, versions = stored
    return _concat(versions[is_among(versions[_KEY], rows[_KEY])], rows[~is_among(rows[_KEY], versions[_KEY])])


def _separate(*tables: pd.DataFrame) -> list[pd.DataFrame]:
    """Return tables with the ids that the rows of all of them have together."""
    from p2p_analytics.statements import separate_payments

    ids = separate_payments(_concat(*tables))[_KEY]
    starts = [sum(map(len, tables[:number])) for number in range(len(tables))]
    parts = [ids.iloc[start : start + len(table)].array for start, table in zip(starts, tables, strict=True)]
    return [table.assign(**{_KEY: part}) for table, part in zip(tables, parts, strict=True)]


def _unite(versions: pd.DataFrame) -> _United:
    """Return the rows to store of versions, and their problems."""
    from p2p_analytics.statements import unite_payments

    is_merged = versions[BATCH] == MERGED
    if is_merged.any():  # of equal rows the one of an import stays, because its balances are known
        versions = _concat(versions[~is_merged], versions[is_merged])
    united = unite_payments(versions)
    tables = (sort_frame(set_dtypes(table, _COLUMNS)[list(_COLUMNS)]) for table in (united.payments, united.versions))
    return _United(StoredRows(*tables), united.problems[_PROBLEM])


def _drop_outdated(
    problems: Sequence[pd.DataFrame], tables: Sequence[pd.DataFrame], found: pd.DataFrame
) -> Sequence[pd.DataFrame]:
    """Return problems without outdated ones: tables of versions have them, and all versions together do not."""
    from p2p_analytics.statements import find_problems

    # Uniting rows takes long, so it is done only for problems that can be outdated.
    left = _subtract(_concat(*(table.reindex(columns=_PROBLEM) for table in problems)), found)
    if left.empty:
        return problems
    outdated = _subtract(_concat(*map(find_problems, tables)), found)
    return [_subtract(table, outdated) for table in problems]


def _drop_repaired(problems: pd.DataFrame, versions: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return problems without unreadable amounts and dates of payments that have these from other rows."""
    import numpy as np
    import polars as pl

    from p2p_analytics.statements import find_repaired

    columns = {_KEY: _KEY, "flow_cents": "flow_cents", "date_created": "date"}
    tables = [pl.DataFrame(pl.from_arrow(table_of(table[[*columns]]))).rename(columns) for table in (versions, rows)]
    listed = [(identifier, field, problem) for identifier, field, _, problem, *_ in _list_rows(problems)]
    return problems[~np.array(find_repaired(listed, *tables), dtype=bool)].reset_index(drop=True)


def _join_problems(problems: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the problems of several tables; one that is in several keeps its first number."""
    columns = dict(SCHEMAS["statement_problems"])
    return _concat(*(set_dtypes(table, columns) for table in problems)).drop_duplicates(_PROBLEM, ignore_index=True)


def _plan(
    known: pd.DataFrame, listed: pd.DataFrame, given: pd.DataFrame, contradictions: pd.DataFrame, united: _United
) -> ImportPlan:
    """Return the counts of an import, from the rows before and after it."""
    import numpy as np
    import pandas as pd

    rows = united.stored.rows

    shown = pd.concat([given, _find_decided(known, given, rows)]).drop_duplicates(_KEY, ignore_index=True)
    ids = pd.Index(shown[_KEY])
    before, after, service = _align(known, ids), _align(rows, ids), _align(listed, ids)
    is_held, is_listed = (pd.Series(is_among(shown[_KEY], table[_KEY])) for table in (known, listed))
    is_wrong = contradictions.any(axis="columns")
    has_refused, has_taken = (is_among(shown[_KEY], given.loc[mask, _KEY]) for mask in (is_wrong, ~is_wrong))
    is_refused = pd.Series(has_refused & ~has_taken)
    held = _find_changes(before[is_held], after[is_held])
    is_new_value = before.loc[is_held, list(held)].isna().assign(**dict.fromkeys(_NEVER_EMPTY, False))
    is_changed = (held & ~is_new_value).any(axis="columns").reindex(shown.index, fill_value=False)
    has_ended = ~is_held & is_listed & is_pending(service) & ~is_pending(after)
    differ = held.reindex(shown.index, fill_value=False)
    differ["status"] |= has_ended
    outcome = pd.Series(
        np.select(
            [is_refused, is_changed | has_ended, is_held | is_listed], ["refused", "changed", "known"], default="new"
        ),
        dtype=TEXT,
    )
    wrong = contradictions.groupby(given[_KEY]).any().reindex(ids, fill_value=False).set_axis(differ.index)
    fields = differ.where(~is_refused, wrong.reindex(columns=differ.columns))
    new, known_again, changed, refused = (int((outcome == name).sum()) for name in _OUTCOMES)
    kinds = after["kind"].where(~is_refused, shown["kind"])
    details, counts = _describe(shown, outcome, fields), _count_kinds(kinds, outcome)
    return ImportPlan(new, known_again, changed, refused, details, counts, united.problems)


def _find_decided(known: pd.DataFrame, given: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the known refunds with another kind now that are not among the given rows."""
    is_other = is_among(known[_KEY], rows[_KEY]) & ~is_among(known[_KEY], given[_KEY])
    refunds = known[known["is_refund"].fillna(value=False) & is_other]
    after = refunds[_KEY].map(rows.set_index(_KEY)["kind"])
    return refunds[after != refunds["kind"]]


def _concat(*tables: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.concat(tables, ignore_index=True)


def _subtract(problems: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return the problems that are not among others, whatever their batch."""
    import numpy as np

    if problems.empty or others.empty:
        return problems
    known = set(_list_rows(others))
    is_known = [row in known for row in _list_rows(problems)]
    return problems[~np.array(is_known, dtype=bool)].reset_index(drop=True)


def _list_rows(problems: pd.DataFrame) -> list[tuple[Any, ...]]:
    """Return what makes problems equal, as tuples."""
    columns = problems[_PROBLEM]
    return list(columns.astype(object).where(columns.notna(), None).itertuples(index=False, name=None))


def _align(frame: pd.DataFrame, ids: pd.Index[Any]) -> pd.DataFrame:
    """Return the row of each id, null where there is none, in the order of the ids."""
    aligned = frame.set_index(_KEY, drop=False).reindex(ids).reset_index(drop=True)
    return set_dtypes(aligned, frame.dtypes.to_dict())


def _compare(known: pd.DataFrame, listed: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return find_contradictions(known, _align(listed, pd.Index(known[_KEY])))


def _find_changes(before: pd.DataFrame, after: pd.DataFrame) -> pd.DataFrame:
    """Return, for each row and column, whether the row differs from the one before."""
    import pandas as pd
    import polars as pl

    names = [name for name in (*PAYMENTS, *STATEMENT) if name not in _NOT_COMPARED]
    if before.empty:
        return pd.DataFrame(columns=names, index=before.index, dtype=bool)
    one, other = (pl.DataFrame(pl.from_arrow(table_of(table[names]))) for table in (before, after))
    found = {name: one[name].ne_missing(other[name]).to_numpy() for name in names}
    return pd.DataFrame(found, index=before.index)


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


def _list_refused(rows: pd.DataFrame, contradictions: pd.DataFrame) -> pd.DataFrame:
    """Return a problem for each field of a row that contradicts the service, with the number of its import."""
    problems = list_refused(rows, contradictions)
    return problems.assign(**{BATCH: rows[BATCH].reindex(problems.index)})
