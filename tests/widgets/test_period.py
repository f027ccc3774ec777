"""Period of the explorer: the date that it refers to, its shortcuts, and the sentence about it."""

from datetime import date

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError
from support.widgets.histories import build_history, build_payment, choose

pytestmark = pytest.mark.usefixtures("draw_nothing")
ROWS = [  # created in one month and completed in the next
    build_payment(1, "2024-03-31T12:00:00Z", "2", "Ben", -1000, date_completed="2024-04-02T12:00:00Z"),
    build_payment(2, "2024-04-30T12:00:00Z", "2", "Ben", -200, date_completed="2024-05-01T12:00:00Z"),
    build_payment(3, "2024-05-30T12:00:00Z", "2", "Ben", 50, status="pending"),
    build_payment(4, None, "2", "Ben", 7, date_completed="2023-12-31T12:00:00Z"),
]


@pytest.fixture
def explorer() -> p2p.Explorer:
    """Return an explorer of the payments above, fetched at the start of 1 June 2024 in UTC."""
    return p2p.Explorer(build_history(ROWS))


def displayed_ids(explorer: p2p.Explorer) -> list[str]:
    """Return the ids of the selected payments."""
    return list(explorer.payments["payment_id"])


def set_limits(explorer: p2p.Explorer, first: date | None, last: date | None) -> None:
    """Set both days."""
    explorer.first_day.value, explorer.last_day.value = first, last


COMPLETED = ["2023-12", "2024-01", "2024-02", "2024-03", "2024-04", "2024-05"]


@pytest.mark.parametrize(
    ("name", "april", "months", "limits"),
    [
        ("created", ["2"], ["2024-03", "2024-04", None], ["2024-03-31", "2024-04-30"]),
        ("completed", ["1"], COMPLETED, ["2023-12-31", "2024-05-01"]),
    ],
)
def test_every_view_uses_the_chosen_date(explorer, name, april, months, limits) -> None:
    """Period, months, first and last payment, and the date of single payments; ages count from the creation."""
    choose(explorer, "date", name)
    set_limits(explorer, date(2024, 4, 1), date(2024, 4, 30))
    assert displayed_ids(explorer) == april
    set_limits(explorer, None, None)
    choose(explorer, "analysis", "Month by month")
    assert [None if pd.isna(month) else month for month in explorer.table["month"]] == months
    choose(explorer, "analysis", "Where it went")
    assert [f"{explorer.table[column].iloc[0]:%Y-%m-%d}" for column in ("first_date", "last_date")] == limits
    choose(explorer, "analysis", "Payments")
    assert f"date_{name}" in explorer.table
    choose(explorer, "analysis", "Open requests")
    assert list(explorer.table["age_days"]) == [1]
    assert "Ages count from the date of creation." in explorer._scope.value


