"""Amounts, dates, counts and foreign text in the form that is displayed; expected values are worked out by hand."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics import display
from p2p_analytics.times import BEGINNING, END

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
HALF = "half \ud83d"


CONTROLS = "a\x1b[2J\u202e\u2066b\n c\td\x07"
BEFORE_MIDNIGHT = datetime(2023, 12, 31, 23, 0, tzinfo=UTC)
MONEY = [
    # (units, currency): thousands are separated, and a minus sign is before the symbol
    (0, "USD", "$0.00"), (1234567.891, "USD", "$1,234,567.89"), (-0.05, "USD", "−$0.05"),  # noqa: RUF001 - a minus sign
    (None, "USD", "not known"), (1234.5, "GBP", "£1,234.50"), (12, "EUR", "€12.00"), (1200.0, "JPY", "¥1,200"),
    (0.5, "JPY", "¥0.50"),  # nothing is rounded
    (-1.25, "KWD", "−KWD\u00a01.250"),  # noqa: RUF001 - a minus sign
    (3, "CAD", "CAD\u00a03.00"),  # dollars of other countries have their code
    (3, None, "¤3.00"), (3, "XXX", "¤3.00"), (3, "<b>\u202e", "b\u00a03.00"),
]  # fmt: skip
TEXTS = {
    display.format_share: [
        # Parts that round to nothing or to the whole have the sign of what they are.
        (0, 1, "0.0%"), (1 / 10_000, 1, "<0.1%"), (0.0006, 1, "0.1%"), (2 / 3, 1, "66.7%"), (0.9994, 1, "99.9%"),
        (9999 / 10_000, 1, ">99.9%"), (1, 1, "100.0%"), (1.0004, 1, "100.0%"), (12.345, 1, "1,234.5%"),
        (0.001, 0, "<1%"), (0.999, 0, ">99%"), (0.25, 0, "25%"),
    ],
    display.format_days: [
        (0, "0.0"), (-0.01, "0.0"), (-10.0, "-10.0"), (0.04, "<0.1"), (0.06, "0.1"), (1234.56, "1,234.6"),
    ],
    display.format_count: [
        (0, "one", "people", "0 people"), (1, "one", "people", "1 one"), (12345, "one", "people", "12,345 people"),
    ],
    display.join_short: [
        # A name that ends at the limit is whole; the beginning of one that is longer is shown if it is the only one.
        (["aa", "bbb"], 7, "aa, bbb"), (["aaa", "bbb", "ccc"], 8, "aaa, bbb, …"),
        (["aaa", "bbb", "ccc"], 7, "aaa, …"), (["aaa", "bbb"], 3, "aaa, …"), (["aaabbb"], 3, "aaa…"),
    ],
    display.join_first: [(["a", "b\n", "c", "d", "e"], "a, b, c and 2 more"), (["a", "b"], "a, b")],
    display.describe_kinds: [
        ({"transfer": 1200, "merchant": 1, "unknown": 2, "club\n\u202efee": 3},
         "1,200 transfers, 1 merchant transaction, 2 of an unknown kind, 3 of the kind club fee"),
    ],
    # An hour before midnight UTC is the next day, month and year in Berlin.
    display.format_moment: [
        (BEFORE_MIDNIGHT, UTC, "31 Dec 2023, 23:00"), (BEFORE_MIDNIGHT, BERLIN, "1 Jan 2024, 00:00"),
        (BEFORE_MIDNIGHT, NEW_YORK, "31 Dec 2023, 18:00"),
    ],
    display.format_day: [(BEFORE_MIDNIGHT, BERLIN, "1 Jan 2024"), (None, BERLIN, "no date")],
    display.format_month: [(BEFORE_MIDNIGHT, BERLIN, "Jan 2024"), (None, BERLIN, "no date")],
    # A line has no control, surrogate and direction characters; a text keeps line breaks and tabs.
    display.clean_line: [(CONTROLS, "a[2Jb c d"), (f" {HALF}  é ", "half é"), (None, "")],
    display.clean_text: [(CONTROLS, "a[2J\u202e\u2066b\n c\td"), (HALF, "half ?"), (None, "not known")],
    display.keep_printable: [(CONTROLS, "a[2Jb cd"), ("\x00abcd", 3, "abc")],
}  # fmt: skip
PHONES = {"14155550123": "+1 415 555 0123", "+14155550123": "+1 415 555 0123", "4155550123": "415 555 0123"}
NO_PHONES = (
    "", " ", "+1 (415) 555-0123", "+442079460958", "442079460958", "415555012", "141555501234", "0155550123",
    "11555550123", "٤١٥٥٥٥٠١٢٣", "14155550123\n", "unregistered phone", "145434160922624933",
)  # fmt: skip


@pytest.mark.parametrize(("units", "currency", "text"), MONEY)
def test_amounts(units, currency, text: str) -> None:
    """In the form and with the decimals of their currency, unless others are wanted."""
    assert display.format_money(units, currency=currency) == text
    assert display.format_money(-1250.0, decimals=0) == "−$1,250"  # noqa: RUF001 - a minus sign


@pytest.mark.parametrize("format_", TEXTS, ids=lambda each: each.__name__)
def test_words_for_people(format_) -> None:
    """Shares, days, counts, names, kinds, dates and foreign text."""
    rows = TEXTS[format_]
    assert [format_(*arguments) for *arguments, _ in rows] == [row[-1] for row in rows]


def test_phone_numbers() -> None:
    """Digits are in groups; foreign, incomplete and other texts stay."""
    assert {text: display.format_phone(text) for text in PHONES} == PHONES
    assert [text for text in NO_PHONES if display.format_phone(text) != text or display.is_phone(text)] == []
    assert all(map(display.is_phone, PHONES))


@pytest.mark.parametrize(("instant", "zone"), [(END, BERLIN), (BEGINNING, NEW_YORK)])
def test_the_limits_of_datetime(instant: datetime, zone: ZoneInfo) -> None:
    """An instant stays in its own zone if its local date is outside the range of datetime."""
    assert display.to_zone(instant, zone) is instant


def test_month_names_are_english(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twelve names do not depend on the locale of the machine."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    months = [display.format_month(datetime(2024, number, 5, tzinfo=UTC), BERLIN) for number in range(1, 13)]
    names = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec"
    assert " ".join(months) == names.replace(" ", " 2024 ") + " 2024"


@pytest.mark.parametrize(
    ("names", "usernames", "keys", "suffixes"),
    [
        ("Maya Tom", "maya-lind tom", "10001234 10005678", " "),
        ("Maya Maya", "maya-lind m2", "10001234 10005678", "@maya-lind @m2"),
        ("Maya Maya", "maya-lind -", "10001234 10005678", "@maya-lind (…5678)"),
        ("Maya Maya", "maya-lind -", "10001234 Maya", "@maya-lind "),  # a name that is its own key has no other
        ("Maya Maya", "maya-lind m2", "- Maya", "@maya-lind @m2"),
        ("Maya Maya", "maya-lind -", "- -", "@maya-lind "),
        ("Maya Maya", "- -", "10001234 10005678", "(…1234) (…5678)"),
        ("Maya Maya", "- -", "10001234 10001234", " "),
        ("Maya Maya", "- -", "10071234 10091234", "(…71234) (…91234)"),
        ("Maya Maya", "- -", "10001234 -", "(…1234) "),
        ("Maya Maya", "- -", "7 8", "(…7) (…8)"),
        ("Maya Tom Maya", "- - -", "1111 2222 3333", "(…1111)  (…3333)"),
        # A username of two people, in whichever case, identifies neither.
        ("Maya Maya Maya", "Sam sam kim", "10001234 10005678 10009999", "(…1234) (…5678) @kim"),
        # A person with two usernames has the alphabetically later one everywhere.
        ("Maya Maya Maya Maya", "old young - m2", "1111 1111 1111 2222", "@young @young @young @m2"),
    ],
)
def test_namesakes_are_distinguished(names: str, usernames: str, keys: str, suffixes: str) -> None:
    """By username, else by four characters of the key, or as many as make it unique; no other name has a suffix."""
    given = ([None if word == "-" else word for word in words.split()] for words in (usernames, keys))
    assert display.name_suffixes(names.split(), *given) == suffixes.split(" ")


@pytest.mark.parametrize(
    "username", ["two words", "tab\tbed", "zero\u200bwidth", "\u202eturned", "bell\x07", HALF, " ", "m1"]
)
def test_a_username_that_could_look_like_another_one_is_not_displayed(username: str) -> None:
    """With whitespace, with characters that are invisible or removed, or if a name ends in it."""
    found = display.name_suffixes(["M", "M", "M @m1"], [username, "m2", None], ["1111", "2222", "3333"])
    assert found == ["(…1111)", "@m2", ""]


def test_suffixes_are_cleaned() -> None:
    """The end of a key is foreign text too, and is unique after cleaning; the caller may clean it in its own way."""
    names, keys = ["M", "M"], ["ab\x00\u202ed", "wxyz"]
    assert display.name_suffixes(names, [None, None], keys) == ["(…bd)", "(…wxyz)"]
    hidden = ["ax1\x00\x07\x08\x0b", "by1\x00\x07\x08\x0b"]
    assert display.name_suffixes(names, [None, None], hidden) == ["(…x1)", "(…y1)"]
    censored = display.name_suffixes(names, ["m1", None], keys, clean=lambda text: "#" * len(text))
    assert censored == ["(…#####)", "(…####)"]


@settings(max_examples=200, derandomize=True)
@given(
    st.lists(
        st.tuples(st.sampled_from(["M", "M @a", "T"]), st.none() | st.text("aA \u200b"), st.text("12", min_size=1))
    )
)
def test_people_with_keys_never_look_alike(people: list[tuple[str, str | None, str]]) -> None:
    """Different people have different labels, and one person of one name has one label."""
    names, usernames, keys = ([row[at] for row in people] for at in range(3))
    labels: dict[str, set[tuple[str, str]]] = {}
    for name, key, suffix in zip(names, keys, display.name_suffixes(names, usernames, keys), strict=True):
        labels.setdefault(f"{name} {suffix}".strip(), set()).add((name, key))
    assert all(len(same) == 1 for same in labels.values())
    assert len(labels) == len({(name, key) for name, _, key in people})
