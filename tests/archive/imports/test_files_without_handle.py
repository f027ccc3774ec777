"""Files that show only the holder's name belong to the account of this name, in one reading and in any imports."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.records import Me, User
from support.archives.statements import list_stored

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from p2p_analytics.archive import Archive
    from p2p_analytics.history import History

_HEADER = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
_OF_NORA = "Account Statement - (@nora-quill)\nAccount Activity\n" + _HEADER
_OF_OTHER = _OF_NORA.replace("nora-quill", "nora-q")
_PAID = "\n{},2024-0{}-05T10:00:07,Payment,Complete,x,{},Cy,- $5.00,,,"
_MOVED = "\n9,2024-02-06T10:00:00,Standard Transfer,Issued,,,,- $6.00,,,MY BANK"
_TEXTS = {
    "oldest.csv": _HEADER + _PAID.format(1, 1, "Nora Quill") + _PAID.format(2, 3, "Nora Quill"),
    "named.csv": _OF_NORA + _PAID.format(2, 3, "Nora Quill") + _PAID.format(3, 4, "Nora Quill"),
    "later.csv": _OF_NORA + _PAID.format(4, 5, "Nora Quill"),
    "capitals.csv": _HEADER + _PAID.format(5, 2, "NORA  Quill"),
    "namesake.csv": _OF_OTHER + _PAID.format(6, 1, "Nora Quill"),
    "ada.csv": _HEADER + _PAID.format(7, 1, "Ada"),
    "transfer.csv": _HEADER + _MOVED,
    "unnamed.csv": _OF_NORA + _MOVED,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with all files."""
    for name, text in _TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def _read(folder: Path, *names: str, account: str | None = None) -> p2p.Statements:
    return p2p.read_statements([folder / name for name in names], account=account)


def _import(folder: Path, *groups: Sequence[str], archive: str = "archive") -> Archive:
    opened = p2p.open_archive(folder / archive)
    for names in groups:
        opened.import_(_read(folder, *names))
    return opened


def _describe(history: History) -> tuple[object, ...]:
    """Return the owner, people, payments and problems of a history."""
    payments = history.payments.drop(columns=["counterparty_matched"], errors="ignore")
    problems = history.problems[["file", "line", "payment_id", "field", "value", "problem"]]
    frames = (history.people, payments, problems.sort_values(["file", "line"]))
    return history.me.user, *(frame.map(str).to_numpy().tolist() for frame in frames)


def _read_files(archive: Archive) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in archive.path.glob("*") if path.suffix in {".json", ".parquet"}}


def test_any_order_is_one_reading(folder) -> None:
    """Imported one by one in any order: the same owner, people, payments and problems; undo restores the files."""
    files = ("oldest.csv", "named.csv", "later.csv")
    expected = _describe(_read(folder, *files).history())
    single = {name: _read(folder, name) for name in files}
    for order in (files, files[::-1], ("later.csv", "oldest.csv", "named.csv")):
        archive, states = p2p.open_archive(folder / order[0].removesuffix(".csv")), []
        for name in order:
            states.append(list_stored(archive))
            planned = archive.import_(single[name], dry_run=True)
            assert archive.import_(single[name])[:4] == planned[:4]
        history = archive.history()
        assert _describe(history) == expected, order
        assert (history.me.user.id, history.me.user.username) == ("nora-quill", "nora-quill")
        assert history.payments["payment_id"].tolist() == ["4", "3", "2", "1"]
        assert set(history.payments["actor_id"]) == {"nora-quill"}
        for state in reversed(states):
            archive.undo()
            assert list_stored(archive) == state


@pytest.mark.parametrize(
    "groups",
    [
        [["named.csv"], ["unnamed.csv", "oldest.csv"]],
        [["named.csv"], ["unnamed.csv", "oldest.csv", "transfer.csv"]],  # payment 9 is in both accounts of the call
        [["named.csv"], ["copy.csv", "oldest.csv"]],
        [["oldest.csv"], ["named.csv", "unnamed.csv"]],
        [["unnamed.csv"], ["named.csv", "oldest.csv"]],
    ],
)
def test_accounts_of_one_call_that_the_archive_unites(folder, groups) -> None:
    """Files that one reading of all takes as one account are imported together, where the call alone has several."""
    (folder / "copy.csv").write_text(_OF_NORA + _MOVED + _PAID.format(2, 3, ""), "utf-8")
    archive = _import(folder, groups[0])
    before, statements = list_stored(archive), _read(folder, *groups[1])
    planned = archive.import_(statements, dry_run=True)
    plan = archive.import_(statements)
    assert planned[:4] == plan[:4]
    assert sum(plan[:2]) == statements.payments["payment_id"].nunique()
    history = archive.history()
    assert _describe(history) == _describe(_read(folder, *groups[0], *groups[1]).history())
    assert set(history.payments["account_id"]) == {"nora-quill"}
    archive.undo()
    assert list_stored(archive) == before


