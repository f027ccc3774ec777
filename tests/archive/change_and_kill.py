"""Changes archives in processes that are killed: reads a line of JSON for each, and writes its exit code.

It loads libraries once and forks for each line, which is fast. Only Polars is loaded in each fork, which would not have
its threads. Run by the fixture `change_archive`.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd  # noqa: F401 - loaded before the forks, not in each
import pyarrow.compute
import pyarrow.parquet  # noqa: F401 - likewise

import p2p_analytics as p2p

sys.path.append(str(Path(__file__).parents[1]))
from support.archives.steps import act_before_each_step

if TYPE_CHECKING:
    import contextlib

LOADED = (p2p.Client, p2p.History, p2p.load_history)  # before the forks too


def die() -> None:
    """Kill this process as ``kill -9`` does, without any cleanup."""
    os.kill(os.getpid(), signal.SIGKILL)


def die_before(number: int) -> contextlib.AbstractContextManager[None]:
    """Kill the process in place of the n-th call that changes a folder or waits for the disk."""
    left = number

    def count_calls() -> None:
        nonlocal left
        if left == 0:
            die()
        left -= 1

    return act_before_each_step(count_calls)


def work(order: dict[str, Any]) -> None:
    """Change an archive as the order says, unless the process is killed first."""
    from support.archives.statements import row, statements_of  # loads Polars

    def change() -> None:
        """Change an archive as the order says."""
        archive = p2p.open_archive(order["archive"])
        if "statements" in order:
            archive.import_(statements_of(*(row(**fields) for fields in order["statements"])))
        elif "undo" in order:
            archive.undo()
        elif "other" in order:
            archive.merge(p2p.open_archive(order["other"]).history())
        else:
            with p2p.Client(order["token"], base_url=order["base_url"], cache_dir=False) as client:
                archive.sync(client, refresh=order.get("refresh", False))

    assert p2p.open_archive, "loaded before the time begins"
    if "step" in order:
        with die_before(order["step"]):
            change()
    else:
        threading.Timer(order["seconds"], die).start()
        change()


gc.freeze()  # a collection in a fork would copy the memory of all these libraries
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        try:
            work(json.loads(line))
        except BaseException as error:  # noqa: BLE001 - a fork must never go on as its parent
            sys.stderr.write(f"{error!r}\n")
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
    sys.stdout.flush()
