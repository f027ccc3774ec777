"""The command line: ``p2p-analytics`` and its commands."""

from p2p_analytics.cli._main import main

__all__ = ["main"]
