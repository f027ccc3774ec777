"""Rows of several files to transactions: accounts, kinds of refunds, ids, and de-duplication by id."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.handles import normalize_account
from p2p_analytics.statements._cells import list_problems
from p2p_analytics.statements._rows import SEPARATOR, hash_contents, make_ids
from p2p_analytics.vocabulary import Status

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import polars as pl

    from p2p_analytics.statements._format import Problem

NOTICE: Final = "notice"
_MERCHANT: Final = "merchant"
_UNKNOWN: Final = "unknown"
# The content of a row without an id. Status and balance are left out: both may be others in a later file. So is the
# account, which is a part of the key, but can be spelled in several ways.
_CONTENT: Final = (
    "date", "type", "note", "from_name", "to_name", "counterparty_name", "flow_cents", "fee_cents",
    "currency", "funding_source", "destination",
)  # fmt: skip
_NULL: Final = "\x00"
_KEY: Final = ("account", "payment_id")
# Of several rows of one payment, a null in the row that is kept does not hide the value of another one.
_FILLED: Final = (
    "fee_cents", "tip_cents", "tax_cents", "funding_source", "destination", "counterparty_username", "counterparty_id",
    "balance_cents",
)  # fmt: skip


def name_accounts(
    rows: pl.DataFrame, services: Mapping[str, str], account: str | None
) -> tuple[pl.DataFrame, list[Problem]]:
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
        return rows, problems
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
    for file, service in services.items():
        of_service = accounts.get(service, set())
        named.setdefault(file, next(iter(of_service)) if len(of_service) == 1 else service)
    of_file = pl.col("file").replace_strict(named, default=None, return_dtype=pl.String)
    is_known = of_file.is_in([handle for of_owner in handles.values() for handle in of_owner])
    rows = rows.with_columns(
        pl.coalesce("account", of_file), (pl.col("is_handle") | is_known.fill_null(value=False)).alias("is_handle")
    )
    return rows, problems


def _override_accounts(rows: pl.DataFrame, account: str) -> tuple[pl.DataFrame, list[Problem]]:
    """Return ROWS of one account, in the spelling of the files if one names it, and a problem for each other name."""
    import polars as pl

    names = rows["account"].unique().drop_nulls().cast(pl.String).to_list()
    same = [name for name in names if normalize_account(name) == normalize_account(account)]
    named = pl.lit(same[0] if same else account)
    is_handle = pl.col("account").cast(pl.String).is_in(same).fill_null(value=False)
    problem = f"names another account than account={account!r}, to which the file was added as you asked"
    problems = _list_accounts(rows, ~pl.col("account").cast(pl.String).is_in(same), problem)
    return rows.with_columns(named.cast(rows["account"].dtype).alias("account"), is_handle.alias("is_handle")), problems


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
    return list_problems(first, first["account"].is_not_null(), first["account"], field="account", problem=problem)


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


def sort_refunds(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return ROWS with the kind of each refund: payment or merchant, as the other rows of its counterparty are."""
    import polars as pl

    is_refund = rows["kind"].is_null()
    if not is_refund.any():
        return rows, []
    key = ["account", "counterparty_name"]
    others = rows.filter(~is_refund, pl.col("counterparty_name").is_not_null())
    seen = others.group_by(key).agg(
        is_person=(pl.col("kind") == KIND_PAYMENT).any(), is_merchant=(pl.col("kind") == _MERCHANT).any()
    )
    kinds = (
        rows.select(*key, "kind", position=pl.int_range(pl.len()))
        .join(seen, on=key, how="left")
        .sort("position")
        .select(
            pl.when(pl.col("kind").is_not_null())
            .then("kind")
            .when(pl.col("is_person") & ~pl.col("is_merchant"))
            .then(pl.lit(KIND_PAYMENT))
            .when(pl.col("is_merchant") & ~pl.col("is_person"))
            .then(pl.lit(_MERCHANT))
            .otherwise(pl.lit(_UNKNOWN))
        )
        .to_series()
    )
    sorted_rows = rows.with_columns(
        kinds.alias("kind"),
        pl.when((kinds == KIND_PAYMENT) & is_refund).then(pl.lit("pay")).otherwise("action").alias("action"),
    )
    problem = "no other row says whether this refund comes from a person or a merchant"
    unknown = is_refund & (kinds == _UNKNOWN)
    return sorted_rows, list_problems(rows, unknown, rows["counterparty_name"], field="kind", problem=problem)


def has_missing_ids(rows: pl.DataFrame) -> bool:
    """Return whether a transaction has no id."""
    return bool(rows.select(_lacks_id().any()).item())


def fill_ids(rows: pl.DataFrame, dates: pl.Series, service: str) -> pl.DataFrame:
    """Return ROWS of a service with an id in every transaction, made of the content where the file gives none.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS.
    dates : polars.Series
        The date of each row as it is when dates without a zone are read as UTC, so that no id depends on the zone that
        the caller names.
    service : str
        First part of the ids.
    """
    import polars as pl

    missing = rows.with_columns(dates.alias("date")).filter(_lacks_id())
    parts = [pl.col(name).cast(pl.String).fill_null(_NULL) for name in _CONTENT]
    contents = missing.select(pl.concat_str(parts, separator=SEPARATOR)).to_series()
    ids = make_ids(missing, service, contents)
    places = rows.select(_lacks_id().arg_true()).to_series()
    return rows.with_columns(rows["payment_id"].scatter(places, ids))


def _lacks_id() -> pl.Expr:
    import polars as pl

    return pl.col("payment_id").is_null() & pl.col("kind").ne_missing(NOTICE)


