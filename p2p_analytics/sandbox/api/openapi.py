"""OpenAPI 3.1 description of the endpoints below ``/v1``, in the server's dialect.

HTML pages are left out, except for the authorization addresses in the security schemes.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from p2p_analytics.sandbox import errors
from p2p_analytics.sandbox.api import json_schemas
from p2p_analytics.sandbox.api.json_schemas import Schema, ref
from p2p_analytics.sandbox.api.token_exchange import GRANTS, NO_STORE
from p2p_analytics.sandbox.domain.scopes import PLAIN_WORDS
from p2p_analytics.sandbox.http.dialects import Dialect
from p2p_analytics.sandbox.http.responses import CONTROL_PATH, DATA_HEADERS, EXCHANGE_PATH
from p2p_analytics.vocabulary import (
    AUTHORIZE,
    CREATE_PAYMENT,
    FRIENDS,
    ME,
    PAGE_SIZE_DEFAULT,
    PAGE_SIZE_MAXIMUM,
    PAYMENT,
    PAYMENTS,
    RESOLVE_PAYMENT,
    TOKEN_PARAMETER,
    USER,
    VERSION_PATH,
    Action,
    Endpoint,
    Status,
)

PATH: Final = f"{CONTROL_PATH}openapi.json"

_Refusals = tuple[type[errors.RefusalError], ...]
_ALWAYS: Final[_Refusals] = (errors.InvalidParameterError, errors.WrongHostError, errors.TooLargeError)
_TOKEN: Final[_Refusals] = (
    errors.NoTokenError, errors.InvalidTokenError, errors.ExpiredTokenError, errors.DeletedTokenError,
    errors.RevokedTokenError, errors.MissingScopeError,
)  # fmt: skip
_CREATE: Final[_Refusals] = (
    errors.MissingArgumentError, errors.NoRecipientError, errors.NoteError, errors.AmountError,
    errors.AmountTooLargeError, errors.SelfPaymentError, errors.OutcomeAmountError,
)  # fmt: skip
_FIND: Final[_Refusals] = (errors.NotFoundError,)
_RESOLVE: Final[_Refusals] = (
    errors.MissingArgumentError, errors.NotFoundError, errors.RoleError, errors.StateError,
    errors.InsufficientFundsError,
)  # fmt: skip
_EXCHANGE: Final[_Refusals] = (
    errors.MissingArgumentError, errors.OAuthError, errors.ForeignCodeError, errors.ExpiredCodeError,
    errors.RedeemedCodeError, errors.RefreshError, errors.GrantTypeError, errors.ClientNotFoundError,
    errors.ClientSecretError,
)  # fmt: skip


def _in_query(name: str, description: str, schema: Schema) -> Schema:
    # Several values are one text, separated by commas.
    several = {"style": "form", "explode": False} if schema["type"] == "array" else {}
    given = {"name": name, "in": "query", "description": description, "allowEmptyValue": True}
    return {**given, **several, "schema": schema}


_LIMIT: Final = _in_query(
    "limit",
    f"The page size; values above {PAGE_SIZE_MAXIMUM} mean {PAGE_SIZE_MAXIMUM}.",
    {"type": "integer", "minimum": 1, "default": PAGE_SIZE_DEFAULT},
)
_PAYMENTS_QUERY: Final = (
    _in_query("action", "Only payments, or only charges.", json_schemas.enumeration(Action)),
    _in_query("actor", "Only payments and charges made by these users.", {"type": "array", "items": json_schemas.ID}),
    _in_query(
        "status",
        "Only payments with one of these statuses.",
        {"type": "array", "items": json_schemas.enumeration(Status)},
    ),
    _LIMIT,
    _in_query("after", "Only payments created after this.", json_schemas.MOMENT),
    _in_query("before", "Only payments created before this.", json_schemas.MOMENT),
)
# In a list of friends the bounds are user ids, and the next links use `after`.
_BOUND: Final[Schema] = {"type": "string", "pattern": "^[0-9]+$"}
_FRIENDS_QUERY: Final = (
    _in_query("before", "Only user ids less than this.", _BOUND),
    _in_query("after", "Only user ids greater than this.", _BOUND),
    _LIMIT,
)
_MORE: Final[dict[int, dict[str, Schema]]] = {
    401: {"WWW-Authenticate": {"type": "string"}},
    429: {"Retry-After": {"type": "integer", "minimum": 0}},
}


def describe(base_url: str, dialect: Dialect) -> dict[str, Any]:
    """Return the OpenAPI document of the service at `base_url`, as a JSON object."""
    user_id = ("The id of a user.", json_schemas.ID)
    if dialect.takes_usernames:
        either = {"type": "string", "anyOf": [json_schemas.ID, json_schemas.USERNAME]}
        user_id = ("The id or the username of a user.", either)
    user, payment = _in_path("user_id", *user_id), _in_path("payment_id", "The id of a payment.", json_schemas.ID)
    create = (*_CREATE, errors.NewUserAmountError) if dialect.separates_new_users else _CREATE
    operations = (
        _Operation(ME, "Read the profile of the token's user.", json_schemas.data(json_schemas.ME)),
        _Operation(USER, "Read a user's profile.", json_schemas.data(ref("User")), _FIND, (user,)),
        _Operation(
            FRIENDS, "List a user's friends by id.", json_schemas.page("Friend"), _FIND, (user, *_FRIENDS_QUERY)
        ),
        _Operation(
            PAYMENTS,
            "List the payments of the token's user, newest first.",
            json_schemas.page("ListedPayment"),
            parameters=_PAYMENTS_QUERY,
        ),
        _Operation(
            CREATE_PAYMENT,
            "Pay, or with a negative amount charge, a user, an email address or a US phone number.",
            json_schemas.data(json_schemas.CREATED),
            create,
            body=json_schemas.payment_body,
        ),
        _Operation(
            PAYMENT,
            "Read a payment that the token's user may see.",
            json_schemas.data(ref("Payment")),
            _FIND,
            (payment,),
        ),
        _Operation(
            RESOLVE_PAYMENT,
            "Approve or deny a received request, or cancel a payment or request of your own.",
            json_schemas.data(ref("Payment")),
            _RESOLVE,
            (payment,),
            json_schemas.resolution_body,
        ),
    )
    paths: dict[str, Any] = {}
    for operation in operations:
        path = operation.endpoint.path.replace("{payment}", "{payment_id}")
        paths.setdefault(path, {})[operation.endpoint.method.lower()] = operation.describe(dialect)
    paths[EXCHANGE_PATH] = {
        "post": {
            "operationId": "post_oauth_access_token",
            "summary": "Exchange a code or a refresh token for tokens that last 60 days.",
            "description": "client_id and client_secret may be in a Basic Authorization header instead.",
            "security": [],
            "requestBody": _body(functools.partial(json_schemas.exchange_body, GRANTS)),
            "responses": _responses(dialect, json_schemas.tokens(dialect), _EXCHANGE, headers=NO_STORE),
        }
    }
    about = (
        f"The local service, in the dialect {dialect.name!r}. HEAD is supported wherever GET is. "
        "Blank and unknown parameters are ignored. A parameter given twice is refused, except for a repeated token. "
        f"The pages for a browser are at {AUTHORIZE.path} and /account."
    )
    addresses = {"authorizationUrl": base_url + AUTHORIZE.path}
    exchange = dict.fromkeys(("tokenUrl", "refreshUrl"), base_url + EXCHANGE_PATH)
    scopes = {"scopes": {scope.value: words for scope, words in PLAIN_WORDS.items()}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "The sandbox", "version": VERSION_PATH.removeprefix("/v"), "description": about},
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {
            "schemas": json_schemas.response_schemas(dialect),
            "securitySchemes": {
                "oauth": {
                    "type": "oauth2",
                    "description": "As a Bearer Authorization header.",
                    "flows": {
                        "implicit": {**addresses, **scopes},
                        "authorizationCode": {**addresses, **exchange, **scopes},
                    },
                },
                TOKEN_PARAMETER: {
                    "type": "apiKey",
                    "in": "query",
                    "name": TOKEN_PARAMETER,
                    "description": "The same token as a parameter; in a POST or PUT it may be a field of the body.",
                },
            },
        },
    }


class _Operation(NamedTuple):
    """A documented endpoint, with what the vocabulary does not contain about it."""

    endpoint: Endpoint
    summary: str
    answer: Schema
    refusals: _Refusals = ()
    parameters: tuple[Schema, ...] = ()
    body: Callable[..., Schema] | None = None

    def describe(self, dialect: Dialect) -> Schema:
        """Return the operation object."""
        endpoint = self.endpoint
        optional = ", ".join(endpoint.optional_scopes)
        return {
            "operationId": endpoint.method.lower() + re.sub(r"\W+", "_", endpoint.path).rstrip("_"),
            "summary": self.summary,
            **({"description": f"Optional scopes: {optional}."} if optional else {}),
            "security": [{scheme: [str(endpoint.scope)]} for scheme in ("oauth", TOKEN_PARAMETER)],
            "parameters": list(self.parameters),
            **({} if self.body is None else {"requestBody": _body(self.body)}),
            "responses": _responses(dialect, self.answer, (*_TOKEN, *self.refusals)),
        }


def _responses(
    dialect: Dialect, answer: Schema, refusals: _Refusals, *, headers: dict[str, str] = DATA_HEADERS
) -> Schema:
    codes_by_status: dict[int, list[tuple[str | int, str]]] = {}
    every: _Refusals = (*_ALWAYS, *refusals, errors.RateLimitError)
    for one in every:
        meaning = (inspect.getdoc(one) or "").partition("\n")[0]
        codes_by_status.setdefault(dialect.status(one.status, one.code), []).append((dialect.code(one.code), meaning))
    responses = {"200": _response("Success.", answer, headers)}
    for status, codes in sorted(codes_by_status.items()):
        meaning = " ".join(f"{code}: {text}" for code, text in codes)
        schema = json_schemas.error(dict.fromkeys(code for code, _ in codes))
        responses[str(status)] = _response(meaning, schema, DATA_HEADERS, more=_MORE.get(status, {}))
    return responses


def _in_path(name: str, description: str, schema: Schema) -> Schema:
    return {"name": name, "in": "path", "required": True, "description": description, "schema": schema}


def _body(schema: Callable[..., Schema]) -> Schema:
    kinds = {"application/x-www-form-urlencoded": False, "multipart/form-data": False, "application/json": True}
    return {
        "required": True,
        "description": "The same parameters may be in the query.",
        "content": {kind: {"schema": schema(json=json)} for kind, json in kinds.items()},
    }


def _response(
    description: str, schema: Schema, headers: dict[str, str], *, more: Mapping[str, Schema] = MappingProxyType({})
) -> Schema:
    schemas = {**{name: {"const": value} for name, value in headers.items()}, **more}
    described = {name: {"required": True, "schema": one} for name, one in schemas.items()}
    return {"description": description, "headers": described, "content": {"application/json": {"schema": schema}}}
