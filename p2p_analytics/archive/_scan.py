"""Lazy frames of the archive's files in other engines. An engine is imported with its first use."""

from __future__ import annotations

import contextlib
import glob
import re
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.errors import ConfigurationError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import duckdb
    import pyarrow as pa

_SPARK_ZONE: Final = "spark.sql.session.timeZone"
_SPARK_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")  # special characters in paths


def scan(paths: Sequence[str], columns: Sequence[str], engine: str) -> object:
    """Return columns of Parquet files as a lazy frame of an engine."""
    with _require_engine(engine):
        return _ENGINES[engine][0](list(paths), list(columns))


def scan_table(table: pa.Table, engine: str) -> object:
    """Return a table in memory as a lazy frame of an engine."""
    with _require_engine(engine):
        return _ENGINES[engine][1](table)


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


def _polars(paths: list[str], columns: list[str]) -> object:
    import polars as pl

    return pl.scan_parquet(paths, glob=False).select(columns)


def _polars_table(table: pa.Table) -> object:
    import polars as pl

    frame = pl.from_arrow(table)
    return frame.lazy() if isinstance(frame, pl.DataFrame) else frame


def _connect_duckdb() -> duckdb.DuckDBPyConnection:
    import duckdb

    # A new connection, because the zone in which it computes months is a setting of the connection.
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def _duckdb(paths: list[str], columns: list[str]) -> object:
    return _connect_duckdb().read_parquet([glob.escape(path) for path in paths]).select(*columns)


def _duckdb_table(table: pa.Table) -> object:
    return _connect_duckdb().from_arrow(table)


def _spark(paths: list[str], columns: list[str]) -> Any:  # noqa: ANN401 - pyspark need not be there
    paths = [_SPARK_PATTERN.sub(r"\\\g<0>", path) for path in paths]
    return _find_spark().read.parquet(*paths).select(*columns)


def _spark_table(table: pa.Table) -> Any:  # noqa: ANN401 - pyspark need not be there
    return _find_spark().createDataFrame(table)


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


_ENGINES: Final[Mapping[str, tuple[Callable[[list[str], list[str]], object], Callable[[pa.Table], object]]]] = {
    "polars": (_polars, _polars_table), "duckdb": (_duckdb, _duckdb_table), "spark": (_spark, _spark_table),
}  # fmt: skip
