"""New archives of finished columns, written without a history: for generated data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from p2p_analytics.archive._folder import ArchiveFolder
from p2p_analytics.archive._manifest import NAME, Manifest, Service
from p2p_analytics.archive._service import split_rows
from p2p_analytics.archive.tables import arrow_schema, tabulate
from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.errors import ArchiveError, describe_os_error
from p2p_analytics.files import to_path
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import with_microseconds
from p2p_analytics.frames.build import friends_frame, problems_frame
from p2p_analytics.frames.merge import FETCHED_AT
from p2p_analytics.frames.people import people_frame
from p2p_analytics.frames.perspective import perspective
from p2p_analytics.records import Me, Target, User
from p2p_analytics.vocabulary import TargetType

Array = np.ndarray[Any, Any]

_FOLDER_MODE: Final = 0o700


class _NewFolder(ArchiveFolder):
    """A folder that does not flush files to the disk: generated data can be made again."""

    def replace_file(self, name: str, body: bytes) -> None:
        """Write a file, which must not exist."""
        path = self.path / name
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(body)
        except OSError as error:
            raise ArchiveError(f"{path} cannot be written ({describe_os_error(error)}): name another folder.") from None


class PaymentColumns(NamedTuple):
    """Payments of one account in columns."""

    people: Sequence[User]  # the account holder first; a user without an id is an address, by ``email`` or ``phone``
    # For ``action``, ``status``, ``note``, ``audience`` and ``medium``, codes and the texts that they stand for.
    texts: Mapping[str, tuple[Array, Sequence[str]]]
    # ``payment_id``, ``amount_cents``, ``fee_cents``, and ``created_us`` and ``completed_us`` in microseconds since
    # 1970; masked for null.
    numbers: Mapping[str, Array]
    actor: Array  # positions in ``people``; actor or target is the account holder
    target: Array


def write_archive(
    path: str | os.PathLike[str], payments: PaymentColumns, *, friends: Sequence[User], fetched_at: datetime
) -> tuple[int, int]:
    """Write a new archive, as a merge of the same history would, and return the numbers of its payments and bytes.

    The same columns give the same bytes. Raises an ArchiveError if the folder exists, or cannot be written.
    """
    folder_path = to_path(path).expanduser().absolute()
    try:
        folder_path.mkdir(mode=_FOLDER_MODE)
    except OSError as error:
        raise ArchiveError(f"{folder_path} cannot be made ({describe_os_error(error)}): name a new folder.") from None
    folder = _NewFolder(folder_path)
    rows = _build_rows(payments, fetched_at)
    owner = payments.people[0]
    account = str(owner.id)
    entries = [folder.write("payments", piece, account, start=start) for start, piece in split_rows(rows, None)]
    seen = people_frame([*(user for user in payments.people if user.id)])
    small: dict[str, Any] = {
        kind: folder.write(kind, tabulate(kind, frame), account)
        for kind, frame in (("people", seen), ("friends", friends_frame(friends)), ("problems", problems_frame([])))
    }
    small |= dict.fromkeys(("fetched_at", "synced_to", "friends_at", "people_at"), fetched_at)
    manifest = Manifest(service=Service(me=Me(user=owner), payments=tuple(entries), **small))
    body = folder.encode_manifest(manifest)
    folder.replace_file(NAME, body)
    return rows.num_rows, len(body) + sum(entry.size for entry in manifest.entries)


def _build_rows(payments: PaymentColumns, fetched_at: datetime) -> pa.Table:
    """Return rows of the archive, newest first."""
    order = np.lexsort((payments.numbers["payment_id"], payments.numbers["created_us"]))[::-1]
    length = len(order)
    columns: dict[str, Any] = {
        name: pa.array(list(values), pa.string()).take(pa.array(codes[order]))
        for name, (codes, values) in payments.texts.items()
    }
    numbers = {name: pa.array(values[order], pa.int64()) for name, values in payments.numbers.items()}
    instant = pa.timestamp("us", "UTC")
    columns["payment_id"] = numbers["payment_id"].cast(pa.string())
    columns["date_created"] = numbers["created_us"].cast(instant)
    columns["date_completed"] = numbers["completed_us"].cast(instant)
    actor, target = payments.actor[order], payments.target[order]
    users = payments.people
    types = [TargetType.USER if user.id else TargetType.EMAIL if user.email else TargetType.PHONE for user in users]
    columns |= {
        "target_type": _take([kind.value for kind in types], target),
        "target_email": _take([None if user.id else user.email for user in users], target),
        "target_phone": _take([None if user.id else user.phone for user in users], target),
    }
    for prefix, codes in (("actor_", actor), ("target_user_", target)):
        for name in ("id", "username", "display_name"):
            columns[prefix + name] = _take([getattr(user, name) for user in users], codes)
    action, actions = payments.texts["action"]
    columns |= _describe_view(users, actor, target, action[order], actions, payments.numbers["amount_cents"][order])
    constants = {
        "source": schema.SOURCE_API, "kind": schema.KIND_PAYMENT, "currency": US_DOLLARS,
        "account_id": users[0].id,
    }  # fmt: skip
    columns |= {name: numbers[name] for name in ("amount_cents", "fee_cents")}
    columns |= {name: pa.repeat(pa.scalar(text, pa.string()), length) for name, text in constants.items()}
    columns |= {FETCHED_AT: pa.repeat(pa.scalar(fetched_at, instant), length)}
    wanted = arrow_schema("payments")
    missing = {name: pa.nulls(length, wanted.field(name).type) for name in schema.PAYMENTS if name not in columns}
    table = pa.table({name: {**columns, **missing}[name] for name in (*schema.PAYMENTS, FETCHED_AT)})
    return with_microseconds(table).select(wanted.names).cast(wanted)


def _describe_view(  # noqa: PLR0913, PLR0917 - the columns that decide it
    people: Sequence[User], actor: Array, target: Array, action: Array, actions: Sequence[str], cents: Array
) -> dict[str, pa.Array]:
    """Return the columns that depend on the viewer, worked out once for each other person, side and action."""
    kinds = (action * len(people) + actor) * len(people) + target
    distinct, codes = np.unique(kinds, return_inverse=True)
    views = []
    for kind in distinct.tolist():
        rest, to = divmod(kind, len(people))
        what, by = divmod(rest, len(people))
        user = people[to]
        addressed = Target(user=user) if user.id else Target(email=user.email, phone=user.phone)
        views.append(perspective(str(people[0].id), actions[what], people[by], addressed))
    names = ("direction", "counterparty_id", "counterparty_username", "counterparty_name")
    columns = {name: _take([getattr(view, name) for view in views], codes) for name in names}
    signs = np.array([view.sign or 0 for view in views], dtype="int64")
    return columns | {"flow_cents": pa.array(signs[codes] * np.abs(cents), mask=signs[codes] == 0)}


def _take(values: Sequence[str | None], codes: Array) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(codes))
