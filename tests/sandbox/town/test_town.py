"""The demo town: the same for the same seed, with all the cases of real histories."""

from __future__ import annotations

import itertools
import json
import os
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer, SettingError
from p2p_analytics.sandbox.town import build
from p2p_analytics.sandbox.town.notes import CONCERTS, DINNERS
from p2p_analytics.sandbox.town.timeline import to_microseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Asking = Callable[..., Any]

DIGEST = (
    "import hashlib; from p2p_analytics.sandbox.town import build as town; "
    "built = town.build(11, people=20, years=2); "
    "print(hashlib.sha256(repr((built.people, built.friendships, built.payments)).encode()).hexdigest())"
)


def instant(text: str) -> datetime:
    """Parse any of the three spellings of an instant."""
    return datetime.fromisoformat(text.removesuffix("Z")).replace(tzinfo=UTC)


def pages(ask: Asking, seed: int) -> bytes:
    """Return all responses to the town's viewer, without the server's port."""
    with SandboxServer(seed, years=1) as own:
        me = ask(on=own)
        answers = [me.get("/me"), me.get(f"/users/{own.people[0].user_id}/friends")]
        before = "2026-01-01"
        while True:
            answers.append(me.get("/payments", limit=50, before=before))
            body = answers[-1].json()
            if body["pagination"]["next"] is None:
                break
            before = body["data"][-1]["date_created"]
        me.session.close()
        return b"".join(answer.content for answer in answers).replace(own.base_url.encode(), b"")


def test_a_seed_gives_the_same_bytes(ask: Asking) -> None:
    """Two servers with one seed respond with the same bytes; another seed's responses differ."""
    first = pages(ask, 3)
    assert len(first) > 50_000
    assert first == pages(ask, 3)
    assert first != pages(ask, 4)


