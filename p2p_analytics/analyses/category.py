"""Categories of payments by the words and emoji in their notes, and the money in each."""

from __future__ import annotations

__all__ = ["categories", "categorise"]

from typing import Any, Final

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.typing import IntoFrameT

from p2p_analytics.analyses import _engine
from p2p_analytics.analyses._parts import category_rules
from p2p_analytics.analyses._parts.columns import declare_columns
from p2p_analytics.vocabulary import Status

_COLUMNS: Final = declare_columns("categories", net="flow_cents")
_CENTS: Final = ["flow_cents", "received_cents", "payments"]


def categorise(payments: IntoFrameT, rules: pd.DataFrame | None = None) -> Any:  # noqa: ANN401 - a Series or a frame
    """Return the category of each payment, by words and emoji in its note, or by the person.

    Upper and lower case and white space do not matter. A word or phrase matches between characters that are not letters
    and digits. An emoji matches anywhere, in any skin tone, gender and style, but not as a part of another emoji: a
    woman who cooks is not food.

    Parameters
    ----------
    payments : frame
        PAYMENTS, every row. A missing column counts as null.
    rules : pandas.DataFrame, optional
        Columns ``pattern`` and ``category``, and optionally ``person``: an id, or a name. The first rule that matches
        wins: first those with a person, then the others, each in the order of the table. A pattern may be empty where
        there is a person. By default the table of `default_rules`.

    Returns
    -------
    Series or frame
        For a pandas frame a column of text to assign, with the frame's index; for another frame the frame with a column
        ``category``, the last. Null where no rule matches.

    Raises
    ------
    ConfigurationError
        The rules are not such a table: a column is missing, or a row holds something else than text, no category, or
        neither a pattern nor a person.
    SchemaError
        The input is not a frame of an engine that works, or holds other types.

    Examples
    --------
    >>> import pandas as pd
    >>> import p2p_analytics as p2p
    >>> payments = pd.DataFrame(
    ...     {
    ...         "note": ["Rent May", "tacos", "thanks"],
    ...         "counterparty_id": ["2", "2", "3"],
    ...         "counterparty_name": ["Ada", "Ada", "Ben"],
    ...     }
    ... )
    >>> payments.assign(category=p2p.categorise(payments))[["note", "category"]]
           note category
    0  Rent May     rent
    1     tacos     food
    2    thanks      NaN
    """
    category = category_rules.find_category(rules, _engine.normalise("note"))
    return _engine.add_text_column(payments, category_rules.READ, "category", category, what="categorise")


def categories(payments: IntoFrameT, rules: pd.DataFrame | None = None) -> IntoFrameT:
    """Return the money sent and received in each category, in settled payments.

    One row per category that occurs.

    Columns
    -------
    category : text
        By `categorise`; ``uncategorised`` where no rule matches.
    sent, received, net : currency units
        ``net`` is received less sent. An unknown amount counts as 0.
    payments : count
    share_of_sent : fraction
        Of the total sent; 0 if that total is 0.

    Parameters
    ----------
    payments : frame
        PAYMENTS. Rows that are not settled, or have no direction, are excluded; so are rows of another ``kind`` than
        payments. Repeated payment ids count twice: `p2p_analytics.combine` unites frames. A lazy frame is queried at
        the call, and each distinct note is read into memory.
    rules : pandas.DataFrame, optional
        See `categorise`.

    Returns
    -------
    frame
        Largest ``sent`` first, then by name, ``uncategorised`` last; empty without settled payments.

    Raises
    ------
    ConfigurationError
        The rules are not as `categorise` needs them.
    SchemaError
        The frame lacks a column or holds other types, or the payments that count are in several currencies or add up to
        2**53 cents or more.

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
    ...         "note": ["Rent May", "tacos", "thanks"],
    ...     }
    ... )
    >>> p2p.categories(payments)
            category  sent  received   net  payments  share_of_sent
    0           rent  12.5       0.0 -12.5         1       0.581395
    1           food   9.0       0.0  -9.0         1       0.418605
    2  uncategorised   0.0       5.0   5.0         1       0.000000
    """
    col = nw.col
    opened = _engine.open_frame(
        payments, ["direction", "flow_cents", *category_rules.READ], status=Status.SETTLED, what="categories"
    )
    # Each note once: to look for words takes longer than to compare notes, and many are alike.
    notes = (
        opened.frame.with_columns(received_cents=_engine.received_cents())
        .group_by(*category_rules.list_columns(rules))
        .agg(col("flow_cents").sum(), col("received_cents").sum(), payments=nw.len())
        .with_columns(_engine.integers(_CENTS))
    )
    # Polars looks for words in less time than other engines.
    table = (
        category_rules.add_category(_engine.collect_here(notes, payments, what="categories"), rules)
        .group_by("category")
        .agg(*(col(name).sum() for name in _CENTS))
        .with_columns(
            sent_cents=col("received_cents") - col("flow_cents"),
            is_last=nw.when(col("category") == category_rules.UNCATEGORISED).then(1).otherwise(0),
        )
        .with_columns(share_of_sent=_engine.share("sent_cents", col("sent_cents").sum()))
        .sort("is_last", "sent_cents", "category", descending=[False, True, False])
    )
    return _engine.to_result(table, payments, _COLUMNS, opened.currency)
