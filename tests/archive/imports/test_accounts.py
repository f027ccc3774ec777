"""Accounts and owners: files that show only the holder's name belong to the account of this name, in any imports."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.records import Me, User
from support.archives.statements import digests, list_stored

_HEADER = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
_OF_NORA = "Account Statement - (@nora-quill)\nAccount Activity\n" + _HEADER
_PAID = "\n{},2024-0{}-05T10:00:07,Payment,Complete,x,{},Cy,- $5.00,,,"
_MOVED = "\n9,2024-02-06T10:00:00,Standard Transfer,Issued,,,,- $6.00,,,MY BANK"
_TEXTS = {
    "oldest.csv": _HEADER + _PAID.format(1, 1, "Nora Quill") + _PAID.format(2, 3, "Nora Quill"),
    "named.csv": _OF_NORA + _PAID.format(2, 3, "Nora Quill") + _PAID.format(3, 4, "Nora Quill"),
    "later.csv": _OF_NORA + _PAID.format(4, 5, "Nora Quill"),
    "capitals.csv": _HEADER + _PAID.format(5, 2, "NORA  Quill"),
    "namesake.csv": _OF_NORA.replace("nora-quill", "nora-q") + _PAID.format(6, 1, "Nora Quill"),
    "ada.csv": _HEADER + _PAID.format(7, 1, "Ada"),
    "transfer.csv": _HEADER + _MOVED,
    "unnamed.csv": _OF_NORA + _MOVED,
}


@pytest.fixture
def folder(tmp_path) -> Path:
    """Return a folder with all files."""
    for name, text in _TEXTS.items():
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def _read(folder, *names: str, account: str | None = None) -> p2p.Statements:
    return p2p.read_statements([folder / name for name in names], account=account)


def _import(folder, *groups: list[str], archive: str = "archive") -> p2p.Archive:
    opened = p2p.open_archive(folder / archive)
    for names in groups:
        opened.import_(_read(folder, *names))
    return opened


def _describe(history) -> tuple[object, ...]:
    """Return the owner, people, payments and problems of a history."""
    payments = history.payments.drop(columns=["counterparty_matched"], errors="ignore")
    problems = history.problems[["file", "line", "payment_id", "field", "value", "problem"]]
    frames = (history.people, payments, problems.sort_values(["file", "line"]))
    return history.me.user, *(frame.map(str).to_numpy().tolist() for frame in frames)


def test_any_order_is_one_reading(folder) -> None:
    """Imported one by one in any order: the same owner, people, payments and problems; undo restores the files."""
    files = ("oldest.csv", "named.csv", "later.csv")
    expected = _describe(_read(folder, *files).history())
    for order in (files, files[::-1]):
        archive, states = p2p.open_archive(folder / order[0].removesuffix(".csv")), []
        for name in order:
            states.append(list_stored(archive))
            statements = _read(folder, name)
            planned = archive.import_(statements, dry_run=True)
            assert archive.import_(statements)[:4] == planned[:4]
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
        [["named.csv"], ["unnamed.csv", "oldest.csv", "transfer.csv"]],  # payment 9 is in both accounts of the call
        [["named.csv"], ["copy.csv", "oldest.csv"]],
        [["oldest.csv"], ["named.csv", "unnamed.csv"]],
        [["unnamed.csv"], ["named.csv", "oldest.csv"]],
        [["named.csv"], ["transfer.csv"]],
    ],
)
def test_accounts_of_one_call_that_the_archive_unites(folder, groups) -> None:
    """Files that one reading of all takes as one account are imported together, where the call alone has several.

    A file without a name belongs to the account of the other files of its service.
    """
    (folder / "copy.csv").write_text(_OF_NORA + _MOVED + _PAID.format(2, 3, ""), "utf-8")
    archive = _import(folder, groups[0])
    statements = _read(folder, *groups[1])
    plan = archive.import_(statements)
    assert sum(plan[:2]) == statements.payments["payment_id"].nunique()
    history = archive.history()
    assert _describe(history) == _describe(_read(folder, *groups[0], *groups[1]).history())
    assert set(history.payments["account_id"]) == {"nora-quill"}


@pytest.mark.parametrize(
    ("first", "names", "message"),
    [
        (["named.csv"], ["unnamed.csv", "oldest.csv", "ada.csv"], "are of 3 accounts"),  # one is not the archive's
        ([], ["unnamed.csv", "oldest.csv"], "are of 2 accounts"),  # nothing shows that they are one
        (["ada.csv"], ["named.csv"], r"are of the account .*, and .* is the archive of .* \(--account "),
        (["unnamed.csv"], ["oldest.csv"], r"are of the account .*, and .* is the archive of .* \(--account "),
    ],
)
def test_accounts_that_stay_apart(folder, first, names, message) -> None:
    """One that is not the archive's refuses all; one reading has several accounts. The command adds a single file."""
    assert len(_read(folder, *first, *names).accounts) > 1
    archive = _import(folder, *[[name] for name in first])
    with pytest.raises(ArchiveError, match=message) as error:
        archive.import_(_read(folder, *names))
    assert archive.path.exists() == bool(first)
    if len(names) == 1:
        account = str(error.value).partition('account="')[2].partition('"')[0]
        assert archive.import_(_read(folder, *names, account=account)).new == len(_read(folder, *names).payments)


