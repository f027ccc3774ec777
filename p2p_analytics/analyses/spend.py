"""Where the money went: one row per person."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Final

import narwhals.stable.v2 as nw

from p2p_analytics.analyses import _engine
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from typing import SupportsIndex

    from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

_COLUMNS: Final = {
    "counterparty_id": _engine.TEXT,
    "counterparty_name": _engine.TEXT,
    "is_friend": _engine.FLAG,
    "sent": _engine.NUMBER,
    "received": _engine.NUMBER,
    "net": _engine.NUMBER,
    "payments": _engine.COUNT,
    "share_of_sent": _engine.NUMBER,
    "first_date": _engine.INSTANT,
    "last_date": _engine.INSTANT,
}


def spend_by_friend(
    payments: IntoFrameT, friends: IntoFrame | None = None, *, top: SupportsIndex | None = None
) -> IntoFrameT:
    """Return what went to and came from each person, in settled payments.

    One row per counterparty: two people of one name are two rows, one person under two names is
    one row, under the later name of the alphabet. Where the id is null, the name tells them apart.

    Columns
    -------
    counterparty_id, counterparty_name : text
        For an email address or a phone number without an account, that address.
    is_friend : boolean
        Whether the id is in ``friends``; null without ``friends`` and without an id.
    sent, received, net : currency units
        ``net`` is received less sent. An amount that is not known counts as 0.
    payments : count
    share_of_sent : fraction
        Of all that was sent, to whomever; 0 where nothing was.
    first_date, last_date : instants
        Of creation.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, move no money between people
        and are left out.
    friends : frame, optional
        FRIENDS.
    top : int, optional
        Give only so many rows. The shares stay those of the whole.

    Returns
    -------
    frame
        Largest ``sent`` first, then by id and name. No settled payments give no rows.

    Raises
    ------
    ConfigurationError
        ``top`` is not a whole number from 1.
    SchemaError
        A frame lacks a column, or the ids of friends are no text.
    """
    rows = None if top is None else _checked(top)
    col = nw.col
    frame = _engine.opened(
        payments,
        ["status", "direction", "counterparty_id", "counterparty_name", "flow_cents", "date_created"],
        what="spend_by_friend",
    )
    table = (
        frame.filter(col("status") == Status.SETTLED.value, col("direction").is_in(["in", "out"]))
        .with_columns(_engine.cents("flow_cents"))
        .with_columns(
            sent_cents=nw.when(col("direction") == "out").then(-col("flow_cents")).otherwise(0),
            received_cents=nw.when(col("direction") == "in").then(col("flow_cents")).otherwise(0),
            # The name tells people apart only where there is no id.
            name_key=nw.when(col("counterparty_id").is_null()).then(col("counterparty_name")),
        )
        .with_columns(_engine.keyed("counterparty_id", "name_key"))
        .group_by("counterparty_id", "name_key")
        .agg(
            col("counterparty_name").max(),
            col("sent_cents").sum(),
            col("received_cents").sum(),
            payments=nw.len(),
            first_date=col("date_created").min(),
            last_date=col("date_created").max(),
        )
        .with_columns(_engine.integers(["sent_cents", "received_cents", "payments"]))
        .with_columns(*_engine.unkeyed("counterparty_id"), net_cents=col("received_cents") - col("sent_cents"))
        .with_columns(share_of_sent=_engine.share("sent_cents", col("sent_cents").sum()), is_friend=_is_friend(friends))
        .sort(
            "sent_cents",
            "counterparty_id",
            "counterparty_name",
            descending=[True, False, False],
            nulls_last=True,
        )
        .with_columns(
            sent=_engine.units("sent_cents"),
            received=_engine.units("received_cents"),
            net=_engine.units("net_cents"),
        )
    )
    return _engine.finished(table if rows is None else table.head(rows), payments, _COLUMNS)


def _checked(top: SupportsIndex) -> int:
    try:
        rows = 0 if isinstance(top, bool) else operator.index(top)
    except TypeError:
        rows = 0
    if rows < 1:
        raise ConfigurationError(f"top is the number of rows to give, from 1, not {top!r}.")
    return rows


def _is_friend(friends: IntoFrame | None) -> nw.Expr:
    if friends is None:
        return nw.lit(None)  # given a Boolean dtype, it would be false on pandas
    # As a list of ids, the friends may come as another kind of frame than the payments.
    ids = _engine.opened(friends, ["user_id"], what="friends").collect()["user_id"].drop_nulls().to_list()
    if not all(isinstance(which, str) for which in ids):
        raise SchemaError('The ids in friends["user_id"] are no text: pandas.read_csv guesses, p2p.read_csv does not.')
    return nw.when(~nw.col("counterparty_id").is_null()).then(nw.col("counterparty_id").is_in(ids))
