"""The sample data: reproducible, and enough for each analysis."""

from __future__ import annotations

import runpy
from pathlib import Path

import p2p_analytics as p2p

DATA = Path(__file__).parents[1] / "data"


def test_the_command_makes_the_same_bytes_again(tmp_path: Path) -> None:
    """The town is deterministic, so make_town.py writes exactly the committed files."""
    runpy.run_path(str(DATA / "make_town.py"))["make"](tmp_path)
    for name in ("payments.csv", "people.csv", "friends.csv"):
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
