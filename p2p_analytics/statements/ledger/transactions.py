"""One row per transaction, its two sides, and the kinds of refunds: what follows from all rows of an account.

Of the rows of a payment, a final state precedes a pending one; then a date with seconds precedes one without, as a
spreadsheet writes it; then the row of the file with the later last date, then with the later name, then the earlier
line. Of money, the row of a file that adds up is first, that of a file that does not is last. A null replaces no value.
A file shows names, not who they are, so the sides follow from the holder's name. The order of files changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import polars as pl

from p2p_analytics.frames.schema import KIND_PAYMENT
from p2p_analytics.statements.problems import UNDECIDED, list_problems
from p2p_analytics.statements.rows import LABEL, NOTICE, UNKNOWN
from p2p_analytics.times import DAY_US, EPOCH
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from p2p_analytics.statements.ledger.files import Balance
    from p2p_analytics.statements.problems import Problem

KEY: Final = ("account", "payment_id")
# The file that a row is from: the last date in it, and whether its balances agree with its rows; null if not known.
END: Final = "file_end"
ADDS_UP: Final = "adds_up"
_PLACE: Final = ("file", "line", END, ADDS_UP)
_KIND: Final = ("kind", "action")  # of one row; null is a refund, which other rows decide
_MONEY: Final = ("fee_cents", "tip_cents", "tax_cents", "balance_cents", "currency")
_TEXTS: Final = (
    "type", "note", "from_name", "to_name", "counterparty_name", "counterparty_username", "counterparty_id",
    "funding_source", "destination",
)  # fmt: skip
_US: Final = pl.col("date").dt.epoch("us")
_SECOND_US, _MINUTE_US = 1_000_000, 60_000_000
_AT_MINUTE: Final = _US // _MINUTE_US
_STATE: Final = ("status", *_KIND, "flow_cents", "direction", "currency")
_CONTENT: Final = (*_TEXTS, *_MONEY, "date", "file")
# What orders the rows of a payment: the higher, the earlier.
_STATUS: Final = pl.col("status").cast(pl.String)
_IS_FINAL: Final = _STATUS.ne(Status.PENDING.value).fill_null(value=False)
_PRECISION: Final = (_US % _MINUTE_US >= _SECOND_US).cast(pl.Int8) + (_US % DAY_US != 0).cast(pl.Int8)
_IS_SOUND: Final = pl.col(ADDS_UP) & _STATUS.eq(Status.SETTLED.value)
_TRUST: Final = pl.when(_IS_SOUND).then(2).when(~pl.col(ADDS_UP)).then(0).otherwise(1)
# Whole units look rounded, unless the file adds up.
_HAS_CENTS: Final = (pl.col("flow_cents") % 100 != 0) | (_TRUST == 2)  # noqa: PLR2004
_FILE_NAME: Final = pl.col("file").cast(pl.String).str.replace_all(LABEL, "")
_NAMED: Final = ("account", "counterparty_name")
_FLOW: Final = pl.col("flow_cents")
_HAS_SIGN: Final = (_FLOW != 0).fill_null(value=False)
# Names say who the counterparty is, and no id does.
_HAS_NAMES: Final = pl.any_horizontal(pl.col("from_name", "to_name").is_not_null()) & pl.all_horizontal(
    pl.col("counterparty_username", "counterparty_id").is_null()
)
# The actor of a payment sends the money, the actor of a charge receives it; null for other rows and without a sign.
_IS_ACTOR: Final = pl.when(_FLOW != 0).then((_FLOW > 0) == (pl.col("action") == Action.CHARGE.value))
_OWN_NAME: Final = pl.when(_IS_ACTOR).then("from_name").when(~_IS_ACTOR).then("to_name")
_OTHER_NAME: Final = pl.when(_IS_ACTOR).then("to_name").when(~_IS_ACTOR).then("from_name")
COUNTERPARTY: Final = pl.coalesce(
    "counterparty_name", _OTHER_NAME, pl.when(_FLOW < 0).then("to_name").otherwise("from_name"), "type"
).alias("name")
"""The counterparty, where it is not settled the name on the other side by the sign, else the type."""


def describe_files(rows: pl.DataFrame, every: pl.DataFrame, balances: Iterable[Balance]) -> pl.DataFrame:
    """Return rows with `END`, the last date in ``every`` row of the file, and `ADDS_UP`, by its balances."""
    names = ["file", "account", "currency"]
    stated = pl.DataFrame(
        [(each.file, each.account, each.currency, each.is_reconciled) for each in balances],
        schema={**dict.fromkeys(names, pl.String), "reconciled": pl.Boolean},
        orient="row",
    )
    only = stated.group_by("file").agg(pl.len(), pl.col("reconciled").first().alias("only")).filter(pl.col("len") == 1)
    last = every.group_by("file").agg(pl.col("date").max().alias(END)).cast({"file": pl.String})
    found = (
        rows.select(pl.col(names).cast(pl.String))
        .join(last, on="file", how="left", maintain_order="left")
        .join(stated, on=names, how="left", nulls_equal=True, maintain_order="left")
        .join(only, on="file", how="left", maintain_order="left")
    )
    return rows.with_columns(found.select(END, pl.coalesce("reconciled", "only").alias(ADDS_UP)))


def unite_rows(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return one row per payment with the values that count, and the rows that contradict another one as problems."""
    columns = [name for name in rows.columns if name not in _PLACE or name == ADDS_UP]
    distinct = _sort(rows).unique(columns, keep="first", maintain_order=True)
    by_money = _sort(distinct, by_money=True)
    is_known = (pl.col("kind").cast(pl.String) != UNKNOWN).fill_null(value=True).cast(pl.Int8)
    is_kept = pl.col("flow_cents").eq_missing(pl.col("flow_cents").first())
    own: dict[str, pl.Expr] = {name: pl.col(name).first() for name in _PLACE}
    own |= {name: pl.col(name).get(is_known.arg_max()) for name in _KIND}
    money = {name: pl.col(name).drop_nulls().first() for name in _MONEY} | {
        "flow_cents": pl.col("flow_cents").first(),
        "direction": pl.col("direction").filter(is_kept).drop_nulls().first(),
    }
    others = {name: pl.col(name).drop_nulls().first() for name in rows.columns if name not in {*KEY, *own, *money}}
    described = distinct.group_by(KEY, maintain_order=True).agg(**own, **others)
    paid = by_money.group_by(KEY, maintain_order=True).agg(**money)
    united = pl.concat([described, paid.drop(KEY)], how="horizontal").select(rows.columns)
    return united, _list_contradictions(distinct, by_money)


