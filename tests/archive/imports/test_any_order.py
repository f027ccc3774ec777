"""Imports of the same files in any order and in any groups give what one reading of all files gives."""

from __future__ import annotations

import functools
import itertools
import random
import tempfile
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.archive import _batches
from p2p_analytics.archive._folder import ArchiveFolder
from p2p_analytics.archive._manifest import Manifest
from p2p_analytics.frames.merge_sources import rename_account
from p2p_analytics.frames.schema import PAYMENTS, PROBLEMS, STATEMENT
from p2p_analytics.statements import Collected, collect, derive, frame_problems
from p2p_analytics.statements.rows import strip_label
from support.archives.ledger import HANDLE, File, write_statement
from support.archives.statements import list_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from p2p_analytics.archive import Archive
    from p2p_analytics.statements import Statements

_WALLET = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account"
)
_SHOP = "\n3x9,2024-05-04 10:00:00 EDT,Cash Card,USD,{},$0,{},,,,CARD CHARGED,Deli,,Visa 1111"
_FRIEND = "\n,2024-05-05 1{}:00:00 EDT,P2P,USD,-$20,$0,-$20,,,,PAYMENT SENT,pizza,Bo Lund,Your Cash"
_LEDGERS = {
    "april.csv": File(date(2024, 4, 1), date(2024, 4, 30)),
    "may.csv": File(date(2024, 5, 1), date(2024, 5, 31)),
    "june.csv": File(date(2024, 6, 1), date(2024, 6, 30)),
    "spring.csv": File(date(2024, 4, 1), date(2024, 6, 30), damaged="906"),
    "sheet.csv": File(date(2024, 4, 1), date(2024, 6, 10), resaved=True),
    "middle.csv": File(date(2024, 4, 15), date(2024, 6, 25), balances=False, other_names=True),
}
# A group as it was at three moments: a row was corrected, then one deleted; a member was renamed.
_GROUP = "Date,Description,Category,Cost,Currency,{},Bo\n\n"
_DINNER, _TAXI = "2024-05-01,Dinner,Food,{0},USD,{1},-{1}\n", "2024-05-02,Taxi,Cars,30.00,USD,15.00,-15.00\n"
_TOTAL = "\n2024-05-{},Total balance, , ,USD,{},-{}\n"
# A purchase and its refund of one id, which one file has together, payments without an id, and snapshots of a group.
_TEXTS = {
    "both.csv": _WALLET + _SHOP.format("-$8", "-$8") + _SHOP.format("$3", "$3") + _FRIEND.format(1) + _FRIEND.format(2),
    "refund.csv": _WALLET + _SHOP.format("$3", "$3") + _FRIEND.format(2),
    "group-1.csv": _GROUP.format("Ada") + _DINNER.format("90.00", "45.00") + _TAXI + _TOTAL.format(3, "60.00", "60.00"),
    "group-2.csv": _GROUP.format("Ada") + _DINNER.format("50.00", "25.00") + _TAXI + _TOTAL.format(4, "40.00", "40.00"),
    "group-3.csv": _GROUP.format("Ada") + _DINNER.format("50.00", "25.00") + _TOTAL.format(5, "25.00", "25.00"),
    **{name: write_statement(file) for name, file in _LEDGERS.items()},
}
_SENTENCE = r" \(\d+\)(?=')|(?<=')[^']*/"  # in the sentence of a problem, what depends on other files of a call


@pytest.fixture(scope="module")
def folder() -> Iterable[Path]:
    """Return a folder with all files."""
    with tempfile.TemporaryDirectory() as made:
        for name, text in _TEXTS.items():
            (Path(made) / name).write_text(text, "utf-8")
        yield Path(made)


@functools.cache
def _read(*paths: Path) -> Statements:
    return p2p.read_statements(list(paths), account=HANDLE, member="Ada")


