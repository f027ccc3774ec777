"""Privacy mode: people, notes, ids and amounts replaced where data comes in, so that all made from it can be shown.

What stays: the day of a payment (in strict mode its month), the number of payments, statuses and other documented
words, and which payments are with the same person. The order of rows says no more than the columns do.

What it is for: a screenshot or a talk. It does not hold against someone who knows when the user paid whom, for example
from a public feed: they can match days, and in strict mode the number of payments in each month.
`tests/privacy/test_attacks.py` measures both.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeAlias, TypeVar

from p2p_analytics.errors import SchemaError
from p2p_analytics.frames.build import SOURCE_API
from p2p_analytics.frames.perspective import UNREGISTERED
from p2p_analytics.frames.schema import PROBLEMS
from p2p_analytics.privacy._pseudonyms import Pseudonyms
from p2p_analytics.records import Me, Problem, User
from p2p_analytics.vocabulary import (
    PAYMENT_FIELDS,
    TARGET_FIELDS,
    USER_FIELDS,
    Action,
    Audience,
    Medium,
    Status,
    TargetType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

_Unit: TypeAlias = Literal["D", "M"]
P = ParamSpec("P")
T = TypeVar("T")

_HIDDEN: Final = "hidden"
_DAY_US: Final = 86_400_000_000
_INTEGER_BYTES: Final = 8
_MONTH_DAYS: Final = 30  # to which ages in days are rounded in strict mode
_NOT_TOLD: Final = "not shown in privacy mode"
_QUOTES: Final = re.compile(r"[\"'\d]")  # a sentence without them names no value

# The columns of a person, by what stands before their names, and the one that says who it is.
_PEOPLE: Final = {"actor_": "actor_id", "target_user_": "target_user_id", "": "user_id"}
_NAMES: Final = ("display_name", "username", "first_name", "last_name")
_COUNTERPARTY: Final = ("counterparty_id", "counterparty_name")
_DROPPED: Final = ("about", "profile_picture_url", "date_joined")
# Columns of words, and which words are nobody's own: real answers may have the name of an application as their medium.
_FIELDS: Final = "|".join(sorted({*USER_FIELDS, *TARGET_FIELDS, *PAYMENT_FIELDS, "balance", "friend", "text"}))
_WORDS: Final = {
    "status": "|".join(Status),
    "action": "|".join(Action),
    "audience": "|".join(Audience),
    "medium": "|".join(Medium),
    "target_type": "|".join([*TargetType, "merchant"]),
    "source": SOURCE_API,
    "direction": "in|out",
    "field": rf"({_FIELDS})(\.({_FIELDS}))*",
    "band": r"under \d+ days?|\d+ to \d+ days|\d+ days? or more|no date",
    "month": r"\d{4}-\d\d",
}
_NUMBERS: Final = {"payments", "share"}
_SHARES_OF_MONEY: Final = {"share_of_amount", "share_of_sent"}
_AGES: Final = {"age_days", "oldest_days"}
_MICROSECONDS: Final = {"created_us", "completed_us", "settle_us"}
_ROWS: Final = ("payment_id", "user_id")  # the first of these that a table has says what its rows are


class Mask:
    """Replaces what is private in the parts of one history, each the same way.

    A person has one pseudonym in all of it, told by the id. Where two would share a name, whoever
    comes second gets a number too; so take the parts in the same order each time.

    Parameters
    ----------
    key : bytes, optional
        As for `p2p_analytics.privacy._pseudonyms.Pseudonyms`.
    strict : bool
        True keeps only the month of a date, makes every note different and drops the audience.
    """

    def __init__(self, key: bytes | None = None, *, strict: bool = False) -> None:
        self._pseudonyms = Pseudonyms(key)
        self._strict = strict
        self._forms: dict[str, Callable[[str], str]] = {}  # of ids and addresses that are known to be some

    def me(self, me: Me) -> Me:
        """Return whose history it is, under a pseudonym and without the bytes that came."""
        cents = None if me.balance_cents is None else self._pseudonyms.cents(me.balance_cents)
        return Me(user=self._user(me.user), balance_cents=cents, problems=tuple(self.problems(me.problems)))

    def problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return what was strange without the values, which may be anything."""
        import msgspec

        return [
            msgspec.structs.replace(
                problem,
                record_id=problem.record_id and self._pseudonyms.identifier(problem.record_id),
                value=_HIDDEN,
                problem=_sentence(problem.problem),
            )
            for problem in problems
        ]

    def frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame's rows under pseudonyms, with the same columns and dtypes.

        Made for PAYMENTS, FRIENDS, problems and the tables of the analyses. A column of another name is
        taken for a note where it holds text, and for amounts where it holds numbers; a word that neither
        the document nor this package knows is taken for a note. Truth values stay, and so do the names of
        columns. Instants become the first moment of their day, or in strict mode of their month, in UTC.
        ``about``, pictures and ``date_joined`` are null.

        Rows with an id are ordered by their pseudonym: those of PAYMENTS and pending requests within a date, those
        of friends and problems among all. The service's order would tell which of them is which.

        Integers narrower than 64 bits are widened, because a masked amount may not fit them.

        Raises
        ------
        SchemaError
            A column holds periods or intervals.
        """
        import pandas as pd
        from pandas.api import types

        plain = _maskable(frame.reset_index(drop=True))
        self._learn(plain)
        masked: dict[str, pd.Series[Any]] = self._counterparties(plain)
        for prefix, id_name in _PEOPLE.items():
            masked |= self._people(plain, prefix, id_name)
        forms = self._endings()
        if not set(PROBLEMS) <= set(plain.columns):
            del forms["problem"]  # it is somebody's own, not a sentence of ours
        payment_ids = _text(plain["payment_id"]) if "payment_id" in plain else None
        for name in plain.columns:
            if name not in masked:
                masked[name] = self._column(name, plain[name], forms, payment_ids)
        if all(name in plain and types.is_integer_dtype(plain[name].dtype) for name in _MICROSECONDS):
            masked["settle_us"] = masked["completed_us"] - masked["created_us"]
        return _reordered(pd.DataFrame({name: _like(masked[name], plain[name]) for name in plain.columns}))

    def _user(self, user: User) -> User:
        pseudonyms = self._pseudonyms
        given = (user.id, *(getattr(user, name) for name in _NAMES))
        names = _names(pseudonyms.name(next((text for text in given if text and text.strip()), "")))
        forms = {user.id: pseudonyms.identifier, user.email: pseudonyms.email, user.phone: pseudonyms.phone}
        self._forms |= {text: form for text, form in forms.items() if text is not None}
        return User(
            id=_replaced(user.id, pseudonyms.identifier),
            username=_replaced(user.username, lambda _: names["username"]),
            first_name=_replaced(user.first_name, lambda _: names["first_name"]),
            last_name=_replaced(user.last_name, lambda _: names["last_name"]),
            display_name=_replaced(user.display_name, lambda _: names["display_name"]),
            email=_replaced(user.email, pseudonyms.email),
            phone=_replaced(user.phone, pseudonyms.phone),
            is_friend=user.is_friend,
            friends_count=user.friends_count,
        )

    def _learn(self, frame: pd.DataFrame) -> None:
        """Remember which texts are users' ids, emails and phones, whatever they look like."""
        forms = dict.fromkeys(_PEOPLE.values(), self._pseudonyms.identifier)
        forms |= {"target_email": self._pseudonyms.email, "target_phone": self._pseudonyms.phone}
        for name, form in forms.items():
            if name in frame:
                self._forms |= dict.fromkeys(_text(frame[name]).dropna().unique(), form)

    def _people(self, frame: pd.DataFrame, prefix: str, id_name: str) -> dict[str, pd.Series[Any]]:
        """Return the columns of one person's names, under the pseudonym of the id, or of a name where there is none."""
        columns = {name: _text(frame[prefix + name]) for name in _NAMES if prefix + name in frame}
        if not columns:
            return {}
        who, *others = ([_text(frame[id_name])] if id_name in frame else []) + list(columns.values())
        for other in others:
            who = who.fillna(other.mask(other.str.strip() == ""))
        called = {text: _names(self._pseudonyms.name(text)) for text in who.dropna().unique()}
        return {
            prefix + name: who.map({text: names[name] for text, names in called.items()})
            .where(column.notna())
            .mask(column.str.strip() == "", "")
            for name, column in columns.items()
        }

    def _counterparties(self, frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
        """Return the columns that say with whom a payment was, so that both agree."""
        import pandas as pd

        nobody = pd.Series([None] * len(frame), dtype="str")
        columns = [_text(frame[name]) if name in frame else nobody for name in _COUNTERPARTY]
        pairs = list(zip(*(column.astype(object).where(column.notna(), None) for column in columns), strict=True))
        masked = {pair: self._counterparty(*pair) for pair in dict.fromkeys(pairs)}
        return {
            name: pd.Series([masked[pair][at] for pair in pairs], dtype="str")
            for at, name in enumerate(_COUNTERPARTY)
            if name in frame
        }

    def _counterparty(self, identifier: str | None, name: str | None) -> tuple[str | None, str | None]:
        """Return the two of one row: an address is its own name, and whoever else has an id is a user."""
        if identifier is None:
            return None, _replaced(name, self._shown)
        form = self._forms.get(identifier)
        if form != self._pseudonyms.identifier and (form or name == identifier):
            shown = self._shown(identifier)
            return shown, name and shown
        shown = self._pseudonyms.identifier(identifier)
        return shown, name and (shown if name == identifier else self._pseudonyms.name(identifier))

    def _shown(self, text: str) -> str:
        if text in UNREGISTERED.values():
            return text
        return self._forms.get(text, self._pseudonyms.shown)(text)

    def _column(
        self,
        name: str,
        column: pd.Series[Any],
        forms: dict[str, Callable[[str], str]],
        payment_ids: pd.Series[Any] | None,
    ) -> pd.Series[Any]:
        from pandas.api import types

        if name.endswith(_DROPPED) or (self._strict and name == "audience"):
            return column.where(column.isna())
        if types.is_bool_dtype(column.dtype):
            return column
        if column.dtype.kind in "mM" or (name in _MICROSECONDS and types.is_integer_dtype(column.dtype)):
            return self._without_time(name, column)
        if types.is_numeric_dtype(column.dtype):
            return self._number(name, column, payment_ids)
        return self._words(name, _text(column), forms, payment_ids)

    def _words(
        self,
        name: str,
        column: pd.Series[Any],
        forms: dict[str, Callable[[str], str]],
        payment_ids: pd.Series[Any] | None,
    ) -> pd.Series[Any]:
        known = re.compile(_WORDS.get(name, r"(?!)"))  # without words of its own, a column has none that stay
        form = next((form for end, form in forms.items() if name.endswith(end)), None)
        change = form or self._pseudonyms.note
        if self._strict and name == "note" and payment_ids is not None:  # equal notes could be matched with a feed
            return _changed_by_row(column, payment_ids, lambda note, row: _replaced(note, lambda _: change(row + note)))
        return _changed(column, lambda text: text if known.fullmatch(text) else _replaced(text, change))

    def _without_time(self, name: str, column: pd.Series[Any]) -> pd.Series[Any]:
        """Return instants as the start of their day or month, and durations as whole days or 30 days."""
        days = _MONTH_DAYS if self._strict else 1
        floored: pd.Series[Any]
        if column.dtype.kind == "m":
            floored = column.dt.floor(f"{days}D")
        elif column.dtype.kind == "M":
            floored = _starts(column, "M" if self._strict else "D")
        elif name == "settle_us":
            floored = column // (days * _DAY_US) * (days * _DAY_US)
        else:
            floored = _starts_us(column, "M" if self._strict else "D")
        return floored

    def _number(self, name: str, column: pd.Series[Any], payment_ids: pd.Series[Any] | None) -> pd.Series[Any]:
        from pandas.api import types

        if name in _NUMBERS:
            return column
        if name in _SHARES_OF_MONEY:
            return column.round(2)  # all digits of some shares give the whole that they are of, to the cent
        if name in _AGES:
            return column // _MONTH_DAYS * _MONTH_DAYS if self._strict else column
        change = self._pseudonyms.cents if types.is_integer_dtype(column.dtype) else self._units
        if payment_ids is None:
            return _changed(column, change)
        return _changed_by_row(column, payment_ids, change)

    def _endings(self) -> dict[str, Callable[[str], str]]:
        return {
            "_id": self._pseudonyms.identifier,
            "email": self._pseudonyms.email,
            "phone": self._pseudonyms.phone,
            "value": lambda _text: _HIDDEN,
            "problem": _sentence,
        }

    def _units(self, units: float, payment_id: str = "") -> float:
        return self._pseudonyms.cents(round(units * 100), payment_id) / 100 if math.isfinite(units) else units


def _maskable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with 64-bit integers in place of narrower ones, or refuse a dtype that cannot be masked."""
    import pandas as pd
    from pandas.api import types

    wide: dict[str, str] = {}
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
            raise SchemaError(
                f"Column {name!r} has dtype {dtype}, which privacy mode cannot mask: convert it to datetimes or text."
            )
        if types.is_integer_dtype(dtype) and dtype.itemsize < _INTEGER_BYTES:
            wide[str(name)] = "Int64" if types.is_extension_array_dtype(dtype) else "int64"
    return frame.astype(wide)


def _names(name: str) -> dict[str, str]:
    """Return a pseudonym as a person's four names."""
    first, _, last = name.partition(" ")
    handle = name.lower().replace(" ", "-")
    return {"display_name": name, "username": handle, "first_name": first, "last_name": last}


def _sentence(problem: str) -> str:
    """Return what is wrong with a value, unless it is told by the value itself."""
    return _NOT_TOLD if _QUOTES.search(problem) else problem


def _replaced(text: str | None, form: Callable[[str], str]) -> str | None:
    """Return a text's pseudonym; null stays null, and blank is blank."""
    return None if text is None else form(text) if text.strip() else ""


def _text(column: pd.Series[Any]) -> pd.Series[Any]:
    return column.astype("str")


def _changed(column: pd.Series[Any], change: Callable[[Any], Any]) -> pd.Series[Any]:
    """Return a column with each different value changed once, and nulls as they are."""
    import pandas as pd

    changed = {value: change(value) for value in column.dropna().unique().tolist()}
    return pd.Series([changed.get(value) for value in column.tolist()], dtype=column.dtype)


def _starts(column: pd.Series[Any], unit: _Unit) -> pd.Series[Any]:
    """Return datetimes as the first moment of their day or month, that of UTC where they are aware."""
    import pandas as pd

    aware = isinstance(column.dtype, pd.DatetimeTZDtype)
    plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if aware else column
    instants = plain.to_numpy()
    starts = pd.Series(instants.astype(f"datetime64[{unit}]").astype(instants.dtype))
    return starts.dt.tz_localize("UTC") if aware else starts


def _starts_us(column: pd.Series[Any], unit: _Unit) -> pd.Series[Any]:
    """Return whole microseconds since 1970 as the first moment of their day or month."""
    import pandas as pd

    instants = column.fillna(0).to_numpy("int64").astype("datetime64[us]")
    starts = instants.astype(f"datetime64[{unit}]").astype("datetime64[us]").astype("int64")
    return pd.Series(starts, dtype="Int64").where(column.notna())


def _changed_by_row(
    column: pd.Series[Any], payment_ids: pd.Series[Any], change: Callable[[Any, str], Any]
) -> pd.Series[Any]:
    """Return a column with each value changed as the payment of its row asks, and nulls as they are."""
    import pandas as pd

    rows = zip(column.tolist(), payment_ids.fillna("").tolist(), column.isna().tolist(), strict=True)
    return pd.Series([None if null else change(value, row) for value, row, null in rows], dtype=column.dtype)


def _reordered(masked: pd.DataFrame) -> pd.DataFrame:
    """Return rows with an id in the order of their pseudonyms, within those of one date where there is a date.

    Rows of one date keep the places of that date, so a table that is sorted by date stays so.
    """
    import numpy as np

    name = next((name for name in _ROWS if name in masked), None)
    if name is None:
        return masked
    keys = masked[[name]].set_axis(["id"], axis=1).astype("str")
    keys["group"] = masked["date_created"].factorize()[0] if "date_created" in masked else 0
    places = keys["group"].argsort(kind="stable").to_numpy()
    order = np.empty(len(masked), np.int64)
    order[places] = keys.sort_values(["group", "id"], ascending=[True, False], kind="stable").index
    return masked.take(order).reset_index(drop=True)


def _like(column: pd.Series[Any], given: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in the dtype of another, but never with the categories of that one."""
    if given.dtype.name == "category":
        return column.astype("str").astype("category")
    return column.astype(given.dtype)
