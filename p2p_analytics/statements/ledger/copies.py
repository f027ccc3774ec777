"""Files that look like copies of each other with other amounts or times, such as one that a spreadsheet has saved.

A copy of a row with an id is the same payment. Where ids are made of the content, or an id has several amounts, a copy
with another content is another payment, and the money counts twice.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from p2p_analytics.display import format_count
from p2p_analytics.statements.ledger.ids import GIVEN, SHARED
from p2p_analytics.statements.ledger.unite import NOTICE
from p2p_analytics.statements.problems import COPY, Problem
from p2p_analytics.statements.rows import strip_label
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from p2p_analytics.statements.ledger.continuity import Balance


_OF_CONTENT: Final = r"^(.+)-[0-9a-f]{16}-[0-9]+$"
_SIDES: Final = ("moment_side", "amount_side")
_LOST: Final = ("moment_lost", "amount_lost")
_MOMENT: Final = ("alike", "moment", "amount", *_LOST)
_ROW: Final = ("account", "payment_id")
_PAIR: Final = ("account", "file", "other_file")
_MINUTE: Final = 60_000_000
_UNIT: Final = 100  # cents
_STATE: Final = ("owner", "balance", "moved")
_FEWEST_BALANCES: Final = 3  # that two files with the same rows have in common
_FACTOR: Final = 1_000_003
_MOST_FILES: Final = 30  # that have rows alike in one minute or day: such rows are frequent


def list_copies(rows: pl.DataFrame, versions: pl.DataFrame) -> list[Problem]:
    """Return a problem for each two files where one looks like a copy of the other; it names the later one.

    Two rows look alike if they differ only as a spreadsheet changes them: one has lost its seconds, its time of day,
    which also moves it by a day in another zone, or the cents of its amount. A file looks like a copy if half of its
    rows from the days of the other file, or half of that file's rows, have such a row in the other. A file that has
    both rows shows that they are two.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS, one per transaction, with counterparties.
    versions : polars.DataFrame
        Further ROWS of these transactions.
    """
    if rows["file"].n_unique() < 2:  # noqa: PLR2004 - a copy is of another file
        return []
    candidates = _select_candidates(rows)
    if candidates.is_empty():
        return []
    shared = _select_shared(candidates)
    if shared.is_empty():
        return []
    is_shared = pl.col("payment_id").is_in(shared["payment_id"].unique().implode())
    known = pl.concat(
        each.filter(is_shared).select(pl.col("account", "file").cast(pl.String), "payment_id")
        for each in (rows, versions)
    )
    alike = _find_alike(shared, known)
    counts = alike.group_by(_PAIR).agg(pl.col("payment_id").n_unique().alias("alike"), pl.col("line").min())
    return [
        Problem(
            COPY,
            pair["file"],
            pair["line"],
            other_file=pair["other_file"],
            details=(format_count(pair["alike"], "row looks", "rows look"),),
        )
        for pair in _select_copies(counts, candidates)
    ]


def _select_candidates(rows: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that become other payments if they are copied, with the columns by which they are compared.

    Rows are ``alike`` if a spreadsheet may have made one of the other: it changes amounts and times only.
    """
    own, cents, us = pl.col("payment_id"), pl.col("flow_cents"), pl.col("date").dt.epoch("us")
    is_made = pl.col(GIVEN).is_null() | pl.col(SHARED)
    size = cents.abs()
    candidates = rows.filter(
        is_made, cents != 0, pl.col("date", "file").is_not_null(), pl.col("kind").ne_missing(NOTICE)
    )
    texts = pl.col("account", "type", "counterparty_name", "currency", "status", "note").cast(pl.String)
    return candidates.select(
        "payment_id",
        "line",
        pl.col("account", "file").cast(pl.String),
        # One hash takes a tenth of the time and memory that the texts take.
        pl.struct(texts, pl.coalesce(own.str.extract(_OF_CONTENT), GIVEN).alias("group"), cents > 0)
        .hash()
        .alias("alike"),
        size.alias("cents"),
        ((size + _UNIT // 2) // _UNIT * _UNIT).alias("rounded"),
        (size % _UNIT == 0).alias("lacks_cents"),
        us.alias("us"),
        (us // DAY_US).alias("day"),
        (us % DAY_US == 0).alias("lacks_time"),
        (us % _MINUTE == 0).alias("lacks_seconds"),
    )


def _select_shared(candidates: pl.DataFrame) -> pl.DataFrame:
    """Return the rows that can look like rows of another file, once for each time and amount at which they can.

    What a row lost is in `_LOST`: of its time, nothing, the seconds or the time of day, and of its amount, nothing or
    the cents. `_SIDES` are 1 for the row that lost it, 2 for the other one, and 0 if nothing was lost.
    """

    def list_sides(
        rows: pl.DataFrame, name: str, key: pl.Expr, lost: int = 0, lacks: str | None = None
    ) -> pl.DataFrame:
        side = pl.when(lacks).then(1).otherwise(2) if lacks else pl.lit(0)
        return rows.with_columns(key.alias(name), side.alias(f"{name}_side"), pl.lit(lost).alias(f"{name}_lost"))

    of_day = list_sides(candidates, "moment", pl.col("day"), 2, "lacks_time")
    near = [of_day.filter("lacks_time").with_columns((pl.col("day") + more).alias("moment")) for more in (-1, 1)]
    of_minute = list_sides(candidates, "moment", pl.col("us") // _MINUTE, 1, "lacks_seconds")
    times = pl.concat([list_sides(candidates, "moment", pl.col("us")), of_minute, of_day, *near])
    of_units = list_sides(times, "amount", pl.col("rounded"), 1, "lacks_cents")
    found = pl.concat([list_sides(times, "amount", pl.col("cents")), of_units])
    found = found.filter(pl.any_horizontal(pl.col(*_LOST) > 0))
    found = found.filter(found.select(pl.struct(_MOMENT).hash().is_duplicated()).to_series())
    files = pl.col("file").n_unique().over(*_MOMENT)
    has_both = (
        pl.col(side).n_unique().over(*_MOMENT) > (pl.col(lost) > 0) for side, lost in zip(_SIDES, _LOST, strict=True)
    )
    return found.filter(files.is_between(2, _MOST_FILES), *has_both)


def _find_alike(shared: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Return rows with each other file that has a row that looks like it, where neither file has both.

    Each row is joined with files, not with their rows: one minute can have thousands.
    """
    key = [*_MOMENT, *_SIDES]
    of_other = [pl.when(pl.col(side) > 0).then(3 - pl.col(side)).otherwise(0).alias(side) for side in _SIDES]
    files = shared.select(*key, "file").unique()
    of_file = files.select(*_MOMENT, *of_other, other_file="file")
    rows = shared.join(of_file, on=key, how="inner", nulls_equal=True).filter(pl.col("file") != pl.col("other_file"))
    rows = rows.join(known.rename({"file": "other_file"}), on=[*_ROW, "other_file"], how="anti")
    of_row = rows.select(*_MOMENT, *of_other, file="other_file", other_file="file")
    return rows.join(of_row.unique(), on=[*key, "file", "other_file"], how="semi", nulls_equal=True)


def _select_copies(counts: pl.DataFrame, candidates: pl.DataFrame) -> Iterator[Mapping[str, Any]]:
    """Yield the two files of each copy, if half of the rows are alike, from the view of the later one."""
    day = pl.col("day")
    files = candidates.group_by("account", "file").agg(
        day.min().alias("first"), day.max().alias("last"), pl.col("payment_id").min().alias("id")
    )
    others = files.rename({name: f"other_{name}" for name in ("file", "first", "last", "id")})
    pairs = counts.join(files, on=["account", "file"]).join(others, on=["account", "other_file"])
    rows = pairs.select(*_PAIR, "other_first", "other_last").join(
        candidates.select("account", "file", "day"), on=["account", "file"]
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
    return pair[f"{side}last"], strip_label(pair[f"{side}file"]), pair[f"{side}id"]


def find_equal_balances(balances: Sequence[Balance]) -> list[tuple[int, int]]:
    """Return positions of pairs of balances with equal amounts after their rows, and other ids; one per later balance.

    Such files list the same transactions if at least half of the rows of one, and three different balances, are equal.
    An account that is emptied each month has the same balances each month: amounts with three ids are left out.
    """
    rows = _list_running_balances(balances)
    if rows.is_empty():
        return []
    rows = rows.filter(pl.col("id").n_unique().over(_STATE) == 2)  # noqa: PLR2004
    pairs = rows.join(rows, on=_STATE, suffix="_later").filter(
        pl.col("at") < pl.col("at_later"), pl.col("id") != pl.col("id_later")
    )
    counts = pairs.group_by("at", "at_later").agg(
        pl.struct(_STATE).n_unique().alias("equal"), pl.col("balance").n_unique().alias("balances")
    )
    sizes = [(each.rows["known_cents"] != 0).sum() for each in balances]
    found: dict[int, int] = {}
    for at, later, equal, different in counts.sort("at").iter_rows():
        if different >= _FEWEST_BALANCES and 2 * equal >= min(sizes[at], sizes[later]):
            found.setdefault(later, at)
    return [(at, later) for later, at in found.items()]


def _list_running_balances(balances: Sequence[Balance]) -> pl.DataFrame:
    """Return the rows that moved a balance, if owner, amount and balance afterwards occur in another row, too."""
    owners = [(each.account, each.currency, each.subaccount) for each in balances]
    counts = Counter(owners)
    numbers = {owner: number for number, owner in enumerate(counts)}
    chosen = [
        (at, each.opening, each.rows)
        for at, each in enumerate(balances)
        if counts[owners[at]] > 1 and each.opening is not None and each.moved is not None and not each.is_superseded
    ]
    places = np.array([at for at, *_ in chosen], np.int64)
    lengths = np.array([len(rows) for *_, rows in chosen], np.int64)
    if not chosen:
        return pl.DataFrame(schema=dict.fromkeys(("owner", "balance", "moved", "at", "id"), pl.Int64))
    every = pl.concat([rows for *_, rows in chosen])
    moved = every["known_cents"].to_numpy()
    total = moved.cumsum()
    before = np.concatenate([[0], total])[lengths.cumsum() - lengths]  # by all files before
    offsets = np.array([opening for _, opening, _ in chosen], np.int64) - before
    owner = np.array([numbers[owners[at]] for at in places.tolist()], np.int64)
    balance = total + offsets.repeat(lengths)
    owner = owner.repeat(lengths)
    state = (balance * _FACTOR + moved) * _FACTOR + owner  # overflows, as a hash may
    is_repeated = pl.Series(state).is_duplicated() & pl.Series(moved != 0)
    named = {"owner": owner, "balance": balance, "moved": moved, "at": places.repeat(lengths)}
    ids = every["payment_id"].filter(is_repeated).hash()
    return pl.DataFrame({name: pl.Series(each).filter(is_repeated) for name, each in named.items()} | {"id": ids})
