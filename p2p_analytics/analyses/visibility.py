"""Payments that others can see: how many, and which of their notes reveal something private."""

from __future__ import annotations

__all__ = ["exposure", "sensitive_notes"]

from typing import Any, Final
from zoneinfo import ZoneInfo

import narwhals.stable.v2 as nw
from narwhals.stable.v2.typing import IntoFrame, IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import calendar
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.analyses._sensitive_notes.reasons import find_reasons
from p2p_analytics.times import find_zone
from p2p_analytics.vocabulary import Audience

_AUDIENCES: Final = tuple(audience.value for audience in (Audience.PUBLIC, Audience.FRIENDS, Audience.PRIVATE))
_COUNTS: Final = ("payments", *_AUDIENCES, "sensitive_public")
_EXPOSURE: Final = declare_columns("exposure")
_SENSITIVE: Final = declare_columns("sensitive_notes")
_REASONS: Final = {"note": _engine.TEXT, "reasons": _engine.TEXT}


def exposure(payments: IntoFrameT, *, tz: str | ZoneInfo = "UTC") -> IntoFrameT:
    """Return the number of payments in each calendar month by the audience that can see them.

    One row per month of the zone, from the first to the last month with a payment; months between them without payments
    hold zeros. The month is taken from date_created. Payments without that date, or with one before 1970 or after 2199
    (UTC), form one last row with a null month.

    Columns
    -------
    month : text
        Like ``2024-05``.
    payments : count
        Of every audience, unknown ones included.
    public, friends, private : count
        Of this audience.
    share_public : fraction
        Of all payments of the month; null in a month without a payment of a known audience, such as one of statements
        only or without payments.
    sensitive_public : count
        Public payments that `sensitive_notes` lists; payments of an unknown audience may be public too.

    Parameters
    ----------
    payments : frame
        PAYMENTS, of any status, direction and currency. Rows of another ``kind`` than payments are excluded. Datetimes
        without a zone are UTC. Repeated payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is
        queried at the call; one row per month, and each distinct note of public payments, is read into memory.
    tz : str or ZoneInfo, optional
        Time zone of the months, such as ``America/New_York``.

    Returns
    -------
    frame
        In order of time; empty without payments.

    Raises
    ------
    ConfigurationError
        The zone does not exist.
    SchemaError
        The frame lacks a column or holds other types.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "payment_id": ["11", "12", "13"],
    ...         "status": "settled",
    ...         "direction": "out",
    ...         "audience": ["public", "friends", "public"],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "note": ["therapist", "pizza", "taxi"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...     }
    ... )
    >>> p2p.exposure(payments)
         month  payments  public  friends  private  share_public  sensitive_public
    0  2024-03         2       1        1        0           0.5                 1
    1  2024-04         0       0        0        0           NaN                 0
    2  2024-05         1       1        0        0           1.0                 0
    """
    zone = find_zone(tz)
    col = nw.col
    opened = _engine.open_frame(payments, ["audience", "note", "date_created"], what="exposure", by_currency=True)
    found = _list_sensitive(opened.frame, payments, what="exposure")
    is_sensitive = (col("audience") == Audience.PUBLIC.value) & ~col("reasons").is_null()
    visible = opened.frame.join(found, on="note", how="left").select(
        created_us=calendar.within_calendar(col("date_created")),
        sensitive_public=nw.when(is_sensitive).then(1).otherwise(0),
        **{name: nw.when(col("audience") == name).then(1).otherwise(0) for name in _AUDIENCES},
    )
    months = (
        calendar.add_first_day(visible, "created_us", "month", zone=zone, ends=opened.ends, payments=payments)
        .group_by("first_day")
        .agg(*(col(name).sum() for name in _COUNTS[1:]), payments=nw.len())
    )
    # One row per month, so the rest is finished here.
    of_month = {row["first_day"]: row for row in _engine.collect(months, payments, what="exposure").rows(named=True)}
    rows = []
    for day in calendar.list_periods(of_month, "month"):
        counts = {name: int(of_month[day][name]) if day in of_month else 0 for name in _COUNTS}
        is_known = any(counts[name] for name in _AUDIENCES)
        share = counts["public"] / counts["payments"] if is_known else None
        rows.append({"month": calendar.name_month(day), **counts, "share_public": share})
    return _engine.build_result(payments, rows, _EXPOSURE)


def sensitive_notes(payments: IntoFrameT) -> IntoFrameT:
    """Return the public payments with a note that reveals something private.

    One row per payment. The words, phrases and emoji that are looked for are in a file of the package; addresses and
    numbers are recognised by their form. Upper and lower case, accents and white space in notes do not matter. The
    lists cannot find everything, and find some that is harmless. Payments of an unknown audience, such as rows of
    statements, are excluded, although they may be public.

    Columns
    -------
    payment_id : text
    date_created : instant
    counterparty_name : text
    note : text
        As it was written.
    reasons : text
        One or more, joined by a comma, in this order: ``email``, ``phone``, ``address``, ``health``, ``drugs and
        alcohol and gambling``, ``adult``, ``politics and religion``, ``money trouble``, ``location``: a named town,
        region or country, or whereabouts.

    Parameters
    ----------
    payments : frame
        PAYMENTS, of any status, direction and currency. Only public ones count. Rows of another ``kind`` than
        payments are excluded. Datetimes without a zone are UTC. A lazy frame is queried at the call; each distinct note
        of public payments is read into memory.

    Returns
    -------
    frame
        Newest first, then by id; rows without a date last. Empty without such notes.

    Raises
    ------
    SchemaError
        The frame lacks a column or holds other types.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "payment_id": ["11", "12", "13"],
    ...         "status": "settled",
    ...         "direction": "out",
    ...         "audience": ["public", "friends", "public"],
    ...         "date_created": pd.to_datetime(["2024-03-01T09:00Z", "2024-03-08T09:00Z", "2024-05-02T18:30Z"]),
    ...         "note": ["therapist", "pizza", "taxi"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...     }
    ... )
    >>> p2p.sensitive_notes(payments)[["payment_id", "note", "reasons"]]
      payment_id       note reasons
    0         11  therapist  health
    """
    needed = ["payment_id", "date_created", "counterparty_name", "note", "audience"]
    opened = _engine.open_frame(payments, needed, what="sensitive_notes", by_currency=True)
    found = _list_sensitive(opened.frame, payments, what="sensitive_notes")
    table = (
        opened.frame.filter(nw.col("audience") == Audience.PUBLIC.value)
        .join(found, on="note", how="inner")
        .sort("date_created", "payment_id", descending=[True, False], nulls_last=True)
    )
    return _engine.to_result(table, payments, _SENSITIVE)


def _list_sensitive(frame: nw.LazyFrame[Any], payments: IntoFrame, *, what: str) -> nw.LazyFrame[Any]:
    """Return the distinct notes of public payments that have a reason, for a join; only these notes are read here."""
    public = frame.filter(nw.col("audience") == Audience.PUBLIC.value, ~nw.col("note").is_null())
    notes = _engine.collect_here(public.select("note").unique(), payments, what=what).collect()["note"].to_list()
    reasons = {note: found for note in notes if (found := find_reasons(note))}
    rows = {"note": list(reasons), "reasons": [",".join(found) for found in reasons.values()]}
    return _engine.build_rows(payments, rows, _REASONS)
