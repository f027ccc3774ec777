"""Lazy frames of the archive's files in other engines. An engine is imported with its first use."""

from __future__ import annotations

import contextlib
import glob
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.errors import ConfigurationError, how_to_install
from p2p_analytics.frames.arrow import MICROSECONDS
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import polars as pl

    from p2p_analytics.records import User

_SPARK_ZONE: Final = "spark.sql.session.timeZone"
_SPARK_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")  # special characters in paths


def scan(paths: Sequence[str], engine: str) -> object:
    """Return the payments in Parquet files as a lazy frame of an engine."""
    with _require_engine(engine):
        return _ENGINES[engine]().read(list(paths), [*PAYMENTS, *MICROSECONDS])


def scan_merged(listed: Sequence[str], stated: str, persons: pl.DataFrame | None, owner: User, engine: str) -> object:
    """Return the payments in Parquet files of the service and of statements as a lazy frame of an engine.

    Parameters
    ----------
    listed : sequence of str
        The files of payments.
    stated : str
        The file of statements.
    persons, owner
        As in `concat_rows`.
    """
    with _require_engine(engine):
        import narwhals.stable.v2 as nw

        from p2p_analytics.archive._lazy_merge import merge_lazily

        opened = _ENGINES[engine]()
        rows = (
            nw.from_native(opened.read(list(listed), [*PAYMENTS, *MICROSECONDS])),
            nw.from_native(opened.read([stated], [*PAYMENTS, *STATEMENT, *MICROSECONDS])),
        )
        people = None if persons is None else nw.from_native(opened.load(persons))
        return merge_lazily(*rows, people, owner).to_native()


class _Engine(NamedTuple):
    """Functions of an engine: one reads columns of Parquet files, one takes a table in memory."""

    read: Callable[[list[str], list[str]], Any]
    load: Callable[[pl.DataFrame], Any]


@contextlib.contextmanager
def _require_engine(engine: str) -> Iterator[None]:
    """Raise a ConfigurationError for an engine that is unknown or not installed."""
    if engine not in _ENGINES:
        raise ConfigurationError(f"engine can be {', '.join(_ENGINES)}, not {engine!r}.")
    try:
        yield
    except ModuleNotFoundError as error:
        instead = "pip install pyspark brings it" if engine == "spark" else how_to_install("engines")
        raise ConfigurationError(f"{error.name} is not installed: {instead}.") from None


def _open_polars() -> _Engine:
    import polars as pl

    return _Engine(
        lambda paths, columns: pl.scan_parquet(paths, glob=False).select(columns), lambda table: table.lazy()
    )


def _open_duckdb() -> _Engine:
    import duckdb

    # A new connection, because the zone in which it computes months is a setting of the connection.
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return _Engine(
        lambda paths, columns: connection.read_parquet([glob.escape(path) for path in paths]).select(*columns),
        lambda table: connection.from_arrow(table.to_arrow()),
    )


def _open_spark() -> _Engine:
    session = _find_spark()
    return _Engine(
        lambda paths, columns: session.read.parquet(*(_SPARK_PATTERN.sub(r"\\\g<0>", path) for path in paths)).select(
            *columns
        ),
        lambda table: session.createDataFrame(table.to_arrow()),
    )


def _find_spark() -> Any:  # noqa: ANN401 - pyspark need not be there
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        builder = SparkSession.builder.master("local[*]").appName("p2p_analytics").config(_SPARK_ZONE, "UTC")
        # Other machines must not reach the driver.
        for setting in ("spark.driver.host", "spark.driver.bindAddress"):
            builder = builder.config(setting, "127.0.0.1")
        session = builder.config("spark.ui.enabled", "false").getOrCreate()
    if session.conf.get(_SPARK_ZONE) not in {"UTC", "Etc/UTC"}:
        raise ConfigurationError(
            f'The Spark session is in another zone, which changes months: spark.conf.set("{_SPARK_ZONE}", "UTC").'
        )
    return session


_ENGINES: Final[Mapping[str, Callable[[], _Engine]]] = {
    "polars": _open_polars, "duckdb": _open_duckdb, "spark": _open_spark,
}  # fmt: skip
