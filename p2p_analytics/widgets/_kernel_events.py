"""Notification of running cells: while one runs, the kernel processes neither input nor clicks of widgets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython

if TYPE_CHECKING:
    from collections.abc import Callable


def watch_cells(on_change: Callable[[bool], None]) -> Callable[[], None]:
    """Call ``on_change`` with whether a cell runs, at every change, and at once if one runs now.

    Return a function that stops the notification. Outside a notebook, ``on_change`` is never called.
    """
    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if shell is None or kernel is None:
        return lambda: None

    def on_start(*_: object) -> None:
        on_change(True)  # noqa: FBT003 - the only argument of a callback

    def on_end(*_: object) -> None:
        on_change(False)  # noqa: FBT003 - likewise

    def stop() -> None:
        for name, callback in callbacks.items():
            if callback in shell.events.callbacks[name]:  # the user may have reset the events before
                shell.events.unregister(name, callback)

    callbacks = {"pre_run_cell": on_start, "post_run_cell": on_end}
    for name, callback in callbacks.items():
        shell.events.register(name, callback)
    if kernel.get_parent("shell").get("header", {}).get("msg_type") == "execute_request":
        on_start()
    return stop
