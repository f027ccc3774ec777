"""The command reminders: texts to copy for open requests, without a token."""

import json
import re

import pytest

import p2p_analytics as p2p


@pytest.mark.usefixtures("archive")
def test_reminders(run) -> None:
    """The person and the text of each open request; `--tz` and `--as-of` count."""
    words = "reminders a --as-of 2024-06-10 --tz Pacific/Auckland"
    lines = run(words).out.splitlines()
    moment = "10 Jun 2024, 12:00 (Pacific/Auckland)"
    end = "nothing is sent: copy the texts that you want to send."
    assert lines[:2] == [f"1 request of yours is still open as of {moment}; {end}", ""]
    assert lines[3].startswith("Hi ")
    assert " (“rent”) of 1 Jun 2024 has been open for 9 days. Could you pay it" in lines[3]
    printed = json.loads(run(f"{words} --json").out)
    (row,) = printed.pop("reminders")
    assert printed == {"archive": "a", "as_of": "2024-06-10T00:00:00+00:00", "privacy": False}
    assert (row["text"], row["note"], row["age_days"]) == (lines[3], "rent", 9)
    assert row["date_created"] == "2024-05-31T23:30:00+00:00"
    masked = run(f"{words} --privacy strict").out
    assert " still open as of 10 Jun 2024, 00:00 (UTC); " in masked.splitlines()[0]
    assert masked.splitlines()[1] == "Strict privacy mode: names and amounts are invented, dates are months."
    assert ("rent" in masked, "of May 2024 is still open." in masked) == (False, True)


def test_no_requests_and_hostile_ones(history_of, payment, run) -> None:
    """Without open requests a sentence says so; control characters in names and notes do not reach the terminal."""
    p2p.open_archive("a").merge(history_of(payment(1)))
    out = run("reminders a").out
    assert re.fullmatch(r"0 requests of yours are still open as of .* \(UTC\)\.\n", out)
    hostile = payment(2, status="pending", action="charge", note="\x1b[2Jx\r\ny\u202e\x07")
    p2p.open_archive("a").merge(history_of(payment(1), hostile))
    out = run("reminders a").out
    assert "[2Jx y" in out
    assert not {"\x1b", "\r", "\u202e", "\x07"} & set(out)
    code, _, err = run("reminders none")
    assert (code, "no archive" in err) == (1, True)