def list_texts(frame: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return rows as sorted text, without folders and numbers of files, which depend on the other files of a call."""
    texts = frame.astype(object).where(frame.notna(), "").map(str)
    for name in {"file", "other_file", "follows"} & {*texts}:
        texts[name] = texts[name].map(strip_label)
    if "problem" in texts:
        texts["problem"] = texts["problem"].str.replace(_SENTENCE, "", regex=True)
    return sorted(map(tuple, texts.to_numpy().tolist()))


def describe(payments: pd.DataFrame, problems: pd.DataFrame, reconciliation: pd.DataFrame) -> list[Any]:
    """Return payments, distinct problems, and balances as text."""
    listed = sorted(set(list_texts(problems[[*PROBLEMS]])))
    return [list_texts(payments[[*PAYMENTS, *STATEMENT]]), listed, list_texts(reconciliation)]


def describe_archive(archive: Archive) -> list[Any]:
    """Return what an archive holds, as `describe` does."""
    history = archive.history()
    return describe(history.payments, history.problems, archive.reconciliation())


def describe_one_reading(paths: Sequence[Path]) -> list[Any]:
    """Return what one reading of files gives, as `describe` does."""
    statements = _read(*paths)
    history = statements.history()
    user = history.me.user
    # Files without a handle do not show that the name of the account is the username; an archive knows it.
    payments = rename_account(history.payments, str(user.id), user.username)
    return describe(payments, history.problems, statements.reconciliation)


def _collect(*paths: Path) -> Collected:
    return collect(list(paths), account=HANDLE, member="Ada")


def _describe_rows(collected: Collected) -> list[Any]:
    """Return what follows from rows, as `describe` does."""
    view = derive(collected)
    return describe(view.payments, frame_problems(view.problems), view.reconciliation)


def _check_groups(folder: Path, seed: int) -> None:
    """Compare rows as an archive holds them that imports groups one by one, one of them twice, with one reading."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    paths = [folder / name for name in chance.sample(sorted(_TEXTS), chance.randint(2, 6))]
    order, groups = chance.sample(paths, len(paths)), chance.randint(1, len(paths))
    cuts = [0, *sorted(chance.sample(range(1, len(paths)), groups - 1)), len(paths)]
    collected = [_collect(*order[start:end]) for start, end in itertools.pairwise(cuts)]
    rows = _batches.Rows(Collected(collected[0].rows.clear(), (), ()), (), pd.DataFrame(), None)
    for each in (*collected, *chance.sample(collected, chance.randint(0, 1))):
        rows = _batches.add_import(rows, each)
    assert _describe_rows(rows.collected) == _describe_rows(_collect(*paths)), (seed, order, cuts)


def test_random_groups_of_rows(folder) -> None:
    """What follows from rows of files is the same in 8 groupings; a group that comes again changes nothing."""
    for seed in range(8):
        _check_groups(folder, seed)


@pytest.mark.soak
def test_two_thousand_random_groupings(folder) -> None:
    """The same for 2,000 sets of files."""
    for seed in range(12, 2_012):
        _check_groups(folder, seed)


@settings(max_examples=3)
@given(st.sets(st.sampled_from(sorted(_TEXTS)), min_size=2, max_size=5))
def test_rows_that_are_stored_say_the_same(folder, names) -> None:
    """``derive(load(store(c))) == derive(c)``, for every column, problem and balance."""
    with tempfile.TemporaryDirectory() as made:
        collected = _collect(*(folder / name for name in names))
        stored = ArchiveFolder(Path(made) / "archive")
        with stored.lock():
            batch = _batches.write_import(stored, collected, HANDLE, 1, (0, 0, 0, 0))
        loaded = _batches.read_rows(stored, Manifest(batches=(batch,), account=HANDLE)).collected
    assert loaded.rows.columns == collected.rows.columns
    assert loaded.rows.rows() == collected.rows.rows()
    found, expected = derive(loaded), derive(collected)
    for name in ("payments", "reconciliation", "files"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name))
    pd.testing.assert_frame_equal(frame_problems(found.problems), frame_problems(expected.problems))
    assert (found.holders, found.unnamed) == (expected.holders, expected.unnamed)
    assert found.ids.rows() == expected.ids.rows()


def test_an_archive_of_all_files(tmp_path, folder) -> None:
    """Imported in three groups, an archive has the history of all files, also after an undo and again."""
    archive = p2p.open_archive(tmp_path / "archive")
    paths = [folder / name for name in sorted(_TEXTS, reverse=True)]
    for group in (paths[:4], paths[4:8], paths[8:]):
        before = list_stored(archive)
        plan = archive.import_(_read(*group))
    expected = describe_one_reading(paths)
    assert describe_archive(archive) == expected
    archive.undo()
    assert list_stored(archive) == before
    assert archive.import_(_read(*group))[:4] == plan[:4]
    assert describe_archive(archive) == expected
