"""Findings: what stands out in the tables of a report, as sentences, each about one section."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd

from p2p_analytics.analyses import categories
from p2p_analytics.analyses.build import UNCATEGORISED
from p2p_analytics.display import MONTH_NAMES, format_count, format_share
from p2p_analytics.frames.schema import are_open_requests
from p2p_analytics.money import add_units
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
    from datetime import datetime

    from p2p_analytics.report._cells import CellWriter
    from p2p_analytics.report._page import Line

    Money = Callable[[float], str]

_OLD_DAYS: Final = 30  # the age at which pending_ageing begins the band of requests that are seldom paid
_LARGE_SHARE: Final = 0.4
_FEWEST_OTHERS: Final = 3  # people or categories, below which a large share says nothing
_MAIN: Final = 0.8  # of the money sent to a person, from which one category names it
_OF_ALL_ROWS: Final = frozenset({"pending_requests", "recurring"})  # missing ones would change these
_LARGE_CHANGE: Final = 0.1
_MANY_TIMES: Final = 10  # above which the earlier amount says little
_FEWEST_MONTHS: Final = 3
_FEWEST_REQUESTS: Final = 5
_FEW_PAID: Final = 0.5
_MOST_PUBLIC: Final = 0.5


class Person(NamedTuple):
    """A person in a sentence."""

    counterparty_id: str | None
    counterparty_name: str | None


class Finding(NamedTuple):
    """A sentence in parts, some of them people, and the section that it is about."""

    section: str
    parts: tuple[str | Person, ...]


class Limits(NamedTuple):
    """What the data has, and what it lacks."""

    # The date from which the data holds all payments: months of a year that begins earlier are not compared with.
    since: datetime | None
    # The time of the data in the zone of its months: months that have ended by then are compared with a year before.
    # Without it none are, and nothing is said of open requests and late series: payments are known to be missing.
    until: datetime | None
    unclear: Collection[str]  # the months of `list_unclear_months`, which are not compared


def list_findings(
    tables: Mapping[str, pd.DataFrame], payments: pd.DataFrame, limits: Limits, money: Money
) -> list[Finding]:
    """Return the findings of a report, what can be done something about first; none if nothing stands out.

    Tables are by the names of their analyses, of the payments between people; there are no findings about an analysis
    that is not among them.
    """
    rules: dict[str, Callable[[pd.DataFrame], Iterator[Finding]]] = {
        "pending_requests": lambda table: _find_old_requests(table, payments, money),
        "recurring": lambda table: _find_late(table, money),
        "unusual": lambda table: _find_duplicates(table, money),
        "sensitive_notes": _find_sensitive,
        "exposure": _find_public,
        "request_outcomes": _find_unpaid,
        "spend_by_friend": lambda table: _find_main_parts(table, tables.get("categories"), payments),
    }
    if limits.until is None:
        rules = {name: rule for name, rule in rules.items() if name not in _OF_ALL_ROWS}
    else:
        until = limits.until
        rules["monthly_flow"] = lambda table: _compare_years(table, limits, until)
    return [finding for name, rule in rules.items() if name in tables for finding in rule(tables[name])]


def list_unclear_months(payments: pd.DataFrame, build: Callable[..., pd.DataFrame]) -> frozenset[str]:
    """Return the months in which an unknown amount of money was sent.

    ``build`` returns the table of an analysis by its name, of the given payments.
    """
    unclear = _select_unclear(payments)
    if unclear.empty:
        return frozenset()
    flow = build("monthly_flow", payments=unclear)
    return frozenset(flow.loc[flow["payments"] > 0, "month"].dropna())


def _select_unclear(payments: pd.DataFrame) -> pd.DataFrame:
    """Return the settled payments that sent an unknown amount of money."""
    is_sent = (payments["direction"] == "out") & (payments["status"] == Status.SETTLED.value)
    return payments[is_sent & payments["flow_cents"].isna()]


def _select_person(payments: pd.DataFrame, person: Person) -> pd.DataFrame:
    """Return the payments with a person: by id or, without one, by name, which may be unknown too."""
    known = person._asdict()
    if person.counterparty_id is not None:
        del known["counterparty_name"]
    for field, value in known.items():
        payments = payments[payments[field].isna() if value is None else payments[field] == value]
    return payments


def list_people(findings: Iterable[Finding]) -> list[dict[str, str | None]]:
    """Return the people in findings, as rows for `label_people`."""
    return [part._asdict() for finding in findings for part in finding.parts if isinstance(part, Person)]


def write_finding(finding: Finding, writer: CellWriter) -> Line:
    """Return the sentence of a finding with the labels of its people."""
    line: Line = ()
    for part in finding.parts:
        if isinstance(part, Person):
            line += writer.write_person(part._asdict(), unnamed="an unknown person", with_others=False)
        else:
            line += (part,)
    return line


def _find_old_requests(pending: pd.DataFrame, payments: pd.DataFrame, money: Money) -> Iterator[Finding]:
    """Yield what others, and then what the user, have left open for long; a payment to a newcomer is not a request.

    Requests of no money are left out.
    """
    requests = pending[are_open_requests(pending["payment_id"], payments) & (pending["amount"] != 0)]
    for side, beginning, link in (("in", "You are still owed", "to"), ("out", "You still owe", "from")):
        old = requests[(requests["direction"] == side) & (requests["age_days"] >= _OLD_DAYS)]
        if old.empty:
            continue
        oldest = old.iloc[0]
        unknown = int(old["amount"].isna().sum())
        amount = "an unknown amount" if unknown == len(old) else money(add_units(old["amount"].dropna()))
        person, days = _name_person(oldest), oldest["age_days"]
        if len(old) == 1:
            words = f" for {amount} has been open for {days:,} days."
            yield Finding("pending_requests", (f"A request {link} ", person, words))
        else:
            count = f"{amount} in {len(old):,} requests that are {_OLD_DAYS} days old or older"
            part = f", {unknown:,} of them of unknown amount" if 0 < unknown < len(old) else ""
            words = f"{beginning} {count}{part}; the oldest, {link} "
            yield Finding("pending_requests", (words, person, f", is {days:,} days old."))


def _find_late(series: pd.DataFrame, money: Money) -> Iterator[Finding]:
    """Yield the largest payment that recurs and is late, and how many there are."""
    late = series[series["state"] == "late"]
    if late.empty:
        return
    first = late.iloc[0]
    day, link = first["next_expected"], "to" if first["direction"] == "out" else "from"
    payment = f"{first['cadence']} payment of about {money(first['amount'])} {link} "
    expected = f" was expected on {day.day} {MONTH_NAMES[day.month - 1]} {day.year}."
    if len(late) == 1:
        yield Finding("recurring", (f"A {payment}", _name_person(first), expected))
    else:
        words = f"{len(late):,} payments that recur are late; the largest, a {payment}"
        yield Finding("recurring", (words, _name_person(first), f",{expected}"))


def _find_duplicates(unusual: pd.DataFrame, money: Money) -> Iterator[Finding]:
    """Yield how many payments look like duplicates, and what they are worth."""
    found = unusual[(unusual["reason"] == "duplicate") & (unusual["amount"] != 0)]
    if found.empty:
        return
    amount = money(add_units(found["amount"]))
    if len(found) == 1:
        parts = (f"A payment of {amount} looks like a duplicate, with ", _name_person(found.iloc[0]), ".")
        yield Finding("unusual", parts)
        return
    words = f"{len(found):,} payments, {amount} together, look like duplicates; the last is with "
    yield Finding("unusual", (words, _name_person(found.iloc[0]), "."))


def _find_sensitive(notes: pd.DataFrame) -> Iterator[Finding]:
    if len(notes):
        verb = "has" if len(notes) == 1 else "have"
        count = format_count(len(notes), "public payment", "public payments")
        yield Finding("sensitive_notes", (f"{count} {verb} a note that reveals something private.",))


def _find_public(exposure: pd.DataFrame) -> Iterator[Finding]:
    """Yield the share of public payments, if most are; of all payments, as in the table."""
    share = exposure["public"].sum() / max(exposure["payments"].sum(), 1)
    if share >= _MOST_PUBLIC:
        yield Finding("exposure", (f"{format_share(share)} of your payments are public.",))


def _find_unpaid(outcomes: pd.DataFrame) -> Iterator[Finding]:
    """Yield who paid the smallest share of the user's requests, of the people with several ended ones."""
    is_known = outcomes[[*Person._fields]].notna().any(axis="columns")
    own = outcomes[(outcomes["direction"] == "in") & is_known].assign(ended=outcomes["requests"] - outcomes["pending"])
    seldom = own[(own["ended"] >= _FEWEST_REQUESTS) & (own["share_settled"] <= _FEW_PAID)]
    if len(seldom):
        row = seldom.sort_values("share_settled", kind="stable").iloc[0]
        asked = f"Of your {row['ended']:,} requests to "
        paid = f" that are not open any more, {row['settled']:,} {'was' if row['settled'] == 1 else 'were'} paid."
        yield Finding("request_outcomes", (asked, _name_person(row), paid))


