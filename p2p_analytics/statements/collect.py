"""Files to ROWS: bytes are split into cells, and the formats turn cells into rows. Nothing is derived from rows."""

from __future__ import annotations

import contextlib
import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

import msgspec
import polars as pl
import pyarrow as pa

from p2p_analytics.errors import ConfigurationError, MemberNeededError, StatementError
from p2p_analytics.frames.schema import CUT_OFF
from p2p_analytics.limits import LIMITS
from p2p_analytics.progress import loading_bar
from p2p_analytics.statements.formats.bank_columns import is_bank_header
from p2p_analytics.statements.formats.format import NoHeaderError, Table
from p2p_analytics.statements.formats.registry import HeaderFinder, describe_nearest, find_service
from p2p_analytics.statements.problems import REFUSED, SKIPPED, Problem
from p2p_analytics.statements.reading.sources import Exclusions, find_files, read_sources
from p2p_analytics.statements.reading.tables import LINE, has_header, split_file
from p2p_analytics.statements.rows import NOTICE, ROWS, Collected, FileInfo, encode_rows, polars_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from p2p_analytics.statements.formats.format import Reading
    from p2p_analytics.statements.formats.registry import Header
    from p2p_analytics.statements.reading.sources import Source
    from p2p_analytics.statements.reading.tables import Part

_UTC: Final = ZoneInfo("UTC")
_BATCH_ROWS: Final = 100_000  # that become ROWS together
_BATCH_PARTS: Final = 500
_CLOSING: Final = "ending"  # the field of the balance in a closing row
_EXPORTED: Final = frozenset({"payment_id", "flow_cents"})  # columns that no statement has
_OF_BANK: Final = (
    "If it is of a bank, leave it out (p2p.match_bank pairs its rows with your transfers); if it is of a payment "
    "service, 'p2p-analytics describe FILE' drafts a format for it."
)


def collect(  # noqa: PLR0913 - the options of `read_statements`
    paths: object,
    *,
    tz: ZoneInfo = _UTC,
    account: str | None = None,
    member: str | None = None,
    skip_others: bool = False,
    on_bad_file: str = "raise",
    exclude: str | Iterable[str] = (),
    on_progress: Callable[[int, int], object] | None = None,
) -> Collected:
    """Return the rows of files, what each file says, and problems; the parameters are as in `read_statements`."""
    if on_bad_file not in {"raise", "refuse"}:
        raise ConfigurationError(f"on_bad_file is 'raise' or 'refuse', not {on_bad_file!r}.")
    collector = _Collector(tz, account, member, skip_others=skip_others, is_refusing=on_bad_file == "refuse")
    exclusions = Exclusions(exclude)
    entries = find_files(paths, exclusions)
    with contextlib.nullcontext(on_progress) if on_progress is not None else loading_bar(unit="files") as show:
        for number, entry in enumerate(entries, 1):
            for source in read_sources(entry, exclusions):
                collector.add(source)
            show(number, len(entries))
    exclusions.require_used()
    return collector.finish()


