"""Histories: loading one, loading what changed since, uniting several, and the summary card of a notebook."""

from p2p_analytics.history._combine import combine, merge_problems
from p2p_analytics.history._history import History, describe_history_call, require_history
from p2p_analytics.history._household import household
from p2p_analytics.history._incremental import Baseline, MissingPeriod, load_changes
from p2p_analytics.history._load import load_history, show_progress

__all__ = [
    "Baseline",
    "History",
    "MissingPeriod",
    "combine",
    "describe_history_call",
    "household",
    "load_changes",
    "load_history",
    "merge_problems",
    "require_history",
    "show_progress",
]
