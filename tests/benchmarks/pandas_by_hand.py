"""The tables of the analyses written by hand in pandas, as a competent user would for one frame."""

import math

import numpy as np
import pandas as pd

PERSON = ["counterparty_id", "counterparty_username", "counterparty_name"]
NAMED = ["counterparty_id", "counterparty_name"]
MOVED = ["flow_cents", "date_created", "date_completed"]
DAY = pd.Timedelta(days=1)


def select_moved(payments: pd.DataFrame, columns: list[str], status: str = "settled") -> pd.DataFrame:
    """Return columns of the rows with a status and a direction; to copy text that is not needed takes longest."""
    is_moved = payments["status"] == status
    for name, words in (("kind", ["payment"]), ("direction", ["in", "out"])):
        is_moved &= payments[name].isin(words)
    return payments.loc[is_moved, columns]


def split_cents(moved: pd.DataFrame) -> pd.DataFrame:
    """Return the cents sent and received."""
    cents = moved["flow_cents"].fillna(0).astype("int64")
    return pd.DataFrame({"sent": -cents.clip(upper=0), "received": cents.clip(lower=0)})


def key_of(rows: pd.DataFrame) -> pd.Series:
    """Return the id of each person, or the name of one without an id."""
    return rows["counterparty_id"].fillna(rows["counterparty_name"]).rename("key")


def local_of(instants: pd.Series, tz: str) -> pd.Series:
    """Return instants on the clocks of a zone."""
    return instants.dt.tz_convert(tz).dt.tz_localize(None)


def to_units(table: pd.DataFrame, *names: str) -> pd.DataFrame:
    """Return a table with columns of cents in units."""
    return table.assign(**{name: table[name] / 100 for name in names})


def spend_by_friend(payments: pd.DataFrame, friends: pd.DataFrame) -> pd.DataFrame:
    """Return money by person."""
    moved = select_moved(payments, [*PERSON, "flow_cents", "date_created"])
    people = moved[PERSON].assign(key=key_of(moved)).drop_duplicates("key").set_index("key")
    table = (
        split_cents(moved)
        .join(moved["date_created"])
        .groupby(key_of(moved), sort=False)
        .agg(
            sent=("sent", "sum"),
            received=("received", "sum"),
            payments=("sent", "size"),
            first_date=("date_created", "min"),
            last_date=("date_created", "max"),
        )
        .join(people)
    )
    is_friend = table["counterparty_id"].isin(friends["user_id"]).astype("boolean")
    table["is_friend"] = is_friend.mask(table["counterparty_id"].isna())
    table["share_of_sent"] = table["sent"] / table["sent"].sum()
    table["net"] = table["received"] - table["sent"]
    order = ["sent", "counterparty_id", "counterparty_name"]
    table = table.sort_values(order, ascending=[False, True, True], ignore_index=True)
    return to_units(table, "sent", "received", "net")


def status_mix(payments: pd.DataFrame) -> pd.DataFrame:
    """Return counts and amounts by action and status."""
    payments = payments[payments["kind"] == "payment"]
    keys = [payments["action"], payments["status"]]
    cents = payments["amount_cents"].fillna(0).astype("int64").abs()
    table = cents.groupby(keys, dropna=False).agg(payments="size", amount="sum").reset_index()
    whole = table.groupby("action", dropna=False)[["payments", "amount"]].transform("sum")
    table["share"] = table["payments"] / whole["payments"]
    table["share_of_amount"] = table["amount"] / whole["amount"]
    table["amount"] /= 100
    return table.sort_values(["action", "payments", "status"], ascending=[True, False, True], ignore_index=True)


def monthly_flow(payments: pd.DataFrame, tz: str) -> pd.DataFrame:
    """Return money by month."""
    moved = select_moved(payments, MOVED)
    local = local_of(moved["date_completed"].fillna(moved["date_created"]), tz)
    months = local.to_numpy().astype("datetime64[M]")  # a third quicker than Series.dt.to_period
    table = split_cents(moved).groupby(months).agg(sent=("sent", "sum"), received=("received", "sum"),
                                                   payments=("sent", "size"))  # fmt: skip
    table = table.reindex(pd.date_range(table.index[0], table.index[-1], freq="MS"), fill_value=0)
    table["net"] = table["received"] - table["sent"]
    table["running_net"] = table["net"].cumsum()
    table = to_units(table, "sent", "received", "net", "running_net")
    return table.set_axis(table.index.strftime("%Y-%m").astype("str")).rename_axis("month").reset_index()


