"""The sample data: reproducible, and enough for each analysis."""

from __future__ import annotations

import runpy
from pathlib import Path

import p2p_analytics as p2p

DATA = Path(__file__).parents[1] / "data"


def test_the_command_makes_the_same_bytes_again(tmp_path: Path) -> None:
    """The town is deterministic, so make_town.py writes exactly the committed files."""
    runpy.run_path(str(DATA / "make_town.py"))["make"](tmp_path)
    for name in ("payments.csv", "friends.csv"):
        assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


def test_the_sample_is_enough_for_every_analysis() -> None:
    """It holds settled, pending, failed and cancelled payments over a year, and friends."""
    payments, friends = p2p.read_csv(DATA / "payments.csv"), p2p.read_csv(DATA / "friends.csv")
    assert {"settled", "pending", "failed", "cancelled"} <= set(payments["status"])
    assert len(p2p.monthly_flow(payments)) >= 12
    assert p2p.spend_by_friend(payments, friends)["is_friend"].any()
