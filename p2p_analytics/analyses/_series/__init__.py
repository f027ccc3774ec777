"""Series among payments: chains of payments of one person that are one period apart."""

from typing import Final

FEWEST: Final = 3  # payments of a series
