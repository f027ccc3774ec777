"""The time of Spark, and that of its start, apart: a program of its own, because Java stays until its process ends."""

import json
import os
import shutil
import sys
from pathlib import Path

from costs import FOLDER, run_alone, time_call  # beside this file

BESIDE = Path(sys.prefix) / "spark"
SECONDS = 300
MEASURED = ("spend_by_friend", "monthly_flow", "request_outcomes", "split_bills")
OPTIONS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


def measure(add_row, files: Path) -> None:
    """Add rows for the start of Spark, and for some analyses of Parquet files; one that says so without Spark."""
    if not BESIDE.is_dir() or not shutil.which("java"):
        add_row("analyses on Spark", "Polars", "no Java or no PySpark here")
        return
    surroundings = {**os.environ, "PYTHONPATH": FOLDER, "SPARK_LOCAL_IP": "127.0.0.1"}
    took = run_alone(__file__, str(files), timeout=SECONDS, env=surroundings)
    start, first = took.pop("start")
    add_row("start of Spark on 2 cores", "", f"{start:.1f} s", note=f"its first query {first:.1f} s")
    for name, (spark, polars) in took.items():
        add_row(f"{name}, Spark", "Polars, wall time", f"{spark / polars:.1f}x", note=f"{spark:.1f} s")


def main(files: str) -> dict[str, list[float]]:
    """Return the seconds of the start and the first query, and of each analysis on Spark and on Polars."""
    sys.path.append(str(BESIDE))
    import polars as pl
    from analyses import CASES  # beside this file
    from pyspark.sql import SparkSession

    session, start, _ = time_call(SparkSession.builder.master("local[2]").config(map=OPTIONS).getOrCreate)
    payments, scan = session.read.parquet(files), pl.scan_parquet(f"{files}/*.parquet")
    took = {"start": [start, time_call(payments.count)[1]]}
    for name in MEASURED:
        call = CASES[name][0]
        works = (lambda call=call: call(payments).toArrow(), lambda call=call: call(scan).collect())
        took[name] = [min(time_call(work)[1] for _ in range(2)) for work in works]
    session.stop()
    return took


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1])))  # noqa: T201 - its purpose
