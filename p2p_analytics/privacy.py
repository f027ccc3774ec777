"""Privacy mode: people, notes, ids and amounts replaced where data comes in, so that all made from it can be shown.

What stays: dates and numbers of payments, statuses and other documented words, and who is who.
What it is for: a screenshot or a talk. It does not hold against somebody who knows some of the real
payments: dates are real, and one amount tells the factor of all.
"""

from __future__ import annotations

import functools
import math
import re
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from p2p_analytics import settings
from p2p_analytics.errors import ServiceError
from p2p_analytics.frames.build import SOURCE_API
from p2p_analytics.frames.perspective import UNREGISTERED
from p2p_analytics.frames.schema import PROBLEMS
from p2p_analytics.pseudonyms import Pseudonyms
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

P = ParamSpec("P")
T = TypeVar("T")

_HIDDEN: Final = "hidden"
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
_NUMBERS: Final = {
    "created_us", "completed_us", "settle_us", "payments", "share", "share_of_amount", "share_of_sent", "age_days",
    "oldest_days",
}  # fmt: skip


def hushed(load: Callable[P, T]) -> Callable[P, T]:
    """Let what a load raises in privacy mode, by its ``privacy=``, quote no words of the service: they may name people.

    Without that argument, the environment variable ``P2P_PRIVACY`` counts.
    """

    @functools.wraps(load)
    def quiet(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return load(*args, **kwargs)
        except ServiceError as error:
            if not error.said or not settings.privacy(kwargs.get("privacy")):  # type: ignore[arg-type]
                raise
            failure = error.without_words()
        raise failure  # here, so that the one with the words does not hang on it

    return quiet


class Mask:
    """Replaces what is private in the parts of one history, each the same way.

    A person has one pseudonym in all of it, told by the id. Where two would share a name, whoever
    comes second gets a number too; so take the parts in the same order each time.

    Parameters
    ----------
    key : bytes, optional
        As for `p2p_analytics.pseudonyms.Pseudonyms`.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._pseudonyms = Pseudonyms(key)
        self._forms: dict[str, Callable[[str], str]] = {}  # of ids and addresses that are known to be some

    def me(self, me: Me) -> Me:
        """Return whose history it is, under a pseudonym and without the bytes that came."""
        cents = None if me.balance_cents is None else self._pseudonyms.cents(me.balance_cents)
        return Me(user=self._user(me.user), balance_cents=cents, problems=tuple(self.problems(me.problems)))

    def problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return what was strange without the values, which may be anything."""
        return [
            Problem(
                record_id=problem.record_id and self._pseudonyms.identifier(problem.record_id),
                field=problem.field,
                value=_HIDDEN,
                problem=_sentence(problem.problem),
                unreadable=problem.unreadable,
            )
            for problem in problems
        ]

    def frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame's rows under pseudonyms, with the same columns, dtypes and order.

        Made for PAYMENTS, FRIENDS, problems and the tables of the analyses. A column of another name is
        taken for a note where it holds text, and for amounts where it holds numbers; a word that neither
        the document nor this package knows is taken for a note. Dates and truth values stay, and so do
        the names of columns. ``about``, pictures and ``date_joined`` are null.
        """
        import pandas as pd

        plain = frame.reset_index(drop=True)
        self._learn(plain)
        masked: dict[str, pd.Series[Any]] = self._counterparties(plain)
        for prefix, id_name in _PEOPLE.items():
            masked |= self._people(plain, prefix, id_name)
        forms = self._endings()
        if not set(PROBLEMS) <= set(plain.columns):
            del forms["problem"]  # it is somebody's own, not a sentence of ours
        for name in plain.columns:
            if name not in masked:
                masked[name] = self._column(name, plain[name], forms)
        return pd.DataFrame({name: _like(masked[name], plain[name]) for name in plain.columns})

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

    def _column(self, name: str, column: pd.Series[Any], forms: dict[str, Callable[[str], str]]) -> pd.Series[Any]:
        from pandas.api import types

        if name in _NUMBERS and types.is_numeric_dtype(column.dtype):
            return column
        if name.endswith(_DROPPED):
            return column.where(column.isna())
        if types.is_bool_dtype(column.dtype) or column.dtype.kind in "mM":
            return column
        if types.is_integer_dtype(column.dtype):
            return _changed(column, self._pseudonyms.cents)
        if types.is_float_dtype(column.dtype):
            return _changed(column, self._units)
        known = _WORDS.get(name)
        form = next((form for end, form in forms.items() if name.endswith(end)), self._pseudonyms.note)
        return _changed(
            _text(column), lambda text: text if known and re.fullmatch(known, text) else _replaced(text, form)
        )

    def _endings(self) -> dict[str, Callable[[str], str]]:
        return {
            "_id": self._pseudonyms.identifier,
            "email": self._pseudonyms.email,
            "phone": self._pseudonyms.phone,
            "value": lambda _text: _HIDDEN,
            "problem": _sentence,
        }

    def _units(self, units: float) -> float:
        return self._pseudonyms.cents(round(units * 100)) / 100 if math.isfinite(units) else units


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


def _like(column: pd.Series[Any], given: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column in the dtype of another, but never with the categories of that one."""
    if given.dtype.name == "category":
        return column.astype("str").astype("category")
    return column.astype(given.dtype)
