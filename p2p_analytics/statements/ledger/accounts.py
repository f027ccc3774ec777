"""The account of each row: as the file names it, or as other files of the call do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import polars as pl

from p2p_analytics.handles import find_handle, fold_name, has_other_name, normalize_account
from p2p_analytics.statements.problems import Problem, list_problems
from p2p_analytics.statements.rows import SERVICE
from p2p_analytics.times import EPOCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from p2p_analytics.records import User
    from p2p_analytics.statements.rows import FileInfo

ACCOUNT: Final = "account"  # the field of the problems of this module


class NamedRows(NamedTuple):
    """Rows with their accounts.

    Attributes
    ----------
    rows : polars.DataFrame
        ROWS with ``account`` in every row, and ``is_handle``: whether it is a handle.
    problems : list of Problem
        Files that name another account than the one of their rows.
    unnamed : frozenset of str
        The accounts that are services because nothing names the account.
    """

    rows: pl.DataFrame
    problems: list[Problem]
    unnamed: frozenset[str] = frozenset()


def name_accounts(rows: pl.DataFrame, files: Sequence[FileInfo], owner: User | None = None) -> NamedRows:
    """Return ROWS with the account of each row.

    A file belongs to the account that the caller named, else to the handle in it. A name without a handle is the one
    handle of a holder with this name, else the account itself; a file that shows no holder belongs to the account of
    all other files of its service if they have one, else to its service. Handles and names that differ by case alone
    are one, in the spelling of the latest row. So are addresses with a payment in common, under the one with most rows.
    A file with the caller's name for it that shows another handle or holder is a problem.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of all files.
    files : sequence of FileInfo
        The files.
    owner : User, optional
        The user whom the service names as the holder.
    """
    given = {info.file: info.account for info in files if info.account is not None}
    is_given = pl.col("file").cast(pl.String).is_in(list(given)) if given else pl.lit(value=False)
    rows = _unite_spellings(rows)
    rows, problems = _unite_addresses(rows, ~is_given)
    rows = rows.with_columns(is_handle=pl.col("account").is_not_null(), is_given=is_given)
    keys = (
        rows.select("file", "account", "owner").unique().cast(pl.String).filter(pl.col("account").is_not_null()).rows()
    )
    of_files = {(file, handle) for file, handle, _ in keys}
    handles: dict[str, set[str]] = {}
    for file, handle, name in keys:
        if name is not None and file not in given:
            handles.setdefault(fold_name(name), set()).add(handle)
    spellings = {normalize_account(handle): handle for _, handle in sorted(of_files)}
    accounts: dict[str, set[str]] = {}  # of each service
    of_holders = {name: set(found) for name, found in handles.items()}  # as files show them, without the service
    if owner is not None:
        own_name = owner.username or str(owner.id)
        spellings |= {normalize_account(name): own_name for name in (owner.username, owner.id) if name}
        handles.setdefault(fold_name(owner.display_name), set()).add(own_name)
        accounts[SERVICE] = {own_name}
    if rows["is_handle"].all() and not given and owner is None:
        return NamedRows(rows.drop("is_given"), problems)

    def resolve(name: str) -> str:
        plain = name.strip().removeprefix("@")
        return spellings.get(normalize_account(plain)) or find_handle(plain, of_holders) or plain

    accounts_given = {file: resolve(name) for file, name in given.items()}
    owners = _find_owners(rows.filter(~pl.col("is_handle")))
    for file, name in owners.items():
        if name is not None and file in given:
            handles.setdefault(fold_name(name), set()).add(accounts_given[file])
    named = {
        file: find_handle(name, handles) or spellings.get(normalize_account(name), name)
        for file, name in owners.items()
        if name is not None and file not in given
    }
    problems += [
        Problem("name_as_handle", file, None, None, ACCOUNT, owners[file])
        for file, account in named.items()
        if has_other_name(account, owners[file] or "", handles)
    ]
    named |= accounts_given
    # Names that differ by case alone are one account, in small letters if a file has them.
    written = {normalize_account(name): name for name in sorted(named.values())}
    named = {
        file: spellings.get(normalize_account(name)) or written[normalize_account(name)] for file, name in named.items()
    }
    services = {info.file: info.account_service for info in files}
    for file, name in [*((file, handle) for file, handle in of_files if file not in given), *named.items()]:
        accounts.setdefault(services[file], set()).add(name)
    unnamed = set()
    for file, service in services.items():
        of_service = accounts.get(service, set())
        if file not in named and len(of_service) != 1 and file in owners:
            unnamed.add(service)
        named.setdefault(file, next(iter(of_service)) if len(of_service) == 1 else service)
    of_file = pl.col("file").cast(pl.String).replace_strict(named, default=None, return_dtype=pl.String)
    is_known = of_file.is_in([*spellings.values()]).fill_null(value=False)
    own = pl.col("account").cast(pl.String)
    is_own = own.str.to_lowercase() == of_file.str.to_lowercase()
    found = rows.with_columns(
        pl.when("is_given").then(of_file).otherwise(pl.coalesce(own, of_file)).alias("account"),
        pl.when("is_given").then(is_known).otherwise(pl.col("is_handle") | is_known).alias("is_handle"),
        pl.when(pl.col("is_given") & ~is_own).then(own).alias("other_account"),
        has_handle=pl.col("is_handle") & (~pl.col("is_given") | is_own),
    )
    problems += _list_others(found, given)
    return NamedRows(
        found.drop("is_given", "other_account", "has_handle").cast({"account": rows["account"].dtype}),
        problems,
        frozenset(unnamed),
    )


def _find_owners(rows: pl.DataFrame) -> dict[str, str | None]:
    """Return the name of the holder of each file, None where it shows none; one spelling of each name."""
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


def _list_others(rows: pl.DataFrame, given: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each file that shows another handle or holder than the account that the caller named for it.

    The holder of an account has most rows of files with its handle, or of all its files.
    """
    own = rows.filter("is_given")
    first = own.filter(pl.col("other_account").is_not_null())
    first = first.group_by("file", "other_account", maintain_order=True).agg(pl.col("line").min())
    names = first["file"].cast(pl.String).replace_strict(given, return_dtype=pl.String) if len(first) else first["file"]
    problems = list_problems(
        first, first["other_account"].is_not_null(), first["other_account"], field=ACCOUNT, code="other_account",
        details=(names,),
    )  # fmt: skip
    for (account,), part in rows.filter(pl.col("account").is_in(own["account"].unique().implode())).group_by(
        "account", maintain_order=True
    ):
        holder, others = _find_holders(part, str(account))
        is_other = pl.col("is_given") & ~pl.col("has_handle") & pl.col("owner").cast(pl.String).is_in(others)
        first = part.filter(is_other, pl.col("other_account").is_null())
        first = first.group_by("file", "owner", maintain_order=True).agg(pl.col("line").min())
        problems += list_problems(
            first, first["owner"].is_not_null(), first["owner"], field=ACCOUNT, code="other_holder",
            details=(str(account), holder),
        )  # fmt: skip
    return problems


