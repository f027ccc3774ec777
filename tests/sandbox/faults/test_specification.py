"""Specifications of faults: scripts, rates, and invalid texts."""

from collections import Counter

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.faults.specification import Faults


@pytest.mark.parametrize(
    ("spec", "met"),
    [
        ("", ["ok", "ok"]), ("503", ["503", "ok", "ok"]),
        ("ok*3 503 reset", ["ok", "ok", "ok", "503", "reset", "ok"]),
        ("  429*2\n drip\t", ["429", "429", "drip", "ok"]), ("500*0 504", ["504", "ok"]), ("reset:1", ["reset"] * 5),
        ("html:0", ["ok"] * 5),
    ],
)  # fmt: skip
def test_which_requests_have_a_fault(spec: str, met: list[str]) -> None:
    """A script applies in order and then ends; a rate of 1 affects all requests, a rate of 0 none."""
    found = Faults(spec)
    assert [found.draw() for _ in met] == met


def test_rates_are_shares_and_repeat() -> None:
    """About the given shares of 10,000 requests have each fault, the same ones for the same seed of the town only."""
    faults = [SandboxServer(seed, faults="503:0.1, reset:.05")._request_settings.faults for seed in (5, 5, 6)]
    first, again, other = ([made.draw() for _ in range(10_000)] for made in faults)
    assert first == again != other
    counts = Counter(first)
    assert set(counts) == {"ok", "503", "reset"}
    assert abs(counts["503"] - 1_000) < 120
    assert abs(counts["reset"] - 500) < 90


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("503:2", "add up to more than 1"), ("503:0.6,reset:0.6", "add up to more than 1"),
        ("503:0.1,503:0.2", "two rates"), ("503:x", "not a rate of a fault"), ("503:", "not a rate of a fault"),
        ("503:0.1,", "not a rate of a fault"), ("503:-0.1", "not a rate of a fault"),
        ("503:0.1 reset", "not a rate of a fault"), ("503,reset", "not a step of a fault script"),
        ("ok*x", "not a step of a fault script"),
        ("earthquake", "There is no fault 'earthquake'; there are ok, 429, 500"),
        ("earthquake:0.1", "There is no fault"), ("ok*10001", "at most 10000 steps"),
        ("ok*9999 503*2", "at most 10000 steps"),
    ],
)  # fmt: skip
def test_specifications_that_cannot_be_read(spec: str, reason: str) -> None:
    """The error is one sentence, at the start and at runtime, and the previous faults stay."""
    server = SandboxServer(faults="503 reset")
    for attempt in (lambda: SandboxServer(faults=spec), lambda: setattr(server, "faults", spec)):
        with pytest.raises(SettingError, match=reason) as caught:
            attempt()
        assert str(caught.value).endswith(".")
        assert "\n" not in str(caught.value)
    assert server.faults == "503 reset"
    assert server._request_settings.faults.to_come == ["503", "reset"]
