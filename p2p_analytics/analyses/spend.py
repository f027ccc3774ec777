"""Money sent and received per person."""

from __future__ import annotations

__all__ = ["spend_by_friend"]

from typing import TYPE_CHECKING, Any, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.accounts import add_account, list_keys
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.arguments import check_top
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from typing import SupportsIndex

    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

_COLUMNS: Final = declare_columns("spend_by_friend", net="flow_cents")
_ALL_ROWS: Final = 2**31 - 1  # Polars counts rows in 32 bits


def spend_by_friend(
    payments: IntoFrameT,
    friends: IntoFrame | None = None,
    *,
    top: SupportsIndex | None = None,
    by_account: bool = False,
) -> IntoFrameT:
    """Return the money sent to and received from each person, in settled payments.

    One row per counterparty: two people with one name are two rows, one person with two names is
    one row, under the alphabetically later name and username. Counterparties without an id are grouped by name.

    Columns
    -------
    counterparty_id, counterparty_username, counterparty_name : text
        For an email address or a phone number without an account, the name is that address and the others are null.
    is_friend : boolean
        Whether the id is in ``friends``; null without ``friends`` and without an id.
    sent, received, net : currency units
        ``net`` is received less sent. An unknown amount counts as 0.
    payments : count
    share_of_sent : fraction
        Of the total sent to all counterparties; 0 if that total is 0.
    first_date, last_date : instants
        Of creation.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, move no money between people
        and are excluded; so are rows of another ``kind`` than payments. Datetimes without a zone are UTC. Repeated
        payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at the call; one
        row per name of a person is read into memory.
    friends : frame, optional
        FRIENDS. In a frame with the column ``is_friend``, such as PEOPLE, only rows where it is true count.
    top : int, optional
        Maximum number of rows. The shares still refer to all counterparties.
    by_account : bool, optional
        Whether each account has a separate table, one below another in the order of ``account_id``. It is then the
        first column, and has to be a column of ``payments``, as `Archives.scan` returns them: ``top``
        and the shares then refer to the account.

    Returns
    -------
    frame
        Largest ``sent`` first, then by id and name; empty without settled payments.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        A frame lacks a column or holds other types, such as ids that are not text; or the payments are in several
        currencies or of 2**53 cents or more in all.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "status": "settled",
    ...         "direction": ["out", "out", "in"],
    ...         "flow_cents": [-1250, -900, 500],
    ...         "counterparty_id": ["2", "2", "3"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "date_completed": None,
    ...     }
    ... )
    >>> p2p.spend_by_friend(payments)[["counterparty_name", "sent", "received", "share_of_sent"]]
      counterparty_name  sent  received  share_of_sent
    0               Ada  21.5       0.0            1.0
    1               Ben   0.0       5.0            0.0
    """
    keys = list_keys(by_account=by_account)
    rows = None if top is None else min(check_top(top), _ALL_ROWS)
    col = nw.col
    opened = _engine.open_frame(
        payments,
        [*keys, "direction", "counterparty_id", "counterparty_name", "flow_cents", "date_created"],
        status=Status.SETTLED,
        optional=["counterparty_username"],
        what="spend_by_friend",
    )
    sums = (
        opened.frame.with_columns(
            received_cents=nw.when(col("direction") == "in").then(col("flow_cents")).otherwise(0),
        )
        .group_by(*keys, "counterparty_id", "counterparty_name")
        .agg(
            col("counterparty_username").max(),
            col("flow_cents").sum(),
            col("received_cents").sum(),
            payments=nw.len(),
            first_date=col("date_created").min(),
            last_date=col("date_created").max(),
        )
        .with_columns(_engine.integers(["flow_cents", "received_cents", "payments"]))
    )
    # One row per name of a person, so the rest is finished here.
    table = (
        _engine.collect_here(sums, payments, what="spend_by_friend")
        # Only counterparties without an id are grouped by name.
        .with_columns(name_key=nw.when(col("counterparty_id").is_null()).then(col("counterparty_name")))
        .group_by(*keys, "counterparty_id", "name_key")
        .agg(
            col("counterparty_username").max(),
            col("counterparty_name").max(),
            col("flow_cents").sum(),
            col("received_cents").sum(),
            col("payments").sum(),
            col("first_date").min(),
            col("last_date").max(),
        )
        .with_columns(sent_cents=col("received_cents") - col("flow_cents"))
        .with_columns(
            share_of_sent=_engine.share(
                "sent_cents", col("sent_cents").sum().over(*keys) if keys else col("sent_cents").sum()
            ),
            is_friend=_is_friend(friends),
        )
    )
    if rows is not None and keys:
        table = _keep_first(table, keys, rows)
    order = [*keys, "sent_cents", "counterparty_id", "counterparty_name"]
    table = table.sort(*order, descending=[name == "sent_cents" for name in order], nulls_last=True)
    if rows is not None and not keys:
        table = table.head(rows)
    return _engine.to_result(table, payments, add_account(_COLUMNS, by_account=by_account), opened.currency)


def _keep_first(table: nw.LazyFrame[Any], keys: list[str], rows: int) -> nw.LazyFrame[Any]:
    """Return the first rows of each account, in the order of the result."""
    col = nw.col
    # Windows have no descending order and put nulls first.
    ranked = table.with_columns(
        _sent=-col("sent_cents"),
        _no_id=col("counterparty_id").is_null().cast(nw.Int64()),
        _id=col("counterparty_id").fill_null(""),
        _no_name=col("counterparty_name").is_null().cast(nw.Int64()),
        _name=col("counterparty_name").fill_null(""),
        _one=nw.lit(1),
    )
    order = ["_sent", "_no_id", "_id", "_no_name", "_name"]
    return ranked.with_columns(_rank=col("_one").cum_sum().over(*keys, order_by=order)).filter(col("_rank") <= rows)


def _is_friend(friends: IntoFrame | None) -> nw.Expr:
    if friends is None:
        return nw.lit(None, dtype=nw.Boolean())
    # A list of ids, because friends and payments may be different kinds of frames.
    marked = ["is_friend"] if "is_friend" in _engine.read_names(friends, what="friends") else []
    rows = _engine.open_frame(friends, ["user_id", *marked], what="friends").frame
    wanted = rows.filter(~nw.col("user_id").is_null(), *map(nw.col, marked))
    ids = _engine.collect(wanted, friends, what="friends")["user_id"].to_list()
    return nw.when(~nw.col("counterparty_id").is_null()).then(nw.col("counterparty_id").is_in(ids))
