"""Sets of rows that explain a difference: planted errors are found, in bounded work."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.statements.ledger.explanations import Change, find_explanations


def _find(
    moved: list[int | None], difference: int, flow: list[int | None] | None = None
) -> list[list[tuple[int, str]]]:
    found = find_explanations(moved, flow or moved, difference)
    assert found.is_complete
    return [[(change.row, change.action) for change in changes] for changes in found.sets]


@pytest.mark.parametrize(
    ("difference", "sets"),
    [
        (1800, [[(0, "without")]]),
        (3600, [[(0, "reversing")]]),
        (-13800, [[(1, "without")]]),
        (-6000, [[(2, "counting")]]),
        (-12000, [[(0, "without"), (1, "without")]]),
        (-18000, [[(0, "without"), (1, "without"), (2, "counting")]]),
        (1, []),
    ],
)
def test_smallest_sets(difference: int, sets: list[list[tuple[int, str]]]) -> None:
    """- 18.00 and + 138.00 moved the balance, - 60.00 did not: worked out by hand."""
    assert _find([-1800, 13800, 0], difference, [-1800, 13800, -6000]) == sets


def test_likelier_changes_come_first() -> None:
    """Of equal size, sets without a reversed sign come first, then those of earlier rows."""
    assert _find([-500, -1000, 0, -1000], 1000, [-500, -1000, 1000, -1000]) == [
        [(1, "without")],
        [(2, "counting")],
        [(3, "without")],
        [(0, "reversing")],
    ]


def test_a_row_is_changed_once() -> None:
    """Leaving a row out and reversing it too would be three times its amount: no explanation."""
    assert _find([-500], 1500) == []
    assert _find([-500, -500], 1500) == [[(0, "reversing"), (1, "without")], [(0, "without"), (1, "reversing")]]


def test_an_amount_that_was_not_read() -> None:
    """One unread amount explains any difference; of two, neither does alone."""
    assert _find([None, -500], 700) == [[(0, "reading")]]
    assert _find([None, -500], 500) == [[(0, "reading")], [(1, "without")]]
    assert _find([None, None, -500], 700) == []


def test_at_most_five_sets() -> None:
    """Seven equal rows: five are listed, and that there are more; three that explain it together are one of many."""
    found = find_explanations([100] * 7, [100] * 7, -100)
    assert [changes[0].row for changes in found.sets] == [0, 1, 2, 3, 4]
    assert found.has_more
    assert not find_explanations([100, 7], [100, 7], -100).has_more
    triples = find_explanations([100] * 7, [100] * 7, -600)
    assert triples.sets == (tuple(Change(row, "reversing") for row in range(3)),)
    assert triples.has_more


@settings(deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(["without", "reversing", "counting", "right"]), min_size=1, max_size=12),
    st.lists(st.sampled_from([-1, 1]), min_size=12, max_size=12),
)
def test_planted_errors_are_found(planted: list[str], signs: list[int]) -> None:
    """Up to three wrong rows are the only explanation if no sum of amounts occurs twice: powers of eleven.

    Three changes add at most 6 times one power, so digits from -5 to 5 are distinct.
    """
    moved: list[int | None] = []
    flow: list[int | None] = []
    difference = 0
    expected = []
    for row, (word, sign) in enumerate(zip(planted, signs, strict=False)):
        cents = sign * 11**row
        action = "right" if len(expected) == 3 else word
        counted = action != "counting" and (action != "right" or row % 3 > 0)
        moved.append(cents if counted else 0)
        flow.append(cents)
        if action != "right":
            expected.append(Change(row, action))
            difference += {"without": -cents, "reversing": -2 * cents, "counting": cents}[action]
    found = find_explanations(moved, flow, difference)
    assert found.sets == ((tuple(expected),) if expected else ())


def test_thousands_of_rows_in_bounded_work() -> None:
    """4,000 rows with distinct even amounts and an odd difference: all sums of two of 8,000 changes are looked up.

    That is 8,000 * 8,001 / 2 at most, and 1,000 for each of 8,000 begins; there are 85,000 million sets of three rows.
    """
    moved = [sign * 2 * (1000 + 7 * row) for row, sign in zip(range(4000), [1, -1] * 2000, strict=True)]
    found = find_explanations(moved, moved, 12345)
    assert (found.sets, found.is_complete) == ((), True)
    assert 4000 * 4001 / 2 < found.steps <= 8000 * 8001 / 2 + 8000 * 1000


def test_the_work_has_a_limit() -> None:
    """Beyond the limit of steps the search says that it is not complete; single rows and pairs are always found."""
    moved = [2 * (1000 + 7 * row) for row in range(4000)]
    found = find_explanations(moved, moved, 12345, most_steps=100_000)
    assert not found.is_complete
    assert found.steps < 100_000 + 8000 + 1000
    assert find_explanations(moved, moved, -moved[7], most_steps=0).sets == ((Change(7, "without"),),)
    assert find_explanations([3, 50, 700], [3, 50, 700], -53, most_steps=0).sets[0][0] == Change(0, "without")


@settings(deadline=None, derandomize=True)
@given(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=6), st.integers(-(2**70), 2**70))
def test_any_amount(moved: list[int], difference: int) -> None:
    """Amounts near the limit of 64 bits give no error, and every explanation is exact."""
    found = find_explanations(moved, moved, difference)
    for changes in found.sets:
        factors = {"without": -1, "reversing": -2, "counting": 1}
        assert sum(factors[change.action] * moved[change.row] for change in changes) == difference
