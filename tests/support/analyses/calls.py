"""A call of every analysis, with arguments of each kind."""

from collections.abc import Callable
from typing import Any, Final

import pandas as pd

import p2p_analytics as p2p

AS_OF: Final = "2025-03-01T12:00"
FRIENDS: Final = pd.DataFrame({"user_id": ["3", "4"]}, dtype="str")
RULES: Final = pd.DataFrame(
    [
        ("", "Ann", " ANN quill"), ("pizza", "pizza of 3", "3"), ("PIZZA", "food", None),
        ("\u0130ZM\u0130R", "travel", None), ("\U0001f373", "food", None), ("\u2708\ufe0f", "travel", None),
        ("\U0001f3cb\ufe0f\u200d\u2642\ufe0f", "sport", None), ("rent", "home", None),
        ("\u03bf\u03b4\u03bf\u03c2", "street", None), ("\U0001f1e7\U0001f1f7", "Brazil", None),
        ("\U0001f1f5\U0001f1e7", "nowhere", None), ("caf\u00e9", "coffee", None), ("%", "per cent", None),
        ("\\", "slash", None),
    ],
    columns=["pattern", "category", "person"],
    dtype=object,
)  # fmt: skip


def categorise(frame: Any, rules: pd.DataFrame | None = None) -> Any:
    """Return the ids and categories of a frame's payments as its kind of frame."""
    if isinstance(frame, pd.DataFrame):
        return pd.DataFrame({"payment_id": frame["payment_id"], "category": p2p.categorise(frame, rules)})
    return p2p.categorise(frame, rules).select("payment_id", "category")


def over_time(every: str, by: str | None, tz: str, rules: pd.DataFrame | None = None) -> Callable[[Any], Any]:
    """Return a call of `spending_over_time`."""
    return lambda frame: p2p.spending_over_time(frame, every=every, by=by, tz=tz, rules=rules)


# By the name of the analysis, and a word for its arguments.
CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    "activity": lambda frame: p2p.activity(frame, tz="Australia/Lord_Howe"),
    "categories": p2p.categories,
    "categories, own rules": lambda frame: p2p.categories(frame, RULES),
    "categorise": categorise,
    "categorise, own rules": lambda frame: categorise(frame, RULES),
    "exposure": lambda frame: p2p.exposure(frame, tz="America/St_Johns"),
    "monthly_flow": lambda frame: p2p.monthly_flow(frame, "Pacific/Apia"),
    "monthly_flow, accounts": lambda frame: p2p.monthly_flow(frame, "America/New_York", by_account=True),
    "pending_ageing": lambda frame: p2p.pending_ageing(frame, AS_OF),
    "pending_ageing, accounts": lambda frame: p2p.pending_ageing(frame, AS_OF, edges=[365], by_account=True),
    "pending_requests": lambda frame: p2p.pending_requests(frame, AS_OF),
    "people_by_year": lambda frame: p2p.people_by_year(frame, tz="Asia/Kathmandu"),
    "recurring": lambda frame: p2p.recurring(frame, as_of=AS_OF, tz="America/New_York"),
    "request_outcomes": p2p.request_outcomes,
    "sensitive_notes": p2p.sensitive_notes,
    "spend_by_friend": p2p.spend_by_friend,
    "spend_by_friend, friends": lambda frame: p2p.spend_by_friend(frame, FRIENDS, top=3),
    "spend_by_friend, accounts": lambda frame: p2p.spend_by_friend(frame, top=2, by_account=True),
    "spending_over_time, week": over_time("week", "counterparty", "Asia/Kathmandu"),
    "spending_over_time, quarter": over_time("quarter", "category", "UTC"),
    "spending_over_time, year": over_time("year", "category", "America/New_York", RULES),
    "spending_over_time, kind": over_time("year", "kind", "Pacific/Apia"),
    "spending_over_time, action": over_time("month", "action", "America/St_Johns"),
    "spending_over_time, day": over_time("day", None, "Australia/Lord_Howe"),
    "split_bills": lambda frame: p2p.split_bills(frame, as_of=AS_OF),
    "split_bills, close": lambda frame: p2p.split_bills(frame, as_of=AS_OF, within="5min"),
    "status_mix": p2p.status_mix,
    "status_mix, names": lambda frame: p2p.status_mix(frame, by="counterparty_name"),
    "status_mix, accounts": lambda frame: p2p.status_mix(frame, by_account=True),
    "time_to_settle": p2p.time_to_settle,
    "time_to_settle, people": lambda frame: p2p.time_to_settle(frame, by="counterparty_id"),
    "unusual": p2p.unusual,
    "unusual, two days": lambda frame: p2p.unusual(frame, within="2d"),
}
WITHOUT_MONEY: Final = ("categorise", "exposure", "sensitive_notes", "time_to_settle")


def pick(number: int) -> dict[str, Callable[[Any], Any]]:
    """Return one call of each analysis; the next number has the next arguments."""
    labels: dict[str, list[str]] = {}
    for label in CALLS:
        labels.setdefault(label.partition(",")[0], []).append(label)
    return {label: CALLS[label] for each in labels.values() for label in [each[number % len(each)]]}
