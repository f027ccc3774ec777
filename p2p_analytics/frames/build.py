"""Records to pandas frames with fixed columns and dtypes, sorted."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames.arrow import pandas_array, repeat_text
from p2p_analytics.frames.merge import has_repeats, sort_newest_first
from p2p_analytics.frames.perspective import Perspective, perspective
from p2p_analytics.frames.schema import (
    FRIENDS,
    INCOMPLETE,
    KIND_PAYMENT,
    PAYMENTS,
    PROBLEMS,
    SOURCE_API,
    UNEXPECTED,
    UNREADABLE,
    frame_of_columns,
)
from p2p_analytics.records import (
    Description,
    InternTable,
    InternTables,
    Payments,
    Problem,
    Target,
    User,
    payment_columns,
)
from p2p_analytics.vocabulary import Action

T = TypeVar("T")

_PERSON: Final = ("id", "username", "display_name")


def payments_frame(
    pages: Iterable[Payments],
    viewer_id: str,
    on_problems: Callable[[Sequence[Problem]], object] = lambda _problems: None,
    on_people: Callable[[Sequence[User]], object] = lambda _people: None,
) -> pd.DataFrame:
    """Return the PAYMENTS frame of pages in any order, which are released as they are read.

    It has one row per payment, the last one with its id, newest first (``date_created``, then id; rows without a date
    last). Money is in cents, and the amount of a charge is negative, whatever sign the service sends; instants are UTC
    (document: "Payment", "Target"). Columns and dtypes are the same without rows.

    ``on_problems`` is called with the problems of the records, some pages at a time, and ``on_people`` once with the
    people of the payments, people of the newest payment first.
    """
    tables = InternTables()
    columns = payment_columns(pages, tables, on_problems)
    if has_repeats(columns["payment_id"]):
        ids = columns["payment_id"].combine_chunks().dictionary_encode()
        last = np.empty(len(ids.dictionary), np.int64)
        last[ids.indices.to_numpy()] = np.arange(len(ids))
        columns = columns.take(np.sort(last))
    columns = sort_newest_first(columns)
    frame = _build_frame(columns, tables, viewer_id, on_people)
    pa.default_memory_pool().release_unused()  # pandas cannot use the memory that Arrow keeps in reserve
    return frame


def friends_frame(friends: Iterable[User]) -> pd.DataFrame:
    """Return the FRIENDS frame: one row per friend, in the service's order (document: "User")."""
    rows = list({friend.id: friend for friend in friends}.values())
    columns = {name: [getattr(row, name) for row in rows] for name in FRIENDS if name != "user_id"}
    return frame_of_columns({"user_id": [row.id for row in rows], **columns}, FRIENDS)


def problems_frame(problems: Iterable[Problem]) -> pd.DataFrame:
    """Return the PROBLEMS frame: one row per problem, in the order given."""
    rows = list(problems)
    columns: dict[str, list[Any]] = {name: [None] * len(rows) for name in PROBLEMS} | {
        "code": [INCOMPLETE if row.incomplete else UNREADABLE if row.unreadable else UNEXPECTED for row in rows],
        "payment_id": [row.record_id for row in rows],
        "field": [row.field for row in rows],
        "value": [row.value for row in rows],
        "problem": [row.problem for row in rows],
    }
    return frame_of_columns(columns, PROBLEMS)


def _build_frame(
    own: pa.Table, tables: InternTables, viewer_id: str, on_people: Callable[[Sequence[User]], object]
) -> pd.DataFrame:
    """Return the PAYMENTS frame from the columns of the payments and the tables that their codes refer to."""
    description, descriptions = _encode(own["description"], tables.descriptions)
    actor, actors = _encode(own["actor"], tables.actors)
    target, targets = _encode(own["target"], tables.targets)
    users = [target.user if target else None for target in targets]
    on_people(_order_people((actor, actors), (target, users)))
    actions = [text.action for text in descriptions]
    view, views = _encode_perspectives(viewer_id, (description, actions), (actor, actors), (target, targets))
    encoded: tuple[tuple[str, pa.Array, Sequence[Any], Iterable[str]], ...] = (
        ("", description, descriptions, Description._fields),
        ("actor_", actor, actors, _PERSON),
        ("target_", target, targets, ("type", "email", "phone")),
        ("target_user_", target, users, _PERSON),
        ("", view, views, Perspective._fields[:-1]),
    )
    constant = {"source": SOURCE_API, "account_id": viewer_id, "kind": KIND_PAYMENT, "currency": US_DOLLARS}
    size = pc.abs(own["amount_cents"])
    is_charge = pa.array([action == Action.CHARGE for action in actions], pa.bool_()).take(description)
    sign = pa.array([each.sign for each in views], pa.int64()).take(view)
    columns = {
        **dict(zip(own.column_names, own.columns, strict=True)),
        # The document shows the amount of a charge as negative, real answers as positive. The column is negative.
        "amount_cents": pc.if_else(is_charge, pc.negate(size), own["amount_cents"]),
        "flow_cents": pc.multiply(size, sign),
        **{name: repeat_text(value, len(own)) for name, value in constant.items()},
    }
    for prefix, codes, records, names in encoded:
        for name in names:
            values = [record and getattr(record, name) for record in records]
            is_same = len(set(values)) == 1
            texts = repeat_text(values[0], len(own)) if is_same else pa.array(values, pa.large_string()).take(codes)
            columns[f"{prefix}{name}"] = texts
    return pd.DataFrame({name: pandas_array(columns[name], dtype) for name, dtype in PAYMENTS.items()}, copy=False)


def _order_people(*sides: tuple[pa.Array, list[User | None]]) -> list[User]:
    """Return the people of the actors and targets, ordered by the first row in which each occurs."""
    firsts = []
    for codes, users in sides:
        # Codes are numbered by first occurrence, so a code that is higher than all before it occurs for the first time.
        highest = np.maximum.accumulate(codes.to_numpy())
        rows = np.flatnonzero(np.diff(highest, prepend=-1))
        firsts += [(row, user) for row, user in zip(rows.tolist(), users, strict=True) if user is not None]
    return [user for _, user in sorted(firsts, key=operator.itemgetter(0))]


def _encode(codes: pa.ChunkedArray, table: InternTable[T]) -> tuple[pa.Array, list[T]]:
    """Dictionary-encode again: return codes in the order of first occurrence, and the values that occur."""
    encoded = codes.combine_chunks().dictionary_encode()
    return encoded.indices, [table.entries[code] for code in encoded.dictionary.to_pylist()]


def _encode_perspectives(
    viewer_id: str,
    action: tuple[pa.Array, list[str | None]],
    actor: tuple[pa.Array, list[User | None]],
    target: tuple[pa.Array, list[Target | None]],
) -> tuple[pa.Array, list[Perspective]]:
    """Dictionary-encode the viewer's perspective: return codes, and the perspective of each distinct combination."""
    actions = list(dict.fromkeys(action[1]))  # many descriptions share few actions
    action_codes = np.array([actions.index(word) for word in action[1]], np.int64)[action[0].to_numpy()]
    shape = len(actions), len(actor[1]), len(target[1])
    combined = np.ravel_multi_index((action_codes, actor[0].to_numpy(), target[0].to_numpy()), shape)
    encoded = pa.array(combined).dictionary_encode()
    combinations = (codes.tolist() for codes in np.unravel_index(encoded.dictionary.to_numpy(), shape))
    return encoded.indices, [
        perspective(viewer_id, actions[action_code], actor[1][actor_code], target[1][target_code])
        for action_code, actor_code, target_code in zip(*combinations, strict=True)
    ]
