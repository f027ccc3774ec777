"""In privacy mode nothing that people wrote, are called or paid is in anything we make; proportions stay.

Every private value of a scripted service is a word that occurs nowhere else; then all that can be made
of its history is searched for them, byte by byte.
"""

from __future__ import annotations

import pickle
from typing import TYPE_CHECKING

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.schema import FRIENDS, PAYMENTS, PROBLEMS
from p2p_analytics.privacy import Mask
from p2p_analytics.privacy._pseudonyms import _FIRSTS, _THINGS, Pseudonyms
from support.frames import frame_from_rows, problem_rows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

from support.privacy.masking import (
    AS_OF,
    KEY,
    ME,
    SECRETS,
    SENT,
    STRANGE,
    find_secrets,
    load,
    payment,
    render_table,
    tables_of,
)


def test_words_that_nobody_knows_are_masked(service) -> None:
    """An application's name as the medium, and other unknown words; equal ones stay equal, known words stay."""
    strange = dict.fromkeys(["status", "action", "audience", "medium"], "Quuxmart Ledger")
    service[1]["/v1/payments"]["data"] = [payment(2, **strange), payment(1)]
    history = load(service, privacy=True)
    for name in strange:
        assert history.payments[name][0] not in {"Quuxmart Ledger", history.payments[name][1]}
    assert len(set(history.payments.loc[0, list(strange)])) == 1
    assert history.payments.loc[1, list(strange)].tolist() == ["settled", "pay", "private", "api"]
    assert find_secrets({name: render_table(table) for name, table in tables_of(history).items()}, ["Quuxmart"]) == []


def test_a_table_of_ones_own_may_use_our_names() -> None:
    """A column that is called as one of ours is masked all the same where it does not hold what ours do."""
    names = ["source", "problem", "field", "month", "band", "direction", "target_type", "payments", "share", "age_days"]
    own = pd.DataFrame({name: ["Volodya gave this"] for name in names})
    assert find_secrets({"own": render_table(Mask(KEY).frame(own))}, ["Volodya"]) == []


def rows_of(history: p2p.History, private: p2p.History) -> pd.DataFrame:
    """Return the masked payments in the order of the real ones: masked rows of one date are in another order."""
    masked = private.payments.set_index("payment_id", drop=False)
    return masked.loc[[Pseudonyms(KEY).identifier(text) for text in history.payments["payment_id"]]].reset_index(
        drop=True
    )


def test_amounts_of_a_payment_agree(service) -> None:
    """Amount and flow differ by the sign alone, as they do in fact; null, zero and signs stay; shares of counts too."""
    refunded = [payment(12, amount=0, refund={"id": "1", "amount": 12.5})]
    refunded += [payment(13, amount=12.5, refund={"id": "2", "amount": 12.5})]
    service[1]["/v1/payments"]["data"] = [*SENT, *refunded][::-1]
    history = load(service)
    private = history.masked(key=KEY)
    masked = rows_of(history, private)
    factor = Pseudonyms(KEY)._factor
    for column in ("amount_cents", "flow_cents", "fee_cents", "refund_amount_cents"):
        real, scaled = history.payments[column], masked[column]
        assert scaled.isna().equals(real.isna())
        assert ((scaled.dropna() * real.dropna() > 0) == (real.dropna() != 0)).all()
        assert ((scaled.dropna() / (real[real != 0].dropna() * factor) - 1).abs().dropna() < 0.75).all()
    real, scaled = history.payments, masked
    assert (scaled["flow_cents"].abs() == scaled["amount_cents"].abs())[scaled["flow_cents"].notna()].all()
    full = (real["refund_amount_cents"] == real["amount_cents"]).fillna(value=False)
    assert full.sum() == 1
    assert (scaled["refund_amount_cents"] == scaled["amount_cents"])[full].all()
    assert abs(private.me.balance_cents / (876543219 * factor) - 1) < 0.05
    assert p2p.status_mix(history.payments)["share"].equals(p2p.status_mix(private.payments)["share"])
    flow = p2p.monthly_flow(private.payments)
    assert (flow["net"] - (flow["received"] - flow["sent"])).abs().max() < 1e-6


