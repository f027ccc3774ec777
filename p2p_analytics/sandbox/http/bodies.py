"""Request bodies: parameters from query, form, multipart or JSON.

The document shows forms for POST and nothing for PUT; real clients use all of these.
"""

from __future__ import annotations

import json
import re
from typing import Final
from urllib.parse import parse_qsl

from starlette.datastructures import UploadFile
from starlette.requests import Request

from p2p_analytics.sandbox.errors import InvalidParameterError
from p2p_analytics.sandbox.http.parameters import Parameters, header_values
from p2p_analytics.vocabulary import CREATE_PAYMENT, RESOLVE_PAYMENT

MOST_FIELDS: Final = 100
_MOST_FORM_FIELDS: Final = 20
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
    query: bytes = request.scope["query_string"]
    return Parameters([*parse_urlencoded(query), *await _body(request)])


async def read_form(request: Request) -> Parameters:
    """Return the fields of a form, urlencoded or multipart; files and other bodies are ignored."""
    parts = await read_multipart(request, _MOST_FORM_FIELDS)
    if parts is not None:
        return Parameters(parts)
    kind, _ = media_type(request)
    is_form = kind == "application/x-www-form-urlencoded"
    return Parameters(parse_urlencoded(await request.body(), _MOST_FORM_FIELDS) if is_form else [])


async def read_multipart(request: Request, most_fields: int = MOST_FIELDS) -> Pairs | None:
    """Return the fields of a multipart body, without files, or None if the body has another media type.

    Raises
    ------
    InvalidParameterError
        The body declares a charset other than UTF-8, or is not valid UTF-8.
    """
    kind, more = media_type(request)
    if kind != "multipart/form-data":
        return None
    # Starlette decodes with any codec that the client names, and falls back to Latin-1 for invalid bytes.
    if "charset" in _CHARSET.sub("", more):
        raise InvalidParameterError("The body's charset must be UTF-8.")
    try:
        (await request.body()).decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidParameterError(_UNREADABLE) from None
    async with request.form(max_files=0, max_fields=most_fields) as form:
        return require_text([(name, value) for name, value in form.multi_items() if not isinstance(value, UploadFile)])


def parse_urlencoded(text: bytes, most_fields: int = MOST_FIELDS) -> Pairs:
    """Return the fields of a query or an urlencoded form.

    Raises
    ------
    InvalidParameterError
        There are too many, or they are not UTF-8: with replacement characters another text would be stored.
    """
    try:
        return parse_qsl(
            text.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=most_fields, separator="&"
        )
    except ValueError:
        raise InvalidParameterError(_UNREADABLE) from None


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


async def _body(request: Request) -> Pairs:
    parts = await read_multipart(request)
    if parts is not None:
        return parts
    kind, _ = media_type(request)
    body = await request.body()
    if not body.strip():
        return []
    if kind == "application/json" or kind.endswith("+json"):
        return _json(body)
    if kind == "application/x-www-form-urlencoded":
        return parse_urlencoded(body)
    if not kind:  # a client that sends no Content-Type: a leading brace means JSON
        return _json(body) if body.lstrip()[:1] == b"{" else parse_urlencoded(body)
    raise InvalidParameterError(_UNREADABLE)


def _json(body: bytes) -> Pairs:
    """Return the fields of a JSON object; numbers keep their digits, null means missing."""
    try:
        # Pairs keep repeated names, and numbers stay text, because a binary float is not exact.
        found = json.loads(body, parse_float=str, parse_int=str, parse_constant=_refuse, object_pairs_hook=_Object)
    except (ValueError, RecursionError):
        raise InvalidParameterError(_UNREADABLE) from None
    if not isinstance(found, _Object):
        raise InvalidParameterError(_UNREADABLE)
    for name, value in found:
        if name in _KNOWN and not isinstance(value, str | None):
            raise InvalidParameterError(f"{name} must be text or a number.")
    return require_text([(name, value) for name, value in found if isinstance(value, str)])


class _Object(list[tuple[str, object]]):
    """A JSON object as a list of pairs."""


def _refuse(word: str) -> str:
    raise ValueError(word)
