"""Uniting histories of one account, or frames of its payments, without counting a payment twice."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, overload

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api.types import pandas_dtype

from p2p_analytics.errors import ConfigurationError, SchemaError, name_type
from p2p_analytics.frames.arrow import is_among
from p2p_analytics.frames.merge import FETCHED_AT, NOT_LISTED, keep_newest, rank_states
from p2p_analytics.frames.merge_sources import merge_sources, refuse_rows, rename_account
from p2p_analytics.frames.people import merge_people
from p2p_analytics.frames.schema import INSTANT, PAYMENTS, PROBLEMS, SOURCE_STATEMENT, TEXT, WHOLE, require
from p2p_analytics.handles import normalize_account
from p2p_analytics.history._history import History
from p2p_analytics.times import in_utc


@overload
def combine(parts: Iterable[History]) -> History: ...


@overload
def combine(parts: Iterable[pd.DataFrame]) -> pd.DataFrame: ...


def combine(parts: Iterable[History] | Iterable[pd.DataFrame]) -> History | pd.DataFrame:
    """Return one history of several histories of an account, or one PAYMENTS frame of several, each payment once.

    A history of statements, which name their account by its username, belongs to the user with this username. Of
    several states of a payment, the one in the history that was fetched last is kept; of frames, and of histories
    fetched at the same time, one that is not pending, else the later in the list. A null in ``medium``, ``fee_cents``
    or a refund, which lists of the service omit, does not replace a value (document: "Payment", "States and
    transitions"). A row of the service has precedence over a statement's row of the payment, whenever it was fetched,
    and takes what only the statement knows. A statement's row with another amount, direction or currency than the
    service lists is refused: histories list it in ``problems``, frames raise an error.

    Parameters
    ----------
    parts : iterable of History or of DataFrame
        Of one account. A ``fetched_at`` without a zone is UTC. Frames have the columns of PAYMENTS; further columns
        come after them, and a null in one of them does not replace a value.

    Returns
    -------
    History or DataFrame
        Newest payment first. User, balance and friends come from the history that was fetched last,
        but not from statements if there are others. Of statements alone, the balance is known if their payments
        overlap (payments of two services do not) and each history has one. "Data as of" is the oldest, because nothing
        newer is known of the payments that only that history holds; problems of a payment come from the last
        history that holds it.

    Raises
    ------
    ConfigurationError
        There is nothing to unite, or histories and frames, several accounts or private and other histories are mixed.
    SchemaError
        A frame lacks a column, has columns of other types, or a payment has no id; or a row of a statement contradicts
        the service's row of the payment, in frames.
    """
    if isinstance(parts, History | pd.DataFrame):
        raise ConfigurationError("combine needs a list, such as p2p.combine([one, other]).")
    given: list[Any] = list(parts)
    if given and all(isinstance(part, History) for part in given):
        return _combine_histories(given)
    if given and all(isinstance(part, pd.DataFrame) for part in given):
        united, refused = _combine_frames(given, [0] * len(given))
        if len(refused):  # frames have no place for problems
            first, count = refused.iloc[0], refused["payment_id"].nunique()
            others = f" ({count:,} payments in all)" if count > 1 else ""
            raise SchemaError(
                f"The payment {first['payment_id']} has another {first['field']} in a statement, {first['value']}, "
                f"than the service lists{others}: leave its row of the statement out, or combine histories, "
                "which lists it in problems."
            )
        return united
    kinds = ", ".join(sorted({name_type(part) for part in given})) or "an empty list"
    raise ConfigurationError(f"combine needs histories alone or pandas frames of payments alone, not {kinds}.")


def adopt_handles(histories: Sequence[History]) -> list[History]:
    """Return histories; statements take the user id of the only other history with a user of their username."""
    ids: dict[str, set[str]] = {}
    for history in histories:
        user = history.me.user
        if user.username and user.id and normalize_account(user.id) != normalize_account(user.username):
            ids.setdefault(normalize_account(user.username), set()).add(user.id)
    owners = {history.me.user.id: history.me for history in histories}
    adopted = []
    for history in histories:
        known = ids.get(normalize_account(history.me.user.id or ""), set())
        if len(known) != 1 or not _is_of_statements(history):
            adopted.append(history)
            continue
        me = owners[next(iter(known))]
        # The profile of the account comes from the other history.
        people = history.people[history.people["user_id"] != history.me.user.id].reset_index(drop=True)
        payments = rename_account(history.payments, str(me.user.id), me.user.username)
        own = msgspec.structs.replace(history.me, user=me.user)
        adopted.append(replace(history, me=own, payments=payments, people=people))
    return adopted


def _is_of_statements(history: History) -> bool:
    return bool((history.payments["source"] == SOURCE_STATEMENT).all())


def merge_problems(known: pd.DataFrame, history: History) -> pd.DataFrame:
    """Replace known problems of the payments that a history holds, each in its place; further problems come last."""
    ids = known["payment_id"].reset_index(drop=True)
    places = pd.Series(ids.index, index=ids)[~ids.duplicated().to_numpy() & ids.notna().to_numpy()]
    stay = pd.Series(~is_among(ids, history.payments["payment_id"].dropna()))
    order = pd.concat([ids.index[stay].to_series(), history.problems["payment_id"].map(places).fillna(len(ids))])
    problems = pd.concat([known[stay.to_numpy()], history.problems], ignore_index=True)
    return problems.take(order.argsort(kind="stable")).drop_duplicates(ignore_index=True)


def _combine_histories(histories: Sequence[History]) -> History:
    if len({(history.private, history.strict) for history in histories}) > 1:
        raise ConfigurationError(
            "combine cannot unite a history in privacy mode with one that is not, or days with months: combine the "
            "original histories, then mask the result."
        )
    histories = adopt_handles(histories)
    _require_one_account([history.me.user.id for history in histories], what="histories")
    ordered = sorted(histories, key=lambda history: in_utc(history.fetched_at))
    moments = [in_utc(history.fetched_at) for history in ordered]
    starts = [history.since for history in histories]
    payments, refused = _combine_frames([each.payments for each in ordered], moments)
    problems = ordered[0].problems
    for history in ordered[1:]:
        problems = merge_problems(problems, history)
    if len(refused):
        problems = pd.concat([problems, refused], ignore_index=True).drop_duplicates(ignore_index=True)
    # Statements list no friends.
    latest = ([each for each in ordered if not _is_of_statements(each)] or ordered)[-1]
    me = latest.me
    if _is_of_statements(latest):  # their balance is one if their payments overlap, unlike payments of two services
        ids = [set(history.payments["payment_id"].dropna()) for history in ordered]
        joined = ids.pop(0)
        while found := next((each for each in ids if each & joined), None):
            joined |= found
            ids.remove(found)
        if ids or any(history.me.balance_cents is None for history in ordered):
            me = msgspec.structs.replace(me, balance_cents=None)
    return replace(
        latest,
        me=me,
        payments=payments,
        friends=latest.friends.copy(),
        fetched_at=moments[0],
        problems=problems.copy(),
        # One without a bound holds all payments.
        since=None if None in starts else min(in_utc(start) for start in starts if start),
        people=merge_people([each.people for each in reversed(ordered)]),
    )


def _combine_frames(frames: Sequence[pd.DataFrame], fetched_at: Sequence[Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Unite frames, each fetched at a moment; also return the problems of refused rows of statements."""
    typed = [_to_schema(frame) for frame in frames]
    if not any((frame["source"] == SOURCE_STATEMENT).any() for frame in typed):
        return _keep_newest_rows(typed, fetched_at), pd.DataFrame(columns=[*PROBLEMS])
    listed = _keep_newest_rows([frame[frame["source"] != SOURCE_STATEMENT] for frame in typed], fetched_at)
    # A refused row takes the place of no other row.
    checked = [refuse_rows(frame[frame["source"] == SOURCE_STATEMENT], listed) for frame in typed]
    stated = _keep_newest_rows([rows for rows, _ in checked], fetched_at)
    refused = pd.concat([problems for _, problems in checked], ignore_index=True)
    united = merge_sources(listed, stated)
    _require_one_account(united["account_id"].dropna().unique(), what="payments")
    columns = [*PAYMENTS, *dict.fromkeys(name for frame in typed for name in frame if name not in PAYMENTS)]
    return united[columns], refused


def _keep_newest_rows(typed: Sequence[pd.DataFrame], fetched_at: Sequence[Any]) -> pd.DataFrame:
    """Unite frames in the dtypes of the schema, each fetched at a moment."""
    united = pd.concat(typed, ignore_index=True)
    _require_one_account(united["account_id"].dropna().unique(), what="payments")
    if united["payment_id"].isna().any():
        raise SchemaError("A payment without an id cannot be identified: leave out the rows without payment_id.")
    moments = pd.factorize(pd.Index(fetched_at), sort=True)[0]
    fetched = moments.repeat([len(frame) for frame in typed])
    needed = united[["payment_id", "status", "date_created", *NOT_LISTED]]
    rows = pa.Table.from_pandas(needed, preserve_index=False)
    rows = rows.append_column(FETCHED_AT, pa.array(fetched)).append_column("row", pa.array(np.arange(len(united))))
    kept = keep_newest(rows)
    newest = united.take(kept["row"].to_numpy()).reset_index(drop=True)
    values = kept.select(NOT_LISTED).to_pandas()
    newest = newest.assign(**{name: values[name].astype(pandas_dtype(PAYMENTS[name])) for name in NOT_LISTED})
    further: list[Any] = [name for name in united if name not in PAYMENTS]
    if further:
        known = united.take(rank_states(rows).to_numpy()).groupby("payment_id", sort=False)[further].last()
        newest[further] = known.reindex(newest["payment_id"]).set_axis(newest.index)
    return newest[[*PAYMENTS, *further]]


def _require_one_account(owners: Iterable[str | None], *, what: str) -> None:
    accounts = dict.fromkeys(owners)
    if len(accounts) > 1:
        raise ConfigurationError(
            f"combine unites {what} of one account, and these are of {len(accounts)}: "
            f"{', '.join(map(str, accounts))}. Combine those of each account."
        )


def _to_schema(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame with the dtypes of PAYMENTS; datetimes without a zone are UTC."""
    require(frame.columns, PAYMENTS, what="combine")
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise SchemaError(f"A frame has several columns {repeated[0]!r}: drop or rename all of them but one.")
    columns: dict[str, pd.Series[Any]] = {}
    for name, dtype in PAYMENTS.items():
        column: Any = frame[name]
        if dtype == INSTANT and column.dtype.kind == "M" and column.dt.tz is None:
            column = column.dt.tz_localize("UTC")
        kind, values = column.dtype.kind, column.dropna()
        if dtype != TEXT and kind == "O":  # a date like 03/04/2024 would be guessed
            is_exact = not any(isinstance(value, str) for value in values.unique())
        else:  # neither ids of floats nor instants of numbers
            is_exact = values.empty or kind not in {TEXT: "fb", INSTANT: "iufb"}.get(dtype, "")
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            columns[name] = column.astype(dtype)
            is_exact &= dtype != WHOLE or kind != "f" or not (columns[name] != column).any()
        if not is_exact or name not in columns:
            raise SchemaError(
                f"The column {name!r} holds {column.dtype}, not {dtype}: pass frames as load_history or p2p.read_csv "
                "gives them."
            )
    return frame.assign(**columns)
