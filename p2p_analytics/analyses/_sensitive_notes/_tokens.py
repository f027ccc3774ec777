"""Notes as sequences of words and emoji in the form in which they are compared."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_SKIN_TONES: Final = range(0x1F3FB, 0x1F400)
_DROPPED: Final = frozenset({"Mn", "Me", "Cf"})  # accents, key caps, variation selectors, joiners
_QUOTES: Final = dict.fromkeys("\u2018\u2019\u02bc\u00b4`", "'")
# An amount is not a token. A flag is a pair of special letters; each other symbol is one token.
_TOKEN: Final = re.compile(r"[$€£¥]\s?\d[\d.,]*|([^\W_]+|[\U0001F1E6-\U0001F1FF]{2}|[^\w\s\x00-\xbf\u2000-\u206f])")
_AT: Final = re.compile(r"(?<!\S)@(?!\S)")
_REPEATED: Final = re.compile(r"(.)\1{2,}")
_DOUBLED: Final = re.compile(r"([a-z])\1")
_LONG: Final = 6
_DIGITS_AS_LETTERS: Final = str.maketrans("013457", "oieast")
_SHORTEST_PLURAL: Final = 4
_LONGEST_WORD: Final = 64
_MIXED: Final = re.compile(r"\d[a-z]|[a-z]\d")


class _Folds(dict[int, str]):
    """What each character becomes; filled as characters are met, so that a text takes one pass."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if code in _SKIN_TONES:
            folded = ""
        elif character in _QUOTES:
            folded = _QUOTES[character]
        else:
            plain = unicodedata.normalize("NFKD", character)
            folded = "".join(each for each in plain if unicodedata.category(each) not in _DROPPED)
        self[code] = folded
        return folded


_FOLDS: Final = _Folds()


def fold(note: str) -> str:
    """Return a note in lower case, with plain letters and straight apostrophes, without accents and skin tones."""
    return (note if note.isascii() else note.translate(_FOLDS)).lower()


def split_tokens(folded: str) -> list[str]:
    """Return the words and emoji of a folded text; apostrophes and other punctuation are left out."""
    text = _AT.sub("at", folded).replace("&", " and ").replace("'", "")
    return [token for token in _TOKEN.findall(text) if token]


def collapse(word: str) -> str:
    """Return a long word with single letters in place of double ones, which are often misspelt."""
    return _DOUBLED.sub(r"\1", word) if len(word) >= _LONG else word


def spell_forms(token: str) -> tuple[str, ...]:
    """Return the forms by which a list may hold a word: as it is, with fewer repeated letters, singular."""
    if len(token) > _LONGEST_WORD:
        return ()
    forms = [token]
    if _REPEATED.search(token):
        forms += [_REPEATED.sub(r"\1\1", token), _REPEATED.sub(r"\1", token)]
    forms.append(collapse(token))
    if token.endswith("z"):
        forms.append(token[:-1] + "s")
    if _MIXED.search(token):
        forms.append(token.translate(_DIGITS_AS_LETTERS))
    for form in tuple(forms):
        if form.endswith("s") and not form.endswith("ss") and len(form) >= _SHORTEST_PLURAL:
            forms.append(form[:-1])
            if form.endswith("ies"):
                forms.append(form[:-3] + "y")
            elif form.endswith("es"):
                forms.append(form[:-2])
    return tuple(dict.fromkeys(forms))
