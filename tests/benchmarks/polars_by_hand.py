"""The tables of the analyses written by hand in Polars, for a lazy frame of Parquet files."""

import pandas as pd
import polars as pl
from polars import col

NAMED = ["counterparty_id", "counterparty_name"]
KEY = pl.coalesce("counterparty_id", "counterparty_name").alias("key")
CENTS = col("amount_cents").abs().fill_null(0)
SENT, RECEIVED = -col("flow_cents").clip(upper_bound=0), col("flow_cents").clip(lower_bound=0)
MOVED = pl.coalesce("date_completed", "date_created")
IS_PAYMENT = col("kind") == "payment"
DAY_US = 86_400_000_000
SUMS = [SENT.sum().alias("sent"), RECEIVED.sum().alias("received"), pl.len().alias("payments")]
NET = (col("received") - col("sent")).alias("net")


def select_moved(payments: pl.LazyFrame, status: str = "settled") -> pl.LazyFrame:
    """Return the rows with a status and a direction."""
    return payments.filter(IS_PAYMENT, col("status") == status, col("direction").is_in(["in", "out"]))


def to_units(*names: str) -> pl.Expr:
    """Return columns of cents in units."""
    return col(*names) / 100


def spend_by_friend(payments: pl.LazyFrame, friends: pd.DataFrame) -> pl.LazyFrame:
    """Return money by person."""
    ids = friends["user_id"].to_list()
    return (
        select_moved(payments)
        .group_by(KEY)
        .agg(
            col(*NAMED, "counterparty_username").first(),
            *SUMS,
            first_date=col("date_created").min(),
            last_date=col("date_created").max(),
        )
        .with_columns(NET, is_friend=col("counterparty_id").is_in(ids), share_of_sent=col("sent") / col("sent").sum())
        .sort("sent", *NAMED, descending=[True, False, False], nulls_last=True)
        .with_columns(to_units("sent", "received", "net"))
        .drop("key")
    )


def status_mix(payments: pl.LazyFrame) -> pl.LazyFrame:
    """Return counts and amounts by action and status."""
    return (
        payments.filter(IS_PAYMENT)
        .group_by("action", "status")
        .agg(amount=CENTS.sum(), payments=pl.len())
        .with_columns(
            share=col("payments") / col("payments").sum().over("action"),
            share_of_amount=col("amount") / col("amount").sum().over("action"),
            amount=col("amount") / 100,
        )
        .sort("action", "payments", "status", descending=[False, True, False])
    )


def fill_periods(sums: pl.LazyFrame, every: str) -> pl.LazyFrame:
    """Return a table with a row for every period."""
    ends = sums.select(pl.date_range(col("period").min(), col("period").max(), every).alias("period"))
    return ends.join(sums, on="period", how="left").with_columns(pl.exclude("period").fill_null(0))


def monthly_flow(payments: pl.LazyFrame, tz: str) -> pl.LazyFrame:
    """Return money by month."""
    period = MOVED.dt.convert_time_zone(tz).dt.date().dt.month_start().alias("period")
    return (
        fill_periods(select_moved(payments).group_by(period).agg(*SUMS), "1mo")
        .sort("period")
        .with_columns(NET)
        .with_columns(running_net=col("net").cum_sum())
        .with_columns(to_units("sent", "received", "net", "running_net"), month=col("period").dt.strftime("%Y-%m"))
        .drop("period")
    )


def pending_ageing(payments: pl.LazyFrame, as_of: str) -> pl.LazyFrame:
    """Return pending payments by age."""
    labels = ["under 1 day", "1 to 7 days", "7 to 30 days", "30 to 90 days", "90 days or more"]
    moment = pl.lit(as_of).str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC")
    age = (moment - col("date_created")).dt.total_days().clip(lower_bound=0)
    bands = pl.LazyFrame({"direction": ["in"] * 5 + ["out"] * 5, "band": labels * 2, "number": [*range(5)] * 2})
    sums = (
        select_moved(payments, "pending")
        .with_columns(age=age)
        .group_by("direction", col("age").cut([1, 7, 30, 90], labels=labels, left_closed=True).cast(str).alias("band"))
        .agg(payments=pl.len(), amount=CENTS.sum(), oldest_days=col("age").max())
    )
    return (
        bands.join(sums, on=["direction", "band"], how="left")
        .with_columns(col("payments", "amount").fill_null(0))
        .sort("direction", "number")
        .with_columns(to_units("amount"))
        .drop("number")
    )


def pending_requests(payments: pl.LazyFrame, as_of: str) -> pl.LazyFrame:
    """Return pending payments one by one."""
    moment = pl.lit(as_of).str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC")
    age = (moment - col("date_created")).dt.total_days().clip(lower_bound=0)
    return (
        select_moved(payments, "pending")
        .select("payment_id", "direction", *NAMED, "counterparty_username", "note", "date_created",
                amount=col("amount_cents").abs() / 100, age_days=age)
        .sort("date_created", "payment_id")
    )  # fmt: skip


