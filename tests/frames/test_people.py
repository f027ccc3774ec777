"""The PEOPLE frame: one row per person, the most recent value of each field, earlier names."""

from datetime import UTC, datetime

import pandas as pd

from p2p_analytics.frames.build import payments_frame
from p2p_analytics.frames.people import list_sides, merge_people, people_frame
from p2p_analytics.frames.schema import PEOPLE
from p2p_analytics.records import Payment, Payments, Target, User

JOINED = datetime(2013, 2, 10, 21, 58, 5, 7, tzinfo=UTC)
BO = User(id="8", username="bo", display_name="Bo Lund")


def test_one_row_per_person_in_the_order_of_ids() -> None:
    """Ids are numbers of any length as text; a user without an id is left out; the dtypes are always the same."""
    frame = people_frame([User(id="10"), BO, User(display_name="No id"), User(id="9"), BO])
    assert frame["user_id"].tolist() == ["8", "9", "10"]
    without = [people_frame([]), list_sides(payments_frame([], "7"))]
    for each in (frame, without[0], merge_people(without), merge_people(without[1:])):
        assert len(each) == (3 if each is frame else 0)
        assert {name: str(dtype) for name, dtype in each.dtypes.items()} == dict(PEOPLE)


def test_each_field_is_the_most_recent_value_that_is_known() -> None:
    """The first user counts; what it does not show comes from the next one that does."""
    newest = User(id="8", display_name="Bo Lund", friends_count=0)
    middle = User(id="8", display_name="Bo Persson", username="bo", is_friend=False, date_joined=JOINED)
    oldest = User(id="8", display_name="B. Persson", username="bop", email="bo@mail.example", friends_count=3)
    row = people_frame([newest, middle, oldest]).iloc[0].dropna().to_dict()
    assert row == {
        "user_id": "8", "username": "bo", "display_name": "Bo Lund", "email": "bo@mail.example", "is_friend": False,
        "friends_count": 0, "date_joined": pd.Timestamp(JOINED), "also_named": "Bo Persson; B. Persson",
    }  # fmt: skip


def test_names_gather_over_merges_and_a_present_name_is_no_earlier_one() -> None:
    """A person who takes an earlier name back has it once, as the name; "; " within a name becomes ", "."""
    first = people_frame([User(id="8", display_name="Bo Persson")])
    second = merge_people([people_frame([BO]), first])
    assert second["also_named"].tolist() == ["Bo Persson"]
    third = merge_people([people_frame([User(id="8", display_name="Bo Persson")]), second])
    assert (third["display_name"].tolist(), third["also_named"].tolist()) == (["Bo Persson"], ["Bo Lund"])
    assert merge_people([third, third]).equals(third)
    first = people_frame([User(id="8", display_name="A; B")])
    second = merge_people([people_frame([BO]), first])
    assert second["also_named"].tolist() == ["A, B"]
    assert merge_people([first, second])["also_named"].tolist() == ["Bo Lund"]


def test_people_of_payments_are_its_actors_and_targets() -> None:
    """The newest payment says the name, also across actor and target; rows without a user add no person."""
    rows = [
        Payment(id="3", date_created=datetime(2024, 1, 3, tzinfo=UTC), actor=User(id="7", display_name="Ada R."),
                target=Target(type="email", email="x@mail.example")),
        Payment(id="2", date_created=datetime(2024, 1, 2, tzinfo=UTC), actor=BO,
                target=Target(type="user", user=User(id="7", display_name="Ada"))),
        Payment(id="1", date_created=datetime(2024, 1, 1, tzinfo=UTC), actor=User(id="7", display_name="Ada Reyes"),
                target=Target(type="user", user=User(id="8", display_name="Bo Persson"))),
    ]  # fmt: skip
    seen: list[User] = []
    frame = payments_frame([Payments.of(rows)], "7", on_people=seen.extend)
    expected = {"7": ("Ada R.", "Ada; Ada Reyes"), "8": ("Bo Lund", "Bo Persson")}
    for people in (merge_people([list_sides(frame)]), people_frame(seen)):
        found = zip(people["display_name"], people["also_named"], strict=True)
        assert dict(zip(people["user_id"], found, strict=True)) == expected
    assert [user.display_name for user in seen] == ["Ada R.", "Bo Lund", "Ada", "Ada Reyes", "Bo Persson"]
