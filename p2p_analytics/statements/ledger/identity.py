"""Which rows are of one account, and which of one transaction: accounts, groups and ids."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from p2p_analytics.handles import find_handle, fold_name, has_other_name, normalize_account
from p2p_analytics.statements.problems import Problem, list_problems
from p2p_analytics.statements.rows import NOTICE, SERVICE
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from p2p_analytics.records import User
    from p2p_analytics.statements.rows import FileInfo

ACCOUNT: Final = "account"  # the field of the problems of this module


class NamedRows(NamedTuple):
    """ROWS with accounts, the files that name another account, and the services that stand for an unnamed account."""

    rows: pl.DataFrame
    problems: list[Problem]
    unnamed: frozenset[str] = frozenset()


def name_accounts(rows: pl.DataFrame, files: Sequence[FileInfo], owner: User | None = None) -> NamedRows:
    """Return ROWS with ``account`` in each row, and ``is_handle``: whether it is a handle.

    A file belongs to the account that the caller named, else to the handle in it. A name without a handle is the one
    handle of a holder with this name, else the account itself; a file that shows no holder belongs to the account of
    all other files of its service if they have one, else to its service. Handles and names that differ by case alone
    are one, in the spelling of the latest row. So are addresses with a payment in common, under the one with most rows.
    A file with the caller's name for it that shows another handle or holder is a problem. ``owner`` is the user whom
    the service names as the holder.
    """
    given = {info.file: info.account for info in files if info.account is not None}
    is_given = pl.col("file").cast(pl.String).is_in(list(given)) if given else pl.lit(value=False)
    problems: list[Problem] = []
    if rows["account"].drop_nulls().n_unique() > 1:
        latest = rows.group_by("account").agg(pl.col("date").max()).drop_nulls("account").cast({"account": pl.String})
        written = latest.sort("date", "account")["account"].to_list()
        last = {account.casefold(): account for account in written}
        if len(last) < len(written):
            united = pl.col("account").cast(pl.String).replace({each: last[each.casefold()] for each in written})
            rows = rows.with_columns(united.cast(rows["account"].dtype))
        rows, problems = _unite_addresses(rows, ~is_given)
    rows = rows.with_columns(is_handle=pl.col("account").is_not_null(), is_given=is_given)
    if rows["is_handle"].all() and not given and owner is None:
        return NamedRows(rows.drop("is_given"), problems)
    without = rows.select("file", "owner", "date").filter(~rows["is_handle"]).group_by("file")
    owners = without.agg(pl.col("owner").drop_nulls().mode().sort().first(), pl.col("date").max())
    in_order = owners.select(pl.col("file", "owner").cast(pl.String), "date").sort("date", "owner")
    spellings = {fold_name(owner): owner for owner in in_order["owner"].drop_nulls()}  # one spelling of each name
    holders = {file: owner and spellings[fold_name(owner)] for file, owner, _ in in_order.iter_rows()}
    keys = rows.select("file", "account", "owner").filter(rows["is_handle"]).unique().cast(pl.String).rows()
    names = _Names(keys, holders, given, owner)
    problems += names.list_strange()
    named, unnamed = names.name_files(files)
    of_file = pl.col("file").cast(pl.String).replace_strict(named, default=None, return_dtype=pl.String)
    is_known = of_file.is_in(list(names.spellings.values())).fill_null(value=False)
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


class _Names:
    """The handles and holders that files show, and the accounts that follow from them."""

    def __init__(
        self,
        keys: Iterable[tuple[str, str, str | None]],  # file, handle and holder of the rows with a handle
        holders: Mapping[str, str | None],  # of each file with rows without a handle
        given: Mapping[str, str],  # the account that the caller named, by file
        owner: User | None,
    ) -> None:
        shown = sorted({(file, handle) for file, handle, _ in keys})
        self._of_files = [(file, handle) for file, handle in shown if file not in given]
        self._holders = holders
        self._of_services: dict[str, set[str]] = {}
        self.spellings = {normalize_account(handle): handle for _, handle in shown}
        of_holders: dict[str, set[str]] = {}  # as files show them, without the service
        for file, handle, name in keys:
            if name is not None and file not in given:
                of_holders.setdefault(fold_name(name), set()).add(handle)
        self._handles = {name: set(found) for name, found in of_holders.items()}
        if owner is not None:
            handle = owner.username or str(owner.id)
            self.spellings |= {normalize_account(name): handle for name in (owner.username, owner.id) if name}
            self._handles.setdefault(fold_name(owner.display_name), set()).add(handle)
            self._of_services[SERVICE] = {handle}
        plain = {file: name.strip().removeprefix("@") for file, name in given.items()}
        self._given = {
            file: self.spellings.get(normalize_account(name)) or find_handle(name, of_holders) or name
            for file, name in plain.items()
        }
        for file, name in holders.items():
            if name is not None and file in given:
                self._handles.setdefault(fold_name(name), set()).add(self._given[file])
        self._named = {
            file: find_handle(name, self._handles) or self.spellings.get(normalize_account(name), name)
            for file, name in holders.items()
            if name is not None and file not in given
        }

    def list_strange(self) -> list[Problem]:
        """Return a problem for each file with the handle of an account as the name of another holder."""
        return [
            Problem("name_as_handle", file, None, None, ACCOUNT, self._holders[file])
            for file, account in self._named.items()
            if has_other_name(account, self._holders[file] or "", self._handles)
        ]

    def name_files(self, files: Sequence[FileInfo]) -> tuple[dict[str, str], set[str]]:
        """Return the account of each file without a handle or with a given account, and the services among them."""
        found = self._named | self._given
        # Names that differ by case alone are one account, in small letters if a file has them.
        written = {normalize_account(name): name for name in sorted(found.values())} | self.spellings
        named = {file: written[normalize_account(name)] for file, name in found.items()}
        services = {info.file: info.account_service for info in files}
        for file, name in [*self._of_files, *named.items()]:
            self._of_services.setdefault(services[file], set()).add(name)
        unnamed = set()
        for file, service in services.items():
            of_service = self._of_services.get(service, set())
            if file not in named and len(of_service) != 1 and file in self._holders:
                unnamed.add(service)
            named.setdefault(file, next(iter(of_service)) if len(of_service) == 1 else service)
        return named, unnamed


def _list_others(rows: pl.DataFrame, given: Mapping[str, str]) -> list[Problem]:
    """Return a problem for each file that shows another handle or holder than the account named by the caller."""
    own = rows.filter("is_given")
    named = own.filter(pl.col("other_account").is_not_null())
    problems = _list_first(named, "other_account", "other_account", pl.col("file").cast(pl.String).replace(given))
    same = rows.filter(pl.col("account").is_in(own["account"].unique().implode()))
    for (account,), part in same.group_by("account", maintain_order=True):
        # The holder has most rows of files with the account's handle, else of all files.
        owners = part.select(pl.col("owner").cast(pl.String), own="has_handle").drop_nulls("owner")
        counts = owners.group_by("owner").agg(pl.col("own").sum(), pl.len())
        ranked = counts.sort("own", "len", "owner", descending=[True, True, False])["owner"].to_list()
        same_names = [name for name in ranked if normalize_account(name) == normalize_account(str(account))]
        holder = next(iter(ranked if counts["own"].sum() else [*same_names, *ranked]), None)
        known = {fold_name(name) for name in (holder, *same_names) if name}
        others = [name for name in ranked if fold_name(name) not in known]
        is_other = pl.col("is_given") & ~pl.col("has_handle") & pl.col("owner").cast(pl.String).is_in(others)
        shown = part.filter(is_other, pl.col("other_account").is_null())
        problems += _list_first(shown, "owner", "other_holder", str(account), holder)
    return problems


def _list_first(rows: pl.DataFrame, value: str, code: str, *details: str | pl.Expr | None) -> list[Problem]:
    """Return a problem for the first row of each file and value of a column."""
    first = rows.group_by("file", value, maintain_order=True).agg(pl.col("line").min())
    own = [first.select(each).to_series() if isinstance(each, pl.Expr) else each for each in details]
    return list_problems(first, first[value].is_not_null(), first[value], field=ACCOUNT, code=code, details=own)


def _unite_addresses(rows: pl.DataFrame, is_free: pl.Expr) -> tuple[pl.DataFrame, list[Problem]]:
    """Return ROWS with one address per account, and a problem for each file with another one.

    A payment in files of two addresses shows that both are one account: each holder of a payment has another id and
    sign.
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
    other = rows.filter(is_free, pl.col("account").cast(pl.String).is_in(others))
    problems = _list_first(other, "account", "other_address")
    united_rows = pl.when(is_free).then(pl.col("account").cast(pl.String).replace(united)).otherwise("account")
    return rows.with_columns(united_rows.cast(rows["account"].dtype).alias("account")), problems


