"""Random sequences of writes, compared after each step with a model of the balances in plain Python."""

import os
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings, stateful
from hypothesis import strategies as st

from p2p_analytics.sandbox import errors
from p2p_analytics.sandbox.domain.orders import Order, Recipient
from p2p_analytics.sandbox.domain.payments import Transitions
from p2p_analytics.sandbox.domain.test_user import TEST_USER
from p2p_analytics.sandbox.storage import ledger
from p2p_analytics.sandbox.storage.rows import Person
from p2p_analytics.sandbox.storage.store import Store
from p2p_analytics.vocabulary import Audience, Resolution, TargetType

PEOPLE = (1, 2, 3, 4)
FRIENDS = {frozenset((1, 2)), frozenset((2, 3)), frozenset((1, 3))}
TEST = 145434160922624933
OPENING = 1_000
DAY = 86_400_000_000

somebody = st.sampled_from(PEOPLE)
cents = st.sampled_from((1, 99, 400, 1_000, 1_001, 2_500))


def _person(number: int) -> Person:
    name = f"p{number}"
    return Person(number, name, name, "", name, "", "", 0, f"{name}@example.com", f"1415555010{number}", OPENING)


class Books(stateful.RuleBasedStateMachine):
    """Model: balances, trusts, banks, and each payment as [kind, actor, target, cents, status]."""

    steps: ClassVar[Counter[str]] = Counter()

    @stateful.initialize()
    def open(self) -> None:
        """Open a town of four with 10.00 each; two of them trust each other."""
        self.folder = tempfile.TemporaryDirectory(prefix="p2p-machine-", ignore_cleanup_errors=True)
        self.store = Store(Path(self.folder.name) / "town.sqlite")
        people, friendships = [*map(_person, PEOPLE), TEST_USER], [tuple(sorted(pair)) for pair in FRIENDS]
        settings = {"viewer": "p1", "test_user": str(TEST)}
        self.store.create(settings, people, friendships, [], trusts=[(1, 2), (2, 1)], banks=[TEST])
        self.does = Transitions(self.store)
        self.held = {**dict.fromkeys(PEOPLE, OPENING), TEST: 0}
        self.trusts = {(1, 2), (2, 1)}
        self.banks = {TEST}
        self.made: dict[int, list[Any]] = {}
        self.born: dict[int, int] = {}
        self.clock = 0

    def teardown(self) -> None:
        """Close the town and remove it."""
        if hasattr(self, "store"):
            self.store.close()
            self.folder.cleanup()

    def _tick(self, microseconds: int = 1_000_001) -> None:
        self.clock += microseconds
        for key, (kind, actor, target, size, status) in self.made.items():
            if kind == "pay" and target is None and status == "pending" and self.born[key] + 30 * DAY <= self.clock:
                self.made[key][4] = "expired"
                self.held[actor] += size
                self.steps["expired"] += 1

    def _withdraw(self, payer: int, size: int) -> bool:
        if self.held[payer] >= size:
            self.held[payer] -= size
            return True
        return payer in self.banks

    def _order(self, actor: int, target: int | str, size: int) -> str:
        kind = TargetType.USER if isinstance(target, int) else TargetType.EMAIL
        audience = Audience.PUBLIC if size % 2 else Audience.PRIVATE
        done = self.does.create(actor, Order(Recipient(kind, str(target)), size, "x", audience))
        self.last = done.payment.payment_id
        assert done.balance_cents == self.store.people_by_id([actor])[actor].balance_cents
        return done.payment.status

    def _record(self, kind: str, actor: int, target: int | None, size: int, status: str) -> None:
        assert self.last not in self.made
        self.made[self.last] = [kind, actor, target, abs(size), status]
        self.born[self.last] = self.clock
        self.steps[f"{kind} {status}"] += 1

    @stateful.rule(actor=somebody, other=st.sampled_from((*PEOPLE, None)), size=cents, charges=st.booleans())
    def order(self, actor: int, other: int | None, size: int, *, charges: bool) -> None:
        """Pay or charge a user by id or email, or an address without an account; oneself is refused."""
        target = "stranger@example.net" if other is None else f"p{other}@example.com" if size == 400 else other
        if actor == other:
            with pytest.raises(errors.SelfPaymentError):
                self._order(actor, target, size)
            return
        self._tick()
        if charges:
            status = "settled" if (other, actor) in self.trusts and self._withdraw(other, size) else "pending"
        elif self._withdraw(actor, size):
            status = "pending" if other is None else "settled"
        else:
            status = "failed"
        if status == "settled":
            self.held[actor if charges else other] += size
        assert self._order(actor, target, -size if charges else size) == status
        self._record("charge" if charges else "pay", actor, other, size, status)

    @stateful.rule(actor=somebody, other=somebody, size=cents)
    def charge_and_approve(self, actor: int, other: int, size: int) -> None:
        """Charge a user who approves at once, funded or not, and then denies: chance alone resolves few requests."""
        self.order(actor, other, size, charges=True)
        if actor != other and self.made[self.last][4] == "pending":
            self._resolve(self.last, other, Resolution.APPROVE)
            self._resolve(self.last, other, Resolution.DENY)

    @stateful.rule(actor=somebody, size=cents, days=st.sampled_from((29, 30)))
    def pay_a_stranger_and_wait(self, actor: int, size: int, days: int) -> None:
        """Pay an address without an account, and wait as long as it may be collected: chance alone would expire few."""
        self.order(actor, None, size, charges=False)
        self.wait(days)

    @stateful.rule(actor=somebody, size=st.sampled_from((10, 20, 30, -10, -20)))
    def test_user(self, actor: int, size: int) -> None:
        """Pay or charge the fixed test user: three amounts, each with its own outcome; others are refused."""
        if size in (30, -20):
            with pytest.raises(errors.OutcomeAmountError):
                self._order(actor, TEST, size)
            return
        self._tick()
        status = "settled"
        if size == 20 or (size == 10 and not self._withdraw(actor, 10)):
            status = "failed"
        elif size == 10:
            self.held[TEST] += 10
        else:
            self._withdraw(TEST, 10)
            self.held[actor] += 10
        assert self._order(actor, TEST, size) == status
        self._record("pay" if size > 0 else "charge", actor, TEST, size, status)

    @stateful.precondition(lambda self: self._pending("charge"))
    @stateful.rule(data=st.data(), resolution=st.sampled_from((Resolution.APPROVE, Resolution.DENY)))
    def answer(self, data: st.DataObject, resolution: Resolution) -> None:
        """Approve or deny a pending request as its target."""
        key = data.draw(st.sampled_from(self._pending("charge")))
        self._resolve(key, self.made[key][2] or 1, resolution)

    @stateful.precondition(lambda self: self._pending("pay") + self._pending("charge"))
    @stateful.rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        """Cancel a pending request or an unclaimed payment as its actor."""
        key = data.draw(st.sampled_from(self._pending("pay") + self._pending("charge")))
        self._resolve(key, self.made[key][1], Resolution.CANCEL)

    @stateful.precondition(lambda self: self.made)
    @stateful.rule(data=st.data(), caller=somebody, resolution=st.sampled_from(Resolution))
    def meddle(self, data: st.DataObject, caller: int, resolution: Resolution) -> None:
        """Approve, deny or cancel any payment as any user; most attempts are refused."""
        self._resolve(data.draw(st.sampled_from(sorted(self.made))), caller, resolution)

    def _pending(self, kind: str) -> list[int]:
        return sorted(key for key, row in self.made.items() if row[0] == kind and row[4] == "pending")

    def _resolve(self, key: int, caller: int, resolution: Resolution) -> None:
        before = self.clock, dict(self.held), {one: list(row) for one, row in self.made.items()}
        self._tick()
        kind, actor, target, size, status = self.made[key]
        party = caller in (actor, target)
        public = (size if kind == "pay" else -size) % 2 == 1
        right = caller == actor if resolution is Resolution.CANCEL else (kind == "charge" and caller == target)
        refused: type[Exception] | None = None
        if not (party or public):
            refused = errors.NotFoundError
        elif not right:
            refused = errors.RoleError
        elif status != "pending":
            refused = errors.StateError
        elif resolution is Resolution.APPROVE and not self._withdraw(caller, size):
            refused = errors.InsufficientFundsError
        if refused is not None:
            self.steps[refused.__name__] += 1
            with pytest.raises(refused):
                self.does.resolve(caller, key, resolution)
            self.clock, self.held, self.made = before
            return
        if resolution is Resolution.APPROVE or kind == "pay":
            self.held[actor] += size
        self.made[key][4] = "settled" if resolution is Resolution.APPROVE else "cancelled"
        done = self.does.resolve(caller, key, resolution)
        assert done.payment.status == self.made[key][4]
        assert done.balance_cents == self.held[caller]
        self.steps[str(resolution)] += 1

    @stateful.rule(days=st.sampled_from((0, 1, 29, 30, 400)))
    def wait(self, days: int) -> None:
        """Advance the clock: after 30 days an unclaimed payment returns."""
        self._tick(days * DAY)
        self.does.advance(days * DAY)

    @stateful.rule(who=somebody, size=st.sampled_from((-1_000, -1, 1, 5_000)))
    def deposit(self, who: int, size: int) -> None:
        """Move money between balance and bank, within the balance."""
        if self.held[who] + size < 0:
            with pytest.raises(errors.SettingError):
                self.does.deposit(who, size)
            return
        self.held[who] += size
        self.does.deposit(who, size)

    @stateful.rule(who=somebody, linked=st.booleans())
    def bank(self, who: int, *, linked: bool) -> None:
        """Link or unlink a bank."""
        (self.banks.add if linked else self.banks.discard)(who)
        self.does.link_bank(who, linked=linked)

    @stateful.rule(who=somebody, friend=somebody, trusted=st.booleans())
    def trust(self, who: int, friend: int, *, trusted: bool) -> None:
        """Start or stop to trust a friend; other users cannot be trusted."""
        if frozenset((who, friend)) not in FRIENDS:
            with pytest.raises(errors.SettingError):
                self.does.trust(who, friend, trusted=trusted)
            return
        (self.trusts.add if trusted else self.trusts.discard)((who, friend))
        self.does.trust(who, friend, trusted=trusted)

    @stateful.invariant()
    def the_ledger_agrees_with_the_model(self) -> None:
        """Balances, statuses and the clock equal the model's; all entries sum to zero; the audit finds nothing."""
        if not hasattr(self, "store"):
            return
        self.steps["all"] += 1
        connection = self.store.connection
        assert dict(connection.execute("SELECT user_id, balance_cents FROM users")) == self.held
        query = "SELECT payment_id, status FROM payments WHERE refund_of IS NULL"
        assert dict(connection.execute(query)) == {key: row[4] for key, row in self.made.items()}
        assert connection.execute("SELECT coalesce(sum(cents), 0) FROM entries").fetchone() == (0,)
        assert ledger.audit(connection) == []
        assert self.store.now_us() == self.clock
        back = {key for key, row in self.made.items() if row[0] == "pay" and row[4] in ("expired", "cancelled")}
        query = "SELECT refund_of, amount_cents FROM payments WHERE refund_of IS NOT NULL"
        assert dict(connection.execute(query)) == {key: self.made[key][3] for key in back}


@pytest.mark.parametrize(("runs", "least"), [(14, 400), pytest.param(600, 10_000, marks=pytest.mark.soak)])
def test_anything_in_any_order(runs: int, least: int) -> None:
    """After every step of every run the ledger agrees with the model to the cent."""
    Books.steps.clear()
    stateful.run_state_machine_as_test(
        Books,
        settings=settings(
            max_examples=runs,
            stateful_step_count=50,
            deadline=None,
            database=None,
            derandomize="P2P_SEED" not in os.environ,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert Books.steps["all"] >= least
    reached = (
        "pay settled", "pay failed", "pay pending", "charge settled", "charge pending", "approve", "deny", "cancel",
        "expired", "RoleError", "StateError", "InsufficientFundsError", "NotFoundError",
    )  # fmt: skip
    assert [one for one in reached if not Books.steps[one]] == []
    print(dict(Books.steps))  # noqa: T201 - shows the coverage of the steps