def _find_main_parts(people: pd.DataFrame, reasons: pd.DataFrame | None, payments: pd.DataFrame) -> Iterator[Finding]:
    """Yield the person and the category with a large share of the money sent, in one sentence if they are one thing.

    With an unknown amount that was sent, the shares are not known.
    """
    if len(_select_unclear(payments)):
        return
    named = ""
    largest = _select_largest(people)
    if len(largest):
        people_named = [_name_person(row) for _, row in largest.iterrows()]
        # Without id and name, the payments of a row may be of several people.
        payees = [person if any(person) else "people who are not known" for person in people_named]
        share = largest["share_of_sent"].iloc[0]
        if reasons is not None and len(largest) == 1:
            reason = categories(_select_person(payments, people_named[0])).iloc[0]
            of_all = reason["sent"] / add_units(people["sent"])
            if reason["category"] != UNCATEGORISED and reason["share_of_sent"] >= _MAIN and of_all >= _LARGE_SHARE:
                named, share = reason["category"], of_all
        text = f"{format_share(share)} of what you sent"
        also = [part for payee in payees[1:] for part in (", and as much to ", payee)]
        beginning, end = (f"{named.capitalize()} to ", f" is {text}.") if named else (f"{text} went to ", ".")
        yield Finding("spend_by_friend", (beginning, payees[0], *also, end))
    if reasons is None:
        return
    largest = _select_largest(reasons[reasons["category"] != UNCATEGORISED])
    names = [str(name) for name in largest["category"]]
    if names and names != [named]:
        others = "".join(f", and {name} as much" for name in names[1:])
        text = f"{format_share(largest['share_of_sent'].iloc[0])} of what you sent"
        yield Finding("categories", (f"{names[0].capitalize()} is {text}{others}.",))


