"""Amounts, dates, counts and foreign text in the form that is displayed; expected values are worked out by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics import display

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (0, "$0.00"),
        (12.3, "$12.30"),
        (1234567.891, "$1,234,567.89"),
        (-0.05, "−$0.05"),  # noqa: RUF001 - a minus sign
        (None, "not known"),
    ],
)
def test_money_has_cents(units: float | None, text: str) -> None:
    """Thousands are separated, a negative amount has a minus sign before the dollar sign."""
    assert display.format_money(units) == text


@pytest.mark.parametrize(
    ("units", "currency", "text"),
    [
        (1234.5, "GBP", "£1,234.50"),
        (12, "EUR", "€12.00"),
        (1200.0, "JPY", "¥1,200"),
        (0.5, "JPY", "¥0.50"),  # nothing is rounded
        (-1.25, "KWD", "−KWD\u00a01.250"),  # noqa: RUF001 - a minus sign
        (3, "CAD", "CAD\u00a03.00"),
        (3, None, "¤3.00"),
        (3, "XXX", "¤3.00"),
        (3, "<b>\u202e", "b\u00a03.00"),
    ],
)
def test_money_has_symbol_and_decimals_of_its_currency(units: float, currency: str | None, text: str) -> None:
    """Other dollars than those of the US have their code; a word that is no code keeps its letters."""
    assert display.format_money(units, currency=currency) == text


def test_money_can_be_without_cents() -> None:
    """The number of decimals is an argument."""
    assert display.format_money(-1250.0, decimals=0) == "−$1,250"  # noqa: RUF001 - a minus sign


@pytest.mark.parametrize(
    ("zone", "day", "month"),
    [(UTC, "31 Dec 2023", "Dec 2023"), (BERLIN, "1 Jan 2024", "Jan 2024"), (NEW_YORK, "31 Dec 2023", "Dec 2023")],
)
def test_dates_are_of_the_zone(zone: ZoneInfo, day: str, month: str) -> None:
    """An hour before midnight UTC is the next day, month and year in Berlin."""
    instant = datetime(2023, 12, 31, 23, 0, tzinfo=UTC)
    assert display.format_day(instant, zone) == day
    assert display.format_month(instant, zone) == month


def test_month_names_are_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twelve names do not depend on the locale of the machine."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    days = [display.format_day(datetime(2024, number, 5, tzinfo=UTC), BERLIN) for number in range(1, 13)]
    assert days == [
        "5 Jan 2024", "5 Feb 2024", "5 Mar 2024", "5 Apr 2024", "5 May 2024", "5 Jun 2024",
        "5 Jul 2024", "5 Aug 2024", "5 Sep 2024", "5 Oct 2024", "5 Nov 2024", "5 Dec 2024",
    ]  # fmt: skip


def test_a_missing_date_is_named() -> None:
    """A day and a month without an instant are "no date"."""
    assert display.format_day(None, BERLIN) == "no date"
    assert display.format_month(None, BERLIN) == "no date"


@pytest.mark.parametrize(
    ("phone", "text"),
    [
        ("14155550123", "+1 415 555 0123"),
        ("+14155550123", "+1 415 555 0123"),
        ("4155550123", "415 555 0123"),
        ("15550100199", "+1 555 010 0199"),
    ],
)
def test_us_phone_numbers_are_grouped(phone: str, text: str) -> None:
    """Eleven digits have their country code; ten digits get none."""
    assert display.format_phone(phone) == text


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "+1 (415) 555-0123", "+442079460958", "442079460958", "415555012", "141555501234", "0155550123",
        "11555550123", "٤١٥٥٥٥٠١٢٣", "14155550123\n", "unregistered phone", "ana@example.com", "145434160922624933",
    ],
)  # fmt: skip
def test_other_phone_numbers_are_unchanged(text: str) -> None:
    """Foreign, incomplete and already formatted numbers, other digits and other texts stay as they are."""
    assert display.format_phone(text) == text


@pytest.mark.parametrize(
    ("instant", "zone"), [(datetime.max.replace(tzinfo=UTC), BERLIN), (datetime.min.replace(tzinfo=UTC), NEW_YORK)]
)
def test_the_limits_of_datetime(instant: datetime, zone: ZoneInfo) -> None:
    """An instant stays in its own zone if its local date is outside the range of datetime."""
    assert display.to_zone(instant, zone) is instant


def test_to_zone_converts() -> None:
    """All other instants are converted."""
    there = display.to_zone(datetime(2024, 7, 1, 22, 30, tzinfo=UTC), BERLIN)
    assert there.isoformat() == "2024-07-02T00:30:00+02:00"


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 people"), (1, "1 person"), (2, "2 people"), (12345, "12,345 people")]
)
def test_counts_have_a_noun(number: int, text: str) -> None:
    """Only one has the singular."""
    assert display.format_count(number, "person", "people") == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "not known"),
        ("", ""),
        (7, "7"),
        ("two\n\tlines", "two\n\tlines"),
        ("nul\x00 bell\x07 del\x7f next\x85", "nul bell del next"),
        ("half \ud83d of a pair", "half ? of a pair"),
        ("<b>&\u202e 王", "<b>&\u202e 王"),
    ],
)
def test_clean_text(value: object, text: str) -> None:
    """Control characters are removed except newline and tab, a lone surrogate becomes "?", all else stays."""
    assert display.clean_text(value) == text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, ""),
        ("  two\n lines\t", "two lines"),
        ("bell\x07 half \ud83d", "bell half"),
        ("\u202eturned\u202c \u2066isolated\u2069", "turned isolated"),
        ("Zoë 🍕 王 محمد", "Zoë 🍕 王 محمد"),
        ("\u200d👩\u200d🚀", "\u200d👩\u200d🚀"),
    ],
)
def test_clean_line(text: str | None, line: str) -> None:
    """Whitespace collapses; control, surrogate and direction characters are removed; joined emoji stay joined."""
    assert display.clean_line(text) == line


def test_keep_printable() -> None:
    """Escape sequences, line breaks, direction and zero-width characters are removed before the text is cut."""
    assert display.keep_printable("\x1b[31mred\r\n\u202e\u200bend") == "[31mredend"
    assert display.keep_printable("\x00\x01abcdef", 3) == "abc"
    assert display.keep_printable("plain text") == "plain text"


@pytest.mark.parametrize(
    ("names", "keys", "suffixes"),
    [
        ([], [], []),
        (["Maya", "Tom"], ["10001234", "10005678"], ["", ""]),
        (["Maya", "Maya"], ["10001234", "10005678"], ["(…1234)", "(…5678)"]),
        (["Maya", "Maya"], ["10001234", "10001234"], ["", ""]),
        (["Maya", "Maya"], ["10071234", "10091234"], ["(…71234)", "(…91234)"]),
        (["Maya", "Maya"], ["10001234", "Maya"], ["(…1234)", ""]),
        (["Maya", "Maya"], ["10001234", None], ["(…1234)", ""]),
        (["Maya", "Maya"], ["7", "8"], ["(…7)", "(…8)"]),
        (["Maya", "Tom", "Maya"], ["1111", "2222", "3333"], ["(…1111)", "", "(…3333)"]),
    ],
)
def test_ends_of_keys_distinguish_equal_names(names: list[str], keys: list[str | None], suffixes: list[str]) -> None:
    """Without usernames, a name of several people has four characters of the key, or as many as make it unique."""
    assert display.name_suffixes(names, [None] * len(names), keys) == suffixes


@pytest.mark.parametrize(
    ("people", "suffixes"),
    [
        ([("Maya", "maya-lind", "10001234"), ("Tom", "tom", "10005678")], ["", ""]),
        ([("Maya", "maya-lind", "10001234"), ("Maya", "m2", "10005678")], ["@maya-lind", "@m2"]),
        ([("Maya", "maya-lind", "10001234"), ("Maya", None, "10005678")], ["@maya-lind", "(…5678)"]),
        ([("Maya", "maya-lind", "10001234"), ("Maya", "", "10005678")], ["@maya-lind", "(…5678)"]),
        ([("Maya", "maya-lind", "10001234"), ("Maya", None, "Maya")], ["@maya-lind", ""]),
        ([("Maya", "maya-lind", None), ("Maya", "m2", "Maya")], ["@maya-lind", "@m2"]),
        ([("Maya", "maya-lind", None), ("Maya", None, None)], ["@maya-lind", ""]),
        ([("+1 555 0100", None, "+1 555 0100"), ("+1 555 0100", "kim", "10001234")], ["", "@kim"]),
    ],
    ids=["no namesake", "both", "one without", "an empty one", "name only", "no id", "no id and no username", "phone"],
)
def test_usernames_distinguish_equal_names(
    people: list[tuple[str, str | None, str | None]], suffixes: list[str]
) -> None:
    """Namesakes are distinguished by username, and one without by the end of the key, if there is one."""
    names, usernames, keys = zip(*people, strict=True)
    assert display.name_suffixes(names, usernames, keys) == suffixes


def test_a_username_of_two_people_identifies_neither() -> None:
    """If namesakes have one username, in whichever case, both are distinguished by the key; others keep theirs."""
    suffixes = display.name_suffixes(["Maya"] * 3, ["Sam", "sam", "kim"], ["10001234", "10005678", "10009999"])
    assert suffixes == ["(…1234)", "(…5678)", "@kim"]


def test_one_person_has_one_suffix() -> None:
    """A person who is displayed with two usernames, or once without, has the alphabetically later one everywhere."""
    suffixes = display.name_suffixes(["Maya"] * 4, ["old", "young", None, "m2"], ["1111", "1111", "1111", "2222"])
    assert suffixes == ["@young", "@young", "@young", "@m2"]


def test_no_name_looks_like_a_name_with_its_suffix() -> None:
    """A name that contains the at sign and username of another person cannot be confused with that person."""
    names = ["Maya", "Maya", "Maya @m1"]
    assert display.name_suffixes(names, ["m1", "m2", None], ["1111", "2222", "3333"]) == ["(…1111)", "@m2", ""]


@pytest.mark.parametrize(
    "username",
    ["two words", "tab\tbed", "line\nbreak", "zero\u200bwidth", "\u202eturned", "bell\x07", "half \ud83d", " "],
)
def test_a_username_that_cannot_be_displayed_unchanged_is_not_displayed(username: str) -> None:
    """A username with whitespace, or with characters that are invisible or removed, could look like another one."""
    assert display.name_suffixes(["M", "M"], [username, "m2"], ["1111", "2222"]) == ["(…1111)", "@m2"]


def test_suffixes_are_cleaned() -> None:
    """The end of a key is foreign text too, and is unique after cleaning; the caller may clean it in its own way."""
    names, keys = ["M", "M"], ["ab\x00\u202ed", "wxyz"]
    assert display.name_suffixes(names, [None, None], keys) == ["(…bd)", "(…wxyz)"]
    assert display.name_suffixes(names, [None, None], ["ax1\x00\x07\x08\x0b", "by1\x00\x07\x08\x0b"]) == [
        "(…x1)",
        "(…y1)",
    ]
    censored = display.name_suffixes(names, ["m1", None], keys, clean=lambda text: "#" * len(text))
    assert censored == ["(…#####)", "(…####)"]


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(["M", "M @a", "T"]), st.none() | st.text("aA \u200b"), st.text("12"))))
def test_people_with_keys_never_look_alike(people: list[tuple[str, str | None, str]]) -> None:
    """Different people have different labels, and one person of one name has one label."""
    people = [(name, username, key) for name, username, key in people if key]
    names, usernames, keys = (list(column) for column in zip(*people, strict=True)) if people else ([], [], [])
    labels: dict[str, set[tuple[str, str]]] = {}
    for name, key, suffix in zip(names, keys, display.name_suffixes(names, usernames, keys), strict=True):
        labels.setdefault(f"{name} {suffix}".strip(), set()).add((name, key))
    assert all(len(same) == 1 for same in labels.values())
    assert len(labels) == len({(name, key) for name, _, key in people})


def test_other_kinds_have_words() -> None:
    """Numbers of one and of many, in the order given; the word of an unknown kind is quoted on one line."""
    counts = {"transfer": 1200, "merchant": 1, "unknown": 2, "club\n\u202efee": 3}
    words = "1,200 transfers, 1 merchant transaction, 2 of an unknown kind, 3 of the kind club fee"
    assert display.describe_kinds(counts) == words
    assert display.describe_kinds({}) == ""


@pytest.mark.parametrize(
    ("fraction", "decimals", "text"),
    [
        (0, 1, "0.0%"),
        (1 / 10_000, 1, "<0.1%"),
        (0.0006, 1, "0.1%"),
        (2 / 3, 1, "66.7%"),
        (0.9994, 1, "99.9%"),
        (9999 / 10_000, 1, ">99.9%"),
        (1, 1, "100.0%"),
        (1.0004, 1, "100.0%"),
        (12.345, 1, "1,234.5%"),
        (0.001, 0, "<1%"),
        (0.999, 0, ">99%"),
        (0.25, 0, "25%"),
    ],
)
def test_a_share_is_nothing_or_all_only_if_it_is(fraction: float, decimals: int, text: str) -> None:
    """Parts that round to nothing or to the whole have the sign of what they are."""
    assert display.format_share(fraction, decimals) == text


@pytest.mark.parametrize(
    ("days", "text"),
    [(0, "0.0"), (-0.01, "0.0"), (-10.0, "-10.0"), (0.04, "<0.1"), (0.06, "0.1"), (2.5, "2.5"), (1234.56, "1,234.6")],
)
def test_days_are_none_only_if_they_are(days: float, text: str) -> None:
    """An hour is no 0.0 days."""
    assert display.format_days(days) == text


@pytest.mark.parametrize(
    ("names", "longest", "short"),
    [
        (["aaa", "bbb"], 8, "aaa, bbb"),
        (["aaa", "bbb", "ccc"], 8, "aaa, bbb, …"),
        (["aaa", "bbb", "ccc"], 7, "aaa, …"),
        (["aaa", "bbb"], 3, "aaa, …"),
        (["aaabbb"], 3, "aaa…"),
    ],
)
def test_the_first_names_that_fit(names: list[str], longest: int, short: str) -> None:
    """A name that ends at the limit is whole; the beginning of one that is longer is shown if it is the only one."""
    assert display.join_short(names, longest) == short
