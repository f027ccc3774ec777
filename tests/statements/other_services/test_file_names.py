"""Names of files in frames: the shortest that distinguish them, and never the path to them."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING, Final

import pytest

import p2p_analytics as p2p

if TYPE_CHECKING:
    from pathlib import Path


HEADER: Final = "Transaction ID,Date,Time,Type,Name,Category,Amount,Currency,Local amount,Local currency,Notes and #tags,Address,Receipt,Description,Category split,Balance,Balance currency\n"  # noqa: E501 - as the service writes it


def write(path: Path, number: int, *, amount: str = "-12.50") -> Path:
    """Write a file of one payment of £12.50, and of an amount that cannot be read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    row = f"tx_{number},{number:02}/02/2024,10:00:00,Monzo-to-Monzo,Ada Quill,Transfers,{{}},GBP,{{}},GBP,,,,Ada,,,\n"
    path.write_text(HEADER + row.format(amount, amount) + f"bad{row.format('many', 'many')}", "utf-8")
    return path


def test_the_name_without_folders(tmp_path: Path) -> None:
    """In every frame, and in the texts of problems."""
    write(tmp_path / "a.csv", 1)
    (tmp_path / "other.csv").write_text("x,y\n1,2\n", "utf-8")
    statements = p2p.read_statements(tmp_path, account="nora")
    assert set(statements.payments["file"]) == {"a.csv"}
    assert statements.files["file"].tolist() == statements.reconciliation["file"].tolist() == ["a.csv"]
    assert statements.problems["file"].iloc[0] == "other.csv"
    assert set(statements.problems["file"]) == {"a.csv", "other.csv"}
    history = statements.history()
    own = [statements.payments, statements.files, statements.reconciliation, statements.problems]
    for frame in [*own, history.payments, history.problems]:
        assert str(tmp_path) not in frame.to_csv()
        assert tmp_path.name not in frame.to_csv()


def test_as_many_folders_as_distinguish_the_files(tmp_path: Path) -> None:
    """Only the files with an equal name have folders; those in one folder of a name have one more."""
    for number, name in enumerate(["x/old/a.csv", "y/old/a.csv", "y/new/a.csv", "y/b.csv"], start=1):
        write(tmp_path / name, number)
    statements = p2p.read_statements(tmp_path / "**" / "*.csv", account="nora")
    assert set(statements.files["file"]) == {"x/old/a.csv", "y/old/a.csv", "new/a.csv", "b.csv"}
    assert statements.payments.set_index("payment_id")["file"]["tx_3"] == "new/a.csv"


def test_members_of_archives_have_the_name_of_the_archive(tmp_path: Path) -> None:
    """Also if a folder has the name of the archive; no two files share a name."""
    for folder, number in (("one", 1), ("two", 2)):
        with zipfile.ZipFile(tmp_path / f"{folder}.zip", "w") as archive:
            archive.write(write(tmp_path / folder / "a.csv", number), "2024/a.csv")
    names = p2p.read_statements(tmp_path, account="nora").files["file"]
    assert sorted(names) == ["one.zip/2024/a.csv", "two.zip/2024/a.csv"]
    write(tmp_path / "three" / "one.zip" / "2024" / "a.csv", 3)
    write(tmp_path / "three" / "2024" / "a.csv", 4)
    every = [tmp_path / "one.zip", *sorted(tmp_path.glob("three/**/*.csv"))]
    names = p2p.read_statements(every, account="nora").files["file"]
    assert names.is_unique
    assert not names.str.contains(tmp_path.name).any()


@pytest.mark.parametrize(("currencies", "balance"), [("GBP GBP", 8750), ("GBP EUR", None)])
def test_the_balance_of_the_holder(tmp_path: Path, currencies: str, balance: int | None) -> None:
    """Is that of the last file, in the currency of the payments; with several it is not known."""
    path = tmp_path / "a.csv"
    payment = "10:00:00,Monzo-to-Monzo,Ada Quill,Transfers,-12.50"
    rows = [
        f"tx_{at},0{at}/02/2024,{payment},{code},-12.50,{code},,,,,,{after},{code}"
        for at, (code, after) in enumerate(zip(currencies.split(), ("100.00", "87.50"), strict=True), start=1)
    ]
    path.write_text(HEADER + "\n".join(rows) + "\n", "utf-8")
    history = p2p.read_statements(path, account="nora").history()
    assert history.me.balance_cents == balance
    assert ("balance £87.50" in history._repr_html_()) == (balance is not None)
