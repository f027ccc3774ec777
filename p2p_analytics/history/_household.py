"""Households: the histories of several accounts as one viewer's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pandas as pd

from p2p_analytics.errors import ConfigurationError, name_type
from p2p_analytics.frames.merge import NOT_LISTED
from p2p_analytics.frames.merge_sources import is_pending, sort_frame
from p2p_analytics.frames.people import merge_people
from p2p_analytics.frames.row_currencies import fill_codes
from p2p_analytics.frames.schema import KIND_TRANSFER, PAYMENTS, SOURCE_API, STATEMENT, require, set_dtypes
from p2p_analytics.history._combine import adopt_handles, combine
from p2p_analytics.history._history import History, describe_history_call
from p2p_analytics.records import Me, User


def household(histories: Iterable[History]) -> History:
    """Return the histories of several accounts as one viewer's, with payments between members counted once.

    The accounts can belong to several people, or to one person, for example at two services.

    A payment between two members is internal: it is the row of one of them, with kind "transfer", no direction and a
    flow of 0, so no analysis counts it. It is recognised by the ids of both sides, or by one payment id in the
    histories of both members with the same amount, opposite directions and dates at most a day apart. Names alone
    prove nothing.

    Parameters
    ----------
    histories : iterable of History
        Of any number of accounts; several of one account, also of its statements, are united with `combine` first.

    Returns
    -------
    History
        Newest payment first. ``account_id`` is the member who sees the row. Where two accounts have different payments
        with one id, as services with short ids do, the ids become ``account_id:payment_id``. The user is the
        household: all names and ids, and the sum of the balances if all are known. Friends are the friends of all
        members, without the members. "Data as of" is the oldest.

    Raises
    ------
    ConfigurationError
        No history or something else is given, private and other histories are mixed, or one of several is a
        household already.
    SchemaError
        The payments of a history lack columns.
    """
    if isinstance(histories, History):
        raise ConfigurationError("household needs a list, such as p2p.household([one, other]).")
    members = _list_members(list(histories))
    owners = [str(member.me.user.id) for member in members]
    parts = [member.payments.assign(**{_OWNER: owner}) for owner, member in zip(owners, members, strict=True)]
    united = pd.concat(parts, ignore_index=True)
    dtypes = {name: dtype for name, dtype in {**STATEMENT, **PAYMENTS}.items() if name in united}
    rows = _mark_internal(set_dtypes(united, dtypes), set(owners))
    newest_first = sorted(members, key=lambda member: member.fetched_at, reverse=True)
    friends = pd.concat([member.friends for member in newest_first]).drop_duplicates("user_id", ignore_index=True)
    problems = pd.concat([member.problems for member in members], ignore_index=True)
    me = members[0].me
    if len(members) > 1:
        # One person's accounts of several services can have one name.
        users = [member.me.user for member in members]
        names = [*dict.fromkeys(user.display_name or user.username or str(user.id) for user in users)]
        joined = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        cents = [member.me.balance_cents for member in members]
        balance = None if None in cents else sum(filter(None, cents))
        me = Me(user=User(id="+".join(sorted(owners)), display_name=joined), balance_cents=balance)
    return replace(
        members[0],
        me=me,
        payments=sort_frame(rows.drop(columns=_OWNER)),
        friends=friends[~friends["user_id"].isin(owners)].reset_index(drop=True),
        fetched_at=newest_first[-1].fetched_at,
        problems=problems.drop_duplicates(ignore_index=True),
        people=merge_people([member.people for member in newest_first]),
    )


_OWNER: Final = "\0owner"  # no column of a user
_SAME_TIME: Final = timedelta(days=1)  # files without time of day or zone


def _list_members(given: Sequence[Any]) -> list[History]:
    """Return one history per account, in the order of the accounts."""
    kinds = sorted({name_type(each) for each in given if not isinstance(each, History)})
    if kinds or not given:
        advice = next(filter(None, map(describe_history_call, given)), "").replace("it", "each")
        raise ConfigurationError(f"household needs histories, not {', '.join(kinds) or 'an empty list'}{advice}.")
    if len({(history.private, history.strict) for history in given}) > 1:
        raise ConfigurationError(
            "household cannot unite a history in privacy mode with one that is not, or days with months: unite the "
            "original histories, then mask the result."
        )
    for history in given:
        require(history.payments.columns, PAYMENTS, what="household")
        if not history.me.user.id:
            raise ConfigurationError("household needs histories that name their account: set me.user.id.")
        owners = history.payments["account_id"].dropna().unique()
        if len(given) > 1 and len(owners) > 1:
            raise ConfigurationError(
                f"household needs histories of one account each, and one is of {len(owners)} accounts "
                f"({', '.join(map(str, owners))}): give the histories of its members."
            )
    given = adopt_handles(given)
    accounts = dict.fromkeys(history.me.user.id for history in given)
    groups = [[history for history in given if history.me.user.id == account] for account in accounts]
    return [group[0] if len(group) == 1 else combine(group) for group in groups]


def _mark_internal(united: pd.DataFrame, owners: set[str]) -> pd.DataFrame:
    """Return payments with those between members once, as internal, and with different ids for different payments."""
    other = united["actor_id"].where(united["actor_id"] != united[_OWNER], united["target_user_id"])
    by_people = united["actor_id"].isin(owners) & united["target_user_id"].isin(owners) & (other != united[_OWNER])
    is_shared = united["payment_id"].duplicated(keep=False)
    keys = {"size": united["amount_cents"].abs(), "currency": fill_codes(united)}
    groups = united[is_shared].assign(**keys).groupby("payment_id")
    # The row of each member, and nothing that contradicts that it is one payment.
    distinct = pd.DataFrame(
        {name: groups[name].nunique(dropna=False) for name in (_OWNER, "direction", "size", "currency")}
    )
    is_pair = distinct.eq(pd.Series({_OWNER: 2, "direction": 2, "size": 1, "currency": 1})).all(axis="columns")
    # The dates differ by a day at most. A file may have the completion date alone, and a pending payment is open.
    ends = united["date_completed"].fillna(united["date_created"]).mask(is_pending(united))
    times = united.assign(end=ends)[is_shared].groupby("payment_id").agg({"date_created": "max", "end": "min"})
    is_at_one_time = ~(times["date_created"] - times["end"] > _SAME_TIME)
    pairs = distinct.index[is_pair & is_at_one_time]
    is_internal = by_people | (is_shared & united["payment_id"].isin(pairs))
    clash = is_shared & ~is_internal
    ids = united["payment_id"].mask(clash, united[_OWNER] + ":" + united["payment_id"])
    rows = united.assign(payment_id=ids)
    inside = rows[is_internal].assign(rank=lambda frame: is_pending(frame) * 2 + (frame["source"] != SOURCE_API))
    inside = inside.sort_values("rank", kind="stable").drop(columns="rank")
    # A list omits some columns, and one of the members may have loaded more.
    known = inside.groupby("payment_id", sort=False)[[*NOT_LISTED, "date_completed"]].first()
    inside = inside.drop_duplicates("payment_id").set_index("payment_id", drop=False)
    inside[known.columns] = known.reindex(inside.index)
    inside = inside.assign(kind=KIND_TRANSFER, direction=None, flow_cents=0)
    dtypes = rows.dtypes.to_dict()
    return set_dtypes(pd.concat([rows[~is_internal], set_dtypes(inside, dtypes)], ignore_index=True), dtypes)
