"""What the mask of privacy mode replaces in a history with a secret word in each private place, and what stays."""

import pickle
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, SchemaError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.privacy import Mask, Pseudonyms
from p2p_analytics.records import Me, User
from support.frames import frame_from_rows, problem_rows
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
    day = 86_400_000_000
    durations = Mask(KEY, strict=strict).frame(pd.DataFrame({"settle_us": [45 * day + 1]}))["settle_us"]
    assert durations.tolist() == [(30 if strict else 45) * day]
    moment = datetime(2024, 5, 31, 23, 59, tzinfo=UTC)
    assert Mask(KEY, strict=strict).instant(moment) == datetime(2024, 5, 1 if strict else 31, tzinfo=UTC)


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
    """Equal notes differ, the audience is null; words, shares and months stay; a history of days is not made strict."""
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
    assert strict.masked() is strict.masked(strict=True) is strict
    with pytest.raises(ConfigurationError, match="strict=True"):
        days.masked(strict=True)


def test_a_person_is_the_same_everywhere(history) -> None:
    """Actor, target, counterparty, friend and me agree on name and id; different people differ."""
    private, real = history.masked(key=KEY), "8811881188118811881"
    identifier, name = Pseudonyms(KEY).identifier(real), Pseudonyms(KEY).name(real)
    oldest, me = private.payments.iloc[-1], private.me.user
    assert oldest[["actor_id", "actor_display_name", "actor_username"]].tolist() == [
        me.id,
        me.display_name,
        me.username,
    ]
    assert oldest[["target_user_id", "counterparty_id"]].tolist() == [identifier] * 2
    assert oldest[["target_user_display_name", "counterparty_name"]].tolist() == [name] * 2
    friend = private.friends.set_index("user_id").loc[identifier]
    assert friend[["display_name", "first_name", "last_name", "username"]].tolist() == [
        name, *name.split(), name.lower().replace(" ", "-"),
    ]  # fmt: skip
    assert len({me.display_name, *private.payments["counterparty_name"]}) == 7
    assert p2p.spend_by_friend(private.payments, private.friends)["is_friend"].sum() == 1


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
    named = private.dropna(subset="counterparty_username")
    assert set(people["user_id"]) >= set(named["counterparty_id"])
    usernames = people.set_index("user_id")["username"].loc[named["counterparty_id"]]
    assert named["counterparty_username"].tolist() == usernames.tolist()


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


def test_columns_and_dtypes_stay(history) -> None:
    """Masked frames are as the schema says, with rows or without; nothing is in their attrs or index."""
    for frame in (history.payments.copy(), history.friends.copy(), history.problems.copy()):
        frame.attrs["whose"] = "Krummhorn"
        masked = Mask(KEY).frame(frame.set_axis(["Krummhorn"] * len(frame)))
        assert list(map(str, masked.dtypes)) == list(map(str, frame.dtypes))
        assert masked.index.equals(pd.RangeIndex(len(frame)))
        assert masked.attrs == {}
        pd.testing.assert_frame_equal(Mask(KEY).frame(frame[:0]), frame[:0].reset_index(drop=True))


def test_categories_hold_no_names(history) -> None:
    """A masked categorical of people has only pseudonyms as categories."""
    payments = history.payments
    text = [name for name, dtype in payments.dtypes.items() if dtype == "str"]
    masked = Mask(KEY).frame(payments.astype(dict.fromkeys(text, "category")))
    assert {masked[name].dtype.name for name in text} == {"category"}
    pd.testing.assert_frame_equal(masked.astype(dict.fromkeys(text, "str")), Mask(KEY).frame(payments))
    assert find_secrets({"categories": pickle.dumps(masked)}, SECRETS) == []


def test_a_table_of_an_analysis_joins_with_the_history(history, tmp_path: Path) -> None:
    """Read back, it has the same people by the same ids; sums are changed on their own, and shares keep two digits."""
    spent, mix = p2p.spend_by_friend(history.payments, history.friends), p2p.status_mix(history.payments)
    p2p.to_csv(spent, tmp_path / "spend.csv")
    read = p2p.read_csv(tmp_path / "spend.csv", privacy=True)
    made = p2p.spend_by_friend(history.masked().payments, history.masked().friends)
    people = [dict(zip(table["counterparty_id"], table["counterparty_name"], strict=True)) for table in (read, made)]
    assert people[0] == people[1]
    assert read["is_friend"].sum() == made["is_friend"].sum()
    assert read["payments"].sum() == made["payments"].sum()
    sums = [table.set_index("counterparty_name")["sent"].sort_index() for table in (read, made)]
    assert (sums[0].eq(0) == sums[1].eq(0)).all()
    assert sums[0].div(sums[1]).dropna().between(0.26 / 1.74, 1.74 / 0.26).all()
    for table, name in ((spent, "share_of_sent"), (mix, "share_of_amount")):
        assert Mask(KEY).frame(table)[name].equals(table[name].round(2))
    assert not spent["share_of_sent"].equals(spent["share_of_sent"].round(2))


