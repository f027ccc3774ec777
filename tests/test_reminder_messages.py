"""Reminders: one polite text for each open request of the user, in Python, report and explorer."""

from typing import Any

import pytest

import p2p_analytics as p2p
from support.reports import payment_row, report_history

AS_OF = "2024-06-30T12:00:00Z"
END = "Could you pay it when you have a moment? Thank you!"
EVIL = '<img src=x onerror="alert(1)">\x1b[2J\u202e\nx'
EVIL_LINE = '<img src=x onerror="alert(1)">[2J x'


def _request(number: int, created: str, name: str | None, note: str | None, **fields: Any) -> dict[str, Any]:
    """Return an open request of the user."""
    return payment_row(
        number, created, **{
            "action": "charge", "status": "pending", "direction": "in", "flow_cents": 1250,
            "counterparty_id": f"7{number}", "counterparty_name": name, "note": note, **fields,
        },
    )  # fmt: skip


ROWS = [
    _request(1, "2021-04-12T02:00:00Z", "Ada Lovell", "pizza 🍕", flow_cents=123456),
    _request(2, "2024-06-29T13:00:00Z", EVIL, EVIL),
    _request(3, "2024-06-29T12:00:00Z", "14155550123", "  ", counterparty_id="14155550123"),
    {**_request(4, "2024-06-28T12:00:00Z", None, "x" * 500), "amount_cents": None, "flow_cents": None},
    {**_request(5, "2024-06-28T12:00:00Z", "b@hart.example", None), "date_created": None},
    _request(6, "2024-06-01T12:00:00Z", "Owes nothing", "a payment that has not arrived", action="pay"),
    _request(7, "2024-06-01T12:00:00Z", "Owed", "a request to the user", direction="out", flow_cents=-5),
    _request(8, "2024-06-01T12:00:00Z", "Paid", "a settled request", status="settled"),
    _request(9, "2024-06-01T12:00:00Z", "A shop", "no payment between people", kind="merchant"),
]
PEOPLE = [{"user_id": "71", "display_name": "Ada Lovell", "first_name": "Ada"}]
OLD = "of 11 Apr 2021 has been open for 1,175 days."
TEXTS = [
    f"Hi Ada, a friendly reminder: my request for $1,234.56 (“pizza 🍕”) {OLD} {END}",
    f"Hi, a friendly reminder: my request (“{'x' * 200}…”) of 28 Jun 2024 has been open for 2 days. {END}",
    f"Hi, a friendly reminder: my request for $12.50 of 29 Jun 2024 has been open for 1 day. {END}",
    f"Hi {EVIL_LINE}, a friendly reminder: my request for $12.50 (“{EVIL_LINE}”) of 29 Jun 2024 is still open. {END}",
    f"Hi, a friendly reminder: my request for $12.50 is still open. {END}",
]


def test_the_texts() -> None:
    """Age, amount, note and first name, as far as they are known, oldest first; only of the user's open requests."""
    table = p2p.reminders(report_history(ROWS, people=PEOPLE), as_of=AS_OF, tz="America/New_York")
    assert table["text"].tolist() == TEXTS
    assert table["payment_id"].tolist() == ["1", "4", "3", "2", "5"]
    assert table["age_days"].astype(object).where(table["age_days"].notna(), None).tolist() == [1175, 2, 1, 0, None]
    assert list(table) == [
        "payment_id", "counterparty_id", "counterparty_username", "counterparty_name", "note", "amount",
        "date_created", "age_days", "text",
    ]  # fmt: skip
    earlier = p2p.reminders(report_history(ROWS, people=PEOPLE), as_of="2024-06-28T12:00:00Z")
    assert earlier["payment_id"].tolist() == ["1", "4", "5"]  # those made later are left out, those of unknown date not
    empty = p2p.reminders(report_history(ROWS[5:]), as_of=AS_OF)
    assert (len(empty), empty.dtypes.to_dict()) == (0, table.dtypes.to_dict())


def test_who_is_greeted() -> None:
    """A phone number in any form is no name; a name with a number is one, as is one without letters."""
    names = ["+1 555 010 0199", "(555) 010-0199", "555.010.0199", "+44 20 7946 0018", "Ada 2", "🌵 7"]
    rows = [_request(at, "2024-06-01T12:00:00Z", name, None) for at, name in enumerate(names)]
    texts = p2p.reminders(report_history(rows), as_of=AS_OF)["text"]
    assert [text.partition(" a friendly")[0] for text in texts] == ["Hi,"] * 4 + ["Hi Ada 2,", "Hi 🌵 7,"]


def test_privacy_mode() -> None:
    """Names, amounts and notes are invented; strict mode shows a month, and no age."""
    for strict, words in (
        (False, "of 12 Apr 2021 has been open for 1,175 days."), (True, "of Apr 2021 is still open."),
    ):  # fmt: skip
        history = report_history(ROWS[:1], people=PEOPLE).masked(key=bytes(32), strict=strict)
        table = p2p.reminders(history, as_of=AS_OF, tz="America/New_York")
        assert (words in table["text"][0], table["age_days"].notna().tolist()) == (True, [not strict])
        assert not [word for word in ("Ada", "1,234.56", "pizza") if word in table["text"][0]]


def test_what_is_refused() -> None:
    """A frame, a moment that is none, and several currencies; one other currency is shown in its form."""
    history = report_history([{**ROWS[0], "currency": "GBP"}, {**ROWS[1], "currency": "EUR"}])
    for given, as_of, message in (
        (history.payments, AS_OF, r"^reminders needs a History"),
        (report_history(ROWS), "someday", "is not an instant"),
        (history, AS_OF, r"^reminders needs payments in one currency, not in EUR .* and GBP"),
    ):
        with pytest.raises((p2p.errors.ConfigurationError, p2p.errors.SchemaError), match=message):
            p2p.reminders(given, as_of=as_of)
    pounds = p2p.reminders(history.select_currency("GBP"), as_of=AS_OF)
    assert "my request for £1,234.56 (" in pounds["text"].iloc[0]


@pytest.mark.usefixtures("draw_nothing")
def test_the_report_and_the_explorer_list_them() -> None:
    """The report has the texts of the requests that it lists, the explorer those of its selection, all escaped."""
    history, tz, only = report_history(ROWS, people=PEOPLE), "America/New_York", ["pending_requests"]
    page = p2p.render_report(history, as_of=AS_OF, tz=tz, only=only)
    assert page.count("<bdi>no note</bdi>") == 2  # of spaces only, and none
    assert 'reminders">' not in p2p.render_report(report_history(ROWS[5:]), as_of=AS_OF, only=only)
    explorer = p2p.Explorer(history, as_of=AS_OF, tz=tz)
    explorer.analysis.value = "pending_requests"
    items = page.partition('<ul class="reminders">')[2].partition("</ul>")[0]
    for listed, quote in ((items, "&#34;"), (explorer._table.value, "&quot;")):
        assert listed.count("<li><bdi>Hi") == 5
        assert f"<bdi>{TEXTS[0]}</bdi>" in listed
        assert f"<bdi>{TEXTS[3].replace('<', '&lt;').replace('>', '&gt;').replace(chr(34), quote)}</bdi>" in listed
    explorer.widget.close()
