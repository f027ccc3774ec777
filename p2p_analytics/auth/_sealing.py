"""Exceptions that leave a function without the frames, causes and texts that hold a secret.

Tracebacks with variables (``%xmode Verbose``, ``pytest --showlocals``, crash reporters) print what the
frames of an exception hold. Any exception can interrupt a function that handles a secret: Ctrl-C, a signal
handler, MemoryError, or one that another thread sets.
"""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from p2p_analytics.auth._redaction import redact
from p2p_analytics.errors import P2PAnalyticsError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from p2p_analytics.auth._token import Secret

_P = ParamSpec("_P")
_T = TypeVar("_T")
_PLAIN: Final = (int, float, complex, type, type(None))
_DEEPEST: Final = 4


def sealed(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let every exception leave a function without its frames, and without its cause and context.

    The exception object stays the same one, so whoever raised it from outside recognises it. An unexpected
    error gets a note that says where it was raised.
    """

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        try:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                _note_origin(error)
                raise
        except BaseException as error:  # noqa: BLE001 - raised again below
            # Python delivers a further interrupt only at calls and loops, of which there are none here.
            error.__traceback__ = error.__cause__ = error.__context__ = None
            failure = error
        del args, kwargs
        _detach(failure, _DEEPEST)
        raise failure

    return call


def scrub(error: BaseException, secrets: Sequence[Secret]) -> None:
    """Replace secrets in the arguments, notes and attributes of an exception by asterisks."""
    _scrub(error, secrets, _DEEPEST)


def _note_origin(error: Exception) -> None:
    if isinstance(error, P2PAnalyticsError):
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        code = trace.tb_frame.f_code
        place = f"{Path(code.co_filename).name}, line {trace.tb_lineno}, in {code.co_name}"
        error.add_note(f"Raised in {place}; the frames are left out because they held a secret.")


def _detach(error: BaseException, depth: int) -> None:
    """Drop the frames, causes and contexts of the exceptions that an exception carries, such as those of a group."""
    for value in (*error.args, *vars(error).values(), *getattr(error, "exceptions", ())):
        if isinstance(value, BaseException) and depth:
            value.__traceback__ = value.__cause__ = value.__context__ = None
            _detach(value, depth - 1)


def _scrub(error: BaseException, secrets: Sequence[Secret], depth: int) -> None:
    names = {"args", "__notes__", *vars(error), *(name for name in dir(error) if not name.startswith("_"))}
    for name in names:
        value = getattr(error, name, None)
        cleaned = _cleaned(value, secrets, depth)
        if cleaned is not value:
            with contextlib.suppress(AttributeError, TypeError):  # a read-only view of other attributes
                setattr(error, name, cleaned)


def _cleaned(value: Any, secrets: Sequence[Secret], depth: int) -> Any:  # noqa: ANN401 - whatever an exception holds
    """Return a value without the secrets; the very same object where it shows none."""
    if isinstance(value, _PLAIN) or depth == 0:
        return value
    if isinstance(value, str):
        cleaned = redact(value, secrets)
        return value if cleaned == value else cleaned
    if isinstance(value, bytes | bytearray):
        text = value.decode("latin-1")
        return value if (cleaned := redact(text, secrets)) == text else cleaned.encode("latin-1")
    if isinstance(value, BaseException):
        _scrub(value, secrets, depth - 1)
        return value
    if type(value) in {tuple, list}:
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
