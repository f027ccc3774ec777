"""Sets of rows that explain a difference: planted errors are found, accidents are not taken for one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.statements.ledger.reconcile import Change, find_explanations


def _find(
    moved: list[int | None], difference: int, flow: list[int | None] | None = None
) -> list[list[tuple[int, str]]]:
    found = find_explanations(moved, flow or moved, difference)
    return [[(change.row, change.action) for change in changes] for changes in found]


@pytest.mark.parametrize(
    ("difference", "sets"),
    [
        (1801, [[(0, "without")]]),
        (3602, [[(0, "reversing")]]),
        (-13800, [[(1, "without")]]),
        (-6000, [[(2, "counting")]]),
        (-11999, [[(0, "without"), (1, "without")]]),
        (-23, [[(3, "without"), (4, "without")]]),
        (1, []),
    ],
)
def test_smallest_sets(difference: int, sets: list[list[tuple[int, str]]]) -> None:
    """- 18.01 and + 138.00 moved the balance, - 60.00 did not, then + 900.23 and - 900.00: worked out by hand."""
    assert _find([-1801, 13800, 0, 90023, -90000], difference, [-1801, 13800, -6000, 90023, -90000]) == sets


def test_likelier_changes_come_first() -> None:
    """Of single rows, a reversed sign comes last, then the order is that of the rows."""
    assert _find([-500, -1000, 0, -1000], 1000, [-500, -1000, 1000, -1000]) == [
        [(1, "without")],
        [(2, "counting")],
        [(3, "without")],
        [(0, "reversing")],
    ]


def test_an_amount_that_was_not_read() -> None:
    """One unread amount explains any difference; of two, neither does alone."""
    assert _find([None, -500], 700) == [[(0, "reading")]]
    assert _find([None, -500], 500) == [[(0, "reading")], [(1, "without")]]
    assert _find([None, None, -500], 700) == []


def test_equal_rows() -> None:
    """Each of seven equal rows explains the difference alone; that three explain it together says nothing."""
    assert _find([100] * 7, -100) == [[(row, "without")] for row in range(7)]
    assert _find([100] * 7, -300) == []


@pytest.mark.parametrize(("size", "rows"), [(2, 20), (3, 11)])
def test_larger_sets_need_a_wide_range(size: int, rows: int) -> None:
    """The sums of all sets of 20 rows, or 11, are far apart in thousands of dollars, and close together in tens.

    Sets of two are C(20, 2) = 190, sets of three C(11, 3) = 165: the sums must spread over 190.00 or 165.00 at least,
    and ten times that for a difference that ends in a zero.
    """
    for units, is_found in ((1, False), (1000, True)):
        moved: list[int | None] = [(3 + 2**row % 29 * 7 + 13 * row) * units + row**2 for row in range(rows)]
        difference = -sum(moved[row] or 0 for row in range(2, 2 + size)) or 1
        assert any(len(changes) == size for changes in _find(moved, difference)) == is_found


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(st.sampled_from(["without", "counting", "right"]), min_size=8, max_size=12),
    st.lists(st.sampled_from([-1, 1]), min_size=12, max_size=12),
)
def test_planted_errors_are_found(planted: list[str], signs: list[int]) -> None:
    """Up to three wrong rows are the only explanation if no sum of amounts occurs twice: powers of eleven."""
    moved: list[int | None] = []
    flow: list[int | None] = []
    difference = 0
    expected = []
    for row, (word, sign) in enumerate(zip(planted, signs, strict=False)):
        cents = sign * 11 ** (row + 4)
        action = "right" if len(expected) == 3 else word
        counted = action != "counting" and (action != "right" or row % 3 > 0)
        moved.append(cents if counted else 0)
        flow.append(cents)
        if action != "right":
            expected.append(Change(row, action))
            difference += {"without": -cents, "counting": cents}[action]
    found = find_explanations(moved, flow, difference)
    assert found == ([tuple(expected)] if expected else [])


def test_many_rows_are_not_searched_for_larger_sets() -> None:
    """Of 101 rows, no pairs are tried, whatever the range of their sums is; single rows are always found."""
    moved: list[int | None] = [10**9 * row + row**3 for row in range(1, 102)]
    pair = -(moved[7] or 0) - (moved[90] or 0)
    assert _find(moved[:100], pair) == [[(7, "without"), (90, "without")]]
    assert _find(moved, pair) == []
    assert _find(moved, -(moved[7] or 0)) == [[(7, "without")]]
