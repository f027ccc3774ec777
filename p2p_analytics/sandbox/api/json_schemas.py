"""JSON Schemas of requests and responses, for the OpenAPI description.

Fields and words come from the vocabulary, patterns from `parameters` and `write_parameters`, and the schemas of
values that dialects write differently from the dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, Final

from p2p_analytics.money import to_units
from p2p_analytics.sandbox.api.write_parameters import EMAIL, LARGEST_PAYMENT_CENTS, LONGEST_EMAIL, LONGEST_NOTE, PHONE
from p2p_analytics.sandbox.http import parameters
from p2p_analytics.sandbox.http.dialects import Dialect
from p2p_analytics.vocabulary import (
    EMBEDDED_USER_FIELDS,
    FRIEND_FIELDS,
    LISTED_PAYMENT_FIELDS,
    PAGE_SIZE_MAXIMUM,
    PAYMENT_FIELDS,
    SERVER_TOKEN_SECONDS,
    TARGET_FIELDS,
    TOKEN_PARAMETER,
    USER_FIELDS,
    Action,
    Audience,
    Resolution,
    Status,
    TargetType,
)

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """Return a reference to a schema of the description."""
    return {"$ref": f"#/components/schemas/{name}"}


def or_null(schema: Schema) -> Schema:
    """Return a schema that also accepts null."""
    return {"anyOf": [schema, {"type": "null"}]}


def enumeration(kind: type[StrEnum]) -> Schema:
    """Return the schema of one of several words."""
    return {"type": "string", "enum": [word.value for word in kind]}


def exact_object(fields: Iterable[str], types: Mapping[str, Schema]) -> Schema:
    """Return the schema of an object with exactly these fields."""
    properties = {name: types[name] for name in fields}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def matching_text(pattern: re.Pattern[str], example: str, **more: object) -> Schema:
    r"""Return the schema of text that matches a pattern as a whole.

    ``\d`` is replaced by ``[0-9]``, because some schema validators match other digits with it.
    """
    digits = pattern.pattern.replace(r"\d", "[0-9]")
    return {"type": "string", "pattern": f"^(?:{digits})$", "examples": [example], **more}


TEXT: Final[Schema] = {"type": "string"}
_URL: Final[Schema] = {"type": "string", "format": "uri"}
_MAYBE: Final[Schema] = {"type": ["string", "null"]}

ID: Final = matching_text(parameters.ID, "145434160922624933")
USERNAME: Final[Schema] = {"type": "string", "pattern": "^[A-Za-z0-9_-]+$", "examples": ["sam-rivera"]}
MOMENT: Final = matching_text(
    parameters.INSTANT,
    "2024-05-31T18:30:00Z",
    description="A datetime, in UTC if it has no zone, or a date, which means its first instant. It must exist.",
)


def response_schemas(dialect: Dialect) -> dict[str, Schema]:
    """Return the schemas of response parts, by name."""
    values = dialect.schemas
    user = {
        **dict.fromkeys(("username", "first_name", "last_name", "display_name", "about"), TEXT),
        "id": ref("Id"),
        "date_joined": ref("Datetime"),
        "profile_picture_url": _URL,
        "email": _MAYBE | {"description": "Only of the token's user, with the scope access_email; otherwise null."},
        "phone": _MAYBE | {"description": "Only of the token's user, with the scope access_phone; otherwise null."},
        "is_friend": {"type": ["boolean", "null"]},
        "friends_count": {"type": "integer", "minimum": 0},
    }
    payment = {
        "id": ref("Id"),
        "status": enumeration(Status),
        "note": TEXT,
        "amount": ref("Amount"),
        "action": enumeration(Action),
        "date_created": ref("Datetime"),
        "date_completed": or_null(ref("Datetime")),
        "audience": enumeration(Audience),
        "target": ref("Target"),
        "actor": ref("EmbeddedUser"),
        "fee": or_null(exact_object(["amount"], {"amount": ref("Amount")})),
        "refund": or_null(ref("Refund")),
        "medium": values["medium"],
    }
    target = {"type": enumeration(TargetType), "email": _MAYBE, "phone": _MAYBE, "user": or_null(ref("EmbeddedUser"))}
    following = _URL | {
        "type": ["string", "null"],
        "description": "URL of the next page, without the token; null on the last page.",
    }
    more = {name: {"const": value} for fields in dialect.more.values() for name, value in fields.items()}
    return {
        "Id": ID,
        "Amount": values["amount"],
        "Balance": values["balance"] | {"description": "With the scope access_balance; otherwise null."},
        "Datetime": values["datetime"],
        "User": exact_object(USER_FIELDS, user),
        "CurrentUser": exact_object([*USER_FIELDS, *dialect.more["me"]], user | more),
        "Friend": exact_object(FRIEND_FIELDS, user),
        "EmbeddedUser": exact_object(EMBEDDED_USER_FIELDS, user),
        "Target": exact_object([*TARGET_FIELDS, *dialect.more["target"]], target | more),
        "Payment": exact_object(PAYMENT_FIELDS, payment),
        "Refund": exact_object(PAYMENT_FIELDS, payment | {"refund": {"type": "null"}}),
        "ListedPayment": exact_object(LISTED_PAYMENT_FIELDS, payment),
        "Pagination": exact_object(["next"], {"next": following}),
    }


def data(schema: Schema) -> Schema:
    """Return the schema of the ``data`` envelope."""
    return exact_object(["data"], {"data": schema})


def page(item: str) -> Schema:
    """Return the schema of a list page."""
    items = {"type": "array", "items": ref(item), "maxItems": PAGE_SIZE_MAXIMUM}
    return exact_object(["pagination", "data"], {"pagination": ref("Pagination"), "data": items})


ME: Final = exact_object(["balance", "user"], {"balance": ref("Balance"), "user": ref("CurrentUser")})
CREATED: Final = exact_object(["balance", "payment"], {"balance": ref("Balance"), "payment": ref("Payment")})


def tokens(dialect: Dialect) -> Schema:
    """Return the schema of the token exchange's response."""
    user = ref("CurrentUser")
    types = {
        TOKEN_PARAMETER: TEXT,
        "expires_in": {"const": SERVER_TOKEN_SECONDS},
        "token_type": {"const": "bearer"},
        "user": user if dialect.always_shows_user else or_null(user),
        "balance": ref("Balance"),
        "refresh_token": TEXT,
    }
    return exact_object(types, types)


