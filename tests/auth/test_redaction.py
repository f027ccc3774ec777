"""Redaction of secrets in foreign text, in every encoding, without changing other text."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.auth import Secret, redact, redact_exception

if TYPE_CHECKING:
    from collections.abc import Callable

TOKEN = "Zk3vQ0x-W7pLr_T9sYb2NcJ5"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "backwards": lambda text: text[::-1],
    "upper case": str.upper,
    "lower case": str.lower,
    "other case": str.swapcase,
    "percent": lambda text: "".join(f"%{ord(char):02X}" for char in text),
    "percent in lower case": lambda text: "".join(f"%{ord(char):02x}" for char in text),
    "percent twice": lambda text: "".join(f"%25{ord(char):02X}" for char in text),
    "percent for every second": lambda text: "".join(
        f"%{ord(char):02X}" if at % 2 else char for at, char in enumerate(text)
    ),
    "JSON": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "JSON in JSON": lambda text: json.dumps("".join(f"\\u{ord(char):04x}" for char in text))[1:-1],
    "Python": lambda text: "".join(f"\\x{ord(char):02x}" for char in text),
    "HTML": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "HTML without semicolons": lambda text: "".join(f"&#{ord(char)}" for char in text),
    "HTML in hexadecimal without semicolons": lambda text: "".join(f"&#x{ord(char):X}" for char in text),
    "JavaScript": lambda text: "".join(f"\\u{{{ord(char):x}}}" for char in text),
    "hexadecimal of the reverse": lambda text: text[::-1].encode().hex(),
    "HTML in hexadecimal": lambda text: "".join(f"&#x{ord(char):X};" for char in text),
    "blanks": " ".join,
    "lines": lambda text: "\r\n".join(split_text(text, 5)),
    "dashes": "-".join,
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of an address": lambda text: base64.b64encode(f"access_token={text}".encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(f"?{text}&".encode()).decode(),
}


def split_text(text: str, size: int) -> list[str]:
    """Return a text in pieces."""
    return [text[start : start + size] for start in range(0, len(text), size)]


tokens = st.tuples(
    st.text(LETTERS, min_size=8, max_size=8), st.text(LETTERS + "-_.~", max_size=48), st.sampled_from(LETTERS)
).map("".join)
surroundings = st.text(" :;,.!?'\"(){}<>=/äöü\n☃", max_size=30)
spellings = st.sampled_from(sorted(SPELLINGS))


@settings(max_examples=70)
@given(tokens, spellings, surroundings, surroundings)
def test_every_encoding_is_redacted(token: str, name: str, before: str, after: str) -> None:
    """In every encoding, forwards or backwards, at most the two ends of a base64 text remain."""
    for spelled in (SPELLINGS[name](token), SPELLINGS[name](token)[::-1]):
        shown = redact(f"{before}{spelled}{after}", [Secret("something-else-0"), Secret(token)])
        assert "***" in shown
        left = [letter for letter in shown if letter in LETTERS]
        spare = len("access_token") * 2 if name.startswith("base64") else 0
        assert len(left) <= spare, shown


@settings(max_examples=50)
@given(tokens, st.data())
def test_a_fragment_of_eight_characters_is_redacted(token: str, data: st.DataObject) -> None:
    """Eight consecutive letters or digits are redacted; the text around them is kept."""
    letters = [at for at, letter in enumerate(token) if letter in LETTERS]
    start = data.draw(st.integers(0, len(letters) - 8))
    size = data.draw(st.integers(8, len(letters) - start))
    piece = token[letters[start] : letters[start + size - 1] + 1]
    assert redact(f"«{piece}» ?", [Secret(token)]) == "«***» ?"


@settings(max_examples=20)
@given(st.text(max_size=200), tokens)
def test_text_without_the_token_is_unchanged(text: str, token: str) -> None:
    """A text without characters of a token is unchanged."""
    kept = "".join(char for char in text if not (char.isascii() and char.isalnum()))
    assert redact(kept, [Secret(token)]) == kept


@pytest.mark.parametrize(
    "text",
    ["The access token is invalid.", "limit=50&before=2024-05-01T12:00:00", "", "***", "Zk3vQ0x W7", "%zz \\u12"],
)
def test_sentences_are_unchanged(text: str) -> None:
    """A service's sentences, and fewer than eight characters of a token, are unchanged."""
    assert redact(text, [Secret(TOKEN[:7]), Secret("x" * 40)] if "Zk" not in text else [Secret("Zk3vQ0x_Y")]) == text


def test_unusual_secrets_and_texts() -> None:
    """A short secret or one without letters is redacted only as a whole; an empty secret redacts nothing.

    Overlapping secrets are all redacted, and a text that is too long to search is replaced as a whole.
    """
    assert redact("abc: a-B-c, cba, ab", [Secret("abc")]) == "***: ***, ***, ab"
    assert redact("say -_-, not - _", [Secret("-_-")]) == "say ***, not - _"
    assert redact("nothing", [Secret("")]) == redact("nothing", []) == "nothing"
    assert redact("<abcdefghijkl>", [Secret("abcdefgh"), Secret("efghijkl")]) == "<***>"
    assert redact("abcdefgh and 12345678", [Secret("abcdefgh"), Secret("12345678")]) == "*** and ***"
    assert redact("x" * 70_000, [Secret(TOKEN)]) == "***"


@pytest.mark.parametrize("depth", [0, 1, 3, 4, 7])
@pytest.mark.parametrize(
    "inner", [TOKEN, TOKEN.encode(), {"a": TOKEN}, ValueError(TOKEN)], ids=lambda one: type(one).__name__
)
def test_nested_arguments_are_redacted(depth: int, inner: object) -> None:
    """A secret at any depth in an exception's arguments is redacted."""
    held: object = inner if not isinstance(inner, ValueError) else ValueError(TOKEN)
    for _ in range(depth):
        held = [held, "kept"]
    error = RuntimeError(held)
    redact_exception(error, [Secret(TOKEN)])
    assert TOKEN not in repr(error)
    assert "***" in repr(error)
