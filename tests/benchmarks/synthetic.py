"""Synthetic payments: fifteen years, three thousand people, few of whom make most payments."""

import itertools
from pathlib import Path

import numpy as np
import pandas as pd

import p2p_analytics as p2p
from p2p_analytics.frames.arrow import table_of

PEOPLE = 3_000
FIRST_S, LAST_S = 1_262_304_000, 1_735_689_600  # 2010 to 2025
AS_OF, ZONE = "2025-01-01", "America/New_York"
THINGS = [
    "Rent", "dinner", "\N{SLICE OF PIZZA}", "lunch and  coffee", "Netflix", "train home", "birthday present", "thx",
    "electricity bill", "yoga class", "groceries for the week", "gas", "books", "\N{BEER MUG} on friday",
]  # fmt: skip
FILE_ROWS = 500_000


def build_payments(number: int) -> pd.DataFrame:
    """Return the columns of PAYMENTS that analyses read, and a few others, with their dtypes; newest first."""
    chance = np.random.default_rng(7)

    def draw(words: list[str], weights: list[float]) -> np.ndarray:
        return np.array(words)[chance.choice(len(words), number, p=weights)]

    who = np.minimum((chance.pareto(1.1, number) * 40).astype(int), PEOPLE - 1)
    status = draw(["settled", "pending", "failed", "cancelled", "expired"], [0.88, 0.04, 0.02, 0.04, 0.02])
    action = draw(["pay", "charge"], [0.65, 0.35])
    direction = draw(["out", "in"], [0.55, 0.45])
    cents = np.minimum(chance.lognormal(7.5, 1.2, number).astype("int64") + 1, 10**6)
    created = np.sort(chance.integers(FIRST_S, LAST_S, number))[::-1] * 10**6
    waited = np.where(action == "charge", chance.integers(60, 20 * 86_400, number), 0) * 10**6
    without_id = chance.random(number) < 0.01
    notes = np.array([f"{thing} {at}" if at else thing for thing in THINGS for at in range(300)], dtype=object)
    texts = {
        "payment_id": 3 * 10**18 + np.arange(number)[::-1],
        "status": status,
        "action": action,
        "note": notes[chance.integers(0, len(notes), number)],
        "audience": draw(["friends", "private", "public"], [0.5, 0.3, 0.2]),
        "kind": np.full(number, "payment"),
        "currency": np.full(number, "USD"),
        "direction": direction,
        "counterparty_id": np.where(without_id, None, (2 * 10**18 + np.arange(PEOPLE)).astype(str)[who]),
        "counterparty_username": np.where(without_id, None, np.array([f"user-{at}" for at in range(PEOPLE)])[who]),
        "counterparty_name": np.array([f"Given{at % 400} Family{at}" for at in range(PEOPLE)])[who],
    }
    completed = pd.Series((created + waited).astype("datetime64[us]")).mask(status == "pending")
    return pd.DataFrame(
        {
            **{name: pd.Series(values.astype(object), dtype="str") for name, values in texts.items()},
            "amount_cents": pd.array(np.where(action == "charge", -cents, cents), dtype="Int64"),
            "flow_cents": pd.array(np.where(direction == "out", -cents, cents), dtype="Int64"),
            "date_created": pd.Series(created.astype("datetime64[us]")).dt.tz_localize("UTC"),
            "date_completed": completed.dt.tz_localize("UTC"),
        }
    )


def write_parquet(payments: pd.DataFrame, folder: Path) -> None:
    """Write payments as Parquet files in the form of an archive's."""
    import pyarrow.parquet as pq

    table = table_of(payments)
    for number, start in enumerate(range(0, len(payments), FILE_ROWS)):
        pq.write_table(table.slice(start, FILE_ROWS), folder / f"payments-{number:03}.parquet", compression="zstd")


def write_rules() -> dict[str, str]:
    """Return the regular expression of each category, of words and of signs such as emoji."""
    rules = p2p.default_rules()
    found = {}
    for category, rows in itertools.groupby(rules.itertuples(), key=lambda row: row.category):
        patterns = [row.pattern for row in rows]
        words = "|".join(pattern.lower() for pattern in patterns if pattern.isascii())
        signs = [pattern for pattern in patterns if not pattern.isascii()]
        found[category] = "|".join([*([rf"\b(?:{words})\b"] if words else []), *signs])
    return found
