"""Versions of payments: the rows of files that a payment in an archive is made of, and what they make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.frames.arrow import frame_of_polars, table_of
from p2p_analytics.frames.schema import KIND_PAYMENT, ORIGIN, PAYMENTS, STATEMENT, set_dtypes
from p2p_analytics.statements._files import ProblemList
from p2p_analytics.statements._payments import build_payments
from p2p_analytics.statements.transactions import (
    ADDS_UP,
    END,
    ROW,
    United,
    decide_refunds,
    describe_files,
    fill_refunds,
    join_ids,
    list_undecided,
    separate_ids,
    unite_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy as np
    import pandas as pd
    import polars as pl

_VERSIONS: Final = {**PAYMENTS, **STATEMENT, **ORIGIN}
_RENAMED: Final = {
    "account": "account_id", "date": "date_created", "from_name": "actor_display_name",
    "to_name": "target_user_display_name",
}  # fmt: skip
_UNCHANGED: Final = (
    "file", "line", "payment_id", "type", "status", "direction", "note", "counterparty_name", "counterparty_username",
    "counterparty_id", "flow_cents", "fee_cents", "tip_cents", "tax_cents", "currency", "funding_source",
    "destination", "balance_cents", END, ADDS_UP,
)  # fmt: skip


class UnitedPayments(NamedTuple):
    """Payments, one row each, and the versions of those with several."""

    payments: pd.DataFrame
    versions: pd.DataFrame


def build_versions(payments: pd.DataFrame, needed: pl.DataFrame) -> UnitedPayments | None:
    """Return the payments that several versions make, as they are read, and PAYMENTS, STATEMENT and ORIGIN of these.

    The versions are ROWS; the kind of a refund is null, and its columns those of no kind. Without them it is None.
    """
    import polars as pl

    if needed.is_empty():
        return None
    origins = needed.select(END, ADDS_UP, is_refund=pl.col("kind").is_null())
    versions = _join_origins(build_payments(needed, pl.int_range(len(needed), eager=True)), origins)
    return UnitedPayments(payments[_index_ids(payments).isin(_index_ids(versions))], versions)


def list_versions(
    payments: pd.DataFrame,
    needed: UnitedPayments | None,
    ends: Mapping[str, datetime | None],
    reconciliation: pd.DataFrame,
) -> pd.DataFrame:
    """Return the versions of all payments: needed ones, and the rows of the other payments; see `Statements`.

    The only version of a payment that the user has edited is its row.
    """
    import pandas as pd
    import polars as pl

    is_needed = pd.Series(data=False, index=payments.index)
    versions = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in _VERSIONS.items()})
    if needed is not None:
        is_needed |= _find_unedited(payments, needed.payments)
        own = _index_ids(payments[is_needed])
        versions = needed.versions[_index_ids(needed.versions).isin(own)]
    single = payments[~is_needed]
    if not ends:
        dates = payments.groupby("file")["date_created"].max()
        ends = {str(file): None if pd.isna(date) else date.to_pydatetime() for file, date in dates.items()}
    names = {"file": "file", "account_id": "account", "currency": "currency"}
    places: Any = pl.from_arrow(table_of(single[list(names)]))
    origins = describe_files(places.rename(names), ends, reconciliation).with_columns(is_refund=pl.lit(value=False))
    return set_dtypes(pd.concat([_join_origins(single, origins), versions], ignore_index=True), _VERSIONS)


def _index_ids(payments: pd.DataFrame) -> pd.MultiIndex:
    import pandas as pd

    return pd.MultiIndex.from_frame(payments[["account_id", "payment_id"]])


def _find_unedited(payments: pd.DataFrame, read: pd.DataFrame) -> np.ndarray[Any, Any]:
    """Return which payments have the same values as they were read with."""
    columns = {**PAYMENTS, **STATEMENT}
    places = _index_ids(read).get_indexer(_index_ids(payments))
    own = set_dtypes(payments.reindex(columns=list(columns)), columns).reset_index(drop=True)
    before = read[list(columns)].take(places).reset_index(drop=True)
    is_same = (own == before).fillna(value=False).astype(bool) | (own.isna() & before.isna())
    return (places >= 0) & is_same.all(axis="columns").to_numpy()


def separate_payments(versions: pd.DataFrame) -> pd.DataFrame:
    """Return versions with ids as one call gives them: the further amounts of an id that a file repeats have their own.

    A file with one of the amounts gives it the id; another file may show that there are several.
    """
    import polars as pl

    rows: Any = pl.from_arrow(table_of(versions[["account_id", "payment_id", "flow_cents", "currency"]]))
    joined, shared = join_ids(rows.rename({"account_id": "account"}))
    if not shared:
        return versions
    separated = separate_ids(joined.with_columns(reference_id=pl.lit(None, pl.String)), shared)
    ids = frame_of_polars(separated, {"payment_id": PAYMENTS["payment_id"]})
    return versions.assign(payment_id=ids["payment_id"].array)


def unite_payments(versions: pd.DataFrame, others: pd.DataFrame) -> UnitedPayments:
    """Return the payments of an account that versions make, by the rule that unites files in one call.

    Parameters
    ----------
    versions : DataFrame
        PAYMENTS, STATEMENT, ORIGIN and ``batch`` of all versions of payments. The account holder has the ``account_id``
        as username.
    others : DataFrame
        ``account_id``, ``counterparty_name`` and ``kind`` of further payments, which decide about refunds too.
    """
    import pandas as pd
    import polars as pl

    if versions.empty:
        return UnitedPayments(versions, versions)
    united, filled = _unite(versions, others)
    standing = united.standing
    is_made = standing["kind"].is_null() | standing["payment_id"].is_in(united.needed["payment_id"].to_list())
    kept, made = (versions.iloc[standing.filter(mask)[ROW].to_numpy()] for mask in (~is_made, is_made))
    rows = filled.filter(is_made)
    built = build_payments(rows.drop(END, ADDS_UP, ROW), pl.int_range(len(rows), eager=True))
    origins = rows.select(END, ADDS_UP, is_refund=standing.filter(is_made)["kind"].is_null())
    built = _join_origins(built, origins).assign(batch=made["batch"].array)
    payments = pd.concat([kept, built[list(kept)]], ignore_index=True)
    return UnitedPayments(payments, versions.iloc[united.needed[ROW].to_numpy()])


def find_problems(versions: pd.DataFrame, others: pd.DataFrame) -> pd.DataFrame:
    """Return problems as in `Statements.problems`: versions that contradict each other, and refunds of unknown kind.

    The arguments are those of `unite_payments`.
    """
    problems = ProblemList()
    if not versions.empty:
        united, filled = _unite(versions, others)
        problems.add([*united.problems, *list_undecided(united.standing, filled)])
    return problems.to_frame()


def _unite(versions: pd.DataFrame, others: pd.DataFrame) -> tuple[United, pl.DataFrame]:
    """Return united ROWS of versions, and the standing ones with the kinds of refunds."""
    import polars as pl

    names = ["account_id", "counterparty_name", "kind"]
    table: Any = pl.from_arrow(table_of(versions))
    further: Any = pl.from_arrow(table_of(others[names]))
    united = unite_rows(_to_rows(table))
    deciding = pl.concat(
        [united.standing.select("account", *names[1:]), further.rename({"account_id": "account"})],
        how="vertical_relaxed",
    )
    return united, fill_refunds(united.standing, decide_refunds(deciding))


def _to_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS of versions; the kind of a refund is null."""
    import polars as pl

    is_refund = pl.col("is_refund").fill_null(value=False)
    return table.select(
        *_UNCHANGED,
        *(pl.col(name).alias(own) for own, name in _RENAMED.items()),
        pl.int_range(pl.len()).alias(ROW),
        kind=pl.when(~is_refund).then(pl.col("kind").fill_null(KIND_PAYMENT)),
        action=pl.when(~is_refund).then("action"),
        is_handle=pl.lit(value=True),
    )


def _join_origins(payments: pd.DataFrame, origins: pl.DataFrame) -> pd.DataFrame:
    found = frame_of_polars(origins.select(*ORIGIN), ORIGIN).set_axis(payments.index)
    return payments.assign(**{name: found[name] for name in ORIGIN})
