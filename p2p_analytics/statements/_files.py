"""The list of statement files: format, period, rows by bin and balances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.schema import BALANCES, INSTANT, KINDS, TEXT, WHOLE, parse_dtype
from p2p_analytics.statements._repairs import find_repaired
from p2p_analytics.statements._rows import slice_by_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    import pandas as pd
    import polars as pl

    from p2p_analytics.statements._format import Problem

FILES: Final[Mapping[str, str]] = {
    "file": TEXT,
    "format": TEXT,
    "account": TEXT,
    "currency": TEXT,
    "period_start": INSTANT,
    "period_end": INSTANT,
    "rows": WHOLE,
    **dict.fromkeys(KINDS, WHOLE),
    "opening_cents": WHOLE,
    "closing_cents": WHOLE,
}
PROBLEMS: Final[Mapping[str, str]] = {
    "file": TEXT, "line": WHOLE, "payment_id": TEXT, "field": TEXT, "value": TEXT, "problem": TEXT,
}  # fmt: skip
_GROUP: Final = ("file", "account", "currency")
_MOST_PROBLEMS: Final = 100_000


def list_files(
    rows: pl.DataFrame,
    formats: Mapping[str, str],
    periods: Mapping[str, tuple[datetime | None, datetime | None]],
) -> pd.DataFrame:
    """Return one row per file, account and currency, ordered by the number of the file.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of all files, with their accounts.
    formats : mapping of str to str
        The format of each file, in the order of the files; a file without rows has one row of zeros.
    periods : mapping of str to tuple of datetime or None
        The period that a file states; the default is that of the dates of its rows.
    """
    import polars as pl

    of_kind = pl.concat(
        part.group_by(*_GROUP, "kind").agg(
            pl.col("date").min().alias("period_start"),
            pl.col("date").max().alias("period_end"),
            pl.len().cast(pl.Int64).alias("rows"),
        )
        for part in slice_by_files(rows)
    )
    counts = of_kind.group_by(_GROUP).agg(
        pl.col("period_start").min(),
        pl.col("period_end").max(),
        pl.col("rows").sum(),
        *(pl.col("rows").filter(pl.col("kind") == kind).sum().alias(kind) for kind in KINDS),
    )
    stated = rows.filter(pl.any_horizontal(pl.col("opening_cents", "closing_cents").is_not_null()))
    balances = (
        stated.sort("line")
        .group_by(_GROUP, maintain_order=True)
        .agg(pl.col("opening_cents").drop_nulls().first(), pl.col("closing_cents").drop_nulls().last())
    )
    counts = counts.join(balances, on=_GROUP, nulls_equal=True, how="left").cast(dict.fromkeys(_GROUP, pl.String))
    listed = pl.DataFrame(
        {
            "file": list(formats),
            "format": list(formats.values()),
            "number": range(len(formats)),
            "start": [periods.get(file, (None, None))[0] for file in formats],
            "end": [periods.get(file, (None, None))[1] for file in formats],
        },
        schema={
            "file": pl.String,
            "format": pl.String,
            "number": pl.Int64,
            "start": pl.Datetime("us", "UTC"),
            "end": pl.Datetime("us", "UTC"),
        },
    )
    joined = listed.join(counts, on="file", how="left").sort("number", "account", "currency", nulls_last=True)
    filled = joined.with_columns(
        pl.coalesce("start", "period_start").alias("period_start"),
        pl.coalesce("end", "period_end").alias("period_end"),
        pl.col("rows", *KINDS).fill_null(0),
    )
    return to_frame({name: filled[name].to_list() for name in FILES}, FILES)


def fill_balances(files: pd.DataFrame, reconciliation: pd.DataFrame) -> pd.DataFrame:
    """Return the list of files with the balances that follow from those after each row, where a file states these."""
    names = ["opening_cents", "closing_cents"]
    known = files[list(_GROUP)].merge(reconciliation[[*_GROUP, *names]], on=list(_GROUP), how="left")
    return files.assign(**{name: files[name].fillna(known[name]) for name in names})


class ProblemList:
    """Problems in their order; of very many, the first ones, and how many more there are."""

    def __init__(self) -> None:
        self.listed: list[Problem] = []
        self._unlisted = 0

    def add(self, problems: Sequence[Problem]) -> None:
        """Add problems, of which no more are kept than are listed."""
        room = _MOST_PROBLEMS - len(self.listed)
        self.listed += problems[:room]
        self._unlisted += len(problems[room:])

    def drop_repaired(self, versions: pl.DataFrame, standing: pl.DataFrame) -> None:
        """Drop unreadable amounts and dates of payments that have these from other rows of the account."""
        import polars as pl

        accounts = self._find_in_rows(versions, "account")
        repaired: set[Problem] = set()
        for account in set(accounts.values()):
            mine = [each for each in self.listed if accounts.get(each[:2]) == account]
            listed = [(each.payment_id, each.field, each.problem) for each in mine]
            tables = (table.filter(pl.col("account") == account) for table in (versions, standing))
            found = find_repaired(listed, *tables)
            repaired.update(each for each, is_repaired in zip(mine, found, strict=True) if is_repaired)
        self.listed = [each for each in self.listed if each not in repaired]

    def name_payments(self, rows: pl.DataFrame) -> None:
        """Give the problems the ids that their rows have in the end: a format lists them with the ids in the file."""
        ids = self._find_in_rows(rows, "payment_id")
        self.listed = [
            problem if problem.payment_id is None else problem._replace(payment_id=ids.get(problem[:2], problem[2]))
            for problem in self.listed
        ]

    def _find_in_rows(self, rows: pl.DataFrame, column: str) -> dict[tuple[Any, ...], str]:
        """Return the text of a column, by file and line, in the rows that problems of payments are about."""
        import polars as pl

        lines = list({problem.line for problem in self.listed if problem.payment_id is not None})
        if not lines:
            return {}
        found = rows.filter(pl.col("line").is_in(lines)).select(pl.col("file", column).cast(pl.String), "line")
        return {(file, line): value for file, value, line in found.iter_rows()}

    def to_frame(self) -> pd.DataFrame:
        """Return the problems as a frame."""
        shown = list(self.listed)
        if self._unlisted:
            rest = f"{self._unlisted:,} more problems are not listed"
            shown.append(shown[-1]._replace(payment_id=None, field="", value=None, problem=rest))
        columns = [list(column) for column in zip(*shown, strict=True)] if shown else [[] for _ in PROBLEMS]
        return to_frame(dict(zip(PROBLEMS, columns, strict=True)), PROBLEMS)


def list_once(problems: pd.DataFrame, balances: pd.DataFrame, within: Sequence[str] = ()) -> pd.DataFrame:
    """Return problems, each once, although several files can have it; it names the file with the last name.

    That is the same problem of the same payment, as often as one file has it, and the same problem at the same line of
    a copy of a file: one with the same balances.

    Parameters
    ----------
    problems : DataFrame
        `PROBLEMS`, and in an archive the columns ``within``.
    balances : DataFrame
        `BALANCES` of the files.
    within : sequence of str
        Columns that distinguish files of one name, such as that of the import.
    """
    import pandas as pd

    file = problems["file"]
    if not problems["problem"].duplicated().any():
        return problems
    contents: dict[str, set[object]] = {}
    accounts: dict[str, set[object]] = {}
    others = [name for name in BALANCES if name not in {"file", "account"}]
    lines = balances[["file", "account", *others]].astype(object)
    for name, *line in lines.where(lines.notna(), None).itertuples(index=False, name=None):
        contents.setdefault(name, set()).add(tuple(line))
        accounts.setdefault(name, set()).add(line[0])
    every = frozenset().union(*accounts.values())
    # Files of a merged history, of which no balances are known, are those of the one account of an archive.
    owners = {name: frozenset(accounts.get(name, every)) for name in file.unique()}
    copies = {name: frozenset(contents.get(name, {name})) for name in file.unique()}
    has_id = problems["payment_id"].notna()
    key = problems[["payment_id", "field", "value", "problem"]].assign(
        place=file.map(owners).where(has_id, file.map(copies)), line=problems["line"].mask(has_id)
    )
    key["number"] = key.join(problems[["file", *within]]).groupby([*key, "file", *within], dropna=False).cumcount()
    names = pd.DataFrame({"name": file.str.rpartition("/")[2], "line": problems["line"], "file": file})
    # Folders come last, because the names of files have them only where others of the call have the same name.
    order = names.sort_values(["name", "line", "file"], ascending=[False, True, False], kind="stable").index
    is_copy = key.loc[order].duplicated()
    return problems[~is_copy.reindex(problems.index)].reset_index(drop=True)


def to_frame(columns: Mapping[str, list[object]], schema: Mapping[str, str]) -> pd.DataFrame:
    """Return a frame with the columns and dtypes of a schema."""
    import pandas as pd

    return pd.DataFrame({name: pd.array(columns[name], dtype=parse_dtype(dtype)) for name, dtype in schema.items()})