def spending_by_week(payments: pl.LazyFrame, tz: str) -> pl.LazyFrame:
    """Return money by week."""
    period = MOVED.dt.convert_time_zone(tz).dt.date().dt.truncate("1w").alias("period")
    table = fill_periods(select_moved(payments).group_by(period).agg(*SUMS), "1w").sort("period")
    return table.with_columns(NET).with_columns(to_units("sent", "received", "net"))


def spending_by_person(payments: pl.LazyFrame, tz: str) -> pl.LazyFrame:
    """Return money by year and person."""
    period = pl.date(MOVED.dt.convert_time_zone(tz).dt.year(), 1, 1).alias("period")
    sums = select_moved(payments).group_by(period, KEY).agg(*SUMS, col(*NAMED).first()).collect().lazy()
    years = fill_periods(sums.select("period").unique(), "1y")
    return (
        years.join(sums.group_by("key").agg(col(*NAMED).first()), how="cross")
        .join(sums.drop(NAMED), on=["period", "key"], how="left")
        .with_columns(col("sent", "received", "payments").fill_null(0))
        .sort("period", "sent", *NAMED, descending=[False, True, False, False], nulls_last=True)
        .with_columns(NET)
        .with_columns(to_units("sent", "received", "net"))
        .drop("key")
    )