def test_shortcuts_refer_to_the_time_of_the_data(explorer: p2p.Explorer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They set both days in one update; the user can then change them, and they are called chosen days."""
    updates: list[int] = []
    monkeypatch.setattr(explorer._period, "_on_change", lambda: updates.append(1))
    for label, first, last in (
        ("this month", date(2024, 6, 1), date(2024, 6, 30)),
        ("last month", date(2024, 5, 1), date(2024, 5, 31)),
        ("this year", date(2024, 1, 1), date(2024, 12, 31)),
        ("last year", date(2023, 1, 1), date(2023, 12, 31)),
        ("all", None, None),
    ):
        explorer.first_day.value = date(2020, 2, 2)
        assert explorer.period.label == "chosen days"
        updates.clear()
        choose(explorer, "period", label)
        assert (explorer.first_day.value, explorer.last_day.value, len(updates)) == (first, last, 1)
        explorer.last_day.value = date(2024, 6, 15)
        assert explorer.period.label == "chosen days"
    set_limits(explorer, None, None)
    assert explorer.period.label == "all"


def test_shortcuts_follow_the_zone(explorer: p2p.Explorer) -> None:
    """The data's first moment of June in UTC is still May in New York; chosen days stay."""
    choose(explorer, "period", "this month")
    explorer.zone.value = "America/New_York"
    assert (explorer.first_day.value, explorer.last_day.value) == (date(2024, 5, 1), date(2024, 5, 31))
    assert explorer.period.label == "this month"
    explorer.first_day.value = date(2024, 5, 2)
    explorer.zone.value = "UTC"
    assert explorer.first_day.value == date(2024, 5, 2)


@pytest.mark.parametrize(
    ("label", "today", "days"),
    [
        ("last month", "2024-03-31", (date(2024, 2, 1), date(2024, 2, 29))),
        ("last month", "2024-01-01", (date(2023, 12, 1), date(2023, 12, 31))),
        ("last month", "0001-01-01", (date(1, 1, 1), date(1, 1, 31))),
        ("last year", "0001-01-01", (date(1, 1, 1), date(1, 12, 31))),
        ("this month", "9999-12-31", (date(9999, 12, 1), date(9999, 12, 31))),
    ],
)
def test_a_shortcut_covers_whole_months_and_years(label: str, today: str, days: tuple[date, date]) -> None:
    """In leap years, across years, and at the ends of the calendar."""
    explorer = p2p.Explorer(build_history(ROWS), as_of=today)
    choose(explorer, "period", label)
    assert (explorer.first_day.value, explorer.last_day.value) == days


def test_a_sentence_says_what_is_selected(explorer: p2p.Explorer) -> None:
    """The date, the days or months, the zone, and the payments without the date: in no period, but in all dates."""
    missing = "1 payment has no date of"
    march, april = date(2024, 3, 15), date(2024, 4, 30)
    for name, first, last, words in (
        ("created", None, None, f"All 4 payments, of any date. Dates are those of creation. {missing} creation."),
        (
            "created", march, april,
            f"2 of 4 payments, created from 15 Mar 2024 to 30 Apr 2024, UTC time. {missing} creation and so is in no",
        ),
        (
            "completed", None, april,
            f"2 of 4 payments, completed up to 30 Apr 2024, UTC time. {missing} completion and so is in no period.",
        ),
        ("completed", april, None, "1 of 4 payments, completed from 30 Apr 2024 on, UTC time."),
    ):  # fmt: skip
        choose(explorer, "date", name)
        set_limits(explorer, first, last)
        assert explorer._scope.value.startswith(f'<p class="quiet">{words}')
        assert explorer._scope.value.endswith(" Data as of 1 Jun 2024.</p>")
    explorer = p2p.Explorer(build_history(ROWS).masked(key=b"k" * 32, strict=True))
    set_limits(explorer, march, date(2024, 4, 15))
    assert "created from Mar 2024 to Apr 2024, UTC time." in explorer._scope.value
    assert len(explorer.payments) == 2


def test_dates_of_other_types_mean_the_same() -> None:
    """Naive dates are UTC; other zones, seconds and objects are the same instants."""
    for convert in (
        lambda dates: dates.dt.tz_localize(None),
        lambda dates: dates.dt.tz_convert("Asia/Tokyo"),
        lambda dates: dates.dt.as_unit("s"),
        lambda dates: dates.astype(object),
    ):
        history = build_history(ROWS)
        history.payments["date_created"] = convert(history.payments["date_created"])
        explorer = p2p.Explorer(history)
        set_limits(explorer, date(2024, 4, 1), date(2024, 4, 30))
        assert displayed_ids(explorer) == ["2"]
        choose(explorer, "analysis", "Payments")
        assert str(explorer.table["date_created"].dtype) == "datetime64[us, UTC]"


def test_a_history_that_was_changed_is_refused() -> None:
    """A column without dates, or a repeated payment: at the start, not at a later click."""
    for name, value, sentence in (
        ("date_completed", "soon", r"^date_completed holds a value that is not a date: use datetimes"),
        ("payment_id", "1", r"^Explorer needs each payment once, but the payment_id '1' is repeated"),
    ):
        history = build_history(ROWS)
        history.payments[name] = value
        with pytest.raises(SchemaError, match=sentence):
            p2p.Explorer(history)


def test_an_error_is_one_sentence(explorer: p2p.Explorer) -> None:
    """In the message area; nothing of the earlier selection stays displayed, and the next choice works again."""
    currencies = explorer._payments["currency"]
    explorer._payments["currency"] = ["USD", "EUR", "USD", "USD"]
    choose(explorer, "analysis", "Month by month")
    assert 'role="alert"' in explorer._message.value
    assert "EUR" in explorer._message.value
    assert explorer._table.value == explorer._plot.value == explorer._scope.value == ""
    assert len(explorer.table) == 0
    explorer._payments["currency"] = currencies
    choose(explorer, "analysis", "Where it went")
    assert explorer._message.value == ""
    assert "<figure>" in explorer._plot.value


def test_what_recurs_is_judged_at_the_end_of_the_period() -> None:
    """Rent that is paid on 3 May is not late in the period until 2 May."""
    rent = [build_payment(at, f"2024-0{at}-03T12:00:00Z", "2", "Ben", -90000) for at in range(1, 5)]
    explorer = p2p.Explorer(build_history(rent), as_of="2024-05-20")
    choose(explorer, "analysis", "What recurs")
    assert explorer.table["state"].tolist() == ["late"]
    explorer.last_day.value = date(2024, 5, 2)
    assert explorer.table["state"].tolist() == ["active"]
