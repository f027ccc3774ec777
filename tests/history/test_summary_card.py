"""A history shows a card in a notebook: who, how much, since when; as text and never as anything that runs."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest

from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.history import History
from p2p_analytics.records import Me, User
from support.frames import frame_from_rows
from support.reports import ParsedPage

EVIL = '<img src=x onerror="alert(1)"> & $a$ \u202eb'
MOMENT = datetime(2024, 6, 30, 12, 5, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"status": status, "direction": direction, "flow_cents": cents, "date_created": date and f"{date}Z"} | more
    for status, direction, cents, date, more in (
        ("settled", "in", 123456, "2024-06-20T09:00:00", {}),
        ("settled", "out", -4010, "2023-12-31T23:30:00", {}),
        ("settled", "out", -290, None, {}),
        ("settled", None, None, "2024-01-01T00:00:00", {"amount_cents": 500}),
        ("failed", "out", -77777, "2024-01-02T00:00:00", {}),
        ("pending", "in", 700, "2024-01-03T00:00:00", {}),
        ("pending", "out", -9999, "2024-01-03T00:00:00", {}),
        ("pending", "out", None, "2024-01-03T00:00:00", {"payment_id": "7"}),
    )
]
WITHOUT_AMOUNT = "1 pending payment has no readable amount, and is in no sum: payment 7."


def history(
    rows: list[dict[str, Any]], *, problems: int = 0, balance: int | None = None, friends: int = 1, **user: Any
) -> History:
    """Return a history of literal rows."""
    me = User(**{"id": "1", "display_name": "Rosa Vale", "username": "rosa-vale", **user})
    return History(
        me=Me(user=me, balance_cents=balance),
        payments=frame_from_rows(rows, PAYMENTS),
        friends=frame_from_rows([{"user_id": "2"}] * friends, FRIENDS),
        fetched_at=MOMENT,
        problems=frame_from_rows([{name: EVIL for name in PROBLEMS if PROBLEMS[name] == "str"}] * problems, PROBLEMS),
    )


def read_card(*args: Any, **fields: Any) -> ParsedPage:
    """Return the tags and the words of a history's card, with all elements closed."""
    card = ParsedPage(history(*args, **fields)._repr_html_())
    assert card.open == []
    return card


def test_only_payments_in_one_currency_are_added_up() -> None:
    """A transfer is counted apart and in no sum; several currencies are named, and nothing is added up."""
    rows = [{**row, "payment_id": f"{at}", "kind": "payment", "currency": "USD"} for at, row in enumerate(ROWS)]
    transfer = {**rows[0], "payment_id": "t", "kind": "transfer"}
    expected = read_card(ROWS).text.replace(WITHOUT_AMOUNT, f"Not counted: 1 transfer {WITHOUT_AMOUNT}")
    assert read_card([*rows, transfer]).text == expected
    assert repr(history([*rows, transfer])).startswith(
        "<History of Rosa Vale: 8 payments, 1 other transactions, 1 friends,"
    )
    text = read_card([*rows, {**rows[0], "payment_id": "e", "currency": "EUR"}]).text
    assert "9 payments from" in text
    assert (
        "No sums: the payments are in USD (8) and EUR (1). For one currency, history.select_currency('USD') ." in text
    )
    assert "$" not in text
    assert "£1,234.56 from others" in read_card([{**row, "currency": "GBP"} for row in rows], balance=5).text
    text = read_card([{**transfer, "currency": "GBP"}], balance=5).text  # transfers alone are in their currency
    assert ("balance £0.05" in text, "$" in text) == (True, False)


def test_the_words_fit_statement_files() -> None:
    """Statements list no friends, and nothing was loaded; with payments of the service too, the words are as ever."""
    rows = [{**row, "payment_id": f"{at}", "source": "statement"} for at, row in enumerate(ROWS)]
    text = read_card(rows, problems=1, friends=0).text
    assert "20 Jun 2024 · from statement files Sent" in text
    assert "1 problem in files, listed in .problems · statements until 2024-06-30 12:05 UTC" in text
    assert "data as of" in read_card([*rows, {**rows[0], "payment_id": "a", "source": "api"}]).text


def test_the_card_says_who_how_much_and_since_when() -> None:
    """Counts are of all payments, sums of settled ones, and open amounts are separate; cents are exact."""
    assert read_card(ROWS, balance=-5, problems=2).text == (
        "Rosa Vale @ rosa-vale "
        "8 payments from 31 Dec 2023 to 20 Jun 2024 · 1 friend · balance −$0.05 "  # noqa: RUF001 - a minus sign
        "Sent $43.00 to others Received $1,234.56 from others Net $1,191.56 in 3 settled payments "
        "Open, to receive $7.00 in 1 pending payment Open, to pay $99.99 in 2 pending payments "
        "2 problems in records, listed in .problems · "
        f"data as of 2024-06-30 12:05 UTC {WITHOUT_AMOUNT}"
    )
    assert repr(history(ROWS, problems=2)) == (
        "<History of Rosa Vale: 8 payments, 1 friends, 2 problems, data as of 2024-06-30 12:05 UTC>"
    )


def test_an_empty_history_has_a_card() -> None:
    """Zeros, no period, and the id where there is neither name nor handle."""
    text = read_card([], display_name=None, username=None).text
    assert text.startswith("1 0 payments · 1 friend Sent $0.00 to others")
    assert text.endswith("Open, to pay $0.00 in 0 pending payments data as of 2024-06-30 12:05 UTC")


@pytest.mark.parametrize("field", ["display_name", "username", "id"])
def test_names_and_notes_are_escaped(field: str) -> None:
    """HTML in a name, handle or id is shown as it was written, apart from its surroundings' direction."""
    names = {"display_name": None, "username": None, field: EVIL}
    card = read_card([row | {"note": EVIL, "counterparty_name": EVIL} for row in ROWS], **names)
    assert EVIL in card.text
    expected = {"div", "strong", "bdi"} | ({"span"} if field == "username" else set())
    assert {tag for tag, _ in card.tags} == expected
    assert {name for _, attributes in card.tags for name in attributes} == {"style"}


def test_a_name_that_no_file_can_hold_does_not_break_the_card() -> None:
    """Half a character pair and control characters are replaced or left out, so the notebook can be saved."""
    card = read_card([], display_name="Rosa \ud83d\x07 Vale")
    assert card.text.startswith("Rosa ? Vale @")
    assert card.html.encode()


def test_the_card_takes_its_colours_from_the_page() -> None:
    """No background and no colour of its own but a grey line: readable in dark and light, in JupyterLab or not."""
    html = read_card(ROWS, problems=1).html
    colours = set(re.findall(r"(?<![-\w])color:([^;\"]+)", html))
    assert colours == {"var(--jp-content-font-color1,inherit)", "var(--jp-content-font-color2,inherit)"}
    assert not re.search(r"background|url\(|https?:|<script|<style|<link|<img", html)


def test_sums_beyond_64_bits_are_exact() -> None:
    """Four times 2**62 cents received are 2**64 cents, not 0."""
    rows = [ROWS[0] | {"payment_id": f"{number}", "direction": "in", "flow_cents": 2**62} for number in range(4)]
    assert "$184,467,440,737,095,5" in read_card(rows).text
