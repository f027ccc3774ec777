"""Output that commands share: a summary as text or JSON, tables, questions, and progress on standard error."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Final, Literal

import pandas as pd

from p2p_analytics import display
from p2p_analytics.display import clean_line
from p2p_analytics.history import History
from p2p_analytics.progress import loading_bar
from p2p_analytics.settings import STRICT, Privacy

_STEPS_PER_LINE: Final = 20
MOST_LINES: Final = 20  # of a list in a summary
WIDEST: Final = 40  # characters of a cell in a table


def print_summary(options: argparse.Namespace, text: str, **values: object) -> None:
    """Print the summary of a command: the text, or with ``--json`` the values as one line of JSON."""
    if options.json:
        text = json.dumps(values)
    sys.stdout.write(f"{text}\n")


def privacy_mode(history: History) -> Privacy:
    """Return the privacy mode of a history, as ``--json`` prints it."""
    return STRICT if history.strict else history.private


def describe_privacy(history: History) -> str:
    """Return a line break and a line about the history's privacy mode; empty without one."""
    return f"\n{display.STRICT if history.strict else display.PRIVATE}." if history.private else ""


def list_records(frame: pd.DataFrame) -> list[dict[Hashable, Any]]:
    """Return the rows of a frame with None for null."""
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def align_rows(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with columns of equal width; only the last cell of a row may be long."""
    cells = [[clean_line(cell) for cell in row] for row in rows]
    for row in cells:
        row[:-1] = [cell if len(cell) <= WIDEST else f"{cell[: WIDEST - 1]}…" for cell in row[:-1]]
    widths = [max(map(len, column)) for column in list(zip(*cells, strict=True))[:-1]]
    return ["  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in cells]


def end_list(lines: Sequence[str], count: int) -> list[str]:
    """Return the first lines of a list, and a line with the number of the others if there are any."""
    rest = count - len(lines)
    return [*lines, f"... and {rest:,} more"] if rest > 0 else [*lines]


def is_terminal() -> bool:
    """Return whether a person can answer a question."""
    return sys.stdin is not None and sys.stdin.isatty()


def ask(question: str) -> str:
    """Return the line that the user enters; the question goes to standard error, which no script reads as data."""
    sys.stderr.write(question)
    sys.stderr.flush()
    return sys.stdin.readline()


class Progress:
    """Progress of one command on standard error, in the way that ``--progress`` chooses."""

    def __init__(self, way: str) -> None:
        self._way = way
        self._steps = 0

    def log(self, line: str) -> None:
        """Write a line about the next step of the command, if progress is logged."""
        if self._way == "log":
            self.note(line)

    def note(self, line: str) -> None:
        """Write a line that the user should see before the next step, unless progress is switched off."""
        if self._way != "none":
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    @property
    def callback(self) -> Callable[[int], object] | Literal[False] | None:
        """The argument ``progress`` of a load."""
        ways: dict[str, Callable[[int], object] | Literal[False]] = {"log": self._count, "none": False}
        return ways.get(self._way)

    @property
    def on_files(self) -> Callable[[int, int], object] | None:
        """The argument ``on_progress`` of a reading of files."""

        def count(files: int, of: int) -> None:
            if files % _STEPS_PER_LINE == 0:
                self.log(f"{files:,} of {of:,} files read")

        return None if self._way == "bar" else count

    @contextlib.contextmanager
    def count_parts(self, unit: str, of: int) -> Iterator[Callable[[int], object]]:
        """Give a function that shows how many parts of the work are finished."""
        if self._way == "bar":
            with loading_bar(unit=unit) as show:
                yield lambda finished: show(finished, of)
        else:
            yield (lambda finished: None if finished % _STEPS_PER_LINE else self.log(f"{finished:,} of {of:,} {unit}"))

    def _count(self, payments: int) -> None:
        self._steps += 1
        if self._steps % _STEPS_PER_LINE == 0:
            self.log(f"{payments:,} payments loaded")