def test_a_later_report_gives_no_second_sample(service) -> None:
    """A payment shows the same in a history with more payments, with fewer, and in a table of requests."""
    first = load(service).masked(key=KEY).payments.set_index("payment_id")
    service[1]["/v1/payments"]["data"] = [payment(20), *SENT[5::-1]]
    later = load(service)
    masked = later.masked(key=KEY).payments.set_index("payment_id")
    both = first.index.intersection(masked.index)
    assert len(both) == 6
    pd.testing.assert_frame_equal(
        first.loc[both].astype("object"), masked.loc[both].astype("object"), check_categorical=False
    )
    requests = Mask(KEY).frame(p2p.pending_requests(later.payments, as_of=AS_OF)).set_index("payment_id")
    assert len(requests) == 2
    assert (requests["amount"] * 100).round().eq(masked["amount_cents"].abs().loc[requests.index].astype(float)).all()


@pytest.mark.parametrize(("strict", "starts"), [(False, "D"), (True, "M")], ids=["days", "months"])
def test_dates_are_days_or_months(service, strict, starts: str) -> None:
    """Every instant is the start of its day or month in UTC, in all its columns; durations follow."""
    odd = {"date_created": "2024-05-31T23:59:59.999999", "date_completed": "2024-06-01T00:00:00.000001"}
    old = payment(29, status="pending", date_created="1969-12-31T23:00:00", date_completed=None)
    service[1]["/v1/payments"]["data"] = [payment(30, **odd), *STRANGE[:1], *SENT[::-1], old]
    history = load(service, on_bad_record="report")
    private = history.masked(key=KEY, strict=strict)
    assert (private.private, private.strict) == (True, strict)
    real, masked = history.payments, rows_of(history, private)
    for name in ("date_created", "date_completed"):
        expected = real[name].dt.tz_localize(None).dt.to_period(starts).dt.start_time.dt.tz_localize("UTC")
        assert masked[name].equals(expected.astype(masked[name].dtype))
    spent = p2p.spend_by_friend(history.payments)
    for name in ("first_date", "last_date"):
        shown = Mask(KEY, strict=strict).frame(spent)[name]
        assert shown.equals(
            shown.dt.tz_localize(None).dt.to_period(starts).dt.start_time.dt.tz_localize("UTC").astype(shown.dtype)
        )


def test_the_order_of_rows_tells_nothing(start_service) -> None:
    """Payments of one date, friends and problems come in the order of their pseudonyms, whatever the order was."""
    friends = [{"id": f"77{number:017d}", "display_name": f"Friend {number:02d}"} for number in range(20)]
    sent = [payment(3, id=f"66{number:016d}", date_created=f"2024-05-{3 + number // 20:02d}T{number % 20:02d}:00:00",
                    date_completed=None, action=f"strange {number}") for number in range(40)]  # fmt: skip
    lists = {
        "/v1/me": {"data": {"balance": "1.00", "user": ME}},
        "/v1/payments": {"data": sent[::-1], "pagination": None},
        f"/v1/users/{ME['id']}/friends": {"data": friends, "pagination": None},
    }
    history = load([start_service(lambda path, _sent: lists[path])], on_bad_record="report")
    private = history.masked(key=KEY)
    for frame, name, groups in (
        (private.payments, "payment_id", private.payments.groupby("date_created").indices.values()),
        (private.friends, "user_id", [range(20)]),
        (private.problems, "payment_id", [range(40)]),
    ):
        for rows in groups:
            ids = frame[name].iloc[list(rows)].tolist()
            assert len(ids) >= 20
            assert ids == sorted(ids, reverse=True)
    assert private.payments["date_created"].is_monotonic_decreasing


