"""ROWS of files to payments: a pure function of all rows and what the files say, whatever the order of the files is."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pandas as pd
import polars as pl
import pyarrow as pa

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.frames.arrow import pandas_array, repeat_text
from p2p_analytics.frames.schema import (
    CUT_OFF,
    INSTANT,
    KIND_PAYMENT,
    KINDS,
    PAYMENTS,
    SOURCE_STATEMENT,
    STATEMENT,
    TEXT,
    WHOLE,
)
from p2p_analytics.records import Me, User
from p2p_analytics.statements.ledger.files import find_replaced, list_copies
from p2p_analytics.statements.ledger.identity import GIVEN, fill_ids, find_books, find_replaced_rows, name_accounts
from p2p_analytics.statements.ledger.reconcile import find_balance, frame_lines, reconcile
from p2p_analytics.statements.ledger.transactions import (
    KEY,
    blank_sides,
    describe_files,
    fill_refunds,
    find_owners,
    list_undecided,
    name_holders,
    settle_sides,
    sort_newest_first,
    unite_rows,
)
from p2p_analytics.statements.problems import (
    COPY,
    NOT_A_DATE,
    NOT_AN_AMOUNT,
    POSSIBLE_DOUBLE,
    Problem,
    list_problems,
)
from p2p_analytics.statements.rows import NOTICE, ROWS, strip_label
from p2p_analytics.vocabulary import Action, Status, TargetType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from p2p_analytics.statements.ledger.files import Balance, OtherRow
    from p2p_analytics.statements.rows import Collected, FileInfo

FILES: Final[Mapping[str, str]] = {
    "file": TEXT,
    "format": TEXT,
    "account": TEXT,
    "currency": TEXT,
    "period_start": INSTANT,
    "period_end": INSTANT,
    "rows": WHOLE,
    **dict.fromkeys(KINDS, WHOLE),
    "opening_cents": WHOLE,
    "closing_cents": WHOLE,
}
_GROUP: Final = ("file", "account", "currency")
_COLUMNS: Final = {**PAYMENTS, **STATEMENT}
_SIZE: Final = pl.col("flow_cents").abs()
_IS_PAYMENT: Final = pl.col("kind") == KIND_PAYMENT
_IS_CHARGE: Final = pl.col("action") == Action.CHARGE.value
# The actor of a payment sends the money, the actor of a charge receives it.
_IS_ACTOR: Final = (pl.col("direction") == "in") == _IS_CHARGE
# The holder's side of a payment between people has the account as id and username if that is a handle. Other people
# have an id if the file shows their user id.
_OWN: Final = pl.when(_IS_PAYMENT & pl.col("is_handle")).then("account")
_USERNAME: Final = pl.when(_IS_PAYMENT).then("counterparty_username")
_USER_ID: Final = pl.when(_IS_PAYMENT).then("counterparty_id")
_EXPRESSIONS: Final = {name: pl.col(name) for name in _COLUMNS if name in ROWS} | {
    "amount_cents": pl.when(_IS_PAYMENT & _IS_CHARGE).then(-_SIZE).otherwise(_SIZE),
    "date_created": pl.col("date"),
    "date_completed": pl.when(pl.col("status") == Status.SETTLED.value).then("date"),
    "actor_id": pl.when(_IS_ACTOR).then(_OWN).when(~_IS_ACTOR).then(_USER_ID),
    "actor_username": pl.when(_IS_ACTOR).then(_OWN).when(~_IS_ACTOR).then(_USERNAME),
    "actor_display_name": pl.col("from_name"),
    "target_type": pl.when(_IS_PAYMENT).then(pl.lit(TargetType.USER.value)),
    "target_user_id": pl.when(~_IS_ACTOR).then(_OWN).when(_IS_ACTOR).then(_USER_ID),
    "target_user_username": pl.when(~_IS_ACTOR).then(_OWN).when(_IS_ACTOR).then(_USERNAME),
    "target_user_display_name": pl.col("to_name"),
    "account_id": pl.col("account"),
}
_FEW_ROWS: Final = 10_000  # their columns may be in memory twice
# Fields of money that are not the amount of a row.
_OTHER_MONEY: Final = ("tip", "tax", "fee", "balance")
_READ: Final = {NOT_AN_AMOUNT: "flow_cents", NOT_A_DATE: "date"}  # the column that a problem leaves empty


class View(NamedTuple):
    """What follows from rows."""

    payments: pd.DataFrame  # PAYMENTS and STATEMENT, one row per transaction, newest first
    problems: list[Problem]  # of the files, and of all rows together
    reconciliation: pd.DataFrame  # `reconcile.RECONCILIATION`
    files: pd.DataFrame  # `FILES`, one row per file, account and currency, in the order of the files
    holders: dict[str, Me]  # the holder of each account, with the closing balance of the last file
    unnamed: frozenset[str]  # the accounts that are services because nothing names the account
    # ``account`` and ``payment_id`` of each row, in the order of the rows; the id is null for a notice, and for a row
    # that a later snapshot or a whole file replaces.
    ids: pl.DataFrame


def derive(collected: Collected, owner: User | None = None, others: Iterable[OtherRow] = ()) -> View:
    """Return what follows from the rows of files.

    ``owner`` is the user whom the service names as the holder. ``others`` are rows of the service that are in no file,
    which explain gaps between the balances of files.
    """
    files = collected.files
    named = name_accounts(blank_sides(collected.rows), files, owner)
    books = find_books(named.rows, files)
    rows = fill_ids(named.rows, files, books)
    checked = reconcile(rows, files, others, books)
    rows = rows.with_columns(checked.running)
    is_replaced = find_replaced_rows(rows, books)
    cut_off = {problem.file for problem in collected.problems if problem.code == CUT_OFF}
    if cut_off:  # a file that adds up can replace them
        replaced = {id(balance) for balance in find_replaced(checked.balances, cut_off)}
        named_files = {each.file for each in checked.balances}
        cut_off &= named_files - {each.file for each in checked.balances if id(each) not in replaced}
        is_replaced |= rows["file"].cast(pl.String).is_in(list(cut_off))
    standing, every, row_problems = _unite(rows, is_replaced, checked.balances)
    keys, date = [*_GROUP, "kind", "owner"], pl.col("date")
    counted = every.group_by(*keys, "is_handle").agg(pl.len(), date.min().alias("start"), date.max().alias("end"))
    counts = counted.cast(dict.fromkeys(keys, pl.String)).rows(named=True)
    listed = _list_files(counts, files, checked.balances)
    problems = [each for each in collected.problems if each.code != CUT_OFF or each.file not in cut_off]
    problems = [*_settle_problems(problems, rows, standing, is_replaced), *checked.problems]
    strange = {problem.file for problem in named.problems}
    holders = _list_holders(counts, name_holders(standing, strange), checked.balances)
    is_counted = pl.col("kind").ne_missing(NOTICE) & ~is_replaced
    ids = every.select("account", pl.when(is_counted).then("payment_id"))
    named = named._replace(rows=rows.clear())
    del rows, every  # releases memory before the frame is built
    given = {info.account.strip().removeprefix("@") for info in files if info.account is not None}
    if not holders and len(given) == 1:  # no file has rows
        account = given.pop()
        listed = listed.fillna({"account": account})
        holders = {account: Me(user=User(id=account, display_name=account))}
    payments = _build_payments(standing, sort_newest_first(standing))
    problems = _list_once([*problems, *named.problems, *row_problems], checked.balances)
    return View(payments, problems, checked.table, listed, holders, named.unnamed, ids)


def _unite(
    rows: pl.DataFrame, is_replaced: pl.Series, balances: Sequence[Balance]
) -> tuple[pl.DataFrame, pl.DataFrame, list[Problem]]:
    """Return one row per transaction, all rows with what follows from these, and problems of rows together."""
    current = rows.filter(~is_replaced) if is_replaced.any() else rows
    standing, problems = current, list[Problem]()
    hashes = current["payment_id"].hash()  # hashes take less time to compare than texts
    places = (hashes.is_duplicated() & current["payment_id"].is_not_null()).arg_true()
    if len(places):
        is_further = pl.struct(KEY).is_duplicated() & pl.col("kind").ne_missing(NOTICE)
        places = places.filter(current.select(*KEY, "kind")[places].select(is_further).to_series())
    if len(places):
        is_repeated = pl.repeat(value=False, n=len(current), eager=True).scatter(places, values=True)
        repeated = current.filter(is_repeated)
        united, problems = unite_rows(describe_files(repeated, rows, balances))
        ordered = repeated.sort("line")
        is_further = ~pl.struct("file", *KEY).is_first_distinct() & pl.col(GIVEN).is_not_null()
        further = ordered.select(is_further).to_series()
        problems += list_problems(ordered, further, ordered[GIVEN], field="payment_id", code="repeated_id")
        standing = pl.concat([current.filter(~is_repeated), united.select(current.columns)])
    owners = find_owners(standing, "account")
    sided, wrong_sides = settle_sides(standing, owners)
    filled = fill_refunds(sided, sided)
    problems += wrong_sides + list_undecided(sided, filled)
    every = filled
    if standing is not rows:
        all_sided, _ = settle_sides(rows, owners)
        every = fill_refunds(all_sided, filled)
    return filled, every, problems + list_copies(filled, every)


def _list_holders(
    counts: Sequence[Mapping[str, Any]], names: Mapping[str, str], balances: Sequence[Balance]
) -> dict[str, Me]:
    """Return the holder of each account, named by most rows, with the closing balance of the last file.

    It is in the currency of the account's payments between people, or of all rows where there are none.
    """
    owners: dict[str, Counter[str]] = {}
    handles: set[str] = set()
    currencies: dict[tuple[str, bool], set[str]] = defaultdict(set)
    for each in counts:
        account = each["account"]
        of_account = owners.setdefault(account, Counter())
        if each["owner"] is not None:
            of_account[each["owner"]] += each["len"]
        handles |= {account} if each["is_handle"] else set()
        if each["kind"] != NOTICE:
            currencies[account, each["kind"] == KIND_PAYMENT].add(each["currency"] or UNKNOWN_CURRENCY)
    holders = {}
    for account, own in sorted(owners.items()):
        used = currencies[account, True] or currencies[account, False]
        owner = min(own, key=lambda name: (-own[name], name), default=None)
        user = User(
            id=account,
            username=account if account in handles else None,
            display_name=names.get(account) or owner or account,
        )
        closing = find_balance([balance for balance in balances if balance.account == account], used)
        holders[account] = Me(user=user, balance_cents=closing)
    return holders


def _list_files(
    counts: Sequence[Mapping[str, Any]], files: Sequence[FileInfo], balances: Sequence[Balance]
) -> pd.DataFrame:
    """Return one row per file, account and currency, in the order of the files; a file without rows has zeros."""
    stated = {(each.file, each.account, each.currency): each for each in balances}
    groups: dict[str, dict[tuple[str | None, str | None], list[Mapping[str, Any]]]] = {}
    for each in counts:
        groups.setdefault(each["file"], {}).setdefault((each["account"], each["currency"]), []).append(each)
    lines = []
    for info in files:
        of_file = groups.get(info.file) or {(None, None): []}
        for account, currency in sorted(of_file, key=lambda key: [(word is None, word or "") for word in key]):
            own = of_file[account, currency]
            balance = stated.get((info.file, account, currency))
            lines.append(
                {
                    "file": info.file,
                    "format": info.format,
                    "account": account,
                    "currency": currency,
                    "period_start": info.period_start
                    or min(filter(None, (each["start"] for each in own)), default=None),
                    "period_end": info.period_end or max(filter(None, (each["end"] for each in own)), default=None),
                    "rows": sum(each["len"] for each in own),
                    **{kind: sum(each["len"] for each in own if each["kind"] == kind) for kind in KINDS},
                    "opening_cents": balance and balance.opening,
                    "closing_cents": balance and balance.closing,
                }
            )
    return frame_lines(lines, FILES)


def _settle_problems(
    problems: Sequence[Problem], rows: pl.DataFrame, standing: pl.DataFrame, is_replaced: pl.Series
) -> list[Problem]:
    """Return problems of formats with the ids of payments, without rows that a later snapshot replaces.

    An unreadable amount or date is not a problem if another row of the payment has it.
    """
    lines = list({problem.line for problem in problems if problem.line is not None})
    values = ("account", "payment_id", *_READ.values())
    found = rows.select("file", "line", *values, is_replaced=is_replaced).filter(pl.col("line").is_in(lines))
    of_place = {(row["file"], row["line"]): row for row in found.iter_rows(named=True)}
    versions = standing.select(values).filter(pl.col("payment_id").is_in(found["payment_id"].unique().implode()))
    of_payment = {(row["account"], row["payment_id"]): row for row in versions.iter_rows(named=True)}
    settled = []
    for problem in problems:
        row = of_place.get((problem.file, problem.line), {})
        payment_id = problem.payment_id and row.get("payment_id", problem.payment_id)
        is_amount = not any(word in problem.field for word in _OTHER_MONEY)
        name = _READ.get(problem.code) if payment_id and is_amount else None
        payment = of_payment.get((row.get("account"), payment_id), {})
        is_repaired = name and row.get(name) is None and payment.get(name) is not None
        if not row.get("is_replaced") and not is_repaired:
            settled.append(problem._replace(payment_id=payment_id))
    return settled


def _list_once(problems: Sequence[Problem], balances: Sequence[Balance]) -> list[Problem]:
    """Return problems, each once, although several files can have it; it names the file with the last name.

    That is the same problem of one payment, as often as one file has it, and of one line of files with the same
    balances.
    """
    pairs = [(problem.code, frozenset((problem.file, problem.other_file))) for problem in problems]
    copies = {(POSSIBLE_DOUBLE, files) for code, files in pairs if code == COPY}
    problems = [problem for problem, pair in zip(problems, pairs, strict=True) if pair not in copies]
    contents: dict[str, set[object]] = {}
    accounts: dict[str, set[object]] = {}
    for balance in balances:
        contents.setdefault(balance.file, set()).add(replace(balance, file=""))
        accounts.setdefault(balance.file, set()).add(balance.account)
    every = frozenset().union(*accounts.values())
    keys: list[tuple[object, ...]] = []
    counts: dict[tuple[object, ...], int] = {}
    for problem in problems:
        has_id = problem.payment_id is not None
        place = accounts.get(problem.file, every) if has_id else contents.get(problem.file, {problem.file})
        key = (*problem._replace(file="", line=None if has_id else problem.line), frozenset(place))
        number = counts[key, problem.file] = counts.get((key, problem.file), 0) + 1
        keys.append((*key, number))
    order = sorted(range(len(problems)), key=lambda at: problems[at].file, reverse=True)
    order.sort(key=lambda at: (problems[at].line is None, problems[at].line or 0))
    order.sort(key=lambda at: strip_label(problems[at].file), reverse=True)
    kept: dict[tuple[object, ...], int] = {}
    for at in order:
        kept.setdefault(keys[at], at)
    return [problem for at, problem in enumerate(problems) if kept[keys[at]] == at]


def _build_payments(rows: pl.DataFrame, order: pl.Series) -> pd.DataFrame:
    """Return the PAYMENTS frame with the STATEMENT columns; of many rows, columns are removed as they are read."""
    expressions = [each.gather(order).alias(name) for name, each in _EXPRESSIONS.items()]
    step = len(expressions) if len(order) < _FEW_ROWS else 1
    built = {}
    for at in range(0, len(expressions), step):
        for column in rows.select(expressions[at : at + step]):
            name, is_text = column.name, _COLUMNS[column.name] == TEXT
            values = column.cast(pl.String) if is_text else column
            if is_text and len(values) and values[0] == values[-1] and values.eq_missing(values[0]).all():
                array = repeat_text(values[0], len(values))
            else:
                array = pa.chunked_array([values.to_arrow(compat_level=pl.CompatLevel.oldest())])
            built[name] = pandas_array(array, _COLUMNS[name])
        needed = {name for each in expressions[at + step :] for name in each.meta.root_names()}
        for name in set(rows.columns) - needed:
            rows.drop_in_place(name)
    for name in _COLUMNS.keys() - built.keys():
        text = repeat_text(SOURCE_STATEMENT if name == "source" else None, len(order))
        is_text = _COLUMNS[name] == TEXT
        built[name] = pandas_array(text if is_text else pa.nulls(len(order)), _COLUMNS[name])
    return pd.DataFrame({name: built[name] for name in _COLUMNS}, copy=False)