def _sort(rows: pl.DataFrame, *, by_money: bool = False) -> pl.DataFrame:
    """Return rows by payment, and in the order of their values or of their money."""
    order = [pl.col("flow_cents").is_not_null(), _TRUST, _IS_FINAL, _HAS_CENTS, _PRECISION]
    own = [*(order if by_money else [_IS_FINAL, _PRECISION]), pl.col(END), _FILE_NAME]
    keys: list[str | pl.Expr] = [*KEY, *own, "line"]
    descending = [False] * len(KEY) + [True] * len(own) + [False]
    if rows.select(pl.struct(*KEY, END, _FILE_NAME.alias("name"), "line").is_duplicated().any()).item():
        # Files of one name, which differ in their content only.
        texts = {
            name: pl.col(name).cast(pl.String) if rows[name].dtype == pl.Categorical else pl.col(name)
            for name in (*_STATE, *_CONTENT)
        }
        keys += [*(texts[name] for name in _STATE), _AT_MINUTE, *(texts[name] for name in _CONTENT)]
        descending += [True] * (len(_STATE) + 1 + len(_CONTENT))
    return rows.sort(keys, descending=descending, nulls_last=True)


def _list_contradictions(distinct: pl.DataFrame, by_money: pl.DataFrame) -> list[Problem]:
    """Return a problem for each further amount or date of a payment, which names the row that counts."""
    # A pending payment has another date than the completed one, and rows of no file have the date of the service.
    is_dated = _IS_FINAL & (pl.col(END) > EPOCH) & pl.col("date").is_not_null()
    dated = distinct.filter(is_dated).with_columns(minute=_AT_MINUTE)
    problems = []
    for rows, value, column, code in (
        (by_money.filter(pl.col("flow_cents").is_not_null()), "flow_cents", "flow_cents", "other_amount"),
        (dated, "minute", "date", "other_date"),
    ):
        kept = [pl.col(name).first().over(KEY).alias(f"kept_{name}") for name in (value, "file", "line", ADDS_UP)]
        others = rows.with_columns(kept).filter(pl.col(value) != pl.col(f"kept_{value}"))
        others = others.unique([*KEY, value], keep="first", maintain_order=True)
        is_trusted = others.select((pl.col(f"kept_{ADDS_UP}") & ~pl.col(ADDS_UP)).fill_null(value=False)).to_series()
        problems += list_problems(
            others,
            others[column].is_not_null(),
            others[column],
            field=column,
            code=code,
            details=(others["kept_line"], is_trusted if column == "flow_cents" else False),
            other_file=others["kept_file"].cast(pl.String),
        )
    return problems


