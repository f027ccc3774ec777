"""Parameters of POST and PUT /payments: recipient, amount, note, audience, resolution (document: "POST /payments")."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Final, TypeVar

from p2p_analytics.errors import MoneyError
from p2p_analytics.money import format_cents, to_cents
from p2p_analytics.sandbox.domain.orders import Order, Recipient
from p2p_analytics.sandbox.errors import (
    AmountError,
    AmountTooLargeError,
    InvalidParameterError,
    NoRecipientError,
    NoteError,
    NotFoundError,
)
from p2p_analytics.sandbox.http.parameters import Parameters, read_id
from p2p_analytics.vocabulary import Audience, Resolution, TargetType

_Word = TypeVar("_Word", bound=StrEnum)

LARGEST_PAYMENT_CENTS: Final = 100_000_000
LONGEST_NOTE: Final = 2_000
LONGEST_EMAIL: Final = 254
# Control characters and U+FEFF are listed, because regex engines disagree whether \s includes them.
_WORD: Final = r'[^\s@,;<>"\x00-\x1f\x7f-\x9f\ufeff]'
EMAIL: Final = re.compile(rf"{_WORD}+@{_WORD}+\.{_WORD.replace('@', '@.')}+")
# A plus that is not percent-encoded is decoded as a space.
PHONE: Final = re.compile(r"(?:[+ ]?1[ .-]?)?\(?([2-9]\d\d)\)?[ .-]{0,2}(\d{3})[ .-]?(\d{4})", re.ASCII)


def read_order(parameters: Parameters) -> Order:
    """Read the parameters of POST /payments."""
    recipient = _read_recipient(parameters)
    try:
        cents = to_cents(parameters.require("amount"))
    except MoneyError:
        raise AmountError("amount must be a decimal number of whole cents, such as 12.30 or -12.30.") from None
    if cents == 0:
        raise AmountError("amount must not be zero: positive pays, negative charges.")
    if abs(cents) > LARGEST_PAYMENT_CENTS:
        raise AmountTooLargeError(f"amount must not be larger than {format_cents(LARGEST_PAYMENT_CENTS)}.")
    if parameters.get("note") is None:
        raise NoteError("A note is required: give the purpose of the payment.")
    # Verbatim, with leading and trailing spaces: a client may search for its payment by the note.
    note = parameters.get_verbatim("note")
    if len(note) > LONGEST_NOTE:
        raise NoteError(f"The note is longer than {LONGEST_NOTE} characters.")
    audience = parameters.get("audience")
    return Order(
        recipient, cents, note, Audience.PRIVATE if audience is None else _read_word("audience", audience, Audience)
    )


def read_resolution(parameters: Parameters) -> Resolution:
    """Read the parameters of PUT /payments/:payment."""
    return _read_word("action", parameters.require("action"), Resolution)


def _read_recipient(parameters: Parameters) -> Recipient:
    user_id, email, phone = (parameters.get(name) for name in ("user_id", "email", "phone"))
    # Clients send all three and leave some blank; the most specific one wins.
    if user_id is not None:
        try:
            return Recipient(TargetType.USER, str(read_id(user_id)))
        except NotFoundError:
            raise NoRecipientError("user_id is not the id of a user.") from None
    if email is not None:
        if len(email) > LONGEST_EMAIL or not EMAIL.fullmatch(email):
            raise NoRecipientError("email is not an email address.")
        return Recipient(TargetType.EMAIL, email.lower())
    if phone is not None:
        digits = PHONE.fullmatch(phone)
        if digits is None:
            raise NoRecipientError("phone is not a US phone number: give ten digits, with or without a leading 1.")
        return Recipient(TargetType.PHONE, "1" + "".join(digits.groups()))
    raise NoRecipientError("There is no recipient: give a user_id, an email or a phone.")


def _read_word(name: str, text: str, kind: type[_Word]) -> _Word:
    try:
        return kind(text)
    except ValueError:
        raise InvalidParameterError(f"{name} must be one of: {', '.join(kind)}.") from None
