"""The commands for statement files: ``import``, ``describe``, ``undo`` and ``people``."""

from __future__ import annotations

from p2p_analytics.cli.statements import _describe, _import, _people, _undo

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``import``, ``describe``, ``undo`` and ``people`` to a command line."""
    for module in (_import, _describe, _undo, _people):
        module.add_commands(add_parser)