def _select_largest(table: pd.DataFrame) -> pd.DataFrame:
    """Return the one or more rows with the largest share of the money sent; none if it is not large."""
    sent = table[table["sent"] > 0]
    is_large = len(sent) > _FEWEST_OTHERS and sent["share_of_sent"].iloc[0] >= _LARGE_SHARE
    return sent[sent["sent"] == sent["sent"].iloc[0]] if is_large else sent.head(0)


def _compare_years(flow: pd.DataFrame, limits: Limits, until: datetime) -> Iterator[Finding]:
    """Yield how much the money sent in a year differs from the same months of the year before."""
    # In January no month of the year has ended yet: the last two whole years are compared.
    year, last = (until.year, until.month - 1) if until.month > 1 else (until.year - 1, 12)
    sent = dict(zip(flow["month"], flow["sent"], strict=True))
    compared = [[f"{number}-{month:02}" for month in range(1, last + 1)] for number in (year - 1, year)]
    before, now = (round(add_units(map(sent.get, months)) * 100) for months in compared)
    begin = until.replace(year=year - 1, month=1, day=1, hour=0, minute=0, second=0, microsecond=0)
    if (limits.since is not None and limits.since > begin) or not {*chain(*compared)}.isdisjoint(limits.unclear):
        return
    # Payments that begin within January could lack some of it, and a lone one long before could have a wrong date.
    months = flow.loc[flow["payments"] > 0, "month"].dropna()
    has_begun = months.between(f"{year - 2}-01", f"{year - 2}-12").any()
    if last < _FEWEST_MONTHS or not has_begun or not before or not now:
        return
    change = (now - before) / before
    if abs(change) < _LARGE_CHANGE:
        return
    text = f"{format_share(abs(change))} {'above' if change > 0 else 'below'}"
    if now > _MANY_TIMES * before:
        text = f"more than {_MANY_TIMES} times"
    whole = f"Spending in {year} was {text} that of {year - 1}."
    end = f"the end of {MONTH_NAMES[last - 1]}"
    part = f"Spending in {year} until {end} is {text} that of the same months of {year - 1}."
    yield Finding("monthly_flow", (whole if last == len(MONTH_NAMES) else part,))


def _name_person(row: pd.Series[Any]) -> Person:
    return Person(*(None if pd.isna(row[name]) else str(row[name]) for name in Person._fields))
