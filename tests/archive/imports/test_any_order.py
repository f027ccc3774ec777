"""Imports of the same files in any order and in any groups give what one reading of all files gives."""

from __future__ import annotations

import functools
import random
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from p2p_analytics.archive.imports.balances import list_problems as list_open_problems
from p2p_analytics.archive.imports.balances import merge_balances
from p2p_analytics.archive.imports.rows import LISTED, StoredRows, merge_rows, name_rows

import p2p_analytics as p2p
from p2p_analytics.archive.tables import SCHEMAS
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from p2p_analytics.statements import reconcile_balances
from support.archives.ledger import HANDLE, File, write_statement

if TYPE_CHECKING:
    from collections.abc import Iterable

    from p2p_analytics.archive.imports.rows import ImportPlan

    from p2p_analytics.statements import Statements

_WALLET = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account"
)
_SHOP = "\n3x9,2024-05-04 10:00:00 EDT,Cash Card,USD,{},$0,{},,,,CARD CHARGED,Deli,,Visa 1111"
_FRIEND = "\n,2024-05-05 1{}:00:00 EDT,P2P,USD,-$20,$0,-$20,,,,PAYMENT SENT,pizza,Bo Lund,Your Cash"
_OLDEST = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
_LEDGERS = {
    "april.csv": File(date(2024, 4, 1), date(2024, 4, 30)),
    "may.csv": File(date(2024, 5, 1), date(2024, 5, 31)),
    "june.csv": File(date(2024, 6, 1), date(2024, 6, 30)),
    "spring.csv": File(date(2024, 4, 1), date(2024, 6, 30), damaged="906"),
    "sheet.csv": File(date(2024, 4, 1), date(2024, 6, 10), resaved=True),
    "middle.csv": File(date(2024, 4, 15), date(2024, 6, 25), balances=False, other_names=True),
}
# A purchase and its refund of one id, which one file has together, and payments without an id.
_TEXTS = {
    "both.csv": _WALLET + _SHOP.format("-$8", "-$8") + _SHOP.format("$3", "$3") + _FRIEND.format(1) + _FRIEND.format(2),
    "refund.csv": _WALLET + _SHOP.format("$3", "$3") + _FRIEND.format(2),
    **{name: write_statement(file) for name, file in _LEDGERS.items()},
}
_COLUMNS = [*PAYMENTS, *STATEMENT]
# An archive does not keep the rows of each file, which say how many of them two files have in common.
_BALANCES = ["file", "currency", "opening_cents", "moved_cents", "closing_cents", "difference_cents", "reconciled",
             "suggestion", "period_start", "period_end"]  # fmt: skip
_PROBLEM = ["file", "line", "payment_id", "field", "value", "problem"]


@pytest.fixture(scope="module")
def folder() -> Iterable[Path]:
    """Return a folder with all files."""
    with tempfile.TemporaryDirectory() as made:
        for name, text in _TEXTS.items():
            (Path(made) / name).write_text(text, "utf-8")
        yield Path(made)


@pytest.fixture(scope="module")
def read(folder):
    """Return a function that reads some of the files in one call."""

    @functools.cache
    def call(names: tuple[str, ...]) -> Statements:
        return p2p.read_statements([folder / name for name in names], account=HANDLE)

    return call


