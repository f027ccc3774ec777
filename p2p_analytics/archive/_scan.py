"""Scans of one archive or several: lazy frames of an engine that read only what was chosen."""

from __future__ import annotations

import contextlib
import glob
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, overload

import narwhals.stable.v2 as nw
import pandas as pd
import polars as pl

from p2p_analytics import settings
from p2p_analytics.archive._folder import ArchiveFolder
from p2p_analytics.archive._manifest import Entry, Manifest, list_starts
from p2p_analytics.archive._view import find_view_file, read_view
from p2p_analytics.archive.tables import SCHEMAS, tabulate
from p2p_analytics.errors import ConfigurationError, describe_type, how_to_install
from p2p_analytics.forks import refuse_marked
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS, frame_of_polars
from p2p_analytics.frames.row_currencies import code_expression
from p2p_analytics.times import as_instant, to_microseconds

if TYPE_CHECKING:
    import duckdb

Columns = Iterable[str] | None
Bound = datetime | date | str | None

_ACCOUNT: Final = "account_id"
_LISTED: Final = {**schema.PAYMENTS, **MICROSECONDS}
_MERGED: Final = SCHEMAS["view_payments"]
_SPARK_ZONE: Final = "spark.sql.session.timeZone"
_SPARK_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")  # special characters in paths


class Source(NamedTuple):
    """An archive to scan."""

    folder: ArchiveFolder
    manifest: Manifest


class Scannable:
    """Archives that engines can read."""

    _has_accounts = False  # whether a column names the account of each row

    def _open_sources(self) -> list[Source]:
        """Return the archives, at least one."""
        raise NotImplementedError

    @overload
    def scan(
        self, engine: Literal["pandas"], columns: Columns = ..., since: Bound = ..., before: Bound = ...
    ) -> pd.DataFrame: ...

    @overload
    def scan(
        self, engine: Literal["polars"], columns: Columns = ..., since: Bound = ..., before: Bound = ...
    ) -> pl.LazyFrame: ...

    @overload
    def scan(
        self, engine: Literal["duckdb"], columns: Columns = ..., since: Bound = ..., before: Bound = ...
    ) -> duckdb.DuckDBPyRelation: ...

    @overload
    def scan(
        self,
        engine: Literal["spark"],
        columns: Columns = ...,
        since: Bound = ...,
        before: Bound = ...,
        *,
        spark: Any = ...,  # noqa: ANN401 - pyspark need not be there
    ) -> Any: ...  # noqa: ANN401 - pyspark need not be there

    def scan(
        self, engine: str, columns: Columns = None, since: Bound = None, before: Bound = None, *, spark: object = None
    ) -> object:
        """Return the payments as a frame of an engine, which reads only what was chosen and what a query needs.

        The rows are in no particular order. Scan again after a sync: a second sync deletes the files of a scan.
        With imported statements, the columns are as in `Archive.history`; a scan then reads ids and names to
        find the people, and its query joins the statements with the payments of the service.

        A scan of everything first compares each file with its digest, which reads the file. With ``columns``,
        ``since`` or ``before``, and for several archives, it compares sizes only: files outside the period are not
        opened, and of the others nothing is read but the chosen columns.

        Parameters
        ----------
        engine : {"pandas", "polars", "duckdb", "spark"}
            A pandas DataFrame, in memory; or a Polars LazyFrame, a DuckDB relation or a Spark DataFrame, the last two
            with UTC as their zone.
        columns : iterable of str, optional
            The columns, in this order. With several archives, ``account_id`` is always one, first unless it is named.
            In archives with statements, ``currency`` without ``source`` has "XXX" where a statement does not name it,
            because analyses take a null for dollars if no source says otherwise.
        since, before : datetime, date or str, optional
            Only payments created at or after the first and before the second instant, so that periods can follow each
            other; UTC where no zone is given. With a bound, payments without a date are left out.
        spark : SparkSession, optional
            A session that you have, such as on a cluster, which has to be in UTC. By default, it is the active
            session, or a new one on this machine.

        Raises
        ------
        ArchiveError
            No archive exists yet, or a file is broken.
        ConfigurationError
            The engine is unknown or not installed, a column or date is invalid, or privacy mode is on: the files hold
            real data.
        """
        if settings.privacy():
            raise ConfigurationError("An archive's files hold real data: in privacy mode, use history() instead.")
        period = parse_period(since, before)
        chosen = None if columns is None else check_columns(columns, _MERGED)
        with open_engine(engine, spark) as opened:
            sources = self._open_sources()
            dtypes = _MERGED if any(source.manifest.has_statements for source in sources) else _LISTED
            names = check_columns(chosen, dtypes)
            if self._has_accounts and _ACCOUNT not in names:
                names = [_ACCOUNT, *names]
            is_whole = chosen is None and period == (None, None) and not self._has_accounts
            listed = [source for source in sources if not source.manifest.has_statements]
            merged = [source for source in sources if source.manifest.has_statements]
            frames = [_read_listed(opened, listed, period, dtypes, check_content=is_whole)] if listed else []
            for folder, manifest in merged:
                path = find_view_file(folder, manifest)
                if path is None:  # the cached view cannot be written
                    rows = tabulate("view_payments", read_view(folder, manifest).payments)
                    found: Any = opened.load(pl.from_arrow(rows))
                else:
                    found = opened.read([str(path)], [*_MERGED])
                frames.append(period.filter_rows(nw.from_native(found).lazy()).select(*dtypes))
            frame = frames[0] if len(frames) == 1 else nw.concat(frames)
            if dtypes is _MERGED and "currency" in names and "source" not in names:
                frame = frame.with_columns(currency=code_expression(dtypes))  # without source, a null means dollars
            native = frame.select(*names).to_native()
            if engine == "pandas":
                return frame_of_polars(native.collect(engine="streaming"), {name: dtypes[name] for name in names})
            return native


