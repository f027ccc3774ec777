"""Tests of direction, counterparty and flow: each row of the table, and targets that are not users."""

from __future__ import annotations

import pytest

from p2p_analytics.frames.build import payments_frame
from p2p_analytics.records import Payment, Payments, Target, User

ME, THEO = User(id="7", display_name="Me"), User(id="8", display_name="Theo")
SEEN = ["direction", "counterparty_id", "counterparty_name", "flow_cents"]


def view(**fields: object) -> list[object]:
    """Return the four columns of one payment from the perspective of user 7."""
    frame = payments_frame([Payments.of([Payment(id="1", **fields)])], "7")[SEEN]
    return frame.astype(object).where(frame.notna(), None).iloc[0].tolist()


@pytest.mark.parametrize("amount", [1230, -1230])
@pytest.mark.parametrize(
    ("action", "actor", "target", "direction", "flow"),
    [
        ("pay", ME, THEO, "out", -1230),
        ("pay", THEO, ME, "in", 1230),
        ("charge", ME, THEO, "in", 1230),
        ("charge", THEO, ME, "out", -1230),
    ],
)
def test_direction_comes_from_action_and_actor_never_from_the_sign(  # noqa: PLR0913, PLR0917 - one row of the table
    amount: int, action: str, actor: User, target: User, direction: str, flow: int
) -> None:
    """Real answers show charges with a positive amount, the document with a negative one."""
    found = view(action=action, actor=actor, target=Target(type="user", user=target), amount_cents=amount)
    assert found == [direction, "8", "Theo", flow]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Target(type="email", email="nobody@example.com"), "nobody@example.com"),
        (Target(type="phone", phone="15550100199"), "15550100199"),
        (Target(type="email"), "unregistered email"),
        (Target(type="phone"), "unregistered phone"),
        (Target(type="merchant", name="Corner Store"), "Corner Store"),
    ],
)
def test_a_target_that_is_no_user_is_a_counterparty_too(target: Target, name: str) -> None:
    """It is named by its address, or by its kind if it has none."""
    assert view(action="pay", actor=ME, target=target, amount_cents=30) == ["out", name, name, -30]


def test_the_asker_is_the_counterparty_of_a_charge_sent_to_the_viewers_address() -> None:
    """A viewer who is not the actor is the target, also if the target has only an email."""
    found = view(action="charge", actor=THEO, target=Target(type="email"), amount_cents=-30)
    assert found == ["out", "8", "Theo", -30]


def test_what_is_unknown_stays_empty() -> None:
    """An unknown action, actor or amount gives no direction or flow."""
    both = {"actor": ME, "target": Target(type="user", user=THEO)}
    assert view(action="gift", amount_cents=5, **both) == [None, "8", "Theo", None]
    assert view(action=None, amount_cents=5, **both) == [None, "8", "Theo", None]
    assert view(action="pay", amount_cents=None, **both) == ["out", "8", "Theo", None]
    assert view(action="pay", amount_cents=5, target=Target(type="user", user=THEO)) == [None] * 4


def test_a_payment_between_others_has_no_direction() -> None:
    """A viewer on neither side neither pays nor is paid."""
    other = Target(type="user", user=User(id="9"))
    assert view(action="pay", actor=THEO, target=other, amount_cents=5)[::3] == [None, None]


@pytest.mark.parametrize(
    ("user", "name"),
    [
        (User(id="8", username="theo"), "theo"),
        (User(id="8", username="theo", display_name=" "), "theo"),
        (User(id="8", username=" "), "8"),
        (User(id="8"), "8"),
    ],
)
def test_an_actor_without_a_display_name_is_named_by_the_next_best(user: User, name: str) -> None:
    """Username, then id."""
    assert view(action="pay", actor=user, target=Target(type="user", user=ME))[1:3] == ["8", name]


def test_an_empty_text_says_nothing() -> None:
    """The next nonblank text names the target, and an empty id counts as no id on either side."""
    assert view(action="pay", actor=ME, target=Target(type="phone", email=" ", phone="15550100199"))[2] == "15550100199"
    assert view(action="pay", actor=ME, target=Target(type="email", email=""))[1:3] == ["unregistered email"] * 2
    nobody = User(id="", username=" ")
    assert view(action="pay", actor=ME, target=Target(type="email", user=nobody))[:2] == ["out", "unregistered email"]
    assert view(action="pay", actor=nobody, target=Target(type="user", user=ME))[:3] == [None] * 3


def test_a_user_without_an_id_may_be_the_viewer_as_target_but_not_as_actor() -> None:
    """Such a target may be the viewer; an unknown actor gives no direction."""
    target = Target(type="user", user=User(username="x"))
    assert view(action="pay", actor=THEO, target=target)[:2] == ["in", "8"]
    assert view(action="pay", actor=User(display_name="Theo"), target=Target(type="user", user=ME))[0] is None
