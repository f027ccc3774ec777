"""Records to frames: fixed columns and dtypes, one pass, sorted, nothing dropped."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.perspective import add_perspective
from p2p_analytics.frames.schema import CENTS, FRIENDS, INSTANT, PAYMENTS, PROBLEMS, TEXT
from p2p_analytics.times import EPOCH, to_microseconds
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.records import Payment, Problem, Target, User

SOURCE_API: Final = "api"
_PERSON: Final = (
    "id", "username", "display_name", "first_name", "last_name", "about", "profile_picture_url", "date_joined",
)  # fmt: skip
# Records are let go after a page, while they are in the processor's cache, and their values after some pages.
_ROWS_OF_A_PAGE: Final = 50
_ROWS_AT_ONCE: Final = 4_096


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
        self._kinds: list[tuple[str | None, User | None, Target | None]] = []

    def numbers(self, rows: Sequence[Payment]) -> list[int]:
        """Return the number of each payment's kind."""
        kinds = [(row.action, row.actor, row.target) for row in rows]
        keys = [(action, id(actor), id(target)) for action, actor, target in kinds]
        try:
            return [self._numbers[key] for key in keys]
        except KeyError:
            for key, kind in zip(keys, kinds, strict=True):
                if key not in self._numbers:
                    self._numbers[key] = len(self._kinds)
                    self._kinds.append(kind)
            return [self._numbers[key] for key in keys]

    def table(self, viewer_id: str) -> pa.Table:
        """Return the PAYMENTS columns that a kind decides; ``flow_cents`` is that of a payment of one cent."""
        import pyarrow as pa

        actors = [actor for _, actor, _ in self._kinds]
        targets = [target for _, _, target in self._kinds]
        columns: dict[str, list[Any]] = {
            "action": [action for action, _, _ in self._kinds],
            "amount_cents": [1] * len(self._kinds),
            **_people("actor", actors),
            "target_type": [target and target.type for target in targets],
            "target_email": [target and target.email for target in targets],
            "target_phone": [target and target.phone for target in targets],
            **_people("target_user", [target.user if target else None for target in targets]),
            "source": [SOURCE_API] * len(self._kinds),
        }
        names = _column([target and target.name for target in targets], TEXT)
        seen = add_perspective(_frame(columns, PAYMENTS), viewer_id, names)
        return pa.Table.from_pandas(seen, preserve_index=False)


def _gathered(rows: Iterator[Payment], kinds: _Kinds) -> pa.Table:
    """Return what is each payment's own, instants in microseconds, and the number of its kind."""
    import pyarrow as pa

    chunks: list[pa.Table] = []
    while True:
        columns: dict[str, list[Any]] = {name: [] for name in _OWN}
        while len(columns["kind"]) < _ROWS_AT_ONCE and (page := list(islice(rows, _ROWS_OF_A_PAGE))):
            for name, values in _own(page, kinds).items():
                columns[name] += values
        if chunks and not columns["kind"]:
            return pa.concat_tables(chunks).combine_chunks()
        chunks.append(pa.table([_array(columns[name], dtype) for name, dtype in _OWN.items()], names=list(_OWN)))


_OWN: Final = {
    "payment_id": TEXT, "status": TEXT, "amount_cents": CENTS, "note": TEXT, "audience": TEXT, "medium": TEXT,
    "created_us": INSTANT, "completed_us": INSTANT,
    "fee_cents": CENTS, "refund_payment_id": TEXT, "refund_amount_cents": CENTS, "kind": CENTS,
}  # fmt: skip


def _array(values: list[Any], dtype: str) -> pa.Array:
    """Build an array of text or whole numbers; instants arrive as the time since 1970, and leave in microseconds."""
    import pyarrow as pa

    if dtype == INSTANT:
        return pa.array(values, pa.duration("us")).cast(pa.int64())
    return pa.array(values, pa.large_string() if dtype == TEXT else pa.int64())


def _own(rows: Sequence[Payment], kinds: _Kinds) -> dict[str, list[Any]]:
    return {
        "payment_id": [row.id for row in rows],
        "status": [row.status for row in rows],
        "amount_cents": [row.amount_cents for row in rows],
        "note": [row.note for row in rows],
        "audience": [row.audience for row in rows],
        "medium": [row.medium for row in rows],
        "created_us": [row.date_created and row.date_created - EPOCH for row in rows],
        "completed_us": [row.date_completed and row.date_completed - EPOCH for row in rows],
        "fee_cents": [row.fee_cents for row in rows],
        "refund_payment_id": [row.refund and row.refund.id for row in rows],
        "refund_amount_cents": [row.refund and row.refund.amount_cents for row in rows],
        "kind": kinds.numbers(rows),
    }


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
