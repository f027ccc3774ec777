"""The owner of an archive: username and name as any of its files shows them, whatever the order of the imports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import p2p_analytics as p2p

if TYPE_CHECKING:
    from pathlib import Path

    from p2p_analytics.archive import Archive, ImportPlan
    from p2p_analytics.statements import Statements

_HEADER = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
_NEWER = f"Account Statement - (@nora)\nAccount Activity\n{_HEADER}"
_TRANSFER = "1,2024-02-06T10:00:00,Standard Transfer,Issued,,,,- $6.00,,,MY BANK"
_MARCH = "2,2024-03-05T10:00:00,Payment,Complete,x,Nora Quill,Cy,- $5.00,,,"
_APRIL = "3,2024-04-06T10:00:00,Payment,Complete,x,Nora Quill,Cy,- $7.00,,,"
_MARCH_TWICE = f"{_MARCH}\n{_MARCH.replace('2,', '5,', 1)}"
_OTHER = "4,2024-05-06T10:00:00,Payment,Complete,x,Ada Lund,Cy,- $8.00,,,"
_SHOP = "Sandhill Choir"


def _read(folder: Path, rows: str, account: str, header: str = _HEADER) -> Statements:
    path = folder / f"{rows.partition(',')[0]}.csv"
    path.write_text(f"{header}\n{rows}\n", "utf-8")
    return p2p.read_statements(path, account=account)


def _import(archive: Archive, *files: Statements) -> list[ImportPlan]:
    """Import files one by one; a dry run of each says the same."""
    plans = []
    for each in files:
        dry = archive.import_(each, dry_run=True)
        plans.append(archive.import_(each))
        assert dry.other_accounts == plans[-1].other_accounts
    return plans


def test_a_first_file_without_holder_and_handle(tmp_path) -> None:
    """Files that show the holder are the owner's own, and name owner and people; "Nora" and "nora" are one."""
    given = ((_TRANSFER, _HEADER), (_MARCH, _HEADER), (_APRIL, _NEWER))
    files = [_read(tmp_path, rows, "Nora", header) for rows, header in given]
    for number, order in enumerate([(0, 1, 2), (1, 2, 0), (2, 0, 1)]):
        archive = p2p.open_archive(tmp_path / str(number))
        plans = _import(archive, *(files[place] for place in order))
        assert [plan.other_accounts for plan in plans] == [()] * 3, order
        history = archive.history()
        assert history.problems.empty, order
        assert (history.me.user.username, history.me.user.display_name) == ("nora", "Nora Quill"), order
        assert history.people[["username", "display_name"]].to_numpy().tolist() == [["nora", "Nora Quill"]]
        payments = history.payments.set_index("payment_id")
        assert payments["actor_username"].fillna("").to_dict() == {"3": "nora", "2": "nora", "1": ""}, order
        assert payments["account_id"].nunique() == 1
        assert archive.import_(files[order[0]])[:4] == (0, 1, 0, 0), order


def test_undo_takes_the_names_back(tmp_path) -> None:
    """The owner is again as the files that are left show it."""
    archive = p2p.open_archive(tmp_path / "a")
    _import(archive, _read(tmp_path, _TRANSFER, "aq"), _read(tmp_path, _MARCH, "aq"))
    assert archive.history().people["display_name"].tolist() == ["Nora Quill"]
    archive.undo()
    assert archive.history().me.user.display_name == "aq"
    assert archive.history().people["display_name"].tolist() == ["aq"]


def test_another_holder_stays_a_problem(tmp_path) -> None:
    """The name that a later file has shown is compared, and so is a name that is also the id of the account."""
    archive = p2p.open_archive(tmp_path / "a")
    *_, plan = _import(archive, *(_read(tmp_path, rows, "aq") for rows in (_TRANSFER, _MARCH_TWICE, _OTHER)))
    assert [tuple(each) for each in plan.other_accounts] == [("4.csv", "Ada Lund", 1)]
    assert archive.history().me.user.display_name == "Nora Quill"
    choir = p2p.open_archive(tmp_path / "b")
    own = _read(tmp_path, _MARCH.replace("Nora Quill", _SHOP), _SHOP)
    *_, plan = _import(choir, own, _read(tmp_path, _OTHER, _SHOP))
    assert [tuple(each) for each in plan.other_accounts] == [("4.csv", "Ada Lund", 1)]
    assert choir.history().me.user.display_name == _SHOP


def test_the_most_frequent_name(tmp_path) -> None:
    """Of several names, the most frequent one, of equal ones the first, in one reading and in imports of any order."""
    married = "\n".join(f"{at},2024-07-0{at}T10:00:00,Payment,Complete,x,Nora Hill,Cy,- $5.00,,," for at in (5, 6))
    files = [_read(tmp_path, rows, "nora", _NEWER) for rows in (_MARCH, _APRIL, married)]
    assert [each.get_holder().user.display_name for each in files] == ["Nora Quill", "Nora Quill", "Nora Hill"]
    for number, (order, names) in enumerate(
        [
            ((0, 1, 2), ["Nora Quill", "Nora Quill", "Nora Hill"]),  # two payments each
            ((2, 0, 1), ["Nora Hill", "Nora Hill", "Nora Hill"]),
            ((1, 2, 1), ["Nora Quill", "Nora Hill", "Nora Hill"]),
        ]
    ):
        archive = p2p.open_archive(tmp_path / str(number))
        for place, name in zip(order, names, strict=True):
            archive.import_(files[place])
            assert archive.history().me.user.display_name == name, order
            assert archive.history().people["display_name"].tolist() == [name]
        archive.undo()
        assert archive.history().me.user.display_name == names[1], order
    together = p2p.read_statements([tmp_path / name for name in ("2.csv", "3.csv", "5.csv")], account="nora")
    assert together.get_holder().user.display_name == "Nora Hill"
