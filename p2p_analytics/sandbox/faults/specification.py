"""Fault specifications: the names of the faults, and the choice of one for each request.

A specification is either rates or a script. A rate of ``503:0.1,reset:0.05`` is the share of requests with this
fault, drawn at random from a seed. A script, ``ok*3 503 reset``, lists the faults of the next requests in order;
requests after its end are served as usual.
"""

from __future__ import annotations

import itertools
import random
import re
from enum import StrEnum
from typing import Final

from p2p_analytics.sandbox.errors import SettingError

LONGEST_SCRIPT: Final = 10_000
_STEP: Final = re.compile(r"([\w-]+)(?:\*(\d{1,6}))?", re.ASCII)
_RATE: Final = re.compile(r"([\w-]+):(\d?\.?\d{1,17})", re.ASCII)


class Kind(StrEnum):
    """Faults by their names in a specification."""

    OK = "ok"
    RATE_LIMITED = "429"
    FAILED = "500"
    BAD_GATEWAY = "502"
    UNAVAILABLE = "503"
    GATEWAY_TIMEOUT = "504"
    RESET = "reset"
    HTML = "html"
    LOST = "lost"
    CUT = "cut"
    CUT_RESET = "cut-reset"
    DRIP = "drip"
    GARBAGE = "garbage"
    EMPTY = "empty"
    NEXT_HOST = "next-host"
    NEXT_USER = "next-user"
    NEXT_SLASHES = "next-slashes"
    NEXT_PATH = "next-path"
    NEXT_REPEATS = "next-repeats"
    EMPTY_PAGE = "empty-page"
    NO_NEXT = "no-next"
    BOUND_ZONE = "bound-zone"
    BOUND_DAY = "bound-day"


class Faults:
    """Faults of the next requests, as a specification defines them.

    Parameters
    ----------
    spec : str
        Rates or a script; empty for no faults.
    seed : int
        The same seed, rates and order of requests produce the same faults.

    Raises
    ------
    SettingError
        The specification cannot be read.
    """

    def __init__(self, spec: str = "", seed: int = 0) -> None:
        self.spec = spec.strip()
        self._rng = random.Random(seed)  # noqa: S311 - repeatable, not a secret
        self._rates = _parse_rates(self.spec) if ":" in self.spec else []
        self._script = [] if self._rates else _parse_script(self.spec)[::-1]  # the next step is the last

    def draw(self) -> Kind:
        """Return the fault of the next request."""
        if not self._rates:
            return self._script.pop() if self._script else Kind.OK
        drawn = self._rng.random()
        ends = itertools.accumulate(share for _, share in self._rates)
        return next((kind for (kind, _), end in zip(self._rates, ends, strict=True) if drawn < end), Kind.OK)

    @property
    def to_come(self) -> list[str]:
        """Remaining steps of a script."""
        return [kind.value for kind in self._script[::-1]]


def _parse_script(spec: str) -> list[Kind]:
    steps: list[Kind] = []
    for word in spec.split():
        match = _STEP.fullmatch(word)
        if match is None:
            raise SettingError(
                f"{word[:20]!r} is not a step of a fault script: write names separated by spaces, as in ok*3 503 reset."
            )
        steps += [_parse_kind(match[1])] * min(int(match[2] or 1), LONGEST_SCRIPT + 1)
        if len(steps) > LONGEST_SCRIPT:
            raise SettingError(f"A fault script has at most {LONGEST_SCRIPT} steps; use rates such as 503:0.1 instead.")
    return steps


def _parse_rates(spec: str) -> list[tuple[Kind, float]]:
    rates: dict[Kind, float] = {}
    for part in spec.split(","):
        match = _RATE.fullmatch(part.strip())
        if match is None:
            raise SettingError(f"{part.strip()[:20]!r} is not a rate of a fault: write rates as in 503:0.1,reset:0.05.")
        kind = _parse_kind(match[1])
        if kind in rates:
            raise SettingError(f"The fault {kind} has two rates; give it one.")
        rates[kind] = float(match[2])
    if sum(rates.values()) > 1 + 1e-9:
        raise SettingError("The rates of the faults add up to more than 1.")
    return list(rates.items())


def _parse_kind(name: str) -> Kind:
    try:
        return Kind(name)
    except ValueError:
        raise SettingError(f"There is no fault {name[:20]!r}; there are {', '.join(Kind)}.") from None
