"""The mask of privacy mode: replaces people, notes, ids and amounts before anything is computed from them.

Unchanged are the day of a payment (in strict mode its month), the number of payments, statuses and other documented
words, and which payments are with the same person. The order of rows reveals no more than the columns do.

The mask is made for screenshots and talks. It does not protect against an attacker who knows when the user paid whom,
for example from a public feed: they can match days or, in strict mode, the number of payments in each month.
`tests/privacy` measures both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Final, Protocol

import msgspec
import numpy as np
import pandas as pd
from pandas.api import types

from p2p_analytics import catalogue
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.own_money import BALANCE, is_own_money
from p2p_analytics.frames.perspective import UNREGISTERED
from p2p_analytics.frames.schema import (
    INCOMPLETE,
    KINDS,
    PROBLEMS,
    SOURCE_API,
    SOURCE_STATEMENT,
    UNEXPECTED,
    UNREADABLE,
)
from p2p_analytics.privacy._pseudonyms import Pseudonyms
from p2p_analytics.records import Me, Problem, User
from p2p_analytics.times import DAY_US, in_utc
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

NOT_SHOWN: Final = "not shown in privacy mode"
_HIDDEN: Final = "hidden"
_QUOTES: Final = re.compile(r"[\"'\d]")  # a sentence without them quotes no value
_CODE: Final = re.compile(r"[a-z]+(_[a-z]+)*")  # of a problem
_OF_RECORDS: Final = (INCOMPLETE, UNREADABLE, UNEXPECTED)
_ROW_IDS: Final = ("payment_id", "user_id")  # the first of them that a table has identifies its rows
_INTEGER_BYTES: Final = 8
_MONTH_DAYS: Final = 30  # to which ages in days are rounded in strict mode

# The id column of a person, by the prefix of the person's columns.
_PEOPLE: Final = {"actor_": "actor_id", "target_user_": "target_user_id", "": "user_id"}
_NAMES: Final = ("display_name", "username", "first_name", "last_name")
_COUNTERPARTY: Final = ("counterparty_id", "counterparty_name", "counterparty_username")
_DROPPED: Final = ("about", "profile_picture_url", "date_joined", "also_named", "friends_count")
_COLUMNS: Final = [column for analysis in catalogue.ANALYSES.values() for column in analysis.columns]


def _list_columns(*kinds: str) -> frozenset[str]:
    """Return the names of the columns of these kinds in the tables of the analyses."""
    return frozenset(column.name for column in _COLUMNS if column.kind in kinds)


# Columns of words, with the patterns of words that are not personal. Others are masked: the service may send the name
# of an application as the medium, for example.
_FIELDS: Final = "|".join(sorted({*USER_FIELDS, *TARGET_FIELDS, *PAYMENT_FIELDS, "balance", "friend", "text"}))
_WORDS: Final = {
    "status": "|".join(Status),
    "action": "|".join(Action),
    "audience": "|".join(Audience),
    "medium": "|".join(Medium),
    "target_type": "|".join([*TargetType, "merchant"]),
    "source": f"{SOURCE_API}|{SOURCE_STATEMENT}",
    "type": r"Payment|Charge|(Standard|Instant|Bank) Transfer|Merchant Transaction|Refund|Credit Card Payment|"
    r"Credit Card Reward|Direct Deposit",
    "kind": "|".join(KINDS),
    "currency": "[A-Z]{3}",
    "direction": "in|out",
    "counterparty_matched": r"payments|username|people\.csv",
    "field": rf"({_FIELDS})(\.({_FIELDS}))*",
    **{column.name: column.words for column in _COLUMNS if column.words},
    "code": "[a-z_]+",  # of problems: a word of this package
}
_SOURCES: Final = ("funding_source", "destination")
_, _, *_EXPOSURE = (column.name for column in catalogue.ANALYSES["exposure"].columns)  # without month and payments
_NUMBERS: Final = _list_columns(catalogue.COUNT, catalogue.YEAR, catalogue.SHARE) - {*_EXPOSURE}
_SHARES_OF_MONEY: Final = _list_columns(catalogue.SHARE_OF_MONEY)
_AGES: Final = _list_columns(catalogue.DAYS, catalogue.AGE, catalogue.WHOLE_DAYS)
_MICROSECONDS: Final = {"created_us", "completed_us", "settle_us"}


class _Maskable(Protocol):
    @property
    def private(self) -> bool: ...

    @property
    def strict(self) -> bool: ...


def is_masked(data: _Maskable, *, strict: bool) -> bool:
    """Return whether a history or statements are in privacy mode already.

    Raises
    ------
    ConfigurationError
        They are in privacy mode with days, and ``strict`` asks for months, which only the original has.
    """
    if data.private and strict and not data.strict:
        raise ConfigurationError(
            f"This {type(data).__name__} is in privacy mode with days, and cannot be reduced to months: call "
            "masked(strict=True) of the original."
        )
    return data.private


class Mask:
    """Replaces private data in the parts of one history consistently.

    A person, identified by the id, has one pseudonym in all parts. If two people would share a pseudonym, the second
    one gets a number too; so mask the parts in the same order each time.

    Parameters
    ----------
    key : bytes, optional
        32 random bytes; the user's own key by default.
    strict : bool
        True keeps only the month of dates, makes every note different and drops the audience.
    """

    def __init__(self, key: bytes | None = None, *, strict: bool = False) -> None:
        self._pseudonyms = Pseudonyms(key)
        self._strict = strict
        self._forms: dict[str, Callable[[str], str]] = {}  # the pseudonym function of known ids and addresses
        self._known_forms = dict.fromkeys(_PEOPLE.values(), self._pseudonyms.identifier)
        self._known_forms |= {"target_email": self._pseudonyms.email, "target_phone": self._pseudonyms.phone}
        self._forms_by_ending: dict[str, Callable[[str], str]] = {
            "_id": self._pseudonyms.identifier,
            "email": self._pseudonyms.email,
            "phone": self._pseudonyms.phone,
            "value": lambda _text: _HIDDEN,
        }

    def me(self, me: Me) -> Me:
        """Return the user under a pseudonym, without the raw bytes."""
        pseudonyms, user = self._pseudonyms, me.user
        given = (user.id, *(getattr(user, name) for name in _NAMES))
        names = _split_name(pseudonyms.name(next((text for text in given if text and text.strip()), "")))

        def hide(field: str) -> str | None:
            """Return the pseudonym in a field, also for blank text: few people have a blank name."""
            return None if getattr(user, field) is None else names[field]

        forms = {user.id: pseudonyms.identifier, user.email: pseudonyms.email, user.phone: pseudonyms.phone}
        self._forms |= {text: form for text, form in forms.items() if text is not None}
        masked = User(
            id=_replace_text(user.id, pseudonyms.identifier),
            username=hide("username"),
            first_name=hide("first_name"),
            last_name=hide("last_name"),
            display_name=hide("display_name"),
            email=_replace_text(user.email, pseudonyms.email),
            phone=_replace_text(user.phone, pseudonyms.phone),
            is_friend=user.is_friend,
            friends_count=user.friends_count,
        )
        cents = None if me.balance_cents is None else pseudonyms.cents(me.balance_cents)
        return Me(user=masked, balance_cents=cents, problems=tuple(self.problems(me.problems)))

    def problems(self, problems: Iterable[Problem]) -> list[Problem]:
        """Return problems without their values, which may hold any text."""
        return [
            msgspec.structs.replace(
                problem,
                record_id=problem.record_id and self._pseudonyms.identifier(problem.record_id),
                value=_HIDDEN,
                problem=_hide_quotes(problem.problem),
            )
            for problem in problems
        ]

    def instant(self, instant: datetime) -> datetime:
        """Return the start of an instant's day or, in strict mode, of its month, in UTC."""
        day = in_utc(instant).replace(hour=0, minute=0, second=0, microsecond=0)
        return day.replace(day=1) if self._strict else day

    def frame(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the masked frame, with the same columns and dtypes.

        Made for PAYMENTS, FRIENDS, PROBLEMS and the tables of the analyses. A column of another name is treated as
        notes if it holds text, and as amounts if it holds numbers; a word that neither the document nor this package
        knows is treated as a note. Booleans and column names stay. Instants become the start of their day or, in
        strict mode, of their month, in UTC. ``about``, pictures and ``date_joined`` are null.

        Rows with an id are sorted by their pseudonym: PAYMENTS and pending requests within a date, friends and
        problems as a whole. The service's order would identify them.

        Integers narrower than 64 bits are widened, because a masked amount may not fit them.

        Raises
        ------
        SchemaError
            A column holds periods or intervals.
        """
        plain = _widen_integers(frame.reset_index(drop=True))
        masked: dict[str, pd.Series[Any]] = self._mask_counterparties(plain)
        for prefix, id_name in _PEOPLE.items():
            masked |= self._mask_people(plain, prefix, id_name)
        if set(PROBLEMS) <= set(plain.columns):
            masked |= _mask_sentences(plain)
        if "file" in plain:
            masked |= self._mask_statement_columns(plain)
        if set(_EXPOSURE) <= set(plain.columns):  # as a masked history gives them: without sensitive notes
            shown = () if self._strict else _EXPOSURE[:-1]
            masked |= {name: plain[name] if name in shown else plain[name] * 0 for name in _EXPOSURE}
            if self._strict:  # without a known audience the share is unknown
                masked["share_public"] = plain["share_public"].mask(plain["share_public"].notna())
        payment_ids = plain["payment_id"].astype("str") if "payment_id" in plain else None
        for name in plain.columns:
            if name not in masked:
                masked[name] = self._mask_column(name, plain[name], payment_ids)
        if all(name in plain and types.is_integer_dtype(plain[name].dtype) for name in _MICROSECONDS):
            masked["settle_us"] = masked["completed_us"] - masked["created_us"]
        for name, column in masked.items():
            dtype = plain[name].dtype
            is_category = dtype.name == "category"  # of the masked values
            masked[name] = column.astype("str").astype("category") if is_category else column.astype(dtype)
        return _reorder(pd.DataFrame({name: masked[name] for name in plain.columns}))

    def _mask_people(self, frame: pd.DataFrame, prefix: str, id_name: str) -> dict[str, pd.Series[Any]]:
        """Return the name columns of one person, with the pseudonym of the id or, without an id, of a name.

        A blank name gets its pseudonym too, because few people have one, such as a shop without a last name.
        """
        columns = {name: frame[prefix + name].astype("str") for name in _NAMES if prefix + name in frame}
        if not columns:
            return {}
        who, *others = ([frame[id_name].astype("str")] if id_name in frame else []) + list(columns.values())
        for other in others:
            who = who.fillna(other.mask(other.str.strip() == ""))
        who = who.fillna("")  # all names are blank
        called = {text: _split_name(self._pseudonyms.name(text)) for text in who.unique()}
        return {
            prefix + name: who.map({text: names[name] for text, names in called.items()}).where(column.notna())
            for name, column in columns.items()
        }

    def _mask_statement_columns(self, frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
        """Return the columns of statements that would be masked by another rule.

        Counts of rows and the names of formats stay. The line in a file is null: it would give the order of a day.
        """
        counts = {"rows", *KINDS}
        kept = (counts if counts <= set(frame.columns) else set()) | {"format"}
        columns = {name: frame[name] for name in frame.columns if name in kept}
        if "line" in frame:
            columns["line"] = frame["line"].where(frame["line"].isna())
        if "account" in frame:
            columns["account"] = _map_values(frame["account"].astype("str"), self._pseudonyms.identifier)
        return columns

    def _mask_counterparties(self, frame: pd.DataFrame) -> dict[str, pd.Series[Any]]:
        """Return the counterparty columns, masked together so that id and name match."""
        for name, form in self._known_forms.items():  # which texts are ids, emails and phones, whatever they look like
            if name in frame:
                self._forms |= dict.fromkeys(frame[name].astype("str").dropna().unique(), form)
        missing = pd.Series([None] * len(frame), dtype="str")
        columns = [frame[name].astype("str") if name in frame else missing for name in _COUNTERPARTY]
        rows = list(zip(*(column.astype(object).where(column.notna(), None) for column in columns), strict=True))
        masked = {row: self._mask_counterparty(*row) for row in dict.fromkeys(rows)}
        return {
            name: pd.Series([masked[row][at] for row in rows], dtype="str")
            for at, name in enumerate(_COUNTERPARTY)
            if name in frame
        }

    def _mask_counterparty(
        self, identifier: str | None, name: str | None, username: str | None
    ) -> tuple[str | None, str | None, str | None]:
        """Return the id, name and username of one row: an address is its own name, any other id is a user."""
        if identifier is None:
            called = None if name is None else self._mask_text(name) if name.strip() else self._pseudonyms.name("")
            handle = None if username is None else _split_name(called or self._pseudonyms.name(""))["username"]
            return None, called, handle
        form = self._forms.get(identifier)
        if form != self._pseudonyms.identifier and (form or name == identifier):
            shown = self._mask_text(identifier)
            return shown, None if name is None else shown, None
        shown, called = self._pseudonyms.identifier(identifier), self._pseudonyms.name(identifier)
        # A person without a name is called by the id, but not here, as for a blank name.
        handle = None if username is None else _split_name(called)["username"]
        return shown, None if name is None else called, handle

    def _mask_text(self, text: str) -> str:
        if text in UNREGISTERED.values():
            return text
        return self._forms.get(text, self._pseudonyms.same_form)(text)

    def _mask_column(self, name: str, column: pd.Series[Any], payment_ids: pd.Series[Any] | None) -> pd.Series[Any]:
        if name.endswith(_DROPPED) or (self._strict and name == "audience"):
            return column.where(column.isna())
        if types.is_bool_dtype(column.dtype):
            return column
        if column.dtype.kind in "mM" or (name in _MICROSECONDS and types.is_integer_dtype(column.dtype)):
            return self._floor_times(name, column)
        if types.is_numeric_dtype(column.dtype):
            return self._mask_numbers(name, column, payment_ids)
        column = column.astype("str")
        known = re.compile(_WORDS.get(name, r"(?!)"))  # in other columns every word is masked
        note = self._pseudonyms.note
        change = next((form for end, form in self._forms_by_ending.items() if name.endswith(end)), note)
        if name in _SOURCES:
            change = lambda text: BALANCE if is_own_money(text) else note(text)  # noqa: E731 - shorter
        if self._strict and name == "note" and payment_ids is not None:  # equal notes would help to match a feed
            return _map_rows(column, payment_ids, lambda note, row: _replace_text(note, lambda _: change(row + note)))
        return _map_values(column, lambda text: text if known.fullmatch(text) else _replace_text(text, change))

    def _floor_times(self, name: str, column: pd.Series[Any]) -> pd.Series[Any]:
        """Round instants down to their day or month in UTC, and durations to days or 30 days."""
        days, unit = (_MONTH_DAYS, "M") if self._strict else (1, "D")
        if column.dtype.kind == "m":
            floored: pd.Series[Any] = column.dt.floor(f"{days}D")
            return floored
        if name == "settle_us":
            return _floor(column, days * DAY_US)
        is_aware = isinstance(column.dtype, pd.DatetimeTZDtype)
        plain = column.dt.tz_convert("UTC").dt.tz_localize(None) if is_aware else column
        if column.dtype.kind != "M":  # whole microseconds since 1970
            plain = pd.Series(column.fillna(0).to_numpy("int64").astype("datetime64[us]"))
        instants = plain.to_numpy()
        starts = pd.Series(instants.astype(f"datetime64[{unit}]").astype(instants.dtype))
        if column.dtype.kind != "M":
            return starts.astype("int64").astype("Int64").where(column.notna())
        return starts.dt.tz_localize("UTC") if is_aware else starts

    def _mask_numbers(self, name: str, column: pd.Series[Any], payment_ids: pd.Series[Any] | None) -> pd.Series[Any]:
        if name in _NUMBERS:
            return column
        if name in _SHARES_OF_MONEY:
            return column.round(2)  # exact shares would give the total to the cent
        if name in _AGES:
            return _floor(column, _MONTH_DAYS if self._strict else 1)  # fractions of a day would show times of day
        cents = self._pseudonyms.cents

        def mask_units(units: float, payment_id: str = "") -> float:
            return cents(round(units * 100), payment_id) / 100 if math.isfinite(units) else units

        change = cents if types.is_integer_dtype(column.dtype) else mask_units
        return _map_values(column, change) if payment_ids is None else _map_rows(column, payment_ids, change)


def _floor(column: pd.Series[Any], step: int) -> pd.Series[Any]:
    floored: pd.Series[Any] = column // step * step
    return floored


def _widen_integers(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with all integers 64 bits wide; raise a SchemaError for a dtype that cannot be masked."""
    wide: dict[str, str] = {}
    for name, dtype in frame.dtypes.items():
        if isinstance(dtype, pd.PeriodDtype | pd.IntervalDtype):
            raise SchemaError(
                f"Column {name!r} has dtype {dtype}, which privacy mode cannot mask: convert it to datetimes or text."
            )
        if types.is_integer_dtype(dtype) and dtype.itemsize < _INTEGER_BYTES:
            wide[str(name)] = "Int64" if types.is_extension_array_dtype(dtype) else "int64"
    return frame.astype(wide)


def _split_name(name: str) -> dict[str, str]:
    """Return the four names of a person that a pseudonym gives."""
    first, _, last = name.partition(" ")
    handle = name.lower().replace(" ", "-")
    return {"display_name": name, "username": handle, "first_name": first, "last_name": last}


def _hide_quotes(problem: str) -> str:
    """Return the description of a problem, or a placeholder if it may quote the value."""
    return NOT_SHOWN if _QUOTES.search(problem) else problem


def _mask_sentences(problems: pd.DataFrame) -> dict[str, pd.Series[Any]]:
    """Return the codes of PROBLEMS, and the sentences: for a file, only the words of the code.

    The sentence about a file can quote other files, people, ids and amounts.
    """
    codes = _map_values(problems["code"].astype("str"), lambda code: code if _CODE.fullmatch(code) else NOT_SHOWN)
    words = codes.str.replace("_", " ").fillna(NOT_SHOWN)
    sentences = _map_values(problems["problem"].astype("str"), _hide_quotes)
    return {"code": codes, "problem": sentences.where(codes.isin(_OF_RECORDS), words)}


def _replace_text(text: str | None, form: Callable[[str], str]) -> str | None:
    """Return the pseudonym of a text; null stays null, and blank text becomes empty."""
    return None if text is None else form(text) if text.strip() else ""


def _map_values(column: pd.Series[Any], change: Callable[[Any], Any]) -> pd.Series[Any]:
    """Apply a function to each distinct value; nulls stay."""
    changed = {value: change(value) for value in column.dropna().unique().tolist()}
    return pd.Series([changed.get(value) for value in column.tolist()], dtype=column.dtype)


def _map_rows(column: pd.Series[Any], payment_ids: pd.Series[Any], change: Callable[[Any, str], Any]) -> pd.Series[Any]:
    """Apply a function to each value and the payment id of its row; nulls stay."""
    rows = zip(column.tolist(), payment_ids.fillna("").tolist(), column.isna().tolist(), strict=True)
    return pd.Series([None if null else change(value, row) for value, row, null in rows], dtype=column.dtype)


def _reorder(masked: pd.DataFrame) -> pd.DataFrame:
    """Sort rows with an id by their pseudonym; in a table with dates, only among the rows of each date.

    The rows of a date keep its positions, so a table that is sorted by date stays sorted.
    """
    name = next((name for name in _ROW_IDS if name in masked), None)
    if name is None:
        return masked
    keys = masked[[name]].set_axis(["id"], axis=1).astype("str")
    keys["group"] = masked["date_created"].factorize()[0] if "date_created" in masked else 0
    places = keys["group"].argsort(kind="stable").to_numpy()
    order = np.empty(len(masked), np.int64)
    order[places] = keys.sort_values(["group", "id"], ascending=[True, False], kind="stable").index
    return masked.take(order).reset_index(drop=True)
