"""The holder of a statement: handle and period of the lines before the header, and the side of each payment."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Final

from p2p_analytics.display import MONTH_NAMES
from p2p_analytics.statements._cells import list_problems
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from zoneinfo import ZoneInfo

    import polars as pl

    from p2p_analytics.statements._format import Problem

_HANDLE: Final = re.compile(r"\(@([^()\s]{1,100})\)")
_DAY: Final = r"([A-Za-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}))?"
_PERIOD: Final = re.compile(rf"{_DAY} (?:to|-) {_DAY}", re.ASCII)
_USERNAME: Final = "username"


def read_handles(preambles: Mapping[str, Sequence[Sequence[str]]], cells: pl.DataFrame) -> dict[str, str | None]:
    """Return the account of each file: the handle before the header, else the first one in the column of usernames."""
    import polars as pl

    handles = {file: _find_handle(lines) for file, lines in preambles.items()}
    named = cells.select("file", _USERNAME).filter(pl.col(_USERNAME).is_not_null())
    names = named.filter(pl.col(_USERNAME).str.strip_chars().str.contains(r"^\S+$"))
    for file, name in names.group_by("file", maintain_order=True).agg(pl.col(_USERNAME).first()).iter_rows():
        handles[file] = handles.get(file) or name.strip().removeprefix("@")
    return handles


def read_periods(
    preambles: Mapping[str, Sequence[Sequence[str]]], tz: ZoneInfo
) -> dict[str, tuple[datetime | None, datetime | None]]:
    """Return the first and last moment of the period in the title, such as "June 1st to September 1st 2021".

    Its days are those of the zone of the file's datetimes.
    """
    found: dict[str, tuple[datetime | None, datetime | None]] = {}
    for file, lines in preambles.items():
        period = next(filter(None, (_find_period(" ".join(line), tz) for line in lines)), None)
        if period is not None:
            found[file] = period
    return found


def find_holders(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return rows with ``owner``, ``direction`` and ``counterparty_name``, and problems for contradicting signs.

    The sign of the amount says which side the holder is. The holder of an account, or of a file without one, is the
    name that is most often on that side of its payments. Where the sign puts the holder on the other side, the
    direction is that of the sign, and the counterparty the other name. An amount of zero has the direction
    of the names.
    """
    import polars as pl

    is_charge, flow = pl.col("action") == Action.CHARGE.value, pl.col("flow_cents")
    # The actor of a payment sends the money, the actor of a charge receives it.
    is_actor = pl.when(flow != 0).then((flow > 0) == is_charge)
    sided = rows.with_columns(is_actor.alias("is_actor"), pl.coalesce("account", "file").alias("key"))
    sided = sided.with_columns(_pick("from_name", "to_name").alias("own"), _pick("to_name", "from_name").alias("other"))
    sided = sided.join(_find_owners(sided), on="key", how="left", maintain_order="left")
    owner = pl.col("owner")
    contradicts = ((pl.col("own") != owner) & (pl.col("other") == owner)).fill_null(value=False)
    by_name = pl.when(pl.col("from_name") == owner).then(1).when(pl.col("to_name") == owner).then(0)
    is_in = pl.coalesce(pl.when(flow != 0).then(flow > 0), (by_name == 1) == is_charge)
    sided = sided.with_columns(
        pl.when(is_in).then(pl.lit("in")).when(~is_in).then(pl.lit("out")).alias("direction"),
        pl.when(contradicts)
        .then("own")
        .when(pl.col("other").is_not_null())
        .then("other")
        .when(by_name == 1)
        .then("to_name")
        .when((by_name == 0) | (flow > 0))
        .then("from_name")
        .when(flow < 0)
        .then("to_name")
        .alias("counterparty_name"),
        contradicts.alias("contradicts"),
    )
    problem = "the sign contradicts From and To; the direction is that of the sign"
    problems = list_problems(sided, sided["contradicts"], sided["flow_cents"], field="total", problem=problem)
    return sided, problems


def _pick(of_actor: str, of_target: str) -> pl.Expr:
    """Return one side of a payment, by whether the holder is the actor; null for other rows."""
    import polars as pl

    side = pl.when(pl.col("is_actor")).then(of_actor).when(~pl.col("is_actor")).then(of_target)
    return pl.when(pl.col("action").is_not_null()).then(side)


def _find_owners(sided: pl.DataFrame) -> pl.DataFrame:
    """Return ``key`` and ``owner``: the name that is most often the holder's; none if two are equally often."""
    import polars as pl

    counts = (
        sided.filter(pl.col("own").is_not_null())
        .group_by("key", "own")
        .agg(count=pl.len())
        .sort("key", "count", "own", descending=[False, True, False])
    )
    best = counts.group_by("key", maintain_order=True).agg(pl.col("own").first(), pl.col("count"))
    first, second = pl.col("count").list.get(0), pl.col("count").list.get(1, null_on_oob=True)
    return best.select("key", owner=pl.when(second.is_null() | (first > second)).then("own"))


def _find_handle(lines: Sequence[Sequence[str]]) -> str | None:
    for line in lines:
        found = _HANDLE.search(" ".join(line))
        if found:
            return found[1]
        if len(line) > 1 and line[0].strip().casefold() == _USERNAME and line[1].strip():
            return line[1].strip().removeprefix("@")
    return None


def _find_period(title: str, tz: ZoneInfo) -> tuple[datetime, datetime] | None:
    found = _PERIOD.search(title)
    if found is None or found[6] is None:
        return None
    first_month, first_day, first_year, last_month, last_day, last_year = found.groups()
    end = _find_day(int(last_year), last_month, last_day)
    start = _find_day(int(first_year or last_year), first_month, first_day)
    if end and start and start > end and first_year is None:
        start = _find_day(int(last_year) - 1, first_month, first_day)
    if end is None or start is None or start > end:
        return None
    first, last = datetime.combine(start, time.min, tz), datetime.combine(end, time.max, tz)
    return first.astimezone(UTC), last.astimezone(UTC)


def _find_day(year: int, month: str, day: str) -> date | None:
    try:
        return date(year, [name.casefold() for name in MONTH_NAMES].index(month[:3].casefold()) + 1, int(day))
    except ValueError:
        return None