def error(codes: Iterable[str | int]) -> Schema:
    """Return the schema of the error envelope with one of these codes."""
    return exact_object(
        ["error"], {"error": exact_object(["message", "code"], {"message": TEXT, "code": {"enum": list(codes)}})}
    )


# Text is for form fields; a JSON body may use numbers, and null for a missing value.
_LARGEST: Final = int(to_units(LARGEST_PAYMENT_CENTS))
_AMOUNT: Final[Schema] = {
    "type": "string",
    "pattern": rf"^[+-]?0*(?:[0-9]{{1,{len(str(_LARGEST)) - 1}}}(?:\.[0-9]{{0,2}}0*)?|{_LARGEST}(?:\.0*)?)$",
    "not": {"pattern": r"^[+-]?[0.]*$"},
    "maxLength": 40,
    "description": f"Whole cents, not zero, at most {_LARGEST:,}.00. Negative: a charge.",
    "examples": ["12.30", "-12.30"],
}
_AMOUNT_NUMBER: Final[Schema] = {
    "type": "number", "multipleOf": 0.01, "minimum": -_LARGEST, "maximum": _LARGEST, "not": {"const": 0},
}  # fmt: skip
_BLANKS: Final = r"\s\x1c-\x1f\x85"  # Python's str.strip removes more characters than a schema's \s matches
_GIVEN: Final[Schema] = {"type": "string", "pattern": f"[^{_BLANKS}]"}
_NOTE: Final[Schema] = _GIVEN | {"maxLength": LONGEST_NOTE}
_ADDRESSES: Final[dict[str, tuple[Schema, Schema]]] = {
    "user_id": (ID, {"type": "integer", "minimum": 1, "maximum": 92 * 10**17 - 1}),
    "email": (matching_text(EMAIL, "sam@example.com", maxLength=LONGEST_EMAIL), {}),
    "phone": (
        matching_text(PHONE, "15555550123"),
        {"type": "integer", "minimum": 2_000_000_000, "maximum": 9_999_999_999},
    ),
}


def payment_body(*, json: bool) -> Schema:
    """Return the schema of POST /payments: one alternative per kind of recipient, by precedence."""
    rest = {
        "note": {"anyOf": [_NOTE, {"type": "number"}]} if json else _NOTE,
        "amount": {"anyOf": [_AMOUNT, _AMOUNT_NUMBER]} if json else _AMOUNT,
        "audience": _blank_or(enumeration(Audience), json=json) | {"default": Audience.PRIVATE.value},
        TOKEN_PARAMETER: _token(json=json),
    }
    alternatives: list[Schema] = []
    before: dict[str, Schema] = {}
    for name, (text, number) in _ADDRESSES.items():
        address = {"anyOf": [text, number]} if json and number else text
        properties = {**before, name: address, **rest}
        alternatives.append({"type": "object", "properties": properties, "required": [name, "note", "amount"]})
        before[name] = _blank(json=json)
    return {"anyOf": alternatives}


def resolution_body(*, json: bool) -> Schema:
    """Return the schema of PUT /payments/:payment."""
    properties = {"action": enumeration(Resolution), TOKEN_PARAMETER: _token(json=json)}
    return {"type": "object", "properties": properties, "required": ["action"]}


def exchange_body(grants: Mapping[str, str], *, json: bool) -> Schema:
    """Return the schema of POST /oauth/access_token: one alternative per grant type."""
    alternatives = []
    for grant, kind in grants.items():
        grant_type = _blank_or({"const": grant}, json=json)
        properties = {"client_id": _GIVEN, "client_secret": _GIVEN, "grant_type": grant_type, kind: _GIVEN}
        if kind == "code":
            properties["redirect_uri"] = _blank_or(TEXT, json=json)
        required = ["client_id", "client_secret", kind]
        alternatives.append({"type": "object", "properties": properties, "required": required})
    return {"anyOf": alternatives}


def _token(*, json: bool) -> Schema:
    return _blank_or(TEXT, json=json) | {"description": "Instead of the token in the query or the header."}


def _blank(*, json: bool) -> Schema:
    return {"type": ["string", "null"] if json else "string", "pattern": f"^[{_BLANKS}]*$"}


def _blank_or(schema: Schema, *, json: bool) -> Schema:
    return {"anyOf": [schema, _blank(json=json)]}
