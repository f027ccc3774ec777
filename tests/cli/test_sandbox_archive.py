"""The command sandbox-archive: archives of a large town, the same for the same numbers."""

from __future__ import annotations

import hashlib
import json
import stat
from typing import TYPE_CHECKING

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.sandbox import SettingError
from p2p_analytics.sandbox.town import crowd

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = ["--accounts", "6", "--payments", "3000", "--years", "2", "--seed", "5"]


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Path:
    """Return a folder of archives of a town."""
    folder = tmp_path_factory.mktemp("towns") / "town"
    assert cli.main(["sandbox-archive", str(folder), *NUMBERS, "--progress", "none"]) == 0
    return folder


@pytest.fixture(scope="module")
def rows(town) -> pl.DataFrame:
    """Return all rows of the town."""
    return p2p.open_archives(town).scan("polars").collect()


def digest(folder: Path) -> dict[str, str]:
    """Return the digest of each file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_numbers_give_the_same_bytes(town, tmp_path, capsys) -> None:
    """The summary counts what was written; another seed gives another town."""
    assert cli.main(["sandbox-archive", str(tmp_path / "a"), *NUMBERS, "--json", "--progress", "log"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert digest(tmp_path / "a") == digest(town)
    sizes = [path.stat().st_size for path in town.rglob("*") if path.is_file()]
    archives = p2p.open_archives(town)
    count = archives.scan("polars", columns=["payment_id"]).collect().height
    assert found == {"archives": 6, "payments": 3000, "rows": count, "bytes": sum(sizes)}
    assert cli.main(["sandbox-archive", str(tmp_path / "b"), *NUMBERS[:-1], "6"]) == 0
    assert capsys.readouterr().out.startswith(f"6 archives in {tmp_path / 'b'}: 3,000 payments in ")
    assert not set(digest(town).values()) & set(digest(tmp_path / "b").values())


def test_the_archives_are_archives(town, tmp_path) -> None:
    """Private, complete and sorted like a merged one: a merge of the same history writes the same rows."""
    archive = p2p.open_archives(town)[0]
    assert stat.S_IMODE(archive.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in archive.path.iterdir()} == {0o600}
    history = archive.history()
    assert history.problems.empty
    assert set(history.friends["user_id"]) <= set(history.people["user_id"])
    merged = p2p.open_archive(tmp_path / "merged")
    merged.merge(history)
    assert merged.history().payments.equals(history.payments)
    assert archive.merge(history)[:2] == (0, 0)


def test_a_payment_is_in_the_archives_of_both_sides(rows) -> None:
    """Both rows agree, so the flows of the town sum to zero; payments to people outside have one row."""
    accounts = rows["account_id"].unique()
    assert len(accounts) == 6
    inside = rows.filter(pl.col("counterparty_id").is_in(accounts.implode()))
    assert 0 < len(inside) < len(rows)
    assert rows["payment_id"].n_unique() == 3000 == len(inside) // 2 + len(rows) - len(inside)
    same = [
        name
        for name in rows.columns
        if not name.startswith("counterparty") and name not in {"account_id", "direction", "flow_cents"}
    ]
    pairs = inside.group_by("payment_id").agg(
        pl.col(same).exclude("payment_id").n_unique(), pl.col("flow_cents").sum(), pl.len()
    )
    assert pairs.drop("payment_id").unique().rows() == [(1,) * (len(same) - 1) + (0, 2)]
    assert inside.filter(status="settled")["flow_cents"].sum() == 0
    assert (inside["counterparty_id"] != inside["account_id"]).all()


def test_the_town_is_realistic(rows) -> None:
    """Every status of charges, skewed amounts, repeated notes with emoji, habits, addresses, fees, shared bills."""
    charges = rows.filter(action="charge")
    assert set(charges["status"]) == {"settled", "pending", "failed", "expired", "cancelled"}
    assert rows["amount_cents"].min() > 0
    assert rows["amount_cents"].mean() > 1.3 * rows["amount_cents"].median()
    assert rows["note"].value_counts(sort=True)["count"][0] > 100
    assert rows["note"].n_unique() > 50
    assert rows["note"].str.contains("🍝").any()
    rent = (
        rows.filter(pl.col("note").str.contains("Rent|lesson"), direction="out")
        .group_by("account_id", "counterparty_id", "note")
        .agg(pl.col("amount_cents").n_unique(), pl.col("date_created").sort().diff().dt.total_days().median())
    )
    assert set(rent["amount_cents"]) == {1}
    assert set(rent["date_created"].round()) <= {6, 7, 30, 31}
    assert rows["fee_cents"].drop_nulls().min() >= 10
    assert set(rows["target_type"]) > {"user"}
    pending = rows.filter(status="pending")
    assert pending["date_completed"].is_null().all()
    assert rows.filter(pl.col("status") != "pending")["settle_us"].min() >= 0
    assert p2p.split_bills(rows.filter(account_id=rows["account_id"][0]), as_of="2025-06-30")["people"].max() > 1


@pytest.mark.parametrize(
    ("numbers", "sentence"),
    [
        (["--accounts", "1"], "argument --accounts: 1 is not between 2 and 100000"),
        (["--payments", "0"], "argument --payments: 0 is not between 1 and"),
        (["--payments", "many"], "argument --payments: invalid number value"),
        (["--years", "21"], "argument --years: 21 is not between 1 and 20"),
        (["--seed", "-1"], "argument --seed: -1 is not between"),
        (["--people", "3"], "unrecognized arguments: --people"),
    ],
)
def test_a_number_out_of_range_is_wrong_use(tmp_path, capsys, numbers, sentence) -> None:
    """Nothing is written."""
    with pytest.raises(SystemExit, match="2"):
        cli.main(["sandbox-archive", str(tmp_path / "a"), *numbers])
    assert sentence in capsys.readouterr().err
    assert not any(tmp_path.iterdir())


def test_a_folder_that_cannot_be_used_is_refused(tmp_path, capsys) -> None:
    """One sentence; its content stays, and an empty folder is used."""
    (tmp_path / "mine").write_text("mine")
    for folder in (tmp_path, tmp_path / "mine", tmp_path / "mine" / "a"):
        assert cli.main(["sandbox-archive", str(folder), *NUMBERS]) == 1
        assert str(folder) in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
    few = ["--accounts", "2", "--payments", "1000001"]
    assert cli.main(["sandbox-archive", str(tmp_path / "b"), *few]) == 1
    assert "give 3 accounts or more" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert cli.main(["sandbox-archive", str(tmp_path / "empty"), "--accounts", "2", "--payments", "1"]) == 0
    assert len(p2p.open_archives(tmp_path / "empty")) == 2


@pytest.mark.parametrize("accounts", [2, 3, 9, 40])
@pytest.mark.parametrize("payments", [1, 7, 500])
def test_every_size_of_town_holds_each_payment(accounts, payments) -> None:
    """Each payment is in one or two accounts, never between a person and themselves."""
    made = crowd.Crowd(1, accounts=accounts, payments=payments, years=1)
    found: dict[int, list[int]] = {}
    for number in range(accounts):
        columns = made.make_account(number).payments
        assert ((columns.actor == 0) != (columns.target == 0)).all()
        for payment_id, cents in zip(
            columns.numbers["payment_id"].tolist(), columns.numbers["amount_cents"].tolist(), strict=True
        ):
            found.setdefault(payment_id, []).append(cents)
    assert len(found) == payments
    assert all(len(cents) <= 2 and len(set(cents)) == 1 for cents in found.values())


@pytest.mark.parametrize(
    "wrong", [{"seed": -1}, {"seed": 1.5}, {"accounts": 1}, {"payments": 0}, {"years": 0}, {"years": "4"}]
)
def test_the_town_checks_its_numbers(wrong) -> None:
    """As the command does."""
    numbers = {"seed": 1, "accounts": 3, "payments": 9, "years": 1} | wrong
    with pytest.raises(SettingError, match=r"is a whole number from"):
        crowd.Crowd(numbers.pop("seed"), **numbers)
