"""Tests of `combine`: every payment once, in its newest state, from histories or frames of one account."""

from dataclasses import replace
from datetime import timedelta

import pandas as pd
import polars as pl
import pytest
from msgspec.structs import replace as replace_struct

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.schema import PAYMENTS, PROBLEMS
from p2p_analytics.records import Me, User
from support.archives.histories import NOON
from support.archives.statements import row, statements_of
from support.frames import frame_from_rows, list_rows, list_values
from support.statements.files import PAYPAL

LATER = NOON + timedelta(hours=1)


def test_overlapping_histories_count_each_payment_once(history_of, payment) -> None:
    """Three payments in two overlapping histories, newest first; the earliest date since which one has all counts."""
    days = {number: f"2024-05-{number:02}T12:00:00" for number in (1, 2, 3)}
    parts = [
        history_of(*(payment(number, date_created=days[number]) for number in numbers)) for numbers in ((1, 2), (2, 3))
    ]
    for found in (p2p.combine(parts).payments, p2p.combine([part.payments for part in parts])):
        assert found["payment_id"].tolist() == ["3", "2", "1"]
    july, may = (replace(parts[0], since=NOON.replace(month=month)) for month in (7, 5))
    assert p2p.combine([july, may]).since == may.since
    assert p2p.combine([july, parts[1]]).since is None


@pytest.mark.parametrize("turned", [False, True])
def test_the_state_that_was_fetched_last_is_kept(history_of, payment, turned: bool) -> None:  # noqa: FBT001 - a parameter
    """Whatever the order of the list; user, friends and balance are the last ones too, "data as of" is the oldest."""
    old = history_of(payment(1, status="pending", fee={"amount": 0.25}), friends=1)
    renamed = {"type": "user", "user": {"id": "8", "display_name": "Bo Lund"}}
    new = history_of(payment(1, status="cancelled", note="new", target=renamed), at=LATER, friends=3)
    found = p2p.combine([new, old] if turned else [old, new])
    assert list_rows(found.payments, "status", "note", "fee_cents") == [("cancelled", "new", 25)]
    assert ("8", "Bo Lund", "Bo") in list_rows(found.people, "user_id", "display_name", "also_named")
    assert len(found.friends) == 3
    assert found.me is new.me
    assert found.fetched_at == NOON


def test_a_fetch_time_without_a_zone_is_utc(history_of, payment) -> None:
    """12:00 without a zone is an hour before 13:00 UTC; the result has a zone in any case."""
    old = history_of(payment(1, status="pending"), at=NOON.replace(tzinfo=None))
    new = history_of(payment(1, status="cancelled"), at=LATER)
    found = p2p.combine([new, old])
    assert (found.payments["status"].tolist(), found.fetched_at) == (["cancelled"], NOON)
    assert p2p.combine([old]).fetched_at == NOON


def test_of_frames_the_state_that_is_not_pending_is_kept(history_of, payment) -> None:
    """No payment becomes pending again; of two that are not pending the later in the list is kept."""
    pending = history_of(payment(1, status="pending")).payments
    settled = history_of(payment(1, status="settled", note="a")).payments
    for order in ([settled, pending], [pending, settled]):
        assert p2p.combine(order)["status"].tolist() == ["settled"]
    assert p2p.combine([settled, settled.assign(note="b")])["note"].tolist() == ["b"]


def test_the_columns_and_dtypes_stay(history_of, payment) -> None:
    """The same for empty frames, text that became categories or Arrow dtypes, and datetimes that lost their zone."""
    one, none = history_of(payment(1)).payments, history_of().payments
    naive = one.assign(date_created=one["date_created"].dt.tz_localize(None))
    packed = one.astype({"status": "category", "payment_id": object})
    arrow = one.copy().convert_dtypes(dtype_backend="pyarrow")  # pandas before 3.1.1 changes null dates of its frame
    for frames in (
        [one], iter([one, one]), [none, one], [one, naive], [packed, one], [arrow],
        [one.assign(flow_cents=[-500.0])], [one.assign(payment_id=[1])], [one[one.columns[::-1]]],
    ):  # fmt: skip
        assert p2p.combine(frames).equals(one)
    assert p2p.combine([none]).dtypes.astype(str).to_dict() == one.dtypes.astype(str).to_dict() == dict(PAYMENTS)
    assert len(p2p.combine([none])) == 0


def test_an_edit_of_the_result_leaves_the_parts_as_they_are(history_of, payment) -> None:
    """No frame of the result is a frame of a part, also where there is nothing to unite."""
    one = history_of(payment(1, status="odd"))
    before = {name: getattr(one, name).copy() for name in ("payments", "people", "friends", "problems")}
    united = p2p.combine([one])
    for name, frame in before.items():
        getattr(united, name).iloc[0, 0] = "edited"
        assert getattr(one, name).equals(frame)


