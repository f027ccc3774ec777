"""People in the report: namesakes, phone numbers, earlier names and names of any length."""

from typing import Any

import pytest

from p2p_analytics import plots
from support.reports import payment_row, read_report, report_history

pytestmark = pytest.mark.usefixtures("draw_nothing")
CREATED = "2024-06-20T09:00:00Z"
TO_BEN = {"counterparty_id": "2", "counterparty_name": "Ben 🌲"}


def _read(rows: list[dict[str, Any]], people: list[dict[str, Any]] | None = None) -> str:
    """Return the visible text of the report of these payments."""
    return read_report(report_history(rows, people=people), only=["spend_by_friend", "pending_requests"]).text


def test_namesakes_are_distinguished() -> None:
    """By username, whether the table or only the profile has it, else by the end of the id; in both lists of people."""
    shown = [("71234", "sam-r", "settled"), ("75678", None, "settled"), ("79999", None, "settled")]
    rows = [
        payment_row(
            at, CREATED, flow_cents=100 * at - 300, counterparty_name="Sam Rivera", counterparty_id=key,
            counterparty_username=username, status=status,
        )
        for at, (key, username, status) in enumerate([*shown, ("79999", None, "pending")])
    ]  # fmt: skip
    text = _read(rows, [{"user_id": "75678", "username": "samuel", "display_name": "Sam Rivera"}])
    for words in ("Sam Rivera @sam-r $3.00", "Sam Rivera @samuel $2.00", "Sam Rivera (…9999) $1.00"):
        assert words in text
    assert "Sam Rivera (…9999) no note" in text


def test_figures_name_people_as_the_tables_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """One mapping for all figures: a person has the same name in each, also without a namesake in that figure."""
    given: list[Any] = []
    monkeypatch.setattr(plots, "to_image", lambda *_, names, **_options: given.append(names) or b"<svg/>")
    rows = [
        payment_row(1, CREATED, flow_cents=-200, counterparty_id="71234", counterparty_name="Sam"),
        payment_row(2, CREATED, flow_cents=100, counterparty_id="75678", counterparty_name="Sam", action="charge"),
    ]
    people = [{"user_id": "71234", "username": "sam-r", "display_name": "Sam"}]
    only = ["spend_by_friend", "request_outcomes"]
    assert "Sam @sam-r" in read_report(report_history(rows, people=people), only=only).text
    assert len(given) == 2
    assert given[0] == {("71234", "Sam"): "Sam @sam-r", ("75678", "Sam"): "Sam (…5678)"}
    assert all(names is given[0] for names in given)


def test_a_namesake_out_of_view_changes_nothing() -> None:
    """Only people with a row of their own are compared: the sixteenth person is among the others, who are two."""
    rows = [
        payment_row(
            at, CREATED, flow_cents=-100 * (20 - at), counterparty_id=f"7000{at:02}",
            counterparty_name="Sam Rivera" if at in {0, 15} else f"Person {at}",
        )
        for at in range(17)
    ]  # fmt: skip
    text = _read(rows)
    assert "Sam Rivera $20.00" in text
    assert "2 other people $9.00" in text
    assert "Sam Rivera (…0015) $5.00" in _read(rows[:16])


def test_phone_numbers_are_grouped() -> None:
    """A phone number as counterparty has its digits in groups, as a target only; a user id of eleven digits has not."""
    number, user, foreign = "14155550123", "14155550124", "+442079460958"
    rows = [
        payment_row(
            cents, CREATED, flow_cents=-cents, target_phone=phone, counterparty_id=who,
            counterparty_name=who,
        )
        for cents, who, phone in ((300, number, number), (200, user, None), (100, foreign, foreign))
    ]  # fmt: skip
    text = _read(rows)
    for words in ("+1 415 555 0123 $3.00", f"{user} $2.00", f"{foreign} $1.00"):
        assert words in text
    assert number not in text


def test_other_names_of_a_person_are_listed() -> None:
    """A reader finds a friend under each name: earlier ones, and the present one if the payments show another."""
    rows = [
        payment_row(1, CREATED, flow_cents=-300, **TO_BEN),
        payment_row(2, CREATED, flow_cents=-100, counterparty_id="5", counterparty_name="Zoe Old"),
        payment_row(3, CREATED, flow_cents=-50, counterparty_id="6", counterparty_name="Kim"),
    ]
    text = _read(
        rows,
        [
            {"user_id": "2", "display_name": "Ben 🌲", "also_named": "Benjamin <b>; Benny"},
            {"user_id": "5", "display_name": "Zoe New", "also_named": "Zoe Old"},
            {"user_id": "6", "display_name": "Kim"},
            {"user_id": "7", "display_name": "Absent", "also_named": "Departed"},
        ],
    )
    assert "Ben 🌲 also named Benjamin <b>; Benny $3.00" in text
    assert "Zoe Old also named Zoe New $1.00" in text
    assert "Kim $0.50" in text
    assert text.count("also named") == 2
    assert "Departed" not in text


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\u202eevil\u202c", "evil"),
        (" a\n\tb ", "a b"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 60 + "…"),
        (" \u200e\x07 ", "\u200e"),
        ("\x07 ", "(no name)"),
        (None, "not known"),
    ],
)
def test_difficult_names(name: str | None, shown: str) -> None:
    """A name is one line of at most 60 characters, and cannot reverse the text around it; a note has at most 200."""
    who = {"counterparty_id": "5", "counterparty_name": name}
    paid = payment_row(1, CREATED, flow_cents=-300, **who)
    asked = payment_row(2, CREATED, flow_cents=300, status="pending", note="tent " * 200, **who)
    text = _read([paid, asked])
    assert f"Share of sent {shown} $3.00" in text
    assert "tent " * 39 + "tent… (1,000 characters)" in text
    assert text.count("tent") == 40