def test_accounts_of_one_call_that_stay_apart(folder) -> None:
    """One that is not the archive's refuses all; without an archive, nothing shows that they are one."""
    archive = _import(folder, ["named.csv"])
    for place, names in ((archive, ["unnamed.csv", "oldest.csv", "ada.csv"]), (None, ["unnamed.csv", "oldest.csv"])):
        opened = place or p2p.open_archive(folder / "none")
        for is_dry in (True, False):
            with pytest.raises(ArchiveError, match=f"are of {len(names)} accounts"):
                opened.import_(_read(folder, *names), dry_run=is_dry)
    assert not (folder / "none").exists()


def test_only_the_file_with_a_handle_as_name_is_listed(folder) -> None:
    """The other files of the call have the name of the archive's holder."""
    files = {"lund.csv": _OF_NORA.replace("nora-quill", "ada"), "other.csv": _HEADER}
    for number, (name, header) in enumerate(files.items(), 7):
        (folder / name).write_text(header + _PAID.format(number, 1, "Ada Lund"), "utf-8")
    archive = _import(folder, ["lund.csv"])
    plan = archive.import_(_read(folder, "ada.csv", "other.csv"), dry_run=True)
    assert [tuple(each)[:2] for each in plan.other_accounts] == [("ada.csv", "Ada")]


def test_a_problem_is_none_any_more(folder) -> None:
    """A file that was added under the name is no file of another account once the archive has its handle."""
    archive = _import(folder, ["oldest.csv"])
    plan = archive.import_(_read(folder, "later.csv", account="Nora Quill"))
    assert [other.account for other in plan.other_accounts] == ["nora-quill"]
    plan = archive.import_(_read(folder, "named.csv"))
    assert (plan.other_accounts, len(plan.problems)) == ((), 0)
    assert archive.history().problems.empty
    assert set(archive.history().payments["account_id"]) == {"nora-quill"}


def test_names_are_compared_without_case(folder) -> None:
    """One reading and imports unite the spellings of a name."""
    together = _read(folder, "oldest.csv", "capitals.csv")
    assert together.accounts == ["Nora Quill"]
    assert _read(folder, "capitals.csv", "named.csv").accounts == ["nora-quill"]
    assert len(_import(folder, ["oldest.csv"], ["capitals.csv"]).history().payments) == 3
    assert _import(folder, ["named.csv"], ["capitals.csv"], archive="b").history().problems.empty


@pytest.mark.parametrize(
    ("first", "second"), [("named.csv", "ada.csv"), ("ada.csv", "named.csv"), ("unnamed.csv", "oldest.csv")]
)
def test_another_or_unknown_name_is_refused(folder, first, second) -> None:
    """One reading has two accounts; the command of the message adds the file."""
    assert len(_read(folder, first, second).accounts) == 2
    archive = _import(folder, [first])
    with pytest.raises(ArchiveError, match=r"are of the account .*, and .* is the archive of .* \(--account ") as error:
        archive.import_(_read(folder, second))
    account = str(error.value).partition('account="')[2].partition('"')[0]
    assert archive.import_(_read(folder, second, account=account)).new == len(_read(folder, second).payments)


def test_an_account_is_selected_by_the_name_of_its_holder(folder) -> None:
    """If no other account has the name."""
    assert _read(folder, "named.csv", "ada.csv").select_account("nora QUILL").accounts == ["nora-quill"]
    with pytest.raises(ConfigurationError, match="account is one of 'nora-q', 'nora-quill', not 'Nora Quill'"):
        _read(folder, "named.csv", "namesake.csv").select_account("Nora Quill")


def test_two_accounts_of_one_name(folder) -> None:
    """The file could be of either, so it joins neither, unless the user selects it; another handle is refused."""
    statements = _read(folder, "oldest.csv", "named.csv", "namesake.csv")
    assert statements.accounts == ["Nora Quill", "nora-q", "nora-quill"]
    archive = _import(folder, ["named.csv"])
    with pytest.raises(ArchiveError, match="are of the account nora-q"):
        archive.import_(_read(folder, "oldest.csv", "namesake.csv"))
    with pytest.raises(ArchiveError, match="are of the account nora-q"):
        archive.import_(statements.select_account("nora-q"))
    assert archive.import_(statements.select_account("Nora Quill"))[:2] == (1, 1)
    assert set(archive.history().payments["account_id"]) == {"nora-quill"}


def test_a_file_that_names_nobody(folder) -> None:
    """It belongs to the account of the other files of its service, as in one reading; without any, it is refused."""
    expected = _describe(_read(folder, "named.csv", "transfer.csv").history())
    assert _describe(_import(folder, ["named.csv"], ["transfer.csv"]).history()) == expected
    with pytest.raises(ArchiveError, match="name no account"):
        _import(folder, ["transfer.csv"], archive="b")


def test_an_account_that_the_caller_names(folder) -> None:
    """Files of the holder's name belong to it; a handle of this name does not replace what the caller said."""
    archive = p2p.open_archive(folder / "archive")
    archive.import_(_read(folder, "oldest.csv", account="nora"))
    assert archive.import_(_read(folder, "capitals.csv")).new == 1
    with pytest.raises(ArchiveError, match="--account nora"):
        archive.import_(_read(folder, "named.csv"))
    renamed = _import(folder, ["oldest.csv"], archive="b")
    renamed.import_(_read(folder, "oldest.csv", account="nora"))
    assert renamed.history().me.user.id == "nora"


