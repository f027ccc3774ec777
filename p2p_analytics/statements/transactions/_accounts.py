"""The account of each row: as the file names it, or as other files of the call do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.handles import normalize_account
from p2p_analytics.statements._cells import list_problems

ACCOUNT: Final = "account"  # the field of the problems of this module

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from p2p_analytics.statements._format import Problem


class NamedRows(NamedTuple):
    """Rows with their accounts, problems, and the accounts that are services because nothing names the account."""

    rows: pl.DataFrame
    problems: list[Problem]
    unnamed: frozenset[str] = frozenset()


def name_accounts(rows: pl.DataFrame, services: Mapping[str, str], account: str | None) -> NamedRows:
    """Return ROWS with ``account`` in every row, and ``is_handle``: whether the file itself names it; and problems.

    If the caller names the account, it is that of all files, and each file with another handle is a problem. Otherwise
    a file without a handle belongs to the one handle of a holder with the name that the file shows, else to that name;
    a file that shows no holder belongs to the account of all other files of its service if they have one, else to its
    service. Handles that differ by case alone are one, in the spelling of the latest row. So are addresses with a
    payment in common, under the one with most rows.

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
    if rows["is_handle"].all():
        return NamedRows(rows, problems)
    handles: dict[str, set[str]] = {}
    for owner, handle in rows.filter("is_handle").select("owner", "account").drop_nulls().unique().iter_rows():
        handles.setdefault(owner, set()).add(handle)
    owners = dict(
        rows.filter(~pl.col("is_handle"))
        .group_by("file")
        .agg(pl.col("owner").drop_nulls().mode().sort().first())
        .iter_rows()
    )
    named = {}
    for file in services:
        owner = owners.get(file)
        of_owner = handles.get(owner or "", set())
        if owner is not None:
            named[file] = next(iter(of_owner)) if len(of_owner) == 1 else owner
    accounts: dict[str, set[str]] = {}
    for file, handle in [*rows.filter("is_handle").select("file", "account").unique().iter_rows(), *named.items()]:
        accounts.setdefault(services[file], set()).add(handle)
    unnamed = set()
    for file, service in services.items():
        of_service = accounts.get(service, set())
        if file not in named and len(of_service) != 1 and file in owners:
            unnamed.add(service)
        named.setdefault(file, next(iter(of_service)) if len(of_service) == 1 else service)
    of_file = pl.col("file").replace_strict(named, default=None, return_dtype=pl.String)
    is_known = of_file.is_in([handle for of_owner in handles.values() for handle in of_owner])
    rows = rows.with_columns(
        pl.coalesce("account", of_file), (pl.col("is_handle") | is_known.fill_null(value=False)).alias("is_handle")
    )
    return NamedRows(rows, problems, frozenset(unnamed))


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
    return NamedRows(rows, problems)


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
    known = {_fold(holder), *map(_fold, own)}
    return holder, [name for name in ranked if _fold(name) not in known]


def _fold(name: str) -> str:
    """Return a name without case and repeated blanks."""
    return " ".join(name.casefold().split())


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
