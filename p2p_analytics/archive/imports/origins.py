"""Origins of the statements of an import: services that are new to the archive, its owner, and files of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from p2p_analytics.frames.schema import PLACE, PROBLEMS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from p2p_analytics.archive.imports.journal import Batch
    from p2p_analytics.records import Me, User
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


def complete_owner(me: Me, statements: Statements, rows: pd.DataFrame) -> Me:
    """Return the owner of an archive with the names that only later statements show: the username and the name.

    Parameters
    ----------
    me : Me
        The owner, as earlier statements show it.
    statements : Statements
        Statements of one account.
    rows : DataFrame
        The rows of statements that the archive holds.
    """
    holder = statements.history().me.user
    name = me.user.display_name if _has_name(me.user, rows) else holder.display_name
    user = msgspec.structs.replace(me.user, username=me.user.username or holder.username, display_name=name)
    return msgspec.structs.replace(me, user=user)


def list_other_holders(statements: Statements, owner: User, rows: pd.DataFrame) -> pd.DataFrame:
    """Return PROBLEMS and PLACE: each file that names no account, if its holder has another name than the archive's.

    Only statements that were read with the name of an account can have such files. An archive of which no file has
    shown the holder has no name to compare with.

    Parameters
    ----------
    statements : Statements
        Statements of one account.
    owner : User
        The owner of the archive.
    rows : DataFrame
        The rows of statements that the archive holds.
    """
    import pandas as pd

    from p2p_analytics.statements import OTHER_ACCOUNT

    columns = {**PROBLEMS, **PLACE}
    (account,) = statements.accounts
    holder = statements.history(account).me.user
    names = {_fold(name) for name in (owner.id, owner.username, owner.display_name) if name}
    is_own = holder.username is not None or holder.display_name == holder.id or _fold(holder.display_name) in names
    files = [] if is_own or not _has_name(owner, rows) else statements.files["file"].unique().tolist()
    problem = (
        f"is the holder in this file, and {owner.display_name!r} that of the archive, to which the file was added as "
        "you asked"
    )
    values = {"field": OTHER_ACCOUNT, "value": holder.display_name, "problem": problem, "line": 0}
    found = [{**dict.fromkeys(columns), **values, "file": file} for file in files]
    return pd.DataFrame(found, columns=list(columns)).astype(columns)


def _has_name(owner: User, rows: pd.DataFrame) -> bool:
    """Return whether the name of an owner is not only the id, which is also the name where no file shows one."""
    if not owner.display_name or owner.display_name != owner.id:
        return bool(owner.display_name)
    is_actor, is_target = (rows[f"{side}_id"] == rows["account_id"] for side in ("actor", "target_user"))
    names = rows["actor_display_name"].where(is_actor, rows["target_user_display_name"].where(is_target))
    return bool((names == owner.display_name).any())


def _fold(name: str | None) -> str:
    """Return a name without case and repeated blanks."""
    return " ".join((name or "").casefold().split())
