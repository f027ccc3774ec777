"""The commands for statement files: ``import``, ``undo`` and ``people``."""

from __future__ import annotations

from p2p_analytics.cli.statements import _import, _people

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``import``, ``undo`` and ``people`` to a command line."""
    _import.add_commands(add_parser)
    _people.add_commands(add_parser)
