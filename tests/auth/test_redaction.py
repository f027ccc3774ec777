"""Redaction of secrets in foreign text, in every encoding, without changing other text."""

import base64
import json
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.auth import Secret, redact, redact_exception

TOKEN = "Zk3vQ0x-W7pLr_T9sYb2NcJ5"
LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"


def escape(form: str, every: int = 1) -> Callable[[str], str]:
    """Return a function that writes the code of each character, or of every second one, in a form."""
    return lambda text: "".join(char if at % every else form.format(ord(char)) for at, char in enumerate(text))


SPELLINGS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "backwards": lambda text: text[::-1],
    "upper case": str.upper,
    "lower case": str.lower,
    "other case": str.swapcase,
    "percent": escape("%{:02X}"),
    "percent in lower case": escape("%{:02x}"),
    "percent twice": escape("%25{:02X}"),
    "percent for every second": escape("%{:02X}", every=2),
    "JSON": escape("\\u{:04x}"),
    "JSON in JSON": lambda text: json.dumps(escape("\\u{:04x}")(text))[1:-1],
    "Python": escape("\\x{:02x}"),
    "JavaScript": escape("\\u{{{:x}}}"),
    "HTML": escape("&#{};"),
    "HTML without semicolons": escape("&#{}"),
    "HTML in hexadecimal": escape("&#x{:X};"),
    "HTML in hexadecimal without semicolons": escape("&#x{:X}"),
    "blanks": " ".join,
    "lines": lambda text: "\r\n".join(text[start : start + 5] for start in range(0, len(text), 5)),
    "dashes": "-".join,
    "hexadecimal": lambda text: text.encode().hex(),
    "hexadecimal of the reverse": lambda text: text[::-1].encode().hex(),
    "hexadecimal with colons": lambda text: text.encode().hex(":"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of an address": lambda text: base64.b64encode(f"access_token={text}".encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(f"?{text}&".encode()).decode(),
}
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


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("The access token is invalid.", TOKEN), ("limit=50&before=2024-05-01T12:00:00", TOKEN), ("", TOKEN),
        ("***", TOKEN), ("%zz \\u12", TOKEN), ("Zk3vQ0x W7", "Zk3vQ0x_Y"),
    ],
)  # fmt: skip
def test_sentences_are_unchanged(text: str, secret: str) -> None:
    """A service's sentences, and fewer than eight characters of a token, are unchanged."""
    assert redact(text, [Secret(secret), Secret("x" * 40)]) == text


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
@pytest.mark.parametrize("kind", [str, str.encode, lambda text: {"a": text}, ValueError])
def test_nested_arguments_are_redacted(depth: int, kind: Callable[[str], object]) -> None:
    """A secret at any depth in an exception's arguments is redacted."""
    held = kind(TOKEN)
    for _ in range(depth):
        held = [held, "kept"]
    error = RuntimeError(held)
    redact_exception(error, [Secret(TOKEN)])
    assert (TOKEN in repr(error), "***" in repr(error)) == (False, True)
