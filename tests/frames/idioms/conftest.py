"""One history of the sandbox's town, as frames and as plain rows of its raw JSON."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import pytest

import p2p_analytics as p2p
from support.raw.payments import list_payments, to_row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pandas as pd

    from p2p_analytics.history import History

mpl.use("agg")


@pytest.fixture(scope="session")
def town_payments() -> tuple[History, list[dict[str, Any]]]:
    """Load one viewer's history twice: as frames, and as plain rows, newest first."""
    with p2p.sandbox.SandboxServer(seed=7, people=12, years=2) as server:
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            history = p2p.load_history(client, privacy=False, progress=False)
        viewer = str(history.me.user.id)
        rows = [to_row(viewer, item) for item in list_payments(server.base_url, token)]
    rows.sort(key=lambda row: (row["date_created"], int(row["payment_id"])), reverse=True)
    assert len(rows) > 200
    return history, rows


@pytest.fixture(scope="session")
def history(town_payments) -> History:
    """Return the history as loaded."""
    return town_payments[0]


@pytest.fixture(scope="session")
def frames(history: History, tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[pd.DataFrame, pd.DataFrame]]:
    """Return PAYMENTS and PEOPLE of the history by the way they came into memory."""
    folder: Path = tmp_path_factory.mktemp("idioms")
    tables = (history.payments, history.people)
    found = {"load_history": tables}
    for write, read in ((p2p.to_csv, p2p.read_csv), (p2p.to_parquet, p2p.read_parquet)):
        for name, table in zip("ab", tables, strict=True):
            write(table, folder / name)
        found[read.__name__] = (read(folder / "a", privacy=False), read(folder / "b", privacy=False))
    archive = p2p.open_archive(folder / "archive")
    archive.merge(history)
    archived = archive.history(privacy=False)
    found["archive"] = archived.payments, archived.people
    halves = [replace(history, payments=part) for part in (history.payments.iloc[:150], history.payments.iloc[100:])]
    united = p2p.combine(halves)
    return found | {"combine": (united.payments, united.people)}


@pytest.fixture(params=["load_history", "read_csv"])
def source(request: pytest.FixtureRequest) -> str:
    """Return the way the frames of a test came into memory; test_tables.py runs for every way.

    All ways give the same dtypes and values: tests/frames/test_dtypes.py compares them.
    """
    return request.param


@pytest.fixture
def payments(frames, source: str) -> pd.DataFrame:
    """Return PAYMENTS; the test may change it."""
    return frames[source][0].copy()


@pytest.fixture
def people(frames, source: str) -> pd.DataFrame:
    """Return PEOPLE; the test may change it."""
    return frames[source][1].copy()


@pytest.fixture
def rows(town_payments) -> list[dict[str, Any]]:
    """Return the payments as plain rows, counted and compared without a frame."""
    return [dict(row) for row in town_payments[1]]


@pytest.fixture
def settled_rows(rows) -> list[dict[str, Any]]:
    """Return the settled rows."""
    return [row for row in rows if row["status"] == "settled"]


@pytest.fixture
def _figures() -> Iterator[None]:
    """Close the figures of earlier tests, which pyplot would draw into, and those of the test."""
    from matplotlib import pyplot as plt

    plt.close("all")
    yield
    plt.close("all")
