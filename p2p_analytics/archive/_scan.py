"""Scans of one archive or several: lazy frames that read only what was chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

from p2p_analytics import settings
from p2p_analytics.archive._all_payments import has_statements, read_names
from p2p_analytics.archive.scans.engines import open_engine
from p2p_analytics.archive.scans.selection import check_columns, parse_period
from p2p_analytics.archive.tables import MATCHED
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS
from p2p_analytics.frames.row_currencies import code_expression

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import date, datetime

    import duckdb
    import narwhals.stable.v2 as nw
    import pandas as pd
    import polars as pl

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.archive._manifest import Entry, Manifest
    from p2p_analytics.archive.scans.engines import Engine
    from p2p_analytics.archive.scans.selection import Period

_ACCOUNT = "account_id"
_LISTED = {**schema.PAYMENTS, **MICROSECONDS}
_MERGED = {**schema.PAYMENTS, **schema.STATEMENT, MATCHED: schema.TEXT, **MICROSECONDS}


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
        self,
        engine: Literal["pandas"],
        columns: Iterable[str] | None = ...,
        since: datetime | date | str | None = ...,
        before: datetime | date | str | None = ...,
    ) -> pd.DataFrame: ...

    @overload
    def scan(
        self,
        engine: Literal["polars"],
        columns: Iterable[str] | None = ...,
        since: datetime | date | str | None = ...,
        before: datetime | date | str | None = ...,
    ) -> pl.LazyFrame: ...

    @overload
    def scan(
        self,
        engine: Literal["duckdb"],
        columns: Iterable[str] | None = ...,
        since: datetime | date | str | None = ...,
        before: datetime | date | str | None = ...,
    ) -> duckdb.DuckDBPyRelation: ...

    @overload
    def scan(
        self,
        engine: Literal["spark"],
        columns: Iterable[str] | None = ...,
        since: datetime | date | str | None = ...,
        before: datetime | date | str | None = ...,
        *,
        spark: Any = ...,  # noqa: ANN401 - pyspark need not be there
    ) -> Any: ...  # noqa: ANN401 - pyspark need not be there

    def scan(
        self,
        engine: str,
        columns: Iterable[str] | None = None,
        since: datetime | date | str | None = None,
        before: datetime | date | str | None = None,
        *,
        spark: object = None,
    ) -> object:
        """Return the payments as a frame of an engine, which reads only what was chosen and what a query needs.

        The rows are in no particular order. Scan again after a sync: a second sync deletes the files of a scan.
        With imported statements, the columns are also those of `Archive.history`; a scan then reads ids and names to
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
            A session of your own, such as that of a cluster, which has to be in UTC. By default, it is the active
            session, or a new one on this machine.

        Raises
        ------
        ArchiveError
            There is no archive yet, or a file is broken.
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
            is_whole = chosen is None and period.is_all and not self._has_accounts
            dtypes = _MERGED if any(has_statements(source.manifest) for source in sources) else _LISTED
            names = check_columns(chosen, dtypes)
            if self._has_accounts and _ACCOUNT not in names:
                names = [_ACCOUNT, *names]
            frame = _read_sources(opened, sources, period, dtypes, check_content=is_whole)
            if dtypes is _MERGED and "currency" in names and "source" not in names:
                frame = frame.with_columns(currency=code_expression(dtypes))  # without source, a null means dollars
            return opened.finish(frame.select(*names), {name: dtypes[name] for name in names})


def _read_sources(
    engine: Engine, sources: Sequence[Source], period: Period, dtypes: Mapping[str, str], *, check_content: bool
) -> nw.LazyFrame[Any]:
    """Return the payments of archives in a period, with the columns of the dtypes."""
    import narwhals.stable.v2 as nw

    frames = []
    listed = [source for source in sources if not has_statements(source.manifest)]
    if listed:
        # One list of files, however many archives: engines read their footers in parallel, and only of those left.
        paths = [
            path
            for folder, manifest in listed
            for path in _find_paths(folder, manifest, period.list_files(manifest.payments), check_content=check_content)
        ]
        folder, manifest = listed[0]
        paths = paths or _find_paths(folder, manifest, manifest.payments[-1:], check_content=check_content)
        frame = period.filter_rows(nw.from_native(engine.read(paths, [*_LISTED])).lazy())
        added = {name: nw.lit(None, dtype=_narwhals_type(dtypes[name])) for name in dtypes if name not in _LISTED}
        frames.append(frame.with_columns(**added).select(*dtypes) if added else frame)
    for source in sources:
        if has_statements(source.manifest):
            merged = _read_merged(engine, source, period, check_content=check_content)
            frames.append(period.filter_rows(merged).select(*dtypes))
    return frames[0] if len(frames) == 1 else nw.concat(frames)


def _read_merged(engine: Engine, source: Source, period: Period, *, check_content: bool) -> nw.LazyFrame[Any]:
    """Return the payments of an archive with statements, at least those of a period."""
    import narwhals.stable.v2 as nw

    from p2p_analytics.archive.scans.lazy_merge import merge_lazily

    folder, manifest = source
    persons = read_names(folder, manifest, folder.read_people(manifest)).persons
    every = _find_paths(folder, manifest, manifest.payments[::-1], check_content=check_content)
    # The first file holds payments without a date, which get that of their statement.
    within = {*period.list_files(manifest.payments), manifest.payments[0]}
    paths = [path for path, entry in zip(every, manifest.payments[::-1], strict=True) if entry in within]
    stated = _find_paths(folder, manifest, [manifest.small["statements"]], check_content=check_content)
    return merge_lazily(
        nw.from_native(engine.read(paths, [*_LISTED])).lazy(),
        nw.from_native(engine.read(stated, [*schema.PAYMENTS, *schema.STATEMENT, *MICROSECONDS])).lazy(),
        None if persons is None else nw.from_native(engine.load(persons)).lazy(),
        manifest.me.user,
        ids=nw.from_native(engine.read(every, ["payment_id"])).lazy(),
    )


def _find_paths(
    folder: ArchiveFolder, manifest: Manifest, entries: Sequence[Entry], *, check_content: bool
) -> list[str]:
    """Return the paths of files, each checked by its content or by its size alone."""
    if manifest.people is None:
        raise ArchiveError(
            f"{folder.path} was written by an earlier p2p_analytics: sync it, or merge a history into it, once."
        )
    check = folder.require_sound if check_content else folder.require_present
    for entry in entries:
        check(entry)
    return [str(folder.path / entry.name) for entry in entries]


def _narwhals_type(dtype: str) -> Any:  # noqa: ANN401 - a dtype of narwhals
    import narwhals.stable.v2 as nw

    return nw.Int64() if dtype == schema.WHOLE else nw.String()
