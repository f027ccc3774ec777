"""The command ``sandbox-archive``: write archives of a large town of invented people, without serving it."""

from __future__ import annotations

import argparse

from p2p_analytics import settings
from p2p_analytics.archive.writer import PaymentColumns, write_archive
from p2p_analytics.cli import _output
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.records import User
from p2p_analytics.sandbox.town.crowd import Crowd


def run_command(options: argparse.Namespace) -> None:
    crowd = Crowd(options.seed, accounts=options.accounts, payments=options.payments, years=options.years)
    folder = options.folder
    try:
        is_used = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if not is_used:
            settings.make_private(folder)
    except OSError as error:
        raise ArchiveError(f"{folder} cannot be used ({describe_os_error(error)}): name another folder.") from None
    if is_used:
        raise ArchiveError(f"{folder} holds something already: name a new or empty folder.")
    rows = size = 0
    with _output.Progress(options.progress).count_parts("archives", crowd.accounts) as show:
        for number in range(crowd.accounts):
            account = crowd.make_account(number)
            people = []
            for person in account.people:
                fields = person._asdict()
                user_id = fields.pop("user_id")
                if user_id is not None:  # the service shows email and phone of no other person
                    fields |= {"email": None, "phone": None}
                people.append(User(id=user_id, **fields))
            written = write_archive(
                folder / str(people[0].username),
                PaymentColumns(people, *account.payments),
                friends=[people[place] for place in account.friends],
                fetched_at=crowd.now,
            )
            rows, size = rows + written[0], size + written[1]
            show(number + 1)
    text = (
        f"{format_count(crowd.accounts, 'archive', 'archives')} in {folder}: "
        f"{format_count(crowd.payments, 'payment', 'payments')} in {format_count(rows, 'row', 'rows')}, "
        f"{size / 1e6:,.1f} MB"
    )
    values = {"archives": crowd.accounts, "payments": crowd.payments, "rows": rows, "bytes": size}
    _output.print_summary(options, text, **values)