def test_a_null_in_a_further_column_replaces_no_value(history_of, payment) -> None:
    """Marks that a user set stay when a later frame brings the payment without them, in columns of any dtype."""
    old = history_of(payment(1, status="pending"), payment(2)).payments
    old = old.assign(mine=[None, "rent"], size=pd.Categorical(["small", "big"]), seen=True)[
        ["seen", *old, "mine", "size"]
    ]
    new = history_of(payment(3), payment(1)).payments.assign(mine=["new", None])
    found = p2p.combine([old, new])
    assert list(found.columns) == [*PAYMENTS, "seen", "mine", "size"]
    assert found["payment_id"].tolist() == ["3", "2", "1"]
    assert found["status"].tolist() == ["settled"] * 3
    assert list_rows(found, "mine", "size") == [("new", None), (None, "small"), ("rent", "big")]
    assert p2p.combine([old, old.assign(mine="x")])["mine"].tolist() == ["x", "x"]


PROBLEM_1, PROBLEM_2, PROBLEM_3 = ("1", "status", "odd"), ("2", "status", "odd"), ("3", "status", "odd")
OF_ME, OF_FRIEND = (None, "balance", "?"), (None, "friend.username", "?")


@pytest.mark.parametrize(
    ("old", "new", "united"),
    [
        ([PROBLEM_2, OF_ME, PROBLEM_1], [PROBLEM_2, OF_ME, PROBLEM_1], [PROBLEM_2, OF_ME, PROBLEM_1]),
        ([OF_ME, PROBLEM_1], [PROBLEM_1, OF_ME], [OF_ME, PROBLEM_1]),
        ([PROBLEM_1, OF_ME], [("1", "status", "new"), OF_FRIEND], [("1", "status", "new"), OF_ME, OF_FRIEND]),
        ([PROBLEM_3, OF_ME], [PROBLEM_2, OF_FRIEND], [PROBLEM_3, OF_ME, PROBLEM_2, OF_FRIEND]),
        ([], [OF_ME, PROBLEM_1], [OF_ME, PROBLEM_1]),
    ],
)
def test_problems_keep_their_place(history_of, payment, old, new, united) -> None:
    """Also where a newer history repeats or replaces them; one that it does not list again is solved, except of 3."""
    histories = history_of(payment(1), payment(2), payment(3)), history_of(payment(1), payment(2), at=LATER)
    names = ("payment_id", "field", "value")
    tables = [frame_from_rows([dict(zip(names, row, strict=True)) for row in rows], PROBLEMS) for rows in (old, new)]
    parts = [replace(history, problems=problems) for history, problems in zip(histories, tables, strict=True)]
    found = p2p.combine(parts).problems
    assert list_rows(found, "payment_id", "field", "value") == united
    assert found.dtypes.astype(str).to_dict() == dict(PROBLEMS)


def test_what_cannot_be_united_is_refused(history_of, payment) -> None:
    """Several accounts, private and real data, histories and frames, a single part, nothing, rows without an id."""
    one, other = history_of(payment(1)), history_of(payment(2), account="8")
    private = one.masked(key=b"k" * 32)
    for parts, words in (
        ([one, other], "these are of 2: 7, 8"), ([one.payments, other.payments], "these are of 2: 7, 8"),
        ([one, private], "privacy mode"), ([private, one.masked(key=b"k" * 32, strict=True)], "days with months"),
        ([one, one.payments], r"not History, pandas\.DataFrame\.$"), ([], "an empty list"), ([1], "int"),
        ([pl.from_pandas(one.payments)], r"pandas frames of payments alone, not polars\.DataFrame\.$"),
        (one, r"p2p\.combine\(\[one, other\]\)"), (one.payments, r"p2p\.combine\(\[one, other\]\)"),
    ):  # fmt: skip
        with pytest.raises(ConfigurationError, match=words):
            p2p.combine(parts)
    # Ids as floats, numbers as dates and parts of cents are not converted.
    for frame, words in (
        (one.payments.drop(columns="kind"), "needs the columns kind"),
        (pd.concat([one.payments, one.payments[["note"]]], axis=1), "several columns 'note'"),
        (one.payments.assign(payment_id=pd.Series([None], dtype="str")), "without an id"),
        (one.payments.assign(amount_cents="1000"), "^The column 'amount_cents' holds str, not Int64"),
        (one.payments.assign(flow_cents=pd.array([-500.5], dtype="Float64")), "'flow_cents' holds Float64, not Int64"),
        (one.payments.assign(actor_id=[2.820801989368221e18]), "'actor_id' holds float64, not str"),
        (one.payments.assign(date_created=[1_714_564_800]), "'date_created' holds int64, not datetime64"),
        (one.payments.assign(date_created="03/04/2024"), "'date_created' holds str, not datetime64"),
    ):
        with pytest.raises(SchemaError, match=words):
            p2p.combine([frame])


