"""PEOPLE: one row per person, merged from every place in which the person was seen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import pandas as pd

from p2p_analytics.frames.schema import PEOPLE, TEXT, frame_of_columns, set_dtypes
from p2p_analytics.records import User

_BETWEEN_NAMES: Final = "; "
_WITHIN_NAMES: Final = ", "  # in place of the separator
_SIDES: Final = ("actor_", "target_user_")


def people_frame(users: Iterable[User]) -> pd.DataFrame:
    """Return the PEOPLE frame of users, each as one place shows the person, the most recent first.

    It has one row per user id, in the order of the ids as numbers; a user without an id is left out. A field is the
    most recent value that is not null; ``also_named`` holds the other display names of the person, most recent first,
    separated by "; " (within a name it becomes ", "), or null.
    """
    rows = list(dict.fromkeys(users))
    columns = {name: [getattr(row, name) for row in rows] for name in PEOPLE if name not in {"user_id", "also_named"}}
    columns |= {"user_id": [row.id or None for row in rows], "also_named": [None] * len(rows)}
    return merge_people([frame_of_columns(columns, PEOPLE)])


def list_sides(payments: pd.DataFrame) -> pd.DataFrame:
    """Return the actors and targets of payments, newest payment first, for `merge_people`.

    The columns are those fields of PEOPLE that the frame has, such as ``actor_username`` and ``target_user_username``.
    A person is repeated with each other value of a field; a payment to an address has a row of nulls.
    """
    sides = []
    for side in _SIDES:
        fields = {name: f"{side}{name}" for name in PEOPLE} | {"user_id": f"{side}id"}
        found = {name: payments[column] for name, column in fields.items() if column in payments}
        sides.append(pd.DataFrame(found).reset_index(drop=True).drop_duplicates())
    return pd.concat(sides).sort_index(kind="stable")  # the index is the row of the payment


def merge_people(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one PEOPLE frame of several, the most recent first; see `people_frame`. Missing columns are null."""
    seen = pd.concat([set_dtypes(frame.reindex(columns=list(PEOPLE)), PEOPLE) for frame in frames], ignore_index=True)
    people = seen = seen[seen["user_id"].notna()]
    if not seen["user_id"].is_unique:
        seen = seen.drop_duplicates()
        people = set_dtypes(seen.groupby("user_id", sort=False).first().reset_index(), PEOPLE)
    names: dict[str, dict[str, None]] = {}  # of each person, the most recent first
    columns = (seen[column].tolist() for column in ("user_id", "display_name", "also_named"))
    for user_id, name, others in zip(*columns, strict=True):
        own = [name.replace(_BETWEEN_NAMES, _WITHIN_NAMES)] if isinstance(name, str) else []
        earlier = others.split(_BETWEEN_NAMES) if isinstance(others, str) else []
        for each in own + earlier:
            names.setdefault(user_id, {}).setdefault(each)
    other_names = {user_id: _BETWEEN_NAMES.join([*known][1:]) for user_id, known in names.items() if len(known) > 1}
    ids = people["user_id"].tolist()
    order = sorted(range(len(ids)), key=lambda row: (len(ids[row]), ids[row]))
    people = people.assign(also_named=pd.array([other_names.get(user_id) for user_id in ids], dtype=TEXT)).iloc[order]
    return people[list(PEOPLE)].reset_index(drop=True)


def mark_friends(people: pd.DataFrame, friends: pd.DataFrame, viewer_id: str | None) -> pd.DataFrame:
    """Return PEOPLE with ``is_friend`` by the list of friends; null for the viewer (document: "User")."""
    is_friend = people["user_id"].isin(friends["user_id"]).astype("boolean")
    return people.assign(is_friend=is_friend.mask(people["user_id"] == viewer_id, pd.NA))
