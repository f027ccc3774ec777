"""Redaction of secrets, in any encoding, in foreign text and exceptions."""

from __future__ import annotations

import base64
import contextlib
import re
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from p2p_analytics.auth._token import Secret

_SHORTEST: Final = 8  # characters of a secret; a shorter match may be chance
_LONGEST_TEXT: Final = 2**16
_MOST_LAYERS: Final = 4  # nested escapes, such as %2525
_MASK: Final = "***"
_PLAIN: Final = (int, float, complex, type, type(None))
_DEEPEST: Final = 4  # nested exceptions and sequences
_ATTRIBUTES: Final = types.MemberDescriptorType, types.GetSetDescriptorType  # not properties, which may run code
_ESCAPE: Final = re.compile(
    r"%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\u\{0*([0-9a-f]{1,5})\}|\\x([0-9a-f]{2})|&#x0*([0-9a-f]{1,4});?", re.IGNORECASE
)
_DECIMAL_ESCAPE: Final = re.compile(r"&#0*([0-9]{1,5});?")

# Characters of a text, each with its start and end in the original text.
_Characters = list[tuple[str, int, int]]


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Return the text with every piece of a secret replaced by asterisks.

    A piece is a run of eight letters or digits (a shorter secret counts as a whole), in upper or lower case, with
    any other characters in between, forwards or backwards; plain, hexadecimal or base64; also escaped as in
    URLs, JSON and HTML. A text that is too long to search is replaced as a whole.
    """
    values = [value for secret in secrets if (value := secret.reveal())]
    if len(text) > _LONGEST_TEXT:
        return _MASK
    hidden = {match.span() for value in values for match in re.finditer(re.escape(value), text)}
    pieces = {piece for value in values for piece in _pieces(value)}
    for layer in _layers(text):
        letters = [entry for entry in layer if _is_letter(entry[0])]
        joined = "".join(character for character, _, _ in letters).lower()
        for size in {len(piece) for piece in pieces}:
            for start in range(len(joined) - size + 1):
                if joined[start : start + size] in pieces:
                    first, last = letters[start], letters[start + size - 1]
                    hidden.add((min(first[1], last[1]), max(first[2], last[2])))
    kept, end = [], 0
    for start, stop in sorted(hidden):
        if start >= end:
            kept += [text[end:start], _MASK]
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def redact_exception(error: BaseException, secrets: Sequence[Secret]) -> None:
    """Replace secrets in the arguments, notes and attributes of an exception by asterisks, in place."""
    _redact_attributes(error, secrets, _DEEPEST)


def _pieces(value: str) -> Iterator[str]:
    """Yield the strings to search for: every run of eight letters and digits of each encoding, in lower case."""
    raw = value.encode("utf-8", "surrogatepass")
    encodings = [raw.hex(), raw[::-1].hex()]
    # Base64 encodes three bytes at a time; the characters at the ends depend on neighbouring bytes too.
    for offset in range(3):
        encoded = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
        encodings.append(encoded[(0, 2, 3)[offset] : len(encoded) - ((len(raw) + offset) % 3 > 0)])
    plain = _letters(value)
    for encoding in [plain, *(long for long in map(_letters, encodings) if len(long) >= _SHORTEST)]:
        size = min(_SHORTEST, len(encoding))
        yield from (encoding[start : start + size] for start in range(len(encoding) - size + 1) if size)


def _letters(text: str) -> str:
    return "".join(filter(_is_letter, text)).lower()


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _layers(text: str) -> Iterator[_Characters]:
    """Yield the text forwards and backwards, each unchanged and then decoded, one level of escapes at a time."""
    size = len(text)
    forwards = [(character, at, at + 1) for at, character in enumerate(text)]
    backwards = [(character, size - at - 1, size - at) for at, character in enumerate(reversed(text))]
    for layer in (forwards, backwards):
        for _ in range(_MOST_LAYERS):
            yield layer
            decoded = _unescape(layer)
            if len(decoded) == len(layer):
                break
            layer = decoded  # noqa: PLW2901 - the next layer


def _unescape(layer: _Characters) -> _Characters:
    for escape, radix in ((_ESCAPE, 16), (_DECIMAL_ESCAPE, 10)):
        text, decoded, end = "".join(character for character, _, _ in layer), [], 0
        for match in escape.finditer(text):
            first, last = layer[match.start()], layer[match.end() - 1]
            code = next(filter(None, match.groups()))
            decoded += layer[end : match.start()]
            decoded.append((chr(int(code, radix)), min(first[1], last[1]), max(first[2], last[2])))
            end = match.end()
        layer = decoded + layer[end:]
    return layer


def _redact_attributes(error: BaseException, secrets: Sequence[Secret], depth: int) -> None:
    built_in = {  # such as the object of a UnicodeError
        name
        for kind in type(error).__mro__
        for name, attribute in vars(kind).items()
        if isinstance(attribute, _ATTRIBUTES) and not name.startswith("__")
    }
    for name in {"args", "__notes__", *vars(error), *built_in}:
        value = getattr(error, name, None)
        redacted = _redact_value(value, secrets, depth)
        if redacted is not value:
            with contextlib.suppress(AttributeError, TypeError):  # a read-only view of other attributes
                setattr(error, name, redacted)


def _redact_value(value: Any, secrets: Sequence[Secret], depth: int) -> Any:  # noqa: ANN401 - whatever an exception holds
    """Return a value without the secrets; the same object if it shows none."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, str):
        redacted = redact(value, secrets)
        return value if redacted == value else redacted
    if isinstance(value, bytes | bytearray):
        text = value.decode("latin-1")
        return value if (redacted := redact(text, secrets)) == text else redacted.encode("latin-1")
    if isinstance(value, BaseException) and depth > 1:  # its arguments are one level deeper
        _redact_attributes(value, secrets, depth - 1)
        return value
    if type(value) in {tuple, list} and depth:
        items = [_redact_value(item, secrets, depth - 1) for item in value]
        return value if all(map(lambda a, b: a is b, items, value)) else type(value)(items)
    return _redact_object(value, secrets)


def _redact_object(value: object, secrets: Sequence[Secret]) -> object:
    """Return a placeholder if the repr of an object or of its attributes contains a secret, else the object."""
    with contextlib.suppress(Exception):  # a foreign repr may raise anything
        shown = f"{value!r} {getattr(value, '__dict__', None)!r}"
        if redact(shown, secrets) == shown:
            return value
    return f"<{type(value).__name__} ***>"
