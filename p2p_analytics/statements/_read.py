"""Statement files to Statements: files are split into cells, cells become rows, rows are de-duplicated and checked."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from p2p_analytics import settings
from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.forks import refuse_marked
from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.progress import loading_bar
from p2p_analytics.records import Me, User
from p2p_analytics.statements._cells import has_zone
from p2p_analytics.statements._files import ProblemList, fill_balances, list_files, list_once
from p2p_analytics.statements._format import NoHeaderError, Problem, Table
from p2p_analytics.statements._payments import build_payments
from p2p_analytics.statements._reconcile import reconcile, running_balance
from p2p_analytics.statements._registry import HeaderFinder, describe_nearest, find_service
from p2p_analytics.statements._rows import ROWS, encode_rows, polars_schema, slice_by_files
from p2p_analytics.statements._sources import find_files, read_batches
from p2p_analytics.statements._statements import SKIPPED, Statements
from p2p_analytics.statements._tables import (
    LINE,
    Opened,
    Part,
    has_header,
    open_text,
    read_together,
    split_file,
)
from p2p_analytics.statements._versions import build_versions
from p2p_analytics.statements.balances import find_balance
from p2p_analytics.statements.bank import is_bank_header
from p2p_analytics.statements.holders import blank_sides, name_holders
from p2p_analytics.statements.transactions import (
    NOTICE,
    fill_ids,
    find_standing,
    has_missing_ids,
    list_shared_ids,
    name_accounts,
    separate_ids,
    sort_newest_first,
)
from p2p_analytics.times import find_zone

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import datetime

    import pandas as pd
    import polars as pl

    from p2p_analytics.statements._registry import Header
    from p2p_analytics.statements._sources import Source

_UTC: Final = ZoneInfo("UTC")
_BATCH_ROWS: Final = 100_000  # that become ROWS together
_BATCH_PARTS: Final = 500
_MOST_ROWS: Final = 5_000_000  # of all files
_EXPORTED: Final = frozenset({"payment_id", "flow_cents"})  # columns that no statement has
_OF_BANK: Final = (
    "If they are those of a bank account, p2p.match_bank pairs its rows with the transfers of your statements: import "
    "the statements without this file."
)


def read_statements(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    tz: str | ZoneInfo = "UTC",
    account: str | None = None,
    skip_others: bool = False,
    on_progress: Callable[[int, int], object] | None = None,
) -> Statements:
    """Return the payments of statement files, reconciled to the cent.

    The format of a file is found by the names in its header. Overlapping files are united: a payment that is in several
    files counts once. Of its rows, a final state counts before a pending one, then a date with seconds before one
    without, then the file with the later last date, then the later name; of amounts, first that of a file that adds up.
    A null replaces no value; rows with different amounts are problems, which name both. Nothing is dropped: every row
    is in one of the counted kinds of `Statements.files`, and everything strange is in `Statements.problems`. In privacy
    mode (``P2P_PRIVACY``) the result is masked.

    Parameters
    ----------
    paths : path, or iterable of paths
        Files, folders (their own files, not those of folders in them, as ``folder/**/*.csv`` does), zip archives, and
        patterns such as ``~/Downloads/*.csv``. A file that is named must be a statement; another file that a folder, an
        archive or a pattern leads to is skipped, and listed in the problems.
    tz : str or ZoneInfo
        Zone of datetimes in files that name none. A local time that the clock shows twice is the first one.
    account : str, optional
        Name of the account of all files. A file that names another one, such as a former handle or an e-mail address,
        or that names none and has another holder, is listed in the problems. By default the account is the one that the
        file names.
    skip_others : bool
        Whether a named file without the header of a statement is skipped, too, as for a list of files of which some may
        be others.
    on_progress : callable, optional
        Called with the number of files that are read, and of all files. By default a terminal and a notebook show a
        bar.

    Raises
    ------
    StatementError
        A file cannot be read, is no statement or was damaged, for example by a spreadsheet; or none of the files found
        is a statement.
    ConfigurationError
        An argument is of another type, or the zone is unknown.
    """
    zone = find_zone(tz)
    if zone.key is None or not has_zone(zone.key):
        raise ConfigurationError(f"tz must be a zone name like 'America/New_York' or 'UTC', not {tz!r}.")
    if account is not None and not (isinstance(account, str) and account.strip().removeprefix("@")):
        raise ConfigurationError(f"account is the name of an account, not {account!r}.")
    refuse_marked()
    mode = settings.privacy()
    reader = _Reader(zone, account, skip_others=skip_others)
    entries = find_files(paths)
    try:
        with contextlib.nullcontext(on_progress) if on_progress is not None else loading_bar(unit="files") as show:
            for sources in read_batches(entries, show):
                reader.add(sources)
        statements = reader.finish()
    except (StatementError, ConfigurationError):
        if not mode:
            raise
    else:
        return statements.masked(strict=mode == settings.STRICT) if mode else statements
    # Outside of the except block, so that the error, which quotes names of files and cells, is not the context.
    raise StatementError(
        f"A statement file cannot be read: privacy mode hides its name and the reason, so set "
        f"{settings.PRIVACY_VARIABLE}=0 to see them."
    )


class _Reader:
    """Collects the rows of files."""

    def __init__(self, tz: ZoneInfo, account: str | None, *, skip_others: bool) -> None:
        self._tz = tz
        self._account = account
        self._skip_others = skip_others
        self._finder = HeaderFinder()
        self._pending: dict[tuple[str, tuple[str, ...]], list[Part]] = {}
        self._pending_rows = self._pending_parts = self._count = 0
        self._rows: list[pl.DataFrame] = []
        self._labels: dict[str, str] = {}  # of the files by their paths
        self._taken: set[str] = set()
        self._formats: dict[str, str] = {}
        self._services: dict[str, str] = {}
        self._subaccounts: dict[str, tuple[str, str]] = {}
        self._periods: dict[str, tuple[datetime | None, datetime | None]] = {}
        self._irregular: dict[str, tuple[set[int], set[int]]] = {}
        self._shared_ids: set[str] = set()
        self._problems = ProblemList()

    def add(self, sources: Sequence[Source]) -> None:
        """Add files; one that is not named and no statement is a problem."""
        opened = [self._try_open(source) for source in sources]
        cells = read_together(opened, self._finder)
        for source, file, regular in zip(sources, opened, cells, strict=True):
            self._add_file(self._make_unique(source), file, regular)

    def _try_open(self, source: Source) -> Opened | None:
        """Return the text of a file, None if there is an error, which has its place among those of other files."""
        with contextlib.suppress(StatementError):
            return open_text(source.content, source.name, self._finder) if source.skipped is None else None
        return None

    def _add_file(self, source: Source, opened: Opened | None, cells: pl.DataFrame | None) -> None:
        if source.skipped is not None:
            self._skip(source, source.skipped)
            return
        try:
            opened = opened or open_text(source.content, source.name, self._finder)
            parts = split_file(opened, cells, source.name, self._finder)
        except StatementError as error:
            reason = f"{error}{_advise(error)}"
            is_other = isinstance(error, NoHeaderError) or not has_header(source.content, self._finder)
            if not is_other or (source.is_named and not self._skip_others):
                error.args = (reason,)
                raise
            self._skip(source, reason.replace(source.name, source.label))
            return
        if opened.text.is_windows:
            problem = "the text is not UTF-8, and was read as Windows-1252"
            self._problems.add([Problem(source.label, 1, None, "file", None, problem)])
        for part in parts:
            self._labels[part.file] = source.label + part.file.removeprefix(source.name)  # a file can have two tables
            self._add_part(part)
        if self._pending_rows > _BATCH_ROWS or self._pending_parts > _BATCH_PARTS:
            self._flush()

    def finish(self) -> Statements:
        """Return the statements of the files that were added."""
        self._flush()
        if not self._formats:
            reason = next((problem.problem for problem in reversed(self._problems.listed)), "")
            reason = reason.removeprefix(SKIPPED).removesuffix(".") or "there are no files"
            raise StatementError(f"No statement was found: {reason}; name the CSV files, or the folder they are in.")
        name = self._account and self._account.strip().removeprefix("@")  # formats compare the name as it is given
        rows, account_problems, handles, unnamed = name_accounts(_concatenate(self._rows), self._services, name)
        rows = separate_ids(rows, self._shared_ids)
        self._problems.name_payments(rows)
        checked = reconcile(rows, self._find_broken(rows), self._periods, self._subaccounts, self._formats)
        rows, standing, needed, owners, ends, row_problems = find_standing(running_balance(rows), checked.table)
        files = fill_balances(list_files(rows, self._formats, self._periods), checked.table)
        self._problems.add(checked.problems)
        self._problems.drop_repaired(rows, standing)
        others = {problem.file for problem in account_problems}
        holders = _list_holders(rows, name_holders(standing, others), checked.balances)
        del rows  # which takes memory
        if name is not None:  # no row says so if no file has rows
            files = files.fillna({"account": name})
            holders = holders or {name: Me(user=User(id=name, display_name=name))}
        payments = build_payments(standing, sort_newest_first(standing))
        self._problems.add([*account_problems, *row_problems])
        return Statements(
            payments,
            checked.table,
            list_once(self._problems.to_frame(), checked.balances),
            files,
            _holders=holders,
            _balances=checked.balances,
            _needed=build_versions(payments, needed),
            _owners=owners,
            _ends=ends,
            _handles=handles,
            _unnamed=unnamed,
        )

    def _make_unique(self, source: Source) -> Source:
        """Return a source with a name that no other has: two members of an archive can have one name."""
        name, label, number = source.name, source.label, 2
        while name in self._labels or label in self._taken:
            name, label, number = f"{source.name} ({number})", f"{source.label} ({number})", number + 1
        self._labels[name] = label
        self._taken.add(label)
        skipped = source.skipped and source.skipped.replace(source.name, label)
        return source._replace(name=name, label=label, skipped=skipped)

    def _skip(self, source: Source, reason: str) -> None:
        self._problems.add([Problem(source.label, None, None, "file", None, f"{SKIPPED}{reason}")])

    def _add_part(self, part: Part) -> None:
        statement_format = part.header.format
        label = self._labels[part.file]
        self._formats[label] = statement_format.name
        service = statement_format.service or statement_format.name
        self._services[label] = service
        self._subaccounts[label] = find_service(statement_format.name), ""
        self._add_problems(part.problems)
        if part.ragged or part.overfull:
            self._irregular[label] = (part.ragged, part.overfull)
        self._pending.setdefault((statement_format.name, part.header.names), []).append(part)
        self._pending_rows += part.cells.height
        self._count += part.cells.height
        if self._count > _MOST_ROWS:
            raise StatementError(f"The files have more than {_MOST_ROWS:,} rows together: read them in several calls.")
        self._pending_parts += 1

    def _flush(self) -> None:
        """Let the formats read the pending files, those with one header together.

        From here on, files have their labels. The formats know their paths, which errors quote.
        """
        import polars as pl

        for parts in self._pending.values():
            statement_format = parts[0].header.format
            table = _join_parts(parts, self._tz, self._account)
            reading = statement_format.read_table(table)
            rows = reading.rows
            if has_missing_ids(rows):
                in_utc = rows if self._tz.key == "UTC" else statement_format.read_table(replace(table, tz=_UTC)).rows
                rows = fill_ids(rows, in_utc["date"], statement_format.service or statement_format.name)
            if statement_format.repeats_ids:
                self._shared_ids |= list_shared_ids(rows)
            labels = {part.file: self._labels[part.file] for part in parts}
            rows = blank_sides(rows.with_columns(pl.col("file").replace(labels)))
            self._rows.append(encode_rows(rows))
            self._add_problems(reading.problems)
            self._periods |= {labels.get(file, file): period for file, period in reading.periods.items()}
            for file, name in reading.subaccounts.items():
                self._subaccounts[labels[file]] = self._subaccounts[labels[file]][0], name
        self._pending.clear()
        self._pending_rows = self._pending_parts = 0

    def _add_problems(self, problems: Iterable[Problem]) -> None:
        labels = self._labels
        self._problems.add([problem._replace(file=labels.get(problem.file, problem.file)) for problem in problems])

    def _find_broken(self, rows: pl.DataFrame) -> set[str]:
        """Return the files with rows that have too many or too few cells.

        A short notice without a balance, such as the title of a summary, cannot hide an amount.
        """
        import polars as pl

        broken = set()
        for file, (ragged, overfull) in self._irregular.items():
            harmless = rows.filter(
                pl.col("file") == file,
                pl.col("kind") == NOTICE,
                pl.all_horizontal(pl.col("opening_cents", "closing_cents").is_null()),
            )
            if overfull or ragged - set(harmless["line"].to_list()):
                broken.add(file)
        return broken


def _advise(error: StatementError) -> str:
    """Return a sentence about the format that the columns of a file could be of."""
    if not isinstance(error, NoHeaderError) or not error.columns:
        return ""
    if {*error.columns} >= _EXPORTED:
        return " They are those of payments that p2p_analytics wrote: read them with p2p.read_csv."
    return f" {_OF_BANK if is_bank_header(error.columns) else describe_nearest(error.columns)}"


def _join_parts(parts: list[Part], tz: ZoneInfo, account: str | None) -> Table:
    import polars as pl

    header: Header = parts[0].header
    joined = pl.concat([part.cells for part in parts], rechunk=True)
    counts = pl.Series([part.cells.height for part in parts], dtype=pl.Int64)
    files = pl.Series("file", [part.file for part in parts], dtype=pl.String)
    numbers = pl.int_range(len(parts), eager=True).repeat_by(counts).explode().drop_nulls()
    named = {name: pl.col(str(position)) for name, position in header.positions.items()}
    absent = {name: pl.lit(None, pl.String) for name in header.format.columns if name not in named}
    cells = joined.select(files.gather(numbers), LINE, **named, **absent)
    used = set(header.positions.values())
    extras: dict[str, pl.Series] = {}
    for position, name in enumerate(header.names):
        if position not in used:
            unique, number = name, 2
            while unique in extras:
                unique, number = f"{name} ({number})", number + 1
            extras[unique] = joined[str(position)]
    return Table(cells, {part.file: part.preamble for part in parts}, header.names, extras, tz, account)


def _concatenate(batches: list[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all batches; each column is removed from them as it is copied, so none is in memory twice.

    Polars copies a frame of several chunks whole, for many expressions.
    """
    import polars as pl

    empty = encode_rows(pl.DataFrame(schema=polars_schema()))
    return pl.DataFrame(
        [pl.concat([empty[name], *(batch.drop_in_place(name) for batch in batches)], rechunk=True) for name in ROWS]
    )


def _list_holders(rows: pl.DataFrame, names: Mapping[str, str], balances: pd.DataFrame) -> dict[str, Me]:
    """Return the holder of each account, with the closing balance of the last file.

    An account without a name is called as its files say, by most of their rows.
    """
    import polars as pl

    holders = {}
    key = ("account", "owner")
    parts = pl.concat(part.group_by(key).agg(pl.len(), pl.col("is_handle").any()) for part in slice_by_files(rows))
    counts = parts.group_by(key).agg(pl.col("len").sum(), pl.col("is_handle").any())
    ordered = counts.cast(dict.fromkeys(key, pl.String)).sort("len", "owner", descending=[True, False])
    owners = ordered.group_by("account", maintain_order=True).agg(
        pl.col("owner").drop_nulls().first(), pl.col("is_handle").any()
    )
    currencies = _list_currencies(rows)
    for account, owner, is_handle in owners.sort("account").iter_rows():
        closing = find_balance(balances[balances["account"] == account], currencies.get(account, []))
        user = User(
            id=account, username=account if is_handle else None, display_name=names.get(account) or owner or account
        )
        holders[account] = Me(user=user, balance_cents=closing)
    return holders


def _list_currencies(rows: pl.DataFrame) -> dict[str, list[str]]:
    """Return the currencies of each account's payments between people, or of all rows where there are none."""
    import polars as pl

    is_payment = pl.col("kind") == KIND_PAYMENT
    counts = rows.select("account", "currency", "kind").filter(pl.col("kind") != NOTICE).group_by("account", "currency")
    code = pl.col("currency").cast(pl.String).fill_null(UNKNOWN_CURRENCY)
    found = counts.agg(is_payment.any().alias("of_people")).group_by(pl.col("account").cast(pl.String))
    lists = found.agg(code.unique().alias("every"), code.filter("of_people").unique().alias("of_people"))
    return {account: of_people or every for account, every, of_people in lists.iter_rows()}
