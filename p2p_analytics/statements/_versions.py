"""Versions of payments: the rows of files that a payment in an archive is made of, and what they make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.frames.arrow import frame_of_polars, table_of
from p2p_analytics.frames.schema import KIND_PAYMENT, ORIGIN, PAYMENTS, STATEMENT, set_dtypes
from p2p_analytics.statements._files import ProblemList
from p2p_analytics.statements._payments import build_payments
from p2p_analytics.statements.holders import blank_sides, find_owners, name_holders, settle_sides
from p2p_analytics.statements.transactions import (
    ACCOUNT,
    ADDS_UP,
    END,
    KEY,
    ROW,
    SOURCE,
    describe_files,
    join_ids,
    list_copies,
    separate_ids,
    settle_rows,
    unite_rows,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    import numpy as np
    import pandas as pd
    import polars as pl

    from p2p_analytics.statements.transactions import Settled, United

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


class ReadPayments(NamedTuple):
    """Payments that several versions make, one row each as they were read, and these versions."""

    payments: pd.DataFrame
    versions: pd.DataFrame


class UnitedPayments(NamedTuple):
    """Payments, one row each, the versions of those with several, and problems as in `Statements.problems`."""

    payments: pd.DataFrame
    versions: pd.DataFrame
    problems: pd.DataFrame


def build_versions(payments: pd.DataFrame, needed: pl.DataFrame) -> ReadPayments | None:
    """Return the payments that several versions make, as they are read, and PAYMENTS, STATEMENT and ORIGIN of these.

    The versions are ROWS; the kind of a refund is null, and its columns those of no kind. Without them it is None.
    """
    import polars as pl

    if needed.is_empty():
        return None
    origins = needed.select(END, ADDS_UP, is_refund=pl.col("kind").is_null(), is_corrected=pl.lit(value=False))
    versions = _join_origins(build_payments(needed, pl.int_range(len(needed), eager=True)), origins)
    return ReadPayments(payments[_index_ids(payments).isin(_index_ids(versions))], versions)


def list_versions(
    payments: pd.DataFrame,
    needed: ReadPayments | None,
    owners: Mapping[str, str],
    ends: Mapping[str, datetime | None],
    reconciliation: pd.DataFrame,
) -> pd.DataFrame:
    """Return the versions of all payments: needed ones, and the rows of the other payments; see `Statements`.

    The only version of a payment that the user has edited is its row.
    """
    import pandas as pd
    import polars as pl

    is_needed = pd.Series(data=False, index=payments.index)
    versions = []
    if needed is not None:
        is_needed |= _find_unedited(payments, needed.payments)
        own = _index_ids(payments[is_needed])
        versions = [needed.versions[_index_ids(needed.versions).isin(own)]]
    single = payments[~is_needed]
    if not ends:
        dates = payments.groupby("file")["date_created"].max()
        ends = {str(file): None if pd.isna(date) else date.to_pydatetime() for file, date in dates.items()}
    names = {"file": "file", "account_id": "account", "currency": "currency"}
    places: Any = pl.from_arrow(table_of(single[list(names)]))
    origins = describe_files(places.rename(names), ends, reconciliation)
    origins = origins.with_columns(_find_refunds(single, needed), _find_corrections(single, owners))
    rows = pd.concat([_join_origins(single, origins), *versions], ignore_index=True)
    return set_dtypes(rows.reindex(columns=list(_VERSIONS)), _VERSIONS)


def _find_refunds(payments: pd.DataFrame, needed: ReadPayments | None) -> pl.Series:
    """Return ``is_refund`` of edited payments: that of their versions, unless the user has edited kind or action."""
    import numpy as np
    import polars as pl

    found = np.zeros(len(payments), dtype=bool)
    if needed is not None:
        read = _index_ids(needed.payments)
        places = read.get_indexer(_index_ids(payments))
        is_known = places >= 0
        is_refund = needed.versions["is_refund"].groupby(_index_ids(needed.versions)).all().reindex(read)
        before, after = (
            table[["kind", "action"]].astype(object).fillna("").to_numpy()
            for table in (needed.payments.take(places[is_known]), payments[is_known])
        )
        found[is_known] = is_refund.to_numpy(bool)[places[is_known]] & (before == after).all(axis=1)
    return pl.Series("is_refund", found)


def list_corrections(rows: pd.DataFrame) -> pd.Series[bool]:
    """Return ``is_corrected`` of rows of an account: the sides follow neither from all of them nor from one alone.

    Parameters
    ----------
    rows : DataFrame
        PAYMENTS, STATEMENT and ORIGIN.
    """
    import pandas as pd

    opened = _to_rows(rows.assign(is_corrected=False))
    owners = find_owners(opened, "account")
    is_corrected = [
        _find_other_sides(settle_sides(opened, known, "account")[0], rows) for known in (owners, owners[:0])
    ]
    return pd.Series((is_corrected[0] & is_corrected[1]).to_numpy(), rows.index, ORIGIN["is_corrected"])


def _find_corrections(payments: pd.DataFrame, owners: Mapping[str, str]) -> pl.Series:
    """Return ``is_corrected``: whether payments have another counterparty or direction than they were read with."""
    import polars as pl

    rows = _to_rows(set_dtypes(payments.reindex(columns=list(_VERSIONS)), _VERSIONS))
    table = pl.DataFrame({"key": list(owners), "owner": list(owners.values())}, {"key": pl.String, "owner": pl.String})
    settled, _ = settle_sides(rows, table, "account")
    return _find_other_sides(settled, payments).alias("is_corrected")


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


def unite_payments(versions: pd.DataFrame) -> UnitedPayments:
    """Return the payments of an account that versions make, by the rules that unite files in one call.

    Parameters
    ----------
    versions : DataFrame
        PAYMENTS, STATEMENT, ORIGIN and ``batch`` of all versions of payments. The account holder has the ``account_id``
        as username.
    """
    import pandas as pd
    import polars as pl

    if versions.empty:
        return UnitedPayments(versions, versions, ProblemList().to_frame())
    standing, united, settled = _settle_versions(versions)
    needed = united.needed["payment_id"].unique().implode()
    is_made = standing["kind"].is_null() | standing["payment_id"].is_in(needed)
    is_made |= _find_other_sides(settled.rows, versions.iloc[standing[ROW].to_numpy()])
    kept, made = (versions.iloc[standing.filter(mask)[ROW].to_numpy()] for mask in (~is_made, is_made))
    built = settled.rows.filter(is_made)
    flags = {"is_refund": standing.filter(is_made)["kind"].is_null(), "is_corrected": _list_corrections(made)}
    origins = built.select(END, ADDS_UP).with_columns(**flags)
    payments = build_payments(built.drop(END, ADDS_UP, ROW), pl.int_range(len(built), eager=True))
    payments = _join_origins(payments, origins).assign(batch=made["batch"].array)
    return UnitedPayments(
        pd.concat([kept, payments[list(kept)]], ignore_index=True),
        versions.iloc[united.needed[ROW].to_numpy()],
        _list_problems(versions, united, settled),
    )


def find_holder_name(payments: pd.DataFrame, problems: pd.DataFrame) -> str | None:
    """Return the name of the holder of the account of payments, as `Statements` has it; None if they do not show it.

    Files that name another account by the problems count only where there are no others.
    """
    import polars as pl

    sides = {name: own for own, name in _RENAMED.items() if own != "date"}
    rows: Any = pl.from_arrow(table_of(payments[[*sides, "flow_cents", "action", "kind", "file"]]))
    others = problems.loc[problems["field"] == ACCOUNT, "file"].dropna().unique()
    return next(iter(name_holders(rows.rename(sides), others).values()), None)


def find_problems(versions: pd.DataFrame) -> pd.DataFrame:
    """Return the problems that `unite_payments` finds, without the payments."""
    if versions.empty:
        return ProblemList().to_frame()
    _, united, settled = _settle_versions(versions)
    return _list_problems(versions, united, settled)


def _settle_versions(versions: pd.DataFrame) -> tuple[pl.DataFrame, United, Settled]:
    """Return one row per payment as it was read, the united rows of payments with several, and the payments settled."""
    import polars as pl

    rows = _to_rows(versions)
    is_repeated = rows.select(pl.struct(KEY).is_duplicated()).to_series()
    united = unite_rows(rows.filter(is_repeated))
    standing = pl.concat([rows.filter(~is_repeated), united.standing])
    return standing, united, settle_rows(standing)


def _list_problems(versions: pd.DataFrame, united: United, settled: Settled) -> pd.DataFrame:
    """Return the problems of versions that their rows have together."""
    problems = ProblemList()
    copies = list_copies(*(_name_sources(each, versions) for each in (settled.rows, united.needed)))
    problems.add([*united.problems, *settled.problems, *copies])
    return problems.to_frame()


def _to_rows(versions: pd.DataFrame) -> pl.DataFrame:
    """Return ROWS of versions, without what follows from other rows; the kind of a refund is null."""
    import polars as pl

    names = [*_UNCHANGED, *_RENAMED.values(), "kind", "action", "is_refund"]
    table: Any = pl.from_arrow(table_of(versions[names]))
    is_refund = pl.col("is_refund").fill_null(value=False)
    if table["is_refund"].null_count():  # a row of which it is not known is a refund if another row of the payment is
        is_refund |= pl.col("is_refund").is_null() & is_refund.any().over("account_id", "payment_id", "type")
    rows = table.select(
        *_UNCHANGED,
        *(pl.col(name).alias(own) for own, name in _RENAMED.items()),
        pl.int_range(pl.len()).alias(ROW),
        kind=pl.when(~is_refund).then(pl.col("kind").fill_null(KIND_PAYMENT)),
        action=pl.when(~is_refund).then("action"),
        is_handle=pl.lit(value=True),
    )
    return blank_sides(rows, _list_corrections(versions))


def _name_sources(rows: pl.DataFrame, versions: pd.DataFrame) -> pl.DataFrame:
    """Return rows with `SOURCE`: the file and the import, because files of two imports can have one name.

    Rows of a merged history, which have the number 0, count as those of an import of a file of this name: the file can
    have brought a part of its rows with the history.
    """
    import polars as pl

    batches = versions["batch"]
    if (batches == 0).any():
        imports = batches.where(batches > 0).groupby(versions["file"]).transform("min")
        batches = batches.where(batches > 0, imports.fillna(0)).astype(batches.dtype)
    own = pl.Series("batch", batches.iloc[rows[ROW].to_numpy()].astype("str").to_list(), pl.String)
    return rows.with_columns(pl.concat_str(pl.col("file"), own, separator="\n").alias(SOURCE))


def _find_other_sides(rows: pl.DataFrame, versions: pd.DataFrame) -> pl.Series:
    """Return which rows have another counterparty or direction than the version that they are."""
    import polars as pl

    names = ["counterparty_name", "direction"]
    before: Any = pl.from_arrow(table_of(versions[names]))
    after = rows.select(pl.col(names).cast(pl.String).name.suffix("_after"))
    differs = pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_after")) for name in names)
    found: pl.Series = pl.concat([before, after], how="horizontal").select(differs).to_series()
    return found


def _list_corrections(versions: pd.DataFrame) -> pl.Series:
    """Return whether the user has corrected the sides of versions."""
    import polars as pl

    table: Any = pl.from_arrow(table_of(versions[["is_corrected"]]))
    found: pl.Series = table["is_corrected"].fill_null(value=False)
    return found


def _join_origins(payments: pd.DataFrame, origins: pl.DataFrame) -> pd.DataFrame:
    found = frame_of_polars(origins.select(*ORIGIN), ORIGIN).set_axis(payments.index)
    return payments.assign(**{name: found[name] for name in ORIGIN})
