"""The sample data: reproducible, and enough for each analysis."""

import runpy
from pathlib import Path

import p2p_analytics as p2p

DATA = Path(__file__).parents[1] / "data"


def test_the_command_makes_the_same_bytes_again(tmp_path: Path) -> None:
    """The town is deterministic, so make_town.py writes exactly the committed files."""
    runpy.run_path(str(DATA / "make_town.py"))["make"](tmp_path)
    committed, made = (
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.csv")} for folder in (DATA, tmp_path)
    )
    assert made == committed


def test_the_sample_is_enough_for_every_analysis() -> None:
    """All statuses over a year, and a profile of each person; two share a name, and names have four scripts."""
    payments, friends, people = (p2p.read_csv(DATA / f"{name}.csv") for name in ("payments", "friends", "people"))
    assert {"settled", "pending", "failed", "cancelled"} <= set(payments["status"])
    assert len(p2p.monthly_flow(payments)) >= 12
    assert p2p.spend_by_friend(payments, friends)["is_friend"].any()
    seen = {*payments["actor_id"], *payments["target_user_id"].dropna(), *friends["user_id"]}
    assert sorted(people["user_id"]) == sorted(seen)
    assert sorted(people.loc[people["display_name"] == "Sam Rivera", "username"]) == ["sam-rivera", "sam-rivera-2"]
    assert {"Bean & Leaf Café", "ليلى منصور", "王芳", "김민지"} <= set(people["display_name"])


def test_the_statement_files_hold_the_same_year() -> None:
    """They overlap, add up to the cent, and have the flows of the payments that settled."""
    statements, payments = p2p.read_statements(DATA / "statements"), p2p.read_csv(DATA / "payments.csv")
    assert statements.files["rows"].sum() > len(statements.payments) + 2 * len(statements.files)
    assert statements.reconciliation["reconciled"].all()
    rows = statements.payments
    assert {"payment", "transfer", "merchant", "deposit"} <= set(rows["kind"])
    settled = [each[each["status"] == "settled"] for each in (rows[rows["kind"] == "payment"], payments)]
    flows = [dict(zip(each["payment_id"], each["flow_cents"], strict=True)) for each in settled]
    assert (flows[0] == flows[1], len(flows[0]) > 50) == (True, True)
