"""The argument ``by``: a text column that groups the rows of a table."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches
from typing import Final

from narwhals.stable.v2.typing import IntoFrame

from p2p_analytics.analyses import _engine
from p2p_analytics.errors import ConfigurationError

GROUP: Final = "by_value"  # within a query, so that a column of any name can be `by`


def check_by(by: object, payments: IntoFrame, taken: Collection[str], *, what: str) -> None:
    """Refuse a ``by`` that is not a text column of the frame, or has a name of the result or of no single column.

    Capital and small letters are the same in names, as DuckDB and Spark have it.

    Raises
    ------
    ConfigurationError
        The sentence suggests a column.
    SchemaError
        The frame is something else.
    """
    names = _engine.list_names(payments, what=what)
    if isinstance(by, str) and by in taken:
        raise ConfigurationError(f"by={by!r} is a column of the result: name another text column, like 'action'.")
    if by in names and (advice := _find_clash(str(by), taken)):
        raise ConfigurationError(f"by={by!r} {advice}: rename it, or name another text column, like 'action'.")
    if by in names and _engine.is_text_column(payments, str(by)):
        return
    _engine.open_frame(payments, ["status", "amount_cents"], what=what)  # a frame of something else comes first
    texts = [name for name in names if _engine.is_text_column(payments, name)]
    near = get_close_matches(by, texts, n=1) if isinstance(by, str) else []
    if near and near[0] in taken:
        advice = f"the result has {near[0]!r} anyway, so name another, like 'action'"
    else:
        other = ", or another like 'action'" if near and near[0] != "action" else ""
        advice = f"did you mean {near[0]!r}{other}" if near else "name one, like 'action'"
    raise ConfigurationError(f"by={by!r} is not a text column of the frame: {advice}.")


def _find_clash(by: str, taken: Collection[str]) -> str:
    """Return why some engine cannot distinguish a column by its name; empty if all can."""
    if by == "*" or (by.startswith("^") and by.endswith("$")):
        return "is a pattern of several columns"
    same = next((name for name in taken if name.lower() == by.lower()), None)
    if same:
        return f"differs from the column {same!r} of the result in capital letters only"
    return "" if by else "is a column without a name"
