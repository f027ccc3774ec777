"""The word and emoji lists of sensitive notes, from the file ``sensitive_notes.csv``.

A row of the file is a pattern with its reason: a word, a phrase or emoji. Where several match, the longest wins.

- A reason in braces, such as ``{town}``, is a list of the file; ``{town}`` in a pattern is every member of that list.
- The reason ``harmless`` belongs to phrases in which a word means something else: "pot luck".
- ``*`` before or after a word: a word that ends or begins with it; ends have at least three more letters before them.
- ``=`` before a pattern: it counts if the note has nothing but such patterns.
- ``needs`` and ``unless`` name a list: the pattern counts if the note has a member of it, or if it has none.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import Final, NamedTuple

from p2p_analytics.analyses._sensitive_notes._tokens import collapse, fold, spell_forms, split_tokens

_FILE: Final = "sensitive_notes.csv"
_HARMLESS: Final = "harmless"
_WHOLE: Final = "="
_REST: Final = "*"
_FEWEST_BEFORE_END: Final = 3
_FEWEST_LETTERS: Final = 8  # of a phrase that is also found written as one word


class Pattern(NamedTuple):
    """What a pattern means where it is found."""

    reason: str
    is_whole: bool
    needs: str
    unless: str


class _Node:
    """The patterns that end here, and the next words of longer ones."""

    __slots__ = ("following", "patterns")

    def __init__(self) -> None:
        self.following: dict[str, _Node] = {}
        self.patterns: list[Pattern] = []


class Lists:
    """Patterns by their words.

    Parameters
    ----------
    rows : iterable of dict
        The rows of the file.
    """

    def __init__(self, rows: Iterable[dict[str, str]]) -> None:
        self._root = _Node()
        self._ends: dict[str, _Node] = {}
        self._beginnings: dict[str, _Node] = {}
        self._starts = lru_cache(maxsize=1 << 16)(self._find_starts)
        table = list(rows)
        self._members: dict[str, list[str]] = {}
        for row in table:
            if row["reason"].startswith("{"):
                self._members.setdefault(row["reason"], []).append(row["pattern"])
        for row in table:
            self._add_row(row)

    def find(self, tokens: Sequence[str]) -> set[str]:
        """Return the reasons of the patterns in the words of a note."""
        found: set[Pattern] = set()
        at = covered = 0
        while at < len(tokens):
            length, patterns = self._match(tokens, at)
            found.update(patterns)
            covered += length if any(pattern.is_whole for pattern in patterns) else 0
            at += length or 1
        reasons = {pattern.reason for pattern in found}
        return {
            pattern.reason
            for pattern in found
            if (not pattern.is_whole or covered == len(tokens))
            and (not pattern.needs or pattern.needs in reasons)
            and not (pattern.unless and pattern.unless in reasons)
        }

    def _add_row(self, row: dict[str, str]) -> None:
        reason = "" if row["reason"] == _HARMLESS else row["reason"]
        text = row["pattern"].removeprefix(_WHOLE)
        pattern = Pattern(reason, text != row["pattern"], row["needs"] or "", row["unless"] or "")
        if _REST in text:
            parts = self._ends if text.startswith(_REST) else self._beginnings
            parts.setdefault(text.strip(_REST), _Node()).patterns.append(pattern)
            return
        for phrase in self._expand(text):
            words = split_tokens(fold(phrase))
            self._add(words, pattern)
            if len(words) == 1 and (single := collapse(words[0])) != words[0]:
                self._add([single], pattern)
            joined = "".join(words)
            if len(words) > 1 and len(joined) >= _FEWEST_LETTERS and joined.isalnum():
                self._add([joined], pattern)

    def _expand(self, text: str) -> list[str]:
        """Return the phrases of a pattern, one for each member of the lists that it names."""
        before, brace, rest = text.partition("{")
        if not brace:
            return [text]
        name, _, after = rest.partition("}")
        ends = self._expand(after)
        return [f"{before}{member}{end}" for member in self._members["{" + name + "}"] for end in ends]

    def _add(self, words: Sequence[str], pattern: Pattern) -> None:
        node = self._root
        for word in words:
            node = node.following.setdefault(word, _Node())
        node.patterns.append(pattern)

    def _find_starts(self, word: str) -> tuple[_Node, ...]:
        forms = spell_forms(word)
        following = self._root.following
        starts = [following[form] for form in forms if form in following]
        if word.isdecimal():
            return tuple(starts)
        starts += [node for beginning, node in self._beginnings.items() if word.startswith(beginning)]
        starts += [
            node
            for end, node in self._ends.items()
            if any(form.endswith(end) and len(form) >= len(end) + _FEWEST_BEFORE_END for form in forms)
        ]
        return tuple(starts)

    def _match(self, tokens: Sequence[str], at: int) -> tuple[int, list[Pattern]]:
        """Return the number of words of the longest match at a place, 0 for none, and its patterns."""
        nodes = self._starts(tokens[at])
        best: tuple[int, list[Pattern]] = (0, [])
        for length in range(1, len(tokens) - at + 1):
            # The first form of a word is the word itself, so that "shots" wins over "shot".
            if patterns := next((node.patterns for node in nodes if node.patterns), None):
                best = (length, patterns)
            if at + length == len(tokens) or not any(node.following for node in nodes):
                break
            forms = spell_forms(tokens[at + length])
            nodes = tuple(node.following[form] for node in nodes for form in forms if form in node.following)
        return best


@cache
def load_lists() -> Lists:
    """Return the lists of the package."""
    text = resources.files("p2p_analytics.analyses").joinpath(_FILE).read_text(encoding="utf-8")
    return Lists(csv.DictReader(text.splitlines()))
