"""The commands that show the payments of an archive: ``export``, ``report`` and ``reminders``."""

from __future__ import annotations

from p2p_analytics.cli.views import _export, _reminders, _report

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``export``, ``report`` and ``reminders`` to a command line."""
    _export.add_commands(add_parser)
    _report.add_commands(add_parser)
    _reminders.add_commands(add_parser)
