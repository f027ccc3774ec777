"""The lines of an account: a small ledger by hand, and the whole history of towns against the list of payments."""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from sandbox.oauth import EVERY

from p2p_analytics.sandbox import SandboxServer, SettingError, UnknownPersonError
from p2p_analytics.sandbox.statements.write import GENERATIONS
from p2p_analytics.sandbox.storage.rows import PaymentFilter
from support.servers import sandbox_fixture
from support.statements.plain_files import OWN_BALANCE, instant, moved_cents, read_csv, to_cents

ME, FRIEND = "maya-lindqvist", "noor-haddad"
NAMES = {ME: "Maya Lindqvist", FRIEND: "Noor Haddad"}
WORDS = {
    "settled": "Complete", "pending": "Pending", "cancelled": "Cancelled", "failed": "Failed", "expired": "Expired",
}  # fmt: skip
BANK = "BANK OF SAND, N.A. Personal Checking *1234"
DAY = date(2025, 7, 2)

town = sandbox_fixture(people=12, years=2)


@pytest.fixture
def own() -> Iterator[SandboxServer]:
    """Return a small town two days after its start, in which the viewer has 100.00 and the friend nothing."""
    with SandboxServer(people=3, years=1) as server:
        for name, cents in ((ME, 10_000), (FRIEND, 0)):
            server.deposit(name, cents - _balance(server, name))
        server.advance(days=2)
        yield server
        assert server.audit() == []


def _balance(server: SandboxServer, name: str) -> int:
    return server.store.person_named(name).balance_cents


def rows_of_day(server: SandboxServer, name: str = ME, day: date = DAY) -> list[tuple[str, ...]]:
    """Return the opening balance, the lines of a day without their ids and dates, and the closing balance."""
    file = read_csv(server.statement(name, day, day))
    names = ("Type", "Status", "From", "To", "Amount (total)", "Funding Source", "Destination")
    return [(file.opening,), *(tuple(row[name] for name in names) for row in file.rows), (file.closing,)]


def test_a_ledger_by_hand(own, ask) -> None:
    """100.00 - 12.30 - 5.00 + 7.00 with a friend + 25.00 - 40.00 with the bank = 74.70; the bank pays the 150.00."""
    me, friend = ask(ME, *EVERY, on=own), ask(FRIEND, *EVERY, on=own)
    own.trust(ME, FRIEND, trusted=False)
    me.create(user_id=friend.id, amount="12.30")
    charge = friend.create(user_id=me.id, amount="-5.00")["payment"]["id"]
    me.put(charge, "approve")
    friend.create(user_id=me.id, amount="7.00")
    own.deposit(ME, 2_500)
    own.deposit(ME, -4_000)
    own.link_bank(ME)
    assert me.create(user_id=friend.id, amount="150.00")["balance"] == Decimal("74.70")
    mine, theirs = NAMES[ME], NAMES[FRIEND]
    assert rows_of_day(own) == [
        (10_000,),
        ("Payment", "Complete", mine, theirs, "- $12.30", OWN_BALANCE, ""),
        ("Charge", "Complete", theirs, mine, "- $5.00", OWN_BALANCE, ""),
        ("Payment", "Complete", theirs, mine, "+ $7.00", "", OWN_BALANCE),
        ("Standard Transfer", "Issued", "", "", "+ $25.00", "", OWN_BALANCE),
        ("Standard Transfer", "Issued", "", "", "- $40.00", "", BANK),
        ("Payment", "Complete", mine, theirs, "- $150.00", BANK, ""),
        (7_470,),
    ]
    assert rows_of_day(own, FRIEND) == [
        (0,),
        ("Payment", "Complete", mine, theirs, "+ $12.30", "", OWN_BALANCE),
        ("Charge", "Complete", theirs, mine, "+ $5.00", "", OWN_BALANCE),
        ("Payment", "Complete", theirs, mine, "- $7.00", OWN_BALANCE, ""),
        ("Payment", "Complete", mine, theirs, "+ $150.00", "", OWN_BALANCE),
        (16_030,),
    ]


