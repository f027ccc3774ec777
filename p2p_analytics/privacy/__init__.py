"""Privacy mode: pseudonyms for people, and a mask over names, notes, amounts and dates."""

from p2p_analytics.privacy._mask import NOT_SHOWN, Mask, is_masked
from p2p_analytics.privacy._pseudonyms import Pseudonyms, load_key
from p2p_analytics.privacy._service_text import strip_service_text

__all__ = ["NOT_SHOWN", "Mask", "Pseudonyms", "is_masked", "load_key", "strip_service_text"]
