"""The command reminders: texts to copy for open requests, without a token."""

from __future__ import annotations

import json
import re

import p2p_analytics as p2p
from p2p_analytics import cli


def test_reminders(archive_path, capsys) -> None:
    """The person and the text of each open request; `--tz` and `--as-of` count."""
    words = ["reminders", archive_path, "--as-of", "2024-06-10", "--tz", "Pacific/Auckland"]
    assert cli.main(words) == 0
    lines = capsys.readouterr().out.splitlines()
    moment = "10 Jun 2024, 12:00 (Pacific/Auckland)"
    end = "nothing is sent: copy the texts that you want to send."
    assert lines[:2] == [f"1 request of yours is still open as of {moment}; {end}", ""]
    assert lines[3].startswith("Hi ")
    assert " (“rent”) of 1 Jun 2024 has been open for 9 days. Could you pay it" in lines[3]
    assert cli.main([*words, "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    (row,) = printed["reminders"]
    assert (printed["archive"], printed["as_of"], printed["privacy"]) == (
        archive_path, "2024-06-10T00:00:00+00:00", False,
    )  # fmt: skip
    assert (row["text"], row["note"], row["age_days"]) == (lines[3], "rent", 9)
    assert row["date_created"] == "2024-05-31T23:30:00+00:00"
    assert cli.main([*words, "--privacy", "strict"]) == 0
    masked = capsys.readouterr().out
    assert " still open as of 10 Jun 2024, 00:00 (UTC); " in masked.splitlines()[0]
    assert masked.splitlines()[1] == "Strict privacy mode: names and amounts are invented, dates are months."
    assert ("rent" in masked, "of May 2024 is still open." in masked) == (False, True)


def test_no_requests_and_hostile_ones(tmp_path, history_of, payment, capsys) -> None:
    """Without open requests a sentence says so; control characters in names and notes do not reach the terminal."""
    folder, hostile = str(tmp_path / "a"), "\x1b[2Jx\r\ny\u202e\x07"
    p2p.open_archive(folder).merge(history_of(payment(1)))
    assert cli.main(["reminders", folder]) == 0
    assert re.fullmatch(r"0 requests of yours are still open as of .* \(UTC\)\.\n", capsys.readouterr().out)
    p2p.open_archive(folder).merge(history_of(payment(1), payment(2, status="pending", action="charge", note=hostile)))
    assert cli.main(["reminders", folder]) == 0
    printed = capsys.readouterr().out
    assert "[2Jx y" in printed
    assert not {"\x1b", "\r", "\u202e", "\x07"} & set(printed)
    assert cli.main(["reminders", str(tmp_path / "none")]) == 1
    assert "no archive" in capsys.readouterr().err