def test_columns_that_nobody_knows_are_masked(tmp_path: Path) -> None:
    """Text is taken for notes and numbers for amounts, also in columns called as ours; narrow integers are widened."""
    ours = ["source", "problem", "field", "month", "band", "direction", "target_type", "payments", "share", "age_days"]
    own = pd.DataFrame(
        {
            "Liebling": ["Volodya gave this", None],
            "spent": [4321.57, None],
            "total": pd.array([1065432, None], "Int64"),
            "seen": pd.to_datetime(["2024-05-01", None], utc=True),
            "paid": [True, False],
        }
    )
    p2p.to_csv(own, tmp_path / "own.csv")
    masked, real = (p2p.read_csv(tmp_path / "own.csv", privacy=privacy) for privacy in (True, False))
    for made in (masked, Mask(KEY).frame(own.assign(**dict.fromkeys(ours, "Volodya gave this")))):
        assert find_secrets({"own": render_table(made)}, ["Volodya", "4321.57", "1065432"]) == []
    assert list(map(str, masked.dtypes)) == list(map(str, real.dtypes))
    assert masked.isna().equals(real.isna())
    assert masked[["seen", "paid"]].equals(real[["seen", "paid"]])
    narrow = pd.DataFrame({name: pd.array([100, 0], dtype=name) for name in ("int8", "uint8", "int16", "int32")})
    narrow["Int8"] = pd.array([100, None], dtype="Int8")
    wide = Mask(KEY).frame(narrow)
    assert [str(dtype) for dtype in wide.dtypes] == ["int64", "int64", "int64", "int64", "Int64"]
    assert wide.iloc[0].tolist() == [Pseudonyms(KEY).cents(100)] * 5
    assert wide["Int8"].isna().tolist() == [False, True]


def test_a_column_that_cannot_be_masked_is_refused_by_name() -> None:
    """The sentence names the column and its dtype and says what to do, and no value."""
    for column in (pd.period_range("2024-05", periods=2, freq="M"), pd.interval_range(2024, 2026)):
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
    """The lists find none of the words that masked notes are made of, each of which is in many of 3,000 notes."""
    pseudonyms = Pseudonyms(KEY)
    rows = [{"payment_id": "1", "note": pseudonyms.note(f"{at}"), "audience": "public"} for at in range(3_000)]
    assert p2p.sensitive_notes(frame_from_rows(rows, PAYMENTS))["note"].tolist() == []


@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_blank_name_has_a_pseudonym_as_any_other(blank: str) -> None:
    """Few people have a blank name, so it would mark them; a null stays, because it says which fields were sent."""
    cafe, nameless = "4488448844884488448", "4477447744774477447"
    rows = [(cafe, "kafferep", "Kafferep", "Kafferep", blank), (nameless, blank, blank, blank, None)]
    columns = ["user_id", "username", "display_name", "first_name", "last_name"]
    people = Mask(KEY).frame(pd.DataFrame(rows, columns=columns)).set_index("user_id").fillna("-")
    for who, is_sent in ((cafe, True), (nameless, False)):
        first, last = Pseudonyms(KEY).name(who).split()
        names = [f"{first}-{last}".lower(), f"{first} {last}", first, last if is_sent else "-"]
        assert people.loc[Pseudonyms(KEY).identifier(who)].tolist() == names
    me = Mask(KEY).me(Me(user=User(id="7", display_name="Ada", last_name=blank)))
    assert me.user.last_name == Pseudonyms(KEY).name("7").split()[1]
    # In payments too, with an id and without, for the actor as for the counterparty.
    columns = [f"{who}_{field}" for who in ("actor", "counterparty") for field in ("id", "name", "username")]
    columns[1] = "actor_display_name"
    payments = pd.DataFrame([(nameless, blank, blank) * 2, (None, blank, blank) * 2, (None, "Zeb", None) * 2])
    masked = Mask(KEY).frame(payments.set_axis(columns, axis=1)).fillna("-").to_numpy().tolist()
    name, unnamed = Pseudonyms(KEY).name(nameless), Pseudonyms(KEY).name("")
    assert masked == [
        [Pseudonyms(KEY).identifier(nameless), name, name.lower().replace(" ", "-")] * 2,
        ["-", unnamed, unnamed.lower().replace(" ", "-")] * 2,
        ["-", Pseudonyms(KEY).name("Zeb"), "-"] * 2,
    ]
