"""Privacy mode: pseudonyms for people, and a mask over names, notes, amounts and dates."""

from p2p_analytics.privacy._mask import Mask, hushed

__all__ = ["Mask", "hushed"]