def rank_percentile(values: pl.Expr, percent: int) -> pl.Expr:
    """Return the value at the nearest rank."""
    return values.sort().get((values.len() * percent + 99) // 100 - 1, null_on_oob=True)


def request_outcomes(payments: pl.LazyFrame) -> pl.LazyFrame:
    """Return what became of requests, by person and direction."""
    waited = (col("date_completed") - col("date_created")).dt.total_microseconds()
    settled = waited.filter(col("status") == "settled").drop_nulls()
    names = ["settled", "pending", "cancelled", "expired", "failed"]
    return (
        payments.filter(IS_PAYMENT, col("action") == "charge", col("direction").is_in(["in", "out"]))
        .group_by(KEY, "direction")
        .agg(
            col(*NAMED).first(),
            *((col("status") == name).sum().alias(name) for name in names),
            requests=pl.len(),
            asked=CENTS.sum(),
            collected=CENTS.filter(col("status") == "settled").sum(),
            still_open=CENTS.filter(col("status") == "pending").sum(),
            days_p50=rank_percentile(settled, 50) / DAY_US,
            days_p90=rank_percentile(settled, 90) / DAY_US,
        )
        .with_columns(share_settled=(col("settled") / (col("requests") - col("pending"))).fill_nan(None))
        .sort("asked", *NAMED, "direction", descending=[True, False, False, False], nulls_last=True)
        .with_columns(to_units("asked", "collected", "still_open"))
        .drop("key")
    )


def time_to_settle(payments: pl.LazyFrame) -> pl.LazyFrame:
    """Return percentiles of the days that requests took, by direction."""
    waited = col("waited")
    return (
        select_moved(payments)
        .filter(col("action") == "charge")
        .select("direction", waited=(col("date_completed") - col("date_created")).dt.total_microseconds())
        .drop_nulls()
        .group_by("direction")
        .agg(
            pl.len().alias("payments"),
            *((rank_percentile(waited, p) / DAY_US).alias(f"days_p{p}") for p in (50, 90, 99)),
            days_max=waited.max() / DAY_US,
        )
        .sort("direction")
    )


def people_by_year(payments: pl.LazyFrame, tz: str) -> pl.LazyFrame:
    """Return the people of each year and the shares of those with the most money."""
    year = MOVED.dt.convert_time_zone(tz).dt.year().cast(pl.Int64).alias("year")
    person = select_moved(payments).group_by(year, KEY).agg(*SUMS).with_columns(moved=col("sent") + col("received"))
    marked = person.with_columns(
        new=col("year") == col("year").min().over("key"),
        gone=(col("year").shift(-1).over("key", order_by="year") != col("year") + 1).fill_null(value=True),
    )
    top = col("moved").sort(descending=True)
    sums = marked.group_by("year").agg(
        col("new", "gone", "sent", "received", "payments").sum(),
        people=pl.len(),
        top_person_share=top.head(1).sum() / col("moved").sum(),
        top_5_share=top.head(5).sum() / col("moved").sum(),
    )
    years = sums.select(pl.int_range(col("year").min(), col("year").max() + 1).alias("year"))
    return (
        years.join(sums, on="year", how="left")
        .with_columns(pl.exclude("year").fill_null(0))
        .sort("year")
        .with_columns(to_units("sent", "received"), lost=col("gone").shift(1, fill_value=0))
        .drop("gone")
    )


def activity(payments: pl.LazyFrame, tz: str) -> pl.LazyFrame:
    """Return payments by hour of the week."""
    local = col("date_created").dt.convert_time_zone(tz)
    hours = pl.LazyFrame({"weekday": range(7)}).join(pl.LazyFrame({"hour": range(24)}), how="cross")
    weekday, hour = (local.dt.weekday() - 1).cast(pl.Int64), local.dt.hour().cast(pl.Int64)
    sums = select_moved(payments).group_by(weekday.alias("weekday"), hour.alias("hour"))
    return (
        hours.join(sums.agg(payments=pl.len(), amount=CENTS.sum()), on=["weekday", "hour"], how="left")
        .with_columns(col("payments", "amount").fill_null(0))
        .sort("weekday", "hour")
        .with_columns(to_units("amount"))
    )


def normalise(name: str) -> pl.Expr:
    """Return notes in lower case, with single spaces."""
    return col(name).fill_null("").str.replace_all(r"\s+", " ").str.strip_chars().str.to_lowercase()


def split_bills(payments: pl.LazyFrame, as_of: str) -> pl.LazyFrame:
    """Return the bills that the viewer split."""
    status = col("status")
    moment = pl.lit(as_of).str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC")
    return (
        payments.filter(IS_PAYMENT, col("action") == "charge", col("direction") == "in")
        .with_columns(text=normalise("note"), cents=CENTS)
        .filter(col("text") != "")
        .sort("date_created", "payment_id")
        .with_columns(gap=col("date_created").diff().over("text"))
        .with_columns(bill=(col("gap").is_null() | (col("gap") > pl.duration(hours=6))).cum_sum().over("text"))
        .group_by("text", "bill", maintain_order=True)
        .agg(
            bill_id=col("payment_id").first(),
            date=col("date_created").first(),
            note=col("note").first(),
            people=KEY.n_unique(),
            asked=col("cents").sum(),
            collected=col("cents").filter(status == "settled").sum(),
            still_open=col("cents").filter(status == "pending").sum(),
            declined=col("cents").filter(status.is_in(["cancelled", "expired", "failed"])).sum(),
            oldest_open_days=(moment - col("date_created").filter(status == "pending").min()).dt.total_microseconds()
            / DAY_US,
        )
        .filter(col("people") >= 2)
        .sort("date", "bill_id", descending=[True, False])
        .with_columns(to_units("asked", "collected", "still_open", "declined"))
        .drop("text", "bill")
    )


def unusual(payments: pl.LazyFrame) -> pl.LazyFrame:
    """Return probable duplicates, and payments far larger than usual."""
    moved = select_moved(payments).drop_nulls("amount_cents").with_columns(KEY, amount=col("amount_cents").abs())
    names = ["payment_id", "reason", "other_id", "amount", "usual", *NAMED, "date_created", "note"]
    alike = ["key", "direction", "amount"]
    several = moved.group_by(alike).len().filter(col("len") > 1)  # only these have to be sorted
    twice = (
        moved.join(several, on=alike, how="semi")
        .with_columns(text=normalise("note"))
        .sort("date_created", "payment_id")
        .with_columns(
            gap=col("date_created").diff().over(*alike, "text"),
            other_id=col("payment_id").shift(1).over(*alike, "text"),
            reason=pl.lit("duplicate"),
            usual=pl.lit(None, dtype=pl.Float64),
        )
        .filter(col("gap") <= pl.duration(minutes=10))
        .select(names)
    )
    usual = moved.group_by("key", "direction").agg(usual=col("amount").median(), rows=pl.len())
    large = (
        moved.join(usual, on=["key", "direction"])
        .filter(col("rows") >= 5, col("amount") >= 5 * col("usual"))
        .with_columns(other_id=pl.lit(None, dtype=pl.String), reason=pl.lit("large"))
        .select(names)
    )
    table = pl.concat([twice, large]).sort("date_created", "payment_id", "reason", descending=[True, False, False])
    return table.with_columns(to_units("amount", "usual"))


def find_category(rules: dict[str, str]) -> pl.Expr:
    """Return the first category with a regular expression that the text of a note matches."""
    found = pl.lit("uncategorised")
    for category, expression in reversed(rules.items()):
        found = pl.when(col("text").str.contains(expression)).then(pl.lit(category)).otherwise(found)
    return found


def categories(payments: pl.LazyFrame, rules: dict[str, str]) -> pl.LazyFrame:
    """Return money by category; many notes are alike, so each is looked at once."""
    return (
        select_moved(payments)
        .group_by("note")
        .agg(*SUMS)
        .with_columns(text=normalise("note"))
        .group_by(category=find_category(rules))
        .agg(col("sent", "received", "payments").sum())
        .with_columns(NET, share_of_sent=col("sent") / col("sent").sum(), last=col("category") == "uncategorised")
        .sort("last", "sent", "category", descending=[False, True, False])
        .with_columns(to_units("sent", "received", "net"))
        .drop("last")
    )
