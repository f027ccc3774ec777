"""The colours of plots, by what they mean."""

from __future__ import annotations

from typing import Final

# From the palettes of Okabe and Ito and of Tol, which are distinguishable with any colour vision.
IN: Final = "#0072B2"
OUT: Final = "#D55E00"
QUIET: Final = "#767676"
STATUS: Final = {
    "settled": "#009E73",
    "pending": "#E69F00",
    "failed": "#882255",
    "expired": "#999999",
    "cancelled": "#56B4E9",
}
# What became of requested amounts, lighter and lighter in greyscale.
PARTS: Final = (("collected", "#009E73"), ("still open", "#E69F00"), ("not paid", "#DDDDDD"))
OTHERS: Final = ("#332288", "#DDCC77", "#44AA99", "#AA4499", "#CC6677", "#999933")
HATCHES: Final = ("///", "...", "xxx", "---")  # from the seventh unknown status on, the colours repeat, hatched
