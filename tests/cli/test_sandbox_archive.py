"""The command sandbox-archive: archives of a large town, the same for the same numbers."""

import hashlib
import json
import stat
from pathlib import Path

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.sandbox import SettingError
from p2p_analytics.sandbox.town import crowd

NUMBERS = "--accounts 6 --payments 3000 --years 2 --seed"


@pytest.fixture(scope="module")
def town(tmp_path_factory) -> Path:
    """Return a folder of archives of a town."""
    folder = tmp_path_factory.mktemp("towns") / "town"
    assert cli.main(["sandbox-archive", str(folder), *NUMBERS.split(), "5", "--progress", "none"]) == 0
    return folder


@pytest.fixture(scope="module")
def rows(town) -> pl.DataFrame:
    """Return all rows of the town."""
    return p2p.open_archives(town).scan("polars").collect()


def digest(folder: Path) -> dict[str, str]:
    """Return the digest of each file below a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_the_same_numbers_give_the_same_bytes(town, rows, run) -> None:
    """The summary counts what was written; another seed gives another town."""
    Path("a").mkdir()  # an empty folder is used
    found = json.loads(run(f"sandbox-archive a {NUMBERS} 5 --json").out)
    assert digest(Path("a")) == digest(town)
    sizes = [path.stat().st_size for path in town.rglob("*") if path.is_file()]
    assert found == {"archives": 6, "payments": 3000, "rows": len(rows), "bytes": sum(sizes)}
    assert run(f"sandbox-archive b {NUMBERS} 6").out.startswith("6 archives in b: 3,000 payments in ")
    assert not set(digest(town).values()) & set(digest(Path("b")).values())


def test_the_archives_are_archives(town) -> None:
    """Private, complete and sorted like a merged one: a merge of the same history writes the same rows."""
    archive = p2p.open_archives(town)[0]
    assert stat.S_IMODE(archive.path.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in archive.path.iterdir()} == {0o600}
    history = archive.history()
    assert history.problems.empty
    people = history.people[history.people["user_id"].notna()]
    assert people[["email", "phone"]].isna().all(axis=None), "the service shows them of no other person"
    assert set(history.friends["user_id"]) <= set(history.people["user_id"])
    merged = p2p.open_archive("merged")
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
    own = {"payment_id", "account_id", "direction", "flow_cents"}
    same = [name for name in rows.columns if not name.startswith("counterparty") and name not in own]
    pairs = inside.group_by("payment_id").agg(pl.col(same).n_unique(), pl.col("flow_cents").sum(), pl.len())
    assert pairs.drop("payment_id").unique().rows() == [(1,) * len(same) + (0, 2)]
    assert (inside["counterparty_id"] != inside["account_id"]).all()


def test_the_town_is_realistic(rows) -> None:
    """Every status of charges, skewed amounts, repeated notes with emoji, addresses, shared bills."""
    assert set(rows.filter(action="charge")["status"]) == {"settled", "pending", "failed", "expired", "cancelled"}
    amounts, notes = rows["amount_cents"], rows["note"]
    assert 0 < amounts.min() < 1.3 * amounts.median() < amounts.mean()
    assert notes.value_counts(sort=True)["count"][0] > 100
    assert (notes.str.contains("🍝").any(), set(rows["target_type"]) > {"user"}) == (True, True)
    is_pending = pl.col("status") == "pending"
    assert rows.filter(is_pending)["date_completed"].is_null().all()
    assert rows.filter(~is_pending)["settle_us"].min() >= 0
    assert p2p.split_bills(rows.filter(account_id=rows["account_id"][0]), as_of="2025-06-30")["people"].max() > 1


def test_what_cannot_be_done(run) -> None:
    """One sentence; nothing is written or replaced."""
    Path("mine").write_text("mine")
    for words, code, sentence in (
        ("a --accounts 1", 2, "argument --accounts: 1 is not between 2 and 100000"),
        ("a --payments 0", 2, "argument --payments: 0 is not between 1 and"),
        ("a --years 21", 2, "argument --years: 21 is not between 1 and 20"),
        ("a --seed -1", 2, "argument --seed: -1 is not between"),
        (". ", 1, ". holds something already: name a new or empty folder."),
        ("mine", 1, "mine holds something already: name a new or empty folder."),
        ("mine/a", 1, "mine/a cannot be used (not a directory): name another folder."),
        ("b --accounts 2 --payments 1000001", 1, "give 3 accounts or more"),
    ):
        found = run(f"sandbox-archive {words}")
        assert (found.code, sentence in found.err) == (code, True)
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("mine", "mine")]
    for wrong in ({"accounts": 1}, {"payments": 0}, {"years": 0}, {"years": "4"}):
        with pytest.raises(SettingError, match=r"is a whole number from"):
            crowd.Crowd(1, **{"accounts": 3, "payments": 9, "years": 1} | wrong)


@pytest.mark.parametrize(("accounts", "payments"), [(2, 1), (3, 500), (40, 1), (40, 500)])
def test_every_size_of_town_holds_each_payment(accounts: int, payments: int) -> None:
    """Each payment is in one or two accounts, never between a person and themselves."""
    made = crowd.Crowd(1, accounts=accounts, payments=payments, years=1)
    found: dict[int, list[int]] = {}
    for number in range(accounts):
        columns = made.make_account(number).payments
        assert ((columns.actor == 0) != (columns.target == 0)).all()
        ids, amounts = (columns.numbers[name].tolist() for name in ("payment_id", "amount_cents"))
        for payment_id, cents in zip(ids, amounts, strict=True):
            found.setdefault(payment_id, []).append(cents)
    assert len(found) == payments
    assert all(len(cents) <= 2 and len(set(cents)) == 1 for cents in found.values())
