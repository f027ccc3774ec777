"""The analyses of pandas frames against the same tables written by hand in pandas, in about eight lines each.

The frames are synthetic: fifteen years, three thousand people, few of whom make most payments.
"""

from __future__ import annotations

import math
import time
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import p2p_analytics as p2p

if TYPE_CHECKING:
    from collections.abc import Callable

    AddRow = Callable[..., None]

ROUNDS = 5
SMALL, SIZES = 1_000, (200_000, 1_000_000)
PEOPLE = 3_000
FIRST_S, LAST_S = 1_262_304_000, 1_735_689_600  # 2010 to 2025
AS_OF, ZONE = "2025-01-01", "America/New_York"
PERSON = ["counterparty_id", "counterparty_username", "counterparty_name"]


def measure(add_row: AddRow) -> None:
    """Add the rows of each analysis at each size: CPU time as a ratio, of a small frame as a difference."""
    for number in SIZES:
        ratios = []
        for name, ours, theirs in pairs(number):
            (cpu, peer_cpu), (wall, peer_wall) = best_of(ours, theirs)
            ratios.append(cpu / peer_cpu)
            note = f"wall {wall / peer_wall:.2f}x"
            add_row(f"{name}, {number:,}", "pandas by hand", f"{ratios[-1]:.2f}x", wanted="1.1x or less", note=note)
        mean = math.prod(ratios) ** (1 / len(ratios))
        add_row(f"geometric mean of these, {number:,}", "pandas by hand", f"{mean:.2f}x", wanted="0.9x or less")
    for name, ours, theirs in pairs(SMALL):
        (cpu, peer_cpu), _ = best_of(ours, theirs, rounds=10 * ROUNDS)
        above = f"{1_000 * (cpu - peer_cpu):+.1f} ms"
        note = f"{1_000 * cpu:.1f} ms in all"
        add_row(f"{name}, {SMALL:,}, more", "pandas by hand", above, wanted="3 ms or less", note=note)


