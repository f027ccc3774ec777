"""Imports of the same files in any order and in any groups give what one reading of all files gives."""

from __future__ import annotations

import functools
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
    from p2p_analytics.statements import Statements, View

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
_COLUMNS = [*PAYMENTS, *STATEMENT]
_SENTENCE = r" \(\d+\)(?=')|(?<=')[^']*/"  # in the sentence of a problem, what depends on other files of a call


@pytest.fixture(scope="module")
def folder() -> Iterable[Path]:
    """Return a folder with all files."""
    with tempfile.TemporaryDirectory() as made:
        for name, text in _TEXTS.items():
            (Path(made) / name).write_text(text, "utf-8")
        yield Path(made)


@functools.cache
def _read(paths: tuple[Path, ...]) -> Statements:
    return p2p.read_statements(list(paths), account=HANDLE, member="Ada")


def _import(folder: Path, groups: Iterable[tuple[Path, ...]]) -> Archive:
    """Return an archive of groups of files, of which the last one is known when it comes again."""
    archive = p2p.open_archive(folder)
    for group in groups:
        archive.import_(_read(group))
    plan = archive.import_(_read(group), dry_run=True)
    assert (plan.new, plan.changed, plan.refused, plan.removed) == (0, 0, 0, 0), groups
    return archive


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
    listed = problems[[*PROBLEMS]]
    return [list_texts(payments[_COLUMNS]), sorted(set(list_texts(listed))), list_texts(reconciliation)]


def describe_archive(archive: Archive) -> list[Any]:
    """Return what an archive holds, as `describe` does."""
    history = archive.history()
    return describe(history.payments, history.problems, archive.reconciliation())


def describe_one_reading(paths: Sequence[Path]) -> list[Any]:
    """Return what one reading of files gives, as `describe` does."""
    statements = _read(tuple(paths))
    history = statements.history()
    user = history.me.user
    # Files without a handle do not show that the name of the account is the username; an archive knows it.
    payments = rename_account(history.payments, str(user.id), user.username)
    return describe(payments, history.problems, statements.reconciliation)


def _split(chance: random.Random, names: Sequence[Any], groups: int) -> list[tuple[Any, ...]]:
    """Return names in groups, in a random order."""
    order, cuts = chance.sample(names, len(names)), sorted(chance.sample(range(1, len(names)), groups - 1))
    return [tuple(order[start:end]) for start, end in zip([0, *cuts], [*cuts, len(order)], strict=True)]


@settings(max_examples=3, deadline=None)
@given(st.data())
def test_any_files_in_any_groups(folder, data) -> None:
    """Payments, problems and balances are those of one import and one reading of all files."""
    names = data.draw(st.lists(st.sampled_from(sorted(_TEXTS)), min_size=2, max_size=4, unique=True))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(names) - 1))))
    paths = [folder / name for name in names]
    groups = [tuple(paths[start:end]) for start, end in zip([0, *cuts], [*cuts, len(names)], strict=True)]
    together = tuple(sorted(paths))
    with tempfile.TemporaryDirectory() as made:
        archives = _import(Path(made) / "groups", groups), _import(Path(made) / "one", [together])
        assert [describe_archive(archive) for archive in archives] == [describe_one_reading(together)] * 2


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


def _write_files(folder: Path, chance: random.Random, count: int = 3) -> list[Path]:
    """Return paths of random files, of which some have one name."""
    texts = {
        chance.choice("rrxy") + "/" + chance.choice(["m.csv", "a.csv", "z.csv"]): _write_random(chance, number)
        for number in range(count)
    }
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return paths


