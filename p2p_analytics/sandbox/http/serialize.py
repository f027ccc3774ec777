"""Serializers: database rows to the JSON of the document, with the fields of each context.

`dialects` defines how single values are written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import orjson

from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT, format_instant
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.vocabulary import EMBEDDED_USER_FIELDS, FRIEND_FIELDS, USER_FIELDS, Action, Status, TargetType

Json = dict[str, Any]


def encode(body: Json) -> bytes:
    """Return a body as UTF-8 JSON."""
    return orjson.dumps(body)


def page(items: list[Json], next_url: str | None) -> Json:
    """Return the envelope of a list page; on the last page ``next`` is null and not left out."""
    return {"pagination": {"next": next_url}, "data": items}


def link(address: str, parameters: Mapping[str, str]) -> str:
    """Return a next link; as in the document's samples, colons and commas are not percent-encoded."""
    return f"{address}?{urlencode(parameters, safe=':,')}"


def second(microseconds: int) -> str:
    """Return an instant as in the samples' next links: whole seconds, without a zone."""
    return format_instant(microseconds, fraction=False)


def me(user: Json, balance_cents: int | None) -> Json:
    """Return the data of the current-user envelope."""
    return {"balance": _balance(balance_cents), "user": {**user, **ACTIVE_DIALECT.get().more["me"]}}


def user(person: Person, *, with_email: bool, with_phone: bool, is_friend: bool | None, friends_count: int) -> Json:
    """Return a user with all fields."""
    return _choose(
        ACTIVE_DIALECT.get().person(person),
        USER_FIELDS,
        email=person.email if with_email else None,
        phone=person.phone if with_phone else None,
        is_friend=is_friend,
        friends_count=friends_count,
    )


def friend(person: Person) -> Json:
    """Return an item of a friends list."""
    return _choose(ACTIVE_DIALECT.get().person(person), FRIEND_FIELDS)


def list_item(row: Payment, people: Mapping[int, Person]) -> Json:
    """Return a payment as an item of GET /payments, without fee, refund and medium."""
    dialect, user_id = ACTIVE_DIALECT.get(), row.target_user_id
    # The samples of lists hide the email of a pending email target; other payments follow the field's description.
    hidden = row.target_type == TargetType.EMAIL and row.status == Status.PENDING
    return {
        "status": row.status,
        "date_completed": None if row.completed_us is None else dialect.moment(row.completed_us, row.spelling),
        "target": {
            "type": row.target_type,
            "email": None if hidden else row.target_email,
            "phone": row.target_phone,
            "user": None if user_id is None else _embed_person(dialect.person(people[user_id])),
            **dialect.more["target"],
        },
        "audience": row.audience,
        "actor": _embed_person(dialect.person(people[row.actor_id])),
        "note": row.note,
        "amount": dialect.amount(-row.amount_cents if row.action == Action.CHARGE else row.amount_cents),
        "action": row.action,
        "date_created": dialect.moment(row.created_us, row.spelling),
        "id": str(row.payment_id),
    }


def payment(row: Payment, people: Mapping[int, Person], refund: Payment | None, *, to_party: bool = True) -> Json:
    """Return a payment with all its fields; a refund is itself a payment, without a refund.

    Viewers that are not a party to it see neither its refund nor the address of its target.
    """
    listed = list_item(row, people)
    if not to_party:
        listed["target"] |= {"email": None, "phone": None}
    return {
        **listed,
        "fee": None if row.fee_cents is None else {"amount": ACTIVE_DIALECT.get().amount(row.fee_cents)},
        "refund": None if refund is None or not to_party else payment(refund, people, None),
        "medium": ACTIVE_DIALECT.get().medium(row.medium, row.application),
    }


def creation(row: Payment, people: Mapping[int, Person], balance_cents: int | None) -> Json:
    """Return the data of POST /payments; as in its samples, and unlike in lists, a pending email target is shown."""
    shown = payment(row, people, None)
    shown["target"]["email"] = row.target_email
    return {"balance": _balance(balance_cents), "payment": shown}


def error(message: str, code: str) -> Json:
    """Return the error envelope."""
    return {"error": {"message": message, "code": ACTIVE_DIALECT.get().code(code)}}


def _choose(person: Person, fields: Iterable[str], **more: object) -> Json:
    values = {**person._asdict(), "id": str(person.user_id), "date_joined": second(person.joined_us), **more}
    return {name: values[name] for name in fields}


@lru_cache(1_024)  # a page repeats few people many times
def _embed_person(person: Person) -> orjson.Fragment:
    return orjson.Fragment(encode(_choose(person, EMBEDDED_USER_FIELDS)))


def _balance(cents: int | None) -> object:
    return None if cents is None else ACTIVE_DIALECT.get().balance(cents)
