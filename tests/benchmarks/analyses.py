"""The analyses against the same tables written by hand, on each engine: CPU time, as a ratio of the same round.

A pandas frame against pandas, a Polars scan and a DuckDB view of Parquet files against lazy Polars and SQL on the same
files. Each pair is compared before it is measured, and both sizes in the same rounds: a growth of times would else be
that of the load of the machine, too. Notes that only word lists can judge, and series of payments, are finished in
Python and have no counterpart by hand: `sensitive_notes`, `exposure`, `recurring`.

``BENCH=analyses=polars,status_mix,1000000`` measures the engines, analyses and numbers of rows that it names, in more
rounds, and all of a kind of which it names none.
"""

import math
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pandas as pd
import pandas_by_hand
import polars as pl
import polars_by_hand
import spark_times
import sql_by_hand
import synthetic
from synthetic import AS_OF, ZONE

import p2p_analytics as p2p

SMALL, SIZES = 1_000, (200_000, 1_000_000, 10_000_000)
ROUNDS, ROUNDS_OF_FEW = 4, 50
MORE_ROUNDS = 3  # times those, of chosen analyses
QUICK_ROUNDS, QUICK_SECONDS = 5, 20  # times those, until they take so long: noise matters more in short times
FRIENDS = pd.DataFrame({"user_id": [str(2 * 10**18 + at) for at in range(0, synthetic.PEOPLE, 2)]})
RULES = synthetic.write_rules()
PEERS = {"pandas": "pandas by hand", "polars": "Polars by hand", "duckdb": "SQL by hand"}
WANTED, MEAN_WANTED = "1.25x or less", "0.95x or less"

# The call of each analysis, and what its counterparts take besides the payments.
CASES: dict[str, tuple[Callable[[Any], Any], tuple[Any, ...]]] = {
    "spend_by_friend": (lambda frame: p2p.spend_by_friend(frame, FRIENDS), (FRIENDS,)),
    "status_mix": (p2p.status_mix, ()),
    "monthly_flow": (lambda frame: p2p.monthly_flow(frame, ZONE), (ZONE,)),
    "pending_ageing": (lambda frame: p2p.pending_ageing(frame, AS_OF), (AS_OF,)),
    "pending_requests": (lambda frame: p2p.pending_requests(frame, AS_OF), (AS_OF,)),
    "spending_by_week": (lambda frame: p2p.spending_over_time(frame, every="week", tz=ZONE), (ZONE,)),
    "spending_by_person": (
        lambda frame: p2p.spending_over_time(frame, every="year", by="counterparty", tz=ZONE), (ZONE,),
    ),
    "request_outcomes": (p2p.request_outcomes, ()),
    "time_to_settle": (p2p.time_to_settle, ()),
    "people_by_year": (lambda frame: p2p.people_by_year(frame, tz=ZONE), (ZONE,)),
    "activity": (lambda frame: p2p.activity(frame, tz=ZONE), (ZONE,)),
    "split_bills": (lambda frame: p2p.split_bills(frame, as_of=AS_OF), (AS_OF,)),
    "unusual": (p2p.unusual, ()),
    "categories": (p2p.categories, (RULES,)),
}  # fmt: skip