def test_requests_move_nothing_until_they_are_paid(own, ask) -> None:
    """A pending request is dated at its creation, a paid one at its payment; a denied one stays where it was."""
    me, friend = ask(ME, *EVERY, on=own), ask(FRIEND, *EVERY, on=own)
    own.trust(FRIEND, ME, trusted=False)
    own.deposit(FRIEND, 10_000)
    paid, denied = (me.create(user_id=friend.id, amount=amount)["payment"]["id"] for amount in ("-8.00", "-9.00"))
    sides = (NAMES[ME], NAMES[FRIEND])
    assert rows_of_day(own)[1:] == [
        ("Charge", "Pending", *sides, "+ $8.00", "", ""),
        ("Charge", "Pending", *sides, "+ $9.00", "", ""),
        (10_000,),
    ]
    own.advance(days=3)
    friend.put(paid, "approve")
    friend.put(denied, "deny")
    assert rows_of_day(own)[1:] == [("Charge", "Cancelled", *sides, "+ $9.00", "", ""), (10_000,)]
    later = DAY + timedelta(days=3)
    assert rows_of_day(own, day=later)[1:] == [("Charge", "Complete", *sides, "+ $8.00", "", OWN_BALANCE), (10_800,)]


def test_money_to_an_address_is_held(own, ask) -> None:
    """The payment moves nothing, its hold takes the money, and after 30 days a refund brings it back."""
    me = ask(ME, *EVERY, on=own)
    me.create(email="nobody@example.net", amount="30.00")
    me.create(phone="15555550123", amount="20.00")
    hold = ("Payment Hold", "Complete", "", "")
    assert rows_of_day(own)[1:] == [
        ("Payment", "Pending", NAMES[ME], "unregistered email", "- $30.00", "", ""),
        (*hold, "- $30.00", OWN_BALANCE, ""),
        ("Payment", "Pending", NAMES[ME], "15555550123", "- $20.00", "", ""),
        (*hold, "- $20.00", OWN_BALANCE, ""),
        (5_000,),
    ]
    own.advance(days=31)
    assert rows_of_day(own)[1][:4] == ("Payment", "Expired", NAMES[ME], "nobody@example.net")
    (before,), *refunds, (after,) = rows_of_day(own, day=DAY + timedelta(days=30))
    assert refunds == [
        ("Refund", "Complete", "", "", "+ $30.00", "", OWN_BALANCE),
        ("Refund", "Complete", "", "", "+ $20.00", "", OWN_BALANCE),
    ]
    assert after - before == 5_000


def test_a_fee_is_a_row_of_its_own(own) -> None:
    """The town's fees come on top of an amount, so the total of the payment is the amount of the list."""
    when = own.now - timedelta(days=100)
    (payment_id,) = own.add_payments(ME, [{"date_created": when, "amount_cents": 1_000, "fee_cents": 19}])
    file = read_csv(own.statement(ME, when.date(), when.date()))
    fee = next(row for row in file.rows if row["Type"] == "Payment Fee" and row["Datetime"] == f"{when:%FT%T}")
    payment = next(row for row in file.rows if row["ID"] == payment_id)
    assert (payment["Amount (total)"], payment["Amount (fee)"], fee["Amount (total)"]) == ("- $10.00", "", "- $0.19")
    assert fee["Funding Source"] == payment["Funding Source"]


def test_payments_that_a_test_adds(own) -> None:
    """They change no balance: one that is received after the town's start goes to the bank at once."""
    received = {"date_created": own.now, "actor": FRIEND, "amount_cents": 1_000}
    own.add_payments(ME, [received, {"date_created": own.now, "target": FRIEND}])
    assert rows_of_day(own) == [
        (10_000,),
        ("Payment", "Complete", NAMES[FRIEND], NAMES[ME], "+ $10.00", "", OWN_BALANCE),
        ("Standard Transfer", "Issued", "", "", "- $10.00", "", BANK),
        ("Payment", "Complete", NAMES[ME], NAMES[FRIEND], "- $1.00", BANK, ""),
        (10_000,),
    ]


def read_files(server: SandboxServer, name: str, generation: str = "D") -> list[Any]:
    """Return the files that cover the history of a user."""
    return [read_csv(server.statement(name, *period, generation)) for period in server.statement_periods()]


@pytest.fixture(scope="module")
def files(town) -> dict[str, list[Any]]:
    """Return the files of generation D of a few people."""
    return {person.username: read_files(town, person.username) for person in town.people[:4]}


