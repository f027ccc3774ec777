"""Owner of an archive of statements: the account, the names and the balance; and files of other holders."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import msgspec

from p2p_analytics import settings
from p2p_analytics.display import clean_line, join_first
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PLACE, PROBLEMS
from p2p_analytics.handles import normalize_account

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from p2p_analytics.archive._manifest import Manifest
    from p2p_analytics.records import Me, User
    from p2p_analytics.statements import Statements


def require_account(path: Path, statements: Statements, previous: Manifest | None) -> str:
    """Return the account of statements; raise an ArchiveError if it is not that of the archive."""
    if statements.private or settings.privacy():
        raise ArchiveError(
            "Statements in privacy mode hold invented names and amounts: import the original ones, with "
            f"{settings.PRIVACY_VARIABLE}=0."
        )
    name = _find_account(statements)
    if previous is None:
        return name
    if previous.people is None:
        raise ArchiveError(f"{path} was written by an earlier p2p_analytics: sync it, or merge a history, once.")
    user = previous.me.user
    if normalize_account(name) not in {normalize_account(text) for text in (user.id, user.username) if text}:
        holding, name = clean_line(user.username or user.id), clean_line(name)
        files = join_first(statements.files["file"].unique().tolist())
        raise ArchiveError(
            f"The statements ({files}) are of the account {name}, and {path} is the archive of {holding}: name "
            f'another archive or, if the account is the same, read them with account="{holding}" '
            f"(--account {shlex.quote(holding)})."
        )
    return name


def describe_owner(statements: Statements, account: str, previous: Manifest | None) -> tuple[Me, datetime]:
    """Return the owner of an archive and the date of its data after an import; those of a sync, and names, stay.

    The balance is that of the statements with the later date; an older file does not replace it.
    """
    if previous is not None and not isinstance(previous.account_name, str):
        return previous.me, previous.fetched_at
    history = statements.history()
    if previous is None:
        return make_owner(account, history.me), history.fetched_at
    if history.fetched_at < previous.fetched_at:
        return previous.me, previous.fetched_at
    balance = history.me.balance_cents
    if balance is None and history.fetched_at == previous.fetched_at:
        balance = previous.me.balance_cents
    return msgspec.structs.replace(previous.me, balance_cents=balance), history.fetched_at


def make_owner(account: str, holder: Me) -> Me:
    """Return the owner of a new archive, as the statements show the holder."""
    user = msgspec.structs.replace(holder.user, id=account.strip().removeprefix("@"))
    return msgspec.structs.replace(holder, user=user)


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


def _find_account(statements: Statements) -> str:
    """Return the one account of statements; raise an ArchiveError if they are of several, or name none."""
    if len(statements.accounts) > 1:
        accounts = clean_line(", ".join(statements.accounts))
        raise ArchiveError(
            f"The statements are of {len(statements.accounts)} accounts ({accounts}), and an "
            "archive holds one account: import each into an archive of its own, as select_account() returns it."
        )
    if not statements.accounts or statements.unnamed_accounts:
        raise ArchiveError(
            'The statements name no account: read them with yours, such as account="ada" (--account ada).'
        )
    return statements.accounts[0]


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
