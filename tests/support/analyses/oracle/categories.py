"""The category of a payment: the table of rules is read and applied one character at a time."""

from __future__ import annotations

import csv
import unicodedata
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import p2p_analytics
from support.analyses.oracle.rules import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from support.analyses.oracle.rules import Record

JOINER = "\u200d"
GENDERS = "\u2640\u2642"


def find_category(record: Record, rules: Sequence[Record] | None = None) -> str | None:
    """Return the category of the first rule that matches; rules with a person come first."""
    table = read_default_rules() if rules is None else rules
    for rule in [*filter(has_person, table), *(rule for rule in table if not has_person(rule))]:
        if has_person(rule) and not is_person(record, rule["person"]):
            continue
        if not rule["pattern"] or has_pattern(record["note"], rule["pattern"]):
            return str(rule["category"])
    return None


def has_person(rule: Record) -> bool:
    """Return whether a rule is for one person only."""
    return bool(rule.get("person"))


def read_default_rules() -> list[Record]:
    """Return the rows of the package's table."""
    return _read_default()


@cache
def _read_default() -> list[Record]:
    file = Path(p2p_analytics.__file__).parent / "analyses" / "categories.csv"
    return list(csv.DictReader(file.read_text("utf-8").splitlines()))


def is_person(record: Record, person: str | None) -> bool:
    """Return whether a rule is for everybody, or for the person of a record, by id or name."""
    return (
        not person or record["counterparty_id"] == person or normalise(record["counterparty_name"]) == normalise(person)
    )


@cache
def split(text: str | None) -> tuple[str, ...]:
    """Return the characters of a normalised text; an emoji of several is one, without skin tone, gender and style."""
    parts: list[str] = []
    text = unicodedata.normalize("NFD", normalise(text))
    for at, character in enumerate(text):
        before = text[at - 1] if at else ""
        if "\U0001f3fb" <= character <= "\U0001f3ff" or character in "\ufe0e\ufe0f":
            continue
        is_flag = "\U0001f1e6" <= character <= "\U0001f1ff"
        half = is_flag and parts and len(parts[-1]) == 1 and "\U0001f1e6" <= parts[-1] <= "\U0001f1ff"
        is_mark = unicodedata.category(character)[0] == "M" or "\U000e0020" <= character <= "\U000e007f"
        if parts and (is_mark or half or character in "\u200c\u200d" or before == JOINER):
            parts[-1] += character
        else:
            parts.append(character)
    return tuple(part if part.strip(JOINER + GENDERS) == "" else strip_gender(part) for part in parts)


def strip_gender(emoji: str) -> str:
    """Return an emoji without the sign of a woman or a man."""
    for gender in GENDERS:
        emoji = emoji.replace(JOINER + gender, "")
    return emoji


@cache
def has_pattern(text: str | None, pattern: str) -> bool:
    """Return whether a pattern is in a note; where it ends in a letter or digit, none may follow."""
    note, wanted = split(text), split(pattern)
    for at in range(len(note) - len(wanted) + 1):
        end = at + len(wanted)
        if note[at:end] != wanted:
            continue
        before, after = note[at - 1] if at else " ", note[end] if end < len(note) else " "
        if not (is_letter(wanted[0]) and is_letter(before)) and not (is_letter(wanted[-1]) and is_letter(after)):
            return True
    return False


def is_letter(part: str) -> bool:
    """Return whether a character is a letter or digit."""
    return unicodedata.category(part[0])[0] in "LN"
