"""Owner of an archive of statements: the account, and the names; and files of other holders."""

from __future__ import annotations

import functools
import shlex
from typing import TYPE_CHECKING, Final

import msgspec

from p2p_analytics import settings
from p2p_analytics.archive.tables import BATCH
from p2p_analytics.display import clean_line, join_first
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PLACE, PROBLEMS
from p2p_analytics.handles import find_handle, fold_name, has_other_name, normalize_account

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from datetime import datetime
    from pathlib import Path

    import pandas as pd

    from p2p_analytics.archive._manifest import Manifest
    from p2p_analytics.records import Me, User
    from p2p_analytics.statements import Statements

HOLDERS: Final = (
    "account_id", "actor_id", "actor_display_name", "target_user_id", "target_user_display_name", "file", BATCH,
)  # fmt: skip


def require_account(
    path: Path,
    statements: Statements,
    previous: Manifest | None,
    *,
    read_names: Callable[[], Collection[str]],
    read_services: Callable[[], Collection[str]],
) -> str:
    """Return the account that an archive has after an import, by the rule that names the accounts of files in one call.

    Statements without a handle belong to the archive of a holder with their name. An archive that has a name only takes
    the handle over that statements of a holder with this name show, or that the caller gives them. Several accounts are
    one if each of them belongs to the archive.

    Parameters
    ----------
    path : Path
        The folder of the archive.
    statements : Statements
        The statements to import.
    previous : Manifest or None
        The manifest of the archive.
    read_names : callable
        Returns the names of the holder in the rows of statements that the archive holds.
    read_services : callable
        Returns the services of its imports.

    Raises
    ------
    ArchiveError
        The statements are of several accounts or of another one, name none or are in privacy mode.
    """
    if statements.private or settings.privacy():
        raise ArchiveError(
            "Statements in privacy mode hold invented names and amounts: import the original ones, with "
            f"{settings.PRIVACY_VARIABLE}=0."
        )
    names, is_unknown = statements.accounts, _is_unknown(statements, read_services)
    if not names or (len(names) == 1 and is_unknown):
        raise ArchiveError(
            'The statements name no account: read them with yours, such as account="ada" (--account ada).'
        )
    if previous is None and len(names) == 1:
        return names[0]
    if previous is None or is_unknown:
        raise _refuse_several(statements)
    if previous.people is None:
        raise ArchiveError(f"{path} was written by an earlier p2p_analytics: sync it, or merge a history, once.")
    account = str(previous.me.user.id)
    read_once = functools.cache(read_names)
    joined = {_join_account(name, statements, previous, read_once) for name in names}
    taken = sorted(each for each in joined if each not in {None, account})
    if None not in joined and len(taken) <= 1:
        return taken[0] if taken else account
    if len(names) > 1:
        raise _refuse_several(statements)
    holding, name = clean_line(previous.me.user.username or account), clean_line(names[0])
    files = join_first(statements.files["file"].unique().tolist())
    raise ArchiveError(
        f"The statements ({files}) are of the account {name}, and {path} is the archive of {holding}: name "
        f'another archive or, if the account is the same, read them with account="{holding}" '
        f"(--account {shlex.quote(holding)})."
    )


def _join_account(
    name: str, statements: Statements, previous: Manifest, read_names: Callable[[], Collection[str]]
) -> str | None:
    """Return the account that an archive has with the rows of one account of statements; None if it is another one.

    It is the archive's own, or the handle that an archive of a name takes over.
    """
    user = previous.me.user
    account = str(user.id)
    own = {normalize_account(text) for text in (account, user.username) if text}
    is_own, is_handle = normalize_account(name) in own, statements.get_holder(name).user.username is not None
    handles = statements.list_handles()
    has_handle = user.username is not None or not isinstance(previous.account_name, str)
    is_name = not has_handle and fold_name(user.display_name) == fold_name(account)
    if (is_name and find_handle(account, handles) == name) or (is_own and is_handle and not has_handle):
        return name
    if is_own or name in statements.unnamed_accounts:
        return account
    if not is_handle:
        shown = [user.display_name or ""]
        if _joins(name, shown, handles, own) or _joins(name, read_names(), handles, own):
            return account
    return None


def _is_unknown(statements: Statements, read_services: Callable[[], Collection[str]]) -> bool:
    """Return whether files name no account, and neither the archive nor the other files are of their service."""
    from p2p_analytics.statements import list_services

    unnamed = statements.unnamed_accounts
    if not unnamed:
        return False
    parts = separate_accounts(statements)
    services, known = (
        {service for part in parts if bool(part.unnamed_accounts) is is_unnamed for service in list_services(part)}
        for is_unnamed in (True, False)
    )
    return not services <= known and not services <= known | {*read_services()}


