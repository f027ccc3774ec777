"""Payments by status: settled, pending, failed, expired, cancelled."""

from __future__ import annotations

__all__ = ["status_mix"]

from typing import Final

import narwhals.stable.v2 as nw
import polars as pl
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.by import GROUP, check_by
from p2p_analytics.analyses._parts.columns import ACCOUNT, declare_columns

_COLUMNS: Final = declare_columns("status_mix", without=["action"])


def status_mix(payments: IntoFrameT, *, by: str = "action", by_account: bool = False) -> IntoFrameT:
    """Return the number of payments and the amount of money per status.

    One row per value of ``by`` and status that occur together. Unknown statuses are kept, and null
    is a separate value.

    Columns
    -------
    the column ``by``, status : text
    payments : count
    share : fraction
        Of the payments with this value of ``by``; the shares of each value add up to 1.
    amount : currency units
        Without sign; an unknown amount counts as 0.
    share_of_amount : fraction
        Of the amount with this value of ``by``; 0 where that is 0.

    Parameters
    ----------
    payments : frame
        PAYMENTS, of any status and direction. Rows of another ``kind`` than payments are excluded. Repeated payment ids
        count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at the call.
    by : str
        A text column, such as ``"action"``, ``"direction"``, ``"audience"``, ``"medium"``.
    by_account : bool, optional
        Whether each account has a separate table, one below another in the order of ``account_id``. It is then the
        first column, and has to be a column of ``payments``, as `Archives.scan` returns them: the
        shares then refer to the account.

    Returns
    -------
    frame
        By ``by``, then most payments first, then by status; nulls last. Empty without payments.

    Raises
    ------
    ConfigurationError
        ``by`` is not a text column of the frame, is a column of the result, or has a name that not every engine reads.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "status": ["settled", "settled", "pending"],
    ...         "action": ["pay", "charge", "charge"],
    ...         "amount_cents": [1250, 900, 500],
    ...     }
    ... )
    >>> p2p.status_mix(payments)[["action", "status", "payments", "share"]]
       action   status  payments  share
    0  charge  pending         1    0.5
    1  charge  settled         1    0.5
    2     pay  settled         1    1.0
    """
    keys = [ACCOUNT] if by_account else []
    check_by(by, payments, {*_COLUMNS, *keys, "amount_cents"}, what="status_mix")
    opened = _engine.open_frame(
        payments, [*keys, by, "status", "amount_cents"], what="status_mix", by_currency=by == "currency"
    )
    sums = (
        opened.frame.select(*keys, nw.col(by).alias(GROUP), "status", nw.col("amount_cents").abs())
        .group_by(*keys, GROUP, "status")
        .agg(nw.col("amount_cents").sum(), payments=nw.len())
        .with_columns(_engine.integers(["amount_cents", "payments"]))
    )
    # One row per account, value of ``by`` and status, so the rest is finished here: in Polars alone, which takes half
    # as long to plan.
    found: pl.LazyFrame = _engine.collect_here(sums, payments, what="status_mix").to_native()
    cents, number = pl.col("amount_cents"), pl.col("payments")
    # Columns, for exact division: Polars multiplies by the inverse of one number, as a sum over one group is.
    all_cents, everything = (each * 0 + each.sum().over(*keys, GROUP) for each in (cents, number))
    order = [*keys, GROUP, "payments", "status"]
    table = found.with_columns(
        share=number / everything,
        share_of_amount=pl.when(all_cents != 0).then(cents / all_cents).otherwise(0.0),
    ).sort(*order, descending=[name == "payments" for name in order], nulls_last=True)
    columns = dict.fromkeys(keys, _engine.TEXT) | {by: _engine.TEXT.of(GROUP)} | _COLUMNS
    return _engine.to_result(nw.from_native(table), payments, columns, opened.currency)