def pending_ageing(payments: pd.DataFrame, as_of: str) -> pd.DataFrame:
    """Return pending payments by age."""
    pending = select_moved(payments, ["direction", "amount_cents", "date_created"], "pending")
    age = (pd.Timestamp(as_of, tz="UTC") - pending["date_created"]).dt.days.clip(lower=0)
    labels = ["under 1 day", "1 to 7 days", "7 to 30 days", "30 to 90 days", "90 days or more"]
    band = pd.cut(age, [0, 1, 7, 30, 90, math.inf], right=False, labels=labels)
    columns = {"direction": pending["direction"], "band": band, "amount": pending["amount_cents"].abs(), "age": age}
    groups = pd.DataFrame(columns).groupby(["direction", "band"], observed=False)
    table = groups.agg(payments=("age", "size"), amount=("amount", "sum"), oldest_days=("age", "max")).reset_index()
    return table.assign(band=table["band"].astype("str"), amount=table["amount"] / 100)


def pending_requests(payments: pd.DataFrame, as_of: str) -> pd.DataFrame:
    """Return pending payments one by one."""
    names = ["payment_id", "direction", *PERSON, "note", "amount_cents", "date_created"]
    table = select_moved(payments, names, "pending").sort_values(["date_created", "payment_id"], ignore_index=True)
    table["amount"] = table.pop("amount_cents").abs() / 100
    table["age_days"] = (pd.Timestamp(as_of, tz="UTC") - table["date_created"]).dt.days.clip(lower=0)
    return table


def spending_by_week(payments: pd.DataFrame, tz: str) -> pd.DataFrame:
    """Return money by week."""
    moved = select_moved(payments, MOVED)
    day = local_of(moved["date_completed"].fillna(moved["date_created"]), tz).to_numpy().astype("datetime64[D]")
    week = day - (day.astype("int64") + 3) % 7  # 1970-01-01 was a Thursday
    table = split_cents(moved).groupby(week).agg(sent=("sent", "sum"), received=("received", "sum"),
                                                 payments=("sent", "size"))  # fmt: skip
    table = table.reindex(pd.date_range(table.index[0], table.index[-1], freq="7D"), fill_value=0)
    table["net"] = table["received"] - table["sent"]
    return to_units(table, "sent", "received", "net").rename_axis("period").reset_index()


def spending_by_person(payments: pd.DataFrame, tz: str) -> pd.DataFrame:
    """Return money by year and person."""
    moved = select_moved(payments, [*NAMED, *MOVED])
    local = local_of(moved["date_completed"].fillna(moved["date_created"]), tz)
    table = (
        split_cents(moved)
        .groupby([local.dt.year.rename("year"), key_of(moved)])
        .agg(sent=("sent", "sum"), received=("received", "sum"), payments=("sent", "size"))
    )
    people = moved[NAMED].assign(key=key_of(moved)).drop_duplicates("key").set_index("key")
    years = table.index.levels[0]
    whole = pd.MultiIndex.from_product([range(years.min(), years.max() + 1), people.index], names=["year", "key"])
    table = table.reindex(whole, fill_value=0).join(people, on="key").reset_index()
    table["period"] = pd.to_datetime(table["year"].astype("str"), format="%Y")
    table["net"] = table["received"] - table["sent"]
    order = ["period", "sent", *NAMED]
    table = table.sort_values(order, ascending=[True, False, True, True], ignore_index=True)
    return to_units(table.drop(columns=["year", "key"]), "sent", "received", "net")


def request_outcomes(payments: pd.DataFrame) -> pd.DataFrame:
    """Return what became of requests, by person and direction."""
    is_charge = (payments["kind"] == "payment") & (payments["action"] == "charge")
    names = [*NAMED, "direction", "status", "amount_cents", "date_created", "date_completed"]
    charges = payments.loc[is_charge & payments["direction"].isin(["in", "out"]), names]
    cents = charges["amount_cents"].abs().fillna(0).astype("int64")
    is_status = {name: charges["status"] == name for name in ("settled", "pending", "cancelled", "expired", "failed")}
    keys = [key_of(charges), "direction"]
    table = (
        charges[[*NAMED, "direction"]]
        .assign(
            **is_status,
            asked=cents,
            collected=cents.where(is_status["settled"], 0),
            still_open=cents.where(is_status["pending"], 0),
        )
        .groupby(keys)
        .agg(
            **{name: (name, "first") for name in NAMED},
            requests=("asked", "size"),
            **{name: (name, "sum") for name in [*is_status, "asked", "collected", "still_open"]},
        )
    )
    settled = charges[is_status["settled"]]
    waited = settled["date_completed"] - settled["date_created"]
    table = table.join(rank_percentiles(waited, [key_of(settled), settled["direction"]], (50, 90)) / DAY)
    table["share_settled"] = table["settled"] / (table["requests"] - table["pending"])
    order = ["asked", *NAMED, "direction"]
    table = table.reset_index("direction").sort_values(order, ascending=[False, True, True, True], ignore_index=True)
    return to_units(table, "asked", "collected", "still_open")


