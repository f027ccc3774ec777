"""The demo town: the same for the same seed, with all the cases of real histories."""

import itertools
import os
import re
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

from p2p_analytics.sandbox.storage.rows import Payment
from p2p_analytics.sandbox.town import build
from p2p_analytics.sandbox.town.notes import CONCERTS, DINNERS
from p2p_analytics.sandbox.town.timeline import from_microseconds, to_microseconds

DAY_US = 86_400_000_000
BUILD = "from p2p_analytics.sandbox.town import build; print(repr(build.build(11, people=20, years=2)))"


@pytest.fixture(scope="module", params=[7, 1, 20_260])
def town(request) -> build.Town:
    """Return the default town of a seed."""
    return build.build(request.param)


def _find_me(town: build.Town) -> int:
    return town.people[0].user_id


def list_mine(town: build.Town) -> list[Payment]:
    """Return the viewer's payments, without refunds."""
    me = _find_me(town)
    return [row for row in town.payments if me in (row.actor_id, row.target_user_id) and row.refund_of is None]


def test_a_seed_gives_the_same_town_in_every_process() -> None:
    """The order of sets, which differs between processes, does not affect the town; another seed gives another one."""
    command, environment = [sys.executable, "-c", BUILD], {**os.environ, "PYTHONHASHSEED": "1"}
    printed = subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout  # noqa: S603 - our own code
    one, other = (repr(build.build(seed, people=20, years=2)) for seed in (11, 12))
    assert (printed == f"{one}\n", one == other) == (True, False)


