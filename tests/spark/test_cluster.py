"""Analyses on a cluster on this machine, with an executor in another process."""

import json
import subprocess
import sys
from pathlib import Path

import p2p_analytics as p2p
from support.analyses.calls import CALLS
from support.analyses.containers import read_rows

SECONDS = 240


def test_tables_of_a_cluster(pyspark, tmp_path, history_of, payment):
    """They equal the tables of pandas, though the executor has no Python: expressions run in its Java."""
    archive = p2p.open_archive(tmp_path / "archive")
    days = [payment(day, date_created=f"2024-04-{day:02}T12:00:00", action="charge") for day in range(1, 9)]
    archive.merge(history_of(*days))
    (tmp_path / "spark").mkdir()
    program = [sys.executable, Path(__file__).with_name("cluster.py"), archive.path, tmp_path / "spark"]
    # When the program ends or is stopped, its input ends, and with that the processes of Spark.
    done = subprocess.run(program, capture_output=True, encoding="utf-8", timeout=SECONDS, check=False)  # noqa: S603 - a program of this folder
    assert done.returncode == 0, done.stderr[-3_000:]
    found = json.loads(done.stdout.splitlines()[-1])
    payments = archive.history().payments
    for name, rows in found["tables"].items():
        assert rows == read_rows(CALLS[name](payments)) != []
    assert found["processes"] == 2, "the driver and one executor"
