"""Analyses of payments: each takes a PAYMENTS frame and returns a small table of the same kind of frame.

They are pure functions: they change no input, read no clock and draw nothing. They accept pandas and
Polars frames, including lazy ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.analyses._parts.category_rules import default_rules as default_rules
from p2p_analytics.analyses.bills import *
from p2p_analytics.analyses.category import *
from p2p_analytics.analyses.flow import *
from p2p_analytics.analyses.hours import *
from p2p_analytics.analyses.outliers import *
from p2p_analytics.analyses.pending import *
from p2p_analytics.analyses.people import *
from p2p_analytics.analyses.requests import *
from p2p_analytics.analyses.series import *
from p2p_analytics.analyses.spend import *
from p2p_analytics.analyses.spending import *
from p2p_analytics.analyses.status import *
from p2p_analytics.analyses.visibility import *
from p2p_analytics.catalogue import ANALYSES

if not TYPE_CHECKING:  # type checkers take every imported name
    __all__ = sorted(["categorise", "default_rules", *ANALYSES])  # noqa: PLE0605 - a list all the same