def _refuse_several(statements: Statements) -> ArchiveError:
    """Return the error of statements of several accounts."""
    from p2p_analytics.statements import find_common_handle

    names, handle = statements.accounts, find_common_handle(statements)
    advice = f"; if they are one account, read the files again with account={handle!r}" if handle else ""
    return ArchiveError(
        f"The statements are of {len(names)} accounts ({clean_line(', '.join(names))}), and an archive holds one "
        f"account: import each into an archive of its own, as select_account() returns it{clean_line(advice)}."
    )


def _joins(name: str, shown: Collection[str], handles: Mapping[str, Collection[str]], own: Collection[str]) -> bool:
    """Return whether statements with a name of their holder only belong to the account of an archive.

    Parameters
    ----------
    name : str
        The name of the holder.
    shown : collection of str
        The names of the holder of the archive.
    handles : mapping of str to collection of str
        The handles of holders in the files that were read with the statements.
    own : collection of str
        The account of the archive and its handle, normalized.
    """
    account = next(iter(own))
    known = {each: {account} for each in map(fold_name, shown) if each}
    for each, found in handles.items():
        spelled = {account if normalize_account(handle) in own else handle for handle in found}
        known[each] = known.get(each, set()) | spelled
    return find_handle(name, known) == account


def separate_accounts(statements: Statements) -> list[Statements]:
    """Return the statements of each account, first those with a handle."""
    if len(statements.accounts) == 1:
        return [statements]
    names = sorted(statements.accounts, key=lambda name: statements.get_holder(name).user.username is None)
    return [statements.select_account(name) for name in names]


def describe_owner(statements: Statements, account: str, previous: Manifest | None) -> tuple[Me, datetime]:
    """Return the owner of an archive and the date of its data after an import; those of a sync, and names, stay."""
    if previous is not None and not isinstance(previous.account_name, str):
        return previous.me, previous.fetched_at
    fetched_at = max(map(statements.find_end, statements.accounts))
    if previous is None:
        return make_owner(account, statements.get_holder()), fetched_at
    return previous.me, max(previous.fetched_at, fetched_at)


def make_owner(account: str, holder: Me) -> Me:
    """Return the owner of a new archive, as the statements show the holder."""
    user = msgspec.structs.replace(holder.user, id=account.strip().removeprefix("@"))
    return msgspec.structs.replace(holder, user=user)


def complete_owner(me: Me, account: str, statements: Statements, rows: pd.DataFrame) -> Me:
    """Return the owner of an archive with what only later statements show: the account, the username and the name.

    Parameters
    ----------
    me : Me
        The owner, as earlier statements show it.
    account : str
        As `require_account` returns it.
    statements : Statements
        Statements of one account.
    rows : DataFrame
        The rows of statements that the archive holds.
    """
    if statements.unnamed_accounts:
        return me
    holder = statements.get_holder().user
    is_kept = _has_name(me.user, rows) and not _takes_handle_of_other(statements, me.user, rows)
    name = me.user.display_name if is_kept else holder.display_name
    username = me.user.username or holder.username
    user = msgspec.structs.replace(me.user, id=account, username=username, display_name=name)
    return msgspec.structs.replace(me, user=user)


def set_name(me: Me, rows: pd.DataFrame, problems: pd.DataFrame) -> Me:
    """Return the owner of an archive of statements with the name that one reading of all files gives.

    The name that was known stays if no row shows one.

    Parameters
    ----------
    me : Me
        The owner, with the name that was known.
    rows : DataFrame
        The rows of statements that the archive holds.
    problems : DataFrame
        Its problems of statements.
    """
    from p2p_analytics.statements import find_holder_name

    name = find_holder_name(rows, problems) or me.user.display_name
    return msgspec.structs.replace(me, user=msgspec.structs.replace(me.user, display_name=name))


