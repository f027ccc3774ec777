"""Values of wire fields: exact, or a `Problem`.

The ``to_`` and ``parse_`` functions collect problems; the ``decode_`` functions at the end serve the fast path, which
has no place for problems, and raise one of ``FALLBACK_ERRORS`` instead.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Final, TypeVar

import msgspec

from p2p_analytics.errors import MoneyError
from p2p_analytics.money import to_cents
from p2p_analytics.records._models import Problem, Target, User
from p2p_analytics.records._wire_types import DECODE_ERRORS, REPLACEMENT_ESCAPE, WirePayment, WireTarget, WireUser
from p2p_analytics.times import parse_instant

T = TypeVar("T")

FALLBACK_ERRORS: Final = (*DECODE_ERRORS, MoneyError, ValueError, OverflowError)
_LONGEST_VALUE: Final = 200


class ProblemCollector:
    """Collects the problems of the records of one body."""

    def __init__(self) -> None:
        self.found: list[Problem] = []
        self.record_id: str | None = None

    def add(self, field: str, value: object, problem: str, *, unreadable: bool = False) -> None:
        """Add a problem of the current record."""
        text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        self.found.append(Problem(self.record_id, field, text[:_LONGEST_VALUE], problem, unreadable))

    def decode(self, kind: type[T], raw: bytes) -> T:
        """Decode a record; where that fails, decode it field by field, so that one bad field costs no other field."""
        with contextlib.suppress(*DECODE_ERRORS):
            return msgspec.json.decode(raw, type=kind)
        wire = kind()
        try:
            fields = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        except DECODE_ERRORS:
            return wire
        known = msgspec.structs.fields(kind)  # type: ignore[arg-type]  # every kind is a Struct
        for field in sorted(known, key=lambda each: each.name != "id"):
            if field.name not in fields:
                continue
            try:
                value = msgspec.json.decode(fields[field.name], type=field.type)
            except DECODE_ERRORS as error:
                self.add(field.name, bytes(fields[field.name]), str(error), unreadable=True)
                continue
            setattr(wire, field.name, value)
            if kind is WirePayment and field.name == "id":
                self.record_id = value
        return wire


def to_user(wire: WireUser, problems: ProblemCollector, field: str) -> User:
    """Return a user; ``field`` is the name of the field that holds it."""
    about = "" if wire.about is not None and wire.about.isspace() else wire.about  # the service sends " " for none
    joined = parse_date(wire.date_joined, problems, f"{field}.date_joined")
    return User(**(msgspec.structs.asdict(wire) | {"date_joined": joined, "about": about}))


def to_target(wire: WireTarget, problems: ProblemCollector) -> Target:
    """Return a target."""
    name = (wire.merchant or {}).get("display_name")
    return Target(
        type=wire.type,
        email=wire.email,
        phone=wire.phone,
        user=to_user(wire.user, problems, "target.user") if wire.user else None,
        name=name if isinstance(name, str) else None,
    )


def parse_amount(amount: msgspec.Raw, problems: ProblemCollector, field: str) -> int | None:
    """Return an amount in cents from its JSON text, None for null."""
    text = bytes(amount).decode("utf-8", "replace")
    if text == "null":
        return None
    try:
        return _cents_of_json(text)
    except MoneyError as error:
        problems.add(field, text, str(error).rstrip(".")[:_LONGEST_VALUE], unreadable=True)
        return None


def parse_date(text: str | None, problems: ProblemCollector, field: str) -> datetime | None:
    """Return an instant, None for null."""
    if text is None:
        return None
    try:
        return parse_instant(text)
    except ValueError:
        problems.add(field, text, "not a datetime that exists", unreadable=True)
        return None


def decode_cents(raw: bytes) -> int:
    """Return the cents of an amount, or raise one of ``FALLBACK_ERRORS``."""
    return _cents_of_json(raw.decode())


def decode_actor(raw: bytes) -> User:
    """Return an actor, or raise one of ``FALLBACK_ERRORS``."""
    problems = ProblemCollector()
    actor = to_user(msgspec.json.decode(raw, type=WireUser), problems, "actor")
    return _require_clean(raw, problems, actor)


def decode_target(raw: bytes) -> Target:
    """Return a target, or raise one of ``FALLBACK_ERRORS``."""
    problems = ProblemCollector()
    return _require_clean(raw, problems, to_target(msgspec.json.decode(raw, type=WireTarget), problems))


def _cents_of_json(text: str) -> int:
    return to_cents(text[1:-1] if text.startswith('"') else text)  # real balances are JSON strings


def _require_clean(raw: bytes, problems: ProblemCollector, value: T) -> T:
    if problems.found or REPLACEMENT_ESCAPE in raw:
        raise ValueError
    return value
