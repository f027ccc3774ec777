"""The command line: ``p2p-analytics`` and its commands."""

from p2p_analytics.cli._commands import build_parser
from p2p_analytics.cli._main import main

__all__ = ["build_parser", "main"]