def list_shared_ids(rows: pl.DataFrame) -> set[str]:
    """Return the ids that one file gives to several amounts."""
    import polars as pl

    repeated = rows.filter(pl.struct("file", "payment_id").is_duplicated() & pl.col("payment_id").is_not_null())
    counts = repeated.group_by("file", "payment_id").agg(
        pl.struct("flow_cents", "currency").n_unique().alias("amounts")
    )
    return set(counts.filter(pl.col("amounts") > 1)["payment_id"].to_list())


def separate_ids(rows: pl.DataFrame, shared: Collection[str]) -> pl.DataFrame:
    """Return ROWS in which the amounts of a shared id have ids of their own, whatever file they are in.

    The largest amount keeps the id. The others get the hash of amount and currency, and refer to it.
    """
    import polars as pl

    if not shared:
        return rows
    places = rows.select(pl.col("payment_id").is_in(list(shared)).fill_null(value=False).arg_true()).to_series()
    parts = rows[places].select(*_KEY, "reference_id", "flow_cents", currency=pl.col("currency").cast(pl.String))
    contents = parts.select(pl.concat_str("flow_cents", pl.col("currency").fill_null(_NULL), separator=SEPARATOR))
    amount = pl.struct(-pl.col("flow_cents").abs().alias("size"), "flow_cents", "currency")
    is_later = amount.rank("dense").over(_KEY) > 1
    own = pl.col("payment_id")
    found = parts.with_columns(hash_contents(contents.to_series())).select(
        pl.when(is_later).then(pl.concat_str(own, "hash", separator="-")).otherwise(own).alias("payment_id"),
        pl.when(is_later).then(pl.coalesce("reference_id", own)).otherwise("reference_id").alias("reference_id"),
    )
    return rows.with_columns(rows[name].scatter(places, found[name]) for name in found.columns)


def deduplicate_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.Series, list[Problem]]:
    """Return ROWS, the positions of one row for each id of an account, and problems where rows of one id differ.

    Of several rows, a final state wins over a pending one, then the row of the later file: the one with the later last
    date, then the later name. The positions are those of transactions, newest first; notices are left out.
    """
    import polars as pl

    problems: list[Problem] = []
    if _may_repeat(rows["payment_id"].drop_nulls()):
        is_repeated = rows.select(pl.struct(_KEY).is_duplicated() & (pl.col("kind") != NOTICE)).to_series()
        kept, problems = _choose(rows.filter(is_repeated), _rank_files(rows))
        rows = pl.concat([rows.filter(~is_repeated), kept])
    return rows, _sort_newest_first(rows), problems


def _may_repeat(ids: pl.Series) -> bool:
    """Return whether two ids may be equal, from their hashes, which takes little time and memory."""
    hashes = ids.hash().sort()
    return bool((hashes == hashes.shift()).any())


def _sort_newest_first(rows: pl.DataFrame) -> pl.Series:
    """Return the positions of the transactions, by date, id and account.

    Only rows with one date are compared by more than the date: comparing all takes several times the memory.
    """
    import polars as pl

    places = rows.select((pl.col("kind") != NOTICE).fill_null(value=True).arg_true()).to_series()
    dates = rows["date"].gather(places)
    order = dates.arg_sort(descending=True, nulls_last=True)
    dates = dates.gather(order)
    order = places.gather(order)
    is_same = dates.eq_missing(dates.shift(1)) & (pl.int_range(len(dates), eager=True) > 0)
    tied = (is_same | is_same.shift(-1, fill_value=False)).arg_true()
    keys = rows.select("date", "payment_id", "account")[order.gather(tied)]
    by_all = keys.select(
        pl.arg_sort_by(
            "date",
            pl.col("payment_id").str.len_bytes(),
            "payment_id",
            "account",
            descending=[True, True, True, False],
            nulls_last=True,
        )
    ).to_series()
    return order.scatter(tied, order.gather(tied).gather(by_all))


def _rank_files(rows: pl.DataFrame) -> dict[str, int]:
    import polars as pl

    files = rows.group_by("file").agg(pl.col("date").max()).sort("date", "file", nulls_last=False)
    return {file: number for number, file in enumerate(files["file"].to_list())}


def _choose(repeated: pl.DataFrame, ranks: Mapping[str, int]) -> tuple[pl.DataFrame, list[Problem]]:
    import polars as pl

    is_final = pl.col("status").fill_null(Status.PENDING.value) != Status.PENDING.value
    rank = pl.col("file").replace_strict(dict(ranks), return_dtype=pl.Int64)
    ordered = repeated.sort(*_KEY, is_final, rank, "line", descending=[False, False, True, True, False])
    kept = ordered.group_by(_KEY, maintain_order=True).agg(
        pl.col(name).drop_nulls().first() if name in _FILLED else pl.col(name).first()
        for name in repeated.columns
        if name not in _KEY
    )
    problems = []
    compared = ordered.with_columns(
        (pl.col("flow_cents").n_unique() > 1).over(_KEY).alias("amounts"),
        # A pending payment has another date than the completed one.
        (pl.col("date").filter(is_final).n_unique() > 1).over(_KEY).alias("dates"),
        pl.struct("file", *_KEY).is_duplicated().alias("same_file"),
        (pl.int_range(pl.len()) > 0).over(_KEY).alias("is_other"),
    )
    for name, cell, words in (
        ("amounts", "flow_cents", "another row of this id has another amount, and is the one that is kept"),
        ("dates", "date", "another row of this id has another date, and is the one that is kept"),
        ("same_file", "payment_id", "the id is repeated in this file, and counted once"),
    ):
        mask = compared[name] & compared["is_other"]
        problems += list_problems(compared, mask, compared[cell], field=cell, problem=words)
    return kept.select(repeated.columns), problems