GIVEN: Final = "given_id"
"""The id in the file; null where it gives none."""
SHARED: Final = "is_shared"
"""Whether the id in the file is that of several transactions."""

_SECOND: Final = 1_000_000
_SEPARATOR: Final = "\x1f"
_NULL: Final = "\x00"
_MOSTLY: Final = 0.5  # of the rows of an earlier snapshot of a group
# Words only order rows that are equal otherwise, so that two files number them alike.
_WORDS: Final = ("note", "counterparty_name", "from_name", "to_name", "type")
_BASE: Final = ("account", "service", "base")


class Book(NamedTuple):
    """The number of the group that a file is a snapshot of, in the order of the first snapshots, from 1.

    ``replaced_until`` is the moment of the group's last snapshot, which replaces older rows; None for the last one.
    """

    number: int
    replaced_until: datetime | None = None


def find_books(rows: pl.DataFrame, files: Iterable[FileInfo]) -> dict[str, Book]:
    """Return the book of each file that is a snapshot of a whole group.

    A later snapshot of the group has at least half of the rows of the one before, or all of them at the same moment.
    """
    moments = {info.file: info.snapshot_at for info in files if info.snapshot_at is not None}
    if not moments:
        return {}
    file = pl.col("file").cast(pl.String)
    day = (pl.coalesce("start", "date").dt.epoch("us") // DAY_US).alias("day")
    own = rows.filter(file.is_in(list(moments)), pl.col("kind").ne_missing(NOTICE))
    contents: dict[str, tuple[str, Counter[tuple[Any, ...]]]] = {
        name: (account, Counter(zip(*columns, strict=True)))
        for name, account, *columns in own.group_by(file.alias("file"))
        .agg(pl.col("account").first().cast(pl.String), day, "flow_cents", pl.col("currency").cast(pl.String))
        .iter_rows()
    }
    groups: list[list[str]] = []  # files of each group, in the order of their moments
    for name in sorted(contents, key=lambda name: (moments[name], contents[name][1].total(), name)):
        account, content = contents[name]
        shares = []
        for at, group in enumerate(groups):
            other_account, before = contents[group[-1]]
            share = (before & content).total() / before.total()
            needed = 1 if moments[group[-1]] == moments[name] else _MOSTLY
            if other_account == account and share >= needed:
                shares.append((share, -at))
        if shares:
            groups[-max(shares)[1]].append(name)
        else:
            groups.append([name])
    return {
        name: Book(number, None if name == group[-1] else moments[group[-1]])
        for number, group in enumerate(groups, start=1)
        for name in group
    }


def find_replaced_rows(rows: pl.DataFrame, books: Mapping[str, Book]) -> pl.Series:
    """Return which rows a later snapshot of their group replaces, because it covers their day."""
    ruled = {name: book.replaced_until for name, book in books.items() if book.replaced_until is not None}
    if not ruled:
        return pl.repeat(value=False, n=len(rows), eager=True)
    until = pl.col("file").cast(pl.String).replace_strict(ruled, default=None, return_dtype=pl.Datetime("us", "UTC"))
    is_replaced = (pl.col("date") <= until).fill_null(value=False) & pl.col("kind").ne_missing(NOTICE)
    return rows.select(is_replaced).to_series()


def fill_ids(rows: pl.DataFrame, files: Sequence[FileInfo], books: Mapping[str, Book]) -> pl.DataFrame:
    """Return ROWS with an id in every transaction, `GIVEN` and `SHARED`; equal rows of two books have two ids."""
    rows = rows.with_columns(pl.col("payment_id").alias(GIVEN), pl.lit(value=False).alias(SHARED))
    is_transaction = pl.col("kind").ne_missing(NOTICE)
    lacks_id = rows.select((pl.col("payment_id").is_null() & is_transaction).alias("lacks")).to_series()
    if lacks_id.any():
        ids = _make_ids(rows.filter(lacks_id), files, books)
        rows = rows.with_columns(rows["payment_id"].scatter(lacks_id.arg_true(), ids))
    return _separate_ids(rows, [info.file for info in files if info.repeats_ids])


def _make_ids(rows: pl.DataFrame, files: Sequence[FileInfo], books: Mapping[str, Book]) -> pl.Series:
    """Return ids of rows without one: service, hash of content and balance, number among equal rows of the file."""
    file = pl.col("file").cast(pl.String)
    services = {info.file: info.service for info in files}
    numbers = {name: book.number for name, book in books.items()}
    start = pl.coalesce("start", "date").dt.epoch("us") // _SECOND
    parts = [start, pl.col("flow_cents"), pl.col("fee_cents").fill_null(0), pl.col("currency"), pl.col("product")]
    texts = [part.cast(pl.String).fill_null(_NULL) for part in parts]
    found = rows.select(
        pl.col("account").cast(pl.String),
        file.alias("file"),
        "line",
        "balance_cents",
        *(pl.col(name).cast(pl.String) for name in _WORDS),
        service=file.replace_strict(services, return_dtype=pl.String),
        book=file.replace_strict(numbers, default=0, return_dtype=pl.Int64),
        base=pl.concat_str(texts, separator=_SEPARATOR),
    )
    number = pl.int_range(1, pl.len() + 1).over("file", "base", "balance_cents", order_by=[*_WORDS, "line"])
    found = found.with_columns(number=number)
    if (found["book"] > 1).any():  # equal rows are counted on from earlier groups
        key = [*_BASE, "balance_cents"]
        counts = found.group_by(*key, "book").agg(pl.col("number").max()).sort("book")
        before = counts.with_columns(before=pl.col("number").cum_sum().over(key) - pl.col("number")).drop("number")
        joined = found.join(before, on=[*key, "book"], how="left", nulls_equal=True, maintain_order="left")
        found = joined.with_columns(number=pl.col("number") + pl.col("before"))
    lacks, stated = (found.filter(found["balance_cents"].is_null() == is_null) for is_null in (True, False))
    if len(lacks) and len(stated):  # the nth row without a balance takes that of the nth equal row in another file
        stated = stated.select("file", *_BASE, "balance_cents", "number")
        rank = pl.int_range(1, pl.len() + 1).over("file", *_BASE, order_by=["number", "balance_cents"])
        later = (
            lacks.select("file", *_BASE)
            .unique()
            .join(stated.drop("file").unique(), on=_BASE)
            .join(stated, on=stated.columns, how="anti")
            .select("file", *_BASE, pl.col("balance_cents", "number").name.prefix("later_"), rank=rank)
        )
        left, right = (["file", *_BASE, name] for name in ("number", "rank"))
        joined = found.join(later, left_on=left, right_on=right, how="left", maintain_order="left")
        found = joined.with_columns(
            number=pl.when(pl.col("balance_cents").is_null())
            .then(pl.coalesce("later_number", "number"))
            .otherwise("number"),
            balance_cents=pl.coalesce("balance_cents", "later_balance_cents"),
        )
    content = pl.concat_str("base", pl.col("balance_cents").cast(pl.String).fill_null(_NULL), separator=_SEPARATOR)
    found = found.select("service", _hash_contents(found.select(content).to_series(), 16), "number")
    return found.select(pl.concat_str("service", "hash", "number", separator="-")).to_series()


def _separate_ids(rows: pl.DataFrame, repeating: Sequence[str]) -> pl.DataFrame:
    """Return ROWS in which each transaction of an id has an id, and `SHARED`.

    The transaction that began first keeps the id; of several at once, the largest. The others get a hash of amount,
    currency and day, and refer to it. In ``repeating`` files, rows of one sign and different amounts are different,
    too.
    """
    hashes = rows[GIVEN].hash().alias("hash")  # hashes take less time to compare than texts
    is_repeated = hashes.is_duplicated() & rows[GIVEN].is_not_null()
    if not is_repeated.any():
        return rows
    names = ("account", "file", "currency", "flow_cents", "date", "start", "kind")
    repeated = rows.select(*names, hashes, at=pl.int_range(pl.len()), id=GIVEN).filter(
        is_repeated, pl.col("kind").ne_missing(NOTICE)
    )
    is_mixed = pl.any_horizontal(pl.col("flow_cents", "currency").n_unique().over("hash") > 1)
    parts = repeated.filter(is_mixed).select(
        pl.col("account", "file", "currency").cast(pl.String),
        "id",
        "at",
        "flow_cents",
        sign=pl.col("flow_cents").sign().replace(0, None),
        start=pl.coalesce("start", "date"),
    )
    if parts.is_empty():
        return rows
    key = ("account", "id")
    of_file = (
        parts.filter(pl.col("file").is_in(list(repeating)), pl.col("flow_cents") != 0)
        .group_by(*key, "file")
        .agg(pl.struct("flow_cents", "currency").n_unique().alias("amounts"))
        .filter(pl.col("amounts") > 1)
        .select(*key, has_amounts=pl.lit(value=True))
        .unique()
    )
    # A row without a sign or a currency is of the transaction that began first.
    first = ["start", pl.col("flow_cents").abs(), "flow_cents", "currency", "file", "at"]
    ordered = parts.filter(pl.col("sign").is_not_null()).sort(
        first, descending=[False, True, False, False, False, False], nulls_last=True
    )
    main = ordered.group_by(key, maintain_order=True).agg(
        pl.col("sign", "currency", "flow_cents").first().name.prefix("main_")
    )
    found = parts.join(main, on=key, how="left").join(of_file, on=key, how="left")
    is_other = pl.any_horizontal(pl.col(name) != pl.col(f"main_{name}") for name in ("sign", "currency"))
    is_main = ~is_other.fill_null(value=False)
    is_other_amount = pl.col("has_amounts") & (pl.col("flow_cents") != pl.col("main_flow_cents"))
    found = found.with_columns(
        is_later=~is_main | is_other_amount.fill_null(value=False),
        content=pl.concat_str(
            "flow_cents",
            pl.col("currency").fill_null(_NULL),
            pl.when(~is_main).then(pl.col("start").dt.epoch("us") // DAY_US).cast(pl.String).fill_null(""),
            separator=_SEPARATOR,
        ),
    )
    found = found.with_columns(
        _hash_contents(found["content"]), pl.col("is_later").any().over(key).alias(SHARED)
    ).filter(SHARED)
    later = found.filter("is_later")
    ids = later.select(pl.concat_str("id", "hash", separator="-")).to_series()
    references = rows["reference_id"][later["at"]]
    references = references.zip_with(references.is_not_null(), later["id"])
    return rows.with_columns(
        rows["payment_id"].scatter(later["at"], ids),
        rows["reference_id"].scatter(later["at"], references),
        rows[SHARED].scatter(found["at"], values=True),
    )


def _hash_contents(contents: pl.Series, digits: int = 8) -> pl.Series:
    """Return hexadecimal digits of the hash of each text; null for null."""
    hashes = [text and hashlib.sha256(text.encode()).hexdigest()[:digits] for text in contents.to_list()]
    return pl.Series("hash", hashes, pl.String)