def test_strict_mode_hides_what_joins_with_a_feed(history) -> None:
    """Equal notes differ, blank and null ones stay, the audience is null; words, shares and months are as they were."""
    strict, days = history.masked(key=KEY, strict=True), history.masked(key=KEY)
    masked = rows_of(history, strict)
    notes = masked["note"].iloc[::-1].tolist()
    assert len({notes[0], notes[4], notes[9]}) == 3
    assert notes[7:9] == ["", ""]
    assert masked["note"].isna().equals(history.payments["note"].isna())
    assert masked["audience"].isna().all()
    assert not days.payments["audience"].isna().any()
    for name in ("status", "action", "medium", "direction", "target_type", "source"):
        assert masked[name].astype("str").equals(history.payments[name].astype("str"))
    assert masked["amount_cents"].equals(rows_of(history, days)["amount_cents"])
    pd.testing.assert_frame_equal(p2p.monthly_flow(strict.payments), p2p.monthly_flow(days.payments))
    assert repr(strict).endswith(", strict privacy mode>")


def test_a_history_of_days_is_not_made_strict(history) -> None:
    """It would keep its days and say months; a strict one stays as it is."""
    with pytest.raises(ConfigurationError, match="strict=True"):
        history.masked().masked(strict=True)
    strict = history.masked(strict=True)
    assert strict.masked() is strict.masked(strict=True) is strict


def test_a_person_is_the_same_everywhere(history) -> None:
    """Actor, target, counterparty, friend and me agree on name and id; different people differ."""
    private = history.masked(key=KEY)
    payments, friends, me = private.payments.set_index("payment_id", drop=False), private.friends, private.me.user
    oldest = payments.iloc[-1]
    assert (oldest["actor_id"], oldest["actor_display_name"], oldest["actor_username"]) == (
        me.id, me.display_name, me.username,
    )  # fmt: skip
    friends = friends.set_index("user_id", drop=False).loc[[Pseudonyms(KEY).identifier("8811881188118811881")]]
    friends = friends.reset_index(drop=True)
    zeb = {oldest["target_user_display_name"], oldest["counterparty_name"], friends["display_name"][0]}
    assert zeb == {Pseudonyms(KEY).name("8811881188118811881")}
    assert {oldest["target_user_id"], oldest["counterparty_id"], friends["user_id"][0]} == {
        Pseudonyms(KEY).identifier("8811881188118811881")
    }
    (name,) = zeb
    assert friends["first_name"][0] + " " + friends["last_name"][0] == name
    assert friends["username"][0] == name.lower().replace(" ", "-")
    assert len({me.display_name, *payments["counterparty_name"]}) == 7
    spent = p2p.spend_by_friend(private.payments, private.friends)
    assert spent["is_friend"].sum() == 1


def test_an_address_is_an_address_and_its_own_name(history) -> None:
    """Emails and phones without an account look like some; a merchant has a name; what shows nothing says so."""
    payments = history.masked(key=KEY).payments.iloc[::-1].reset_index(drop=True)
    kinds = Pseudonyms(KEY)
    expected = {
        4: kinds.email("ocarina@tuba.example"),
        5: kinds.phone("13035550188"),
        6: kinds.name("Quuxmart Emporium"),
        8: "unregistered email",
    }
    for row, shown_as in expected.items():
        assert (payments["counterparty_id"][row], payments["counterparty_name"][row]) == (shown_as, shown_as)
    assert payments["target_email"][4] == expected[4]
    assert payments["target_phone"][5] == expected[5]


def test_equal_notes_stay_equal_and_blank_ones_blank(history) -> None:
    """So counts by note are real; null stays null; ids, refunds and statuses keep their places."""
    payments, private = history.payments, rows_of(history, history.masked(key=KEY))
    notes = private["note"].iloc[::-1].tolist()
    assert notes[0] == notes[4] == notes[9]
    assert len({notes[0], notes[1], notes[2], notes[3]}) == 4
    assert notes[7:9] == ["", ""]
    assert private["note"].isna().tolist() == payments["note"].isna().tolist()
    for name in ("status", "action", "direction", "medium", "target_type"):
        assert private[name].equals(payments[name])
    assert private["payment_id"].nunique() == len(payments)
    people = history.masked(key=KEY).people
    dropped = ["about", "profile_picture_url", "date_joined", "friends_count", "also_named"]
    assert people[dropped].isna().all(axis=None)
    assert set(people["user_id"]) >= set(private["counterparty_id"][private["counterparty_username"].notna()])
    known = people.set_index("user_id")["username"]
    named = private.dropna(subset="counterparty_username")
    assert named["counterparty_username"].tolist() == known.loc[named["counterparty_id"]].tolist()


