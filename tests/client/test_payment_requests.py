"""Payment requests: argument checks, form fields, and matching with listed payments."""

from decimal import Decimal

import pytest

from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.errors import ConfigurationError, OutcomeUnknownError
from support.connections import client_to
from support.payment_book import FRIEND, LUNCH, ME
from support.scripted import hang_up


def send(open_desk, *requests: dict, action: str = "pay") -> list[dict[str, str]]:
    """Return the form fields, without the token, of payments that a desk sends."""
    desk, _book, service, _waits = open_desk(lambda book, fields: book.carry_out(fields))
    for request in requests:
        getattr(desk, action)(**request)
    sent = [fields for path, fields in service.asked if path == "POST /v1/payments"]
    return [{name: value for name, value in fields.items() if name != "access_token"} for fields in sent]


def test_an_amount_is_sent_as_exact_decimal_text(open_desk) -> None:
    """Two decimal places; a charge is negative (document: "POST /payments")."""
    requests = [LUNCH | {"amount": amount} for amount in ("12.30", "0.100000", 7, Decimal("1e2"), ".05")]
    for action, sign in (("pay", ""), ("charge", "-")):
        amounts = [fields["amount"] for fields in send(open_desk, *requests, action=action)]
        assert amounts == [sign + text for text in ("12.30", "0.10", "7.00", "100.00", "0.05")]


NOT_EMAIL = ["", "ann", "ann@", "@example.com", "ann@host", "a b@example.com", "a@b@example.com", 7]
NOT_PHONE = [
    "", "555555555", "25555555555", "155555555555", "+44 20 7946 0958", "0555555555", "1555155555", "5551555555",
    "9115555555", "555-555-555x", "555 555 5555 ext 1", "\uff15" * 10, "++15555555555", 5555555555,
]  # fmt: skip


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
        # An address has one @, a local part, and a host name with a dot.
        *(({"user_id": None, "email": email}, "no email address") for email in NOT_EMAIL),
        # Ten digits, area code and exchange from 2 to 9, no service code such as 911 (document: "Limits").
        *(({"user_id": None, "phone": phone}, "no US phone number") for phone in NOT_PHONE),
    ],
)
def test_undocumented_arguments_are_refused(changed: dict, sentence: str) -> None:
    """An inexact or non-positive amount, no or two or invalid recipients, no note, an unknown audience: no request."""
    desk = PaymentDesk(client_to("http://127.0.0.1:1/v1"))
    with pytest.raises(ConfigurationError, match=sentence):
        desk.pay(**(LUNCH | changed))


def test_recipients_and_notes_are_sent_in_the_documented_form(open_desk) -> None:
    """A US phone number, however it is written, as eleven digits; the note unchanged; no empty fields."""
    phones = ["15555555555", "5555555555", "+1 (555) 555-5555", "555.555.5555", " 1-555-555-5555 "]
    sent = send(
        open_desk, LUNCH, {"email": " ann@example.com ", "amount": 1, "audience": "private", "note": " two  spaces "},
        *({"phone": phone, "amount": 1, "note": "x"} for phone in phones),
    )  # fmt: skip
    assert sent == [
        {"user_id": "8", "note": "lunch", "amount": "12.30"},
        {"email": "ann@example.com", "note": " two  spaces ", "amount": "1.00", "audience": "private"},
        *[{"phone": "15555555555", "note": "x", "amount": "1.00"}] * 5,
    ]


def is_recognised(open_desk, listed: dict, action: str = "pay", **changed: object) -> bool:
    """Return whether a desk recognises a listed payment as its own after a lost response.

    ``listed`` are its differences from a payment of 12.30 from user 7 to user 8.
    """

    def fault(book, _fields: dict[str, str]) -> object:
        book.carry_out({"note": "lunch", "amount": "12.30"}, **listed)
        return hang_up

    desk, _book, _service, _waits = open_desk(fault)
    try:
        return getattr(desk, action)(**(LUNCH | changed)).reconciled
    except OutcomeUnknownError:
        return False


def test_the_outcome_of_a_request_is_recognised(open_desk) -> None:
    """Actor, target, amount, note and action are equal; a note may have another Unicode form or be trimmed."""
    assert is_recognised(open_desk, {})
    assert is_recognised(open_desk, {}, note="  lunch\n")
    assert is_recognised(open_desk, {"note": "caf\xe9 🍜"}, note="cafe\u0301 🍜")
    for amount in (12.3, -12.3):  # charges are negative in the document, and positive in real services
        assert is_recognised(open_desk, {"action": "charge", "amount": amount}, action="charge")


@pytest.mark.parametrize(
    "listed",
    [
        {"action": "charge"}, {"action": None}, {"amount": 12.31}, {"amount": None}, {"note": "lunch!"},
        {"note": None}, {"actor": FRIEND}, {"actor": None}, {"target": None}, {"target": {"type": "user"}},
        {"target": {"type": "user", "user": ME}}, {"target": {"type": "email"}},
    ],
)  # fmt: skip
def test_a_different_payment_is_not_the_outcome(open_desk, listed: dict) -> None:
    """One different or missing field is enough."""
    assert not is_recognised(open_desk, listed)


@pytest.mark.parametrize(
    ("target", "email", "phone"),
    [
        ({"type": "email", "email": "Ann@Example.com"}, True, False),
        ({"type": "email"}, True, False),  # the document's samples show it without its address
        ({"type": "email", "user": FRIEND}, True, False),  # the user behind an address, by the kind of address
        ({"type": "user", "user": FRIEND}, False, False),  # paid by a user id
        ({"type": "email", "email": "bob@example.com"}, False, False),
        ({"type": "phone", "phone": "5555550123"}, False, True),
        ({"type": "phone", "phone": "+1 555 555 0123"}, False, True),
        ({"type": "phone"}, False, True),
        ({"type": "phone", "user": FRIEND}, False, True),
        ({"type": "phone", "phone": "15555550124"}, False, False),
        ({"type": "merchant", "merchant": {"display_name": "Shop"}}, False, False),
    ],
)
def test_an_address_is_recognised_in_every_documented_form(
    open_desk, target: dict, *, email: bool, phone: bool
) -> None:
    """With the address, in any format, without it, or as the user behind it (document: "Target")."""
    listed = {"target": target}
    assert is_recognised(open_desk, listed, user_id=None, email="ann@example.com") is email
    assert is_recognised(open_desk, listed, user_id=None, phone="(555) 555-0123") is phone
