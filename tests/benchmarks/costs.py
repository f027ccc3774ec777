"""Wall time, CPU time and memory of a call, and programs that make one call in a process of their own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

FOLDER = str(Path(__file__).parent)


def time_call(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return the result of a call, its wall time and its CPU time, in seconds."""
    started = time.perf_counter(), time.process_time()
    result = work()
    return result, time.perf_counter() - started[0], time.process_time() - started[1]


def read_memory(field: str = "VmHWM", process: int | str = "self") -> int:
    """Return the peak of a process's resident memory in bytes, or its size now (VmRSS); 0 if it has ended.

    `getrusage` would begin with the peak of the parent.
    """
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(field)), 0)


def run_alone(*command: str, python: str = sys.executable, **options: Any) -> Any:
    """Run a program that imports from this folder; return the JSON in the last line of its output."""
    options = {"env": {**os.environ, "PYTHONPATH": FOLDER}} | options
    done = subprocess.run([python, *command], check=True, stdout=subprocess.PIPE, text=True, **options)  # noqa: S603 - ours
    return json.loads(done.stdout.splitlines()[-1])
