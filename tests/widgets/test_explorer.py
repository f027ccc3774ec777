"""Explorer without a browser: the tests set its widgets as clicks do, and read its table, plot and files."""

import base64
import dataclasses
import re
import stat
from datetime import date
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import PEOPLE
from support.frames import frame_from_rows
from support.widgets.histories import build_history, build_payment, choose

EVIL = '<img src=x onerror="alert(1)"> $x$ _\u202e'
ROWS = [
    build_payment(1, "2024-03-01T04:59:00Z", "2", "Ben", -1000, audience="friends"),  # still February in New York
    build_payment(2, "2024-03-01T05:00:00Z", "2", "Ben", -200),
    build_payment(3, "2024-03-31T12:00:00Z", "2", "Ben B.", 50),
    build_payment(4, "2024-04-01T03:59:59Z", "3", "Sam", -30),  # the last second of March in New York
    build_payment(5, "2024-04-01T04:00:00Z", "41", "Sam", -4),
    build_payment(6, "2024-05-01T00:00:00Z", None, "ann@example.com", -7, status="pending"),
    build_payment(7, "2024-05-02T00:00:00Z", "5", EVIL, 9, status="pending"),
    build_payment(8, None, "2", "Ben", -3),
]


@pytest.fixture
def explorer(tmp_path: Path) -> p2p.Explorer:
    """Return an explorer of the payments above."""
    return p2p.Explorer(build_history(ROWS), tz="America/New_York", folder=tmp_path)


def displayed_ids(explorer: p2p.Explorer) -> str:
    """Return the ids of the displayed payments."""
    return "".join(explorer.payments["payment_id"])


