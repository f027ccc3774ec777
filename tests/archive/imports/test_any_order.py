"""Imports of the same files in any order and in any groups give what one reading of all files gives."""

import functools
import itertools
import random
from datetime import date
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.frames.merge_sources import rename_account
from p2p_analytics.frames.schema import PAYMENTS, PROBLEMS, STATEMENT
from p2p_analytics.statements.rows import strip_label
from support.archives.ledger import HANDLE, File, write_statement
from support.archives.statements import list_stored

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
def folder(tmp_path_factory) -> Path:
    """Return a folder with all files."""
    made = tmp_path_factory.mktemp("files")
    for name, text in _TEXTS.items():
        (made / name).write_text(text, "utf-8")
    return made


@functools.cache
def _read(*paths: Path) -> p2p.Statements:
    return p2p.read_statements(list(paths), account=HANDLE, member="Ada")


def list_texts(frame) -> list[tuple[str, ...]]:
    """Return rows as sorted text, without folders and numbers of files, which depend on the other files of a call."""
    texts = frame.astype(object).where(frame.notna(), "").map(str)
    for name in {"file", "other_file", "follows"} & {*texts}:
        texts[name] = texts[name].map(strip_label)
    if "problem" in texts:
        texts["problem"] = texts["problem"].str.replace(_SENTENCE, "", regex=True)
    return sorted(map(tuple, texts.to_numpy().tolist()))


def describe(payments, problems, reconciliation) -> list[list[tuple[str, ...]]]:
    """Return payments, distinct problems, and balances as text."""
    listed = sorted(set(list_texts(problems[[*PROBLEMS]])))
    return [list_texts(payments[[*PAYMENTS, *STATEMENT]]), listed, list_texts(reconciliation)]


def describe_archive(archive) -> list[list[tuple[str, ...]]]:
    """Return what an archive stores, without its cached tables."""
    for path in archive.path.glob("view_*"):
        path.unlink()
    history = archive.history()
    return describe(history.payments, history.problems, archive.reconciliation())


def describe_one_reading(paths) -> list[list[tuple[str, ...]]]:
    """Return what one reading of files gives, as `describe` does."""
    statements = _read(*paths)
    history = statements.history()
    user = history.me.user
    # Files without a handle do not show that the name of the account is the username; an archive knows it.
    payments = rename_account(history.payments, str(user.id), user.username)
    return describe(payments, history.problems, statements.reconciliation)


SEEDS = [
    range(1),
    pytest.param(range(1, 12), marks=pytest.mark.full),
    pytest.param(range(12, 200), marks=pytest.mark.soak),
]


@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "some", "many"])
def test_random_groups(folder, tmp_path, seeds) -> None:
    """The stored rows of files have the same view in any grouping; a group that comes again changes nothing."""
    for seed in seeds:
        chance = random.Random(seed)  # noqa: S311 - no secret
        paths = [folder / name for name in chance.sample(sorted(_TEXTS), chance.randint(2, 6))]
        order, count = chance.sample(paths, len(paths)), chance.randint(1, len(paths))
        cuts = [0, *sorted(chance.sample(range(1, len(paths)), count - 1)), len(paths)]
        groups = [order[start:end] for start, end in itertools.pairwise(cuts)]
        archive = p2p.open_archive(tmp_path / str(seed))
        for group in (*groups, *chance.sample(groups, chance.randint(0, 1))):
            archive.import_(_read(*group))
        assert describe_archive(archive) == describe_one_reading(paths), (seed, order, cuts)


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


_PLAIN = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
_BOUGHT = ("11", "2024-01-05T10:00:00", "Merchant Transaction", "Complete", "", "Ada", "Corner Store", "- $5.00")
_BACK = ("12", "2024-02-09T10:00:00", "Refund", "Complete", "", "Ada", "Corner Store", "+ $5.00")
_PAID = ("13", "2024-03-05T10:00:00", "Payment", "Complete", "", "Ada", "Bo", "- $7.00")
_TURNED = ("14", "2024-03-06T10:00:00", "Payment", "Complete", "", "Ada", "Bo", "+ $2.00")
_NOTHING = ("15", "2024-04-06T10:00:00", "Charge", "Complete", "", "Bo", "Ada", "$0.00")
_WHERE = ["payment_id", "file", "line", "field", "value", "problem"]


