"""PEOPLE: one row per person, merged from every place in which the person was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames._columns import frame_of_columns
from p2p_analytics.frames.schema import PEOPLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd

    from p2p_analytics.records import User

_BETWEEN_NAMES: Final = "; "
_WITHIN_NAMES: Final = ", "  # in place of the separator
_SIDES: Final = ("actor_", "target_user_")


def people_frame(users: Iterable[User]) -> pd.DataFrame:
    """Return the PEOPLE frame.

    Parameters
    ----------
    users : iterable of User
        Each as one place shows the person, the most recent first; the same person may occur again. A user without
        an id is left out, because nothing says who that is.

    Returns
    -------
    DataFrame
        One row per user id, in the order of the ids as numbers. A field is the most recent value that is not null;
        ``also_named`` holds the other display names of the person, most recent first, separated by "; " (within a name
        it becomes ", "), or null.
    """
    rows = [user for user in dict.fromkeys(users) if user.id]
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in PEOPLE if name not in {"user_id", "also_named"}
    }
    columns |= {"user_id": [row.id for row in rows], "also_named": [None] * len(rows)}
    return merge_people([frame_of_columns(columns, PEOPLE)])


def people_of_payments(payments: pd.DataFrame) -> pd.DataFrame:
    """Return the PEOPLE frame of the actors and targets of payments, newest payment first.

    It holds the fields that the frame has, such as ``actor_username`` and ``target_user_username``.
    """
    import pandas as pd

    sides = []
    for side in _SIDES:
        fields = {name: f"{side}{name}" for name in PEOPLE} | {"user_id": f"{side}id"}
        found = {name: payments[column] for name, column in fields.items() if column in payments}
        sides.append(pd.DataFrame(found).reset_index(drop=True).drop_duplicates())
    people = pd.concat(sides).sort_index(kind="stable")  # the index is the row of the payment
    return merge_people([people])


def merge_people(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return one PEOPLE frame of several, the most recent first; see `people_frame`. Missing columns are null."""
    import pandas as pd

    parts = [frame.reindex(columns=list(PEOPLE)).astype(PEOPLE) for frame in frames]
    seen = pd.concat(parts, ignore_index=True).dropna(subset="user_id").drop_duplicates()
    people = seen.groupby("user_id", sort=False).first()
    people["also_named"] = people.index.map(_join_other_names(seen).get)
    people = people.reset_index()
    lengths = people["user_id"].str.len()
    people = people.assign(length=lengths).sort_values(["length", "user_id"], ignore_index=True)
    return people[list(PEOPLE)].astype(PEOPLE)


def mark_friends(people: pd.DataFrame, friends: pd.DataFrame, viewer_id: str | None) -> pd.DataFrame:
    """Return PEOPLE with ``is_friend`` by the list of friends; null for the viewer (document: "User")."""
    import pandas as pd

    is_friend = people["user_id"].isin(friends["user_id"]).astype("boolean")
    return people.assign(is_friend=is_friend.mask(people["user_id"] == viewer_id, pd.NA))


def _join_other_names(seen: pd.DataFrame) -> dict[str, str]:
    """Return the names of each person except the most recent, for people with others."""
    names: dict[str, dict[str, None]] = {}
    for user_id, name, others in (
        seen[["user_id", "display_name", "also_named"]].drop_duplicates().itertuples(index=False, name=None)
    ):
        own = [name.replace(_BETWEEN_NAMES, _WITHIN_NAMES)] if isinstance(name, str) else []
        earlier = others.split(_BETWEEN_NAMES) if isinstance(others, str) else []
        for each in own + earlier:
            names.setdefault(user_id, {}).setdefault(each)
    return {user_id: _BETWEEN_NAMES.join([*known][1:]) for user_id, known in names.items() if len(known) > 1}
