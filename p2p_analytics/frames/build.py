"""Records to frames: fixed columns and dtypes, one pass, sorted, nothing dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

from p2p_analytics.frames.arrow import categorical, pandas_array, with_microseconds
from p2p_analytics.frames.bulk import Numbered, Seen, Words, payment_columns
from p2p_analytics.frames.perspective import Perspective, perspective
from p2p_analytics.frames.schema import FRIENDS, INSTANT, PAYMENTS, PROBLEMS
from p2p_analytics.times import to_microseconds
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.records import Payments, Problem, Target, User

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

T = TypeVar("T")

SOURCE_API: Final = "api"
_PERSON: Final = (
    "id", "username", "display_name", "first_name", "last_name", "about", "profile_picture_url", "date_joined",
)  # fmt: skip


def payments_frame(
    pages: Iterable[Payments], viewer_id: str, told: Callable[[Sequence[Problem]], object] = lambda _problems: None
) -> pd.DataFrame:
    """Return the PAYMENTS frame.

    Parameters
    ----------
    pages : iterable of Payments
        In any order; the last of those payments with one id wins. Pages are let go as they are read.
    viewer_id : str
        The user id of the person whose payments these are.
    told : callable, optional
        Told what was strange in the records, some pages at a time.

    Returns
    -------
    DataFrame
        One row per payment, newest first (``date_created``, then id; rows without a date last),
        with the columns and dtypes of :data:`~p2p_analytics.frames.schema.PAYMENTS`, also when
        there are no rows. Money is in cents, a charge's amount negative whichever way the service
        writes it; instants are UTC (document: "Payment", "Target").
    """
    import pyarrow as pa

    seen = Seen()
    own = _newest_first(payment_columns(pages, seen, told))
    pa.default_memory_pool().release_unused()  # pandas cannot use what Arrow holds in reserve
    return _together(with_microseconds(own), seen, viewer_id)


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


def _newest_first(own: pa.Table) -> pa.Table:
    """Sort by age, and keep the last of those with one id; ids are numbers of any length in text form."""
    import numpy as np
    import pyarrow.compute as pc

    if len(pc.unique(own["payment_id"])) < len(own):
        ids = own["payment_id"].combine_chunks().dictionary_encode()
        last = np.empty(len(ids.dictionary), np.int64)
        last[ids.indices.to_numpy()] = np.arange(len(ids))
        own = own.take(np.sort(last))
    keys = ("date_created", "length", "payment_id")
    keyed = own.append_column("length", pc.binary_length(own["payment_id"])).select(keys)
    if _descend(keyed):
        return own
    return own.take(pc.sort_indices(keyed, [(name, "descending") for name in keys]))


def _descend(keyed: pa.Table) -> bool:
    """Tell whether each row is less than the one before; a look takes a tenth of the time of sorting."""
    import pyarrow.compute as pc

    first, *others = ((column[:-1], column[1:]) for column in reversed(keyed.columns))
    less = pc.greater(*first)
    for pair in others:
        less = pc.or_(pc.greater(*pair), pc.and_(pc.equal(*pair), less))
    return pc.all(less, skip_nulls=False).as_py() is True


def _together(own: pa.Table, seen: Seen, viewer_id: str) -> pd.DataFrame:
    """Return the frame of what is each payment's own, and of what it shares with others."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    described, words = _distinct(own["words"], seen.words.things)
    words = [Words._make(text) for text in words]
    actor, actors = _distinct(own["actor"], seen.people.things)
    target, targets = _distinct(own["target"], seen.people.things)
    kind, kinds = _kinds(viewer_id, (described, [text.action for text in words]), (actor, actors), (target, targets))
    shared = {
        name: (values, which)
        for which, columns in (
            (described, _fields("", words, Words._fields)),
            (actor, _fields("actor_", actors, _PERSON)),
            (target, _fields("target_", targets, ("type", "email", "phone"))),
            (target, _fields("target_user_", [target and target.user for target in targets], _PERSON)),
            (kind, _fields("", kinds, Perspective._fields)),
            (np.zeros(len(own), np.int8), {"source": [SOURCE_API][: len(own)]}),
        )
        for name, values in columns.items()
    }
    size = pc.abs(own["amount_cents"])
    charge = pa.array([text.action == Action.CHARGE for text in words], pa.bool_()).take(pa.array(described))
    sign = pa.array([kind.sign for kind in kinds], pa.int64()).take(pa.array(kind))
    columns = dict(zip(own.column_names, own.columns, strict=True)) | {
        # The document writes a charge's amount with a minus; real answers lack it. A column holds one form.
        "amount_cents": pc.if_else(charge, pc.negate(size), own["amount_cents"]),
        "flow_cents": pc.multiply(size, sign),
    }
    return pd.DataFrame(
        {
            name: pandas_array(columns[name], dtype) if name in columns else _spread(*shared[name], dtype)
            for name, dtype in PAYMENTS.items()
        },
        copy=False,
    )


def _distinct(numbers: pa.ChunkedArray, known: Sequence[T]) -> tuple[Numbers, list[T]]:
    """Return those of the known that stand in a row, and before them which of them each row holds."""
    encoded = numbers.combine_chunks().dictionary_encode()
    return encoded.indices.to_numpy(), [known[number] for number in encoded.dictionary.to_pylist()]


def _kinds(
    viewer_id: str,
    action: tuple[Numbers, list[str | None]],
    actor: tuple[Numbers, list[User | None]],
    target: tuple[Numbers, list[Target | None]],
) -> tuple[Numbers, list[Perspective]]:
    """Return how the viewer sees each distinct combination, and before that which of them each row is."""
    import numpy as np
    import pyarrow as pa

    actions = Numbered()  # of many descriptions, there are few actions
    code = np.array([actions[word] for word in action[1]], np.int64)[action[0]]
    shape = len(actions), len(actor[1]), len(target[1])
    encoded = pa.array(np.ravel_multi_index((code, actor[0], target[0]), shape)).dictionary_encode()
    places = (place.tolist() for place in np.unravel_index(encoded.dictionary.to_numpy(), shape))
    return encoded.indices.to_numpy(), [
        perspective(viewer_id, actions.things[which], actor[1][who], target[1][whom])
        for which, who, whom in zip(*places, strict=True)
    ]


def _fields(prefix: str, records: Sequence[Any], names: Iterable[str]) -> dict[str, list[Any]]:
    return {f"{prefix}{name}": [record and getattr(record, name) for record in records] for name in names}


def _spread(values: Sequence[Any], which: Numbers, dtype: str) -> Any:  # noqa: ANN401 - an array of pandas
    """Return for each payment its value of those that are shared."""
    if dtype == INSTANT:
        return _column([value and to_microseconds(value) for value in values], dtype).array.take(which)
    return categorical(values, which)


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