def _read_files(folder, **files: tuple[tuple[str, ...], ...]) -> list[p2p.Statements]:
    """Return the statements of each file, and of all of them."""
    paths = [folder / f"{name}.csv" for name in files]
    for path, rows in zip(paths, files.values(), strict=True):
        path.write_text("\n".join([_PLAIN, *(",".join([*row, "", "", ""]) for row in rows)]), "utf-8")
    return [p2p.read_statements(path, account="ada") for path in [*paths, paths]]


def _list_sides(history) -> list[tuple[str, ...]]:
    names = ["payment_id", "kind", "counterparty_name", "direction", "target_user_username", "file"]
    return sorted(map(tuple, history.payments[names].astype(str).to_numpy().tolist()))


def _list_problems(history) -> list[tuple[str, ...]]:
    return sorted(map(tuple, history.problems[_WHERE].astype(object).fillna("").astype(str).to_numpy().tolist()))


def test_a_month_without_a_payment_between_people(tmp_path) -> None:
    """The shop of a refund is known from the purchase in another file, and the holder from there or a third one."""
    *each, together = _read_files(
        tmp_path, january=(_BOUGHT,), february=(_BACK,), march=(_PAID, _TURNED), april=(_NOTHING,)
    )
    expected = _list_sides(together.history())
    assert [row[1:4] for row in expected] == [
        ("merchant", "Corner Store", "out"),
        ("merchant", "Corner Store", "in"),
        ("payment", "Bo", "out"),
        ("payment", "Bo", "in"),
        ("payment", "Bo", "out"),
    ]
    (listed,) = _list_problems(together.history())
    assert listed[3:] == ("total", "200", "the sign contradicts From and To; the direction is that of the sign")
    for number, order in enumerate([(0, 1, 2, 3), (3, 1, 0, 2)]):
        archive = p2p.open_archive(tmp_path / f"archive{number}")
        for place in order:
            archive.import_(each[place])
        assert _list_sides(archive.history()) == expected, order
        assert _list_problems(archive.history()) == [listed], order


@pytest.mark.parametrize(
    ("edited", "kinds"),
    [
        pytest.param({}, ("unknown", "merchant"), marks=pytest.mark.full),
        pytest.param({"note": "beer"}, ("unknown", "merchant"), marks=pytest.mark.full),
        ({"counterparty_name": "Corner Store"}, ("unknown", "merchant")),
        ({"kind": "payment"}, ("payment", "payment")),
    ],
)
def test_a_refund_in_an_archive_and_in_a_merge_of_it(tmp_path, edited, kinds) -> None:
    """The purchase in a later file decides about its kind, unless the user has; the edited value stays.

    A merged row is decided when its own file is imported. An archive that merges its own history stays as it is.
    """
    back, bought, _ = _read_files(tmp_path, february=(_BACK,), january=(_BOUGHT,))
    assert back.payments["counterparty_name"].tolist() == ["Ada"]
    for name, value in edited.items():
        back.payments.loc[0, name] = value
    archive, copy = (p2p.open_archive(tmp_path / name) for name in ("archive", "copy"))
    archive.import_(back)
    stored = list_stored(archive)
    archive.merge(archive.history())
    assert list_stored(archive) == stored
    copy.merge(archive.history())
    for each, steps in ((archive, [(None, 0), (bought, 1)]), (copy, [(None, 0), (bought, 0), (back, 1)])):
        for statements, step in steps:
            if statements is not None:
                each.import_(statements)
            found = each.history()
            payment = found.payments.set_index("payment_id").loc["12"]
            assert payment[["kind", *edited]].to_dict() == {"kind": kinds[step], **edited}
            assert found.problems["field"].tolist() == ["kind"] * (kinds[step] == "unknown")