def test_two_accounts_of_one_name(folder) -> None:
    """The file could be of either, so it joins neither, unless the user selects it; another handle is refused."""
    assert _read(folder, "named.csv", "ada.csv").select_account("nora QUILL").accounts == ["nora-quill"]
    with pytest.raises(ConfigurationError, match="account is one of 'nora-q', 'nora-quill', not 'Nora Quill'"):
        _read(folder, "named.csv", "namesake.csv").select_account("Nora Quill")
    statements = _read(folder, "oldest.csv", "named.csv", "namesake.csv")
    assert statements.accounts == ["Nora Quill", "nora-q", "nora-quill"]
    archive = _import(folder, ["named.csv"])
    with pytest.raises(ArchiveError, match="are of the account nora-q"):
        archive.import_(statements.select_account("nora-q"))
    assert archive.import_(statements.select_account("Nora Quill"))[:2] == (1, 1)
    assert set(archive.history().payments["account_id"]) == {"nora-quill"}


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


@pytest.mark.parametrize("is_merged_first", [True, False])
def test_a_user_of_this_name(folder, history_of, payment, is_merged_first) -> None:
    """A user's archive takes the files of the name, and an archive of the name becomes the user's."""
    archive, loaded = p2p.open_archive(folder / "a"), history_of(payment(8, note="tea"))
    if is_merged_first:
        archive.merge(loaded)
    archive.import_(_read(folder, "ada.csv"))
    archive.merge(loaded)
    history = archive.history()
    assert (history.me.user.id, sorted(history.payments["payment_id"])) == ("7", ["7", "8"])
    assert set(history.payments["account_id"]) == {"7"}
    assert history.problems.empty


@pytest.mark.parametrize(("name", "lost"), [("oldest.csv", False), ("transfer.csv", True), ("ada.csv", True)])
def test_a_user_with_the_name_that_the_caller_gave(folder, history_of, payment, name, lost) -> None:
    """The caller named a handle, so the user "eve" with the display name "Ada" is another one."""
    archive, given = p2p.open_archive(folder / "archive"), "Ada" if name == "transfer.csv" else "ada"
    archive.import_(_read(folder, name, account=given))
    if lost:
        (archive.path / "manifest.json").unlink()
    before, loaded = digests(archive.path), history_of(payment(8))
    named = User(id="7", username="eve", display_name=given)
    with pytest.raises(ArchiveError, match=r"of another account|holds statements of (a|A)da, not of eve: name another"):
        archive.merge(replace(loaded, me=Me(user=named)))
    assert digests(archive.path) == before
    archive.merge(replace(loaded, me=Me(user=User(id="7", username="Ada", display_name="Cy"))))
    history = archive.history()
    assert history.me.user.id == "7"
    ids = [line.partition(",")[0] for line in _TEXTS[name].splitlines()[1:]]
    assert {*history.payments["payment_id"]} == {*ids, "8"}


def test_a_name_that_is_the_handle_of_another(folder) -> None:
    """The file of "Ada" is in the account of the handle "ada", and a problem, in one reading and in any order."""
    for number, (name, header) in enumerate(
        {"lund.csv": _OF_NORA.replace("nora-quill", "ada"), "b.csv": _HEADER}.items()
    ):
        (folder / name).write_text(header + _PAID.format(8 + number, 1, "Ada Lund"), "utf-8")
    one_reading = _read(folder, "ada.csv", "lund.csv")
    expected, problems = _describe(one_reading.history()), one_reading.problems
    assert problems[["file", "field", "value"]].to_numpy().tolist() == [["ada.csv", "account", "Ada"]]
    assert "has another name" in problems["problem"].iloc[0]
    for order in itertools.permutations(["ada.csv", "lund.csv"]):
        archive = _import(folder, [order[0]], archive=order[0].removesuffix(".csv"))
        plan = archive.import_(_read(folder, order[1]))
        assert [tuple(each)[:2] for each in plan.other_accounts] == [("ada.csv", "Ada")]
        assert archive.history().me.user.display_name == "Ada Lund"
        assert _describe(archive.history())[2:] == expected[2:], order
    # The other file of the call has the name of the archive's holder.
    plan = _import(folder, ["lund.csv"], archive="c").import_(_read(folder, "ada.csv", "b.csv"), dry_run=True)
    assert [tuple(each)[:2] for each in plan.other_accounts] == [("ada.csv", "Ada")]


