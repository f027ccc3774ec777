"""Statement files of a town, read back: its payments, however the files are cut, ordered and saved again."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.storage.rows import PaymentFilter
from support.statements.plain_files import moved_cents, read_csv
from support.statements.resaved import CSV_FORMS, JSON_FORMS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import date
    from pathlib import Path

GENERATIONS = ("A", "B", "C", "D", "D2025", "E", "E-full", "JSON")
WITH_BALANCES = ("B", "C", "D", "D2025", "E-full", "JSON")
SEEDS = (1, pytest.param(2, marks=pytest.mark.full), *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 21)))


def make_server(seed: int) -> SandboxServer:
    """Return a town of four people and a year."""
    return SandboxServer(seed, people=4, years=1)


def list_town_payments(server: SandboxServer, user_id: int) -> dict[str, tuple[object, ...]]:
    """Return cents, flow, direction, counterparty, status, note and date of each payment of a user, from the town."""
    people = {int(person.user_id): person.display_name for person in server.people}
    found = {}
    for payment in server.store.payments(user_id, PaymentFilter(), 100_000):
        is_out = (payment.action == "pay") == (payment.actor_id == user_id)
        is_hidden = payment.target_email and payment.status == "pending"
        address = "unregistered email" if is_hidden else payment.target_email or payment.target_phone
        target = people.get(payment.target_user_id, address)
        is_settled = payment.status == "settled"
        when = datetime.fromtimestamp((payment.completed_us if is_settled else payment.created_us) // 1_000_000, UTC)
        found[str(payment.payment_id)] = (
            -payment.amount_cents if payment.action == "charge" else payment.amount_cents,
            -payment.amount_cents if is_out else payment.amount_cents,
            "out" if is_out else "in",
            target if payment.actor_id == user_id else people[payment.actor_id],
            payment.status,
            payment.note or None,
            when,
            when if is_settled else None,
        )
    return found


def list_read_payments(statements: p2p.Statements) -> dict[str, tuple[object, ...]]:
    """Return the same of the payments between people that were read."""
    rows = statements.payments[statements.payments["kind"] == "payment"]
    assert rows["payment_id"].is_unique
    columns = [
        "payment_id", "amount_cents", "flow_cents", "direction", "counterparty_name", "status", "note", "date_created",
        "date_completed",
    ]  # fmt: skip
    plain = rows[columns].astype(object)
    return {
        values[0]: tuple(values[1:]) for values in plain.where(plain.notna(), None).itertuples(index=False, name=None)
    }


def cut_anywhere(rng: random.Random, periods: list[tuple[date, date]]) -> Iterator[tuple[date, date]]:
    """Yield periods that cover the days of others, cut at any day, some with an overlap, some with a repetition."""
    start, last = periods[0][0], periods[-1][1]
    while start <= last:
        end = min(start + timedelta(days=rng.randrange(90)), last)
        yield start, end
        if rng.random() < 0.2:
            yield start, end
        start = max(start + timedelta(days=1), end + timedelta(days=1 - rng.choice((0, 0, 1, 5))))


def write_files(  # noqa: PLR0913 - the files and their form
    server: SandboxServer, folder: Path, user: str, generation: str, rng: random.Random, *, resaved: bool = True
) -> list[Path]:
    """Write the files of a user's history, cut and saved in different ways, and return them in any order."""
    forms = list((JSON_FORMS if generation == "JSON" else CSV_FORMS).values())
    paths = []
    for number, period in enumerate(cut_anywhere(rng, server.statement_periods())):
        path = folder / f"{number:03}{'.json' if generation == 'JSON' else '.csv'}"
        form = rng.choice(forms) if resaved else forms[0]
        path.write_bytes(form(server.statement(user, *period, generation)))
        paths.append(path)
    rng.shuffle(paths)
    return paths


def check_counts(statements: p2p.Statements) -> None:
    """Check that every row is in one counted kind."""
    kinds = [
        "payment", "transfer", "merchant", "card", "reward", "deposit", "fee", "asset", "hold", "notice", "unknown",
    ]  # fmt: skip
    files = statements.files
    assert (files[kinds].sum(axis=1) == files["rows"]).all()
    assert set(statements.payments["kind"]) <= set(kinds) - {"notice"}