def test_a_seed_gives_the_same_town_in_every_process() -> None:
    """The order of sets, which differs between processes, does not affect the town."""
    digests = {
        subprocess.run(  # noqa: S603 - our own code
            [sys.executable, "-c", DIGEST], env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


@pytest.fixture(scope="module", params=[7, 1, 20_260])
def history(request: pytest.FixtureRequest) -> Iterator[tuple[SandboxServer, list[Any]]]:
    """Return a default town of one seed and its viewer's history as the service lists it."""
    import requests

    with SandboxServer(request.param) as own, requests.Session() as session:
        session.trust_env = False
        found: dict[str, Any] = {}
        parameters = {"access_token": own.token(own.viewer), "limit": "50"}
        while True:
            page = json.loads(session.get(f"{own.base_url}/payments", params=parameters).content, parse_float=Decimal)
            found |= {item["id"]: item for item in page["data"]}
            if page["pagination"]["next"] is None:
                break
            parameters["before"] = (instant(page["data"][-1]["date_created"]) + timedelta(seconds=1)).isoformat()
        yield own, list(found.values())


def test_the_viewer_has_years_of_everything(history: tuple[SandboxServer, list[Any]]) -> None:
    """Four years, every status and action, every audience, every kind of target, friends and strangers."""
    own, items = history
    assert 300 <= len(items) <= 1_500
    ages = [own.now - instant(item["date_created"]) for item in items]
    assert min(ages) > timedelta(0)
    assert max(ages) > timedelta(days=365 * 4 - 60)
    assert {item["status"] for item in items} == {"settled", "pending", "failed", "expired", "cancelled"}
    assert {(item["action"], item["status"]) for item in items} >= {("pay", "pending"), ("charge", "pending")}
    assert {item["audience"] for item in items} == {"public", "friends", "private"}
    assert {item["target"]["type"] for item in items} == {"user", "email", "phone"}


def test_requests_of_every_age_are_open(history: tuple[SandboxServer, list[Any]]) -> None:
    """Charges to and by the viewer are pending in each band of 1, 7, 30 and 90 days."""
    own, items = history
    me = own.people[0].user_id
    bands = {True: set(), False: set()}
    for item in items:
        if item["status"] == "pending" and item["action"] == "charge":
            age = (own.now - instant(item["date_created"])) / timedelta(days=1)
            bands[item["actor"]["id"] == me].add(sum(age >= edge for edge in (1, 7, 30, 90)))
    assert bands == {True: {0, 1, 2, 3, 4}, False: {0, 1, 2, 3, 4}}


def test_nothing_completes_before_it_is_created_or_after_now(history: tuple[SandboxServer, list[Any]]) -> None:
    """Completion lies between creation and the town's now."""
    own, items = history
    for item in items:
        if item["date_completed"]:
            assert instant(item["date_created"]) <= instant(item["date_completed"]) <= own.now


def test_ties_and_ids(history: tuple[SandboxServer, list[Any]]) -> None:
    """Some seconds hold several payments; ids are unique, mostly above 2**53, and of several lengths."""
    _, items = history
    seconds = [item["date_created"][:19] for item in items]
    assert len(seconds) - len(set(seconds)) > 20
    assert max(seconds.count(one) for one in set(seconds)) < 50
    ids = [int(item["id"]) for item in items]
    assert len(set(ids)) == len(ids)
    assert sum(one > 2**53 for one in ids) > 0.9 * len(ids)
    assert {len(str(one)) for one in ids} >= {19, 18, 7}


def test_notes_and_names_that_break_software(history: tuple[SandboxServer, list[Any]]) -> None:
    """Notes and names contain text that breaks spreadsheets, parsers, plots and pages."""
    own, items = history
    notes = {item["note"] for item in items}
    assert notes >= {"NA", "null", "=SUM(1)", "$20 of $x^2$ homework", "<b>bold</b> & <script>alert(1)</script>"}
    assert any("\n" in note for note in notes)
    assert any('"' in note and "," in note for note in notes)
    assert any("\u200d" in note for note in notes)
    assert max(map(len, notes)) > 1_000
    names = [one.display_name for one in own.people]
    assert names.count("Sam Rivera") == 2
    assert "_kai" in names
    assert "Tom O'Hara" in names
    assert {"ليلى منصور", "王芳", "김민지"} < set(names)


def test_late_answers_settle_in_another_month(history: tuple[SandboxServer, list[Any]]) -> None:
    """Requests of both directions settle more than a month after their creation; more of them take over a week."""
    own, items = history
    me = own.people[0].user_id
    waits: dict[bool, list[timedelta]] = {True: [], False: []}
    other_month = 0
    for item in items:
        if item["status"] == "settled" and item["action"] == "charge":
            created, completed = instant(item["date_created"]), instant(item["date_completed"])
            waits[item["actor"]["id"] == me].append(completed - created)
            other_month += (created.year, created.month) != (completed.year, completed.month)
    for directed in waits.values():
        assert sum(wait > timedelta(days=31) for wait in directed) >= 1
        assert sum(wait > timedelta(days=7) for wait in directed) >= 3
        assert sum(wait < timedelta(days=2) for wait in directed) > 0.8 * len(directed)
    assert other_month >= 10


def test_namesakes_differ_by_username(history: tuple[SandboxServer, list[Any]]) -> None:
    """The viewer has payments with both people called Sam Rivera: equal names, different usernames and ids."""
    _, items = history
    sams = {
        (user["id"], user["username"])
        for item in items
        for user in (item["actor"], item["target"]["user"])
        if user and user["display_name"] == "Sam Rivera"
    }
    assert {username for _, username in sams} == {"sam-rivera", "sam-rivera-2"}
    assert len({user_id for user_id, _ in sams}) == 2


@pytest.mark.parametrize(
    ("username", "names"),
    [
        ("layla-mansour", ("ليلى", "منصور", "ليلى منصور")),
        ("wang-fang", ("芳", "王", "王芳")),
        ("kim-minji", ("민지", "김", "김민지")),
    ],
)
def test_names_in_other_scripts(username: str, names: tuple[str, str, str]) -> None:
    """Chinese and Korean display names begin with the family name; usernames are ASCII."""
    (person,) = [one for one in build.build(people=12, years=1).people if one.username == username]
    assert (person.first_name, person.last_name, person.display_name) == names


def test_larger_towns_have_more_of_everything() -> None:
    """A town of 200 has names in Han, Hangul and Arabic letters beyond the first twelve people, and namesakes."""
    people = build.build(people=200, years=1).people[12:]
    names = [person.display_name for person in people]
    for first, last in (("\u4e00", "\u9fff"), ("\uac00", "\ud7a3"), ("\u0600", "\u06ff")):
        assert sum(first <= name[0] <= last for name in names) >= 3
    assert len(set(names)) < len(names)
    assert len({person.username for person in people}) == 188
    assert all(re.fullmatch("[a-z0-9-]+", person.username) for person in people)


def test_a_business_profile_has_the_fields_of_a_person(history: tuple[SandboxServer, list[Any]], ask: Asking) -> None:
    """No further field marks a business; its display name is its own, the last name is empty, and it has no friends."""
    own, _ = history
    me = ask(on=own)
    ids = {one.username: one.user_id for one in own.people}
    cafe, person = (me.get_body(f"/users/{ids[name]}")["data"] for name in ("bean-and-leaf", "tom-ohara"))
    assert cafe.keys() == person.keys()
    names = (cafe["display_name"], cafe["first_name"], cafe["last_name"])
    assert names == ("Bean & Leaf Café", "Bean & Leaf", "")
    assert (cafe["is_friend"], cafe["friends_count"]) == (False, 0)


def test_the_balance_follows_from_the_history(history: tuple[SandboxServer, list[Any]], ask: Asking) -> None:
    """The balance of /me follows from the opening balance and the history, by the rules of the README."""
    own, items = history
    me = ask(on=own)
    held = Decimal(build.build(own.seed).opening_cents[int(own.people[0].user_id)]) / 100
    events = []
    for item in items:
        whole = me.get_body(f"/payments/{item['id']}")["data"]
        size, fee = abs(whole["amount"]), whole["fee"]["amount"] if whole["fee"] else 0
        out = (whole["action"] == "pay") == (whole["actor"]["id"] == own.people[0].user_id)
        if whole["status"] == "settled":
            events.append((instant(whole["date_completed"]), int(whole["id"]), -size - fee if out else size))
        elif out and whole["action"] == "pay" and whole["status"] in ("pending", "expired"):
            events.append((instant(whole["date_created"]), int(whole["id"]), -size))
        if whole["refund"]:
            refund = whole["refund"]
            events.append((instant(refund["date_completed"]), int(refund["id"]), refund["amount"]))
    for _, _, change in sorted(events):
        held = min(held + change, Decimal(1000)) if change > 0 else held + change if held + change >= 0 else held
    assert len(events) > 300
    assert me.get_body("/me")["data"]["balance"] == held


def test_no_balance_is_below_zero() -> None:
    """Every balance is zero or more in towns of several seeds."""
    for seed in range(5):
        assert min(one.balance_cents for one in build.build(seed, people=9, years=2).people) >= 0


def test_size_follows_the_settings() -> None:
    """More people and more years make more payments; usernames, emails, phones and ids are unique."""
    default, large = build.build(), build.build(people=60, years=6)
    assert 1_200 <= len(default.payments) <= 2_600
    assert len(large.payments) > 5 * len(default.payments)
    for field in ("user_id", "username", "email", "phone"):
        assert len({getattr(one, field) for one in large.people}) == 60


@pytest.mark.parametrize(
    "settings",
    [{"people": 2}, {"people": 2_001}, {"years": 0}, {"years": 21}, {"now": datetime(2025, 1, 1)}],  # noqa: DTZ001
)
def test_settings_that_make_no_town(settings: dict[str, Any]) -> None:
    """Numbers out of range, and a now without a time zone, are refused with one sentence."""
    with pytest.raises(SettingError, match=r"^[^.]+\.$"):
        build.build(**settings)


@pytest.mark.parametrize("seed", [7, 1, 3, 20_260])
@pytest.mark.parametrize("people", [3, 12])
def test_open_requests_are_no_mirror_images(seed: int, people: int) -> None:
    """No two open requests between the viewer and one person are a day, or two units, apart; none is on the hour."""
    built = build.build(seed, people=people)
    me, crafted_us = built.people[0].user_id, to_microseconds(built.now - timedelta(days=210))
    of: dict[int, list[Any]] = {}
    for row in built.payments:
        if row.status == "pending" and row.target_user_id and me in (row.actor_id, row.target_user_id):
            if row.created_us > crafted_us and row.note in DINNERS + CONCERTS:
                of.setdefault(row.actor_id + row.target_user_id - me, []).append(row)
            assert row.created_us // 1_000_000 % 3_600
    assert sum(map(len, of.values())) >= 16
    for rows in of.values():
        for one, other in itertools.combinations(rows, 2):
            assert abs(one.created_us - other.created_us) > 86_400_000_000
            assert abs(one.amount_cents - other.amount_cents) > 200


def test_the_cafe_is_a_merchant() -> None:
    """The business has no home and no friends, sends no requests, and is paid for coffee only."""
    built = build.build()
    cafe = built.people[8].user_id
    rows = [row for row in built.payments if cafe in (row.actor_id, row.target_user_id)]
    assert len(rows) > 20
    assert {(row.target_user_id, row.action, row.note) for row in rows} == {(cafe, "pay", "☕")}
    assert all(row.fee_cents for row in rows)
    assert cafe not in {one for pair in built.friendships for one in pair}


def test_strangers_are_each_persons_own() -> None:
    """No address gets money or requests from two people; a larger town has more expired payments."""
    small, large = build.build(people=12), build.build(people=60)
    for built in (small, large):
        sent = [row for row in built.payments if row.target_user_id is None]
        of: dict[str, set[int]] = {}
        for row in sent:
            of.setdefault(row.target_email or row.target_phone, set()).add(row.actor_id)
        assert {len(actors) for actors in of.values()} == {1}
        assert len({row.created_us // 1_000_000 for row in sent}) == len(sent)
    counts = [sum(row.status == "expired" for row in built.payments) for built in (small, large)]
    assert counts[1] >= 3 * counts[0] > 3


@pytest.mark.parametrize("seed", [7, 1, 20_260])
def test_the_viewers_spending_reads_well(seed: int) -> None:
    """The rent rises each year and is about half of the viewer's spending; eight others have visible bars."""
    built = build.build(seed)
    me = built.people[0].user_id
    sent: dict[int, int] = {}
    received, rents = 0, []
    for row in built.payments:
        if row.status != "settled" or row.target_user_id is None or row.refund_of is not None:
            continue
        if me == (row.target_user_id if row.action == "charge" else row.actor_id):
            other = row.target_user_id if row.actor_id == me else row.actor_id
            sent[other] = sent.get(other, 0) + row.amount_cents
            rents += [row.amount_cents] if row.note.startswith("Rent") else []
        elif me in (row.actor_id, row.target_user_id):
            received += row.amount_cents
    assert rents == sorted(rents)
    assert len(set(rents)) == 4
    assert 40_000 <= rents[0] < rents[-1] <= 60_000
    assert 0.4 <= sum(rents) / sum(sent.values()) <= 0.56
    assert sum(cents > 50_000 for cents in sent.values()) >= 8
    assert 0.15 <= received / sum(sent.values()) <= 0.6