def list_problems(problems: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return problems as text, in one order whatever the order of the files is."""
    return sorted(map(tuple, problems[_PROBLEM].astype(object).map(str).to_numpy().tolist()))


class _Imported(NamedTuple):
    """Rows, problems and balances after imports of groups of files, and the plan of the last one."""

    rows: pd.DataFrame
    problems: pd.DataFrame
    balances: pd.DataFrame
    plan: ImportPlan


def _import(call, groups) -> _Imported:
    """Import groups of files, the last one twice."""
    columns = dict(SCHEMAS["statement_problems"])
    empty, problems, listed, balances = (
        pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in schema.items()})
        for schema in (
            {name: dtype for name, dtype in SCHEMAS["statements"].items() if not name.endswith("_us")},
            columns,
            {name: PAYMENTS[name] for name in LISTED},
            SCHEMAS["statement_balances"],
        )
    )
    stored = StoredRows(empty, empty)
    for number, group in enumerate([*groups, groups[-1]], 1):
        statements = call(group)
        found = statements.problems.assign(batch=number)[list(columns)]
        given = name_rows(statements.list_versions(), HANDLE)
        merged = merge_rows(stored, listed, given, number, [problems, found])
        stored, problems = merged.stored, merged.problems
        balances = merge_balances(balances, statements.list_balances(), HANDLE, number)
    return _Imported(stored.rows, list_open_problems(problems, balances, dict), balances, merged.plan)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_any_files_in_any_groups(read, data) -> None:
    """Payments and problems are those of one reading of all files, and stay so when the last group comes again."""
    names = data.draw(st.lists(st.sampled_from(sorted(_TEXTS)), min_size=2, max_size=4, unique=True))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(names) - 1))))
    groups = [tuple(names[start:end]) for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True)]
    imported = _import(read, groups)
    together = read(tuple(sorted(names)))
    # Files without a handle do not say what the username of the account is; an archive knows it.
    expected = name_rows(together.payments, HANDLE)
    pd.testing.assert_frame_equal(imported.rows[_COLUMNS], expected[_COLUMNS])
    assert list_problems(imported.problems) == list_problems(together.problems)
    pd.testing.assert_frame_equal(
        *(reconcile_balances(each).table for each in (imported.balances, together.list_balances()))
    )
    assert imported.plan[:1] + imported.plan[2:4] == (0, 0, 0), "the last group is known the second time"


def _write_random(chance: random.Random, number: int) -> str:
    """Return a file of some of six ids, of which rows contradict each other, themselves and those of other files."""
    choose = chance.choice
    lines = [_OLDEST]
    for payment_id in range(901, 906):
        if chance.random() < 0.25:
            continue
        day, seconds = choose([1, 1, 1, 2, 15]), choose([":07", ":07", ":30", ""])
        kind = choose(["Payment"] * 4 + ["Charge", "Refund", "Merchant Transaction", "Weird", "Standard Transfer"])
        status = choose(["Complete"] * 5 + ["Pending", "Cancelled", "Strange", ""])
        sides = choose([("Ada", "Bo"), ("Ada", "Bo"), ("Bo", "Ada"), ("Ada", "Cy"), ("Ada", "Bo L")])
        amount = choose(
            ["", "abc", *(f"{sign} ${size}" for sign in "--+" for size in ("10.37", "10.00", "11.37", "9", "0"))]
        )
        cells = [payment_id, f"2024-05-{day:02}T10:00{seconds}", kind, status, choose(["tea", "", "coffee"]), *sides]
        lines.append(",".join([*map(str, cells), amount, choose(["", "$0.25", "0"]), "", ""]))
    if chance.random() < 0.4:
        lines.append(f"{950 + number},2024-06-01T10:00:00,Payment,Complete,x,Ada,Bo,- $1.00,,,")
    return "\n".join(lines)


def _check_random(folder: Path, seed: int) -> None:
    """Compare imports of three random files, in a random order and grouping, with one reading of them."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    texts = {
        chance.choice("rrxy") + "/" + chance.choice(["m.csv", "a.csv", "z.csv"]): _write_random(chance, number)
        for number in range(3)
    }
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    read = functools.cache(lambda group: p2p.read_statements(list(group), account=HANDLE))
    order, cut = chance.sample(paths, len(paths)), chance.randrange(3)
    groups = (
        [group for group in (tuple(order[:cut]), tuple(order[cut:])) if group] if cut else [(one,) for one in order]
    )
    imported = _import(read, groups)
    together = read(tuple(paths))
    # Which file is of another holder depends on the other files of a call: an archive compares them with its own.
    found, expected = (
        [
            sort_texts(frame[_COLUMNS]),
            sort_texts(listed.loc[listed["field"] != "account", _PROBLEM]),
            sort_texts(balances[_BALANCES]),
        ]
        for frame, listed, balances in (
            (imported.rows, imported.problems, reconcile_balances(imported.balances).table),
            (name_rows(together.payments, HANDLE), together.problems, together.reconciliation),
        )
    )
    assert found == expected, (seed, groups)
    assert imported.plan[:1] + imported.plan[2:4] == (0, 0, 0), seed


def sort_texts(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return distinct rows as text without the folders of files, which depend on the other files of a call."""
    texts = frame.map(str).replace(r"^[rxy]/|(?<=')[rxy]/", "", regex=True)
    return sorted(set(map(tuple, texts.to_numpy().tolist())))


@pytest.mark.parametrize("seed", range(2))
def test_random_files_in_random_groups(tmp_path, seed) -> None:
    """Files of one name in different folders, and rows that say contradictory things of everything."""
    _check_random(tmp_path, seed)


@pytest.mark.soak
def test_many_random_files(tmp_path) -> None:
    """The same for 60 seeds."""
    for seed in range(2, 62):
        _check_random(tmp_path / str(seed), seed)


def test_an_archive_of_all_files(tmp_path, read) -> None:
    """Imported one by one, the newest first, an archive has the history of all files, also after an undo and again."""
    archive = p2p.open_archive(tmp_path / "archive")
    names = sorted(_TEXTS, reverse=True)
    for name in names:
        before = {path.name: path.read_bytes() for path in archive.path.glob("*")}
        plan = archive.import_(read((name,)))
    after = {path.name: path.read_bytes() for path in archive.path.glob("*.parquet")}
    together = read(tuple(names)).history()
    history = archive.history()
    expected = name_rows(together.payments, HANDLE)
    pd.testing.assert_frame_equal(history.payments[_COLUMNS], expected[_COLUMNS])
    assert list_problems(history.problems) == list_problems(together.problems)
    found, expected = (table[_BALANCES] for table in (archive.reconciliation(), read(tuple(names)).reconciliation))
    pd.testing.assert_frame_equal(found, expected)
    archive.undo()
    kept = {path.name: path.read_bytes() for path in archive.path.glob("*")}
    assert {**kept, "batches.json": b""} == {**before, "batches.json": b""}
    assert archive.import_(read((names[-1],)))[:4] == plan[:4]
    assert {path.name: path.read_bytes() for path in archive.path.glob("*.parquet")} == after


def test_the_values_of_all_files(read) -> None:
    """By hand: the charges have ended, refunds are of a person and of a shop, and the damaged amount is not used."""
    payments = read(tuple(sorted(_LEDGERS))).payments.set_index("payment_id")
    assert payments.index.tolist() == ["910", "909", "908", "904", "907", "906", "902", "905", "903", "901"]
    assert payments["flow_cents"].to_dict() == {
        "901": -1037, "902": 2050, "903": -3225, "904": -700, "905": 425, "906": -5000, "907": 225, "908": -425,
        "909": 311, "910": 80000,
    }  # fmt: skip
    assert payments.loc[["902", "904"], "status"].tolist() == ["settled", "cancelled"]
    assert payments.loc[["905", "907", "909"], "kind"].tolist() == ["payment", "merchant", "unknown"]
    assert payments.loc["905", "action"] == "pay"
    assert payments["date_created"].dt.strftime("%d %H:%M:%S")["902"] == "11 08:15:41"
    assert payments.loc["902", ["counterparty_name", "note", "fee_cents"]].tolist() == ["Bo Lund", "rent", 0]
