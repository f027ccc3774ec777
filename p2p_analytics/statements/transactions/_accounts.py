"""The account of each row: as the file names it, or as other files of the call do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.handles import find_handle, fold_name, has_other_name, normalize_account
from p2p_analytics.statements._cells import list_problems
from p2p_analytics.statements._format import Problem
from p2p_analytics.times import EPOCH

ACCOUNT: Final = "account"  # the field of the problems of this module
NAME_AS_HANDLE: Final = (
    "is the holder in this file, which was added to the account with this handle, and the holder of that has another "
    "name: leave the file out if it is another person's"
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl


class NamedRows(NamedTuple):
    """Rows with their accounts.

    Attributes
    ----------
    rows : polars.DataFrame
        ROWS with ``account`` in every row, and ``is_handle``: whether it is a handle.
    problems : list of Problem
        Files that name another account than the one of their rows.
    handles : dict
        The handles of the holders of each name, as `find_handle` needs them.
    unnamed : frozenset of str
        The accounts that are services because nothing names the account.
    """

    rows: pl.DataFrame
    problems: list[Problem]
    handles: dict[str, set[str]]
    unnamed: frozenset[str] = frozenset()


def name_accounts(rows: pl.DataFrame, services: Mapping[str, str], account: str | None) -> NamedRows:
    """Return ROWS with the account of each row.

    If the caller names the account, it is that of all files, and each file with another handle is a problem. Otherwise
    a file without a handle belongs to the one handle of a holder with the name that the file shows, else to that name;
    a file that shows no holder belongs to the account of all other files of its service if they have one, else to its
    service. Handles and names that differ by case alone are one, in the spelling of the latest row. So are addresses
    with a payment in common, under the one with most rows.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of all files.
    services : mapping of str to str
        The service of each file.
    account : str or None
        The account that the caller named.
    """
    import polars as pl

    rows = _unite_spellings(rows)
    if account is not None:
        return _override_accounts(rows, account)
    rows, problems = _unite_addresses(rows)
    rows = rows.with_columns(is_handle=pl.col("account").is_not_null())
    handles: dict[str, set[str]] = {}
    for owner, handle in rows.filter("is_handle").select("owner", "account").drop_nulls().unique().iter_rows():
        handles.setdefault(fold_name(owner), set()).add(handle)
    if rows["is_handle"].all():
        return NamedRows(rows, problems, handles)
    owners = _find_owners(rows.filter(~pl.col("is_handle")))
    of_files = rows.filter("is_handle").select(pl.col("file", "account").cast(pl.String)).unique().rows()
    spellings = {normalize_account(handle): handle for _, handle in of_files}
    named = {
        file: find_handle(owner, handles) or spellings.get(normalize_account(owner), owner)
        for file, owner in owners.items()
        if owner is not None
    }
    problems += [
        Problem(file, None, None, ACCOUNT, owner, NAME_AS_HANDLE)
        for file, owner in owners.items()
        if owner is not None and has_other_name(named[file], owner, handles)
    ]
    accounts: dict[str, set[str]] = {}
    for file, name in [*of_files, *named.items()]:
        accounts.setdefault(services[file], set()).add(name)
    unnamed = set()
    for file, service in services.items():
        of_service = accounts.get(service, set())
        if file not in named and len(of_service) != 1 and file in owners:
            unnamed.add(service)
        named.setdefault(file, next(iter(of_service)) if len(of_service) == 1 else service)
    of_file = pl.col("file").replace_strict(named, default=None, return_dtype=pl.String)
    is_known = of_file.is_in([*spellings.values()]).fill_null(value=False)
    rows = rows.with_columns(pl.coalesce("account", of_file), pl.col("is_handle") | is_known)
    return NamedRows(rows, problems, handles, frozenset(unnamed))


def _find_owners(rows: pl.DataFrame) -> dict[str, str | None]:
    """Return the name of the holder of each file, None where it shows none; one spelling of each name."""
    import polars as pl

    owners = dict(rows.group_by("file").agg(pl.col("owner").drop_nulls().mode().sort().first()).iter_rows())
    names = sorted(filter(None, owners.values()))
    if len(set(names)) == len({fold_name(name) for name in names}):
        return owners
    latest = dict(rows.group_by("file").agg(pl.col("date").max()).iter_rows())
    in_order = sorted(
        (file for file in owners if owners[file]),
        key=lambda file: (latest[file] is not None, latest[file] or EPOCH, owners[file]),
    )
    spellings = {fold_name(owners[file]): owners[file] for file in in_order}
    return {file: owner and spellings[fold_name(owner)] for file, owner in owners.items()}


def _override_accounts(rows: pl.DataFrame, account: str) -> NamedRows:
    """Return ROWS of one account, in the spelling of the files if one names it, and a problem for each other name.

    A file without a handle has another name if its holder is not that of the other files.
    """
    import polars as pl

    names = rows["account"].unique().drop_nulls().cast(pl.String).to_list()
    same = [name for name in names if normalize_account(name) == normalize_account(account)]
    named = pl.lit(same[0] if same else account)
    is_handle = pl.col("account").cast(pl.String).is_in(same).fill_null(value=False)
    added = f"account={account!r}, to which the file was added as you asked"
    problems = _list_accounts(
        rows, ~pl.col("account").cast(pl.String).is_in(same), f"names another account than {added}"
    )
    holder, others = _find_holders(rows, is_handle, account)
    is_other = pl.col("account").is_null() & pl.col("owner").cast(pl.String).is_in(others)
    first = rows.filter(is_other).group_by("file", "owner", maintain_order=True).agg(pl.col("line").min())
    problem = f"is the holder in this file, and {holder!r} that of {added}"
    problems += list_problems(first, first["owner"].is_not_null(), first["owner"], field=ACCOUNT, problem=problem)
    rows = rows.with_columns(named.cast(rows["account"].dtype).alias("account"), is_handle.alias("is_handle"))
    # An account that is the name of the holder says nothing about the handle.
    is_name = holder is None or fold_name(holder) == fold_name(account)
    return NamedRows(rows, problems, {} if is_name else {fold_name(holder): {same[0] if same else account}})


def _find_holders(rows: pl.DataFrame, is_handle: pl.Expr, account: str) -> tuple[str | None, list[str]]:
    """Return the holder of an account, who has most rows of files with its handle, or of all files; and other holders.

    The account's own name is not another holder.
    """
    import polars as pl

    owners = rows.lazy().select(pl.col("owner").cast(pl.String), own=is_handle).drop_nulls("owner")
    counts = owners.group_by("owner").agg(pl.col("own").sum(), pl.len()).collect()
    if counts.is_empty():
        return None, []
    ranked = counts.sort("own", "len", "owner", descending=[True, True, False])["owner"].to_list()
    own = [name for name in ranked if normalize_account(name) == normalize_account(account)]
    holder = [*own, *ranked][0] if not counts["own"].sum() else ranked[0]
    known = {fold_name(holder), *map(fold_name, own)}
    return holder, [name for name in ranked if fold_name(name) not in known]


def _unite_addresses(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return ROWS in which addresses of one account are one, and a problem for each file with another address.

    A service gives each holder of a payment an id and a sign of its own, so a payment that is in files of two addresses
    shows that they are those of one account.
    """
    import polars as pl

    is_address = pl.col("account").cast(pl.String).str.contains("@").fill_null(value=False)
    own = rows.filter(is_address, pl.col("payment_id").is_not_null(), pl.col("flow_cents") != 0)
    if own["account"].n_unique() < 2:  # noqa: PLR2004
        return rows, []
    counts = dict(own["account"].cast(pl.String).value_counts().iter_rows())
    pairs = (
        own.group_by("payment_id", "date", "flow_cents", "currency")
        .agg(pl.col("account").cast(pl.String).unique())
        .filter(pl.col("account").list.len() > 1)
    )
    groups = {name: {name} for name in counts}
    for together in pairs["account"].unique().to_list():
        joined = set().union(*(groups[name] for name in together))
        groups.update(dict.fromkeys(joined, joined))
    united = {name: max(group, key=lambda each: (counts[each], each)) for name, group in groups.items()}
    others = [name for name, main in united.items() if name != main]
    if not others:
        return rows, []
    problem = "is another address of an account, because both have payments in common: its rows belong to that account"
    problems = _list_accounts(rows, pl.col("account").cast(pl.String).is_in(others), problem)
    return rows.with_columns(pl.col("account").cast(pl.String).replace(united).cast(rows["account"].dtype)), problems


def _list_accounts(rows: pl.DataFrame, condition: pl.Expr, problem: str) -> list[Problem]:
    """Return a problem for each file and account with a condition, at the first row of it."""
    import polars as pl

    first = rows.filter(condition).group_by("file", "account", maintain_order=True).agg(pl.col("line").min())
    return list_problems(first, first["account"].is_not_null(), first["account"], field=ACCOUNT, problem=problem)


def _unite_spellings(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS with one spelling of each account."""
    import polars as pl

    accounts = rows["account"].unique().drop_nulls().to_list()
    if len({account.casefold() for account in accounts}) == len(accounts):
        return rows
    latest = rows.group_by("account").agg(pl.col("date").max()).drop_nulls("account").cast({"account": pl.String})
    in_order = latest.sort("date", "account")["account"].to_list()
    spellings = {account.casefold(): account for account in in_order}
    united = {account: spellings[account.casefold()] for account in in_order}
    return rows.with_columns(pl.col("account").cast(pl.String).replace(united).cast(rows["account"].dtype))