@pytest.mark.parametrize("generation", ["B", "C", "D2025", "E-full"])
def test_balances_add_up(town, files, generation: str) -> None:
    """Opening balance and the rows that move it give the closing balance, to the cent; the last one is the user's."""
    for name, found in {**files, ME: read_files(town, ME, generation)}.items():
        assert [file.opening + sum(map(moved_cents, file.rows)) for file in found] == [file.closing for file in found]
        assert found[-1].closing == _balance(town, name)
        assert sum(len(file.rows) for file in found) > 100


def test_overlapping_files_agree(town, files) -> None:
    """Neighbours share a week, have the same rows in it, and the balance goes on from one to the next."""
    periods = town.statement_periods()
    assert (periods[0][0], periods[-1][1]) == (date(2023, 7, 1), date(2025, 6, 30))
    for (one, first), (other, second) in pairwise(zip(periods, files[ME], strict=True)):
        assert ((one[1] - one[0]).days, (one[1] - other[0]).days) == (89, 6)
        shared = [row for row in first.rows if instant(row).date() >= other[0]]
        assert shared == [row for row in second.rows if instant(row).date() <= one[1]]
        assert first.closing - sum(map(moved_cents, shared)) == second.opening


def test_a_file_can_be_cut_at_any_day(town) -> None:
    """The rows of a period are those of its days, one by one; a period without rows has the balance of its time."""
    start, end = date(2025, 3, 1), date(2025, 3, 8)
    whole = read_csv(town.statement(ME, start, end))
    parts = [read_csv(town.statement(ME, day, day)) for day in (start + timedelta(days=number) for number in range(8))]
    assert whole.rows
    assert [row for part in parts for row in part.rows] == whole.rows
    assert (parts[0].opening, parts[-1].closing) == (whole.opening, whole.closing)
    assert all(one.closing == other.opening for one, other in pairwise(parts))
    early, late = (read_csv(town.statement(ME, f"{year}-01-01", f"{year}-01-31")) for year in (2020, 2031))
    assert (early.rows, late.rows) == ([], [])
    assert early.opening == early.closing == read_csv(town.statement(ME, *town.statement_periods()[0])).opening
    assert late.opening == late.closing == _balance(town, ME)