def best_of(*works: Callable[[], object], rounds: int = ROUNDS) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the least CPU time of all threads, and the least wall time, of each work in alternated rounds."""
    cpu, wall = ([math.inf] * len(works) for _ in range(2))
    for _ in range(rounds):
        for at, work in enumerate(works):
            started, began = time.process_time(), time.perf_counter()
            work()
            cpu[at] = min(cpu[at], time.process_time() - started)
            wall[at] = min(wall[at], time.perf_counter() - began)
    return tuple(cpu), tuple(wall)


def pairs(number: int) -> list[tuple[str, Callable[[], pd.DataFrame], Callable[[], pd.DataFrame]]]:
    """Return each analysis of one frame with its counterpart, after a check that both give the same table."""
    payments = build_payments(number)
    friends = pd.DataFrame({"user_id": payments["counterparty_id"].dropna().unique()[::2]})
    found = [
        ("spend_by_friend", partial(p2p.spend_by_friend, payments, friends), partial(spend, payments, friends)),
        ("status_mix", partial(p2p.status_mix, payments), partial(mix, payments)),
        ("monthly_flow", partial(p2p.monthly_flow, payments, ZONE), partial(flow, payments, ZONE)),
        ("pending_ageing", partial(p2p.pending_ageing, payments, AS_OF), partial(ageing, payments, AS_OF)),
        ("pending_requests", partial(p2p.pending_requests, payments, AS_OF), partial(requests, payments, AS_OF)),
    ]
    for _, ours, theirs in found:
        pd.testing.assert_frame_equal(ours(), theirs(), check_dtype=False, check_categorical=False, check_like=True)
    return found


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
    texts = {
        "payment_id": 3 * 10**18 + np.arange(number)[::-1],
        "status": status,
        "action": action,
        "note": draw(["rent", "dinner", "\N{SLICE OF PIZZA}", "lunch and coffee"], [0.25] * 4),
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


def spend(payments: pd.DataFrame, friends: pd.DataFrame) -> pd.DataFrame:
    """Return money by person."""
    moved = payments[(payments["status"] == "settled") & payments["direction"].isin(["in", "out"])]
    cents = moved["flow_cents"].fillna(0).astype("int64")
    table = (
        moved[[*PERSON, "date_created"]]
        .assign(sent=-cents.clip(upper=0), received=cents.clip(lower=0))
        .groupby(moved["counterparty_id"].fillna(moved["counterparty_name"]).rename("key"))
        .agg(
            **{name: (name, "first") for name in PERSON},
            sent=("sent", "sum"),
            received=("received", "sum"),
            payments=("sent", "size"),
            first_date=("date_created", "min"),
            last_date=("date_created", "max"),
        )
    )
    is_friend = table["counterparty_id"].isin(friends["user_id"]).astype("boolean")
    table["is_friend"] = is_friend.mask(table["counterparty_id"].isna())
    table["share_of_sent"] = table["sent"] / table["sent"].sum()
    table["net"] = (table["received"] - table["sent"]) / 100
    table[["sent", "received"]] /= 100
    order = ["sent", "counterparty_id", "counterparty_name"]
    return table.sort_values(order, ascending=[False, True, True], ignore_index=True)


def mix(payments: pd.DataFrame) -> pd.DataFrame:
    """Return counts and amounts by action and status."""
    keys = [payments["action"], payments["status"]]
    cents = payments["amount_cents"].fillna(0).astype("int64").abs()
    table = cents.groupby(keys, dropna=False).agg(payments="size", amount="sum").reset_index()
    whole = table.groupby("action", dropna=False)[["payments", "amount"]].transform("sum")
    table["share"] = table["payments"] / whole["payments"]
    table["share_of_amount"] = table["amount"] / whole["amount"]
    table["amount"] /= 100
    return table.sort_values(["action", "payments", "status"], ascending=[True, False, True], ignore_index=True)


def flow(payments: pd.DataFrame, tz: str) -> pd.DataFrame:
    """Return money by month."""
    moved = payments[(payments["status"] == "settled") & payments["direction"].isin(["in", "out"])]
    cents = moved["flow_cents"].fillna(0).astype("int64")
    local = moved["date_completed"].fillna(moved["date_created"]).dt.tz_convert(tz).dt.tz_localize(None)
    sums = pd.DataFrame({"sent": -cents.clip(upper=0), "received": cents.clip(lower=0)})
    months = local.to_numpy().astype("datetime64[M]")  # a third quicker than Series.dt.to_period
    table = sums.groupby(months).agg(sent=("sent", "sum"), received=("received", "sum"), payments=("sent", "size"))
    table = table.reindex(pd.date_range(table.index[0], table.index[-1], freq="MS"), fill_value=0)
    table["net"] = table["received"] - table["sent"]
    table["running_net"] = table["net"].cumsum()
    table[["sent", "received", "net", "running_net"]] /= 100
    return table.set_axis(table.index.strftime("%Y-%m").astype("str")).rename_axis("month").reset_index()


def ageing(payments: pd.DataFrame, as_of: str) -> pd.DataFrame:
    """Return pending payments by age."""
    pending = payments[(payments["status"] == "pending") & payments["direction"].isin(["in", "out"])]
    age = (pd.Timestamp(as_of, tz="UTC") - pending["date_created"]).dt.days.clip(lower=0)
    labels = ["under 1 day", "1 to 7 days", "7 to 30 days", "30 to 90 days", "90 days or more"]
    band = pd.cut(age, [0, 1, 7, 30, 90, math.inf], right=False, labels=labels)
    columns = {"direction": pending["direction"], "band": band, "amount": pending["amount_cents"].abs(), "age": age}
    groups = pd.DataFrame(columns).groupby(["direction", "band"], observed=False)
    table = groups.agg(payments=("age", "size"), amount=("amount", "sum"), oldest_days=("age", "max")).reset_index()
    return table.assign(band=table["band"].astype("str"), amount=table["amount"] / 100)


def requests(payments: pd.DataFrame, as_of: str) -> pd.DataFrame:
    """Return pending payments one by one."""
    pending = payments[(payments["status"] == "pending") & payments["direction"].isin(["in", "out"])]
    table = pending[["payment_id", "direction", *PERSON, "note", "amount_cents", "date_created"]]
    table = table.sort_values(["date_created", "payment_id"], ignore_index=True)
    table["amount"] = table.pop("amount_cents").abs() / 100
    table["age_days"] = (pd.Timestamp(as_of, tz="UTC") - table["date_created"]).dt.days.clip(lower=0)
    return table
