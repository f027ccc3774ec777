"""Analyses: a PAYMENTS frame in, a small table of the same kind of frame out.

They are pure functions: no input is changed, no clock is read, nothing is drawn. They work on
pandas and Polars frames alike, lazy ones too.
"""

from __future__ import annotations

from p2p_analytics.analyses.flow import monthly_flow
from p2p_analytics.analyses.pending import pending_ageing, pending_requests
from p2p_analytics.analyses.spend import spend_by_friend
from p2p_analytics.analyses.status import status_mix

__all__ = ["monthly_flow", "pending_ageing", "pending_requests", "spend_by_friend", "status_mix"]