def test_payments_are_those_of_the_list(town, files) -> None:
    """Ids, cents, statuses, notes and names are those of the list of payments; settled ones have the completion."""
    people = {int(person.user_id): person.display_name for person in town.people}
    for name, found in files.items():
        me = town.store.person_named(name).user_id
        rows = {row["ID"]: row for file in found for row in file.rows}
        expected = {}
        for payment in town.store.payments(me, PaymentFilter(), 10_000):
            is_settled, is_out = payment.status == "settled", (payment.action == "pay") == (payment.actor_id == me)
            email = "unregistered email" if payment.target_email and payment.status == "pending" else None
            address = email or payment.target_email or payment.target_phone
            when_us = payment.completed_us if is_settled else payment.created_us
            expected[str(payment.payment_id)] = (
                WORDS[payment.status], (-1 if is_out else 1) * payment.amount_cents, payment.note,
                people[payment.actor_id], address or people[payment.target_user_id],
                datetime.fromtimestamp(when_us // 1_000_000, UTC),
            )  # fmt: skip
        assert expected == {
            key: (
                row["Status"], to_cents(row["Amount (total)"]), row["Note"], row["From"], row["To"], instant(row),
            )
            for key, row in rows.items()
            if row["Type"] in {"Payment", "Charge"}
        }  # fmt: skip
        own_ids = {key for key, row in rows.items() if row["Type"] not in {"Payment", "Charge", "Refund"}}
        assert {len(key) for key in own_ids} == {19}
        assert len({tuple(row.items()) for file in found for row in file.rows}) == len(rows)


def test_every_type_occurs(files) -> None:
    """The viewer's history has every type and every status, once a type that no reader knows, tips, taxes and fees."""
    rows = list({row["ID"]: row for file in files[ME] for row in file.rows}.values())
    types = Counter(row["Type"] for row in rows)
    assert set(types) == {
        "Payment", "Charge", "Standard Transfer", "Instant Transfer", "Merchant Transaction", "Refund",
        "Credit Card Payment", "Credit Card Reward", "Direct Deposit", "Payment Hold", "Payment Fee",
        "Neighborhood Bonus",
    }  # fmt: skip
    assert types["Neighborhood Bonus"] == 1
    assert {row["Status"] for row in rows} == {"Complete", "Issued", "Pending", "Cancelled", "Failed", "Expired"}
    assert {row["Status"] for row in rows if row["Type"] == "Instant Transfer"} == {"Issued"}
    sources = {row["Funding Source"] for row in rows if row["Type"] == "Payment" and row["Status"] == "Complete"}
    assert sources == {"", OWN_BALANCE, BANK}
    assert {row["Type"] for row in rows if row["Amount (tip)"]} == {"Merchant Transaction"}
    assert {row["Type"] for row in rows if row["Amount (fee)"]} == {"Instant Transfer"}
    for row in rows:
        inside = [to_cents(row[name]) for name in ("Amount (tip)", "Amount (fee)") if row[name]]
        assert sum(inside) < abs(to_cents(row["Amount (total)"]))


def test_fees_of_the_period_and_of_the_year(own) -> None:
    """The closing row has the fees of the file, and those since January of the year in which it ends."""
    text = own.statement(ME, "2024-12-15", "2025-03-14")
    start, between, end = (
        sum(
            to_cents(row["Amount (fee)"] or "$0.00") - (row["Type"] == "Payment Fee") * to_cents(row["Amount (total)"])
            for row in read_csv(own.statement(ME, *period)).rows
        )
        for period in (("2024-12-15", "2024-12-31"), ("2025-01-01", "2025-02-28"), ("2025-03-01", "2025-03-14"))
    )
    closing = next(line for line in text.splitlines() if "This account belongs" in line)
    year = between + end
    assert year > 0
    assert f"${(start + year) / 100:.2f},,${year / 100:.2f}," in closing


def test_the_same_seed_gives_the_same_files() -> None:
    """A file of the past stays when the clock moves on, and after a reset to the same seed; other seeds have others."""
    with SandboxServer(5, people=3, years=1) as server:
        text = server.statement(ME, "2025-04-02", "2025-06-30")
        server.advance(days=5)
        assert server.statement(ME, "2025-04-02", "2025-06-30") == text
        server.reset(seed=6)
        assert server.statement(ME, "2025-04-02", "2025-06-30") != text
        server.reset(seed=5)
        assert server.statement(ME, "2025-04-02", "2025-06-30") == text


def test_at_most_90_days(town) -> None:
    """90 days with both ends are served, 91 are refused with their number."""
    assert read_csv(town.statement(ME, "2025-01-01", "2025-03-31")).rows
    with pytest.raises(SettingError, match=r"at most 90 days, and 2025-01-01 to 2025-04-01 are 91: ask"):
        town.statement(ME, "2025-01-01", "2025-04-01")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("2025-02-01", "2025-01-31"), "cannot end on 2025-01-31, before its start on 2025-02-01"),
        (("2025-02-30", "2025-03-01"), "'2025-02-30' is no date"),
        ((datetime(2025, 1, 1, tzinfo=UTC), date(2025, 1, 2)), "whole days in UTC"),
        ((20250101, date(2025, 1, 2)), "whole days in UTC: give a date, not 20250101"),
        (("2025-01-01", "2025-01-02", "F"), "no statement generation 'F': choose A, B, C, D, D2025, E, E-full or JSON"),
    ],
)
def test_arguments_that_are_refused(town, arguments: tuple[Any, ...], message: str) -> None:
    """One sentence that names the error."""
    with pytest.raises(SettingError, match=message):
        town.statement(ME, *arguments)


def test_whose_statement(town) -> None:
    """A username and a user id are the same person; others are refused; a stopped server has none."""
    period = ("2025-05-01", "2025-05-31")
    assert town.statement(town.people[0].user_id, *period) == town.statement(ME, *period)
    with pytest.raises(UnknownPersonError, match="no-such"):
        town.statement("no-such", *period)
    with pytest.raises(SettingError, match="not running"):
        SandboxServer(people=3, years=1).statement(ME, *period)


def test_no_file_holds_a_token(own, ask) -> None:
    """Tokens that were issued and used, also for writes, are in no file of any generation."""
    me = ask(ME, "access_profile", "make_payments", on=own)
    me.create(phone="15555550123", amount="20.00")
    issued = [me.token, own.token(ME), own.token(FRIEND)]
    for generation in GENERATIONS:
        text = own.statement(ME, own.now.date(), own.now.date(), generation)
        assert "15555550123" in text
        for token in issued:
            assert len(token) > 20
            assert token not in text
