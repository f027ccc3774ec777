"""Themes: the background of plots, and colours of text and lines that are legible on it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Final, Literal

from matplotlib import rcParams

from p2p_analytics.errors import ConfigurationError
from p2p_analytics.plots._parts import colours

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

# Background, and the colour of text and lines. Bars and lines of data keep their colours in every theme.
_THEMES: Final = {"light": ("white", "black"), "dark": ("#111111", "#EEEEEE"), "any": ("none", colours.QUIET)}
_BACKGROUNDS: Final = ("figure.facecolor", "axes.facecolor")
_INKS: Final = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")


def theme(background: Literal["any", "light", "dark"] = "any") -> AbstractContextManager[object]:
    """Set the background and the colour of text for all later plots, or inside a ``with`` block only.

    It changes `matplotlib.rcParams`, so plots of other packages follow too. Reports have a fixed look.

    Parameters
    ----------
    background : {"any", "light", "dark"}
        ``any`` is transparent, with grey text that is legible on white and on black pages; ``light`` is black text on
        white, the default of matplotlib; ``dark`` is light text on nearly black.

    Returns
    -------
    context manager
        Restores the settings of before at the end of its block; without a block they stay.

    Raises
    ------
    ConfigurationError
        The theme does not exist.

    Examples
    --------
    >>> import p2p_analytics as p2p
    >>> import matplotlib
    >>> with p2p.plots.theme("dark"):
    ...     matplotlib.rcParams["figure.facecolor"]
    '#111111'
    """
    if background not in _THEMES:
        raise ConfigurationError(
            f"background={background!r} is not valid: give one of {', '.join(map(repr, _THEMES))}."
        )
    paper, ink = _THEMES[background]
    look: dict[Any, str] = {**dict.fromkeys(_BACKGROUNDS, paper), **dict.fromkeys(_INKS, ink)}
    restore = ExitStack()
    restore.callback(rcParams.update, {key: rcParams[key] for key in look})
    rcParams.update(look)
    return restore
