"""Services of the statements of an import that are new to an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from p2p_analytics.archive.imports.journal import Batch
    from p2p_analytics.statements import Statements


def find_new_services(
    statements: Statements, batches: Sequence[Batch], *, is_synced: bool, has_statements: bool
) -> tuple[str, ...]:
    """Return the services of statements of which an archive holds no payments, in alphabetical order.

    None is new to an archive without payments, unless the statements are of several; nor to one with imports of an
    earlier version, because their services are not known.

    Parameters
    ----------
    statements : Statements
        The statements to import.
    batches : sequence of Batch
        The imports in effect.
    is_synced : bool
        Whether the archive holds what the service listed.
    has_statements : bool
        Whether it holds statements.
    """
    from p2p_analytics.statements import SERVICE, list_services

    known = {SERVICE} if is_synced else set[str]()
    for batch in batches:
        if batch.services is None:
            return ()
        known.update(batch.services)
    if has_statements and not batches:
        return ()
    given = list_services(statements)
    return tuple(name for name in given if name not in known) if known or len(given) > 1 else ()
