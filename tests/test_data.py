"""The sample data: reproducible, and enough for each analysis."""

from __future__ import annotations

import runpy
from pathlib import Path

import p2p_analytics as p2p

DATA = Path(__file__).parents[1] / "data"


def test_the_command_makes_the_same_bytes_again(tmp_path: Path) -> None:
    """The town is deterministic, so make_town.py writes exactly the committed files."""
    runpy.run_path(str(DATA / "make_town.py"))["make"](tmp_path)
    names = {path.relative_to(DATA) for path in DATA.rglob("*.csv")}
    assert names == {path.relative_to(tmp_path) for path in tmp_path.rglob("*.csv")}
    for name in names:
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_the_sample_is_enough_for_every_analysis() -> None:
    """It holds settled, pending, failed and cancelled payments over a year, and friends."""
    payments, friends = p2p.read_csv(DATA / "payments.csv"), p2p.read_csv(DATA / "friends.csv")
    assert {"settled", "pending", "failed", "cancelled"} <= set(payments["status"])
    assert len(p2p.monthly_flow(payments)) >= 12
    assert p2p.spend_by_friend(payments, friends)["is_friend"].any()


def test_the_sample_has_a_profile_of_each_person() -> None:
    """Actors, targets and friends are in people.csv once each; two share a name, and names have four scripts."""
    payments, people = p2p.read_csv(DATA / "payments.csv"), p2p.read_csv(DATA / "people.csv")
    friends = p2p.read_csv(DATA / "friends.csv")
    seen = {*payments["actor_id"], *payments["target_user_id"].dropna(), *friends["user_id"]}
    assert sorted(people["user_id"]) == sorted(seen)
    assert sorted(people.loc[people["display_name"] == "Sam Rivera", "username"]) == ["sam-rivera", "sam-rivera-2"]
    assert {"Bean & Leaf Café", "ليلى منصور", "王芳", "김민지"} <= set(people["display_name"])


def test_the_statement_files_hold_the_same_year() -> None:
    """They overlap, add up to the cent, and have the flows of the payments that settled."""
    statements, payments = p2p.read_statements(DATA / "statements"), p2p.read_csv(DATA / "payments.csv")
    assert len(statements.files) >= 4
    assert statements.files["rows"].sum() > len(statements.payments) + 2 * len(statements.files)
    assert statements.reconciliation["reconciled"].all()
    assert {"payment", "transfer", "merchant", "deposit"} <= set(statements.payments["kind"])
    tables = [rows[rows["status"] == "settled"] for rows in (statements.payments, payments)]
    of_people = tables[0][tables[0]["kind"] == "payment"]
    assert len(of_people) > 50
    flows = [dict(zip(rows["payment_id"], rows["flow_cents"], strict=True)) for rows in (of_people, tables[1])]
    assert flows[0] == flows[1]
