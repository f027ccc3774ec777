"""Columns, dtypes and values of the frames: the same by every way into memory, whatever the data."""

import pickle
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import p2p_analytics as p2p
from p2p_analytics.frames import schema
from p2p_analytics.history import History
from support.scripted import ScriptedService

TABLES: Mapping[str, Mapping[str, str]] = {
    "payments": schema.PAYMENTS, "people": schema.PEOPLE, "friends": schema.FRIENDS, "problems": schema.PROBLEMS,
}  # fmt: skip
BO = {
    "id": "8", "username": "bo", "display_name": "Bo 🐢", "first_name": "Bo", "last_name": "Lund", "about": "=1+1",
    "profile_picture_url": None, "date_joined": "2013-02-10T21:58:05", "is_friend": True, "friends_count": 3,
}  # fmt: skip
ADA = BO | {"id": "7", "username": "ada", "display_name": "Ada", "email": "ada@mail.example", "phone": "15550000007"}
FULL = {
    "id": "2", "status": "settled", "action": "pay", "amount": 20.5, "note": "\"'a\r\nb,", "medium": "ios",
    "audience": "private", "date_created": "2024-05-02T12:00:00.000007", "date_completed": "2024-05-03T12:00:00",
    "actor": ADA, "target": {"type": "user", "user": BO}, "fee": 0.25, "refund": {"id": "9", "amount": 1},
}  # fmt: skip
BARE = {"id": "1", "status": None, "action": None, "amount": None, "date_created": None, "actor": None, "target": None}
ODD = FULL | {"id": "3", "status": "held", "amount": 0.123, "date_completed": "2024-13-01T00:00:00"}
CONTENTS: Mapping[str, tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]] = {
    "empty": ({"id": "7"}, [], []),
    "full, null and odd": (ADA, [ODD, FULL | {"note": ""}, BARE], [BO, {"id": "9"}]),
}


@pytest.fixture(scope="module", params=[*CONTENTS, pytest.param("town", marks=pytest.mark.full)])
def load(request: pytest.FixtureRequest) -> Iterator[Callable[..., History]]:
    """Give a function that loads a history of one content of the service."""
    if request.param == "town":
        with p2p.sandbox.SandboxServer(seed=11, people=6, years=1) as server:
            client = p2p.Client(server.token(server.viewer), base_url=server.base_url, cache_dir=False)
            yield lambda **options: p2p.load_history(client, **options)
        return
    me, payments, friends = CONTENTS[request.param]
    answers = {
        "/v1/me": {"data": {"balance": 10, "user": me}},
        "/v1/payments": {"data": payments, "pagination": None},
        "/v1/users/7/friends": {"data": friends, "pagination": None},
    }
    service = ScriptedService(lambda path, _sent: answers[path])
    client = p2p.Client("token", base_url=service.base_url, cache_dir=False)
    yield lambda **options: p2p.load_history(client, on_bad_record="report", **options)
    service.close()


def tables_of(history: History) -> dict[str, pd.DataFrame]:
    """Return the four frames of a history."""
    return {name: getattr(history, name) for name in TABLES}


def write_and_read(history: History, folder: Path) -> dict[str, dict[str, pd.DataFrame]]:
    """Return the frames of a history after a way through each kind of file, among them Parquet files of pandas."""
    found: dict[str, dict[str, pd.DataFrame]] = {"csv": {}, "parquet": {}, "pandas' parquet": {}}
    for name, frame in tables_of(history).items():
        p2p.to_csv(frame, folder / "f.csv")
        p2p.to_parquet(frame, folder / "f.parquet")
        frame.to_parquet(folder / "pandas.parquet")
        found["csv"][name] = p2p.read_csv(folder / "f.csv")
        found["parquet"][name] = p2p.read_parquet(folder / "f.parquet")
        found["pandas' parquet"][name] = p2p.read_parquet(folder / "pandas.parquet")
    return found


def check_form(frame: pd.DataFrame, columns: Mapping[str, str]) -> None:
    """Check columns, dtypes, storage and index of a frame, and that each of its columns can be changed."""
    assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(columns)
    assert list(frame.columns) == list(columns)
    assert {dtype.storage for dtype in frame.dtypes if dtype == schema.TEXT} == {"pyarrow"}
    assert isinstance(frame.index, pd.RangeIndex)
    assert (frame.index.start, frame.index.step, frame.index.name) == (0, 1, None)
    assert not frame.attrs
    instant = pd.Timestamp("2030-01-01T00:00:00Z")
    changed = {schema.TEXT: "new", schema.WHOLE: 5, schema.FLAG: True, schema.INSTANT: instant}
    if len(frame):
        for name, dtype in columns.items():
            frame.loc[0, name] = changed[dtype]
            assert frame.loc[0, name] == changed[dtype]
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(columns)


def test_every_way_gives_the_same_frames(load, tmp_path) -> None:
    """Files, archive, `combine` and pickle: the same columns, dtypes and values, and each cell can be edited."""
    history = load(privacy=False)
    expected = pickle.loads(pickle.dumps(tables_of(history)))  # noqa: S301 - the test's own bytes
    archive = p2p.open_archive(tmp_path / "archive")
    archive.merge(history)
    nothing = replace(history, payments=history.payments.iloc[:0], problems=history.problems.iloc[:0])
    ways = write_and_read(history, tmp_path) | {
        "archive": tables_of(archive.history(privacy=False)),
        "combine": tables_of(p2p.combine([history, history])),
        "combine with nothing": tables_of(p2p.combine([nothing, history])),
        "combine frames": {"payments": p2p.combine([history.payments, history.payments.iloc[:0]])},
        "pickle": tables_of(pickle.loads(pickle.dumps(history))),  # noqa: S301 - the test's own bytes
        "load": tables_of(history),
    }
    masked = history.masked(key=bytes(32), strict=True)
    private = {
        "private load": tables_of(load(privacy=True)),
        "private archive": tables_of(archive.history(privacy="strict")),
        "mask": tables_of(masked),
        "combine masked": tables_of(p2p.combine([masked] * 2)),
    }
    for way, tables in (ways | private).items():
        for name, frame in tables.items():
            if way in ways:
                found, wanted = frame, expected[name]
                if name == "problems" and way.startswith("combine"):  # which fixes no order
                    found, wanted = (each.sort_values([*each], ignore_index=True) for each in (found, wanted))
                assert_frame_equal(found, wanted, check_exact=True, obj=f"{name} by {way}")
            assert len(frame) == len(expected[name])
            check_form(frame, TABLES[name])


def test_tables_of_analyses_and_units_come_back_without_rows(load, tmp_path) -> None:
    """A table without rows, or with columns of nulls, comes back from a file with the dtypes of a full one."""
    payments = load(privacy=False).payments
    now = "2026-01-01T00:00:00Z"
    tables = [analyse(payments) for analyse in (p2p.spend_by_friend, p2p.status_mix, p2p.monthly_flow, p2p.units)]
    for table in (*tables, p2p.pending_ageing(payments, as_of=now), p2p.pending_requests(payments, as_of=now)):
        expected = {name: "Int64" if dtype == "int64" else str(dtype) for name, dtype in table.dtypes.items()}
        for part in (table, table.iloc[:0]):
            p2p.to_csv(part, tmp_path / "t.csv")
            p2p.to_parquet(part, tmp_path / "t.parquet")
            for found in (p2p.read_csv(tmp_path / "t.csv"), p2p.read_parquet(tmp_path / "t.parquet")):
                assert {name: str(dtype) for name, dtype in found.dtypes.items()} == expected
                assert len(found) == len(part)
