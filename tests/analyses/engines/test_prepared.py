"""A pandas frame that is prepared for several analyses: each column is read once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pandas as pd
import pytest

from p2p_analytics.analyses import categorise, monthly_flow, spend_by_friend, status_mix, unusual
from p2p_analytics.analyses._engine import _columns
from p2p_analytics.analyses.build import prepare
from p2p_analytics.errors import SchemaError
from support.analyses.containers import LAYOUTS, to_pandas
from support.analyses.records import make_town

ANALYSES = (monthly_flow, spend_by_friend, status_mix, unusual)


def make_frame() -> pd.DataFrame:
    """Return a town in chunks of one, two, three ... rows."""
    return to_pandas(LAYOUTS["chunks"](make_town(1)))


def test_each_column_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four analyses read each of their columns once between them."""
    names = []
    read = _columns.read_column

    def note_name(series: Any, name: str, *args: Any, **options: Any) -> Any:
        names.append(name)
        return read(series, name, *args, **options)

    monkeypatch.setattr(_columns, "read_column", note_name)
    frame = prepare(make_frame())
    for analysis in ANALYSES:
        analysis(frame)
    assert len(names) == len({*names})
    assert {"status", "direction", "flow_cents", "amount_cents", "note"} <= {*names}


def test_threads_share_it() -> None:
    """Tables that several threads build at once are those of the frame."""
    frame = make_frame()
    prepared = prepare(frame)
    expected = [analysis(frame) for analysis in ANALYSES]
    with ThreadPoolExecutor(4) as pool:
        for found, table in zip(pool.map(lambda analysis: analysis(prepared), ANALYSES * 3), expected * 3, strict=True):
            pd.testing.assert_frame_equal(found, table)


def test_categories_are_added() -> None:
    """As for the frame itself, with its index."""
    frame = make_frame().iloc[::-1]
    pd.testing.assert_series_equal(categorise(prepare(frame)), categorise(frame))


def test_errors_name_the_analysis() -> None:
    """A column that cannot be read is refused by each analysis in its own words, again and again."""
    frame = prepare(make_frame().assign(status=1.5))
    for analysis in (*ANALYSES, *ANALYSES):
        with pytest.raises(SchemaError, match=f"^{analysis.__name__} needs text in the column status, not float64; "):
            analysis(frame)


def test_an_index_is_named() -> None:
    """The advice for a column that is the index is that for the frame."""
    with pytest.raises(SchemaError, match=r"frame\.reset_index\(\), because the index has them"):
        unusual(prepare(make_frame().set_index("payment_id")))
