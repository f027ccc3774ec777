"""A decorator that removes the frames of functions that handle secrets from exceptions.

Tracebacks with variables (``%xmode Verbose``, ``pytest --showlocals``, crash reporters) print the local variables
of every frame. Any exception can interrupt a function that handles a secret: Ctrl-C, a signal handler,
MemoryError, or an exception set by another thread.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Final, ParamSpec, TypeVar

from p2p_analytics.errors import P2PAnalyticsError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_DEEPEST: Final = 4
_NOTE: Final = "its frames are removed because they held a secret."


def hide_frames(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Remove the frames, cause and context from every exception that leaves the function.

    The exception object itself is kept, so code that raised it from outside recognises it. An unexpected error
    gets a note about where it was raised.
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
            # Python delivers a further interrupt only at calls and loops, and this block contains none.
            error.__traceback__ = error.__cause__ = error.__context__ = None
            failure = error
        del args, kwargs
        _detach(failure, _DEEPEST)
        raise failure

    return call


def _note_origin(error: Exception) -> None:
    if isinstance(error, P2PAnalyticsError) or any(_NOTE in note for note in getattr(error, "__notes__", ())):
        return
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is not None:
        code = trace.tb_frame.f_code
        place = f"{Path(code.co_filename).name}, line {trace.tb_lineno}, in {code.co_name}"
        error.add_note(f"Raised in {place}; {_NOTE}")


def _detach(error: BaseException, depth: int) -> None:
    """Remove frames, cause and context from the exceptions inside an exception, such as the members of a group."""
    for value in (*error.args, *vars(error).values(), *getattr(error, "exceptions", ())):
        if isinstance(value, BaseException) and depth:
            value.__traceback__ = value.__cause__ = value.__context__ = None
            _detach(value, depth - 1)
