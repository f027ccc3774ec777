"""Removal of secrets from foreign texts and exceptions, however they are spelled there."""

from __future__ import annotations

import base64
import contextlib
import re
import types
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from p2p_analytics.auth._token import Secret

_SHORTEST: Final = 8  # characters of a secret that count as a piece of it
_LONGEST_TEXT: Final = 2**16
_MOST_LAYERS: Final = 4  # of escapes inside escapes
_HIDDEN: Final = "***"
_PLAIN: Final = (int, float, complex, type, type(None))
_DEEPEST: Final = 4
_ATTRIBUTES: Final = types.MemberDescriptorType, types.GetSetDescriptorType  # without properties, which may run code
_ESCAPE: Final = re.compile(
    r"%([0-9a-f]{2})|\\u([0-9a-f]{4})|\\u\{0*([0-9a-f]{1,5})\}|\\x([0-9a-f]{2})|&#x0*([0-9a-f]{1,4});?", re.IGNORECASE
)
_DECIMAL_ESCAPE: Final = re.compile(r"&#0*([0-9]{1,5});?")

# A character of a text, with where in the original text it begins and ends.
_Spelled = list[tuple[str, int, int]]


def redact(text: str, secrets: Iterable[Secret]) -> str:
    """Replace every piece of a secret by asterisks.

    A piece is eight letters or digits in a row (all of them in a shorter secret), in upper or lower case, with
    anything else in between, forwards or backwards; plain, hexadecimal or base64; and all that escaped as in
    addresses, JSON and HTML. A text that is too long to be searched is hidden as a whole.
    """
    values = [value for secret in secrets if (value := secret.reveal())]
    if len(text) > _LONGEST_TEXT:
        return _HIDDEN
    hidden = {match.span() for value in values for match in re.finditer(re.escape(value), text)}
    pieces = {piece for value in values for piece in _pieces(value)}
    hidden |= {span for layer in _layers(text) for span in _found(layer, pieces)}
    kept, end = [], 0
    for start, stop in sorted(hidden):
        if start >= end:
            kept += [text[end:start], _HIDDEN]
        end = max(end, stop)
    return "".join([*kept, text[end:]])


def scrub(error: BaseException, secrets: Sequence[Secret]) -> None:
    """Replace secrets in the arguments, notes and attributes of an exception by asterisks."""
    _scrub(error, secrets, _DEEPEST)


def _pieces(value: str) -> Iterator[str]:
    """Yield what to look for: each run of so many letters and digits of each spelling, in lower case."""
    raw = value.encode("utf-8", "surrogatepass")
    spellings = [raw.hex(), raw[::-1].hex()]
    for offset in range(3):  # base64 spells three bytes at a time; the characters at the ends belong to others too
        spelled = base64.b64encode(bytes(offset) + raw).decode().rstrip("=")
        spellings.append(spelled[(0, 2, 3)[offset] : len(spelled) - ((len(raw) + offset) % 3 > 0)])
    plain = _letters(value)
    for spelling in [plain, *(long for long in map(_letters, spellings) if len(long) >= _SHORTEST)]:
        size = min(_SHORTEST, len(spelling))
        yield from (spelling[start : start + size] for start in range(len(spelling) - size + 1) if size)


def _letters(text: str) -> str:
    return "".join(filter(_is_letter, text)).lower()


def _is_letter(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _layers(text: str) -> Iterator[_Spelled]:
    """Yield a text forwards and backwards, each as it is and with its escapes replaced, layer by layer."""
    size = len(text)
    forwards = [(character, at, at + 1) for at, character in enumerate(text)]
    backwards = [(character, size - at - 1, size - at) for at, character in enumerate(reversed(text))]
    for layer in (forwards, backwards):
        for _ in range(_MOST_LAYERS):
            yield layer
            plainer = _unescaped(layer)
            if len(plainer) == len(layer):
                break
            layer = plainer  # noqa: PLW2901 - the next layer


def _unescaped(layer: _Spelled) -> _Spelled:
    for escape, radix in ((_ESCAPE, 16), (_DECIMAL_ESCAPE, 10)):
        text, plainer, end = "".join(character for character, _, _ in layer), [], 0
        for match in escape.finditer(text):
            first, last = layer[match.start()], layer[match.end() - 1]
            code = next(filter(None, match.groups()))
            plainer += layer[end : match.start()]
            plainer.append((chr(int(code, radix)), min(first[1], last[1]), max(first[2], last[2])))
            end = match.end()
        layer = plainer + layer[end:]
    return layer


def _found(layer: _Spelled, pieces: set[str]) -> Iterator[tuple[int, int]]:
    """Yield where in the original text the pieces are."""
    letters = [spelled for spelled in layer if _is_letter(spelled[0])]
    text = "".join(character for character, _, _ in letters).lower()
    for size in {len(piece) for piece in pieces}:
        for start in range(len(text) - size + 1):
            if text[start : start + size] in pieces:
                first, last = letters[start], letters[start + size - 1]
                yield min(first[1], last[1]), max(first[2], last[2])


def _scrub(error: BaseException, secrets: Sequence[Secret], depth: int) -> None:
    built_in = {  # such as the object of a UnicodeError
        name
        for kind in type(error).__mro__
        for name, attribute in vars(kind).items()
        if isinstance(attribute, _ATTRIBUTES) and not name.startswith("__")
    }
    for name in {"args", "__notes__", *vars(error), *built_in}:
        value = getattr(error, name, None)
        cleaned = _cleaned(value, secrets, depth)
        if cleaned is not value:
            with contextlib.suppress(AttributeError, TypeError):  # a read-only view of other attributes
                setattr(error, name, cleaned)


def _cleaned(value: Any, secrets: Sequence[Secret], depth: int) -> Any:  # noqa: ANN401 - whatever an exception holds
    """Return a value without the secrets; the very same object where it shows none."""
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, str):
        cleaned = redact(value, secrets)
        return value if cleaned == value else cleaned
    if isinstance(value, bytes | bytearray):
        text = value.decode("latin-1")
        return value if (cleaned := redact(text, secrets)) == text else cleaned.encode("latin-1")
    if isinstance(value, BaseException) and depth > 1:  # its arguments are one deeper
        _scrub(value, secrets, depth - 1)
        return value
    if type(value) in {tuple, list} and depth:
        items = [_cleaned(item, secrets, depth - 1) for item in value]
        return value if all(map(lambda a, b: a is b, items, value)) else type(value)(items)
    return f"<{type(value).__name__} ***>" if _shows(value, secrets) else value


def _shows(value: object, secrets: Sequence[Secret]) -> bool:
    """Return whether the repr of an object, or of its attributes, holds a secret."""
    try:
        shown = f"{value!r} {getattr(value, '__dict__', None)!r}"
    except Exception:  # noqa: BLE001 - a foreign repr may raise anything
        return True
    return redact(shown, secrets) != shown
