"""Serializers: database rows to the JSON of the document, with the fields of each context.

`dialects` defines how single values are written.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

import orjson

from p2p_analytics.sandbox.http.dialects import ACTIVE_DIALECT, format_instant
from p2p_analytics.sandbox.storage.rows import Payment, Person
from p2p_analytics.vocabulary import Action, Status, TargetType

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
    person = ACTIVE_DIALECT.get().person(person)
    return {
        "id": str(person.user_id),
        "username": person.username,
        "first_name": person.first_name,
        "last_name": person.last_name,
        "display_name": person.display_name,
        "date_joined": second(person.joined_us),
        "profile_picture_url": person.profile_picture_url,
        "about": person.about,
        "email": person.email if with_email else None,
        "phone": person.phone if with_phone else None,
        "is_friend": is_friend,
        "friends_count": friends_count,
    }


def friend(person: Person) -> Json:
    """Return an item of a friends list."""
    person = ACTIVE_DIALECT.get().person(person)
    return {
        "username": person.username,
        "about": person.about,
        "last_name": person.last_name,
        "display_name": person.display_name,
        "first_name": person.first_name,
        "profile_picture_url": person.profile_picture_url,
        "id": str(person.user_id),
    }


def list_item(payment: Payment, people: Mapping[int, Person]) -> Json:
    """Return a payment as an item of GET /payments, without fee, refund and medium."""
    completed, dialect = payment.completed_us, ACTIVE_DIALECT.get()
    return {
        "status": payment.status,
        "date_completed": None if completed is None else dialect.moment(completed, payment.spelling),
        "target": _target(payment, people),
        "audience": payment.audience,
        "actor": _person_fragment(dialect.person(people[payment.actor_id])),
        "note": payment.note,
        "amount": dialect.amount(-payment.amount_cents if payment.action == Action.CHARGE else payment.amount_cents),
        "action": payment.action,
        "date_created": dialect.moment(payment.created_us, payment.spelling),
        "id": str(payment.payment_id),
    }


def payment(payment: Payment, people: Mapping[int, Person], refund: Payment | None, *, to_party: bool = True) -> Json:
    """Return a payment with all its fields; a refund is itself a payment, without a refund.

    Viewers that are not a party to it see neither its refund nor the address of its target.
    """
    listed = list_item(payment, people)
    if not to_party:
        listed["target"] |= {"email": None, "phone": None}
    return {
        **listed,
        "fee": None if payment.fee_cents is None else {"amount": ACTIVE_DIALECT.get().amount(payment.fee_cents)},
        "refund": None if refund is None or not to_party else _refund(refund, people),
        "medium": ACTIVE_DIALECT.get().medium(payment.medium, payment.application),
    }


def creation(payment_: Payment, people: Mapping[int, Person], balance_cents: int | None) -> Json:
    """Return the data of POST /payments; as in its samples, and unlike in lists, a pending email target is shown."""
    shown = payment(payment_, people, None)
    shown["target"]["email"] = payment_.target_email
    return {"balance": _balance(balance_cents), "payment": shown}


def error(message: str, code: str) -> Json:
    """Return the error envelope."""
    return {"error": {"message": message, "code": ACTIVE_DIALECT.get().code(code)}}


def _refund(refund: Payment, people: Mapping[int, Person]) -> Json:
    return payment(refund, people, None)


def _target(payment: Payment, people: Mapping[int, Person]) -> Json:
    # The samples of lists hide the email of a pending email target; other payments follow the field's description.
    hidden = payment.target_type == TargetType.EMAIL and payment.status == Status.PENDING
    dialect, user_id = ACTIVE_DIALECT.get(), payment.target_user_id
    return {
        "type": payment.target_type,
        "email": None if hidden else payment.target_email,
        "phone": payment.target_phone,
        "user": None if user_id is None else _person_fragment(dialect.person(people[user_id])),
        **dialect.more["target"],
    }


@lru_cache(1_024)  # a page repeats few people many times
def _person_fragment(person: Person) -> orjson.Fragment:
    shown = {
        "username": person.username,
        "first_name": person.first_name,
        "last_name": person.last_name,
        "display_name": person.display_name,
        "about": person.about,
        "profile_picture_url": person.profile_picture_url,
        "id": str(person.user_id),
        "date_joined": second(person.joined_us),
    }
    return orjson.Fragment(orjson.dumps(shown))


def _balance(cents: int | None) -> object:
    return None if cents is None else ACTIVE_DIALECT.get().balance(cents)
