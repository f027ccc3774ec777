"""Check that no window of a load lacks a payment.

A window is complete if its pager reaches a payment older than its start, and the window of that payment must hold it
too. The oldest payments have no older one; there, the list must end twice, and no older window may hold a payment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.client.paging.page_dates import is_between
from p2p_analytics.errors import PaginationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from p2p_analytics.client.paging._deduplication import Deduplicator
    from p2p_analytics.client.paging._window_task import WindowTask
    from p2p_analytics.client.window import Window


class CompletenessCheck:
    """Comparison of each window with its neighbours, from the newest to the oldest.

    Parameters
    ----------
    tasks : list of WindowTask
        All windows, newest first.
    bounds : Window
        The bounds of the load.
    deduplicator : Deduplicator
        The payments of the windows that were passed on.
    """

    def __init__(self, tasks: list[WindowTask], bounds: Window, deduplicator: Deduplicator) -> None:
        self.tasks = tasks
        self._bounds, self._deduplicator = bounds, deduplicator
        self._expected: dict[str, datetime] = {}  # seen by newer windows, must be in an older one

    def has_contradiction(self, task: WindowTask) -> bool:
        """Return whether a window lacks a payment that a newer one holds, or ended before payments of older ones."""
        present = task.list_ids()
        missing = [each for each, date in self._expected.items() if task.contains(date) and each not in present]
        return bool(missing) or (task.ended_early and any(older.list_ids() for older in self._list_older(task)))

    def is_waiting(self, task: WindowTask) -> bool:
        """Return whether older windows must be complete first, to prove that the list ends in this one."""
        return task.ended_early and not all(older.complete for older in self._list_older(task))

    def accept(self, task: WindowTask) -> None:
        """Expect the window's payments outside of it in older windows.

        Raises
        ------
        PaginationError
            A payment belongs to a newer window, which did not hold it.
        """
        self._expected = {each: date for each, date in self._expected.items() if not task.contains(date)}
        for page in task.pages:
            for payment_id, date in task.iterate_outside(page):
                if not is_between(date, *self._bounds) or payment_id in self._deduplicator:
                    continue
                if date >= task.window.end:
                    raise PaginationError(
                        "The service lists a payment among older ones, but not at its own date, so payments may be "
                        "missing, and nothing is returned: try again later."
                    )
                self._expected[payment_id] = date

    def _list_older(self, task: WindowTask) -> Sequence[WindowTask]:
        return self.tasks[self.tasks.index(task) + 1 :]
