"""Examples in the docstrings of the analyses run and print what they show."""

from __future__ import annotations

import doctest

import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES


@pytest.mark.parametrize("name", [*ANALYSES, "categorise"])
def test_the_example_runs(name: str) -> None:
    """Each public analysis has an example on a tiny frame, which begins with the imports."""
    function = getattr(p2p, name)
    (test,) = doctest.DocTestFinder(recurse=False).find(function, name, globs={})
    assert [example.source for example in test.examples[:2]] == [
        "import pandas as pd\n",
        "import p2p_analytics as p2p\n",
    ]
    results = doctest.DocTestRunner(verbose=False).run(test)
    assert (results.failed, results.attempted) == (0, len(test.examples))
