"""Crowded seconds: complete, or reported as a problem."""

import random
from collections.abc import Iterable
from datetime import timedelta

import pytest

from p2p_analytics.records import Payment, User
from support.payment_list import START, Model, load_ids, load_pages

PEOPLE = ["7", "8", "9", "10"]


def make_payments(seconds: Iterable[int], actors: list[str], first_id: int = 0, **words: list[str]) -> list[Payment]:
    """Return payments at these seconds with these actions, statuses and actors in turn."""
    actions, statuses = words.get("action", ["pay"]), words.get("status", ["settled"])
    return [
        Payment(
            id=str(first_id + n),
            date_created=START + timedelta(seconds=second),
            action=actions[n % len(actions)],
            status=statuses[n // 2 % len(statuses)],
            actor=User(id=actors[n // 3 % len(actors)]),
        )
        for n, second in enumerate(seconds)
    ]


def make_crowd(count: int, *, known: bool = True, actor: list[str] = PEOPLE[:1], **words: list[str]) -> list[Payment]:
    """Return payments of one second, and twelve before and after, with the same actors if ``known``."""
    around = make_payments([-9, -8, -1, 1, 2, 80_000] * 2, actor if known else PEOPLE[:1], first_id=10**6)
    return make_payments([0] * count, actor, **words) + around


def list_problems(model: Model, friends: tuple[str, ...] = ()) -> list[str]:
    """Return the problems of a load that make it incomplete."""
    pages = load_pages(model, concurrency=2, list_friend_ids=lambda: friends)
    return [problem.problem for page in pages for problem in page.problems if problem.incomplete]


@pytest.mark.parametrize("inclusive", [False, True])
@pytest.mark.parametrize(
    "kinds",
    [
        {"action": ["pay", "charge"], "status": ["settled", "pending", "failed"]},
        {"action": ["pay", "charge"], "actor": PEOPLE},
        {"actor": PEOPLE},
    ],
    ids=["action and status", "action and actor", "actor"],
)
def test_filters_complete_a_crowded_second(kinds: dict, inclusive: bool) -> None:  # noqa: FBT001
    """A hundred and thirty payments in one second among others: all of them, once."""
    model = Model(make_crowd(130, **kinds), inclusive=inclusive)
    assert sorted(load_ids(model)) == sorted(row.id for row in model.rows)
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
    strangers = Model(make_crowd(130, actor=PEOPLE, known=False))
    (found,) = list_problems(strangers)
    assert "some of the people in it are seen nowhere else; others may be missing" in found
    assert list_problems(strangers, friends=("8", "9", "10")) == []


def test_people_from_later_pages_complete_a_crowded_second() -> None:
    """Two hundred payments by a hundred people, of whom the page shows fifty: none is lost."""
    people, words = [User(id=str(100 + number)) for number in range(100)], {"action": "pay", "status": "settled"}
    made = [Payment(id=str(n), date_created=START, actor=people[n % 100], **words) for n in range(200)]
    random.Random(3).shuffle(people)  # noqa: S311 - the same data each time
    made += [
        Payment(id=str(1000 + n), date_created=START - timedelta(days=n + 1), actor=each, **words)
        for n, each in enumerate(people)
    ]
    assert sorted(load_ids(Model(made))) == sorted(row.id for row in made)
    assert list_problems(Model(made)) == []
