"""Whatever the order of files and rows is, the same payments, problems and balances follow from them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import polars as pl
import pytest

from p2p_analytics.errors import StatementError
from p2p_analytics.statements import Collected, collect, derive

if TYPE_CHECKING:
    from collections.abc import Iterator

_HERE = Path(__file__).parents[1]
_FOLDERS = (_HERE / "samples", _HERE / "other_services" / "samples")
_SAMPLES = [path for each in _FOLDERS for path in sorted(each.glob("*.csv")) if ".expected" not in path.name]
_REVOLUT = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora,Theo\n"
_CASH_APP = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
)


def _write_revolut(chance: random.Random) -> str:
    """Return rows of three days, some pending, many of one moment and amount."""
    rows, balance = [], 5000
    for _ in range(chance.randint(1, 6)):
        moment = f"2024-05-0{chance.randint(1, 3)} 10:00:00"
        if chance.random() < 0.3:
            rows.append(f"CARD_PAYMENT,Current,{moment},,Deli,-5.00,0.00,EUR,PENDING,\n")
        else:
            balance -= 500
            word = chance.choice(["CARD_PAYMENT", "Card Payment"])
            rows.append(f"{word},Current,{moment},{moment},Deli,-5.00,0.00,EUR,COMPLETED,{balance / 100:.2f}\n")
    return _REVOLUT + "".join(rows)


def _write_splitwise(chance: random.Random) -> str:
    cells = [(chance.randint(1, 4), chance.choice([200, 300])) for _ in range(chance.randint(1, 4))]
    rows = [
        f"2024-05-0{day},Tea,General,{cents / 50:.2f},EUR,{cents / 100:.2f},-{cents / 100:.2f}\n"
        for day, cents in cells
    ]
    total = sum(cents for _, cents in cells) / 100
    return (
        f"{_SPLITWISE}{''.join(rows)}2024-05-{chance.randint(5, 7):02},Total balance, , ,EUR,{total:.2f},-{total:.2f}\n"
    )


def _write_cash_app(chance: random.Random) -> str:
    """Return rows of few ids, with both signs."""
    rows = [
        f"x{chance.randint(1, 2)},2024-05-0{chance.randint(1, 4)} 10:00:00 EDT,P2P,USD,{amount},$0,{amount},,,,"
        f"COMPLETE,tea,{chance.choice(['Theo Marsh', ''])},\n"
        for amount in chance.choices(["$5.00", "-$5.00", "$7.00"], k=chance.randint(1, 4))
    ]
    return _CASH_APP + "".join(rows)


def _collect(paths: list[Path], chance: random.Random) -> Iterator[Collected]:
    """Yield what each file says, added to one of several accounts, or to none where that is possible."""
    for path in paths:
        for account in chance.sample(["Nora Quill", "Nora", "nora", None], 4):
            try:
                yield collect(path, account=account)
            except StatementError:
                continue
            break


def _join(parts: list[Collected]) -> Collected:
    rows = pl.concat([part.rows.with_columns(pl.col(pl.Categorical).cast(pl.String)) for part in parts])
    files = tuple(info for part in parts for info in part.files)
    problems = tuple(problem for part in parts for problem in part.problems)
    return Collected(rows, files, problems)


def _assert_same(parts: list[Collected], chance: random.Random) -> None:
    expected = derive(_join(parts))
    for is_mixed in (False, True):
        chance.shuffle(parts)
        joined = _join(parts)
        if is_mixed:
            joined = joined._replace(rows=joined.rows.sample(fraction=1, shuffle=True, seed=chance.randint(1, 99)))
        view = derive(joined)
        pd.testing.assert_frame_equal(view.payments, expected.payments)
        pd.testing.assert_frame_equal(view.reconciliation, expected.reconciliation)
        assert set(view.problems) == set(expected.problems)
        assert (view.holders, view.unnamed) == (expected.holders, expected.unnamed)
        files = [
            frame.sort_values(["file", "account", "currency"], ignore_index=True)
            for frame in (view.files, expected.files)
        ]
        pd.testing.assert_frame_equal(*files)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.full_fuzz) for seed in range(2, 8))])
def test_any_order_of_samples(seed):
    """Samples of all services and languages together, in accounts with one name or with none."""
    chance = random.Random(seed)  # noqa: S311 - the same cases each time
    parts = list(_collect(chance.sample(_SAMPLES, 8), chance))
    assert len(parts) == 8
    _assert_same(parts, chance)


@pytest.mark.parametrize(
    "seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.full_fuzz) for seed in range(6, 30))]
)
def test_any_order_of_repeated_rows(tmp_path, seed):
    """Rows without ids, with one id for several transactions, and snapshots of groups."""
    chance = random.Random(seed)  # noqa: S311 - the same cases each time
    write = chance.choice([_write_revolut, _write_splitwise, _write_cash_app])
    paths = [tmp_path / f"{name}.csv" for name in "abcd"]
    for path in paths:
        path.write_text(write(chance), "utf-8")
    parts = [collect(path, account=chance.choice(["Nora", "nora"])) for path in paths]
    _assert_same(parts, chance)