def test_problems_say_where_but_not_what(service) -> None:
    """Field and payment are listed; the value is hidden, and so is a description that would quote it."""
    service[1]["/v1/payments"]["data"] = [payment(14, action="Dudelsack"), payment(13, amount=98.765)]
    problems = load(service, on_bad_record="report").masked(key=KEY).problems
    assert problem_rows(problems) == [
        (
            Pseudonyms(KEY).identifier("550055005500550014"), "action", "hidden",
            "a word the document does not know; direction and flow stay empty",
        ),
        (Pseudonyms(KEY).identifier("550055005500550013"), "amount", "hidden", "not shown in privacy mode"),
    ]  # fmt: skip
    assert problems["code"].tolist() == ["unexpected", "unreadable"]


@pytest.mark.parametrize("schema", [PAYMENTS, FRIENDS, PROBLEMS], ids=["payments", "friends", "problems"])
def test_an_empty_frame_stays_one(schema: Mapping[str, str]) -> None:
    """Same columns, same dtypes, no rows."""
    empty = frame_from_rows([], schema)
    pd.testing.assert_frame_equal(Mask(KEY).frame(empty), empty)


def test_columns_and_dtypes_stay(history) -> None:
    """Masked frames are as the schema says, rows in the same order, nothing in their attrs or index."""
    for frame in (history.payments.copy(), history.friends.copy(), history.problems.copy()):
        frame.attrs["whose"] = "Krummhorn"
        masked = Mask(KEY).frame(frame.set_axis(["Krummhorn"] * len(frame)))
        assert list(map(str, masked.dtypes)) == list(map(str, frame.dtypes))
        assert masked.index.equals(pd.RangeIndex(len(frame)))
        assert masked.attrs == {}


def test_categories_hold_no_names(history) -> None:
    """A masked categorical of people has only pseudonyms as categories."""
    payments = history.payments
    text = [name for name, dtype in payments.dtypes.items() if dtype == "str"]
    masked = Mask(KEY).frame(payments.astype(dict.fromkeys(text, "category")))
    assert {masked[name].dtype.name for name in text} == {"category"}
    pd.testing.assert_frame_equal(masked.astype(dict.fromkeys(text, "str")), Mask(KEY).frame(payments))
    assert find_secrets({"categories": pickle.dumps(masked)}, SECRETS) == []


def test_a_table_of_an_analysis_joins_with_the_history(history, tmp_path: Path) -> None:
    """Read back under pseudonyms, it names the same people by the same ids, and each sum is scaled once.

    A sum is changed on its own, so it is near the sum of the masked amounts, but not that.
    """
    p2p.to_csv(p2p.spend_by_friend(history.payments, history.friends), tmp_path / "spend.csv")
    read = p2p.read_csv(tmp_path / "spend.csv", privacy=True)
    made = p2p.spend_by_friend(history.masked().payments, history.masked().friends)
    assert dict(zip(read["counterparty_id"], read["counterparty_name"], strict=True)) == dict(
        zip(made["counterparty_id"], made["counterparty_name"], strict=True)
    )
    assert read["is_friend"].sum() == made["is_friend"].sum()
    assert read["payments"].sum() == made["payments"].sum()
    sums = [table.set_index("counterparty_name")["sent"].sort_index() for table in (read, made)]
    assert (sums[0].eq(0) == sums[1].eq(0)).all()
    assert sums[0].div(sums[1]).dropna().between(0.26 / 1.74, 1.74 / 0.26).all()


def test_shares_of_money_do_not_give_the_money(history) -> None:
    """A share to all its digits times the right whole is whole cents, so of a table's shares two digits are kept."""
    spent = p2p.spend_by_friend(history.payments)
    masked = Mask(KEY).frame(spent)
    assert masked["share_of_sent"].equals(spent["share_of_sent"].round(2))
    assert not masked["share_of_sent"].equals(spent["share_of_sent"])
    mix = p2p.status_mix(history.payments)
    assert Mask(KEY).frame(mix)["share_of_amount"].equals(mix["share_of_amount"].round(2))