def test_a_history_with_a_repeated_id_cannot_be_built(history_of, payment) -> None:
    """`pandas.concat` doubles payments; a history of such rows is refused, also by the report and the explorer."""
    one = history_of(payment(1), payment(2))
    doubled = pd.concat([one.payments, one.payments.head(1)])
    with pytest.raises(SchemaError, match=r"'2' is repeated \(1 row too many\): .* p2p.combine"):
        p2p.History(**{**vars(one), "payments": doubled})
    object.__setattr__(one, "payments", doubled)
    for use in (p2p.Explorer, lambda history: p2p.render_report(history, as_of="2024-06-01")):
        with pytest.raises(SchemaError, match="is repeated"):
            use(one)


@pytest.mark.parametrize(
    ("stated", "turned"),
    [({"amount_cents": 9_900}, False), ({"direction": "in", "action": "charge"}, True), ({"currency": "EUR"}, False)],
)
def test_a_statement_that_contradicts_the_service(history_of, payment, stated, turned) -> None:
    """The service's 5.00 stays without the statement's fee, tip and file; a problem says what the statement had."""
    ada = Me(user=User(id="7", username="ada"))
    field, value = next((name, str(each)) for name, each in stated.items())
    listed = replace(history_of(payment(1), payment(2)), me=ada)
    other = statements_of(row(1, fee_cents=100, **stated), row(2, fee_cents=3), row(3)).history()
    parts = [other, listed] if turned else [listed, other]
    found = p2p.combine(parts)
    names = ("payment_id", "fee_cents", "amount_cents", "direction", "currency", "tip_cents", "file", "line")
    payments = found.payments.sort_values("payment_id")
    assert list_rows(payments, *names)[0] == ("1", None, 500, "out", "USD", None, None, None)
    assert list_values(payments["fee_cents"]) == [None, 3, None]
    assert list_rows(found.problems, "code", "payment_id", "field", "value", "file", "line") == [
        ("contradicts_service", "1", field, value, "may.csv", 4)
    ]
    assert found.problems["problem"].item().startswith("contradicts what the service says")
    assert len(p2p.combine([found, other]).problems) == 1
    frames = [part.payments.assign(account_id="7") for part in parts]
    with pytest.raises(SchemaError, match=f"^The payment 1 has another {field} in a statement, {value}, than the "):
        p2p.combine(frames)
    assert len(p2p.combine([frame[frame["payment_id"] != "1"] for frame in frames])) == 2


@pytest.mark.parametrize("turned", [False, True])
def test_a_refused_row_of_a_statement_takes_the_place_of_no_other(history_of, payment, turned) -> None:
    """The fee 10 is in the statement that agrees with the service's 5.00, whichever statement comes last."""
    listed = replace(history_of(payment(1)), me=Me(user=User(id="7", username="ada")))
    stated = [statements_of(row(1, **each)).history() for each in ({"fee_cents": 10}, {"amount_cents": 9_900})]
    found = p2p.combine([*(reversed(stated) if turned else stated), listed])
    assert list_values(found.payments["fee_cents"]) == [10]
    assert list_rows(found.problems, "payment_id", "field", "value") == [("1", "amount_cents", "9900")]


def test_the_balance_of_several_statements() -> None:
    """Of overlapping files it is the last one; it is unknown if a file can be of another service or lacks it."""
    head = f"{PAYPAL},Balance"
    rows = [
        f"0{month}/14/2024,15:25:46,PST,Bo,Mobile Payment,Completed,USD,8.20,0,8.20,A{month},{month}.20"
        for month in (1, 2, 3, 4)
    ]
    files = [[head, *rows[:2]], [head, *rows[1:3]], [head, *rows[3:]]]
    first, next_, apart = (p2p.read_statements("\n".join(each).encode(), account="ada").history() for each in files)
    unknown = replace(first, me=replace_struct(first.me, balance_cents=None))
    assert first.me.balance_cents == 220
    assert p2p.combine([first, next_]).me.balance_cents == 320
    for others in ([apart], [apart, next_], [unknown], [replace(apart, payments=apart.payments.iloc[:0])]):
        assert p2p.combine([first, *others]).me.balance_cents is None
