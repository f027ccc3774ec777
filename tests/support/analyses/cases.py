"""Every analysis with arguments of each kind, beside its oracle."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from support.analyses import oracle
from support.analyses.containers import read_rows
from support.analyses.equality_table import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from support.analyses.records import Record

AS_OF = datetime(2025, 3, 1, 12, tzinfo=UTC)
RULES: list[Record] = [
    {"pattern": "", "category": "Ann", "person": " ANN quill"},
    {"pattern": "pizza", "category": "pizza of 3", "person": "3"},
    {"pattern": "PIZZA", "category": "food", "person": None},
    {"pattern": "\u0130ZM\u0130R", "category": "travel", "person": None},
    {"pattern": "\U0001f373", "category": "food", "person": None},
    {"pattern": "\u2708\ufe0f", "category": "travel", "person": None},
    {"pattern": "\U0001f3cb\ufe0f\u200d\u2642\ufe0f", "category": "sport", "person": None},
    {"pattern": "rent", "category": "home", "person": None},
    {"pattern": "\u03bf\u03b4\u03bf\u03c2", "category": "street", "person": None},
    {"pattern": "\U0001f1e7\U0001f1f7", "category": "Brazil", "person": None},
    {"pattern": "\U0001f1f5\U0001f1e7", "category": "nowhere", "person": None},
    {"pattern": "caf\u00e9", "category": "coffee", "person": None},
    {"pattern": "%", "category": "per cent", "person": None},
    {"pattern": "\\", "category": "slash", "person": None},
]
RULE_TABLE = pd.DataFrame(RULES, dtype=object)


class Case(NamedTuple):
    """An analysis with arguments, and the same by loops; both take a zone if `has_zone`.

    `status` is that of the payments that count, "" for any; None for an analysis without money.
    """

    name: str
    run: Callable[..., Any]
    check: Callable[..., list[Record]]
    has_zone: bool = False
    status: str | None = "settled"

    def expect(self, records: Sequence[Record], *arguments: str) -> list[Record] | None:
        """Return the rows by loops, None where the payments that count are in several currencies."""
        try:
            rows = self.check(records, *arguments)
        except oracle.SeveralCurrenciesError:
            return None
        if self.status is None:
            return rows
        payments = oracle.select_payments(records)
        counted = oracle.select(payments, self.status) if self.status else payments
        currencies = {record["currency"] or "USD" for record in counted} - {"USD"}
        return [{**row, "currency": currency} for row in rows for currency in currencies] if currencies else rows

    def find_difference(self, frame: Any, expected: list[Record] | None, *arguments: str) -> str:
        """Return the first difference of the table of a frame, empty for none."""
        if expected is None:
            with pytest.raises(SchemaError, match="in one currency"):
                self.run(frame, *arguments)
            return ""
        found = read_rows(self.run(frame, *arguments))
        if self.name == "categorise":
            found = [{"category": row["category"]} for row in found]
        for number, (row, wanted) in enumerate(zip(found, expected, strict=False)):
            if row != wanted or list(row) != list(wanted):
                return f"row {number} is {row}, not {wanted}"
        return "" if len(found) == len(expected) else f"{len(found)} rows, not {len(expected)}"


def _over_time(every: str, by: str | None, rules: Sequence[Record] | None = None) -> Case:
    table = None if rules is None else RULE_TABLE
    return Case(
        "spending_over_time",
        lambda frame, zone: p2p.spending_over_time(frame, every=every, by=by, tz=zone, rules=table),
        lambda records, zone: oracle.spending_over_time(records, ZoneInfo(zone), every, by, rules),
        has_zone=True,
    )


def _with_zone(name: str, status: str | None = "settled") -> Case:
    run, check = getattr(p2p, name), getattr(oracle, name)
    return Case(
        name,
        lambda frame, zone: run(frame, tz=zone),
        lambda records, zone: check(records, ZoneInfo(zone)),
        has_zone=True,
        status=status,
    )


def _by_account(check: Callable[..., list[Record]]) -> Callable[..., list[Record]]:
    """Return the loops over the payments of each account, accounts in the order of their ids."""

    def check_each(records: Sequence[Record], *arguments: Any) -> list[Record]:
        accounts = oracle.group(oracle.select_payments(records), lambda record: record["account_id"])
        order = sorted(accounts, key=lambda account: (account is None, account or ""))
        return [{"account_id": each, **row} for each in order for row in check(accounts[each], *arguments)]

    return check_each


FRIENDS = ["3", "4"]
CASES: tuple[Case, ...] = (
    Case("spend_by_friend", p2p.spend_by_friend, oracle.spend_by_friend),
    Case(
        "spend_by_friend",
        lambda frame: p2p.spend_by_friend(frame, pd.DataFrame({"user_id": FRIENDS}, dtype="str"), top=3),
        lambda records: oracle.spend_by_friend(records, FRIENDS, 3),
    ),
    Case(
        "spend_by_friend",
        lambda frame: p2p.spend_by_friend(frame, by_account=True),
        _by_account(oracle.spend_by_friend),
    ),
    _with_zone("monthly_flow"),
    Case(
        "monthly_flow",
        lambda frame, zone: p2p.monthly_flow(frame, zone, by_account=True),
        _by_account(lambda records, zone: oracle.monthly_flow(records, ZoneInfo(zone))),
        has_zone=True,
    ),
    Case(
        "status_mix",
        lambda frame: p2p.status_mix(frame, by_account=True),
        _by_account(oracle.status_mix),
        status="",
    ),
    Case(
        "pending_ageing",
        lambda frame: p2p.pending_ageing(frame, AS_OF, by_account=True),
        _by_account(lambda records: oracle.pending_ageing(records, AS_OF)),
        status="pending",
    ),
    Case("status_mix", p2p.status_mix, oracle.status_mix, status=""),
    Case(
        "status_mix",
        lambda frame: p2p.status_mix(frame, by="counterparty_name"),
        lambda records: oracle.status_mix(records, "counterparty_name"),
        status="",
    ),
    Case(
        "pending_ageing",
        lambda frame: p2p.pending_ageing(frame, AS_OF),
        lambda records: oracle.pending_ageing(records, AS_OF),
        status="pending",
    ),
    Case(
        "pending_ageing",
        lambda frame: p2p.pending_ageing(frame, AS_OF, edges=[365]),
        lambda records: oracle.pending_ageing(records, AS_OF, [365]),
        status="pending",
    ),
    Case(
        "pending_requests",
        lambda frame: p2p.pending_requests(frame, AS_OF),
        lambda records: oracle.pending_requests(records, AS_OF),
        status="pending",
    ),
    _over_time("month", None),
    _over_time("week", "counterparty"),
    _over_time("quarter", "category"),
    _over_time("year", "category", RULES),
    _over_time("year", "kind"),
    _over_time("quarter", "action"),
    _over_time("day", None),
    _with_zone("people_by_year"),
    _with_zone("activity"),
    _with_zone("exposure", None),
    Case("sensitive_notes", p2p.sensitive_notes, oracle.sensitive_notes, status=None),
    Case("categories", p2p.categories, oracle.categories),
    Case("categories", lambda frame: p2p.categories(frame, RULE_TABLE), lambda rows: oracle.categories(rows, RULES)),
    Case("categorise", p2p.categorise, oracle.categorise, status=None),
    Case(
        "categorise",
        lambda frame: p2p.categorise(frame, RULE_TABLE),
        lambda records: oracle.categorise(records, RULES),
        status=None,
    ),
    Case("request_outcomes", p2p.request_outcomes, oracle.request_outcomes, status=""),
    Case("time_to_settle", p2p.time_to_settle, oracle.time_to_settle, status=None),
    Case(
        "time_to_settle",
        lambda frame: p2p.time_to_settle(frame, by="counterparty_id"),
        lambda records: oracle.time_to_settle(records, "counterparty_id"),
        status=None,
    ),
    Case(
        "split_bills",
        lambda frame: p2p.split_bills(frame, as_of=AS_OF),
        lambda records: oracle.split_bills(records, AS_OF),
        status="",
    ),
    Case(
        "split_bills",
        lambda frame: p2p.split_bills(frame, as_of=AS_OF, within="5min"),
        lambda records: oracle.split_bills(records, AS_OF, timedelta(minutes=5)),
        status="",
    ),
    Case("unusual", p2p.unusual, oracle.unusual),
    Case(
        "unusual",
        lambda frame: p2p.unusual(frame, within="2d"),
        lambda records: oracle.unusual(records, timedelta(days=2)),
    ),
)
NAMES = tuple(dict.fromkeys(case.name for case in CASES))


def pick(number: int) -> list[Case]:
    """Return one case of each analysis; those of the next number have the next arguments."""
    cases = {name: [case for case in CASES if case.name == name] for name in NAMES}
    return [variants[number % len(variants)] for variants in cases.values()]


def compare(
    engine: str,
    frame: Any,
    expected: Sequence[tuple[Case, tuple[str, ...], list[Record] | None]],
    record_property: Callable[[str, object], None],
    groups: tuple[str, str],
) -> None:
    """Compare the tables of a frame with those by loops; record a cell for each, in the second group with a zone."""
    cells, differences = [], []
    for case, arguments, rows in expected:
        difference = case.find_difference(frame, rows, *arguments)
        cells.append((case.name, engine, groups[case.has_zone], not difference))
        if difference:
            differences.append(f"{case.name} {' '.join(arguments)}: {difference}")
    record_property(PROPERTY, cells)
    assert differences == []
