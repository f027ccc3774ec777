"""Random numbers that are functions of a seed, a name and a number, so that any of them can be drawn by itself."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np

Array = np.ndarray[Any, Any]

# Constants of splitmix64.
_STEP: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB


def draw(seed: int, name: str, numbers: Array) -> Array:
    """Return a random 64-bit whole number for each number; other names give independent ones."""
    start = int.from_bytes(hashlib.sha256(f"{seed} {name}".encode()).digest()[:8], "little")
    mixed = numbers.astype("uint64") * np.uint64(_STEP)
    mixed += np.uint64(start)
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(_FIRST)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(_SECOND)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def draw_unit(seed: int, name: str, numbers: Array) -> Array:
    """Return a random number from 0 to below 1 for each number."""
    return to_unit(draw(seed, name, numbers))


def to_unit(drawn: Array) -> Array:
    """Return 64-bit random numbers as numbers from 0 to below 1."""
    unit: Array = (drawn >> np.uint64(11)) * 2.0**-53
    return unit


def take_bits(drawn: Array, first: int, count: int) -> Array:
    """Return some of the bits of 64-bit random numbers as a whole number."""
    bits: Array = ((drawn >> np.uint64(first)) & np.uint64((1 << count) - 1)).astype("int64")
    return bits
