"""Records to frames: fixed columns and dtypes, exact values, order, completeness."""

from datetime import UTC, datetime

import pandas as pd

from p2p_analytics.frames.build import friends_frame, payments_frame, problems_frame
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.records import Payment, Payments, Problem, Refund, Target, User
from support.frames import problem_rows

ME = User(id="7", username="me", display_name="Me Myself")
THEO = User(id="8", username="theo", display_name="Theo", date_joined=datetime(2013, 2, 10, 21, 58, 5, tzinfo=UTC))
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)

COLUMNS = (
    "payment_id status action amount_cents note audience medium date_created date_completed actor_id actor_username "
    "actor_display_name target_type target_email target_phone target_user_id target_user_username "
    "target_user_display_name fee_cents refund_payment_id refund_amount_cents source account_id kind currency "
    "direction counterparty_id counterparty_username counterparty_name flow_cents"
)


def test_the_columns_are_those_of_the_design_in_order() -> None:
    """Every frame has all columns, with the same dtypes, also without rows."""
    for payments in ([], [Payment(id="1")], [Payment(id="1", actor=ME, target=Target(user=THEO), action="pay")]):
        frame = payments_frame([Payments.of(payments)], "7")
        assert " ".join(frame.columns) == COLUMNS
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(PAYMENTS)


def test_a_whole_record_fills_its_row() -> None:
    """Each field is in its column, money in cents, instants in UTC."""
    record = Payment(
        id="1322585332520059421", status="settled", action="pay", amount_cents=-9007199254740993, note="NA",
        audience="private", medium="ios", date_created=NOON, date_completed=NOON.replace(microsecond=7),
        actor=ME, target=Target(type="user", user=THEO), fee_cents=25, refund=Refund(id="0012", amount_cents=30),
    )  # fmt: skip
    row = payments_frame([Payments.of([record])], "7").iloc[0].dropna().to_dict()
    assert row == {
        "payment_id": "1322585332520059421", "status": "settled", "action": "pay",
        "amount_cents": -9007199254740993, "note": "NA", "audience": "private", "medium": "ios",
        "date_created": pd.Timestamp("2024-05-01T12:00:00Z"),
        "date_completed": pd.Timestamp("2024-05-01T12:00:00.000007Z"),
        "actor_id": "7", "actor_username": "me", "actor_display_name": "Me Myself",
        "target_type": "user", "target_user_id": "8", "target_user_username": "theo",
        "target_user_display_name": "Theo",
        "fee_cents": 25, "refund_payment_id": "0012", "refund_amount_cents": 30, "source": "api",
        "account_id": "7", "kind": "payment", "currency": "USD", "direction": "out", "counterparty_id": "8",
        "counterparty_username": "theo", "counterparty_name": "Theo", "flow_cents": -9007199254740993,
    }  # fmt: skip


def test_newest_first_and_the_later_of_two_states() -> None:
    """Ids are numbers as text; a row without a date is last; of two records with one id the later one stays."""
    made = [("9", NOON, "pending"), ("5", None, "settled"), ("10", NOON, "settled"), ("9", NOON, "settled"),
            ("3", NOON.replace(hour=1), "settled")]  # fmt: skip
    pages = [Payments.of([Payment(id=name, date_created=date, status=status)]) for name, date, status in made]
    frame = payments_frame(pages, "7")
    assert frame["payment_id"].tolist() == ["10", "9", "3", "5"]
    assert set(frame["status"]) == {"settled"}


def test_friends_keep_the_service_order() -> None:
    """One row per friend with the documented subset; the columns are the same without friends."""
    frame = friends_frame([THEO, ME])
    names = "user_id username first_name last_name display_name about profile_picture_url"
    assert " ".join(frame.columns) == names
    assert list(frame["user_id"]) == ["8", "7"]
    assert {name: str(dtype) for name, dtype in friends_frame([]).dtypes.items()} == dict(FRIENDS)


def test_problems_are_a_frame_too() -> None:
    """One row per problem with its code, payment, field, value and description; the columns of files are null."""
    found = [
        Problem("1", "status", "held", "unknown"),
        Problem("2", "amount", "x", "is no number", unreadable=True),
        Problem(None, "date_created", "2024", "others may be missing", incomplete=True),
    ]
    frame = problems_frame(found)
    assert problem_rows(frame) == [(each.record_id, each.field, each.value, each.problem) for each in found]
    assert frame["code"].tolist() == ["unexpected", "unreadable", "incomplete"]
    assert frame.drop(columns=["code", "payment_id", "field", "value", "problem"]).isna().all(axis=None)
    assert {name: str(dtype) for name, dtype in problems_frame([]).dtypes.items()} == dict(PROBLEMS)
