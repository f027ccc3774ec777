"""Records to frames: fixed columns and dtypes, one pass, sorted, nothing dropped."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.frames.arrow import categorical, pandas_array, with_microseconds
from p2p_analytics.frames.columns import People, gathered
from p2p_analytics.frames.perspective import add_perspective
from p2p_analytics.frames.schema import FRIENDS, INSTANT, PAYMENTS, PROBLEMS, TEXT, WORD
from p2p_analytics.records import User
from p2p_analytics.times import to_microseconds
from p2p_analytics.vocabulary import Action

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import numpy as np
    import pandas as pd
    import pyarrow as pa

    from p2p_analytics.records import Payments, Problem, Target

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

SOURCE_API: Final = "api"
_PERSON: Final = (
    "id", "username", "display_name", "first_name", "last_name", "about", "profile_picture_url", "date_joined",
)  # fmt: skip


_FIELDS: Final = attrgetter(*_PERSON)


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

    people = People()
    own = _newest_first(gathered(pages, people, told))
    kinds, kind = _kinds(own, people.known)
    own = own.drop_columns(["actor", "target"])
    pa.default_memory_pool().release_unused()  # pandas cannot use what Arrow holds in reserve
    return _together(own, _common(kinds, viewer_id), kind)


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


def _kinds(own: pa.Table, people: Sequence[Any]) -> tuple[list[tuple[Any, ...]], Numbers]:
    """Return the distinct combinations of action, actor and target, and which of them each payment is."""
    import numpy as np
    import pyarrow as pa

    encoded = own["action"].combine_chunks()
    actions = [*encoded.dictionary.to_pylist(), None]
    shape = len(actions), len(people), len(people)
    which = encoded.indices.fill_null(len(actions) - 1).to_numpy(), own["actor"].to_numpy(), own["target"].to_numpy()
    kind = pa.array(np.ravel_multi_index(which, shape)).dictionary_encode()
    places = zip(*(place.tolist() for place in np.unravel_index(kind.dictionary.to_numpy(), shape)), strict=True)
    return [(actions[at], people[who], people[whom]) for at, who, whom in places], kind.indices.to_numpy()


def _common(kinds: Sequence[tuple[str | None, User | None, Target | None]], viewer_id: str) -> pd.DataFrame:
    """Return the PAYMENTS columns that a kind decides; ``flow_cents`` is that of a payment of one cent."""
    actors = [actor for _, actor, _ in kinds]
    targets = [target for _, _, target in kinds]
    columns: dict[str, list[Any]] = {
        "action": [action for action, _, _ in kinds],
        "amount_cents": [1] * len(kinds),
        **_people("actor", actors),
        "target_type": [target and target.type for target in targets],
        "target_email": [target and target.email for target in targets],
        "target_phone": [target and target.phone for target in targets],
        **_people("target_user", [target.user if target else None for target in targets]),
        "source": [SOURCE_API] * len(kinds),
    }
    names = _column([target and target.name for target in targets], TEXT)
    return add_perspective(_frame(columns, _PLAIN), viewer_id, names)


def _together(own: pa.Table, kinds: pd.DataFrame, kind: Numbers) -> pd.DataFrame:
    """Return the frame of what is each payment's own and what its kind decides."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    size = pc.abs(own["amount_cents"])
    charge = pa.array((kinds["action"] == Action.CHARGE).to_numpy(bool)).take(pa.array(kind))
    flow = pa.array(kinds["flow_cents"]).take(pa.array(kind))
    own = with_microseconds(own)
    for place, name in enumerate(own.column_names):
        if PAYMENTS.get(name) == WORD:
            own = own.set_column(place, name, _without_unused(own[name]))
    columns = {
        **{name: own[name] for name in own.column_names},
        # The document writes a charge's amount with a minus; real answers lack it. A column holds one form.
        "amount_cents": pc.if_else(charge, pc.negate(size), own["amount_cents"]),
        "flow_cents": pc.multiply(size, flow),
    }
    return pd.DataFrame(
        {
            name: pandas_array(columns[name], dtype) if name in columns else _spread(kinds[name], kind, dtype)
            for name, dtype in PAYMENTS.items()
        },
        copy=False,
    )


def _without_unused(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column of words without those that stand in no row: theirs may have been left out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    column = words.combine_chunks()
    if len(pc.unique(column.indices.drop_null())) < len(column.dictionary):
        column = column.cast(column.type.value_type).dictionary_encode()
    return pa.chunked_array([column])


def _spread(values: pd.Series[Any], kind: Numbers, dtype: str) -> Any:  # noqa: ANN401 - an array of pandas
    """Return for each payment the value of its kind."""
    import pandas as pd

    if dtype != WORD:
        return values.array.take(kind)
    codes, words = pd.factorize(values)
    return categorical(codes, words.tolist()).take(kind)


def _people(prefix: str, people: list[User | None]) -> dict[str, list[Any]]:
    values = zip(*(_FIELDS(person or User()) for person in people), strict=True) if people else [[]] * len(_PERSON)
    columns: dict[str, list[Any]] = {
        f"{prefix}_{name}": list(column) for name, column in zip(_PERSON, values, strict=True)
    }
    columns[f"{prefix}_date_joined"] = [
        joined and to_microseconds(joined) for joined in columns[f"{prefix}_date_joined"]
    ]
    return columns


_PLAIN: Final = {name: TEXT if dtype == WORD else dtype for name, dtype in PAYMENTS.items()}


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
