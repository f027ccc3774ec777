"""United rows to the PAYMENTS frame, with the columns that only statements know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.frames.arrow import pandas_array
from p2p_analytics.frames.schema import KIND_PAYMENT, PAYMENTS, SOURCE_STATEMENT, STATEMENT, TEXT
from p2p_analytics.vocabulary import Action, Status, TargetType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_COLUMNS: Final = {**PAYMENTS, **STATEMENT}
_UNCHANGED: Final = (
    "payment_id", "status", "action", "note", "fee_cents", "kind", "currency", "direction", "counterparty_name",
    "counterparty_username", "flow_cents", *STATEMENT,
)  # fmt: skip


def build_payments(rows: pl.DataFrame) -> pd.DataFrame:
    """Return the PAYMENTS frame with the STATEMENT columns, in the order of the rows.

    The holder's side of a payment between people has the account as id and username if that is a handle. Nothing else
    in a statement is an id of a person.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS with ``is_handle``; one row for each id of an account.
    """
    import pandas as pd

    columns = _describe(rows)
    del rows
    built = {}
    for name, dtype in _COLUMNS.items():
        # Popped, so that no column is in memory twice for long.
        built[name] = pandas_array(_to_arrow(columns.drop_in_place(name), dtype), dtype)
    return pd.DataFrame(built, copy=False)


def _describe(rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    is_payment = pl.col("kind") == KIND_PAYMENT
    is_charge = pl.col("action") == Action.CHARGE.value
    is_settled = pl.col("status") == Status.SETTLED.value
    size = pl.col("flow_cents").abs()
    # The actor of a payment sends the money, the actor of a charge receives it.
    is_actor = (pl.col("direction") == "in") == is_charge
    own = pl.when(is_payment & pl.col("is_handle")).then("account")
    own_actor, own_target = pl.when(is_actor).then(own), pl.when(~is_actor).then(own)
    other = pl.when(is_payment).then("counterparty_username")
    named = {
        "amount_cents": pl.when(is_payment & is_charge).then(-size).otherwise(size),
        "date_created": pl.col("date"),
        "date_completed": pl.when(is_settled).then("date"),
        "actor_id": own_actor,
        "actor_username": pl.when(is_actor).then(own).when(~is_actor).then(other),
        "actor_display_name": pl.col("from_name"),
        "target_type": pl.when(is_payment).then(pl.lit(TargetType.USER.value)),
        "target_user_id": own_target,
        "target_user_username": pl.when(~is_actor).then(own).when(is_actor).then(other),
        "target_user_display_name": pl.col("to_name"),
        "source": pl.lit(SOURCE_STATEMENT),
        "account_id": pl.col("account"),
    }
    wanted = {name: pl.col(name) for name in _UNCHANGED} | named
    return rows.select(wanted.get(name, pl.lit(None)).alias(name) for name in _COLUMNS)


def _to_arrow(column: pl.Series, dtype: str) -> pa.ChunkedArray:
    import pyarrow as pa

    if dtype == TEXT:
        import polars as pl

        return pa.chunked_array([column.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())])
    return pa.chunked_array([column.to_arrow()])
