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
_ROW: Final = ("account", "payment_id")
_PAIR: Final = ("account", SOURCE, "other_source")
_DAY: Final = 24 * 60 * 60 * 1_000_000  # microseconds
_MINUTE: Final = 60_000_000


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
    pairs = _find_pairs(candidates)
    if pairs.is_empty():
        return []
    of_pairs = pl.col("payment_id").is_in(pairs["payment_id"].implode())
    known = pl.concat([_name_sources(each).filter(of_pairs).select(*_ROW, SOURCE) for each in (rows, versions)])
    others = {"other_id": "payment_id", "other_source": SOURCE}
    pairs = pairs.join(known.rename({SOURCE: "other_source"}), on=[*_ROW, "other_source"], how="anti")
    pairs = pairs.join(
        known, left_on=["account", "other_id", SOURCE], right_on=["account", *others.values()], how="anti"
    )
    counts = pairs.group_by(_PAIR).agg(pl.col("payment_id").n_unique().alias("alike"), pl.col("line").min())
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


def _find_pairs(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return rows with each row of another file that looks like it: account, id, line, source, other id and source."""
    import polars as pl

    def join(rows: pl.DataFrame, others: pl.DataFrame, time: str) -> pl.DataFrame:
        keys = [*_ALIKE, time]
        shared = rows.join(others.select(keys).unique(), on=keys, how="semi", nulls_equal=True)
        right = others.select(*keys, other_id="payment_id", other_source=SOURCE, other_line="line")
        found = shared.join(right, on=keys, how="inner", nulls_equal=True)
        return found.filter(pl.col(SOURCE) != pl.col("other_source")).select(
            *_ROW, "line", SOURCE, "other_id", "other_source", "other_line"
        )

    is_shared = pl.col(SOURCE).n_unique().over(*_ALIKE, "minute") > 1
    of_minute = candidates.filter(is_shared)
    same = join(of_minute, of_minute, "minute").drop("other_line")
    whole, timed = (candidates.filter(mask) for mask in (~pl.col("is_timed"), pl.col("is_timed")))
    near = pl.concat([whole.with_columns(pl.col("day") + days) for days in (-1, 0, 1)])
    of_day = join(near, timed, "day").unique()
    back = of_day.select(
        "account",
        payment_id="other_id",
        line="other_line",
        source="other_source",
        other_id="payment_id",
        other_source=SOURCE,
    )
    return pl.concat([same, of_day.drop("other_line"), back.select(same.columns)])


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
