"""Merge of payments that the service listed with those in statements: each once, with the values of both."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from p2p_analytics.frames.arrow import is_among, table_of
from p2p_analytics.frames.merge import sort_newest_first
from p2p_analytics.frames.schema import KIND_PAYMENT, KIND_UNKNOWN, PAYMENTS, PROBLEMS, STATEMENT, TEXT, set_dtypes
from p2p_analytics.vocabulary import Action, Status

# Of a payment that both know, these are the service's alone: a statement knows names, not people.
SIDES: Final = ("actor_", "target_", "counterparty_")
_OWN_SIDES: Final = (("actor_id", "actor_username"), ("target_user_id", "target_user_username"))
_OWN_ACCOUNT: Final = ("account_id", "source")
OUTCOME: Final = ("status", "date_completed")
# Of a payment that the service lists, a statement cannot say something else.
COMPARED: Final = ("amount_cents", "direction", "currency")
CONTRADICTS: Final = "contradicts_service"  # the code of this problem
REFUSED: Final = "contradicts what the service says of this payment, so the row of the statement is refused"


def merge_sources(listed: pd.DataFrame, statements: pd.DataFrame) -> pd.DataFrame:
    """Return the payments of the service and of statements, each once.

    Of a payment that both know, the service's row stays, with the statement's values where it is null, except for the
    people. If it is pending and the statement's row is not, status and ``date_completed`` come from the statement,
    which has one row per ``payment_id``. The columns are PAYMENTS, STATEMENT (null for payments that no statement
    holds) and the further columns of both, newest payment first.
    """
    columns = list(dict.fromkeys([*PAYMENTS, *STATEMENT, *statements.columns, *listed.columns]))
    places = pd.Index(statements["payment_id"]).get_indexer(pd.Index(listed["payment_id"]))
    is_shared = places >= 0
    shared, known = listed[is_shared], statements.take(places[is_shared])
    known = known.set_axis(shared.index)
    filled = {
        name: shared[name].where(shared[name].notna(), known[name]) if name in shared else known[name]
        for name in known.columns
        if name not in shared or not name.startswith(SIDES)
    }
    has_ended = is_pending(shared) & ~is_pending(known)
    filled |= {name: shared[name].where(~has_ended, known[name]) for name in OUTCOME}
    shared = shared.assign(**filled)
    only = statements[~is_among(statements["payment_id"], listed["payment_id"])]
    parts = [part.reindex(columns=columns) for part in (listed[~is_shared], shared, only)]
    dtypes: dict[Any, Any] = {**listed.dtypes.to_dict(), **statements.dtypes.to_dict(), **STATEMENT, **PAYMENTS}
    united = pd.concat([set_dtypes(part, dtypes) for part in parts], ignore_index=True)
    return sort_frame(united)


def refuse_rows(statements: pd.DataFrame, listed: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the rows of statements that do not contradict the service, and PROBLEMS of the others.

    A null contradicts nothing, and the sign of an amount does not count. There is a problem for each value that
    contradicts the service, with the index and in the order of the rows.
    """
    service = listed.set_index("payment_id")[[*COMPARED]].reindex(statements["payment_id"]).set_axis(statements.index)
    dtypes: dict[Any, Any] = dict(PROBLEMS)
    problems = [pd.DataFrame(columns=[*dtypes])]
    is_refused = pd.Series(data=False, index=statements.index)
    for name in COMPARED:
        stated, known = statements[name], service[name]
        if name == "amount_cents":
            stated, known = stated.abs(), known.abs()
        differs = (stated != known).fillna(value=False).astype(bool) & stated.notna() & known.notna()
        is_refused |= differs
        if differs.any():
            rows = statements[differs]
            places = rows.reindex(columns=["file", "line", "payment_id"])
            found = places.assign(code=CONTRADICTS, field=name, value=rows[name].astype(TEXT), problem=REFUSED)
            problems.append(found.reindex(columns=[*dtypes]))
    return statements[~is_refused], pd.concat(problems).astype(dtypes).sort_index(kind="stable")


