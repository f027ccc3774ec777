"""The project's texts use plain technical English: no avoided word, no function named by a bare participle."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("p2p_analytics", "tests", "docs", "data", "notebooks")
# A standard term says the same.
AVOIDED = re.compile(
    r"\b(?:anew|whose|tells?|told|telling|(?:stands?|stood|standing) in|stand-ins?|(?:some|any|no)body"
    r"|[Ww]hat (?:is|are|of)|(?:lays?|laid|laying) out|away with|so (?:many|few)|beforehand|as (?:it|they) came"
    r"|[Tt]hose (?:who|that|which))\b"
)
# Endings alone would find nouns and verbs too. A participle before a noun, as in `allowed_methods`, is an adjective;
# before a particle it is the name's verb.
PARTICIPLE = re.compile(
    r"_*(?!(?:bed|embed|exceed|feed|need|proceed|red|seed|shared|shed|speed)(?:_|$))"
    r"(?:[a-z]+ed|begun|bought|bound|broken|brought|built|caught|chosen|done|drawn|driven|fallen|found|given|gone|grown"
    r"|held|hidden|kept|known|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sold|spent|spoken|taken|thrown"
    r"|told|won|worn|written)(?:_(?:as|at|back|by|down|for|from|in|into|of|off|on|out|to|up|with)(?:_.*)?)?"
)
PUBLIC_NAMES = {("_history.py", "masked"), ("_statements.py", "masked")}


def list_passages(path: Path, source: str) -> list[str]:
    """Return comments and texts with a blank in Python code, and the prose of Markdown and HTML."""
    if path.suffix != ".py":
        return [re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", source, flags=re.DOTALL | re.MULTILINE)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    return [token.string for token in tokens if token.type in texts and " " in token.string.strip()]


def find_offenders(path: Path) -> list[str]:
    """Return the avoided words of a file, and its functions that are named by a bare participle."""
    source = path.read_text(encoding="utf-8")
    found = [match[0] for text in list_passages(path, source) for match in AVOIDED.finditer(text)]
    if path.suffix == ".py":
        for decorators, name in re.findall(r"((?:@.*\n *)*)(?:async )?def (\w+)\(", source):
            is_property = re.search(r"property|\.setter", decorators)
            if PARTICIPLE.fullmatch(name) and not is_property and (path.name, name) not in PUBLIC_NAMES:
                found.append(name)
    return found


def test_no_avoided_word_and_no_bare_participle() -> None:
    """Docstrings, comments, messages and documents avoid the words; functions are named by verb phrases."""
    suffixes = {".py", ".md", ".html", ".jinja"}
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    paths += ROOT.glob("*.md")
    paths.remove(Path(__file__))  # gives examples
    assert len(paths) > 300
    assert {str(path): found for path in paths if (found := find_offenders(path))} == {}


@pytest.mark.parametrize(
    ("name", "source", "expected"),
    [
        ("m.py", '"""Ask for the page anew."""', ["anew"]),
        ("m.py", "retries = 3  # nobody asked for more", ["nobody"]),
        ("m.py", 'raise ValueError("the token, whose end is unknown, tells nothing")', ["whose", "tells"]),
        ("m.py", "def gathered(): ...", ["gathered"]),
        ("m.py", "def _sent_by(person): ...", ["_sent_by"]),
        ("m.py", "def allowed_methods(): ...\ndef feed(): ...", []),
        ("m.py", "class Page:\n    @property\n    def loaded(self): ...", []),
        ("m.py", "whose = anew + told", []),
        ("m.md", "Plain.\n```\nanew\n```\n`whose` is so many\n", ["so many"]),
    ],
)
def test_the_check_sees_words_and_names(name: str, source: str, expected: list[str], tmp_path: Path) -> None:
    """Comments, docstrings, messages, prose and function names are searched; other names and code are not."""
    (tmp_path / name).write_text(source, encoding="utf-8")
    assert find_offenders(tmp_path / name) == expected
