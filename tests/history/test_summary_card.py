"""A history shows a card in a notebook: who, how much, since when; as text and never as anything that runs."""

from __future__ import annotations

import dataclasses
import re
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.history import History
from p2p_analytics.records import Me, User
from support.frames import frame_from_columns, frame_from_rows

EVIL = '<img src=x onerror="alert(1)"> & $a$ \u202eb'
MOMENT = datetime(2024, 6, 30, 12, 5, tzinfo=UTC)
ROWS: list[dict[str, Any]] = [
    {"status": "settled", "direction": "in", "flow_cents": 123456, "date_created": "2024-06-20T09:00:00Z"},
    {"status": "settled", "direction": "out", "flow_cents": -4010, "date_created": "2023-12-31T23:30:00Z"},
    {"status": "settled", "direction": "out", "flow_cents": -290, "date_created": None},
    {
        "status": "settled", "direction": None, "amount_cents": 500, "flow_cents": None,
        "date_created": "2024-01-01T00:00:00Z",
    },
    {"status": "failed", "direction": "out", "flow_cents": -77777, "date_created": "2024-01-02T00:00:00Z"},
    {"status": "pending", "direction": "in", "flow_cents": 700, "date_created": "2024-01-03T00:00:00Z"},
    {"status": "pending", "direction": "out", "flow_cents": -9999, "date_created": "2024-01-03T00:00:00Z"},
    {
        "payment_id": "7", "status": "pending", "direction": "out", "flow_cents": None,
        "date_created": "2024-01-03T00:00:00Z",
    },
]  # fmt: skip
WITHOUT_AMOUNT = "1 pending payment has no readable amount, and is in no sum: payment 7."


def history(rows: list[dict[str, Any]], *, problems: int = 0, balance: int | None = None, **user: Any) -> History:
    """Return a history of literal rows."""
    columns = {name: [row.get(name) for row in rows] for name in PAYMENTS}
    columns["date_created"] = pd.to_datetime(columns["date_created"], utc=True).as_unit("us")
    me = User(**{"id": "1", "display_name": "Rosa Vale", "username": "rosa-vale", **user})
    return History(
        me=Me(user=me, balance_cents=balance),
        payments=frame_from_columns(columns, PAYMENTS, len(rows)),
        friends=pd.DataFrame({name: pd.Series(["2"], dtype=dtype) for name, dtype in FRIENDS.items()}),
        fetched_at=MOMENT,
        problems=frame_from_rows([{name: EVIL for name in PROBLEMS if PROBLEMS[name] == "str"}] * problems, PROBLEMS),
    )


class _Card(HTMLParser):
    """The tags of a card, and its words as a browser would show them."""

    def __init__(self, shown: History) -> None:
        super().__init__()
        self.html = shown._repr_html_()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(self.html)
        assert self.open == []
        self.text = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_only_payments_in_one_currency_are_added_up() -> None:
    """A transfer is counted apart and in no sum; several currencies are named, and nothing is added up."""
    rows = [{**row, "payment_id": f"{at}", "kind": "payment", "currency": "USD"} for at, row in enumerate(ROWS)]
    transfer = {**rows[0], "payment_id": "t", "kind": "transfer"}
    told = history([*rows, transfer])
    own, with_transfer = _Card(history(ROWS)).text, _Card(told).text
    assert with_transfer == own.replace(WITHOUT_AMOUNT, f"Not counted: 1 transfer {WITHOUT_AMOUNT}")
    assert repr(told).startswith("<History of Rosa Vale: 8 payments, 1 other transactions, 1 friends,")
    text = _Card(history([*rows, {**rows[0], "payment_id": "e", "currency": "EUR"}])).text
    assert "9 payments from" in text
    assert (
        "No sums: the payments are in USD (8) and EUR (1). For one currency, history.select_currency('USD') ." in text
    )
    assert "$" not in text
    assert "£1,234.56 from others" in _Card(history([{**row, "currency": "GBP"} for row in rows], balance=5)).text


