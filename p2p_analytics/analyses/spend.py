"""Money sent and received per person."""

from __future__ import annotations

__all__ = ["spend_by_friend"]

from typing import Final, SupportsIndex

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts.columns import ACCOUNT, declare_columns
from p2p_analytics.arguments import check_top
from p2p_analytics.vocabulary import Status

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
    keys = [ACCOUNT] if by_account else []
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
        opened.frame.with_columns(received_cents=_engine.received_cents())
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
    sent = nw.col("sent_cents").sum()
    # One row per name of a person, so the rest is finished here.
    table = (
        _engine.collect_here(sums, payments, what="spend_by_friend")
        .with_columns(name_key=_engine.name_key())
        .group_by(*keys, "counterparty_id", "name_key")
        .agg(
            *(col(name).max() for name in ("counterparty_username", "counterparty_name", "last_date")),
            *(col(name).sum() for name in ("flow_cents", "received_cents", "payments")),
            col("first_date").min(),
        )
        .with_columns(sent_cents=col("received_cents") - col("flow_cents"))
        .with_columns(
            share_of_sent=_engine.share("sent_cents", sent.over(*keys) if keys else sent),
            is_friend=nw.lit(None, dtype=nw.Boolean()),
        )
    )
    if friends is not None:
        # A list of ids, because friends and payments may be different kinds of frames.
        marked = ["is_friend"] if "is_friend" in _engine.list_names(friends, what="friends") else []
        of_friends = _engine.open_frame(friends, ["user_id", *marked], what="friends").frame
        wanted = of_friends.filter(~col("user_id").is_null(), *map(col, marked))
        ids = _engine.collect(wanted, friends, what="friends")["user_id"].to_list()
        is_known = ~col("counterparty_id").is_null()
        table = table.with_columns(is_friend=nw.when(is_known).then(col("counterparty_id").is_in(ids)))
    order = [*keys, "sent_cents", "counterparty_id", "counterparty_name"]
    table = table.sort(*order, descending=[name == "sent_cents" for name in order], nulls_last=True)
    if rows is not None:
        here = table.to_native()
        first = here.group_by(*keys, maintain_order=True).head(rows) if keys else here.head(rows)
        table = nw.from_native(first)
    return _engine.to_result(table, payments, dict.fromkeys(keys, _engine.TEXT) | _COLUMNS, opened.currency)
