"""Rules that give a payment its category, by the words and emoji in its note or by the person."""

from __future__ import annotations

import functools
import re
import unicodedata
from importlib import resources
from itertools import groupby
from typing import Any, Final, NamedTuple

import narwhals.stable.v2 as nw
import pandas as pd
from narwhals.stable.v2.dependencies import is_pandas_dataframe

from p2p_analytics.analyses import _engine
from p2p_analytics.errors import ConfigurationError

READ: Final = ("note", "counterparty_id", "counterparty_name")
UNCATEGORISED: Final = "uncategorised"
_SPECIAL: Final = re.compile(r"[\\.+*?()|\[\]{}^$]")
_JOINER: Final = "\u200d"
# Not \b, in which engines differ on letters such as é. A combining mark belongs to the letter before it.
_NO_LETTER: Final = "(?:[^\\p{L}\\p{M}\\p{N}\u200c\u200d]|[\ufe0e\ufe0f\u20e3])"  # the last are marks of emoji
_STYLES: Final = "\ufe0e\ufe0f\U0001f3fb-\U0001f3ff"  # variation selectors and skin tones
_GENDER: Final = f"{_JOINER}[\u2640\u2642]"
_STYLE: Final = re.compile(f"[{_STYLES}]|{_GENDER}")
_TAGS: Final = "\U000e0020-\U000e007f"  # after a black flag they make the flag of a region
_LETTERS: Final = "\U0001f1e6-\U0001f1ff"  # two of them make a flag
_BEFORE: Final = {
    "word": f"(?:^|{_NO_LETTER})",
    "sign": f"(?:^|[^{_JOINER}])",
    "flag": f"(?:^|[^{_JOINER}{_LETTERS}])(?:[{_LETTERS}]{{2}})*",
}
_AFTER: Final = {
    "word": f"(?:$|{_NO_LETTER})",
    "sign": f"(?:$|[^{_JOINER}{_STYLES}{_TAGS}]|{_GENDER})",
    "flag": "",
}


class Rule(NamedTuple):
    """One row of a table of rules; an empty pattern matches every note, an empty person everybody."""

    pattern: str
    category: str
    person: str


def default_rules() -> pd.DataFrame:
    """Return the table of rules that `categorise` uses by default, to be edited: ``pattern`` and ``category``."""
    with resources.files("p2p_analytics.analyses").joinpath("categories.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype="str", keep_default_na=False)


def add_category(frame: nw.LazyFrame[Any], rules: pd.DataFrame | None) -> nw.LazyFrame[Any]:
    """Return a frame with ``category``, from the columns `READ`: `UNCATEGORISED` where no rule matches."""
    found = find_category(rules, nw.col("text")).fill_null(UNCATEGORISED)
    # The text is a column, because engines would normalise the note again for each rule.
    return frame.with_columns(text=_engine.normalise("note")).with_columns(category=found)


def list_columns(rules: pd.DataFrame | None) -> list[str]:
    """Return the columns on which the category of a payment depends: `READ`, or only the note."""
    return list(READ) if any(rule.person for rule in _read_rules(rules)) else ["note"]


def find_category(rules: pd.DataFrame | None, text: nw.Expr) -> nw.Expr:
    """Return the category of each row as an expression on the columns `READ`; null where no rule matches.

    ``text`` is the note, normalised.
    """
    found = nw.lit(None, dtype=nw.String())
    in_order = sorted(_read_rules(rules), key=lambda rule: not rule.person)  # stable
    neighbours = groupby(in_order, key=lambda rule: (rule.person, rule.category))
    # The first rule that matches is the outermost condition, so it is added last.
    for (person, category), patterns in reversed([(key, [rule.pattern for rule in each]) for key, each in neighbours]):
        condition = nw.lit(value=True) if "" in patterns else text.str.contains(_write_expression(patterns))
        if person:
            is_id = nw.col("counterparty_id").fill_null("").str.strip_chars(" ") == person
            is_person = is_id | (_engine.normalise("counterparty_name") == _engine.normalise_text(person))
            condition = is_person if "" in patterns else is_person & condition
        found = nw.when(condition).then(nw.lit(category)).otherwise(found)
    return found


def _read_rules(rules: pd.DataFrame | None) -> list[Rule]:
    if rules is None:
        return _read_default()
    names = list(rules.columns) if is_pandas_dataframe(rules) else []
    if any(names.count(name) != 1 for name in ("pattern", "category")) or names.count("person") > 1:
        raise ConfigurationError(
            "The rules are not a pandas frame with the columns pattern and category, and optionally person: "
            "edit a copy of p2p.default_rules()."
        )
    people = rules["person"] if "person" in names else [None] * len(rules)
    columns = (rules["pattern"], rules["category"], people)
    return [_read_rule(number, row) for number, row in enumerate(zip(*columns, strict=True))]


@functools.cache
def _read_default() -> list[Rule]:
    return _read_rules(default_rules())


def _read_rule(number: int, row: tuple[Any, ...]) -> Rule:
    words = []
    for value in row:
        if not isinstance(value, str) and not (pd.api.types.is_scalar(value) and pd.isna(value)):
            raise ConfigurationError(f"Row {number} of the rules holds {value!r}, which is not text: write it as text.")
        word = " ".join(value.split()) if isinstance(value, str) else ""
        if not word.isascii() and word != word.encode("utf-8", "replace").decode():
            raise ConfigurationError(
                f"Row {number} of the rules holds {value!r}, which is not valid Unicode: correct it."
            )
        words.append(word)
    pattern, category, person = words
    if not category or not (pattern or person):
        raise ConfigurationError(f"Row {number} of the rules needs a category, and a pattern or a person.")
    pattern = _STYLE.sub("", pattern) or pattern
    return Rule(_engine.normalise_text(pattern), category, person)


def _write_expression(patterns: list[str]) -> str:
    """Return a regular expression that finds any of the patterns, in the syntax that all engines share."""
    bodies: dict[tuple[str, str], list[str]] = {}
    for pattern in patterns:
        for spelling in dict.fromkeys([pattern, *(unicodedata.normalize(form, pattern) for form in ("NFC", "NFD"))]):
            ends = _BEFORE[_classify(spelling[0])], _AFTER[_classify(spelling[-1])]
            bodies.setdefault(ends, []).append("".join(map(_write_character, spelling)))
    return "|".join(f"{before}(?:{'|'.join(found)}){after}" for (before, after), found in bodies.items())


def _classify(character: str) -> str:
    if unicodedata.category(character)[0] in "LMN":
        return "word"
    return "flag" if "\U0001f1e6" <= character <= "\U0001f1ff" else "sign"


def _write_character(character: str) -> str:
    """Return an expression for a character of a pattern, with any style after it if it can be part of an emoji."""
    escaped = _SPECIAL.sub(lambda found: f"\\{found.group()}", character)
    return escaped if character == " " or unicodedata.category(character)[0] in "LM" else f"{escaped}[{_STYLES}]*"