def test_the_words_fit_statement_files() -> None:
    """Statements list no friends, and nothing was loaded; with payments of the service too, the words are as ever."""
    rows = [{**row, "payment_id": f"{at}", "source": "statement"} for at, row in enumerate(ROWS)]
    found = history(rows, problems=1)
    text = _Card(dataclasses.replace(found, friends=found.friends.head(0))).text
    assert "20 Jun 2024 · from statement files Sent" in text
    assert "1 problem in files, listed in .problems · statements until 2024-06-30 12:05 UTC" in text
    assert "data as of" in _Card(history([*rows, {**rows[0], "payment_id": "a", "source": "api"}])).text


def test_the_card_says_who_how_much_and_since_when() -> None:
    """Counts are of all payments, sums of settled ones, and open amounts are separate; cents are exact."""
    shown = history(ROWS, balance=-5, problems=2)
    assert _Card(shown).text == (
        "Rosa Vale @ rosa-vale "
        "8 payments from 31 Dec 2023 to 20 Jun 2024 · 1 friend · balance −$0.05 "  # noqa: RUF001 - a minus sign
        "Sent $43.00 to others Received $1,234.56 from others Net $1,191.56 in 3 settled payments "
        "Open, to receive $7.00 in 1 pending payment Open, to pay $99.99 in 2 pending payments "
        "2 problems in records, listed in .problems · "
        f"data as of 2024-06-30 12:05 UTC {WITHOUT_AMOUNT}"
    )
    assert repr(shown) == ("<History of Rosa Vale: 8 payments, 1 friends, 2 problems, data as of 2024-06-30 12:05 UTC>")


def test_an_empty_history_has_a_card() -> None:
    """Zeros, no period, and the id where there is neither name nor handle."""
    text = _Card(history([], display_name=None, username=None)).text
    assert text.startswith("1 0 payments · 1 friend Sent $0.00 to others")
    assert text.endswith("Open, to pay $0.00 in 0 pending payments data as of 2024-06-30 12:05 UTC")


@pytest.mark.parametrize("field", ["display_name", "username", "id"])
def test_names_and_notes_are_escaped(field: str) -> None:
    """HTML in a name, handle or id is shown as it was written, apart from its surroundings' direction."""
    names = {"display_name": None, "username": None, field: EVIL}
    card = _Card(history([row | {"note": EVIL, "counterparty_name": EVIL} for row in ROWS], **names))
    assert EVIL in card.text
    assert {tag for tag, _ in card.tags} == {"div", "strong", "span", "bdi"} - (
        {"span"} if field != "username" else set()
    )
    assert {name for _, attributes in card.tags for name in attributes} == {"style"}


def test_a_name_that_no_file_can_hold_does_not_break_the_card() -> None:
    """Half a character pair and control characters are replaced or left out, so the notebook can be saved."""
    card = _Card(history([], display_name="Rosa \ud83d\x07 Vale"))
    assert card.text.startswith("Rosa ? Vale @")
    assert card.html.encode()


def test_the_card_takes_its_colours_from_the_page() -> None:
    """No background and no colour of its own but a grey line: readable in dark and light, in JupyterLab or not."""
    html = _Card(history(ROWS, problems=1)).html
    assert "background" not in html
    colours = set(re.findall(r"(?<![-\w])color:([^;\"]+)", html))
    assert colours == {"var(--jp-content-font-color1,inherit)", "var(--jp-content-font-color2,inherit)"}
    assert not re.search(r"url\(|https?:|<script|<style|<link|<img", html)


def test_sums_beyond_64_bits_are_exact() -> None:
    """Four times 2**62 cents received are 2**64 cents, not 0."""
    rows = [ROWS[0] | {"payment_id": f"{number}", "direction": "in", "flow_cents": 2**62} for number in range(4)]
    assert "$184,467,440,737,095,5" in _Card(history(rows)).text