def test_a_user_of_this_name(folder, history_of, payment) -> None:
    """A user's archive takes the files of the name, and an archive of the name becomes the user's."""
    loaded = history_of(payment(8, note="tea"))
    for order, archive in enumerate([p2p.open_archive(folder / "a"), p2p.open_archive(folder / "b")]):
        steps = [lambda opened: opened.merge(loaded), lambda opened: opened.import_(_read(folder, "ada.csv"))]
        for step in steps[:: 1 if order else -1]:
            step(archive)
        history = archive.history()
        assert (history.me.user.id, sorted(history.payments["payment_id"])) == ("7", ["7", "8"])
        assert set(history.payments["account_id"]) == {"7"}
        assert history.problems.empty


@pytest.mark.parametrize("lost", ["", "manifest.json"])
@pytest.mark.parametrize("name", ["oldest.csv", "transfer.csv", "ada.csv"])
def test_a_user_with_the_name_that_the_caller_gave(folder, history_of, payment, name, lost) -> None:
    """The caller named a handle, so the user "eve" with the display name "Ada" is another one."""
    archive, given = p2p.open_archive(folder / "archive"), "Ada" if name == "transfer.csv" else "ada"
    archive.import_(_read(folder, name, account=given))
    (archive.path / lost).unlink() if lost else None
    before, loaded = _read_files(archive), history_of(payment(8))
    named = User(id="7", username="eve", display_name=given)
    with pytest.raises(ArchiveError, match=r"of another account|holds statements of (a|A)da, not of eve: name another"):
        archive.merge(replace(loaded, me=Me(user=named)))
    assert _read_files(archive) == before
    archive.merge(replace(loaded, me=Me(user=User(id="7", username="Ada", display_name="Cy"))))
    history = archive.history()
    assert history.me.user.id == "7"
    ids = [line.partition(",")[0] for line in _TEXTS[name].splitlines()[1:]]
    assert {*history.payments["payment_id"]} == {*ids, "8"}


def test_a_name_that_is_the_handle_of_another(folder) -> None:
    """The file of "Ada" is in the account of the handle "ada", and a problem, in one reading and in any order."""
    text = _OF_NORA.replace("nora-quill", "ada") + _PAID.format(8, 1, "Ada Lund")
    (folder / "lund.csv").write_text(text, "utf-8")
    expected = _describe(_read(folder, "ada.csv", "lund.csv").history())
    problems = _read(folder, "ada.csv", "lund.csv").problems
    assert problems[["file", "field", "value"]].to_numpy().tolist() == [["ada.csv", "account", "Ada"]]
    assert "has another name" in problems["problem"].iloc[0]
    for order in itertools.permutations(["ada.csv", "lund.csv"]):
        archive = _import(folder, [order[0]], archive=order[0].removesuffix(".csv"))
        planned = archive.import_(_read(folder, order[1]), dry_run=True)
        assert [tuple(each)[:2] for each in planned.other_accounts] == [("ada.csv", "Ada")]
        archive.import_(_read(folder, order[1]))
        assert archive.history().me.user.display_name == "Ada Lund"
        assert _describe(archive.history())[2:] == expected[2:], order
    (folder / "lund.csv").write_text(text.replace("Ada Lund", "Ada"), "utf-8")
    assert _read(folder, "ada.csv", "lund.csv").problems.empty


def test_merged_histories_of_statements(folder) -> None:
    """An archive of a name that merges a history with the handle is that of the handle, for later imports too."""
    archive = p2p.open_archive(folder / "archive")
    archive.merge(_read(folder, "oldest.csv").history())
    archive.merge(_read(folder, "named.csv").history())
    assert archive.import_(_read(folder, "oldest.csv", "later.csv", "named.csv")).new == 1
    history = archive.history()
    assert history.me.user.id == "nora-quill"
    assert set(history.payments["account_id"]) | set(history.payments["actor_id"]) == {"nora-quill"}
    assert history.problems.empty


@pytest.mark.soak
def test_many_random_groups(tmp_path) -> None:
    """Random files with and without a handle, in random groups: owner, payments, problems and people of one reading."""
    for seed in range(60):
        chance = random.Random(seed)  # noqa: S311 - no secret
        folder = tmp_path / str(seed)
        folder.mkdir()
        names = [f"{number}.csv" for number in range(4)]
        for name in names:  # the first one has the handle
            days = sorted(chance.sample(range(1, 9), chance.randint(1, 4)))
            header = chance.choice([_HEADER, _OF_NORA]) if name != names[0] else _OF_NORA
            rows = [_PAID.format(day, day, "Nora Quill") for day in days]
            (folder / name).write_text(header + "".join(rows), "utf-8")
        order, cuts = chance.sample(names, 4), sorted(chance.sample(range(1, 4), chance.randint(1, 3)))
        groups = [order[start:end] for start, end in itertools.pairwise([0, *cuts, 4])]
        found = _describe(_import(folder, *groups).history())
        assert found == _describe(_read(folder, *names).history()), (seed, groups)
