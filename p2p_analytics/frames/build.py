"""Records to pandas frames with fixed columns and dtypes, sorted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from p2p_analytics.frames.arrow import categorical, pandas_array, with_microseconds
from p2p_analytics.frames.perspective import Perspective, perspective
from p2p_analytics.frames.schema import FRIENDS, INSTANT, PAYMENTS, PROBLEMS
from p2p_analytics.records import Description, InternTables, payment_columns
from p2p_analytics.times import to_microseconds
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.records import InternTable, Payments, Problem, Target, User

    Codes = np.ndarray[tuple[int], np.dtype[Any]]

T = TypeVar("T")

SOURCE_API: Final = "api"
_PERSON: Final = (
    "id", "username", "display_name", "first_name", "last_name", "about", "profile_picture_url", "date_joined",
)  # fmt: skip


def payments_frame(
    pages: Iterable[Payments],
    viewer_id: str,
    on_problems: Callable[[Sequence[Problem]], object] = lambda _problems: None,
) -> pd.DataFrame:
    """Return the PAYMENTS frame.

    Parameters
    ----------
    pages : iterable of Payments
        In any order. Of several payments with one id the last is kept. Pages are released as they are read.
    viewer_id : str
        The user id of the person to whom the payments belong.
    on_problems : callable, optional
        Called with the problems of the records, some pages at a time.

    Returns
    -------
    DataFrame
        One row per payment, newest first (``date_created``, then id; rows without a date last),
        with the columns and dtypes of :data:`~p2p_analytics.frames.schema.PAYMENTS`, also when
        there are no rows. Money is in cents, and the amount of a charge is negative, whatever sign
        the service sends; instants are UTC (document: "Payment", "Target").
    """
    import pyarrow as pa

    tables = InternTables()
    columns = _sort_newest_first(payment_columns(pages, tables, on_problems))
    pa.default_memory_pool().release_unused()  # pandas cannot use the memory that Arrow keeps in reserve
    return _build_frame(with_microseconds(columns), tables, viewer_id)


def friends_frame(friends: Iterable[User]) -> pd.DataFrame:
    """Return the FRIENDS frame: one row per friend, in the service's order (document: "User")."""
    rows = list({friend.id: friend for friend in friends}.values())
    columns: dict[str, list[Any]] = {
        name: [getattr(row, name) for row in rows] for name in FRIENDS if name != "user_id"
    }
    return _to_frame({"user_id": [row.id for row in rows], **columns}, FRIENDS)[list(FRIENDS)]


def problems_frame(problems: Iterable[Problem]) -> pd.DataFrame:
    """Return the PROBLEMS frame: one row per problem, in the order given."""
    rows = list(problems)
    columns: dict[str, list[Any]] = {
        "payment_id": [row.record_id for row in rows],
        "field": [row.field for row in rows],
        "value": [row.value for row in rows],
        "problem": [row.problem for row in rows],
    }
    return _to_frame(columns, PROBLEMS)


def _sort_newest_first(own: pa.Table) -> pa.Table:
    """Sort by date and id, and keep the last of the rows with one id; ids are numbers of any length as text."""
    import numpy as np
    import pyarrow.compute as pc

    if len(pc.unique(own["payment_id"])) < len(own):
        ids = own["payment_id"].combine_chunks().dictionary_encode()
        last = np.empty(len(ids.dictionary), np.int64)
        last[ids.indices.to_numpy()] = np.arange(len(ids))
        own = own.take(np.sort(last))
    keys = ("date_created", "length", "payment_id")
    keyed = own.append_column("length", pc.binary_length(own["payment_id"])).select(keys)
    if _is_descending(keyed):
        return own
    return own.take(pc.sort_indices(keyed, [(name, "descending") for name in keys]))


def _is_descending(keyed: pa.Table) -> bool:
    """Return whether each row is less than the one before; this takes a tenth of the time of sorting."""
    import pyarrow.compute as pc

    first, *others = ((column[:-1], column[1:]) for column in reversed(keyed.columns))
    less = pc.greater(*first)
    for pair in others:
        less = pc.or_(pc.greater(*pair), pc.and_(pc.equal(*pair), less))
    return pc.all(less, skip_nulls=False).as_py() is True


