"""Payment requests: argument checks, form fields, and matching with listed payments."""

from __future__ import annotations

from decimal import Decimal

import pytest

from p2p_analytics.client._payment_requests import build_payment_request
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.records import Payment, Target, User
from p2p_analytics.vocabulary import Action

GOOD = {"user_id": "8", "email": None, "phone": None, "amount": "12.30", "note": "lunch", "audience": None}


def build(action: Action = Action.PAY, **changed: object):
    """Return a request for 12.30 to user 8, with changed arguments."""
    return build_payment_request(action, **(GOOD | changed))


@pytest.mark.parametrize(
    ("amount", "sent"),
    [("12.30", "12.30"), ("0.100000", "0.10"), (7, "7.00"), (Decimal("1e2"), "100.00"), (".05", "0.05")],
)
def test_an_amount_is_sent_as_exact_decimal_text(amount: object, sent: str) -> None:
    """Two decimal places; a charge is negative (document: "POST /payments")."""
    assert build(amount=amount).build_fields()["amount"] == sent
    assert build(Action.CHARGE, amount=amount).build_fields()["amount"] == f"-{sent}"


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"amount": 0.1}, "amount: Binary floats"),
        ({"amount": True}, "amount: Binary floats"),
        ({"amount": None}, "amount: None is no Decimal"),
        ({"amount": "12,30"}, "amount: '12,30' is not an amount"),
        ({"amount": "0.001"}, "amount: 0.001 has a fraction of a cent"),
        ({"amount": Decimal("NaN")}, "amount: NaN"),
        ({"amount": "0"}, "amount: it must be above zero"),
        ({"amount": -5}, r"amount: it must be above zero, not -5\.00; to ask for money, use charge"),
        ({"user_id": None}, "exactly one of user_id, email and phone"),
        ({"email": "a@b.example"}, "exactly one of user_id, email and phone"),
        ({"user_id": 8}, "A user id is text"),
        ({"user_id": "8,9"}, "A user id is text"),
        ({"note": " \n"}, "A note is required"),
        ({"note": None}, "A note is required"),
        ({"note": "\ud83c"}, "half a character pair"),
        ({"audience": "everybody"}, "audience can be public, friends, private, not 'everybody'"),
    ],
)
def test_undocumented_arguments_are_refused(changed: dict, sentence: str) -> None:
    """An inexact or non-positive amount, no or two recipients, no note, an unknown audience."""
    with pytest.raises(ConfigurationError, match=sentence):
        build(**changed)


@pytest.mark.parametrize(
    "email", ["", "ann", "ann@", "@example.com", "ann@host", "a b@example.com", "a@b@example.com", 7]
)
def test_an_invalid_email_address_is_refused(email: object) -> None:
    """An address has one @, a local part, and a host name with a dot."""
    with pytest.raises(ConfigurationError, match="no email address"):
        build(user_id=None, email=email)


@pytest.mark.parametrize(
    "phone",
    ["15555555555", "5555555555", "+1 (555) 555-5555", "555.555.5555", " 1-555-555-5555 "],
)
def test_a_us_phone_number_is_sent_as_eleven_digits(phone: str) -> None:
    """With any punctuation, and with or without the country code."""
    assert build(user_id=None, phone=phone).build_fields()["phone"] == "15555555555"


@pytest.mark.parametrize(
    "phone",
    [
        "", "555555555", "25555555555", "155555555555", "+44 20 7946 0958", "0555555555", "1555155555", "5551555555",
        "9115555555", "555-555-555x", "555 555 5555 ext 1", "\uff15" * 10, "++15555555555", 5555555555,
    ],
)  # fmt: skip
def test_an_invalid_us_phone_number_is_refused(phone: object) -> None:
    """Ten digits, area code and exchange from 2 to 9, no service code such as 911 (document: "Limits")."""
    with pytest.raises(ConfigurationError, match="no US phone number"):
        build(user_id=None, phone=phone)


def test_missing_arguments_are_not_sent() -> None:
    """The form holds no empty fields."""
    assert build().build_fields() == {"user_id": "8", "note": "lunch", "amount": "12.30"}
    asked = build(user_id=None, email=" ann@example.com ", audience="private", note=" two  spaces ")
    assert asked.build_fields() == {
        "email": "ann@example.com", "note": " two  spaces ", "amount": "12.30", "audience": "private",
    }  # fmt: skip


def list_payment(**changed: object) -> Payment:
    """Return a payment of 12.30 from user 7 to user 8, with changed fields."""
    fields = {
        "id": "1", "action": "pay", "amount_cents": 1230, "note": "lunch", "actor": User(id="7"),
        "target": Target(type="user", user=User(id="8")),
    }  # fmt: skip
    return Payment(**(fields | changed))


def test_the_outcome_of_a_request_is_recognised() -> None:
    """Actor, target, amount, note and action are equal; a note may have another Unicode form or be trimmed."""
    assert build().is_fulfilled_by(list_payment(), "7")
    assert build(note="  lunch\n").is_fulfilled_by(list_payment(), "7")
    assert build(note="cafe\u0301 🍜").is_fulfilled_by(list_payment(note="caf\xe9 🍜"), "7")
    for cents in (1230, -1230):  # charges are negative in the document, and positive in real services
        assert build(Action.CHARGE).is_fulfilled_by(list_payment(action="charge", amount_cents=cents), "7")


@pytest.mark.parametrize(
    "changed",
    [
        {"action": "charge"}, {"action": None}, {"amount_cents": 1231}, {"amount_cents": None}, {"note": "lunch!"},
        {"note": None}, {"actor": User(id="8")}, {"actor": None}, {"target": None}, {"target": Target(type="user")},
        {"target": Target(type="user", user=User(id="9"))}, {"target": Target(type="email")},
    ],
)  # fmt: skip
def test_a_different_payment_is_not_the_outcome(changed: dict) -> None:
    """One different or missing field is enough."""
    assert not build().is_fulfilled_by(list_payment(**changed), "7")


@pytest.mark.parametrize(
    ("target", "email", "phone"),
    [
        (Target(type="email", email="Ann@Example.com"), True, False),
        (Target(type="email"), True, False),  # the document's samples show it without its address
        (Target(type="email", user=User(id="9")), True, False),  # the user behind an address, by the kind of address
        (Target(type="user", user=User(id="9")), False, False),  # paid by a user id
        (Target(type="email", email="bob@example.com"), False, False),
        (Target(type="phone", phone="5555550123"), False, True),
        (Target(type="phone", phone="+1 555 555 0123"), False, True),
        (Target(type="phone"), False, True),
        (Target(type="phone", user=User(id="9")), False, True),
        (Target(type="phone", phone="15555550124"), False, False),
        (Target(type="merchant", name="Shop"), False, False),
    ],
)
def test_an_address_is_recognised_in_every_documented_form(target: Target, *, email: bool, phone: bool) -> None:
    """With the address, in any format, without it, or as the user behind it (document: "Target")."""
    found = list_payment(target=target)
    assert build(user_id=None, email="ann@example.com").is_fulfilled_by(found, "7") is email
    assert build(user_id=None, phone="(555) 555-0123").is_fulfilled_by(found, "7") is phone
