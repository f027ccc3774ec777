"""Transactions to the PAYMENTS frame, with the columns that only statements know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.arrow import pandas_array, repeat_text
from p2p_analytics.frames.schema import KIND_PAYMENT, PAYMENTS, SOURCE_STATEMENT, STATEMENT, TEXT
from p2p_analytics.vocabulary import Action, Status, TargetType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_COLUMNS: Final = {**PAYMENTS, **STATEMENT}
_UNCHANGED: Final = (
    "payment_id", "note", "fee_cents", "tip_cents", "tax_cents", "balance_cents", "line", "status", "action", "kind",
    "currency", "direction", "counterparty_name", "counterparty_username", "counterparty_id", "flow_cents", "type",
    "funding_source", "destination", "file",
)  # fmt: skip


def build_payments(rows: pl.DataFrame, order: pl.Series) -> pd.DataFrame:
    """Return the PAYMENTS frame with the STATEMENT columns.

    The holder's side of a payment between people has the account as id and username if that is a handle. Other
    people have an id if the file shows their user id.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS with ``is_handle``. Its columns are removed as they are read, so that none is in memory twice for long.
    order : polars.Series
        The positions of the rows of the result.
    """
    import pandas as pd

    expressions = _describe()
    last_uses: dict[str, str] = {
        source: name for name, each in expressions.items() for source in each.meta.root_names()
    }
    built = {}
    for name, expression in expressions.items():
        column = rows.select(expression.gather(order).alias(name)).to_series()
        built[name] = pandas_array(_to_arrow(column, _COLUMNS[name]), _COLUMNS[name])
        for source in [source for source, last in last_uses.items() if last == name]:
            rows.drop_in_place(source)
    for name in _COLUMNS.keys() - built.keys():
        built[name] = _repeat(SOURCE_STATEMENT if name == "source" else None, len(order), _COLUMNS[name])
    return pd.DataFrame({name: built[name] for name in _COLUMNS}, copy=False)


def _repeat(text: str | None, length: int, dtype: str) -> Any:  # noqa: ANN401 - an array of pandas
    import pandas as pd

    return pandas_array(repeat_text(text, length), TEXT) if dtype == TEXT else pd.array([None] * length, dtype=dtype)  # type: ignore[call-overload]


def _describe() -> dict[str, pl.Expr]:
    """Return the expression of each column."""
    import polars as pl

    is_payment = pl.col("kind") == KIND_PAYMENT
    is_charge = pl.col("action") == Action.CHARGE.value
    is_settled = pl.col("status") == Status.SETTLED.value
    size = pl.col("flow_cents").abs()
    # The actor of a payment sends the money, the actor of a charge receives it.
    is_actor = (pl.col("direction") == "in") == is_charge
    own = pl.when(is_payment & pl.col("is_handle")).then("account")
    other = pl.when(is_payment).then("counterparty_username")
    other_id = pl.when(is_payment).then("counterparty_id")
    return {name: pl.col(name) for name in _UNCHANGED} | {
        "amount_cents": pl.when(is_payment & is_charge).then(-size).otherwise(size),
        "date_created": pl.col("date"),
        "date_completed": pl.when(is_settled).then("date"),
        "actor_id": pl.when(is_actor).then(own).when(~is_actor).then(other_id),
        "actor_username": pl.when(is_actor).then(own).when(~is_actor).then(other),
        "actor_display_name": pl.col("from_name"),
        "target_type": pl.when(is_payment).then(pl.lit(TargetType.USER.value)),
        "target_user_id": pl.when(~is_actor).then(own).when(is_actor).then(other_id),
        "target_user_username": pl.when(~is_actor).then(own).when(is_actor).then(other),
        "target_user_display_name": pl.col("to_name"),
        "account_id": pl.col("account"),
    }


def _to_arrow(column: pl.Series, dtype: str) -> pa.ChunkedArray:
    import polars as pl
    import pyarrow as pa

    if dtype != TEXT:
        return pa.chunked_array([column.to_arrow()])
    if len(column) and column.eq_missing(column.new_from_index(0, len(column))).all():
        return repeat_text(column.cast(pl.String)[0], len(column))
    return pa.chunked_array([column.cast(pl.String).to_arrow(compat_level=pl.CompatLevel.oldest())])