def test_the_viewer_has_years_of_everything(town) -> None:
    """Four years, every status and action, every audience, every kind of target, and ids of several lengths."""
    rows, now_us = list_mine(town), to_microseconds(town.now)
    assert 300 <= len(rows) <= 1_500
    assert min(row.created_us for row in rows) < now_us - (365 * 4 - 60) * DAY_US
    assert {row.status for row in rows} == {"settled", "pending", "failed", "expired", "cancelled"}
    assert {(row.action, row.status) for row in rows} >= {("pay", "pending"), ("charge", "pending")}
    assert {row.audience for row in rows} == {"public", "friends", "private"}
    assert {row.target_type for row in rows} == {"user", "email", "phone"}
    for row in rows:
        assert row.created_us < now_us
        assert row.completed_us is None or row.created_us <= row.completed_us <= now_us
    seconds = Counter(row.created_us // 1_000_000 for row in rows)
    assert seconds.total() - len(seconds) > 20
    assert max(seconds.values()) < 50
    ids = [row.payment_id for row in rows]
    assert len(set(ids)) == len(ids)
    assert sum(one > 2**53 for one in ids) > 0.9 * len(ids)
    assert {len(str(one)) for one in ids} >= {19, 18, 7}


def test_requests_of_every_age_are_open(town) -> None:
    """Charges to and by the viewer are pending in each band of 1, 7, 30 and 90 days."""
    bands: dict[bool, set[int]] = {True: set(), False: set()}
    for row in list_mine(town):
        if row.status == "pending" and row.action == "charge":
            age = (to_microseconds(town.now) - row.created_us) / DAY_US
            bands[row.actor_id == _find_me(town)].add(sum(age >= edge for edge in (1, 7, 30, 90)))
    assert bands == {True: {0, 1, 2, 3, 4}, False: {0, 1, 2, 3, 4}}


def test_notes_and_names_that_break_software(town) -> None:
    """Text that breaks spreadsheets, parsers, plots and pages; namesakes, both of whom the viewer has payments with."""
    rows = list_mine(town)
    notes = {row.note for row in rows}
    assert notes >= {"NA", "null", "=SUM(1)", "$20 of $x^2$ homework", "<b>bold</b> & <script>alert(1)</script>"}
    assert any("\n" in note for note in notes)
    assert any('"' in note and "," in note for note in notes)
    assert any("\u200d" in note for note in notes)
    assert max(map(len, notes)) > 1_000
    names = {one.username: (one.first_name, one.last_name, one.display_name) for one in town.people}
    assert names["layla-mansour"] == ("ليلى", "منصور", "ليلى منصور")
    assert names["wang-fang"] == ("芳", "王", "王芳")
    assert names["kim-minji"] == ("민지", "김", "김민지")
    assert names["bean-and-leaf"] == ("Bean & Leaf", "", "Bean & Leaf Café")
    assert names["kai_"][2] == "_kai"
    assert names["sam-rivera"] == names["sam-rivera-2"]
    sams = {one.user_id for one in town.people if one.display_name == "Sam Rivera"}
    assert sams <= {one for row in rows for one in (row.actor_id, row.target_user_id)}


def test_late_answers_settle_in_another_month(town) -> None:
    """Requests of both directions settle more than a month after their creation; more of them take over a week."""
    waits: dict[bool, list[float]] = {True: [], False: []}
    other_month = 0
    for row in list_mine(town):
        if row.status == "settled" and row.action == "charge":
            waits[row.actor_id == _find_me(town)].append((row.completed_us - row.created_us) / DAY_US)
            created, completed = map(from_microseconds, (row.created_us, row.completed_us))
            other_month += (created.year, created.month) != (completed.year, completed.month)
    for days in waits.values():
        assert sum(wait > 31 for wait in days) >= 1
        assert sum(wait > 7 for wait in days) >= 3
        assert sum(wait < 2 for wait in days) > 0.8 * len(days)
    assert other_month >= 10


def test_balances_follow_from_the_history(town) -> None:
    """By the rules of the README: the balance pays what it covers, keeps at most 1,000.00, and refunds come back."""
    for person in town.people:
        me, events = person.user_id, []
        held = [town.opening_cents[me]]
        for row in town.payments:
            if row.refund_of is not None and row.actor_id == me:
                events.append((row.completed_us, row.payment_id, row.amount_cents))
            elif row.refund_of is None and me in (row.actor_id, row.target_user_id):
                is_out = (row.action == "pay") == (row.actor_id == me)
                cost = -row.amount_cents - (row.fee_cents or 0)
                if row.status == "settled":
                    events.append((row.completed_us, row.payment_id, cost if is_out else row.amount_cents))
                elif is_out and row.target_user_id is None and row.status in ("pending", "expired"):
                    events.append((row.created_us, row.payment_id, cost))
        for _, _, change in sorted(events):
            held.append(min(held[-1] + change, 100_000) if change > 0 else held[-1] + change * (held[-1] >= -change))
        assert person.balance_cents == held[-1] >= 0
        assert len(events) > 20


def test_larger_towns_have_more_of_everything() -> None:
    """Names in Han, Hangul and Arabic letters and namesakes beyond the first people; keys stay unique."""
    default, large = build.build(), build.build(people=200, years=2)
    assert 1_200 <= len(default.payments) <= 2_600
    assert len(large.payments) > 6 * len(default.payments)
    names = [person.display_name for person in large.people[12:]]
    for first, last in (("\u4e00", "\u9fff"), ("\uac00", "\ud7a3"), ("\u0600", "\u06ff")):
        assert sum(first <= name[0] <= last for name in names) >= 3
    assert len(set(names)) < len(names)
    assert all(re.fullmatch("[a-z0-9-]+", person.username) for person in large.people[12:])
    for field in ("user_id", "username", "email", "phone"):
        assert len({getattr(one, field) for one in large.people}) == 200


@pytest.mark.parametrize(("seed", "people"), [(7, 12), (1, 12), (3, 3), (20_260, 3)])
def test_open_requests_are_no_mirror_images(seed: int, people: int) -> None:
    """No two open requests between the viewer and one person are a day, or two units, apart; none is on the hour."""
    built = build.build(seed, people=people)
    me, crafted_us = _find_me(built), to_microseconds(built.now) - 210 * DAY_US
    of: dict[int, list[Any]] = {}
    for row in list_mine(built):
        if row.status == "pending" and row.target_user_id:
            assert row.created_us // 1_000_000 % 3_600
            if row.created_us > crafted_us and row.note in DINNERS + CONCERTS:
                of.setdefault(row.actor_id + row.target_user_id - me, []).append(row)
    assert sum(map(len, of.values())) >= 16
    for one, other in (pair for rows in of.values() for pair in itertools.combinations(rows, 2)):
        assert abs(one.created_us - other.created_us) > DAY_US
        assert abs(one.amount_cents - other.amount_cents) > 200


def test_the_cafe_is_a_merchant(town) -> None:
    """The business has no home and no friends, sends no requests, and is paid for coffee only."""
    cafe = town.people[8].user_id
    rows = [row for row in town.payments if cafe in (row.actor_id, row.target_user_id)]
    assert len(rows) > 20
    assert {(row.target_user_id, row.action, row.note) for row in rows} == {(cafe, "pay", "☕")}
    assert all(row.fee_cents for row in rows)
    assert cafe not in {one for pair in town.friendships for one in pair}


def test_strangers_are_each_persons_own() -> None:
    """No address gets money or requests from two people; a larger town has more expired payments."""
    small, large = build.build(people=12), build.build(people=60)
    for built in (small, large):
        sent = [row for row in built.payments if row.target_user_id is None]
        pairs = {(row.target_email or row.target_phone, row.actor_id) for row in sent}
        assert len(pairs) == len({address for address, _ in pairs})
        assert len({row.created_us // 1_000_000 for row in sent}) == len(sent)
    counts = [sum(row.status == "expired" for row in built.payments) for built in (small, large)]
    assert counts[1] >= 3 * counts[0] > 3


def test_the_rent_rises_each_year(town) -> None:
    """The viewer pays rent in four amounts, each above the one before."""
    me = _find_me(town)
    rents = [row.amount_cents for row in list_mine(town) if row.note.startswith("Rent") and row.actor_id == me]
    assert rents == sorted(rents)
    assert len(set(rents)) == 4
    assert 40_000 <= rents[0] < rents[-1] <= 60_000
