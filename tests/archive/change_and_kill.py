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
from pathlib import Path
from typing import Any

import pandas as pd  # noqa: F401 - loaded before the forks, not in each
import pyarrow.compute
import pyarrow.parquet  # noqa: F401 - likewise

import p2p_analytics as p2p

sys.path.append(str(Path(__file__).parents[1]))
from support.archives.steps import act_before_each_step

LOADED = (p2p.Client, p2p.History, p2p.load_history)  # before the forks too


def change(order: dict[str, Any]) -> None:
    """Change an archive as the order says."""
    from support.archives.statements import row, statements_of  # loads Polars

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


def work(order: dict[str, Any]) -> None:
    """Change an archive, and die as ``kill -9`` does in place of the n-th call that changes a folder."""
    left = order["step"]

    def count_calls() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    with act_before_each_step(count_calls):
        change(order)


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