def time_to_settle(payments: pd.DataFrame) -> pd.DataFrame:
    """Return percentiles of the days that requests took, by direction."""
    settled = select_moved(payments, ["action", "direction", "date_created", "date_completed"])
    settled = settled[settled["action"] == "charge"]
    waited = settled["date_completed"] - settled["date_created"]
    table = rank_percentiles(waited, [settled["direction"]], (50, 90, 99, 100)) / DAY
    table.insert(0, "payments", waited.groupby(settled["direction"]).count())
    return table.rename(columns={"days_p100": "days_max"}).reset_index()


def rank_percentiles(values: pd.Series, keys: list[pd.Series], percents: tuple[int, ...]) -> pd.DataFrame:
    """Return the values at the nearest rank in each group."""
    names = [key.name for key in keys]
    rows = pd.DataFrame({**dict(zip(names, keys, strict=True)), "value": values}).dropna(subset=["value"])
    rows = rows.sort_values([*names, "value"], ignore_index=True)
    sizes = rows.groupby(names).size()
    first = sizes.cumsum() - sizes
    at = {f"days_p{percent}": first - (-sizes * percent // 100) - 1 for percent in percents}
    return pd.DataFrame({name: rows["value"].take(places).set_axis(sizes.index) for name, places in at.items()})


def people_by_year(payments: pd.DataFrame, tz: str) -> pd.DataFrame:
    """Return the people of each year and the shares of those with the most money."""
    moved = select_moved(payments, [*NAMED, *MOVED])
    year = local_of(moved["date_completed"].fillna(moved["date_created"]), tz).dt.year.rename("year")
    cents = split_cents(moved)
    groups = cents.assign(moved=cents["sent"] + cents["received"]).groupby([year, key_of(moved)])
    person = groups.agg(sent=("sent", "sum"), received=("received", "sum"), moved=("moved", "sum"),
                        payments=("moved", "size")).reset_index()  # fmt: skip
    ordered = person.sort_values(["key", "year"])
    before = ordered.groupby("key")["year"].shift(1)
    after = ordered.groupby("key")["year"].shift(-1)
    rank = person.groupby("year")["moved"].rank(method="first", ascending=False)
    person = person.assign(
        new=before.isna(), gone=after != ordered["year"] + 1,
        top=person["moved"].where(rank == 1, 0), top_5=person["moved"].where(rank <= 5, 0),
    )  # fmt: skip
    names = ["new", "gone", "moved", "top", "top_5", "payments", "sent", "received"]
    table = person.groupby("year").agg(people=("key", "size"), **{name: (name, "sum") for name in names})
    table = table.reindex(range(table.index.min(), table.index.max() + 1), fill_value=0)
    table["lost"] = table["gone"].shift(1, fill_value=0)
    table["top_person_share"] = (table["top"] / table["moved"]).fillna(0.0)
    table["top_5_share"] = (table["top_5"] / table["moved"]).fillna(0.0)
    return to_units(table, "sent", "received").reset_index().drop(columns=["gone", "moved", "top", "top_5"])


def activity(payments: pd.DataFrame, tz: str) -> pd.DataFrame:
    """Return payments by hour of the week."""
    moved = select_moved(payments, ["amount_cents", "date_created"])
    local = local_of(moved["date_created"], tz)
    keys = [local.dt.dayofweek.rename("weekday"), local.dt.hour.rename("hour")]
    cents = moved["amount_cents"].fillna(0).astype("int64").abs()
    table = cents.groupby(keys).agg(payments="size", amount="sum")
    whole = pd.MultiIndex.from_product([range(7), range(24)], names=["weekday", "hour"])
    return to_units(table.reindex(whole, fill_value=0).reset_index(), "amount")


def normalise(notes: pd.Series) -> pd.Series:
    """Return notes in lower case, with single spaces; many are alike, so each is changed once."""
    codes, distinct = pd.factorize(notes.fillna(""))
    texts = pd.Series(distinct, dtype="str").str.replace(r"\s+", " ", regex=True).str.strip().str.lower()
    return texts.take(codes).set_axis(notes.index)


def split_bills(payments: pd.DataFrame, as_of: str) -> pd.DataFrame:
    """Return the bills that the viewer split."""
    is_charge = (payments["kind"] == "payment") & (payments["action"] == "charge")
    names = ["payment_id", *NAMED, "status", "amount_cents", "note", "date_created"]
    made = payments.loc[is_charge & (payments["direction"] == "in"), names].dropna(subset=["date_created"])
    made = made.assign(text=normalise(made["note"]), key=key_of(made), cents=made["amount_cents"].fillna(0).abs())
    made = made[made["text"] != ""].sort_values(["date_created", "payment_id"])
    gap = made.groupby("text")["date_created"].diff()
    made["bill"] = (gap.isna() | (gap > pd.Timedelta("6h"))).groupby(made["text"]).cumsum()
    status = made["status"]
    made["collected"] = made["cents"].where(status == "settled", 0)
    made["still_open"] = made["cents"].where(status == "pending", 0)
    made["declined"] = made["cents"].where(status.isin(["cancelled", "expired", "failed"]), 0)
    made["open_since"] = made["date_created"].where(status == "pending")
    table = made.groupby(["text", "bill"]).agg(
        bill_id=("payment_id", "first"), date=("date_created", "first"), note=("note", "first"),
        people=("key", "nunique"), asked=("cents", "sum"), collected=("collected", "sum"),
        still_open=("still_open", "sum"), declined=("declined", "sum"), open_since=("open_since", "min"),
    )  # fmt: skip
    table = table[table["people"] >= 2].sort_values(["date", "bill_id"], ascending=[False, True], ignore_index=True)
    table["oldest_open_days"] = (pd.Timestamp(as_of, tz="UTC") - table.pop("open_since")) / DAY
    return to_units(table, "asked", "collected", "still_open", "declined")


def unusual(payments: pd.DataFrame) -> pd.DataFrame:
    """Return probable duplicates, and payments far larger than usual."""
    names = ["payment_id", "direction", *NAMED, "amount_cents", "date_created", "note"]
    moved = select_moved(payments, names).dropna(subset=["amount_cents"])
    moved = moved.assign(key=key_of(moved), cents=moved["amount_cents"].astype("int64").abs())
    alike = moved[moved.duplicated(["key", "direction", "cents"], keep=False)]
    alike = alike.assign(text=normalise(alike["note"])).sort_values(["date_created", "payment_id"])
    groups = alike.groupby(["key", "direction", "cents", "text"])
    before = groups[["date_created", "payment_id"]].shift(1)
    is_soon = alike["date_created"] - before["date_created"] <= pd.Timedelta("10min")
    twice = alike[is_soon].assign(reason="duplicate", other_id=before["payment_id"][is_soon], usual=np.nan)
    cents = moved.groupby(["key", "direction"])["cents"]
    usual = cents.transform("median")
    is_large = (cents.transform("size") >= 5) & (moved["cents"] >= 5 * usual)
    large = moved[is_large].assign(reason="large", other_id=None, usual=usual[is_large])
    table = pd.concat([twice, large.astype({"other_id": "str"})])
    table["amount"] = table["cents"]
    order = ["date_created", "payment_id", "reason"]
    table = table.sort_values(order, ascending=[False, True, True], ignore_index=True)
    names = ["payment_id", "reason", "other_id", "amount", "usual", *NAMED, "date_created", "note"]
    return to_units(table[names], "amount", "usual")


def categorise(notes: pd.Series, rules: dict[str, str]) -> pd.Series:
    """Return the category of each note: the first regular expression that it matches."""
    texts = normalise(notes)
    found = [texts.str.contains(expression, regex=True).to_numpy(dtype=bool) for expression in rules.values()]
    return pd.Series(np.select(found, list(rules), default="uncategorised"), notes.index, dtype="str")


def categories(payments: pd.DataFrame, rules: dict[str, str]) -> pd.DataFrame:
    """Return money by category; many notes are alike, so each is looked at once."""
    moved = select_moved(payments, ["note", "flow_cents"])
    groups = split_cents(moved).groupby(moved["note"].fillna(""), sort=False)
    notes = groups.agg(sent=("sent", "sum"), received=("received", "sum"), payments=("sent", "size")).reset_index()
    table = notes.groupby(categorise(notes.pop("note"), rules).rename("category")).sum().reset_index()
    table["net"] = table["received"] - table["sent"]
    table["share_of_sent"] = table["sent"] / table["sent"].sum()
    last = table["category"] == "uncategorised"
    table = table.assign(last=last).sort_values(["last", "sent", "category"], ascending=[True, False, True])
    return to_units(table.drop(columns="last"), "sent", "received", "net").reset_index(drop=True)
