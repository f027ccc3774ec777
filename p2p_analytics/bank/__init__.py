"""Pairs of a statement's transfers and the rows of a bank account."""

from p2p_analytics.bank._match import BANK_MATCHES, match_bank

__all__ = ["BANK_MATCHES", "match_bank"]