def sort_newest_first(rows: pl.DataFrame) -> pl.Series:
    """Return the positions of the transactions, by date, id and account; only ties compare more than the date."""
    places = rows.select((pl.col("kind") != NOTICE).fill_null(value=True).arg_true()).to_series()
    dates = rows["date"].gather(places)
    order = dates.arg_sort(descending=True, nulls_last=True)
    dates = dates.gather(order)
    order = places.gather(order)
    is_same = dates.eq_missing(dates.shift(1)) & (pl.int_range(len(dates), eager=True) > 0)
    if not is_same.any():
        return order
    tied = (is_same | is_same.shift(-1, fill_value=False)).arg_true()
    same = rows.select("date", "payment_id", "account", place=pl.int_range(pl.len(), dtype=pl.UInt32))[
        order.gather(tied)
    ]
    keys = ["date", pl.col("payment_id").str.len_bytes(), "payment_id", "account"]
    by_all = same.sort(keys, descending=[True, True, True, False], nulls_last=True, maintain_order=True)
    return order.scatter(tied, by_all["place"])


def find_owners(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the name of the account holder by account or file: the columns ``key`` and ``owner``.

    The holder has the name that is most often on the side that the sign of the amount implies; without one, none.
    """
    best = _find_most_frequent(rows, key)
    return best.filter(pl.len().over("key") == 1).select("key", pl.col("own").alias("owner"))


def name_holders(rows: pl.DataFrame, others: Collection[str] = ()) -> dict[str, str]:
    """Return the name of each account's holder: the most frequent one, counted as by `find_owners`, then the first.

    Files in ``others``, which name another account, count only in the absence of others.
    """
    is_own = ~pl.col("file").cast(pl.String).is_in(list(others)).fill_null(value=False)
    names: dict[str, str] = {}
    for part in [rows, rows.filter(is_own)] if others else [rows]:
        best = _find_most_frequent(part, "account").cast({"key": pl.String, "own": pl.String})
        names |= dict(best.group_by("key").agg(pl.col("own").min()).iter_rows())
    return names


def _find_most_frequent(rows: pl.DataFrame, key: str) -> pl.DataFrame:
    """Return the most frequent names on the holder's side, by account or file: ``key``, ``own`` and ``count``."""
    is_purchase = pl.col("action").is_null() & (pl.col("kind") == "merchant") & (_FLOW < 0)
    own = pl.coalesce(_OWN_NAME, pl.when(is_purchase).then("from_name"))
    counts = rows.select(key=key, own=own).drop_nulls("own").group_by("key", "own").len("count")
    return counts.filter(pl.col("count") == pl.col("count").max().over("key"))


def blank_sides(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows without what follows from the holder's name, unless the file shows an id; see `settle_sides`."""
    name, first, second = (pl.col(each) for each in ("counterparty_name", "from_name", "to_name"))
    is_first = (name == first) & (second.is_not_null() | (_FLOW > 0))
    is_second = (name == second) & (first.is_not_null() | (_FLOW < 0))
    is_open = _HAS_NAMES & (name.is_null() | (is_first | is_second).fill_null(value=False))
    by_name = is_open & pl.col("action").is_not_null() & ~_HAS_SIGN
    return rows.with_columns(
        pl.when(~is_open).then(name).alias("counterparty_name"),
        pl.when(~by_name).then("direction").alias("direction"),
    )


def settle_sides(rows: pl.DataFrame, owners: pl.DataFrame) -> tuple[pl.DataFrame, list[Problem]]:
    """Return rows with the counterparty, the direction of amounts of zero, and problems for contradicting signs.

    ``rows`` are as from `blank_sides`, ``owners`` as from `find_owners` by account. Where the sign puts the holder on
    the other side, the direction follows the sign, and the counterparty is the other name.
    """
    is_open = _HAS_NAMES & pl.col("counterparty_name").is_null()
    found = rows.select(
        "from_name",
        "to_name",
        "action",
        "flow_cents",
        is_open.alias("is_open"),
        _OWN_NAME.alias("own"),
        _OTHER_NAME.alias("other"),
        key="account",
    ).join(owners, on="key", how="left", maintain_order="left")
    own, other, owner = (pl.col(name) for name in ("own", "other", "owner"))
    contradicts = pl.col("is_open") & (own != owner) & (other == owner)
    is_from, is_to = (pl.col(side) == owner for side in ("from_name", "to_name"))
    is_first = pl.when(is_from).then(statement=True).when(is_to).then(statement=False)
    sends = pl.coalesce(is_first, pl.when(_FLOW != 0).then(_FLOW < 0))
    by_side = pl.when(sends).then("to_name").when(~sends).then("from_name")
    name = pl.coalesce(pl.when(contradicts).then(own), other, by_side)
    is_in = is_first == (pl.col("action") == Action.CHARGE.value)
    direction = pl.when(is_in).then(pl.lit("in")).when(~is_in).then(pl.lit("out"))
    sides = found.select(
        pl.when("is_open").then(name).alias("name"),
        pl.when(pl.col("is_open") & ~_HAS_SIGN).then(direction).alias("direction"),
        contradicts.alias("contradicts"),
    )
    dtype = rows["direction"].dtype
    settled = rows.with_columns(
        pl.coalesce("counterparty_name", sides["name"]).alias("counterparty_name"),
        pl.coalesce("direction", sides["direction"].cast(dtype)).alias("direction"),
    )
    problems = list_problems(rows, sides["contradicts"], rows["flow_cents"], field="total", code="wrong_side")
    return settled, problems


def fill_refunds(rows: pl.DataFrame, payments: pl.DataFrame) -> pl.DataFrame:
    """Return rows with the kind and action of each refund, of which the kind is null.

    It has the kind of the other payments with its counterparty, if they have one kind; else it is unknown.
    """
    places = rows["kind"].is_null().arg_true()
    if places.is_empty():
        return rows
    kind = pl.col("kind").cast(pl.String)
    others = payments.filter(kind.is_in([KIND_PAYMENT, "merchant"]), pl.col("counterparty_name").is_not_null())
    seen = others.group_by(_NAMED).agg(kind.unique().alias("decided")).filter(pl.col("decided").list.len() == 1)
    decided = seen.with_columns(pl.col("decided").list.first())
    refunds = rows.select(_NAMED)[places].join(decided, on=_NAMED, how="left", maintain_order="left")
    kinds = refunds["decided"].fill_null(UNKNOWN)
    actions = pl.select(pl.when(kinds == KIND_PAYMENT).then(pl.lit(Action.PAY.value))).to_series()
    return rows.with_columns(
        rows[name].cast(pl.String).scatter(places, values).cast(rows[name].dtype)
        for name, values in (("kind", kinds), ("action", actions))
    )


def list_undecided(rows: pl.DataFrame, filled: pl.DataFrame) -> list[Problem]:
    """Return a problem for each refund of an unknown kind, of the rows before and after the kinds were filled."""
    is_undecided = rows["kind"].is_null() & (filled["kind"] == UNKNOWN)
    return list_problems(rows, is_undecided, rows["counterparty_name"], field="kind", code=UNDECIDED)
