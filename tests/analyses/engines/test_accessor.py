"""Tests of the accessor ``p2p`` of pandas and Polars frames."""

import inspect
import subprocess
import sys

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES

ROWS = [
    {"direction": "out", "flow_cents": -1000, "counterparty_id": "1", "note": "rent", "created": "2024-05-01T00:00:00Z"}
]


def test_an_analysis_of_each_kind_of_frame(build):
    """The method gives the table of the function, with its arguments, of the same kind."""
    frame = build(ROWS)
    pd.testing.assert_frame_equal(frame.p2p.monthly_flow("Asia/Kathmandu"), p2p.monthly_flow(frame, "Asia/Kathmandu"))
    polars = pl.from_pandas(frame)
    assert polars.p2p.status_mix().equals(p2p.status_mix(polars))
    lazy = polars.lazy().p2p.status_mix(by="direction")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect()["direction"].to_list() == ["out"]


def test_every_analysis_is_a_method():
    """Completion lists them; each has the documentation and the arguments of its function."""
    methods = dir(pd.DataFrame().p2p)
    assert methods == sorted([*ANALYSES, "categorise"])
    for name in methods:
        method, function = getattr(pd.DataFrame().p2p, name), getattr(p2p, name)
        assert method.__doc__ == function.__doc__
        assert list(inspect.signature(method).parameters) == list(inspect.signature(function).parameters)[1:]


@pytest.mark.parametrize("name", ["spend_by_freind", "default_rules", "__version__", "open_frame"])
def test_other_names_are_refused(name):
    """An unknown name is an AttributeError, so that hasattr and copy work."""
    with pytest.raises(AttributeError, match=f"There is no analysis '{name}'"):
        getattr(pd.DataFrame().p2p, name)


IMPORTED_LATER = """
import importlib.util, sys
import p2p_analytics
assert not {"pandas", "polars", "numpy", "narwhals"} & {*sys.modules}
assert importlib.util.find_spec("pandas").loader.__class__.__name__ == "SourceFileLoader"  # looked for, not imported
finders = len(sys.meta_path)
sys.modules["numpy"] = None
try:
    import pandas
except ImportError:
    del sys.modules["numpy"]
import pandas as pd
assert isinstance(pd.DataFrame().p2p, p2p_analytics.accessor.PaymentsAccessor)
assert "exec_module" not in vars(pd.__loader__) and pd.__loader__.get_data
assert "p2p_analytics.analyses" not in sys.modules
import polars as pl
assert isinstance(pl.LazyFrame().p2p, p2p_analytics.accessor.PaymentsAccessor)
assert len(sys.meta_path) == finders - 1
pd.DataFrame.p2p = "of another package"
p2p_analytics.accessor.register()
assert pd.DataFrame().p2p == "of another package"
del pd.DataFrame.p2p
p2p_analytics.accessor.register()
print(pd.read_csv(sys.stdin, dtype="str").p2p.categorise().tolist())
"""


def test_pandas_and_polars_imported_later():
    """Importing the package imports neither; an import that fails may be repeated; another accessor stays."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-W", "error", "-c", IMPORTED_LATER], input="note\nrent\n", check=True, capture_output=True,
        text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "['rent']\n"
