"""Ids of transactions: the same row of two files is one transaction, and several can share one id.

A row without an id is identified by what the service cannot reword: start, amount, fee, currency, product and the
balance after the row. An id belongs to one transaction only with one currency and one sign: a service gives the id of a
payment to its refund, and to the second currency of a purchase.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import polars as pl

from p2p_analytics.statements.ledger.unite import NOTICE
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from p2p_analytics.statements.rows import FileInfo

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
    """The group that a file is a snapshot of.

    Attributes
    ----------
    number : int
        The number of the group, from 1, in the order of the first snapshots.
    replaced_until : datetime or None
        The moment of the group's last snapshot, which replaces older rows of this one; None for the last snapshot.
    """

    number: int
    replaced_until: datetime | None = None


def find_books(rows: pl.DataFrame, files: Iterable[FileInfo]) -> dict[str, Book]:
    """Return the book of each file that is a snapshot of a whole group.

    A later snapshot belongs to the group if it has at least half of the rows of the snapshot before. Two snapshots of
    one moment belong to one group only if one has all rows of the other: a group has one state at a moment.
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
    """Return ROWS with an id in every transaction, `GIVEN` and `SHARED`.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of all files, with their accounts.
    files : sequence of FileInfo
        The files.
    books : dict
        As `find_books` returns it; equal rows of two groups are two transactions.
    """
    rows = rows.with_columns(pl.col("payment_id").alias(GIVEN), pl.lit(value=False).alias(SHARED))
    is_transaction = pl.col("kind").ne_missing(NOTICE)
    lacks_id = rows.select((pl.col("payment_id").is_null() & is_transaction).alias("lacks")).to_series()
    if lacks_id.any():
        services = {info.file: info.service for info in files}
        numbers = {name: book.number for name, book in books.items()}
        ids = _make_ids(rows.filter(lacks_id), services, numbers)
        rows = rows.with_columns(rows["payment_id"].scatter(lacks_id.arg_true(), ids))
    return _separate_ids(rows, [info.file for info in files if info.repeats_ids])


def _make_ids(rows: pl.DataFrame, services: Mapping[str, str], books: Mapping[str, int]) -> pl.Series:
    """Return ids of rows without one: service, hash of the content, number among the equal rows of the file.

    The balance after a row is a part of its content.
    """
    file = pl.col("file").cast(pl.String)
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
        book=file.replace_strict(books, default=0, return_dtype=pl.Int64),
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
    found = _fill_balances(found)
    content = pl.concat_str("base", pl.col("balance_cents").cast(pl.String).fill_null(_NULL), separator=_SEPARATOR)
    found = found.select("service", _hash_contents(found.select(content).to_series(), 16), "number")
    return found.select(pl.concat_str("service", "hash", "number", separator="-")).to_series()


def _fill_balances(found: pl.DataFrame) -> pl.DataFrame:
    """Return rows in which each row without a balance has balance and number of the row that it became later.

    That is a row of the same content in another file: the first one for the first such row, the second for the second.
    """
    lacks = found.filter(pl.col("balance_cents").is_null())
    if lacks.is_empty() or len(lacks) == len(found):
        return found
    stated = found.filter(pl.col("balance_cents").is_not_null()).select("file", *_BASE, "balance_cents", "number")
    later = (
        lacks.select("file", *_BASE)
        .unique()
        .join(stated.drop("file").unique(), on=_BASE)
        .join(stated, on=stated.columns, how="anti")
        .with_columns(rank=pl.int_range(1, pl.len() + 1).over("file", *_BASE, order_by=["number", "balance_cents"]))
        .rename({"balance_cents": "later_balance", "number": "later_number"})
    )
    joined = found.join(
        later, left_on=["file", *_BASE, "number"], right_on=["file", *_BASE, "rank"], how="left", maintain_order="left"
    )
    is_later = pl.col("balance_cents").is_null() & pl.col("later_balance").is_not_null()
    return joined.with_columns(
        pl.when(is_later).then("later_number").otherwise("number").alias("number"),
        pl.coalesce("balance_cents", "later_balance").alias("balance_cents"),
    )


def _separate_ids(rows: pl.DataFrame, repeating: Sequence[str]) -> pl.DataFrame:
    """Return ROWS in which each transaction of an id has an id, and `SHARED`.

    The transaction that began first keeps the id; of several at once, the largest. The others have the hash of amount,
    currency and day, and refer to it. In files of services that repeat ids, rows of one sign and different amounts are
    different transactions, too.
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
