"""The command ``reminders``: print a text to copy for each request that is still open."""

from __future__ import annotations

import argparse

from p2p_analytics.cli import _output
from p2p_analytics.cli._history import list_archives, read_history, require_currency
from p2p_analytics.display import NO_NAME, clean_line, format_count, format_moment, format_phone
from p2p_analytics.reminder_messages import reminders
from p2p_analytics.times import as_instant, find_zone


def run_command(options: argparse.Namespace) -> None:
    """Print the reminders of an archive."""
    history = read_history(options, _output.Progress("bar"), privacy=options.privacy)
    require_currency(history, options, what="a list of reminders")
    as_of = as_instant(options.as_of or history.fetched_at)
    zone = "UTC" if history.private else options.tz
    rows = _output.list_records(reminders(history, as_of=as_of, tz=zone))
    count = format_count(len(rows), "request of yours is", "requests of yours are")
    end = "; nothing is sent: copy the texts that you want to send." if rows else "."
    moment = f"{format_moment(as_of, find_zone(zone))} ({zone})"
    lines = [f"{count} still open as of {moment}{end}{_output.describe_privacy(history)}"]
    for row in rows:
        username = f" @{row['counterparty_username']}" if row["counterparty_username"] else ""
        lines += ["", clean_line(f"{format_phone(row['counterparty_name'] or NO_NAME)}{username}"), row["text"]]
        row["date_created"] = row["date_created"] and row["date_created"].isoformat()
    _output.print_summary(
        options,
        "\n".join(lines),
        **list_archives(options),
        as_of=as_of.isoformat(),
        reminders=rows,
        privacy=_output.privacy_mode(history),
    )
