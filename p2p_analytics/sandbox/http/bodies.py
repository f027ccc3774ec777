"""Request bodies: parameters from query, form, multipart or JSON.

The document shows forms for POST and nothing for PUT; real clients use all of these.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import Request

from p2p_analytics.sandbox.errors import InvalidParameterError
from p2p_analytics.sandbox.http.parameters import Parameters, header_values
from p2p_analytics.vocabulary import CREATE_PAYMENT, RESOLVE_PAYMENT

_MOST_FIELDS: Final = 100
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*("?)utf-?8\1\s*(?=;|$)')
_KNOWN: Final = frozenset(CREATE_PAYMENT.parameters + RESOLVE_PAYMENT.parameters)
# JSON can escape lone surrogates, but UTF-8 and the database cannot store them.
_LONE_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNREADABLE: Final = "The body cannot be read: send a form, multipart or JSON."

Pairs = list[tuple[str, str]]


async def read_parameters(request: Request) -> Parameters:
    """Return the parameters of query and body together.

    Raises
    ------
    InvalidParameterError
        The body has another media type, is malformed, or is not UTF-8.
    """
    pairs = parse_urlencoded(request.scope["query_string"])
    fields = await _read_fields(request)
    if fields is None:
        kind, _ = media_type(request)
        body = await request.body()
        if not body.strip():
            fields = []
        # Some clients send no Content-Type: a leading brace means JSON.
        elif kind == "application/json" or kind.endswith("+json") or (not kind and body.lstrip()[:1] == b"{"):
            fields = _parse_json(body)
        elif kind:
            raise InvalidParameterError(_UNREADABLE)
        else:
            fields = parse_urlencoded(body)
    return Parameters([*pairs, *fields])


async def read_form(request: Request) -> Parameters:
    """Return the fields of a form, urlencoded or multipart; files and other bodies are ignored."""
    return Parameters(await _read_fields(request) or [])


async def _read_fields(request: Request) -> Pairs | None:
    """Return the fields of a form, or None if the body has another media type; files are left out."""
    kind, more = media_type(request)
    body = await request.body()
    if kind == "application/x-www-form-urlencoded":
        return parse_urlencoded(body)
    if kind != "multipart/form-data":
        return None
    # Starlette decodes with any codec that the client names, and falls back to Latin-1 for invalid bytes.
    if "charset" in _CHARSET.sub("", more):
        raise InvalidParameterError("The body's charset must be UTF-8.")
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidParameterError(_UNREADABLE) from None
    async with request.form(max_files=0, max_fields=_MOST_FIELDS) as form:
        return require_text([(name, value) for name, value in form.multi_items() if not isinstance(value, UploadFile)])


def parse_urlencoded(text: bytes) -> Pairs:
    """Return the fields of a query or an urlencoded form.

    Raises
    ------
    InvalidParameterError
        There are too many, or they are not UTF-8: with replacement characters another text would be stored.
    """
    try:
        return parse_qsl(
            text.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=_MOST_FIELDS, separator="&"
        )
    except ValueError:
        raise InvalidParameterError(_UNREADABLE) from None


def parse_object(body: bytes) -> dict[str, Any]:
    """Return a JSON object."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidParameterError("The body is not a JSON object.")
    return found


def require_text(pairs: Pairs) -> Pairs:
    """Return the pairs; refuse lone surrogates."""
    if any(_LONE_SURROGATE.search(value) for _, value in pairs):
        raise InvalidParameterError("The body has a lone surrogate, which is not valid text.")
    return pairs


def media_type(request: Request) -> tuple[str, str]:
    """Return the media type of the body, and the parameters of its header."""
    kinds = header_values(request.scope, b"content-type")
    kind, semicolon, more = kinds[0].lower().partition(";") if kinds else ("", "", "")
    return kind.strip(), semicolon + more


def _parse_json(body: bytes) -> Pairs:
    """Return the fields of a JSON object; numbers keep their digits, null means missing."""

    def refuse(word: str) -> str:
        raise ValueError(word)

    try:
        # Pairs keep repeated names, and numbers stay text, because a binary float is not exact.
        found = json.loads(body, parse_float=str, parse_int=str, parse_constant=refuse, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, _Object):
        raise InvalidParameterError(_UNREADABLE)
    for name, value in found:
        if name in _KNOWN and not isinstance(value, str | None):
            raise InvalidParameterError(f"{name} must be text or a number.")
    return require_text([(name, value) for name, value in found if isinstance(value, str)])


class _Object(list[tuple[str, object]]):
    """A JSON object as a list of pairs."""
