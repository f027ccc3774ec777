"""Decoding of a response body, once: the cache and the caller share the result.

A response hook decodes the body of each success before requests-cache decides whether to store it, and
leaves the result on the response. Only a body that its decoder accepts is stored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from requests import Response

from p2p_analytics.errors import ServiceError

SUCCESSES = range(200, 300)


def make_decoding_hook(decode: Callable[[bytes], object]) -> Callable[..., None]:
    """Return a response hook that decodes a success; requests-cache calls hooks twice, the second call does nothing."""

    def hook(response: Response, **_: Any) -> None:  # noqa: ANN401 - options of the request
        if response.status_code in SUCCESSES and not hasattr(response, "decoded"):
            try:
                decoded = decode(response.content)
            except ServiceError as error:
                decoded = error.with_traceback(None)
            response.decoded = decoded  # type: ignore[attr-defined]

    return hook


def get_decoded(response: Response) -> Any:  # noqa: ANN401 - whatever the decoder returns
    """Return the decoded body, or the ServiceError that its decoder raised."""
    return response.decoded  # type: ignore[attr-defined]


def is_decoded(response: Response) -> bool:
    """Return whether a response may be stored; requests-cache asks this of stored ones too, before their hook runs."""
    return getattr(response, "from_cache", False) or not isinstance(getattr(response, "decoded", None), ServiceError)