def list_other_holders(statements: Statements, owner: User, previous: User, rows: pd.DataFrame) -> pd.DataFrame:
    """Return PROBLEMS and PLACE: each file that names no account, if its holder has another name than the archive's.

    Such files were read with the name of an account, or their holder's name is spelled as the handle. An archive of
    which no file has shown the holder has no name to compare with.

    Parameters
    ----------
    statements : Statements
        Statements of one account.
    owner, previous : User
        The owner of the archive after and before the import.
    rows : DataFrame
        The rows of statements that the archive holds.
    """
    import pandas as pd

    from p2p_analytics.statements import NAME_AS_HANDLE, OTHER_ACCOUNT

    columns = {**PROBLEMS, **PLACE}
    holder = statements.get_holder().user
    names = {fold_name(name) for name in (owner.id, owner.username, owner.display_name) if name}
    is_own = holder.username is not None or fold_name(holder.display_name) in {fold_name(holder.id), *names}
    problem = (
        f"is the holder in this file, and {owner.display_name!r} that of the archive, to which the file was added as "
        "you asked"
    )
    values = {"field": OTHER_ACCOUNT, "value": holder.display_name, "problem": problem}
    files = [] if is_own or not _has_name(owner, rows) else statements.files["file"].unique().tolist()
    if _is_named_as_handle(statements, owner, rows):
        values["problem"], files = NAME_AS_HANDLE, statements.files["file"].unique().tolist()
    elif _takes_handle_of_other(statements, previous, rows):
        values |= {"value": previous.id, "problem": NAME_AS_HANDLE}
        own = find_sides(rows)[0].dropna().map(fold_name)
        files = sorted(rows.loc[own.index[own == fold_name(previous.id)], "file"].unique())
    found = [{**dict.fromkeys(columns), **values, "file": file} for file in files]
    return pd.DataFrame(found, columns=list(columns)).astype(columns)


def _is_named_as_handle(statements: Statements, owner: User, rows: pd.DataFrame) -> bool:
    """Return whether files show a holder with the owner's handle as the name, and the owner has another name."""
    holder = statements.get_holder().user
    name = holder.display_name or ""
    if holder.username is not None or owner.username is None or holder.id != name:
        return False
    is_alike = normalize_account(name) == normalize_account(owner.username)
    is_other = fold_name(name) != fold_name(owner.display_name)
    # An account that the importer has named is in no row.
    is_shown = (statements.payments[["actor_display_name", "target_user_display_name"]] == name).any(axis=None)
    return is_alike and is_other and bool(is_shown) and _has_name(owner, rows)


def _takes_handle_of_other(statements: Statements, previous: User, rows: pd.DataFrame) -> bool:
    """Return whether an archive of a name gets a handle that is spelled alike, and its holder has another name."""
    handle = statements.get_holder().user.username
    if previous.username is not None or handle is None:
        return False
    is_alike = normalize_account(handle) == normalize_account(previous.id or "")
    is_other = has_other_name(handle, previous.id or "", statements.list_handles())
    return is_alike and is_other and previous.id in list_names(rows)


def drop_own(problems: pd.DataFrame, owner: User) -> pd.DataFrame:
    """Return problems without those of files that name another account, if it is the owner's after all."""
    from p2p_analytics.statements import NAME_AS_HANDLE, OTHER_ACCOUNT

    is_other = (problems["field"] == OTHER_ACCOUNT) & (problems["problem"] != NAME_AS_HANDLE)
    if not is_other.any():
        return problems
    accounts = {normalize_account(name) for name in (owner.id, owner.username) if name}
    values = problems["value"].fillna("")
    is_own = values.map(normalize_account).isin(accounts) | (values.map(fold_name) == fold_name(owner.display_name))
    return problems[~(is_other & is_own)].reset_index(drop=True)


def list_holders(rows: pd.DataFrame, problems: pd.DataFrame) -> set[str]:
    """Return the names that the holder of an archive has in its rows of statements.

    These are the most frequent name of each file; files that name another account do not count.

    Parameters
    ----------
    rows : DataFrame
        The columns `HOLDERS` of rows of statements.
    problems : DataFrame
        The problems of statements.
    """
    from p2p_analytics.statements import OTHER_ACCOUNT

    others = problems.loc[problems["field"] == OTHER_ACCOUNT, "file"]
    own, _ = find_sides(rows)
    names = rows[["file", BATCH]].assign(name=own)[~rows["file"].isin(others)].dropna()
    counts = names.value_counts()
    files = counts.groupby(level=["file", BATCH])
    return set(counts[counts == files.transform("max")].index.get_level_values("name"))


def list_names(rows: pd.DataFrame) -> set[str]:
    """Return the names that the account holder has in rows of statements."""
    return set(find_sides(rows)[0].dropna())


def find_sides(payments: pd.DataFrame) -> tuple[pd.Series[str], pd.Series[str]]:
    """Return the names of the account holder and of the other side; null where neither side is the holder."""
    is_actor, is_target = (payments[f"{side}_id"] == payments["account_id"] for side in ("actor", "target_user"))
    actor, target = payments["actor_display_name"], payments["target_user_display_name"]
    return actor.where(is_actor, target.where(is_target)), actor.where(is_target, target.where(is_actor))


def _has_name(owner: User, rows: pd.DataFrame) -> bool:
    """Return whether the name of an owner is not only the id, which is also the name where no file shows one."""
    if not owner.display_name or owner.display_name != owner.id:
        return bool(owner.display_name)
    return owner.display_name in list_names(rows)
