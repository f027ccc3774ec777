"""Engines that read the archive's files. An engine is imported with its first use."""

from __future__ import annotations

import contextlib
import glob
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.errors import ConfigurationError, describe_type, how_to_install
from p2p_analytics.forks import refuse_marked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import narwhals.stable.v2 as nw
    import polars as pl

_SPARK_ZONE: Final = "spark.sql.session.timeZone"
_SPARK_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")  # special characters in paths


class Engine(NamedTuple):
    """Functions of an engine.

    Attributes
    ----------
    read : callable
        Returns columns of Parquet files, of which each has them; nothing is read before the query.
    load : callable
        Returns a table in memory as a frame of the engine.
    finish : callable
        Returns the result of a scan from a lazy frame and its dtypes.
    """

    read: Callable[[list[str], list[str]], Any]
    load: Callable[[pl.DataFrame], Any]
    finish: Callable[[nw.LazyFrame[Any], Mapping[str, str]], Any]


@contextlib.contextmanager
def open_engine(name: str, spark: object = None) -> Iterator[Engine]:
    """Give an engine; Spark in a session of the user's own, if there is one.

    Raises
    ------
    ConfigurationError
        It is unknown, or not installed; or a session is given with another engine, or is none.
    """
    if not isinstance(name, str) or name not in _ENGINES:
        raise ConfigurationError(f"engine can be {', '.join(_ENGINES)}, not {name!r}.")
    if spark is not None and name != "spark":
        raise ConfigurationError(f"spark is a session for engine='spark', not for {name!r}: leave it out.")
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise ConfigurationError(f"spark is a SparkSession, not {describe_type(spark)}: leave it out for a local one.")
    try:
        yield _ENGINES[name]() if spark is None else _open_spark(spark)
    except ModuleNotFoundError as error:
        instead = "pip install pyspark brings it" if name == "spark" else how_to_install("engines")
        raise ConfigurationError(f"{error.name} is not installed: {instead}.") from None


def _open_polars() -> Engine:
    import polars as pl

    # A folder named like "account_id=7" is no partition: its name must not replace a column.
    return Engine(
        lambda paths, columns: pl.scan_parquet(paths, glob=False, hive_partitioning=False).select(columns),
        lambda table: table.lazy(),
        lambda frame, _: frame.to_native(),
    )


def _open_pandas() -> Engine:
    refuse_marked()
    from p2p_analytics.frames.arrow import frame_of_polars

    return _open_polars()._replace(
        finish=lambda frame, dtypes: frame_of_polars(frame.to_native().collect(engine="streaming"), dtypes)
    )


def _open_duckdb() -> Engine:
    import duckdb

    # A new connection, because the zone in which it computes months is a setting of the connection.
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    return Engine(
        lambda paths, columns: connection.read_parquet(
            [glob.escape(path) for path in paths], hive_partitioning=False
        ).select(*columns),
        lambda table: connection.from_arrow(table.to_arrow()),
        lambda frame, _: frame.to_native(),
    )


def _open_spark(own: Any = None) -> Engine:  # noqa: ANN401 - pyspark need not be there
    session = _find_spark(own)
    return Engine(
        lambda paths, columns: session.read.parquet(*(_SPARK_PATTERN.sub(r"\\\g<0>", path) for path in paths)).select(
            *columns
        ),
        lambda table: session.createDataFrame(table.to_arrow()),
        lambda frame, _: frame.to_native(),
    )


def _find_spark(own: Any) -> Any:  # noqa: ANN401 - pyspark need not be there
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession() if own is None else own
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


_ENGINES: Final[Mapping[str, Callable[[], Engine]]] = {
    "pandas": _open_pandas, "polars": _open_polars, "duckdb": _open_duckdb, "spark": _open_spark,
}  # fmt: skip
