"""Records to frames: fixed columns and dtypes, one pass, sorted, nothing dropped."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.perspective import add_perspective
from p2p_analytics.frames.schema import FRIENDS, INSTANT, PAYMENTS, PROBLEMS, TEXT
from p2p_analytics.times import EPOCH, to_microseconds
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.records import Payment, Problem, User

SOURCE_API: Final = "api"
_PERSON: Final = (
    "id", "username", "display_name", "first_name", "last_name", "about", "profile_picture_url", "date_joined",
)  # fmt: skip
_ROWS_AT_ONCE: Final = 1_024  # records turned to columns together: few enough to stay in the processor's cache


def payments_frame(payments: Iterable[Payment], viewer_id: str) -> pd.DataFrame:
    """Return the PAYMENTS frame.

    Parameters
    ----------
    payments : iterable of Payment
        Records in any order; the last of those with one id wins. They are let go as they are read.
    viewer_id : str
        The user id of the person whose payments these are.

    Returns
    -------
    DataFrame
        One row per payment, newest first (``date_created``, then id; rows without a date last),
        with the columns and dtypes of :data:`~p2p_analytics.frames.schema.PAYMENTS`, also when
        there are no rows. Money is in cents, a charge's amount negative whichever way the service
        writes it; instants are UTC (document: "Payment", "Target").
    """
    kinds = _Kinds()
    own = _newest_first(_gathered(iter(payments), kinds))
    return _together(own, kinds.table(viewer_id))


def friends_frame(friends: Iterable[User]) -> pd.DataFrame:
    """Return the FRIENDS frame: one row per friend, in the service's order (document: "User")."""
    rows = list({friend.id: friend for friend in friends}.values())
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in FRIENDS if name != "user_id"
    }
    return _frame({"user_id": [row.id for row in rows], **columns}, FRIENDS)[list(FRIENDS)]


def problems_frame(problems: Iterable[Problem]) -> pd.DataFrame:
    """Return what was strange in the records: one row per finding, in the order found."""
    rows = list(problems)
    columns: dict[str, list[Any]] = {
        "payment_id": [row.record_id for row in rows],
        "field": [row.field for row in rows],
        "value": [row.value for row in rows],
        "problem": [row.problem for row in rows],
    }
    return _frame(columns, PROBLEMS)


class _Kinds:
    """The distinct combinations of action, actor and target: all that many payments have in common.

    Records share their people, so these are told apart by identity, and kept alive for that.
    """

    def __init__(self) -> None:
        self._numbers: dict[tuple[str | None, int, int], int] = {}
        self._examples: list[Payment] = []

    def numbers(self, payments: Sequence[Payment]) -> list[int]:
        """Return the number of each payment's kind."""
        people = [payment.actor for payment in payments], [payment.target for payment in payments]
        keys = list(zip([payment.action for payment in payments], *(map(id, side) for side in people), strict=True))
        if not self._numbers.keys() >= set(keys):
            for key, payment in zip(keys, payments, strict=True):
                if key not in self._numbers:
                    self._numbers[key] = len(self._examples)
                    self._examples.append(payment)
        return [self._numbers[key] for key in keys]

    def table(self, viewer_id: str) -> pa.Table:
        """Return the PAYMENTS columns that a kind decides; ``flow_cents`` is that of a payment of one cent."""
        import pyarrow as pa

        rows = self._examples
        columns: dict[str, list[Any]] = {
            "action": [row.action for row in rows],
            "amount_cents": [1] * len(rows),
            **_people("actor", [row.actor for row in rows]),
            "target_type": [row.target and row.target.type for row in rows],
            "target_email": [row.target and row.target.email for row in rows],
            "target_phone": [row.target and row.target.phone for row in rows],
            **_people("target_user", [row.target.user if row.target else None for row in rows]),
            "source": [SOURCE_API] * len(rows),
        }
        names = _column([row.target and row.target.name for row in rows], TEXT)
        seen = add_perspective(_frame(columns, PAYMENTS), viewer_id, names)
        return pa.Table.from_pandas(seen, preserve_index=False)


def _gathered(rows: Iterator[Payment], kinds: _Kinds) -> pa.Table:
    """Return what is each payment's own, instants in microseconds, and the number of its kind."""
    import pyarrow as pa

    chunks = [_own([], kinds)]  # one of no rows tells the columns where there are none
    while chunk := list(islice(rows, _ROWS_AT_ONCE)):
        chunks.append(_own(chunk, kinds))
    return pa.concat_tables(chunks).combine_chunks()


