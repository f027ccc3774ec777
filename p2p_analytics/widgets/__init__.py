"""What one clicks in a notebook: a sign-in form and an explorer, made of ipywidgets."""

from __future__ import annotations

from p2p_analytics.errors import ConfigurationError

try:
    import ipywidgets  # noqa: F401 - asked for here, so that its absence is one sentence
except ModuleNotFoundError:
    raise ConfigurationError('Forms need ipywidgets: install it with pip install "p2p_analytics[notebook]".') from None

from p2p_analytics.widgets._explorer import Explorer
from p2p_analytics.widgets._form import TokenForm

__all__ = ["Explorer", "TokenForm"]