def _read_listed(
    engine: Engine, sources: Sequence[Source], period: Period, dtypes: Mapping[str, str], *, check_content: bool
) -> nw.LazyFrame[Any]:
    """Return the payments of archives without statements, with the columns of the dtypes."""
    # One list of files, however many archives: engines read their footers in parallel, and only of those left.
    found = [
        (folder, entry)
        for folder, manifest in sources
        if manifest.service
        for entry in period.list_files(manifest.service.payments)
    ]
    folder, manifest = sources[0]
    if not found and manifest.service:
        found = [(folder, manifest.service.payments[-1])]
    for folder, entry in found:
        folder.open_file(entry) if check_content else folder.require_present(entry)
    paths = [str(folder.path / entry.name) for folder, entry in found]
    frame = period.filter_rows(nw.from_native(engine.read(paths, [*_LISTED])).lazy())
    types = {name: nw.Int64 if dtype == schema.WHOLE else nw.String for name, dtype in dtypes.items()}
    added = {name: nw.lit(None, dtype=types[name]()) for name in dtypes if name not in _LISTED}
    return frame.with_columns(**added).select(*dtypes) if added else frame


class Period(NamedTuple):
    """The instants at which payments were created, from the first to before the second; None means unbounded."""

    since: datetime | None
    before: datetime | None

    def list_files(self, payments: Sequence[Entry]) -> list[Entry]:
        """Return the files, newest first, that can hold payments of the period. A file begins with a day of UTC."""
        starts: list[date | None] = [*list_starts(payments), None]
        found = []
        for entry, (start, end) in zip(payments, pairwise(starts), strict=True):
            is_later = start is not None and self.before is not None and as_instant(start) >= self.before
            is_earlier = end is not None and self.since is not None and as_instant(end) <= self.since
            if not is_later and not is_earlier:
                found.append(entry)
        return found[::-1]

    def filter_rows(self, frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
        """Return the rows of the period, by ``created_us``, because files have its statistics for every engine."""
        created = nw.col("created_us")
        if self.since is not None:
            frame = frame.filter(created >= to_microseconds(self.since))
        if self.before is not None:
            frame = frame.filter(created < to_microseconds(self.before))
        return frame


def parse_period(since: Bound, before: Bound) -> Period:
    """Return the period between two bounds; raise a ConfigurationError if it ends before it begins."""
    bounds = []
    for name, value in (("since", since), ("before", before)):
        try:
            bounds.append(None if value is None else as_instant(value))
        except (ValueError, TypeError, OverflowError, AttributeError):
            raise ConfigurationError(
                f"{name}: {str(value)[:40]!r} is no date or datetime like 2024-05-31T18:30:00Z."
            ) from None
    period = Period(*bounds)
    if period.since is not None and period.before is not None and period.before < period.since:
        raise ConfigurationError(
            f"before={str(before)[:40]!r} is earlier than since={str(since)[:40]!r}: exchange them."
        )
    return period


def check_columns(columns: Columns, available: Collection[str]) -> list[str]:
    """Return the columns to read, by default all; raise a ConfigurationError for other names and repeated ones."""
    if columns is None:
        return list(available)
    if isinstance(columns, str):
        raise ConfigurationError(f"columns is a list of names: write columns=[{columns[:40]!r}].")
    try:
        names = list(columns)
    except TypeError:
        raise ConfigurationError(f"columns is a list of names, not {describe_type(columns)}: name some.") from None
    if not names:
        raise ConfigurationError("columns is empty: name at least one, or leave it out to read all.")
    for place, name in enumerate(names):
        if not isinstance(name, str) or name not in available:
            near = get_close_matches(name, available, n=1) if isinstance(name, str) else []
            meant = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(available)}."
            raise ConfigurationError(f"columns: the archive has no {name!r}; {meant}")
        if name in names[:place]:
            raise ConfigurationError(f"columns names {name!r} twice: name it once.")
    return names


