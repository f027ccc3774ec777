"""The balance after each row, worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl
import pytest

from p2p_analytics.statements.ledger.reconcile import reconcile
from support.statements.rows import describe_files, make_file

if TYPE_CHECKING:
    from collections.abc import Sequence


def _balances(*files: pl.DataFrame) -> list[int | None]:
    rows = pl.concat(files)
    running = reconcile(rows, describe_files(rows)).running
    return running.filter(rows["kind"] != "notice").to_list()


def _state(moved: Sequence[int | None], balances: Sequence[int | None]) -> list[dict[str, int | None]]:
    return [{"moved_cents": cents, "balance_cents": each} for cents, each in zip(moved, balances, strict=True)]


@pytest.mark.parametrize(
    ("opening", "closing"), [(10000, 23300), (10000, None), (None, 23300)], ids=["both", "opening", "closing"]
)
def test_from_opening_or_closing_balance(opening: int | None, closing: int | None) -> None:
    """100.00 - 18.00 + 138.00 - 37.00, a row that moved nothing, + 50.00; either balance is enough."""
    file = make_file("a", [-1800, 13800, -3700, 0, 5000], opening=opening, closing=closing)
    assert _balances(file) == [8200, 22000, 18300, 18300, 23300]


def test_no_balance() -> None:
    """Without a balance none is invented, also not where opening and closing balance contradict the rows."""
    assert _balances(make_file("a", [1, 2])) == [None, None]
    assert _balances(make_file("a", [1, 2], opening=0, closing=4)) == [None, None]
    assert _balances(make_file("a", []).clear()) == []


def test_stated_balances_are_kept() -> None:
    """Rows without a stated balance are counted from the one before; those before the first, backwards."""
    assert _balances(make_file("a", _state([5, 7, 0, 1, 2], [None, 112, None, 150, None]))) == [105, 112, 112, 150, 152]


def test_nothing_is_known_beyond_an_unread_amount() -> None:
    """The opening balance holds up to the row that was not read, the closing balance from it on."""
    moved = [1, None, 4, 5]
    assert _balances(make_file("a", moved, opening=10)) == [11, None, None, None]
    assert _balances(make_file("a", moved, opening=10, closing=99)) == [11, 90, 94, 99]
    assert _balances(make_file("a", _state(moved, [None, None, 50, None]), opening=10)) == [11, 46, 50, 55]


def test_newest_row_first() -> None:
    """In a file with the newest row first, the balances are counted from its end."""
    dates = [datetime(2024, 1, day, tzinfo=UTC) for day in (9, 5, 2)]
    rows = [{"moved_cents": cents, "date": date} for cents, date in zip((100, -30, 7), dates, strict=True)]
    assert _balances(make_file("a", rows, opening=1000)) == [1077, 977, 1007]


@pytest.mark.parametrize(("balances", "expected"), [((5, None, 8), [5, 7, 8]), ((8, None, 4), [8, 7, 4])])
def test_stated_balances_show_the_order(balances: tuple[int | None, ...], expected: list[int]) -> None:
    """Rows of one instant: 5, 5 + 2, 7 + 1 is the order of the lines; 4, 4 + 3, 7 + 1 is read upwards."""
    instant = datetime(2024, 1, 1, tzinfo=UTC)
    moved = (3, 2, 1) if expected[0] == 5 else (1, 3, 2)
    rows = [
        {"moved_cents": cents, "balance_cents": each, "date": instant}
        for cents, each in zip(moved, balances, strict=True)
    ]
    assert _balances(make_file("a", rows)) == expected


def test_rows_in_no_order() -> None:
    """Rows that are neither oldest nor newest first are counted in the order of their dates."""
    dates = [datetime(2024, 1, day, tzinfo=UTC) for day in (2, 9, 5)]
    rows = [{"moved_cents": cents, "date": date} for cents, date in zip((1, 20, 300), dates, strict=True)]
    assert _balances(make_file("a", rows, opening=0)) == [1, 321, 301]


def test_files_accounts_and_currencies_have_balances_of_their_own() -> None:
    """The rows of several files can be mixed; each balance counts only its own."""
    mixed = [{"moved_cents": 5, "currency": "EUR", "balance_cents": 15}, {"moved_cents": 7}, {"moved_cents": 8}]
    one = make_file("one", mixed)
    other = make_file("other", [1, 2], opening=100)
    assert _balances(one, other) == [15, None, None, 101, 103]
    assert _balances(other, one) == [101, 103, 15, None, None]
