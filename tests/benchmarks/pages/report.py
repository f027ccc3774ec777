"""The report of payments against a general profile of the same frame, each in a process of its own.

The peer is ydata-profiling in its quick mode, which has no correlations. It needs older versions of pandas and NumPy,
so it has an environment of its own, ``.venv/profiling``. Both processes draw a small page before they are measured.

Run with the name of a way and a Parquet file, it writes one page and prints what that cost.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from costs import read_memory, run_alone, time_call  # in the folder above

ROWS, MOST_ROWS, FEW = 100_000, 1_000_000, 500
ROUNDS = 3
PEER = "ydata-profiling"
PYTHON = Path(sys.prefix) / "profiling" / "bin" / "python"
MEGABYTE = 1_000_000


def measure(add_row: Callable[..., None]) -> None:
    """Add the ratios of the peer's costs to ours, and what a report of a million payments takes at best."""
    compare(add_row)
    ours = min((_run(sys.executable, "ours", MOST_ROWS) for _ in range(ROUNDS)), key=lambda row: row["wall"])
    result = f"{ours['wall']:.1f} s; {ours['cpu']:.1f} s of CPU, {ours['bytes'] / MEGABYTE:.2f} MB"
    add_row(f"report of {MOST_ROWS:,} payments", "10 s and 3 MB", result, wanted="10 s, 3 MB")


def compare(add_row: Callable[..., None], python: Path = PYTHON) -> None:
    """Add the ratio of the peer's costs to ours; one row says so if it is not installed."""
    name = f"report of {ROWS:,} payments, CPU time"
    if not python.exists():
        add_row(name, PEER, f"{PEER} is not installed: `make bench` tries again where PyPI can be reached")
        return
    rounds = [(_run(sys.executable, "ours", ROWS), _run(str(python), "peer", ROWS)) for _ in range(ROUNDS)]
    sizes = " against ".join(f"{way['bytes'] / MEGABYTE:.1f}" for way in rounds[0])
    for title, cost, note in (
        (name, "cpu", ""),
        ("wall time of that", "wall", ""),
        ("peak memory of that, less", "peak", ""),
        ("size of that, less", "bytes", f"{sizes} MB"),
    ):
        add_row(title, PEER, [theirs[cost] / ours[cost] for ours, theirs in rounds], note=note)


def _run(python: str, way: str, rows: int) -> dict[str, float]:
    """Return what a page of synthetic payments costs one way."""
    import synthetic  # in the folder above, which is that of bench.py

    with tempfile.TemporaryDirectory() as folder:
        file = f"{folder}/payments.parquet"
        synthetic.build_payments(rows).to_parquet(file)
        return run_alone(__file__, way, file, python=python, stderr=subprocess.DEVNULL)


def _draw(way: str, file: str) -> None:
    import pandas as pd

    frame = pd.read_parquet(file)
    prepare = _draw_ours() if way == "ours" else _draw_profile()
    prepare(frame.head(FEW))()
    page, wall, cpu = time_call(prepare(frame))
    row = {"wall": wall, "cpu": cpu, "peak": read_memory(), "bytes": len(page.encode())}
    print(json.dumps(row))  # noqa: T201 - its result


def _draw_ours() -> Callable[[Any], Callable[[], str]]:
    """Return a function that makes a history of a frame, as a load does, and returns what draws its report."""
    from datetime import UTC, datetime

    import pandas as pd

    import p2p_analytics as p2p
    from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS, set_dtypes
    from p2p_analytics.records import Me, User

    def prepare(frame: pd.DataFrame) -> Callable[[], str]:
        history = p2p.History(
            me=Me(user=User(id="1", display_name="Rosa Vale", username="rosa-vale"), balance_cents=None),
            payments=set_dtypes(frame.reindex(columns=list(PAYMENTS)), PAYMENTS),
            friends=set_dtypes(pd.DataFrame(columns=list(FRIENDS)), FRIENDS),
            problems=set_dtypes(pd.DataFrame(columns=list(PROBLEMS)), PROBLEMS),
            fetched_at=datetime(2025, 1, 1, tzinfo=UTC),
        )
        return lambda: p2p.render_report(history, as_of=history.fetched_at, tz="America/New_York")

    return prepare


def _draw_profile() -> Callable[[Any], Callable[[], str]]:
    from ydata_profiling import ProfileReport

    return lambda frame: lambda: ProfileReport(frame, minimal=True, progress_bar=False).to_html()


if __name__ == "__main__":
    _draw(*sys.argv[1:])
