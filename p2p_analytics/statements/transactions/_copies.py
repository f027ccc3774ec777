"""Files that look like copies of each other with other amounts or times, such as one that a spreadsheet has saved.

A copy of a row with an id is the same payment. Where ids are made of the content, or an id has several amounts, a copy
with another content is another payment, and the money counts twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.display import format_count
from p2p_analytics.statements._format import Problem
from p2p_analytics.statements.transactions._unite import NOTICE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    import polars as pl

SOURCE: Final = "source"  # the file of a row, where one name can be that of several files
_OF_CONTENT: Final = r"^(.+)-[0-9a-f]{16}-[0-9]+$"
_OF_AMOUNT: Final = r"^(.+)-[0-9a-f]{8}$"
_EITHER: Final = r"-(?:[0-9a-f]{16}-[0-9]+|[0-9a-f]{8})$"
# A spreadsheet changes how amounts and times are shown, not these.
_ALIKE: Final = ("account", "group", "type", "counterparty_name", "is_in", "currency", "status")
_MOMENT: Final = (*_ALIKE, "is_day", "moment")
_ROW: Final = ("account", "payment_id")
_PAIR: Final = ("account", SOURCE, "other_source")
_DAY: Final = 24 * 60 * 60 * 1_000_000  # microseconds
_MINUTE: Final = 60_000_000
_MOST_FILES: Final = 30  # that have rows alike in one minute or day: such rows are frequent


def list_copies(rows: pl.DataFrame, versions: pl.DataFrame) -> list[Problem]:
    """Return a problem for each two files of which one looks like a copy of the other; it is that of the later one.

    Two rows look alike if they differ in amount, time or note only: they are of one minute or, if one of them has no
    time, of the same or the next day. A file looks like a copy if half of its rows from the days of the other file, or
    half of those of that file, have such a row in the other. A file that has both rows shows that they are two.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS, one per transaction, with counterparties; perhaps with `SOURCE`.
    versions : polars.DataFrame
        Further ROWS of these transactions.
    """
    import polars as pl

    candidates = _select_candidates(rows)
    shared = _select_shared(candidates)
    if shared.is_empty():
        return []
    is_shared = pl.col("payment_id").is_in(shared["payment_id"].unique().implode())
    known = pl.concat([_name_sources(each).filter(is_shared).select(*_ROW, SOURCE) for each in (rows, versions)])
    alike = _find_alike(shared, known)
    counts = alike.group_by(_PAIR).agg(pl.col("payment_id").n_unique().alias("alike"), pl.col("line").min())
    return [_describe(pair) for pair in _select_copies(counts, candidates)]


def _name_sources(rows: pl.DataFrame) -> pl.DataFrame:
    """Return account, id, line, file and `SOURCE` of rows as text."""
    import polars as pl

    source = SOURCE if SOURCE in rows.columns else "file"
    return rows.select(
        pl.col("account", "file").cast(pl.String), "payment_id", "line", pl.col(source).cast(pl.String).alias(SOURCE)
    )


def _select_candidates(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of which a copy is another payment, with the columns by which they are compared."""
    import polars as pl

    own = pl.col("payment_id")
    made = rows.filter(own.str.contains(_EITHER))
    bases = made.select(own.str.extract(_OF_AMOUNT)).to_series().drop_nulls().unique()
    if not bases.is_empty():
        made = rows.filter(own.str.contains(_EITHER) | own.is_in(bases.implode()))
    found = made.filter(
        pl.col("flow_cents") != 0, pl.col("date").is_not_null(), pl.col("file").is_not_null(),
        (pl.col("kind") != NOTICE).fill_null(value=True),
    )  # fmt: skip
    us = pl.col("date").dt.epoch("us")
    texts = ("type", "counterparty_name", "currency", "status")
    described = found.select(
        pl.coalesce(own.str.extract(_OF_CONTENT), own.str.extract(_OF_AMOUNT), own).alias("group"),
        *(pl.col(name).cast(pl.String) for name in texts),
        (pl.col("flow_cents") > 0).alias("is_in"),
        (us // _MINUTE).alias("minute"),
        (us // _DAY).alias("day"),
        (us % _DAY != 0).alias("is_timed"),
    )
    return pl.concat([_name_sources(found), described], how="horizontal")


def _select_shared(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return the times at which rows can look like rows of another file: ``moment``, once for each row and time.

    A row without a time looks like those with a time of three days: ``side`` is 1 for it and 2 for them. It is 0 for
    two rows of one minute.
    """
    import polars as pl

    whole, timed = (candidates.filter(mask) for mask in (~pl.col("is_timed"), pl.col("is_timed")))
    moments = [candidates.with_columns(pl.col("minute").alias("moment"), side=0)]
    moments += [whole.with_columns((pl.col("day") + days).alias("moment"), side=1) for days in (-1, 0, 1)]
    moments += [timed.with_columns(pl.col("day").alias("moment"), side=2)]
    found = pl.concat(moments).with_columns(pl.min_horizontal("side", 1).alias("is_day"))
    files = pl.col(SOURCE).n_unique().over(*_MOMENT)
    sides = pl.col("side").n_unique().over(*_MOMENT)
    return found.filter(files.is_between(2, _MOST_FILES), (pl.col("side") == 0) | (sides > 1))


def _find_alike(shared: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return rows with each other file that has a row that looks like it, where neither file has both.

    Each row is joined with files, not with their rows, of which one minute can have thousands.
    """
    import polars as pl

    key = [*_MOMENT, "side"]
    of_other = pl.when(pl.col("side") > 0).then(3 - pl.col("side")).otherwise(0)
    files = shared.select(*key, SOURCE).unique()
    of_file = files.select(*_MOMENT, of_other.alias("side"), pl.col(SOURCE).alias("other_source"))
    rows = shared.join(of_file, on=key, how="inner", nulls_equal=True).filter(pl.col(SOURCE) != pl.col("other_source"))
    rows = rows.join(known.rename({SOURCE: "other_source"}), on=[*_ROW, "other_source"], how="anti")
    of_row = rows.select(
        *_MOMENT, of_other.alias("side"), pl.col("other_source").alias(SOURCE), pl.col(SOURCE).alias("other_source")
    )
    return rows.join(of_row.unique(), on=[*key, SOURCE, "other_source"], how="semi", nulls_equal=True)


def _select_copies(counts: pl.DataFrame, candidates: pl.DataFrame) -> Iterator[Mapping[str, Any]]:
    """Yield the two files of each copy, of which half of the rows are alike, as the later one sees them."""
    import polars as pl

    day = pl.col("day")
    files = candidates.group_by("account", SOURCE).agg(
        pl.col("file").first(),
        day.min().alias("first"),
        day.max().alias("last"),
        pl.col("payment_id").min().alias("id"),
    )
    others = files.rename({name: f"other_{name}" for name in (SOURCE, "file", "first", "last", "id")})
    pairs = counts.join(files, on=["account", SOURCE]).join(others, on=["account", "other_source"])
    rows = pairs.select(*_PAIR, "other_first", "other_last").join(
        candidates.select("account", SOURCE, "day"), on=["account", SOURCE]
    )
    is_near = day.is_between(pl.col("other_first") - 1, pl.col("other_last") + 1)
    totals = rows.filter(is_near).group_by(_PAIR).agg(pl.len().alias("rows"))
    found = pairs.join(totals, on=_PAIR).sort(_PAIR).rows(named=True)
    is_half = {tuple(pair[name] for name in _PAIR): 2 * pair["alike"] >= pair["rows"] for pair in found}
    for pair in found:
        account, source, other = (pair[name] for name in _PAIR)
        is_copy = is_half[account, source, other] or is_half[account, other, source]
        if is_copy and _rank(pair, "") > _rank(pair, "other_"):
            yield pair


def _rank(pair: Mapping[str, Any], side: str) -> tuple[int, str, str]:
    """Return the key by which the later file of a pair is found, which does not depend on folders and imports."""
    return pair[f"{side}last"], pair[f"{side}file"].rpartition("/")[2], pair[f"{side}id"]


def _describe(pair: Mapping[str, Any]) -> Problem:
    count = format_count(pair["alike"], "row looks", "rows look")
    problem = (
        f"{count} like rows of '{pair['other_file']}' with other amounts or times, as in a copy that a spreadsheet has "
        "saved: the rows of both files are counted, so leave one of the two files out"
    )
    return Problem(pair["file"], pair["line"], None, "file", None, problem)
