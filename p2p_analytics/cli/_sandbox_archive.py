"""The command ``sandbox-archive``: write archives of a large town of invented people, without serving it."""

from __future__ import annotations

import argparse

from p2p_analytics import settings
from p2p_analytics.archive.writer import PaymentColumns, write_archive
from p2p_analytics.cli import _output
from p2p_analytics.display import format_count
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.records import User
from p2p_analytics.sandbox.town.crowd import Crowd, CrowdPerson


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
    progress = _output.Progress(options.progress)
    rows = size = 0
    with progress.count_parts("archives", crowd.accounts) as show:
        for number in range(crowd.accounts):
            account = crowd.make_account(number)
            people = [_to_user(person) for person in account.people]
            written = write_archive(
                options.folder / str(people[0].username),
                PaymentColumns(people, *account.payments),
                friends=[people[place] for place in account.friends],
                fetched_at=crowd.now,
            )
            rows, size = rows + written[0], size + written[1]
            show(number + 1)
    text = (
        f"{format_count(crowd.accounts, 'archive', 'archives')} in {options.folder}: "
        f"{format_count(crowd.payments, 'payment', 'payments')} in {format_count(rows, 'row', 'rows')}, "
        f"{size / 1e6:,.1f} MB"
    )
    values = {"archives": crowd.accounts, "payments": crowd.payments, "rows": rows, "bytes": size}
    _output.print_summary(options, text, **values)


def _to_user(person: CrowdPerson) -> User:
    is_address = person.user_id is None  # the service shows email and phone of no other person
    return User(
        id=person.user_id,
        username=person.username,
        first_name=person.first_name,
        last_name=person.last_name,
        display_name=person.display_name,
        date_joined=person.date_joined,
        email=person.email if is_address else None,
        phone=person.phone if is_address else None,
    )
