"""Ids of transactions: the same row of two files is one transaction, and one id can be that of several.

A row without an id is identified by what the service cannot reword: start, amount, fee, currency, product and the
balance after it. An id belongs to one transaction only with one currency and one sign: a service gives a refund, and the
second currency of a purchase, the id of the payment.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.statements.ledger.unite import NOTICE
from p2p_analytics.times import DAY_US

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def find_books(rows: pl.DataFrame, files: Sequence[FileInfo]) -> dict[str, int]:
    """Return the number of the group of each file that is a snapshot of a whole group, from 1 in each account.

    A later snapshot is of the group of which it has at least half of the rows. Two snapshots of one moment are of one
    group only if one has all rows of the other: a group has one state at a moment.
    """
    snapshots = {info.file: info for info in files if info.snapshot_at is not None}
    if not snapshots:
        return {}
    file = pl.col("file").cast(pl.String)
    own = rows.filter(file.is_in(list(snapshots)), pl.col("kind").ne_missing(NOTICE))
    key = pl.struct((pl.coalesce("start", "date").dt.epoch("us") // DAY_US).alias("day"), "flow_cents", "currency")
    contents = {
        name: (account, Counter(map(tuple, (row.values() for row in keys))))
        for name, account, keys in own.group_by(file.alias("file"))
        .agg(pl.col("account").first().cast(pl.String), key.alias("keys"))
        .iter_rows()
    }
    books: dict[str, int] = {}
    latest: dict[tuple[str, int], str] = {}
    for name in sorted(contents, key=lambda name: (snapshots[name].snapshot_at, len(contents[name][1]), name)):
        account, rows_of = contents[name]
        shares = []
        for (other_account, number), other in latest.items():
            before = contents[other][1]
            share = (before & rows_of).total() / before.total()
            needed = 1 if snapshots[other].snapshot_at == snapshots[name].snapshot_at else _MOSTLY
            if other_account == account and share >= needed:
                shares.append((-share, number))
        book = min(shares)[1] if shares else len({number for owner, number in latest if owner == account}) + 1
        books[name] = book
        latest[account, book] = name
    return books


def find_replaced_rows(rows: pl.DataFrame, files: Sequence[FileInfo], books: dict[str, int]) -> pl.Series | None:
    """Return which rows a later snapshot of their group replaces, because it covers their day; None if none is."""
    moments = {info.file: info.snapshot_at for info in files if info.file in books}
    later = {
        name: max(
            (
                (moments[other], at)
                for at, other in enumerate(books)  # in the order of their moments
                if books[other] == book and at > list(books).index(name)
            ),
            default=(None, 0),
        )[0]
        for name, book in books.items()
    }
    ruled = {name: moment for name, moment in later.items() if moment is not None}
    if not ruled:
        return None
    file = pl.col("file").cast(pl.String)
    until = file.replace_strict(ruled, default=None, return_dtype=pl.Datetime("us", "UTC"))
    is_replaced = (pl.col("date") <= until).fill_null(value=False) & pl.col("kind").ne_missing(NOTICE)
    return rows.select(is_replaced).to_series()


def fill_ids(rows: pl.DataFrame, files: Sequence[FileInfo], books: dict[str, int]) -> pl.DataFrame:
    """Return ROWS with an id in every transaction, `GIVEN` and `SHARED`.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS of all files, with their accounts.
    files : sequence of FileInfo
        The files.
    books : dict
        The number of the group that a file is a snapshot of; equal rows of two groups are two transactions.
    """
    rows = rows.with_columns(pl.col("payment_id").alias(GIVEN))
    is_transaction = pl.col("kind").ne_missing(NOTICE)
    lacks_id = rows.select((pl.col("payment_id").is_null() & is_transaction).alias("lacks")).to_series()
    if lacks_id.any():
        services = {info.file: info.service for info in files}
        ids = _make_ids(rows.filter(lacks_id), services, books)
        rows = rows.with_columns(rows["payment_id"].scatter(lacks_id.arg_true(), ids))
    return _separate_ids(rows, [info.file for info in files if info.repeats_ids])


def _make_ids(rows: pl.DataFrame, services: dict[str, str], books: dict[str, int]) -> pl.Series:
    """Return ids of rows without one: service, hash of the content, number among the equal rows of the file.

    The balance after a row is a part of its content. A row without a balance, such as a pending one, is the row of the
    same content that has one, in the order of the balances.
    """
    file = pl.col("file").cast(pl.String)
    start = pl.coalesce("start", "date").dt.epoch("us") // _SECOND
    parts = [start, "flow_cents", pl.col("fee_cents").fill_null(0), "currency", "product"]
    texts = [(pl.col(part) if isinstance(part, str) else part).cast(pl.String).fill_null(_NULL) for part in parts]
    found = rows.select(
        pl.col("account").cast(pl.String),
        file.alias("file"),
        "line",
        "balance_cents",
        *(pl.col(name).cast(pl.String) for name in _WORDS),
        service=file.replace_strict(services, return_dtype=pl.String),
        book=file.replace_strict(books, default=0, return_dtype=pl.Int64),
        base=pl.concat_str(texts, separator=_SEPARATOR),
    ).with_row_index("at")
    balance = pl.col("balance_cents")
    number = pl.int_range(1, pl.len() + 1).over("file", "base", "balance_cents", order_by=[*_WORDS, "line"])
    found = found.with_columns(number=number)
    found = found.with_columns(number=pl.col("number") + _count_in_earlier_books(found))
    stated = found.filter(balance.is_not_null()).select(*_BASE, "balance_cents", "number").unique()
    stated = stated.sort(*_BASE, "number", "balance_cents").select(
        *_BASE,
        pl.col("balance_cents").alias("of"),
        pl.col("number").alias("of_number"),
        pl.int_range(1, pl.len() + 1).over(_BASE).alias("number"),
    )
    found = found.join(stated, on=[*_BASE, "number"], how="left").sort("at")
    number = pl.when(balance.is_null()).then(pl.coalesce("of_number", "number")).otherwise("number")
    content = pl.concat_str("base", pl.coalesce(balance, "of").cast(pl.String).fill_null(_NULL), separator=_SEPARATOR)
    found = found.select("service", hash_contents(found.select(content).to_series(), 16), number=number)
    return found.select(pl.concat_str("service", "hash", "number", separator="-")).to_series()


def _count_in_earlier_books(found: pl.DataFrame) -> pl.Series:
    """Return how many equal rows the groups before that of each row have."""
    if not (found["book"] > 1).any():
        return pl.Series("before", [0], pl.Int64).new_from_index(0, len(found))
    key = [*_BASE, "balance_cents"]
    counts = found.group_by(*key, "book").agg(pl.col("number").max()).sort("book")
    before = counts.with_columns(before=pl.col("number").cum_sum().over(key) - pl.col("number")).drop("number")
    joined = found.join(before, on=[*key, "book"], how="left", nulls_equal=True, maintain_order="left")
    return joined["before"]


def _separate_ids(rows: pl.DataFrame, repeating: Sequence[str]) -> pl.DataFrame:
    """Return ROWS in which each transaction of an id has an id, and `SHARED`.

    The transaction that began first keeps the id; of several at once, the largest. The others have the hash of amount,
    currency and day, and refer to it. In files of services that repeat ids, rows of one sign and different amounts are
    different transactions, too.

    Parameters
    ----------
    rows : polars.DataFrame
        ROWS, with `GIVEN`.
    repeating : sequence of str
        The files of services that repeat ids.
    """
    own, flow = pl.col(GIVEN), pl.col("flow_cents")
    is_transaction = pl.col("kind").ne_missing(NOTICE)
    is_repeated = rows[GIVEN].is_duplicated() & rows[GIVEN].is_not_null()
    rows = rows.with_columns(pl.lit(value=False).alias(SHARED))
    if not is_repeated.any():
        return rows
    file, currency = pl.col("file").cast(pl.String), pl.col("currency").cast(pl.String)
    parts = (
        rows.select(
            pl.col("account").cast(pl.String),
            own.alias("id"),
            "flow_cents",
            "date",
            is_transaction.alias("is_own"),
            at=pl.int_range(pl.len()),
            file=file,
            currency=currency,
            sign=flow.sign().replace(0, None),
            start=pl.coalesce("start", "date"),
        )  # fmt: skip
        .filter(is_repeated)
        .filter("is_own")
    )
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
    is_main = (pl.col("sign").is_null() | (pl.col("sign") == pl.col("main_sign"))).fill_null(value=True) & (
        pl.col("currency").is_null() | (pl.col("currency") == pl.col("main_currency"))
    ).fill_null(value=True)
    is_other_amount = pl.col("has_amounts").fill_null(value=False) & (pl.col("flow_cents") != pl.col("main_flow_cents"))
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
        hash_contents(found["content"]), pl.col("is_later").any().over(key).alias(SHARED)
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


def hash_contents(contents: pl.Series, digits: int = 8) -> pl.Series:
    """Return hexadecimal digits of the hash of each text; null for null."""
    hashes = [text and hashlib.sha256(text.encode()).hexdigest()[:digits] for text in contents.to_list()]
    return pl.Series("hash", hashes, pl.String)