def _find_holders(rows: pl.DataFrame, account: str) -> tuple[str | None, list[str]]:
    """Return the holder of an account, who has most rows of files with its handle, or of all files; and other holders.

    The account's own name is not another holder.
    """
    owners = rows.lazy().select(pl.col("owner").cast(pl.String), own="has_handle").drop_nulls("owner")
    counts = owners.group_by("owner").agg(pl.col("own").sum(), pl.len()).collect()
    if counts.is_empty():
        return None, []
    ranked = counts.sort("own", "len", "owner", descending=[True, True, False])["owner"].to_list()
    own = [name for name in ranked if normalize_account(name) == normalize_account(account)]
    holder = [*own, *ranked][0] if not counts["own"].sum() else ranked[0]
    known = {fold_name(holder), *map(fold_name, own)}
    return holder, [name for name in ranked if fold_name(name) not in known]


def _unite_addresses(rows: pl.DataFrame, is_free: pl.Expr) -> tuple[pl.DataFrame, list[Problem]]:
    """Return ROWS in which addresses of one account are one, and a problem for each file with another address.

    A service gives each holder of a payment an id and a sign of its own, so a payment that is in files of two addresses
    shows that they are those of one account.
    """
    addresses = [name for name in rows["account"].unique().drop_nulls().to_list() if "@" in name]
    if len(addresses) < 2:  # noqa: PLR2004
        return rows, []
    is_address = pl.col("account").cast(pl.String).is_in(addresses)
    own = rows.filter(is_address, is_free, pl.col("payment_id").is_not_null(), pl.col("flow_cents") != 0)
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
    first = rows.filter(is_free, pl.col("account").cast(pl.String).is_in(others))
    first = first.group_by("file", "account", maintain_order=True).agg(pl.col("line").min())
    problems = list_problems(
        first, first["account"].is_not_null(), first["account"], field=ACCOUNT, code="other_address"
    )
    united_rows = pl.when(is_free).then(pl.col("account").cast(pl.String).replace(united)).otherwise("account")
    return rows.with_columns(united_rows.cast(rows["account"].dtype).alias("account")), problems


def _unite_spellings(rows: pl.DataFrame) -> pl.DataFrame:
    """Return ROWS with one spelling of each account."""
    accounts = rows["account"].unique().drop_nulls().to_list()
    if len({account.casefold() for account in accounts}) == len(accounts):
        return rows
    latest = rows.group_by("account").agg(pl.col("date").max()).drop_nulls("account").cast({"account": pl.String})
    in_order = latest.sort("date", "account")["account"].to_list()
    spellings = {account.casefold(): account for account in in_order}
    united = {account: spellings[account.casefold()] for account in in_order}
    return rows.with_columns(pl.col("account").cast(pl.String).replace(united).cast(rows["account"].dtype))
