"""Direction, counterparty and flow: each row of the table, and targets that are not users."""

import pytest

from p2p_analytics.frames.build import payments_frame
from p2p_analytics.records import Payment, Payments, Target, User

ME, THEO = User(id="7", display_name="Me"), User(id="8", display_name="Theo")
SEEN = ["direction", "counterparty_id", "counterparty_name", "flow_cents"]


def view(**fields: object) -> list[object]:
    """Return the four columns of one payment from the perspective of user 7."""
    frame = payments_frame([Payments.of([Payment(id="1", **fields)])], "7")[SEEN]
    return frame.astype(object).where(frame.notna(), None).iloc[0].tolist()


@pytest.mark.parametrize(
    ("action", "actor", "target", "direction", "flow"),
    [
        ("pay", ME, THEO, "out", -1230),
        ("pay", THEO, ME, "in", 1230),
        ("charge", ME, THEO, "in", 1230),
        ("charge", THEO, ME, "out", -1230),
    ],
)
def test_direction_comes_from_action_and_actor_never_from_the_sign(action, actor, target, direction, flow) -> None:
    """Real answers show charges with a positive amount, the document with a negative one."""
    for cents in (1230, -1230):
        found = view(action=action, actor=actor, target=Target(type="user", user=target), amount_cents=cents)
        assert found == [direction, "8", "Theo", flow]


@pytest.mark.parametrize(
    ("target", "name"),
    [
        (Target(type="email", email="nobody@example.com"), "nobody@example.com"),
        (Target(type="phone", email=" ", phone="15550100199"), "15550100199"),
        (Target(type="email", email=""), "unregistered email"),
        (Target(type="email", user=User(id="", username=" ")), "unregistered email"),
        (Target(type="phone"), "unregistered phone"),
        (Target(type="merchant", name="Corner Store"), "Corner Store"),
    ],
)
def test_a_target_that_is_no_user_is_a_counterparty_too(target: Target, name: str) -> None:
    """It is named by its address, or by its kind if it has none; a blank text or id counts as none."""
    assert view(action="pay", actor=ME, target=target, amount_cents=30) == ["out", name, name, -30]


def test_an_actor_without_a_display_name_is_named_by_the_next_best() -> None:
    """Username, then id; blank texts count as none."""
    for user, name in (({"username": "theo", "display_name": " "}, "theo"), ({"username": " "}, "8"), ({}, "8")):
        found = view(action="pay", actor=User(id="8", **user), target=Target(type="user", user=ME))
        assert found[1:3] == ["8", name]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"action": "gift"}, [None, "8", "Theo", None]),
        ({"action": None}, [None, "8", "Theo", None]),
        ({"amount_cents": None}, ["out", "8", "Theo", None]),
        ({"actor": None}, [None, None, None, None]),
        ({"actor": User(id="", username=" "), "target": Target(user=ME)}, [None, None, None, None]),
        ({"actor": User(display_name="Theo"), "target": Target(user=ME)}, [None, None, "Theo", None]),
        ({"actor": THEO, "target": Target(user=User(id="9"))}, [None, "8", "Theo", None]),
        # A viewer who is not the actor is the target, also where the target shows only an address or a name.
        ({"actor": THEO, "target": Target(user=User(username="x"))}, ["in", "8", "Theo", 5]),
        ({"action": "charge", "actor": THEO, "target": Target(type="email")}, ["out", "8", "Theo", -5]),
    ],
)
def test_what_is_unknown_stays_empty(fields: dict[str, object], expected: list[object]) -> None:
    """An unknown action, actor or amount gives no direction or flow, and a viewer on neither side neither."""
    usual = {"action": "pay", "actor": ME, "target": Target(type="user", user=THEO), "amount_cents": 5}
    assert view(**usual | fields) == expected