def test_merged_histories_of_statements(folder) -> None:
    """An archive of a name that merges a history with the handle takes the handle, for later imports too."""
    archive = p2p.open_archive(folder / "archive")
    archive.merge(_read(folder, "oldest.csv").history())
    archive.merge(_read(folder, "named.csv").history())
    assert archive.import_(_read(folder, "oldest.csv", "later.csv", "named.csv")).new == 1
    history = archive.history()
    assert history.me.user.id == "nora-quill"
    assert set(history.payments["account_id"]) | set(history.payments["actor_id"]) == {"nora-quill"}
    assert history.problems.empty


_TRANSFER = "1,2024-02-06T10:00:00,Standard Transfer,Issued,,,,- $6.00,,,MY BANK"
_MARCH = "2,2024-03-05T10:00:00,Payment,Complete,x,Nora Quill,Cy,- $5.00,,,"
_APRIL = "3,2024-04-06T10:00:00,Payment,Complete,x,Nora Quill,Cy,- $7.00,,,"
_OTHER = "4,2024-05-06T10:00:00,Payment,Complete,x,Ada Lund,Cy,- $8.00,,,"


def _read_rows(folder, rows: str, account: str, header: str = _HEADER) -> p2p.Statements:
    path = folder / f"{rows.partition(',')[0]}.csv"
    path.write_text(f"{header}\n{rows}\n", "utf-8")
    return p2p.read_statements(path, account=account)


def test_a_first_file_without_holder_and_handle(tmp_path) -> None:
    """Files that show the holder are the owner's own, and name owner and people; "Nora" and "nora" are one."""
    given = ((_TRANSFER, _HEADER), (_MARCH, _HEADER), (_APRIL, _OF_NORA.replace("nora-quill", "nora")))
    files = [_read_rows(tmp_path, rows, "Nora", header) for rows, header in given]
    for number, order in enumerate([(0, 1, 2), (2, 0, 1)]):
        archive = p2p.open_archive(tmp_path / str(number))
        for place in order:
            assert archive.import_(files[place], dry_run=True).other_accounts == ()
            assert archive.import_(files[place]).other_accounts == ()
        history = archive.history()
        assert history.problems.empty, order
        assert (history.me.user.username, history.me.user.display_name) == ("nora", "Nora Quill"), order
        assert history.people[["username", "display_name"]].to_numpy().tolist() == [["nora", "Nora Quill"]]
        payments = history.payments.set_index("payment_id")
        assert payments["actor_username"].fillna("").to_dict() == {"3": "nora", "2": "nora", "1": ""}, order
        assert payments["account_id"].nunique() == 1


def test_another_holder_stays_a_problem(tmp_path) -> None:
    """The name that a later file has shown is compared, and so is a name that is also the id of the account.

    After an undo, the owner is again as the files that are left show it.
    """
    archive, choir = (p2p.open_archive(tmp_path / name) for name in ("a", "b"))
    archive.import_(_read_rows(tmp_path, _TRANSFER, "aq"))
    archive.import_(_read_rows(tmp_path, _MARCH, "aq"))
    assert archive.history().people["display_name"].tolist() == ["Nora Quill"]
    archive.undo()
    assert archive.history().people["display_name"].tolist() == [archive.history().me.user.display_name] == ["aq"]
    archive.import_(_read_rows(tmp_path, f"{_MARCH}\n{_MARCH.replace('2,', '5,', 1)}", "aq"))
    choir.import_(_read_rows(tmp_path, _MARCH.replace("Nora Quill", "Sandhill Choir"), "Sandhill Choir"))
    for each, account, name in ((archive, "aq", "Nora Quill"), (choir, "Sandhill Choir", "Sandhill Choir")):
        plan = each.import_(_read_rows(tmp_path, _OTHER, account))
        assert [tuple(other) for other in plan.other_accounts] == [("4.csv", "Ada Lund", 1)]
        assert each.history().me.user.display_name == name
