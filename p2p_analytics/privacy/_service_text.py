"""Errors without the service's own text, which may name people."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from p2p_analytics import settings
from p2p_analytics.errors import ServiceError

P = ParamSpec("P")
T = TypeVar("T")


def strip_service_text(load: Callable[P, T]) -> Callable[P, T]:
    """Strip the service's text from the errors that a function raises in privacy mode.

    The mode is the function's ``privacy=`` argument; without one, the environment variable ``P2P_PRIVACY``.
    """

    @functools.wraps(load)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return load(*args, **kwargs)
        except ServiceError as error:
            if not error.said or not settings.privacy(kwargs.get("privacy")):  # type: ignore[arg-type]
                raise
            stripped = error.without_words()
        raise stripped  # outside the except block, so that the original error is not its context

    return wrapper
