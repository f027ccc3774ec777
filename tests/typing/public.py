"""The public API as type checkers see it: checked by mypy, never run."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, assert_type
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
from matplotlib.axes import Axes

import p2p_analytics as p2p
from p2p_analytics.accessor import PaymentsAccessor
from p2p_analytics.archive import Changes, ImportPlan
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.errors import OutcomeUnknownError
from p2p_analytics.records import Me, Payment, Receipt, User
from p2p_analytics.statements import Reading, StatementFormat, complete_rows

token = p2p.token_from_redirect("https://app.example/cb?access_token=x")
assert_type(token, p2p.AccessToken)
assert_type(p2p.authorize_url("https://pay.example", "1", ["access_profile"]), str)

with p2p.Client(token, base_url="https://pay.example", cache_dir=False) as client:
    assert_type(client.me(), Me)
    assert_type(client.user("1"), User)
    assert_type(client.payment("1"), Payment)
    assert_type(client.payments(status=["settled"], after="2024-01-01"), list[Payment])
    assert_type(client.friends(), list[User])
    desk = PaymentDesk(client)
    assert_type(desk.pay(user_id="1", amount="12.30", note="lunch", audience="private"), Receipt)
    assert_type(desk.charge(email="ann@example.com", amount=Decimal("0.10"), note="rent").payment, Payment)
    assert_type(desk.approve("1"), Payment)
    assert_type(OutcomeUnknownError("Lost.").retry_after, float | None)
    history = p2p.load_history(client, on_bad_record="report", progress=print, privacy=True)

    assert_type(p2p.open_archive("payments").sync(client), Changes)

assert_type(history, p2p.History)
archive = p2p.open_archive(Path("payments"))
assert_type(archive, p2p.Archive)
assert_type(archive.merge(history).added, int)
assert_type(archive.history(privacy=False), p2p.History)
assert_type(archive.import_(p2p.read_statements("a.csv"), dry_run=True), ImportPlan)
assert_type(archive.undo(), pd.DataFrame)
assert_type(archive.people, pd.DataFrame)
assert_type(p2p.household([history]), p2p.History)
assert_type(archive.scan("polars"), pl.LazyFrame)
assert_type(archive.scan("duckdb"), duckdb.DuckDBPyRelation)
assert_type(archive.scan("pandas", columns=["note"], since="2024-01-01", before=datetime.now(UTC)), pd.DataFrame)
archives = p2p.open_archives(Path("town"))
assert_type(archives.scan("polars", ("note",)), pl.LazyFrame)
assert_type(list(archives), list[p2p.Archive])
assert_type(archives["ada"], p2p.Archive)
assert_type(history.payments, pd.DataFrame)
assert_type(history.masked().private, bool)
assert_type(archive.history(privacy="strict"), p2p.History)
assert_type(p2p.spend_by_friend(history.payments, history.friends), pd.DataFrame)
assert_type(p2p.pending_ageing(history.payments, as_of=datetime.now(UTC)), pd.DataFrame)
assert_type(p2p.monthly_flow(history.payments, ZoneInfo("Europe/Paris")), pd.DataFrame)
assert_type(p2p.pending_ageing(history.payments, np.datetime64("2024-05-01")), pd.DataFrame)
assert_type(p2p.recurring(archive.scan("polars"), as_of="2024-05-01", tz="Europe/Paris"), pl.LazyFrame)
assert_type(PaymentsAccessor(history.payments).status_mix(by="direction"), Any)
assert_type(p2p.categories(history.payments, p2p.default_rules()), pd.DataFrame)
assert_type(p2p.spending_over_time(archive.scan("polars"), every="week", by="category"), pl.LazyFrame)
assert_type(p2p.plots.status_mix(p2p.status_mix(history.payments)), Axes)
assert_type(p2p.plots.mark_private(p2p.plots.status_mix(p2p.status_mix(history.payments))), Axes)
assert_type(p2p.render_report(history, as_of=datetime.now(UTC)), str)
assert_type(p2p.render_year(history, as_of=datetime.now(UTC), year=2024, privacy="strict"), str)
assert_type(p2p.read_parquet("payments.parquet", privacy="strict"), pd.DataFrame)

statement_format = StatementFormat(
    "my_bank", {"date": ("Date",)}, ["date"], lambda table: Reading(complete_rows(table.cells))
)
statements = p2p.read_statements([Path("downloads"), "jan.csv"], tz=ZoneInfo("UTC"), account="nora-quill")
assert_type(statements, p2p.Statements)
assert_type(statements.history(), p2p.History)
assert_type(statements.masked(strict=True), p2p.Statements)
assert_type(p2p.match_bank(statements, "bank.csv", columns={"date": "Day"}, days=3, day_first=True), pd.DataFrame)
assert_type(p2p.plots.reconciliation(statements.reconciliation), Axes)
assert_type(p2p.register_format(statement_format), StatementFormat)

assert_type(p2p.read_format("club.toml"), p2p.ColumnFormat)
assert_type(p2p.describe_file(Path("club.csv")).toml, str)
p2p.register_format(p2p.ColumnFormat(name="club", columns={"date": "Day", "amount": ("Sum", "Amount")}, currency="EUR"))

form = p2p.TokenForm("https://pay.example", "1", ["access_profile"], how="prompt")
assert_type(form.token, p2p.AccessToken)
assert_type(p2p.Explorer(history, tz="Europe/Paris", folder=Path("saved")).table, pd.DataFrame)

p2p.TokenForm(how="popup")  # type: ignore[arg-type]
p2p.load_history(client, on_bad_record="ignore")  # type: ignore[arg-type]
p2p.pending_ageing(history.payments)  # type: ignore[call-arg]
desk.pay(user_id="1", amount=0.1, note="a float is not exact")  # type: ignore[arg-type]
desk.pay(user_id="1", amount=1)  # type: ignore[call-arg]
desk.pay("1", amount=1, note="by position")  # type: ignore[misc]
client.payment(1)  # type: ignore[arg-type]
p2p.spending_over_time(history.payments, every="months")  # type: ignore[arg-type]
p2p.spending_over_time(history.payments, by="person")  # type: ignore[arg-type]
