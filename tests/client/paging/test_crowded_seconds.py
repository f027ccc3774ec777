"""Crowded seconds: complete, or reported as a problem."""

from __future__ import annotations

import random
from datetime import timedelta

import msgspec
import pytest

from p2p_analytics.client.paging.scheduler import fetch_history
from p2p_analytics.records import Payment, User
from p2p_analytics.times import BEGINNING, END
from support.payment_list import START, Model, load_ids, make_rows


def make_crowd(count: int, *, known: bool = True, **kinds: list[str]) -> list[Payment]:
    """Return payments of one second with these actions, statuses and actors in turn, and some before and after.

    Payments before and after have the same actors if ``known``.
    """
    words = {"action": ["pay"], "status": ["settled"], "actor": ["7"]} | kinds
    made = [
        Payment(
            id=str(number),
            date_created=START,
            action=words["action"][number % len(words["action"])],
            status=words["status"][number // 2 % len(words["status"])],
            actor=User(id=words["actor"][number // 3 % len(words["actor"])]),
        )
        for number in range(count)
    ]
    around = make_rows([-9, -8, -1, 1, 2, 80_000])
    actors = words["actor"] if known else ["7"]
    return made + [
        msgspec.structs.replace(
            row, id=str(10**6 + n), action="pay", status="settled", actor=User(id=actors[n % len(actors)])
        )
        for n, row in enumerate(around)
    ]


def list_problems(model: Model, friends: tuple[str, ...] = ()) -> list[str]:
    """Return the problems of a load that make it incomplete."""
    pages = fetch_history(
        model,
        after=BEGINNING,
        before=END,
        likely_start=None,
        concurrency=2,
        on_progress=lambda *_: None,
        list_friend_ids=lambda: friends,
    )
    return [problem.problem for page in pages for problem in page.problems if problem.incomplete]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(
    "kinds",
    [
        {"action": ["pay", "charge"], "status": ["settled", "pending", "failed"]},
        {"action": ["pay", "charge"], "actor": ["7", "8", "9", "10"]},
        {"actor": ["7", "8", "9", "10"]},
    ],
    ids=["action and status", "action and actor", "actor"],
)
def test_filters_complete_a_crowded_second(kinds: dict, inclusive: bool) -> None:  # noqa: FBT001
    """A hundred and thirty payments in one second among others: all of them, once."""
    model = Model(make_crowd(130, **kinds), inclusive=inclusive)
    found = load_ids(model)
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(row.id for row in model.rows)
    assert list_problems(model) == []


def test_microseconds_complete_a_crowded_second() -> None:
    """If they differ and the service compares them, no filter is needed."""
    made = [Payment(id=str(number), date_created=START + timedelta(microseconds=number)) for number in range(130)]
    model = Model([*made, *make_crowd(0)])
    assert load_ids(model) == [row.id for row in model.rows]
    assert not any(query.action for query in model.asked)


def test_an_inseparable_crowded_second_is_a_problem() -> None:
    """Fifty-one payments of one second, kind and actor, or of an unknown action, are reported as incomplete."""
    (found,) = list_problems(Model(make_crowd(51)))
    assert "of one kind and one person" in found
    assert any("found by no filter" in text for text in list_problems(Model(make_crowd(60, action=["pay", "gift"]))))


def test_unknown_people_make_a_crowded_second_doubtful() -> None:
    """The page may hide others like them; friends, and people on other payments, are known."""
    strangers = make_crowd(130, actor=["7", "8", "9", "10"], known=False)
    (found,) = list_problems(Model(strangers))
    assert "some of the people in it are seen nowhere else; others may be missing" in found
    assert list_problems(Model(strangers), friends=("8", "9", "10")) == []
    assert list_problems(Model(make_crowd(130, actor=["7", "8", "9", "10"]))) == []


def test_people_from_later_pages_complete_a_crowded_second() -> None:
    """Two hundred payments by a hundred people, of whom the page shows fifty: none is lost."""
    chance = random.Random(3)  # noqa: S311 - the same data each time
    ids = [str(100 + number) for number in range(100)]
    words = {"action": "pay", "status": "settled"}
    made = [Payment(id=str(n), date_created=START, actor=User(id=ids[n % 100]), **words) for n in range(200)]
    older = [
        Payment(id=str(1000 + n), date_created=START - timedelta(days=n + 1), actor=User(id=each), **words)
        for n, each in enumerate(chance.sample(ids, 100))
    ]
    model = Model([*made, *older])
    assert sorted(load_ids(model)) == sorted(row.id for row in model.rows)
    assert list_problems(model) == []