def _build_frame(own: pa.Table, tables: InternTables, viewer_id: str) -> pd.DataFrame:
    """Return the PAYMENTS frame from the columns of the payments and the tables that their codes refer to."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    description, descriptions = _encode(own["description"], tables.descriptions)
    actor, actors = _encode(own["actor"], tables.actors)
    target, targets = _encode(own["target"], tables.targets)
    actions = [text.action for text in descriptions]
    view, views = _encode_perspectives(viewer_id, (description, actions), (actor, actors), (target, targets))
    encoded = {
        name: (values, codes)
        for codes, fields in (
            (description, _field_values("", descriptions, Description._fields)),
            (actor, _field_values("actor_", actors, _PERSON)),
            (target, _field_values("target_", targets, ("type", "email", "phone"))),
            (target, _field_values("target_user_", [target and target.user for target in targets], _PERSON)),
            (view, _field_values("", views, Perspective._fields)),
            (np.zeros(len(own), np.int8), {"source": [SOURCE_API][: len(own)]}),
        )
        for name, values in fields.items()
    }
    size = pc.abs(own["amount_cents"])
    is_charge = pa.array([action == Action.CHARGE for action in actions], pa.bool_()).take(pa.array(description))
    sign = pa.array([each.sign for each in views], pa.int64()).take(pa.array(view))
    columns = dict(zip(own.column_names, own.columns, strict=True)) | {
        # The document shows the amount of a charge as negative, real answers as positive. The column is negative.
        "amount_cents": pc.if_else(is_charge, pc.negate(size), own["amount_cents"]),
        "flow_cents": pc.multiply(size, sign),
    }
    return pd.DataFrame(
        {
            name: pandas_array(columns[name], dtype) if name in columns else _decode_column(*encoded[name], dtype)
            for name, dtype in PAYMENTS.items()
        },
        copy=False,
    )


def _encode(codes: pa.ChunkedArray, table: InternTable[T]) -> tuple[Codes, list[T]]:
    """Dictionary-encode again: return codes without gaps, and the values that occur."""
    encoded = codes.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), [table.entries[code] for code in encoded.dictionary.to_pylist()]


def _encode_perspectives(
    viewer_id: str,
    action: tuple[Codes, list[str | None]],
    actor: tuple[Codes, list[User | None]],
    target: tuple[Codes, list[Target | None]],
) -> tuple[Codes, list[Perspective]]:
    """Dictionary-encode the viewer's perspective: return codes, and the perspective of each distinct combination."""
    import numpy as np
    import pyarrow as pa

    actions = list(dict.fromkeys(action[1]))  # many descriptions share few actions
    action_codes = np.array([actions.index(word) for word in action[1]], np.int64)[action[0]]
    shape = len(actions), len(actor[1]), len(target[1])
    encoded = pa.array(np.ravel_multi_index((action_codes, actor[0], target[0]), shape)).dictionary_encode()
    combinations = (codes.tolist() for codes in np.unravel_index(encoded.dictionary.to_numpy(), shape))
    return encoded.indices.to_numpy(), [
        perspective(viewer_id, actions[action_code], actor[1][actor_code], target[1][target_code])
        for action_code, actor_code, target_code in zip(*combinations, strict=True)
    ]


def _field_values(prefix: str, records: Sequence[Any], names: Iterable[str]) -> dict[str, list[Any]]:
    return {f"{prefix}{name}": [record and getattr(record, name) for record in records] for name in names}


def _decode_column(values: Sequence[Any], codes: Codes, dtype: str) -> Any:  # noqa: ANN401 - an array of pandas
    """Return the value of each payment from dictionary-encoded values."""
    if dtype == INSTANT:
        return _to_series([value and to_microseconds(value) for value in values], dtype).array.take(codes)
    return categorical(values, codes)


def _to_frame(columns: Mapping[str, list[Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({name: _to_series(values, schema[name]) for name, values in columns.items()})


def _to_series(values: list[Any], dtype: str) -> pd.Series[Any]:
    """Return a column of one dtype; instants are given as whole microseconds, so that none is rounded."""
    import pandas as pd

    if dtype == INSTANT:
        return pd.Series(pd.array(values, dtype="Int64").to_numpy("datetime64[us]", na_value="NaT")).dt.tz_localize(
            "UTC"
        )
    return pd.Series(pd.array(values, dtype=dtype))  # type: ignore[call-overload]
