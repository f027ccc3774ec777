"""Merge of the service's payments with rows of statements, as expressions that every engine computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import narwhals.stable.v2 as nw

from p2p_analytics.archive.tables import MATCHED
from p2p_analytics.frames.merge_sources import OUTCOME, SIDES
from p2p_analytics.frames.schema import KIND_PAYMENT, PAYMENTS, STATEMENT
from p2p_analytics.vocabulary import Action, Status

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from p2p_analytics.records import User

Frame: TypeAlias = "nw.LazyFrame[Any]"

BESIDE: Final = "_beside"  # ends the names of a statement's columns beside those of the service's row
_TIMES: Final = ("created_us", "completed_us")
# What the table of persons says of a pair of names.
NAMES: Final = ("counterparty_name", "counterparty_username")
PERSON: Final = ("person_id", "person_username", "person_name", MATCHED)
_KEYS: Final = {name: f"key_{name}" for name in NAMES}


def list_compared(incomplete: Iterable[str] = PAYMENTS) -> list[str]:
    """Return the columns of which a statement's value can show, given the service's columns that have nulls."""
    others = [name for name in incomplete if name not in OUTCOME and not name.startswith(SIDES)]
    return [*OUTCOME, *(name for name in others if name != "payment_id")]


def merge_lazily(listed: Frame, stated: Frame, persons: Frame | None, owner: User, *, ids: Frame) -> Frame:
    """Return the payments of the service and of statements, each once, in no particular order.

    Parameters
    ----------
    listed : LazyFrame
        PAYMENTS as the service lists them, and `MICROSECONDS`.
    stated : LazyFrame
        PAYMENTS and STATEMENT, and `MICROSECONDS`.
    persons, owner
        As in `concat_rows`.
    ids : LazyFrame
        ``payment_id`` of all payments that the service lists, of which ``listed`` may be a part.
    """
    compared = [*list_compared(), *_TIMES]
    beside: list[Any] = [*STATEMENT, *(nw.col(name).alias(f"{name}{BESIDE}") for name in compared)]
    joined = listed.join(stated.select("payment_id", *beside), on="payment_id", how="left")
    only = stated.join(ids.select("payment_id"), on="payment_id", how="anti")
    columns = [*PAYMENTS, *STATEMENT, MATCHED, *_TIMES]
    united = concat_rows(joined, only, persons, owner, compared=compared, columns=columns)
    return united.with_columns((nw.col("completed_us") - nw.col("created_us")).alias("settle_us"))


def concat_rows(  # noqa: PLR0913 - both kinds of rows, their people and columns
    joined: Frame,
    only: Frame,
    persons: Frame | None,
    owner: User,
    *,
    compared: Collection[str],
    columns: Collection[str],
) -> Frame:
    """Return rows of the service, completed, and rows of payments that only statements know, with their people.

    Parameters
    ----------
    joined : LazyFrame
        PAYMENTS as the service lists them, STATEMENT, and the columns that are compared under a name with `BESIDE`.
    only : LazyFrame
        PAYMENTS and STATEMENT.
    persons : LazyFrame or None
        `NAMES` and `PERSON`; None if no name has a match.
    owner : User
        The account holder.
    compared : collection of str
        As `list_compared` returns them.
    columns : collection of str
        The columns of the result.
    """
    rows = _describe_people(_name_holder(only, owner), persons, str(owner.id))
    return nw.concat([_complete(joined, compared).select(*columns), rows.select(*columns)])


def _complete(joined: Frame, compared: Collection[str]) -> Frame:
    """Return the service's rows, with the statement's values where they are null.

    Of a payment that only the statement knows to have ended, status and completion are the statement's.
    """
    has_ended = _is_pending("status") & ~_is_pending(f"status{BESIDE}")
    values = []
    for name in compared:
        own, other = nw.col(name), nw.col(f"{name}{BESIDE}")
        is_outcome = name in {*OUTCOME, "completed_us"}
        value = nw.when(has_ended).then(other).otherwise(own) if is_outcome else nw.coalesce(own, other)
        values.append(value.alias(name))
    return joined.with_columns(*values, nw.lit(None, dtype=nw.String).alias(MATCHED))


def _describe_people(rows: Frame, persons: Frame | None, owner: str) -> Frame:
    """Return rows of statements with the people of their names."""
    if persons is None:
        return rows.with_columns(nw.lit(None, dtype=nw.String).alias(MATCHED))
    is_payment = nw.col("kind").fill_null(KIND_PAYMENT) == KIND_PAYMENT
    is_named = is_payment & nw.col("counterparty_id").is_null() & ~nw.col("counterparty_name").is_null()
    keyed = rows.with_columns(
        nw.when(is_named).then(nw.col(name).fill_null("")).alias(key) for name, key in _KEYS.items()
    )
    keys = persons.select(*(nw.col(name).fill_null("").alias(key) for name, key in _KEYS.items()), *PERSON)
    found = keyed.join(keys, on=[*_KEYS.values()], how="left")
    number, username = nw.col("person_id"), nw.col("person_username")
    columns = {
        "counterparty_id": nw.coalesce(nw.col("counterparty_id"), number),
        "counterparty_username": nw.coalesce(username, nw.col("counterparty_username")),
        "counterparty_name": nw.coalesce(nw.col("person_name"), nw.col("counterparty_name")),
    }
    for side, other in (("actor", "target_user"), ("target_user", "actor")):
        is_person = (nw.col(f"{other}_id") == owner) & ~number.is_null()
        for name, value in (("id", number), ("username", nw.coalesce(username, nw.col(f"{side}_username")))):
            columns[f"{side}_{name}"] = nw.when(is_person).then(value).otherwise(nw.col(f"{side}_{name}"))
    return found.with_columns(**columns)


def _name_holder(rows: Frame, owner: User) -> Frame:
    """Return rows of statements with the id and username of the account holder, as `rename_account` does it."""
    kind, action, direction = nw.col("kind").fill_null(KIND_PAYMENT), nw.col("action"), nw.col("direction")
    is_known = (kind == KIND_PAYMENT) & ~action.is_null() & ~direction.is_null()
    # The actor of a payment sends the money, the actor of a charge receives it.
    is_actor = (direction == "in") == (action == Action.CHARGE.value)
    columns = {"account_id": nw.lit(str(owner.id))}
    for side, is_holder in (("actor", is_known & is_actor), ("target_user", is_known & ~is_actor)):
        for name, value in (("id", str(owner.id)), ("username", owner.username)):
            own = nw.lit(value, dtype=nw.String)
            columns[f"{side}_{name}"] = nw.when(is_holder).then(own).otherwise(nw.col(f"{side}_{name}"))
    return rows.with_columns(**columns)


def _is_pending(name: str) -> nw.Expr:
    return nw.col(name).fill_null(Status.PENDING.value) == Status.PENDING.value
