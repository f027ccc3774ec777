"""Payment requests: checks before sending, and matching with the payments of a list afterwards."""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from typing import Final

import msgspec

from p2p_analytics.errors import ConfigurationError, MoneyError
from p2p_analytics.money import format_cents, to_cents
from p2p_analytics.records import Payment, Target
from p2p_analytics.vocabulary import Action, Audience, TargetType

_EMAIL: Final = re.compile(r"[^@\s]+@[^@\s.]+(?:\.[^@\s.]+)+")
_USER_ID: Final = re.compile(r"[\w-]+", re.ASCII)
_PHONE_TEXT: Final = re.compile(r"\+?[\d\s().-]+", re.ASCII)
# Area code and exchange begin with 2 to 9; N11 codes such as 911 are services, not area codes.
_PHONE: Final = re.compile(r"1?(?P<number>(?!\d11)[2-9]\d{2}[2-9]\d{6})", re.ASCII)


class PaymentRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Pay or charge to be sent; exactly one of ``user_id``, ``email`` and ``phone`` is set."""

    action: Action
    cents: int
    note: str
    user_id: str | None = None
    email: str | None = None
    phone: str | None = None
    audience: str | None = None

    def build_fields(self) -> dict[str, str]:
        """Return the form fields (document: "POST /payments"); a charge is a negative amount."""
        sent = {
            "user_id": self.user_id,
            "email": self.email,
            "phone": self.phone,
            "note": self.note,
            "amount": format_cents(self.cents if self.action == Action.PAY else -self.cents),
            "audience": self.audience,
        }
        return {name: value for name, value in sent.items() if value is not None}

    def is_same_transfer(self, payment: Payment) -> bool:
        """Return whether a payment has the same action and amount; real services drop a charge's sign."""
        return (
            payment.action == self.action
            and payment.amount_cents is not None
            and abs(payment.amount_cents) == self.cents
        )

    def is_fulfilled_by(self, payment: Payment, actor_id: str) -> bool:
        """Return whether a payment in a list may be the result of this request by that actor."""
        return (
            self.is_same_transfer(payment)
            and payment.actor is not None
            and payment.actor.id == actor_id
            and payment.note is not None
            and _normalize_note(payment.note) == _normalize_note(self.note)
            and payment.target is not None
            and self._is_target(payment.target)
        )

    def _is_target(self, target: Target) -> bool:
        """Return whether a target may be the requested one; the service may show the user behind an address."""
        if self.user_id is not None:
            return target.user is not None and target.user.id == self.user_id
        if target.type != (TargetType.EMAIL if self.email is not None else TargetType.PHONE):
            return False
        if target.user is not None:
            return True
        if self.email is not None:
            return (target.email or self.email).casefold() == self.email.casefold()
        return _extract_digits(target.phone or str(self.phone)) == _extract_digits(str(self.phone))


def build_payment_request(  # noqa: PLR0913 - one keyword for each documented parameter
    action: Action,
    *,
    user_id: str | None,
    email: str | None,
    phone: str | None,
    amount: Decimal | int | str,
    note: str,
    audience: str | None,
) -> PaymentRequest:
    """Return a payment request, or raise a ConfigurationError for a parameter outside the document."""
    _require(
        sum(given is not None for given in (user_id, email, phone)) == 1,
        f"Name exactly one of user_id, email and phone to {action}.",
    )
    cents = _parse_positive_cents(amount)
    _require(isinstance(note, str) and note.strip(), "A note is required and cannot be blank.")
    _require(
        not re.search(r"[\ud800-\udfff]", note),
        "The note holds half a character pair (a lone surrogate), which cannot be sent: remove it.",
    )
    if user_id is not None:
        is_id = isinstance(user_id, str) and _USER_ID.fullmatch(user_id)
        _require(is_id, f"A user id is text like '1322585332520059420', not {user_id!r}.")
    if email is not None:
        is_email = isinstance(email, str) and _EMAIL.fullmatch(email.strip()) and email.strip().isprintable()
        _require(is_email, f"{email!r} is no email address like ann@example.com.")
    number = (
        isinstance(phone, str) and _PHONE_TEXT.fullmatch(phone.strip()) and _PHONE.fullmatch(_extract_digits(phone))
    )
    _require(phone is None or number, f"{phone!r} is no US phone number like +1 555 555 0123.")
    is_known = audience is None or audience in set(Audience)
    _require(is_known, f"audience can be {', '.join(Audience)}, not {audience!r}.")
    return PaymentRequest(
        action=action,
        cents=cents,
        note=note,
        user_id=user_id,
        email=email and email.strip(),
        phone="1" + number["number"] if number else None,  # eleven digits (document: "Limits")
        audience=audience and str(audience),
    )


def _require(is_valid: object, message: str) -> None:
    if not is_valid:
        raise ConfigurationError(message)


def _parse_positive_cents(amount: Decimal | int | str) -> int:
    try:
        cents = to_cents(amount)
    except (MoneyError, TypeError, ValueError, ArithmeticError) as error:
        reason = str(error) if isinstance(error, MoneyError) else f"{amount!r} is no Decimal, int or text."
    else:
        if cents > 0:
            return cents
        reason = f"it must be above zero, not {format_cents(cents)}; to ask for money, use charge."
    raise ConfigurationError(f"amount: {reason}")


def _extract_digits(phone: str) -> str:
    digits = re.sub(r"\D", "", phone)
    return digits[1:] if len(digits) == len("15555550123") and digits[0] == "1" else digits


def _normalize_note(note: str) -> str:
    """Return a note in Unicode normal form with single spaces, as storing and displaying may change both."""
    return " ".join(unicodedata.normalize("NFC", note).split())
