"""Lazy frames of the archive's files in other engines. An engine is imported with its first use."""

from __future__ import annotations

import glob
import re
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.errors import ConfigurationError, how_to_install

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SPARK_ZONE: Final = "spark.sql.session.timeZone"
_SPARK_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")  # special characters in paths


def scan(paths: Sequence[str], columns: Sequence[str], engine: str) -> object:
    """Return columns of Parquet files as a lazy frame of an engine."""
    if engine not in _ENGINES:
        raise ConfigurationError(f"engine can be {', '.join(_ENGINES)}, not {engine!r}.")
    try:
        return _ENGINES[engine](list(paths), list(columns))
    except ModuleNotFoundError as error:
        instead = "pip install pyspark brings it" if engine == "spark" else how_to_install("engines")
        raise ConfigurationError(f"{error.name} is not installed: {instead}.") from None


def _polars(paths: list[str], columns: list[str]) -> object:
    import polars as pl

    return pl.scan_parquet(paths, glob=False).select(columns)


def _duckdb(paths: list[str], columns: list[str]) -> object:
    import duckdb

    # A new connection, because the zone in which it computes months is a setting of the connection.
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return connection.read_parquet([glob.escape(path) for path in paths]).select(*columns)


def _spark(paths: list[str], columns: list[str]) -> Any:  # noqa: ANN401 - pyspark need not be there
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
    return session.read.parquet(*(_SPARK_PATTERN.sub(r"\\\g<0>", path) for path in paths)).select(*columns)


_ENGINES: Final[Mapping[str, Callable[[list[str], list[str]], object]]] = {
    "polars": _polars, "duckdb": _duckdb, "spark": _spark,
}  # fmt: skip
