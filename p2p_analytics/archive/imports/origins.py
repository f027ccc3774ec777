"""Origins of the statements of an import: services that are new to the archive, and files of other accounts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from p2p_analytics.frames.schema import PLACE, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from p2p_analytics.archive.imports.journal import Batch
    from p2p_analytics.records import User
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


def list_other_holders(statements: Statements, owner: User) -> pd.DataFrame:
    """Return PROBLEMS and PLACE: each file that names no account, if its holder has another name than the archive's.

    Only statements that were read with the name of an account can have such files.

    Parameters
    ----------
    statements : Statements
        Statements of one account.
    owner : User
        The owner of the archive.
    """
    import pandas as pd

    from p2p_analytics.statements import OTHER_ACCOUNT

    columns = {**PROBLEMS, **PLACE}
    (account,) = statements.accounts
    holder = statements.history(account).me.user
    names = {_fold(name) for name in (owner.id, owner.username, owner.display_name) if name}
    is_own = holder.username is not None or holder.display_name == holder.id or _fold(holder.display_name) in names
    files = [] if is_own or not owner.display_name else statements.files["file"].unique().tolist()
    problem = (
        f"is the holder in this file, and {owner.display_name!r} that of the archive, to which the file was added as "
        "you asked"
    )
    values = {"field": OTHER_ACCOUNT, "value": holder.display_name, "problem": problem, "line": 0}
    rows = [{**dict.fromkeys(columns), **values, "file": file} for file in files]
    return pd.DataFrame(rows, columns=list(columns)).astype(columns)


def _fold(name: str | None) -> str:
    """Return a name without case and repeated blanks."""
    return " ".join((name or "").casefold().split())
