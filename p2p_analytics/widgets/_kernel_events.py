"""While a cell runs, a kernel hears nothing of what is typed or clicked: whoever must hear it has to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

from IPython.core.getipython import get_ipython

if TYPE_CHECKING:
    from collections.abc import Callable


def follow_cells(tell: Callable[[bool], None]) -> Callable[[], None]:
    """Tell whether a cell runs, at once where one does and whenever that changes; return what ends it.

    Outside a notebook no cell ever runs.
    """
    shell = get_ipython()
    kernel = getattr(shell, "kernel", None)
    if shell is None or kernel is None:
        return lambda: None

    def begins(*_: object) -> None:
        tell(True)  # noqa: FBT003 - the answer to a question

    def ends(*_: object) -> None:
        tell(False)  # noqa: FBT003 - likewise

    def stop() -> None:
        for name, told in told_at.items():
            if told in shell.events.callbacks[name]:  # a reset of the events may have come before
                shell.events.unregister(name, told)

    told_at = {"pre_run_cell": begins, "post_run_cell": ends}
    for name, told in told_at.items():
        shell.events.register(name, told)
    if kernel.get_parent("shell").get("header", {}).get("msg_type") == "execute_request":
        begins()
    return stop