class Engine(NamedTuple):
    """Functions of an engine."""

    read: Callable[[list[str], list[str]], Any]  # columns of Parquet files, which all have them, as a lazy frame
    load: Callable[[Any], Any]  # a Polars frame as a frame of the engine


@contextlib.contextmanager
def open_engine(name: str, spark: object = None) -> Iterator[Engine]:
    """Yield an engine; raise a ConfigurationError if it is unknown or not installed, or the session is unsuitable."""
    if not isinstance(name, str) or name not in _ENGINES:
        raise ConfigurationError(f"engine can be {', '.join(_ENGINES)}, not {name!r}.")
    if spark is not None and name != "spark":
        raise ConfigurationError(f"spark is a session for engine='spark', not for {name!r}: leave it out.")
    if spark is not None and not hasattr(spark, "createDataFrame"):
        raise ConfigurationError(f"spark is a SparkSession, not {describe_type(spark)}: leave it out for a local one.")
    try:
        if name == "pandas":
            refuse_marked()
        yield _ENGINES[name]() if spark is None else _open_spark(spark)
    except ModuleNotFoundError as error:
        instead = "pip install pyspark brings it" if name == "spark" else how_to_install("engines")
        raise ConfigurationError(f"{error.name} is not installed: {instead}.") from None


def _open_polars() -> Engine:
    # A folder named like "account_id=7" is not a partition: its name must not replace a column.
    return Engine(
        lambda paths, columns: pl.scan_parquet(paths, glob=False, hive_partitioning=False).select(columns),
        lambda table: table.lazy(),
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
    )


def _open_spark(own: Any = None) -> Engine:  # noqa: ANN401 - pyspark need not be there
    from pyspark.sql import SparkSession

    session: Any = SparkSession.getActiveSession() if own is None else own
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
    return Engine(
        lambda paths, columns: session.read.parquet(*(_SPARK_PATTERN.sub(r"\\\g<0>", path) for path in paths)).select(
            *columns
        ),
        lambda table: session.createDataFrame(table.to_arrow()),
    )


_ENGINES: Final[Mapping[str, Callable[[], Engine]]] = {
    "pandas": _open_polars, "polars": _open_polars, "duckdb": _open_duckdb, "spark": _open_spark,
}  # fmt: skip