def _own(rows: Sequence[Payment], kinds: _Kinds) -> pa.Table:
    import pyarrow as pa

    text, cents = pa.large_string(), pa.int64()
    return pa.table(
        {
            "payment_id": pa.array([row.id for row in rows], text),
            "status": pa.array([row.status for row in rows], text),
            "amount_cents": pa.array([row.amount_cents for row in rows], cents),
            "note": pa.array([row.note for row in rows], text),
            "audience": pa.array([row.audience for row in rows], text),
            "medium": pa.array([row.medium for row in rows], text),
            "created_us": _microseconds([row.date_created for row in rows]),
            "completed_us": _microseconds([row.date_completed for row in rows]),
            "fee_cents": pa.array([row.fee_cents for row in rows], cents),
            "refund_payment_id": pa.array([row.refund and row.refund.id for row in rows], text),
            "refund_amount_cents": pa.array([row.refund and row.refund.amount_cents for row in rows], cents),
            "kind": pa.array(kinds.numbers(rows), pa.int32()),
        }
    )


def _newest_first(own: pa.Table) -> pa.Table:
    """Sort by age, and keep the last of those with one id; ids are numbers of any length in text form."""
    import numpy as np
    import pyarrow.compute as pc

    ids = own["payment_id"].combine_chunks().dictionary_encode()
    if len(ids.dictionary) < len(ids):
        last = np.empty(len(ids.dictionary), np.int64)
        last[ids.indices.to_numpy()] = np.arange(len(ids))
        own = own.take(np.sort(last))
    keyed = own.select(["created_us", "payment_id"]).append_column("length", pc.utf8_length(own["payment_id"]))
    order = pc.sort_indices(keyed, [(name, "descending") for name in ("created_us", "length", "payment_id")]).to_numpy()
    return own if (order[1:] > order[:-1]).all() else own.take(order)


def _together(own: pa.Table, kinds: pa.Table) -> pd.DataFrame:
    """Return the frame of what is each payment's own and what its kind decides."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = own["kind"].combine_chunks()

    def common(name: str) -> pa.Array:
        return kinds[name].combine_chunks().take(kind)

    size = pc.abs(own["amount_cents"])
    # The document writes a charge's amount with a minus; answers have been seen without one. A column holds one form.
    charge = pc.fill_null(pc.equal(common("action"), Action.CHARGE), fill_value=False)
    columns = {
        **{name: own[name] for name in own.column_names},
        "amount_cents": pc.if_else(charge, pc.negate(size), own["amount_cents"]),
        "flow_cents": pc.multiply(size, common("flow_cents")),
        "date_created": own["created_us"].cast(pa.timestamp("us", "UTC")),
        "date_completed": own["completed_us"].cast(pa.timestamp("us", "UTC")),
        "settle_us": pc.subtract(own["completed_us"], own["created_us"]),
    }
    table = pa.table({name: columns[name] if name in columns else common(name) for name in PAYMENTS})
    dtypes = {pa.large_string(): pd.StringDtype(na_value=float("nan")), pa.int64(): pd.Int64Dtype()}
    frame: pd.DataFrame = table.to_pandas(types_mapper=dtypes.get)
    return frame


def _people(prefix: str, people: list[User | None]) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {
        f"{prefix}_{name}": [person and getattr(person, name) for person in people] for name in _PERSON
    }
    columns[f"{prefix}_date_joined"] = [
        joined and to_microseconds(joined) for joined in columns[f"{prefix}_date_joined"]
    ]
    return columns


def _frame(columns: Mapping[str, list[Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: _column(values, schema[name]) for name, values in columns.items()})


def _column(values: list[Any], dtype: str) -> pd.Series[Any]:
    """Build a column of one dtype; instants arrive as whole microseconds, so none is rounded."""
    import pandas as pd

    if dtype == INSTANT:
        return pd.Series(pd.array(values, dtype="Int64").to_numpy("datetime64[us]", na_value="NaT")).dt.tz_localize(
            "UTC"
        )
    return pd.Series(pd.array(values, dtype=dtype))  # type: ignore[call-overload]


def _microseconds(instants: Iterable[datetime | None]) -> pa.Array:
    import pyarrow as pa

    return pa.array([instant and instant - EPOCH for instant in instants], pa.duration("us")).cast(pa.int64())
