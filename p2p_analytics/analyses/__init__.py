"""Analyses of payments: each takes a PAYMENTS frame and returns a small table of the same kind of frame.

They are pure functions: they change no input, read no clock and draw nothing. They accept pandas and
Polars frames, including lazy ones.
"""

from __future__ import annotations

from p2p_analytics.analyses.flow import monthly_flow
from p2p_analytics.analyses.pending import pending_ageing, pending_requests
from p2p_analytics.analyses.spend import spend_by_friend
from p2p_analytics.analyses.status import status_mix

__all__ = ["monthly_flow", "pending_ageing", "pending_requests", "spend_by_friend", "status_mix"]
