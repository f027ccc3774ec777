"""The service's description of itself, as OpenAPI 3.1: what lies below ``/v1``, in the dialect that is spoken.

The pages of the authorization are for people and not in it, but for their addresses in the security schemes.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.sandbox import errors, shapes
from p2p_analytics.sandbox.exchange import GRANTS
from p2p_analytics.sandbox.pages import PLAIN_WORDS
from p2p_analytics.sandbox.shapes import Schema, ref
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from p2p_analytics.sandbox.dialects import Dialect

PATH: Final = "/sandbox/openapi.json"
EXCHANGE_PATH: Final = "/oauth/access_token"

_Refusals = tuple[type[errors.RefusalError], ...]
_GATE: Final[_Refusals] = (errors.InvalidParameterError, errors.WrongHostError, errors.TooLargeError)
_TOKEN: Final[_Refusals] = (
    errors.NoTokenError, errors.InvalidTokenError, errors.ExpiredTokenError, errors.DeletedTokenError,
    errors.RevokedTokenError, errors.MissingScopeError,
)  # fmt: skip
_CREATE: Final[_Refusals] = (
    errors.MissingArgumentError, errors.NoRecipientError, errors.NoteError, errors.AmountError,
    errors.AmountTooLargeError, errors.SelfPaymentError, errors.OutcomeAmountError,
)  # fmt: skip
_RESOLVE: Final[_Refusals] = (
    errors.MissingArgumentError, errors.NotFoundError, errors.RoleError, errors.StateError,
    errors.InsufficientFundsError,
)  # fmt: skip
_EXCHANGE: Final[_Refusals] = (
    errors.MissingArgumentError, errors.OAuthError, errors.ForeignCodeError, errors.ExpiredCodeError,
    errors.RedeemedCodeError, errors.RefreshError, errors.GrantTypeError, errors.ClientNotFoundError,
    errors.ClientSecretError,
)  # fmt: skip
_TOO_MANY: Final = (429, "277", "Too many requests: wait as many seconds as Retry-After says.")

_ID_OF: Final = {"user_id": "The id of a user.", "payment_id": "The id of a payment."}
_QUERY: Final[dict[str, Schema]] = {
    "limit": {
        "description": f"The most items of a page; above {PAGE_SIZE_MAXIMUM} it is {PAGE_SIZE_MAXIMUM}.",
        "schema": {"type": "integer", "minimum": 1, "default": PAGE_SIZE_DEFAULT},
    },
    "action": {"description": "Only payments, or only charges.", "schema": shapes.words(Action)},
    "actor": {
        "description": "Only what these users started.",
        "schema": {"type": "array", "items": shapes.USER_ID},
        "style": "form",
        "explode": False,
    },
    "status": {
        "description": "Only what is in one of these states.",
        "schema": {"type": "array", "items": shapes.words(Status)},
        "style": "form",
        "explode": False,
    },
    "after": {"description": "Only what was made after this.", "schema": shapes.MOMENT},
    "before": {"description": "Only what was made before this.", "schema": shapes.MOMENT},
}
# In a list of friends the bounds are user ids, and the next links use `after`.
_BOUND: Final[Schema] = {"type": "string", "pattern": "^[0-9]+$"}
_FRIENDS_QUERY: Final[dict[str, Schema]] = {
    "limit": _QUERY["limit"],
    "before": {"description": "Only user ids less than this.", "schema": _BOUND},
    "after": {"description": "Only user ids greater than this.", "schema": _BOUND},
}
_OWNER_ONLY: Final = {"Cache-Control": "private", "X-Content-Type-Options": "nosniff"}
_NOT_KEPT: Final = {"Cache-Control": "no-store", "Pragma": "no-cache"}


def describe(base_url: str, dialect: Dialect) -> dict[str, Any]:
    """Return the OpenAPI document of the service at `base_url`, as an object to be written as JSON."""
    spoken = _Spoken(dialect)
    paths: dict[str, dict[str, Any]] = {}
    for endpoint, path, operation in (
        (ME, ME.path, spoken.reading(ME, shapes.data(shapes.ME), "Read one's own profile.")),
        (
            USER,
            USER.at("{user_id}"),
            spoken.reading(USER, shapes.data(ref("User")), "Read a user's profile.", key="user_id"),
        ),
        (
            FRIENDS,
            FRIENDS.at("{user_id}"),
            spoken.reading(
                FRIENDS, shapes.page("Friend"), "List a user's friends by id.", key="user_id", query=_FRIENDS_QUERY
            ),
        ),
        (
            PAYMENTS,
            PAYMENTS.path,
            spoken.reading(
                PAYMENTS, shapes.page("ListedPayment"), "List one's payments and charges, newest first.", query=_QUERY
            ),
        ),
        (
            PAYMENT,
            PAYMENT.at("{payment_id}"),
            spoken.reading(PAYMENT, shapes.data(ref("Payment")), "Read a payment that one may see.", key="payment_id"),
        ),
        (CREATE_PAYMENT, CREATE_PAYMENT.path, spoken.creating()),
        (RESOLVE_PAYMENT, RESOLVE_PAYMENT.at("{payment_id}"), spoken.resolving()),
    ):
        paths.setdefault(path, {})[endpoint.method.lower()] = operation
    paths[EXCHANGE_PATH] = {"post": spoken.exchanging()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Peer-to-peer payments: the sandbox",
            "version": VERSION_PATH.removeprefix("/v"),
            "description": (
                f"What the service answers on this machine, in the dialect {dialect.name!r}. HEAD works wherever GET "
                "does. Blank and unknown parameters are ignored; one that is given twice is refused. "
                f"The pages for a browser begin at {AUTHORIZE.path} and /account."
            ),
        },
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {"schemas": shapes.answers(dialect), "securitySchemes": _security_schemes(base_url)},
    }


class _Spoken:
    """The operations, in one dialect."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect

    def reading(
        self, endpoint: Endpoint, answer: Schema, summary: str, *, key: str = "", query: dict[str, Schema] | None = None
    ) -> Schema:
        parameters = [_path_parameter(key)] if key else []
        parameters += [
            {"name": name, "in": "query", "allowEmptyValue": True, **of} for name, of in (query or {}).items()
        ]
        found = (errors.NotFoundError,) if key else ()
        return {
            **_head(endpoint, summary),
            "parameters": parameters,
            "responses": self._responses(answer, (*_GATE, *_TOKEN, *found)),
        }

    def creating(self) -> Schema:
        summary = "Pay, or with a negative amount charge, a user, an email address or a US phone number."
        return {
            **_head(CREATE_PAYMENT, summary),
            "requestBody": _body(shapes.payment_body),
            "responses": self._responses(shapes.data(shapes.CREATED), (*_GATE, *_TOKEN, *_CREATE)),
        }

    def resolving(self) -> Schema:
        return {
            **_head(RESOLVE_PAYMENT, "Approve or deny a request that one received, or cancel what one made."),
            "parameters": [_path_parameter("payment_id")],
            "requestBody": _body(shapes.resolution_body),
            "responses": self._responses(shapes.data(ref("Payment")), (*_GATE, *_TOKEN, *_RESOLVE)),
        }

    def exchanging(self) -> Schema:
        return {
            "operationId": "exchange",
            "summary": "Turn a code or a refresh token into tokens that last 60 days.",
            "description": "client_id and client_secret may be in an Authorization header of the kind Basic instead.",
            "security": [],
            "requestBody": _body(functools.partial(shapes.exchange_body, GRANTS)),
            "responses": self._responses(shapes.TOKENS, (*_GATE, *_EXCHANGE), headers=_NOT_KEPT),
        }

    def _responses(
        self, answer: Schema, refusals: Iterable[type[errors.RefusalError]], *, headers: dict[str, str] = _OWNER_ONLY
    ) -> Schema:
        told: dict[int, list[tuple[str, str]]] = {}
        known = [(one.status, one.code, (inspect.getdoc(one) or "").partition("\n")[0]) for one in refusals]
        for status, code, meaning in (*known, _TOO_MANY):
            told.setdefault(self._dialect.status(status, code), []).append((code, meaning))
        responses = {"200": _response("As asked.", answer, headers)}
        for status, codes in sorted(told.items()):
            names = dict.fromkeys(self._dialect.code(code) for code, _ in codes)
            meaning = " ".join(f"{code}: {text}" for code, text in codes)
            responses[str(status)] = _response(meaning, shapes.error(names), _OWNER_ONLY, more=_MORE.get(status))
        return responses


