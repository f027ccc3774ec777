"""Ids of transactions: of rows without one, and of the further amounts of an id that a service gives to several."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.statements._rows import SEPARATOR, hash_contents, make_ids
from p2p_analytics.statements.transactions._unite import KEY, NOTICE

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

# The content of a row without an id. Status and balance are left out: both may be others in a later file. So is the
# account, which is a part of the key, but can be spelled in several ways.
_CONTENT: Final = (
    "date", "type", "note", "from_name", "to_name", "counterparty_name", "flow_cents", "fee_cents",
    "currency", "funding_source", "destination",
)  # fmt: skip
_NULL: Final = "\x00"
_SEPARATED: Final = r"^(?<id>.+)-(?<hash>[0-9a-f]{8})$"


def has_missing_ids(rows: pl.DataFrame) -> bool:
    """Return whether a transaction has no id."""
    return bool(rows.select(_lacks_id().any()).item())


def fill_ids(rows: pl.DataFrame, dates: pl.Series, service: str) -> pl.DataFrame:
    """Return ROWS of a service with an id in every transaction, made of the content where the file gives none.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS.
    dates : polars.Series
        The date of each row as it is when dates without a zone are read as UTC, so that no id depends on the zone that
        the caller names.
    service : str
        First part of the ids.
    """
    import polars as pl

    missing = rows.with_columns(dates.alias("date")).filter(_lacks_id())
    parts = [pl.col(name).cast(pl.String).fill_null(_NULL) for name in _CONTENT]
    contents = missing.select(pl.concat_str(parts, separator=SEPARATOR)).to_series()
    ids = make_ids(missing, service, contents)
    places = rows.select(_lacks_id().arg_true()).to_series()
    return rows.with_columns(rows["payment_id"].scatter(places, ids))


def _lacks_id() -> pl.Expr:
    import polars as pl

    return pl.col("payment_id").is_null() & pl.col("kind").ne_missing(NOTICE)


def list_shared_ids(rows: pl.DataFrame) -> set[str]:
    """Return the ids that one file gives to several amounts."""
    import polars as pl

    repeated = rows.filter(pl.struct("file", "payment_id").is_duplicated() & pl.col("payment_id").is_not_null())
    counts = repeated.group_by("file", "payment_id").agg(
        pl.struct("flow_cents", "currency").n_unique().alias("amounts")
    )
    return set(counts.filter(pl.col("amounts") > 1)["payment_id"].to_list())


def separate_ids(rows: pl.DataFrame, shared: Collection[str]) -> pl.DataFrame:
    """Return ROWS in which the amounts of a shared id have ids of their own, whatever file they are in.

    The largest amount keeps the id. The others get the hash of amount and currency, and refer to it.
    """
    import polars as pl

    if not shared:
        return rows
    places = rows.select(pl.col("payment_id").is_in(list(shared)).fill_null(value=False).arg_true()).to_series()
    parts = rows[places].select(*KEY, "reference_id", "flow_cents", currency=pl.col("currency").cast(pl.String))
    amount = pl.struct(-pl.col("flow_cents").abs().alias("size"), "flow_cents", "currency")
    is_later = amount.rank("dense").over(KEY) > 1
    own = pl.col("payment_id")
    found = parts.with_columns(hash_contents(_list_contents(parts))).select(
        pl.when(is_later).then(pl.concat_str(own, "hash", separator="-")).otherwise(own).alias("payment_id"),
        pl.when(is_later).then(pl.coalesce("reference_id", own)).otherwise("reference_id").alias("reference_id"),
    )
    return rows.with_columns(rows[name].scatter(places, found[name]) for name in found.columns)


def join_ids(rows: pl.DataFrame) -> tuple[pl.DataFrame, set[str]]:
    """Return ROWS with the id in the file in place of ids that `separate_ids` made, and the ids that are shared."""
    import polars as pl

    parts = rows.select(pl.col("payment_id").str.extract_groups(_SEPARATED).struct.unnest(), "flow_cents", "currency")
    places = parts["hash"].is_not_null().arg_true()
    if places.is_empty():
        return rows, set()
    found = parts[places]
    is_made = found["hash"] == hash_contents(_list_contents(found))
    places, ids = places.filter(is_made), found["id"].filter(is_made)
    return rows.with_columns(rows["payment_id"].scatter(places, ids)), set(ids.to_list())


def _list_contents(rows: pl.DataFrame) -> pl.Series:
    """Return amount and currency as text, which make the ids of the further amounts of an id."""
    import polars as pl

    currency = pl.col("currency").cast(pl.String).fill_null(_NULL)
    return rows.select(pl.concat_str("flow_cents", currency, separator=SEPARATOR)).to_series()
