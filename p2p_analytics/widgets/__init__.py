"""Notebook widgets: a sign-in form and an explorer of payments."""

from __future__ import annotations

from p2p_analytics.errors import ConfigurationError, how_to_install

try:
    import ipywidgets  # noqa: F401 - imported here, so that its absence is one readable error
except ModuleNotFoundError:
    raise ConfigurationError(f"Widgets need ipywidgets: {how_to_install('notebook')}.") from None

from p2p_analytics.widgets._explorer import Explorer
from p2p_analytics.widgets._form import TokenForm

__all__ = ["Explorer", "TokenForm"]
