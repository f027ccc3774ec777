"""Pairs of a statement's transfers and the rows of a bank account."""

from __future__ import annotations

from p2p_analytics.statements.bank._bank_file import is_bank_header
from p2p_analytics.statements.bank._match import BANK_MATCHES, match_bank

__all__ = ["BANK_MATCHES", "is_bank_header", "match_bank"]
