"""Sides and kinds that follow from rows of several files, imported together or one by one, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from support.archives.statements import list_stored

if TYPE_CHECKING:
    from pathlib import Path

_HEADER = "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination"
_BOUGHT = ("11", "2024-01-05T10:00:00", "Merchant Transaction", "Complete", "", "Ada", "Corner Store", "- $5.00")
_BACK = ("12", "2024-02-09T10:00:00", "Refund", "Complete", "", "Ada", "Corner Store", "+ $5.00")
_PAID = ("13", "2024-03-05T10:00:00", "Payment", "Complete", "", "Ada", "Bo", "- $7.00")
_TURNED = ("14", "2024-03-06T10:00:00", "Payment", "Complete", "", "Ada", "Bo", "+ $2.00")
_NOTHING = ("15", "2024-04-06T10:00:00", "Charge", "Complete", "", "Bo", "Ada", "$0.00")
_WHERE = ["payment_id", "file", "line", "field", "value", "problem"]


def _read(folder: Path, **files: tuple[tuple[str, ...], ...]) -> list[p2p.statements.Statements]:
    """Return the statements of each file, and of all of them."""
    paths = [folder / f"{name}.csv" for name in files]
    for path, rows in zip(paths, files.values(), strict=True):
        path.write_text("\n".join([_HEADER, *(",".join([*row, "", "", ""]) for row in rows)]), "utf-8")
    return [p2p.read_statements(path, account="ada") for path in [*paths, paths]]


def _describe(history: p2p.History) -> list[tuple[object, ...]]:
    names = ["payment_id", "kind", "counterparty_name", "direction", "target_user_username", "file"]
    return sorted(map(tuple, history.payments[names].astype(str).to_numpy().tolist()))


def _list_problems(history: p2p.History) -> list[tuple[str, ...]]:
    return sorted(map(tuple, history.problems[_WHERE].astype(object).fillna("").astype(str).to_numpy().tolist()))


def test_a_month_without_a_payment_between_people(tmp_path) -> None:
    """The shop of a refund is known from the purchase in another file, and the holder from there or a third one."""
    *each, together = _read(tmp_path, january=(_BOUGHT,), february=(_BACK,), march=(_PAID, _TURNED), april=(_NOTHING,))
    expected = _describe(together.history())
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
        assert _describe(archive.history()) == expected, order
        assert _list_problems(archive.history()) == [listed], order


def test_a_history_that_its_own_archive_merges(tmp_path) -> None:
    """It changes neither files nor problems, and a later file decides about the refund; not in another archive."""
    bought, back, together = _read(tmp_path, january=(_BOUGHT,), february=(_BACK, _NOTHING))
    archive, copy = (p2p.open_archive(tmp_path / name) for name in ("archive", "copy"))
    archive.import_(back)
    before = archive.history()
    assert [row[3:5] for row in _list_problems(before)] == [("kind", "Ada")]
    files = list_stored(archive)
    archive.merge(before)
    assert list_stored(archive) == files
    copy.merge(before)
    for each in (archive, copy):
        assert _describe(each.history()) == _describe(before)
        assert _list_problems(each.history()) == _list_problems(before)
        each.import_(bought)
    assert _describe(archive.history()) == _describe(together.history())
    assert _list_problems(archive.history()) == []
    assert _describe(copy.history())[1:] == _describe(before)
    assert _list_problems(copy.history()) == _list_problems(before)
    copy.import_(back)
    assert copy.history().payments.set_index("payment_id")["kind"]["12"] == "merchant"
    assert _list_problems(copy.history()) == []


@pytest.mark.parametrize(
    ("edited", "kinds"),
    [
        ({"note": "beer"}, ("unknown", "merchant")),
        ({"counterparty_name": "Corner Store"}, ("unknown", "merchant")),
        ({"kind": "payment"}, ("payment", "payment")),
    ],
)
def test_a_refund_that_the_user_edits(tmp_path, edited, kinds) -> None:
    """The purchase in a later file decides about its kind, unless the user has; the edited value stays."""
    back, bought, _ = _read(tmp_path, february=(_BACK,), january=(_BOUGHT,))
    assert back.payments["counterparty_name"].tolist() == ["Ada"]
    back.payments.loc[0, list(edited)] = list(edited.values())
    archive, copy = (p2p.open_archive(tmp_path / name) for name in ("archive", "copy"))
    archive.import_(back)
    copy.merge(archive.history())
    for each in (archive, copy):
        found = each.history()
        assert found.payments["kind"].tolist() == [kinds[0]]
        assert found.problems["field"].tolist() == ["kind"] * (kinds[0] == "unknown")
        each.import_(bought)
        found = each.history()
        payment = found.payments.set_index("payment_id").loc["12"]
        decided = kinds[1] if each is archive else kinds[0]  # a merged row is not decided by rows of files
        assert payment[["kind", *edited]].to_dict() == {"kind": decided, **edited}
        assert found.problems["field"].tolist() == ["kind"] * (decided == "unknown")
