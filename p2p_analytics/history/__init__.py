"""Histories: loading one, loading what changed since, and the summary card a notebook shows."""

from p2p_analytics.history._incremental import Known, Stretch, load_changes
from p2p_analytics.history._load import History, load_history, require_history, shown

__all__ = ["History", "Known", "Stretch", "load_changes", "load_history", "require_history", "shown"]
