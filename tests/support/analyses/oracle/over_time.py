"""Tables with a row for each period of a calendar, or each hour of the week."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from p2p_analytics.analyses._notes.reasons import find_reasons
from support.analyses.oracle.categories import find_category
from support.analyses.oracle.rules import (
    SeveralCurrenciesError,
    find_day,
    find_moved,
    find_person,
    group,
    latest,
    nulls_last,
    select,
    select_payments,
    sent_received,
    share,
    sum_cents,
    to_utc,
    within_calendar,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from support.analyses.oracle.rules import Record

ZONE_UTC = ZoneInfo("UTC")
NEXT = {"day": 1, "week": 7, "month": 31, "quarter": 92, "year": 366}
MONTHS = {"month": 1, "quarter": 3, "year": 12}


def begin(day: date, every: str) -> date:
    """Return the first day of a period."""
    if every == "day":
        return day
    if every == "week":
        return day - timedelta(days=day.weekday())
    return date(day.year, (day.month - 1) // MONTHS[every] * MONTHS[every] + 1, 1)


def list_periods(days: Iterable[date | None], every: str) -> list[date | None]:
    """Return the first days of all periods from the first to the last, and None at the end if a day is unknown."""
    found = list(days)
    known = [day for day in found if day is not None]
    periods: list[date | None] = []
    if known:
        at, last = begin(min(known), every), max(known)
        while at <= last:
            periods.append(at)
            at = begin(at + timedelta(days=NEXT[every]), every)
    return periods + [None] * (len(known) < len(found))


def find_period(moment: datetime | None, zone: ZoneInfo, every: str) -> date | None:
    """Return the first day of the period that an instant is in."""
    day = find_day(moment, zone)
    return None if day is None else begin(day, every)


def name_month(month: date | None) -> str | None:
    """Return a month like 2024-05."""
    return None if month is None else f"{month:%Y-%m}"


def monthly_flow(records: Sequence[Record], zone: ZoneInfo = ZONE_UTC) -> list[Record]:
    """Return a row for each month."""
    settled = select(select_payments(records), "settled")
    months = group(settled, lambda record: find_period(find_moved(record), zone, "month"))
    rows, running = [], 0
    for month in list_periods(months, "month"):
        found = months.get(month, [])
        running += sum_cents(found, "direction", "in") - sum_cents(found, "direction", "out")
        totals = {**sent_received(found), "payments": len(found), "running_net": running / 100}
        rows.append({"month": name_month(month), **totals})
    return rows


def find_values(record: Record, by: str | None, rules: Sequence[Record] | None) -> tuple[Any, ...]:
    """Return the values that group payments."""
    if by == "category":
        return (find_category(record, rules) or "uncategorised",)
    if by == "counterparty":
        return find_person(record)
    return () if by is None else (record[by],)


def spending_over_time(
    records: Sequence[Record],
    zone: ZoneInfo = ZONE_UTC,
    every: str = "month",
    by: str | None = None,
    rules: Sequence[Record] | None = None,
) -> list[Record]:
    """Return a row for each period and value."""
    settled = select(records if by == "kind" else select_payments(records), "settled")
    if len({record["currency"] or "USD" for record in settled}) > 1:
        raise SeveralCurrenciesError
    groups = group(settled, lambda record: find_values(record, by, rules))
    rows = []
    periods = {id(record): find_period(find_moved(record), zone, every) for record in settled}
    by_period = {values: group(found, lambda record: periods[id(record)]) for values, found in groups.items()}
    for number, period in enumerate(list_periods(periods.values(), every)):
        for values, records_of in groups.items():
            found = by_period[values].get(period, [])
            names = {name: value for name, value in zip([by], values, strict=False) if name is not None}
            order: tuple[Any, ...] = tuple(map(nulls_last, values))
            if by == "counterparty":
                names = {"counterparty_id": values[0], "counterparty_name": latest(records_of, "counterparty_name")}
                order = (-sum_cents(found, "direction", "out"), *map(nulls_last, names.values()))
            elif by == "category":
                order = (values[0] == "uncategorised", values[0])
            rows.append(((number, order), {"period": period, **names, **sent_received(found), "payments": len(found)}))
    return [row for _, row in sorted(rows, key=lambda each: each[0])]


def people_by_year(records: Sequence[Record], zone: ZoneInfo = ZONE_UTC) -> list[Record]:
    """Return a row for each year."""
    settled = [record for record in select(select_payments(records), "settled") if find_moved(record) is not None]
    years = group(settled, lambda record: find_day(find_moved(record), zone).year)
    rows = []
    for year in range(min(years, default=0), max(years, default=-1) + 1):
        found = years.get(year, [])
        people = {find_person(record) for record in found}
        earlier = {find_person(record) for before in years if before < year for record in years[before]}
        sums = sorted((sum_cents(alike) for alike in group(found, find_person).values()), reverse=True)
        rows.append(
            {
                "year": year,
                "people": len(people),
                "new": len(people - earlier),
                "lost": len({find_person(record) for record in years.get(year - 1, [])} - people),
                "top_person_share": share(sum(sums[:1]), sum(sums)),
                "top_5_share": share(sum(sums[:5]), sum(sums)),
                "payments": len(found),
                "sent": sum_cents(found, "direction", "out") / 100,
                "received": sum_cents(found, "direction", "in") / 100,
            }
        )
    return rows


def activity(records: Sequence[Record], zone: ZoneInfo = ZONE_UTC) -> list[Record]:
    """Return a row for each hour of the week."""
    found: dict[tuple[int, int], list[Record]] = {(day, hour): [] for day in range(7) for hour in range(24)}
    for record in select(select_payments(records), "settled"):
        if (created := within_calendar(to_utc(record["date_created"]))) is not None:
            local = created.astimezone(zone)
            found[local.weekday(), local.hour].append(record)
    return [
        {"weekday": day, "hour": hour, "payments": len(here), "amount": sum_cents(here) / 100}
        for (day, hour), here in found.items()
    ]


def exposure(records: Sequence[Record], zone: ZoneInfo = ZONE_UTC) -> list[Record]:
    """Return a row for each month."""
    payments = select_payments(records)
    months = group(payments, lambda record: find_period(within_calendar(to_utc(record["date_created"])), zone, "month"))
    rows = []
    for month in list_periods(months, "month"):
        found = months.get(month, [])
        audiences = [record["audience"] for record in found]
        counts = {name: audiences.count(name) for name in ("public", "friends", "private")}
        public = [record for record in found if record["audience"] == "public"]
        rows.append(
            {
                "month": name_month(month),
                "payments": len(found),
                **counts,
                "share_public": share(len(public), len(found)) if any(counts.values()) else None,
                "sensitive_public": sum(bool(find_reasons(record["note"] or "")) for record in public),
            }
        )
    return rows
