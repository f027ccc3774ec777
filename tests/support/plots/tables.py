"""Tables for plots: one for each plot, with names that are difficult to draw, and one without anything to draw."""

from datetime import date

import pandas as pd

NASTY = [
    "Maya 🍕", "split $\\frac$ lol", "_underscore", "王小明", "محمد علي", "two\nlines", "\u202eoverride", "bell\x07",
    "👨‍👩‍👧‍👦 family", "a name that never seems to come to any end", "", None, "rent $5 and $6", "{curly} %s \\n",
]  # fmt: skip
COUNT = len(NASTY)
_COLUMNS = {
    "spend_by_friend": {
        "counterparty_name": NASTY,
        "sent": [1250.5, *[12.0] * (COUNT - 1)],
        "received": [0.0, 99.5, *[0.0] * (COUNT - 2)],
    },
    "status_mix": {
        "medium": ["ios", "ios", "ios", "_x $a$ $b$", None],
        "status": ["settled", "failed", "_odd $c$ $d$", "pending", None],
        "payments": [900, 60, 40, 7, 1],
        "share": [0.9, 0.06, 0.04, 1.0, 1.0],
        "amount": [1.0, 1.0, 1.0, 1.0, 1.0],
        "share_of_amount": [0.4, 0.3, 0.3, 1.0, 1.0],
    },
    "pending_ageing": {
        "direction": ["in", "in", "out", "out", "out"],
        "band": ["under 7 days", "7 days or more", "under 7 days", "7 days or more", "no date"],
        "payments": [0, 2, 1, 0, 1],
        "amount": [0.0, 1234.0, 20.0, 0.0, 5.25],
    },
    "pending_requests": {
        "direction": ["in", "out"] * (COUNT // 2),
        "counterparty_name": NASTY,
        "amount": [12.5, None, *[3.0] * (COUNT - 2)],
        "age_days": pd.array([400, *[7] * (COUNT - 2), None], dtype="Int64"),
    },
    "reconciliation": {
        "file": NASTY,
        "account": [*NASTY[1:], "x"],
        "currency": ["USD", "EUR", "$x$", "_y", *["USD"] * (COUNT - 4)],
        "difference_cents": pd.array([0, -400, None, 2**60, *[0] * (COUNT - 4)], dtype="Int64"),
        "reconciled": pd.array([True, False, None, False, *[True] * (COUNT - 4)], dtype="boolean"),
        "period_start": pd.date_range("2024-01-01", periods=COUNT, freq="MS", tz="UTC"),
        "period_end": pd.date_range("2024-01-31", periods=COUNT, freq="ME", tz="UTC"),
        "gap_cents": pd.array([None, 5, -7, *[0] * (COUNT - 3)], dtype="Int64"),
    },
    "monthly_flow": {
        "month": ["2023-12", "2024-01", None],
        "sent": [100.25, 0.0, 50.0],
        "received": [20.0, 3000.0, 0.0],
        "net": [-80.25, 3000.0, -50.0],
    },
    "categories": {"category": NASTY, "sent": [1250.5, *[12.0] * (COUNT - 1)], "received": 0.0},
    "request_outcomes": {
        "counterparty_name": NASTY,
        "direction": ["in", "out"] * (COUNT // 2),
        "requests": 3,
        "settled": 1,
        "asked": [400.0, *[30.0] * (COUNT - 1)],
        "collected": 10.0,
        "still_open": 5.0,
    },
    "time_to_settle": {
        "counterparty_name": NASTY,
        "payments": 4,
        "days_p50": [0.0, *[0.25] * (COUNT - 1)],
        "days_p90": 1.0,
        "days_p99": 40.0,
        "days_max": [4000.0, *[40.0] * (COUNT - 1)],
    },
    "split_bills": {
        "date": [None, *pd.date_range("2024-01-01", periods=COUNT - 1, tz="UTC")],
        "note": NASTY,
        "people": 3,
        "asked": [90.0, *[30.0] * (COUNT - 1)],
        "collected": 10.0,
        "still_open": 15.0,
        "declined": 5.0,
        "oldest_open_days": [1.5, None] * (COUNT // 2),
    },
    "people_by_year": {
        "year": [2022, 2023, 2024],
        "people": [7, 0, 3],
        "new": [7, 0, 2],
        "lost": [0, 7, 0],
        "top_5_share": [0.9, 0, 1],
    },
    "activity": {
        "weekday": [day for day in range(7) for _ in range(24)],
        "hour": [*range(24)] * 7,
        "payments": [3, *range(167)],
    },
    "unusual": {
        "reason": ["duplicate", "large"] * (COUNT // 2),
        "amount": [500.0, *[30.0] * (COUNT - 1)],
        "usual": [None, 6.0] * (COUNT // 2),
        "counterparty_name": NASTY,
        "date_created": [None, *pd.date_range("2024-01-01", periods=COUNT - 1, tz="UTC")],
    },
    "recurring": {
        "counterparty_name": NASTY,
        "direction": ["in", "out"] * (COUNT // 2),
        "cadence": ["weekly", *["monthly"] * (COUNT - 1)],
        "amount": [500.25, *[30.0] * (COUNT - 1)],
        "first_date": pd.date_range("2023-01-31", periods=COUNT, freq="20D"),
        "last_date": pd.date_range("2024-01-31", periods=COUNT, freq="20D"),
        "next_expected": pd.date_range("2024-02-29", periods=COUNT, freq="20D"),
        "state": ["active", "late", *["ended"] * (COUNT - 2)],
        "note": [*NASTY[3:], *NASTY[:3]],
    },
    "spending_over_time": {
        "period": [date(2023, 12, 1), date(2024, 1, 1), None] * COUNT,
        "_by $x$": [name for name in NASTY for _ in range(3)],
        "sent": [400.0, 0.0, 25.5] * COUNT,
        "received": 1.0,
    },
    "exposure": {
        "month": ["2023-12", "2024-01", None],
        "payments": [10, 0, 3],
        "public": [4, 0, 1],
        "friends": [3, 0, 0],
        "private": [2, 0, 1],
        "sensitive_public": [1, 0, 1],
    },
    "sensitive_notes": {
        "date_created": [None, *pd.date_range("2024-01-01", periods=COUNT - 1, tz="UTC")],
        "note": NASTY,
        "reasons": ["health,location", "health", *NASTY[2:]],
    },
}
TABLES = {name: pd.DataFrame(columns) for name, columns in _COLUMNS.items()}
EMPTY_TABLES = {name: table.iloc[:0] for name, table in TABLES.items()}
EMPTY_TABLES["pending_ageing"] = TABLES["pending_ageing"].assign(payments=0, amount=0.0)
EMPTY_TABLES["activity"] = TABLES["activity"].assign(payments=0)