def test_columns_that_nobody_knows_are_masked(tmp_path: Path) -> None:
    """Text is taken for notes and numbers for amounts, so a table of one's own leaks nothing; dates and truth stay."""
    own = pd.DataFrame(
        {
            "Liebling": ["Volodya", None],
            "spent": [4321.57, None],
            "total": pd.array([1065432, None], "Int64"),
            "seen": pd.to_datetime(["2024-05-01", None], utc=True),
            "paid": [True, False],
        }
    )
    p2p.to_csv(own, tmp_path / "own.csv")
    masked, real = (p2p.read_csv(tmp_path / "own.csv", privacy=privacy) for privacy in (True, False))
    assert find_secrets({"own": render_table(masked)}, ["Volodya", "4321.57", "1065432"]) == []
    assert list(map(str, masked.dtypes)) == list(map(str, real.dtypes))
    assert masked.isna().equals(real.isna())
    assert masked[["seen", "paid"]].equals(real[["seen", "paid"]])


def test_narrow_integers_are_widened() -> None:
    """A masked amount need not fit the integers of the real one, so these become 64 bits wide; nulls stay."""
    own = pd.DataFrame({name: pd.array([100, 0], dtype=name) for name in ("int8", "uint8", "int16", "int32")})
    own["Int8"] = pd.array([100, None], dtype="Int8")
    masked = Mask(KEY).frame(own)
    assert [str(dtype) for dtype in masked.dtypes] == ["int64", "int64", "int64", "int64", "Int64"]
    assert masked.iloc[0].tolist() == [Pseudonyms(KEY).cents(100)] * 5
    assert masked["Int8"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    "column",
    [pd.period_range("2024-05", periods=2, freq="M"), pd.interval_range(0, 2)],
    ids=["period", "interval"],
)
def test_a_column_that_cannot_be_masked_is_refused_by_name(column) -> None:
    """The sentence names the column and its dtype and says what to do, and no value."""
    with pytest.raises(SchemaError, match=r"'when' has dtype (period|interval).*convert it") as caught:
        Mask(KEY).frame(pd.DataFrame({"when": column}))
    assert "2024" not in str(caught.value)


@pytest.mark.parametrize("strict", [False, True])
def test_sensitive_notes(strict: bool) -> None:  # noqa: FBT001 - a parameter
    """Masked notes are not sensitive; a table of exposure is masked to that of the masked payments."""
    notes = [("beer", "public"), ("doctor", "public"), ("rent", "friends"), ("x", None)]
    fixed = {"kind": "payment", "source": "api", "date_created": pd.Timestamp("2024-05-01T12:00Z")}
    rows = [{"payment_id": str(at), "note": note, "audience": to, **fixed} for at, (note, to) in enumerate(notes)]
    frame = frame_from_rows(rows, PAYMENTS)
    mask = Mask(KEY, strict=strict)
    masked = mask.frame(frame)
    assert len(p2p.sensitive_notes(frame)) == 2
    assert p2p.sensitive_notes(masked).empty
    table = mask.frame(p2p.sensitive_notes(frame))
    assert not {"beer", "doctor", "health", "drugs and alcohol and gambling"} & {*table["note"], *table["reasons"]}
    counts = p2p.exposure(frame)
    assert counts["sensitive_public"].tolist() == [2]
    pd.testing.assert_frame_equal(mask.frame(counts), p2p.exposure(masked))


def test_words_of_pseudonyms_are_not_sensitive() -> None:
    """No pair of words that masked notes are made of is found by the lists."""
    notes = [f"{first} {thing}".lower() for first in _FIRSTS for thing in _THINGS[:: 1 + len(_FIRSTS) // 4]]
    notes += [f"calm {thing}" for thing in _THINGS] + [f"{first} kettle" for first in _FIRSTS]
    frame = frame_from_rows([{"payment_id": "1", "note": note, "audience": "public"} for note in notes], PAYMENTS)
    assert p2p.sensitive_notes(frame)["note"].tolist() == []