def _check_random(folder: Path, seed: int) -> None:
    """Compare imports of three random files, in a random order and grouping, with one reading of them."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    paths = _write_files(folder, chance)
    groups = _split(chance, paths, chance.randint(1, len(paths)))
    assert describe_archive(_import(folder / "archive", groups)) == describe_one_reading(paths), (seed, groups)


@pytest.mark.parametrize("seed", range(2))
def test_random_files_in_random_groups(tmp_path, seed) -> None:
    """Files of one name in different folders, and rows that say contradictory things of everything."""
    _check_random(tmp_path, seed)


@pytest.mark.soak
def test_many_random_files(tmp_path) -> None:
    """The same for 60 seeds."""
    for seed in range(2, 62):
        _check_random(tmp_path / str(seed), seed)


def _collect(*paths: Path) -> Collected:
    return collect(list(paths), account=HANDLE, member="Ada")


def _join(groups: Iterable[Collected]) -> Collected:
    """Return the rows of groups as an archive that imports these one by one holds them."""
    groups = list(groups)
    rows = _batches.Rows(Collected(groups[0].rows.clear(), (), ()), (), pd.DataFrame(), None)
    for group in groups:
        rows = _batches.add_import(rows, group)
    return rows.collected


def describe_view(view: View) -> list[Any]:
    """Return what follows from rows, as `describe` does."""
    return describe(view.payments, frame_problems(view.problems), view.reconciliation)


def _check_groups(folder: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - no secret
    paths = _write_files(folder, chance, chance.randint(2, 5))
    if seed % 2:  # real forms, with balances, snapshots and ids of several transactions
        paths = []
        for name in chance.sample(sorted(_TEXTS), chance.randint(2, 6)):
            paths.append(folder / name)
            paths[-1].parent.mkdir(parents=True, exist_ok=True)
            paths[-1].write_text(_TEXTS[name], "utf-8")
    groups = _split(chance, paths, chance.randint(1, len(paths)))
    again = [*groups, *chance.sample(groups, chance.randint(0, 1))]
    found = describe_view(derive(_join(_collect(*group) for group in again)))
    assert found == describe_view(derive(_collect(*paths))), (seed, groups)


def test_random_groups_of_rows(tmp_path) -> None:
    """What follows from rows of files is the same in 12 groupings; a group that comes again changes nothing."""
    for seed in range(12):
        _check_groups(tmp_path / str(seed), seed)


@pytest.mark.soak
def test_two_thousand_random_groupings(tmp_path) -> None:
    """The same for 2,000 sets of files."""
    for seed in range(12, 2_012):
        _check_groups(tmp_path / str(seed), seed)


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 1_000_000), st.sets(st.sampled_from(sorted(_TEXTS)), min_size=1, max_size=3))
def test_rows_that_are_stored_say_the_same(folder, seed, names) -> None:
    """``derive(load(store(c))) == derive(c)``, for every column, problem and balance."""
    with tempfile.TemporaryDirectory() as made:
        chance = random.Random(seed)  # noqa: S311 - no secret
        paths = _write_files(Path(made), chance)
        collected = _collect(*paths, *(folder / name for name in names))
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
    assert found.holders == expected.holders
    assert found.unnamed == expected.unnamed
    assert found.ids.rows() == expected.ids.rows()


def test_an_archive_of_all_files(tmp_path, folder) -> None:
    """Imported one by one, the newest first, an archive has the history of all files, also after an undo and again."""
    archive = p2p.open_archive(tmp_path / "archive")
    paths = [folder / name for name in sorted(_TEXTS, reverse=True)]
    for path in paths:
        before = list_stored(archive)
        plan = archive.import_(_read((path,)))
    expected = describe_one_reading(paths)
    assert describe_archive(archive) == expected
    archive.undo()
    assert list_stored(archive) == before
    assert archive.import_(_read((paths[-1],)))[:4] == plan[:4]
    assert describe_archive(archive) == expected


def test_the_values_of_all_files(folder) -> None:
    """By hand: the charges have ended, refunds are of a person and of a shop, and the damaged amount is not used."""
    payments = _read(tuple(folder / name for name in sorted(_LEDGERS))).payments.set_index("payment_id")
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
