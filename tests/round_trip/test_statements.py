"""Statement files of a town, read back: its payments, however the files are cut, ordered and saved again."""

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.storage.rows import PaymentFilter
from support.servers import sandbox_fixture
from support.statements.plain_files import moved_cents, read_csv
from support.statements.resaved import CSV_FORMS, JSON_FORMS

GENERATIONS = ("A", "B", "C", "D", "D2025", "E", "E-full", "JSON")
WITH_BALANCES = ("B", "C", "D", "D2025", "E-full", "JSON")
SEEDS = (1, pytest.param(2, marks=pytest.mark.full), *(pytest.param(n, marks=pytest.mark.soak) for n in range(3, 21)))


def list_town_payments(server, user_id: int) -> dict[str, tuple[object, ...]]:
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


def list_read_payments(statements) -> dict[str, tuple[object, ...]]:
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


def cut_anywhere(rng: random.Random, periods: list[tuple[date, date]]):
    """Yield periods that cover the days of others, cut at any day, some with an overlap, some with a repetition."""
    start, last = periods[0][0], periods[-1][1]
    while start <= last:
        end = min(start + timedelta(days=rng.randrange(90)), last)
        yield start, end
        if rng.random() < 0.2:
            yield start, end
        start = max(start + timedelta(days=1), end + timedelta(days=1 - rng.choice((0, 0, 1, 5))))


def write_files(server, folder, user: str, generation: str, rng: random.Random) -> list[Path]:
    """Write the files of a user's history, cut and saved in different ways, and return them in any order."""
    forms = list((JSON_FORMS if generation == "JSON" else CSV_FORMS).values())
    paths = []
    for number, period in enumerate(cut_anywhere(rng, server.statement_periods())):
        paths.append(folder / f"{number:03}{'.json' if generation == 'JSON' else '.csv'}")
        paths[-1].write_bytes(rng.choice(forms)(server.statement(user, *period, generation)))
    rng.shuffle(paths)
    return paths


def check_counts(statements) -> None:
    """Check that every row is in one counted kind."""
    kinds = [
        "payment", "transfer", "merchant", "card", "reward", "deposit", "fee", "asset", "hold", "notice", "unknown",
    ]  # fmt: skip
    files = statements.files
    assert (files[kinds].sum(axis=1) == files["rows"]).all()
    assert set(statements.payments["kind"]) <= set(kinds) - {"notice"}


@pytest.mark.parametrize("seed", SEEDS)
def test_files_give_the_payments_of_the_town(tmp_path, seed: int) -> None:
    """Ids, cents, direction and counterparty, in each generation, cut at any day, in any order, saved in any way."""
    with SandboxServer(seed, people=4, years=1) as server:
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


town = sandbox_fixture(seed=7, people=6, years=1)


def test_the_running_balance_is_that_of_the_files(town, tmp_path) -> None:
    """After each row that moved it, the balance is the opening balance and all rows up to it."""
    periods = town.statement_periods()
    files = [read_csv(town.statement(town.viewer, *period)) for period in periods]
    rows = {row["ID"]: row for file in files for row in file.rows}
    balance, wanted = files[0].opening, {}
    for key, row in rows.items():
        balance += moved_cents(row)
        wanted[key] = balance
    cuts = cut_anywhere(random.Random(7), periods)  # noqa: S311 - repeatable cuts
    statements = p2p.read_statements([town.statement(town.viewer, *period).encode() for period in cuts])
    found = statements.payments.set_index("payment_id")["balance_cents"]
    assert found.notna().all()
    assert found.astype(int).to_dict() == wanted


@pytest.mark.parametrize("generation", ["D", pytest.param("JSON", marks=pytest.mark.full)])
def test_a_merged_archive_is_equal_to_both(town, tmp_path, generation) -> None:
    """What the service lists is as listed, everything else as in the files, whichever comes first."""
    paths = []
    for start, end in town.statement_periods():
        paths.append(tmp_path / f"{start}.{'json' if generation == 'JSON' else 'csv'}")
        paths[-1].write_bytes(town.statement(town.viewer, start, end, generation).encode())
    statements = p2p.read_statements(paths)
    first, second, alone = (p2p.open_archive(tmp_path / name) for name in ("first", "second", "alone"))
    with p2p.Client(town.token(town.viewer), base_url=town.base_url, cache_dir=tmp_path / "cache") as client:
        listed = p2p.load_history(client, progress=False).payments
        first.sync(client)
        plan = first.import_(statements)
        second.import_(statements)
        second.sync(client)
        assert first.verify(client).empty
    alone.import_(statements)
    between = statements.payments["kind"] == "payment"
    assert plan[:4] == (int((~between).sum()), len(listed), 0, 0)
    merged = first.history().payments
    assert second.history().payments.equals(merged)
    is_listed = merged["payment_id"].isin(listed["payment_id"])
    assert merged.loc[is_listed, listed.columns].reset_index(drop=True).equals(listed)
    columns = [name for name in statements.payments.columns if name != "account_id"]  # in the archive, the user id
    found = merged.loc[~is_listed, columns].sort_values("payment_id").reset_index(drop=True)
    wanted = statements.payments.loc[~between, columns].sort_values("payment_id").reset_index(drop=True)
    assert found.equals(wanted)
    flows = [p2p.monthly_flow(frame) for frame in (merged, listed, statements.payments, alone.history().payments)]
    assert all(flow.equals(flows[0]) for flow in flows)
    assert len(flows[0]) > 10