class _Collector:
    """Collects the rows of files."""

    def __init__(
        self, tz: ZoneInfo, account: str | None, member: str | None, *, skip_others: bool, is_refusing: bool
    ) -> None:
        self._tz = tz
        self._account = account
        self._member = member
        self._skip_others = skip_others
        self._is_refusing = is_refusing
        self._first_refusal: StatementError | None = None
        self._finder = HeaderFinder()
        self._pending: dict[tuple[str, tuple[str, ...]], list[Part]] = {}
        self._pending_rows = self._pending_parts = self._count = 0
        self._rows: list[pl.DataFrame] = []
        self._labels: dict[str, str] = {}  # of the files by their paths
        self._taken: set[str] = set()
        self._files: dict[str, FileInfo] = {}  # by their labels
        self._irregular: dict[str, Sequence[Problem]] = {}
        self._problems: list[Problem] = []

    def add(self, source: Source) -> None:
        """Add a file; one that is not named and no statement is a problem."""
        source = self._make_unique(source)
        if source.skipped is not None:
            self._skip(source, source.skipped)
        elif source.error is not None:
            self._refuse(source.name, source.label, StatementError(source.error))
        else:
            self._add_file(source)

    def _add_file(self, source: Source) -> None:
        try:
            parts, is_windows = split_file(source.content, source.name, self._finder)
        except StatementError as error:
            reason = f"{error}{_advise(error)}"
            is_other = isinstance(error, NoHeaderError) or not has_header(source.content, self._finder)
            if not is_other or (source.is_named and not self._skip_others):
                error.args = (reason,)
                self._refuse(source.name, source.label, error)
            else:
                self._skip(source, reason.replace(source.name, source.label))
            return
        if is_windows:
            self._problems.append(Problem("not_utf8", source.label, 1))
        digest = hashlib.sha256(source.content).hexdigest()
        for part in parts:  # a file can have several tables
            statement_format, suffix = part.header.format, part.file.removeprefix(source.name)
            label = self._labels[part.file] = source.label + suffix
            self._files[label] = FileInfo(
                file=label,
                format=statement_format.name,
                service=find_service(statement_format.name),
                account_service=statement_format.service or statement_format.name,
                account=self._account,
                repeats_ids=statement_format.repeats_ids,
                digest=digest + suffix,
            )
            self._add_problems(part.problems)
            if not part.cells.num_rows and not _has_closing_row(part.header):
                self._problems.append(Problem("no_rows", label))
            if part.problems:
                self._irregular[label] = part.problems
            self._pending.setdefault((statement_format.name, part.header.names), []).append(part)
            self._pending_rows += part.cells.num_rows
            self._pending_parts += 1
            self._count += part.cells.num_rows
        if self._count > LIMITS.statement_rows:
            raise StatementError(
                f"The files have more than {LIMITS.statement_rows:,} rows together: read them in several calls."
            )
        if self._pending_rows > _BATCH_ROWS or self._pending_parts > _BATCH_PARTS:
            self._flush()

    def finish(self) -> Collected:
        """Return the rows of the files that were added."""
        self._flush()
        if not self._files and self._first_refusal is not None:
            raise self._first_refusal
        if not self._files:
            reason = next((problem.details[0] for problem in reversed(self._problems)), "")
            reason = reason.removesuffix(".") or "there are no files"
            raise StatementError(f"No statement was found: {reason}; name the CSV files, or the folder they are in.")
        pa.default_memory_pool().release_unused()  # Polars cannot use the memory that Arrow keeps in reserve
        empty = encode_rows(pl.DataFrame(schema=polars_schema()))
        # Each column is removed from the batches as it is copied, so none is in memory twice. The result has one chunk,
        # because Polars copies a frame of several chunks whole, for many expressions.
        columns = ((empty[name], *(batch.drop_in_place(name) for batch in self._rows)) for name in ROWS)
        rows = pl.DataFrame([pl.concat(parts, rechunk=True) for parts in columns])
        # A short notice without a balance, such as the title of a summary, cannot hide an amount.
        has_balance = pl.any_horizontal(pl.col("opening_cents", "closing_cents").is_not_null())
        harmless = rows.filter(pl.col("kind") == NOTICE, ~has_balance).select("file", "line")
        for file in self._irregular.keys() & self._files.keys():
            lines = set(harmless.filter(pl.col("file") == file)["line"])
            irregular = [(each.line, each.details or (0, 0)) for each in self._irregular[file]]
            if any(line not in lines or cells > width for line, (cells, width) in irregular):
                self._files[file] = msgspec.structs.replace(self._files[file], is_broken=True)
        return Collected(rows, tuple(self._files.values()), tuple(self._problems))

    def _make_unique(self, source: Source) -> Source:
        """Return a source with a name that no other has: two members of an archive can have one name."""
        name, label, number = source.name, source.label, 2
        while name in self._labels or label in self._taken:
            name, label, number = f"{source.name} ({number})", f"{source.label} ({number})", number + 1
        self._labels[name] = label
        self._taken.add(label)
        skipped = source.skipped and source.skipped.replace(source.name, label)
        error = source.error and source.error.replace(source.name, name)
        return source._replace(name=name, label=label, skipped=skipped, error=error)

    def _skip(self, source: Source, reason: str) -> None:
        self._problems.append(Problem(SKIPPED, source.label, value=reason, details=(reason,)))

    def _refuse(self, name: str, label: str, error: StatementError) -> None:
        """Raise the error of a file that is needed, or list the file as refused, with the members to choose from."""
        if not self._is_refusing:
            raise error
        self._first_refusal = self._first_refusal or error
        reason, members = str(error).replace(name, label), error.members if isinstance(error, MemberNeededError) else ()
        field = "member" if members else "file"
        self._files.pop(label, None)
        self._problems = [problem for problem in self._problems if problem.file != label]
        self._problems.append(Problem(REFUSED, label, field=field, value=reason, details=(reason, *members)))

    def _flush(self) -> None:
        """Let the formats read the pending files, those with one header together; from here on, files have labels."""
        for pending in self._pending.values():
            for parts, reading in self._read(pending):
                labels = {part.file: self._labels[part.file] for part in parts}
                self._rows.append(encode_rows(reading.rows.with_columns(pl.col("file").replace(labels))))
                self._add_problems(reading.problems)
                if _has_closing_row(parts[0].header):
                    is_closing = (pl.col("kind") == NOTICE) & pl.col("closing_cents").is_not_null()
                    closed = set(reading.rows.filter(is_closing)["file"])
                    closed |= {each.file for each in reading.problems if each.field == _CLOSING}  # it cannot be read
                    self._problems += [Problem(CUT_OFF, label) for path, label in labels.items() if path not in closed]
                for path, label in labels.items():
                    start, end = reading.periods.get(path, (None, None))
                    self._files[label] = msgspec.structs.replace(
                        self._files[label],
                        period_start=start,
                        period_end=end,
                        product=reading.subaccounts.get(path, ""),
                        snapshot_at=reading.snapshots.get(path),
                    )
        self._pending.clear()
        self._pending_rows = self._pending_parts = 0

    def _read(self, parts: list[Part]) -> list[tuple[list[Part], Reading]]:
        """Return what the format makes of parts with one header; files with an error are found by binary search."""
        table, read = self._join(parts), parts[0].header.format.read_table
        try:
            reading = read(table)
            if self._tz.key != "UTC":  # ids are made of the start, and must not depend on the zone of the caller
                start = read(replace(table, tz=_UTC)).rows.select(start=pl.coalesce("start", "date")).to_series()
                reading = reading._replace(rows=reading.rows.with_columns(start))
        except StatementError as error:
            if self._is_refusing and len(parts) > 1:
                half = len(parts) // 2
                return [*self._read(parts[:half]), *self._read(parts[half:])]
            self._refuse(parts[0].file, self._labels[parts[0].file], error)
            return []
        return [(parts, reading)]

    def _join(self, parts: list[Part]) -> Table:
        header = parts[0].header
        joined = pl.DataFrame(pa.concat_tables([part.cells for part in parts]))
        files = pl.concat([pl.repeat(part.file, part.cells.num_rows, eager=True) for part in parts]).alias("file")
        named = {name: pl.col(str(position)) for name, position in header.positions.items()}
        absent = {name: pl.lit(None, pl.String) for name in header.format.columns if name not in named}
        cells = joined.select(files, LINE, **named, **absent)
        extras: dict[str, pl.Series] = {}
        for position, name in enumerate(header.names):
            if position not in header.positions.values():
                unique, number = name, 2
                while unique in extras:
                    unique, number = f"{name} ({number})", number + 1
                extras[unique] = joined[str(position)]
        preambles = {part.file: part.preamble for part in parts}
        return Table(cells, preambles, header.names, extras, self._tz, self._account, self._member)

    def _add_problems(self, problems: Iterable[Problem]) -> None:
        labels = self._labels
        self._problems += [problem._replace(file=labels.get(problem.file, problem.file)) for problem in problems]


def _has_closing_row(header: Header) -> bool:
    return header.format.has_closing_row and _CLOSING in header.positions


def _advise(error: StatementError) -> str:
    """Return a sentence about the format that the columns of a file could be of."""
    if not isinstance(error, NoHeaderError) or not error.columns:
        return ""
    if {*error.columns} >= _EXPORTED:
        return " They are those of payments that p2p_analytics wrote: leave the file out, or read it with p2p.read_csv."
    return f" {describe_nearest(error.columns, _OF_BANK if is_bank_header(error.columns) else None)}"