@pytest.mark.parametrize("seed", SEEDS)
def test_files_give_the_payments_of_the_town(tmp_path: Path, seed: int) -> None:
    """Ids, cents, direction and counterparty, in each generation, cut at any day, in any order, saved in any way."""
    with make_server(seed) as server:
        person = server.people[0]
        wanted = list_town_payments(server, int(person.user_id))
        for generation in GENERATIONS:
            rng = random.Random(f"{seed} {person.username} {generation}")  # noqa: S311 - repeatable cuts
            place = tmp_path / generation
            place.mkdir()
            statements = p2p.read_statements(write_files(server, place, person.username, generation, rng))
            assert list_read_payments(statements) == wanted
            assert len(statements.accounts) == 1
            check_counts(statements)
            if generation in WITH_BALANCES:
                assert statements.reconciliation["reconciled"].fillna(value=False).all()
                with_rows = statements.reconciliation.dropna(subset=["period_end"])  # some periods have none
                last = with_rows["closing_cents"].iloc[-1]
                assert last == server.store.person(int(person.user_id)).balance_cents


@pytest.fixture(scope="module")
def town() -> Iterator[SandboxServer]:
    """Return a town with six people and a year."""
    with SandboxServer(seed=7, people=6, years=1) as server:
        yield server


def read(server: SandboxServer, name: str, folder: Path, generation: str = "D") -> p2p.Statements:
    """Return the statements of a whole history."""
    paths = write_files(server, folder, name, generation, random.Random(name), resaved=False)  # noqa: S311 - a test
    return p2p.read_statements(paths)


def test_what_happens_later_is_in_later_files(tmp_path: Path) -> None:
    """A request of an old file that is paid meanwhile is settled, whichever file is read first."""
    with make_server(5) as server:
        me = server.viewer
        early = [server.statement(me, *period) for period in server.statement_periods()]
        waiting = [
            payment
            for payment in server.store.payments(int(server.people[0].user_id), PaymentFilter(), 10_000)
            if payment.status == "pending" and payment.action == "charge" and payment.target_user_id
        ]
        payment = next(one for one in waiting if str(one.target_user_id) == server.people[0].user_id)
        server.deposit(me, payment.amount_cents + 100_000)
        server.advance(days=3)
        resolve(server, me, payment.payment_id)
        late = server.statement(me, "2025-06-25", "2025-07-10")
        for order in (0, 1):
            paths = []
            for number, text in enumerate([late, *early] if order else [*early, late]):
                paths.append(tmp_path / f"{order}{number}.csv")
                paths[-1].write_bytes(text.encode())
            found = p2p.read_statements(paths).payments.set_index("payment_id").loc[str(payment.payment_id)]
            assert (found["status"], found["flow_cents"]) == ("settled", -payment.amount_cents)
            assert found["date_completed"].date().isoformat() == "2025-07-03"


def resolve(server: SandboxServer, name: str, payment_id: int) -> None:
    """Approve a request over HTTP."""
    import requests

    token = server.token(name, "access_profile", "make_payments")
    answer = requests.put(
        f"{server.base_url}/payments/{payment_id}", data={"action": "approve", "access_token": token}, timeout=10
    )
    assert answer.status_code == 200, answer.text


def test_the_running_balance_is_that_of_the_files(town: SandboxServer, tmp_path: Path) -> None:
    """After each row that moved it, the balance is the opening balance and all rows up to it."""
    files = [read_csv(town.statement(town.viewer, *period)) for period in town.statement_periods()]
    rows = {row["ID"]: row for file in files for row in file.rows}
    balance, wanted = files[0].opening, {}
    for key, row in rows.items():
        balance += moved_cents(row)
        wanted[key] = balance
    found = read(town, town.viewer, tmp_path).payments.set_index("payment_id")["balance_cents"]
    assert found.notna().all()
    assert found.astype(int).to_dict() == wanted
