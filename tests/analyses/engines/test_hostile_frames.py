"""Frames as users have them: other dtypes, zones, indexes and engines give the right tables or one clear sentence."""

import os
import subprocess
import sys

import pandas as pd
import polars as pl
import pytest
from analyses.conftest import payments_frame, read_values

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from support.analyses.calls import CALLS, WITHOUT_MONEY
from support.analyses.hostile_frames import ANALYSES, DATES, EXPECTED, REFUSED, RIGHT, ROWS

# These two read all columns that the others read; `make test-all` runs the others, too.
FEW = ("spend_by_friend", "pending_requests")
NAMES = [name if name in FEW else pytest.param(name, marks=pytest.mark.all_frames) for name in ANALYSES]
WITHOUT_DATES = {name for name, (_, match) in REFUSED.items() if "date" in match} | {"pandas.read_csv"}
WITHOUT_SUMS = ("pending_requests", "recurring", "unusual")


@pytest.fixture
def six_payments():
    """Return the six payments as a load gives them."""
    said = {"kind": "payment", "currency": "USD", "account_id": "1", "source": "api"}
    return payments_frame([{**said, **row} for row in ROWS])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", RIGHT)
def test_right(six_payments, name, change):
    """The table is the one worked out by hand, in the usual dtypes, however the frame holds the payments."""
    table = ANALYSES[name](RIGHT[change](six_payments))
    assert read_values(table) == EXPECTED[name]
    if "Polars" not in change:
        assert type(table) is pd.DataFrame
        assert table.dtypes.tolist() == ANALYSES[name](six_payments).dtypes.tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", list(REFUSED))
def test_refused(six_payments, name, change):
    """Anything else is refused by one sentence that names the column and what to do, at the call."""
    convert, match = REFUSED[change]
    frame = convert(six_payments)
    if name == "status_mix" and change in WITHOUT_DATES:  # neither ids nor dates matter to it
        assert len(ANALYSES[name](frame)) == 5
        return
    if name in WITHOUT_SUMS and change == "2**53 in all":
        return
    with pytest.raises((SchemaError, ConfigurationError), match=match) as caught:
        ANALYSES[name](frame)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    assert len(sentence) < 220
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("label", [label for label in CALLS if not label.startswith(WITHOUT_MONEY)])
def test_the_bound_is_exact(build, label):
    """Amounts of 2**53 - 1 cents that count are exact, in all or each; one cent more is refused, whatever the signs."""
    counts, other = ("pending", "settled") if label.startswith("pending") else ("settled", "pending")

    def change(*cents, status=counts):
        rows = [{"flow_cents": each, "amount_cents": each, "status": status, "action": "charge"} for each in cents]
        return CALLS[label](build([row | {"direction": "in", "created": "2024-06-01T00:00:00Z"} for row in rows]))

    change(2**53 - 9, -8)
    if label.startswith(WITHOUT_SUMS):
        change(2**53 - 1, 1 - 2**53)
    with pytest.raises(SchemaError, match=r"2\*\*53 cents or more, one or all together"):
        change(*((2**53 - 1, -(2**53)) if label.startswith(WITHOUT_SUMS) else (2**53 - 9, -9)))
    if not label.startswith(("request_outcomes", "split_bills", "status_mix")):
        change(2**53, 2**53, status=other)  # no row counts


FORK = """
import os, signal, sys
import pandas as pd
import p2p_analytics as p2p
from p2p_analytics.frames.schema import PAYMENTS
frame = pd.DataFrame({name: pd.Series(dtype=dtype) for name, dtype in PAYMENTS.items()})
if sys.argv[1] == "user":
    import polars as pl
    pl.LazyFrame({"a": range(10)}).group_by("a").agg(pl.len()).collect()
    assert "p2p_analytics.analyses" not in sys.modules
for _ in range(2):
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # ends a child that hangs
        try:
            p2p.status_mix(frame)
        except p2p.P2PAnalyticsError as error:
            print(error, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    print("parent:", len(p2p.status_mix(frame)), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.parametrize(("by", "refused"), [("user", [True, True]), ("analysis", [False, True])])
def test_forked_processes(by, refused):
    """A fork after Polars ran, in an analysis or for the user, refuses to wait for threads; an earlier fork runs."""
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-W", "ignore", "-c", FORK, by], check=True, capture_output=True, text=True, timeout=60
    )
    first, second, rest = done.stdout.split("parent: 0\n")
    sentence = 'start workers with multiprocessing.get_context("spawn").\n'
    assert [part.endswith(sentence) for part in (first, second)] == refused
    assert (first.count("\n"), second.count("\n"), rest) == (*map(int, refused), "")


FAILING = {
    "ColumnNotFoundError": lambda frame: frame.select("nowhere"),
    "InvalidOperationError": lambda frame: frame.with_columns(
        pl.col("amount_cents", "flow_cents") + pl.lit("secret").cast(pl.Int64)
    ),
    "ZeroDivisionError": lambda frame: frame.with_columns(
        pl.col("amount_cents", "flow_cents").map_elements(lambda cents: cents // 0, return_dtype=pl.Int64)
    ),
}


@pytest.mark.parametrize("error", list(FAILING))
def test_a_lazy_frame_whose_query_fails(six_payments, error):
    """The failure of a user's own query is one sentence without values of the data."""
    frame = FAILING[error](pl.from_pandas(six_payments).lazy())
    for name, analysis in ANALYSES.items():
        with pytest.raises(SchemaError) as caught:
            analysis(frame)
        said = f"{name}: the lazy frame cannot be computed ({error}): collect it yourself to see why."
        assert (str(caught.value), caught.value.__suppress_context__) == (said, True)


def test_a_lazy_frame_whose_text_fails(six_payments):
    """Texts that rows are grouped by are read at the call; texts of single payments fail at the user's collect."""
    name = pl.col("counterparty_id").str.slice(0, 0).str.to_integer().cast(pl.String)
    frame = pl.from_pandas(six_payments).lazy().with_columns(counterparty_name=name)
    with pytest.raises(SchemaError, match="spend_by_friend: the lazy frame cannot be computed"):
        ANALYSES["spend_by_friend"](frame)
    with pytest.raises(pl.exceptions.ComputeError):
        ANALYSES["pending_requests"](frame).collect()


def test_lazy_friends_whose_query_fails(six_payments):
    """Lazy friends are refused like lazy payments."""
    friends = pl.LazyFrame({"user_id": ["secret"]}).with_columns(pl.col("user_id").str.to_integer().cast(pl.String))
    with pytest.raises(SchemaError, match=r"^friends: the lazy frame cannot be computed \(\w+\): collect it yourself"):
        p2p.spend_by_friend(six_payments, friends)


def test_dates_of_polars_days(six_payments):
    """A column of days counts as their first instants."""
    days = pl.from_pandas(six_payments).with_columns(pl.col(DATES).cast(pl.Date))
    assert ANALYSES["pending_requests"](days)["age_days"].to_list() == [7, 0]
    assert ANALYSES["pending_requests"](days.to_pandas())["age_days"].tolist() == [7, 0]