_MORE: Final[dict[int, tuple[str, Schema]]] = {
    401: ("WWW-Authenticate", {"type": "string"}),
    429: ("Retry-After", {"type": "integer", "minimum": 0}),
}


def _head(endpoint: Endpoint, summary: str) -> Schema:
    assert endpoint.scope is not None  # noqa: S101 - the pages alone have none
    name = endpoint.path.replace("/", "_").replace("{", "").replace("}", "")
    optional = ", ".join(endpoint.optional_scopes)
    return {
        "operationId": endpoint.method.lower() + name,
        "summary": summary,
        **({"description": f"Optional scopes: {optional}."} if optional else {}),
        "security": [{"oauth": [endpoint.scope.value]}, {TOKEN_PARAMETER: [endpoint.scope.value]}],
    }


def _path_parameter(name: str) -> Schema:
    return {"name": name, "in": "path", "required": True, "description": _ID_OF[name], "schema": shapes.USER_ID}


def _body(schema: Callable[..., Schema]) -> Schema:
    kinds = {"application/x-www-form-urlencoded": False, "multipart/form-data": False, "application/json": True}
    return {
        "required": True,
        "description": "The same parameters may be in the query.",
        "content": {kind: {"schema": schema(json=json)} for kind, json in kinds.items()},
    }


def _response(
    description: str, schema: Schema, headers: dict[str, str], *, more: tuple[str, Schema] | None = None
) -> Schema:
    described: Schema = {name: {"schema": {"const": value}} for name, value in headers.items()}
    if more is not None:
        described[more[0]] = {"required": True, "schema": more[1]}
    return {"description": description, "headers": described, "content": {"application/json": {"schema": schema}}}


def _security_schemes(base_url: str) -> Schema:
    scopes = {scope.value: words for scope, words in PLAIN_WORDS.items()}
    authorize, exchange = base_url + AUTHORIZE.path, base_url + EXCHANGE_PATH
    return {
        "oauth": {
            "type": "oauth2",
            "description": "As an Authorization header of the kind Bearer.",
            "flows": {
                "implicit": {"authorizationUrl": authorize, "scopes": scopes},
                "authorizationCode": {
                    "authorizationUrl": authorize, "tokenUrl": exchange, "refreshUrl": exchange, "scopes": scopes,
                },
            },
        },
        TOKEN_PARAMETER: {
            "type": "apiKey",
            "in": "query",
            "name": TOKEN_PARAMETER,
            "description": "The same token as a parameter; in a POST or PUT it may be a field of the body.",
        },
    }  # fmt: skip