@pytest.fixture
def images(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the plot, table and options of each image that is asked for from now on; none is drawn."""
    asked: list[Any] = []
    monkeypatch.setattr(
        p2p.plots, "to_image", lambda plot, table, _kind, **options: asked.append((plot, table, options)) or b""
    )
    return asked


def test_the_initial_choices_include_all_payments(explorer: p2p.Explorer) -> None:
    """Every person, status and date, with the spend-by-friend analysis; the requested zone is near the top."""
    history = build_history(ROWS)
    assert displayed_ids(explorer) == "12345678"
    pd.testing.assert_frame_equal(explorer.table, p2p.spend_by_friend(history.payments, history.friends))
    assert repr(explorer) == "<Explorer of Rosa: Where it went, 8 payments>"
    assert explorer.person.label == "everyone"
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()
    zones = explorer.zone.options
    assert zones[:4] == ("UTC", "America/New_York", "Africa/Abidjan", "Africa/Accra")
    assert len({*zones}) == len(zones)


def test_people_are_distinguished_by_id(explorer: p2p.Explorer) -> None:
    """People without an id are distinguished by address."""
    for label, ids in {
        "Ben B.": "1238",  # one id with two names is one person, under the later name
        "Sam (…3)": "4",  # two ids with one name are two
        "Sam (…41)": "5",
        "ann@example.com": "6",
    }.items():
        choose(explorer, "person", label)
        assert displayed_ids(explorer) == ids


def test_the_period_covers_whole_days_of_the_zone(explorer: p2p.Explorer) -> None:
    """First and last day are included; a payment without a date is in no period; an inverted period is reported."""
    for zone, first, last, ids in (
        ("America/New_York", date(2024, 3, 1), date(2024, 3, 31), "234"),
        ("UTC", date(2024, 3, 1), date(2024, 3, 31), "123"),
        ("UTC", None, date(2024, 3, 1), "12"),
        ("UTC", date(2024, 5, 2), None, "7"),
        ("UTC", date(1, 1, 1), date(9999, 12, 31), "1234567"),
        ("Asia/Tokyo", date(1, 1, 1), None, "1234567"),
        ("UTC", date(2024, 5, 1), date(2024, 4, 1), ""),
    ):
        explorer.zone.value, explorer.first_day.value, explorer.last_day.value = zone, first, last
        assert displayed_ids(explorer) == ids
        assert ("ends before it begins" in explorer._message.value) == (not ids)
    explorer.first_day.value = None
    assert explorer._message.value == ""


def test_status_and_analysis_change_table_and_plot(explorer: p2p.Explorer) -> None:
    """Table and plot are of the choices; HTML, dollars and direction overrides in a name are text."""
    before = explorer._plot.value
    choose(explorer, "status", "pending")
    choose(explorer, "analysis", "Open requests")
    assert list(explorer.table["counterparty_name"]) == ["ann@example.com", EVIL]
    assert list(explorer.table["age_days"]) == [31, 30]  # counted to the load
    assert explorer._plot.value != before
    html = explorer._table.value
    for words in ("Open requests: 2 rows", "$0.07", "&lt;img src=x onerror=&quot;alert(1)&quot;&gt; $x$ _</bdi>"):
        assert words in html
    assert "<img" not in html
    assert {widget._view_name for widget in (explorer._plot, explorer._table, explorer._message)} == {"HTMLView"}


@pytest.mark.parametrize("rows", [[], ROWS], ids=["empty", "some"])
def test_every_analysis_shows_something(rows: list[dict[str, Any]]) -> None:
    """Also without payments; the picture is an SVG with alternative text."""
    explorer = p2p.Explorer(build_history(rows))
    titles = [title for title, name in explorer.analysis.options if name != "payments"]
    assert len(titles) == len(ANALYSES)
    for title in titles:
        choose(explorer, "analysis", title)
        pattern = r'<figure><img src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"></figure>'
        drawn = re.fullmatch(pattern, explorer._plot.value)
        assert b"<svg" in base64.b64decode(drawn[1])
        assert title in drawn[2]
        assert f"<caption>{title}: {len(explorer.table)} row" in explorer._table.value
        assert explorer._message.value == ""


@pytest.mark.usefixtures("draw_nothing")
def test_the_plot_of_months_is_called_by_its_period() -> None:
    """Its bars are months up to four years, quarters up to twelve, then years; rows stay months."""
    for first, words in (("2020-06", "Month by month"), ("2020-05", "Quarter by quarter"), ("2012-06", "Year by year")):
        dates = (f"{first}-15T12:00:00Z", "2024-05-15T12:00:00Z", None)
        explorer = p2p.Explorer(build_history([build_payment(at, day, "2", "Ben", -1) for at, day in enumerate(dates)]))
        choose(explorer, "analysis", "Month by month")
        assert f'alt="{words}, as a plot;' in explorer._plot.value
        assert "<caption>Month by month: " in explorer._table.value


def test_phone_numbers_have_their_digits_in_groups() -> None:
    """In each table and the list of people, as in plots; a search finds both forms. A name of digits stays."""
    day, phone = "2024-05-01T12:00:00Z", "14155550123"
    rows = [
        build_payment(1, day, phone, phone, -100, target_phone=phone),
        build_payment(2, day, None, "4155550124", -100),
        build_payment(3, day, "9", "14155550125", -100),
    ]
    explorer = p2p.Explorer(build_history(rows))
    labels = ["+1 415 555 0123", "14155550125", "415 555 0124"]
    assert [label for label, _ in explorer.person.options] == ["everyone", *labels]
    for title in ("Where it went", "Payments"):
        choose(explorer, "analysis", title)
        assert [label for label in labels if f"<bdi>{label}</bdi>" in explorer._table.value] == labels
    for text in ("415 555 0123", "4155550123"):
        explorer.search.value = text
        assert displayed_ids(explorer) == "1"


def test_files_are_named_after_the_choices(explorer: p2p.Explorer, tmp_path: Path) -> None:
    """File names are safe, files private, and the message has the whole path; only the same choices replace a file."""
    choose(explorer, "person", '<img src=x onerror="alert(1)"> $x$ _')
    explorer.last_day.value = date(2024, 12, 31)
    explorer.save_csv.click()
    (written,) = tmp_path.iterdir()
    assert re.fullmatch(
        r"spend_by_friend-img-src-x-onerror-alert-1-x-_-[0-9a-f]{8}-to-2024-12-31-America-New_York\.csv", written.name
    )
    assert str(written) in explorer._message.value
    assert stat.S_IMODE(written.stat().st_mode) == 0o600
    pd.testing.assert_frame_equal(p2p.read_csv(written), explorer.table, check_dtype=False)
    explorer.save_csv.click()
    explorer.save_plot.click()
    for label in ("Sam (…3)", "Sam (…41)"):  # names that only differ in characters unsafe in file names
        choose(explorer, "person", label)
        assert explorer._message.value == ""
        explorer.save_csv.click()
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".csv", ".csv", ".csv", ".png"]
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in tmp_path.glob("*.png"))


def test_invalid_settings_are_refused(tmp_path: Path) -> None:
    """An unknown zone, an invalid datetime, a frame instead of a history; a missing folder is reported in the form."""
    history = build_history(ROWS)
    for given, options, words in (
        (history.payments, {}, r"^Explorer needs a History, .* not DataFrame\.$"),
        (history, {"tz": "Mars"}, "tz must be a zone name"),
        (history, {"as_of": "soon"}, "as_of='soon' is not an instant"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            p2p.Explorer(given, **options)
    explorer = p2p.Explorer(history, folder=tmp_path / "nowhere")
    explorer.save_csv.click()
    assert 'role="alert"' in explorer._message.value
    assert "there is no such file or folder" in explorer._message.value


@pytest.mark.usefixtures("draw_nothing")
def test_a_long_table_shows_its_first_rows() -> None:
    """It shows a hundred rows and their total number; the table has all of them."""
    people = [build_payment(at, "2024-01-01T00:00:00Z", str(at), f"Person {at}", -1) for at in range(120)]
    explorer = p2p.Explorer(build_history(people))
    assert explorer._table.value.count("<tr ") == 101
    assert "the first 100 of 120 rows" in explorer._table.value
    assert len(explorer.table) == 120


@pytest.mark.usefixtures("draw_nothing")
def test_a_split_bill_and_a_large_payment() -> None:
    """Dates, weekdays, notes and shares of the tables are in words; foreign text is escaped."""
    asked = {"action": "charge", "note": f"Pizza {EVIL}"}
    rows = [build_payment(at, f"2024-05-06T1{at}:00:00Z", str(at), f"Person {at}", 1000, **asked) for at in (1, 2)]
    rows += [build_payment(at, "2024-05-06T12:00:00Z", "9", EVIL, -100 * (at == 8) - 10) for at in range(3, 9)]
    explorer = p2p.Explorer(build_history(rows))
    for title, cells in (
        ("Split bills", r"2024-05-06\s+Pizza &lt;img"),
        ("Look again", r"large\s+\$1\.10\s+\$0\.10\s+&lt;img"),
        ("Hours of the week", r"Monday\s+11\s+1\s+\$10\.00"),
        ("People, year by year", r"2024\s+3\s+3\s+0\s+"),
        ("What it was for, over time", r"2024-05-01\s+food\s+"),
    ):
        choose(explorer, "analysis", title)
        assert explorer._message.value == ""
        assert "<img" not in explorer._table.value
        assert re.search(cells, re.sub(r"<[^>]+>", " ", explorer._table.value))


def test_strict_privacy_mode_shows_months(images: list[Any]) -> None:
    """Dates and periods are whole months, the zone is UTC, and ages are in bands of months."""
    explorer = p2p.Explorer(build_history(ROWS).masked(key=b"k" * 32, strict=True), tz="America/New_York")
    assert explorer.zone.options == ("UTC",)
    assert "<bdi>2024-03</bdi>" in explorer._table.value
    assert "2024-03-" not in explorer._table.value
    explorer.first_day.value, explorer.last_day.value = date(2024, 4, 17), date(2024, 4, 18)
    assert explorer.payments["date_created"].tolist() == [pd.Timestamp("2024-04-01", tz="UTC")] * 2
    assert (images[-1][2]["private"], images[-1][2]["strict"]) == (True, True)
    explorer.analysis.value = "pending_ageing"
    assert "under 31 days" in explorer.table["band"].tolist()


def test_privacy_mode_is_displayed(images: list[Any]) -> None:
    """Only pseudonyms are shown, plots have a privacy mark, and views of hidden parts name them."""
    p2p.Explorer(build_history(ROWS))
    explorer = p2p.Explorer(build_history(ROWS, username="rosa").masked(key=b"k" * 32))
    assert [(options["private"], options["strict"]) for _, _, options in images] == [(False, False), (True, False)]
    assert not re.search("ann@example|Rosa", f"{explorer!r}{explorer._table.value}{explorer.person.options}")
    assert "hides" not in explorer._scope.value
    for title, hidden in (("What it was for", "the words of notes"), ("Hours of the week", "times of day")):
        choose(explorer, "analysis", title)
        words = f"Privacy mode hides {hidden}, so this view is not that of the real payments."
        assert words in explorer._scope.value


@pytest.mark.usefixtures("draw_nothing")
def test_what_statements_do_not_tell() -> None:
    """A view says what statement files lack; without a known audience there is no plot of audiences."""
    rows = [{**row, "source": "statement", "currency": "USD", "audience": None} for row in ROWS]
    explorer = p2p.Explorer(build_history(rows))
    assert "statement files" not in explorer._scope.value
    for name, lines in (("exposure", 4), ("sensitive_notes", 0)):
        explorer.analysis.value = name
        assert "8 payments are from statement files, which do not say who can see them" in explorer._scope.value
        assert (explorer._plot.value, explorer.save_plot.layout.display) == ("", "none")
        assert len(explorer.table) == lines
    explorer.analysis.value = "spend_by_friend"
    assert explorer.save_plot.layout.display != "none"


def test_plots_and_tables_have_usernames(images: list[Any]) -> None:
    """Namesakes have their usernames, also where an analysis has none; headings are declared, without those columns."""
    rows = [build_payment(at, "2024-03-01T05:00:00Z", f"{at}", "Sam", 30, action="charge") for at in (3, 4)]
    people = frame_from_rows([{"user_id": f"{at}", "username": f"sam-{at}"} for at in (3, 4)], PEOPLE)
    explorer = p2p.Explorer(dataclasses.replace(build_history(rows), people=people))
    explorer.analysis.value = "request_outcomes"
    assert images[-1][2]["names"] == {("3", "Sam"): "Sam @sam-3", ("4", "Sam"): "Sam @sam-4"}
    assert "<bdi>Sam @sam-3</bdi>" in explorer._table.value
    assert "counterparty_username" not in explorer.table
    assert re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', explorer._table.value) == [
        "person", "direction", "requests", "settled", "pending", "cancelled", "expired", "failed", "requested", "paid",
        "open", "share settled", "half within, days", "9 of 10 within, days",
    ]  # fmt: skip
    explorer.analysis.value = "monthly_flow"
    assert images[-1][2]["names"] == {}


def test_the_hours_name_the_zone(images: list[Any]) -> None:
    """The plot of the hours of the week names the chosen zone."""
    explorer = p2p.Explorer(build_history(ROWS), tz="Asia/Tokyo")
    explorer.analysis.value = "activity"
    plot, table, _ = images[-1]
    assert "in Asia/Tokyo" in plot(table).get_xlabel()
