"""People in the report: namesakes, phone numbers, earlier names and names of any length."""

from __future__ import annotations

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
    rows = [
        payment_row(
            at, CREATED, direction="out", flow_cents=-cents, counterparty_id=key, counterparty_name="Sam Rivera",
            counterparty_username=username, status=status,
        )
        for at, (key, username, cents, status) in enumerate([
            ("71234", "sam-r", 300, "settled"), ("75678", None, 200, "settled"), ("79999", None, 100, "settled"),
            ("79999", None, 100, "pending"),
        ])
    ]  # fmt: skip
    text = _read(rows, [{"user_id": "75678", "username": "samuel", "display_name": "Sam Rivera"}])
    for words in ("Sam Rivera @sam-r $3.00", "Sam Rivera @samuel $2.00", "Sam Rivera (…9999) $1.00"):
        assert words in text
    assert "Sam Rivera (…9999) no note" in text


def test_figures_name_people_as_the_tables_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """One mapping for all figures: a person has the same name in each, also without a namesake in that figure."""
    given: list[Any] = []
    monkeypatch.setattr(plots, "to_image", lambda *_, names, **_options: given.append(names) or b"<svg/>")
    sams = [{"counterparty_id": identifier, "counterparty_name": "Sam Rivera"} for identifier in ("71234", "75678")]
    far = {"counterparty_id": "79999", "counterparty_name": "김민지"}
    rows = [
        payment_row(1, CREATED, direction="out", flow_cents=-200, **sams[0]),
        payment_row(2, CREATED, direction="in", flow_cents=100, **sams[1], action="charge"),
        payment_row(3, CREATED, direction="in", flow_cents=100, **far, action="charge", status="pending"),
    ]
    people = [
        {"user_id": "71234", "username": "sam-r", "display_name": "Sam Rivera"},
        {"user_id": "79999", "username": "kim", "display_name": "김민지"},
    ]
    text = read_report(report_history(rows, people=people)).text
    assert "Sam Rivera @sam-r" in text
    first = given[0]
    assert {key[0]: name for key, name in first.items() if key[0] != "79999"} == {
        "71234": "Sam Rivera @sam-r", "75678": "Sam Rivera (…5678)",
    }  # fmt: skip
    assert first["79999", "김민지"] in {"@kim", "김민지"}  # depends on the installed fonts
    assert all(names is first for names in given)


def test_a_namesake_out_of_view_changes_nothing() -> None:
    """Only people with a row of their own are compared: the sixteenth person is among the others, who are two."""
    rows = [
        payment_row(
            at, CREATED, direction="out", flow_cents=-100 * (20 - at), counterparty_id=f"7000{at:02}",
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
            cents, CREATED, direction="out", flow_cents=-cents, target_phone=phone, counterparty_id=who,
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
        payment_row(1, CREATED, direction="out", flow_cents=-300, **TO_BEN),
        payment_row(2, CREATED, direction="out", flow_cents=-100, counterparty_id="5", counterparty_name="Zoe Old"),
        payment_row(3, CREATED, direction="out", flow_cents=-50, counterparty_id="6", counterparty_name="Kim"),
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
    """A name is one line of at most 60 characters, and cannot reverse the text around it."""
    rows = [payment_row(1, CREATED, direction="out", flow_cents=-300, counterparty_id="5", counterparty_name=name)]
    assert f"Share of sent {shown} $3.00" in _read(rows)


def test_long_notes_are_cut() -> None:
    """A request shows the first 200 characters of its note, and how long the note is."""
    asked = payment_row(1, CREATED, direction="in", flow_cents=300, status="pending", note="tent " * 200, **TO_BEN)
    text = _read([asked])
    assert "tent " * 39 + "tent… (1,000 characters)" in text
    assert text.count("tent") == 40


def test_privacy_mode_has_no_other_names_and_no_number() -> None:
    """In privacy mode no earlier name and no phone number of a real person is left."""
    rows = [
        payment_row(1, CREATED, direction="out", flow_cents=-300, **TO_BEN),
        payment_row(
            2, CREATED, direction="out", flow_cents=-100, target_type="phone", target_phone="14155550123",
            counterparty_id="14155550123", counterparty_name="14155550123",
        ),
    ]  # fmt: skip
    people = [{"user_id": "2", "username": "ben-real", "display_name": "Ben 🌲", "also_named": "Benjamin"}]
    masked = report_history(rows, people=people).masked(key=bytes(32))
    text = read_report(masked).text
    assert "also named" not in text
    assert not [word for word in ("Ben", "ben-real", "555 0123") if word in text]
    assert "+1 555 " in text