def select_edits(given: pd.DataFrame, known: pd.DataFrame) -> pd.DataFrame:
    """Return a user's edits: new rows of PAYMENTS and STATEMENT, and values that differ.

    Of a known payment, only the id and the values that differ are filled; a null is not an edit, nor is the account.
    """
    columns = {**PAYMENTS, **STATEMENT}
    own = set_dtypes(given.reindex(columns=[*columns]), columns).reset_index(drop=True)
    if own.equals(known.reset_index(drop=True)):
        return own.iloc[:0]
    places = pd.Index(known["payment_id"]).get_indexer(pd.Index(own["payment_id"]))
    is_known = places >= 0
    before = set_dtypes(known.reindex(columns=[*columns]), columns).take(places[is_known]).set_axis(own.index[is_known])
    edited = own[is_known]
    differs = {
        name: (edited[name] != before[name]).fillna(value=True).astype(bool) & edited[name].notna()
        for name in columns
        if name not in {"payment_id", *_OWN_ACCOUNT}
    }
    differs["kind"] &= is_decided(edited)
    is_edited = pd.DataFrame(differs, index=edited.index).any(axis="columns")
    values = {name: edited[name].where(flags) for name, flags in differs.items()}
    values |= dict.fromkeys(_OWN_ACCOUNT, pd.Series(index=edited.index, dtype=TEXT))
    edits: pd.DataFrame = pd.concat([own[~is_known], edited.assign(**values)[is_edited]], ignore_index=True)
    return edits


def lay_over(payments: pd.DataFrame, edits: pd.DataFrame) -> pd.DataFrame:
    """Return payments with edits as `select_edits` returns them.

    A pending payment can have ended meanwhile, and the kind of a refund that was merged can be known.
    """
    if edits.empty:
        return payments
    edits = edits.drop_duplicates("payment_id", ignore_index=True)
    places = pd.Index(payments["payment_id"]).get_indexer(pd.Index(edits["payment_id"]))
    # A value that was edited has no account: without the payment, which was read in another way since, it has no place.
    known, new = edits[places >= 0], edits[(places < 0) & edits["account_id"].notna()]
    under = payments.iloc[places[places >= 0]]
    values = known.set_axis(under.index)
    values = values.assign(kind=values["kind"].where(is_decided(values)))
    has_ended = is_pending(values) & values["status"].notna() & ~is_pending(under)
    laid = {
        name: values[name].where(values[name].notna() & ~(has_ended & (name in OUTCOME)), under[name])
        for name in under.columns
        if name in values and name != "payment_id"
    }
    edited = set_dtypes(under.assign(**laid), under.dtypes.to_dict())
    others = payments.drop(index=under.index)
    rows = [others, edited, set_dtypes(new.reindex(columns=payments.columns), payments.dtypes.to_dict())]
    return sort_frame(pd.concat(rows, ignore_index=True))


def rename_account(rows: pd.DataFrame, account: str, username: str | None) -> pd.DataFrame:
    """Return rows of statements with the id and username of the account holder on the holder's side."""
    is_known = (rows["kind"].fillna(KIND_PAYMENT) == KIND_PAYMENT) & rows["action"].notna() & rows["direction"].notna()
    # The actor of a payment sends the money, the actor of a charge receives it.
    is_actor = (rows["direction"] == "in") == (rows["action"] == Action.CHARGE.value)
    sides: dict[str, pd.Series[Any]] = {}
    for (number, name), is_holder in zip(_OWN_SIDES, (is_known & is_actor, is_known & ~is_actor), strict=True):
        sides |= {number: rows[number].mask(is_holder, account), name: rows[name].mask(is_holder, username)}
    return set_dtypes(rows.assign(account_id=account, **sides), dict.fromkeys(("account_id", *sides), TEXT))


def sort_frame(payments: pd.DataFrame) -> pd.DataFrame:
    """Return PAYMENTS newest first, in the order of `sort_newest_first`."""
    keys = table_of(payments[["date_created", "payment_id"]].reset_index(drop=True))
    rows = sort_newest_first(keys.append_column("row", pa.array(np.arange(len(payments)))))
    return payments.take(rows["row"].to_numpy()).reset_index(drop=True)


def is_pending(payments: pd.DataFrame) -> pd.Series[bool]:
    """Return which payments can still change; one without a status can."""
    return payments["status"].fillna(Status.PENDING.value) == Status.PENDING.value


def is_decided(payments: pd.DataFrame) -> pd.Series[bool]:
    """Return which payments have a kind; the kind of a refund is unknown until other rows show it."""
    return payments["kind"].notna() & (payments["kind"] != KIND_UNKNOWN).fillna(value=True).astype(bool)