class Pair(NamedTuple):
    """An analysis and its counterpart, both until the table is in memory."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]


def measure(add_row, words: str = "") -> None:
    """Add a row for each analysis, engine and size; the growth with the size; and the times of Spark."""
    engines, names, sizes = _choose(words)
    rounds = ROUNDS * (MORE_ROUNDS if words else 1)
    with tempfile.TemporaryDirectory() as folder:
        sources: list[tuple[pd.DataFrame, Path]] = []
        for number in sizes:
            files = Path(folder) / str(number)
            files.mkdir()
            sources.append((synthetic.build_payments(number), files))
            synthetic.write_parquet(*sources[-1])
        for engine in engines:
            ratios: list[list[float]] = []
            of_sizes = (pair_up(engine, names, *source) for source in sources)
            for pairs in zip(*of_sizes, strict=True):
                works = [work for pair in pairs for work in (pair.ours, pair.theirs)]
                took, walls = alternate(*works, rounds=rounds)
                ours, theirs = took[::2], took[1::2]
                found = [divide(*of_size) for of_size in zip(ours, theirs, strict=True)]
                ratios.append([statistics.median(each) for each in found])
                for at, number in enumerate(sizes):
                    wall = statistics.median(divide(walls[2 * at], walls[2 * at + 1]))
                    note = f"wall {wall:.2f}x, {1_000 * statistics.median(ours[at]):,.0f} ms"
                    add_row(f"{pairs[at].name}, {number:,}", PEERS[engine], found[at], wanted=WANTED, note=note)
                if {*SIZES[-2:]} <= {*sizes}:
                    growth, peer_growth = (statistics.median(divide(each[-1], each[-2])) for each in (ours, theirs))
                    name, note = f"{pairs[0].name}, ten times the payments", f"{PEERS[engine]} {peer_growth:.1f}x"
                    add_row(name, engine, f"{growth:.1f}x", wanted="11x or less", note=note)
            for number, column in zip(sizes, zip(*ratios, strict=True), strict=True):
                mean = math.prod(column) ** (1 / len(column))
                name = f"geometric mean of these, {number:,}"
                add_row(name, PEERS[engine], f"{mean:.2f}x", wanted=MEAN_WANTED)
        files = sources[0][1]
        del sources, of_sizes  # in which the frames are: Spark needs memory, too
        if not words:
            spark_times.measure(add_row, files)
            measure_few(add_row)


def _choose(words: str) -> tuple[list[str], list[str], list[int]]:
    """Return the engines, analyses and sizes that are named, and all of a kind without a name."""
    kinds = [*PEERS], [*CASES], [*SIZES]
    given = words.split(",") if words else []
    known = [str(each) for kind in kinds for each in kind]
    if unknown := [word for word in given if word not in known]:
        sys.exit(f"There is no {' or '.join(unknown)} to measure; there is {', '.join(known)}.")
    return tuple([each for each in kind if str(each) in given] or kind for kind in kinds)


def measure_few(add_row) -> None:
    """Add a row for each analysis of a small pandas frame: what it takes longer."""
    for pair in pair_up("pandas", CASES, synthetic.build_payments(SMALL)):
        took, _ = alternate(pair.ours, pair.theirs, rounds=ROUNDS_OF_FEW)
        above = statistics.median(ours - theirs for ours, theirs in zip(*took, strict=True))
        name, note = f"{pair.name}, {SMALL:,}, more", f"{1_000 * statistics.median(took[0]):.1f} ms in all"
        add_row(name, PEERS["pandas"], f"{1_000 * above:+.1f} ms", wanted="10 ms or less", note=note)


def alternate(*works: Callable[[], object], rounds: int) -> tuple[list[list[float]], list[list[float]]]:
    """Return the CPU times of all threads, and the wall times, of each work in alternated rounds.

    Every other round goes backwards: a work on a small frame is slower after one on a large frame, and quicker after
    its counterpart, which has just read the same file. Both ways are equally many.
    """
    cpu: list[list[float]] = [[] for _ in works]
    wall: list[list[float]] = [[] for _ in works]
    end = time.perf_counter() + QUICK_SECONDS
    for number in range(rounds * QUICK_ROUNDS):
        if number >= rounds and not number % 2 and time.perf_counter() > end:
            break
        for at, work in list(enumerate(works))[:: -1 if number % 2 else 1]:
            started, began = time.process_time(), time.perf_counter()
            work()
            cpu[at].append(time.process_time() - started)
            wall[at].append(time.perf_counter() - began)
    return cpu, wall


def divide(ours: Iterable[float], theirs: Iterable[float]) -> list[float]:
    """Return the ratios of two times of the same rounds."""
    return [each / peer for each, peer in zip(ours, theirs, strict=True)]


def pair_up(engine: str, names: Iterable[str], payments: pd.DataFrame, files: Path | None = None) -> Iterable[Pair]:
    """Yield analyses on an engine with their counterparts, after a check that both give the same table."""
    if engine == "duckdb":
        connection = duckdb.connect()
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE VIEW payments AS FROM '{files}/*.parquet'")
        connection.register("friends", FRIENDS)
    for name in names:
        call, given = CASES[name]
        if engine == "pandas":
            ours, theirs = partial(call, payments), partial(getattr(pandas_by_hand, name), payments, *given)
        elif engine == "polars":
            scan = pl.scan_parquet(f"{files}/*.parquet")
            ours = partial(_collect, call, scan)
            theirs = partial(_collect, partial(getattr(polars_by_hand, name), scan), *given)
        else:
            ours = partial(_collect, call, connection.table("payments"))
            theirs = partial(_collect, connection.sql, sql_by_hand.write_query(name, *given))
        _compare(ours(), theirs())
        yield Pair(name, ours, theirs)


def _collect(work: Callable[..., Any], *arguments: Any) -> Any:
    table = work(*arguments)
    return table.collect() if isinstance(table, pl.LazyFrame) else table.to_arrow_table()


def _compare(ours: Any, theirs: Any) -> None:
    """Refuse tables that differ in rows, order or values; dtypes and the order of columns may differ."""
    tables = [_to_pandas(table) for table in (ours, theirs)]
    options = {"check_dtype": False, "check_categorical": False, "check_like": True}
    pd.testing.assert_frame_equal(*tables, **options)


def _to_pandas(table: Any) -> pd.DataFrame:
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    changes: dict[str, str] = {}
    for name, dtype in frame.dtypes.items():
        if name in {"period", "date"} and str(dtype) != "datetime64[us, UTC]":
            changes[str(name)] = "datetime64[us]"
        elif str(dtype) == "object":
            is_text = frame[name].dropna().map(type).eq(str).all()
            changes[str(name)] = "str" if is_text else "float64"  # wide whole numbers of DuckDB
    return frame.astype(changes)
