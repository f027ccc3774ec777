"""The desk where payments are made: pay, charge, approve, deny and cancel.

It moves money, so it has to be asked for by name: nothing else makes a desk, and a client alone
only reads. The service knows no idempotency key, so a write whose answer is lost is never sent
again: its outcome is looked for among the payments instead.
"""

from __future__ import annotations

import logging
import time
from datetime import datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import msgspec

from p2p_analytics import records, vocabulary
from p2p_analytics.client._payment_requests import Order, order
from p2p_analytics.errors import (
    ConfigurationError,
    InvalidRequestError,
    OutcomeUnknownError,
    ProtocolError,
    ServiceError,
    TokenError,
)
from p2p_analytics.vocabulary import Action, Resolution, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from decimal import Decimal

    from p2p_analytics.client._client import Client
    from p2p_analytics.records import Payment, Receipt

log = logging.getLogger(__name__)

# A service that answers late may also commit late; each wait begins after the reading before it.
RECONCILE_WAITS: Final = (5.0, 15.0, 45.0)

_CLOSED: Final = frozenset(Status) - {Status.PENDING}
# What carrying out each may lead to; that deny and cancel lead to "cancelled" is known of real services only.
_OUTCOMES: Final = {
    Resolution.APPROVE: frozenset({Status.SETTLED, Status.FAILED}),
    Resolution.DENY: frozenset({Status.CANCELLED}),
    Resolution.CANCEL: frozenset({Status.CANCELLED}),
}


class PaymentDesk:
    """Pays, charges, and answers requests, for the user whose token the client holds.

    Parameters
    ----------
    client : Client
        Its token needs the scopes ``make_payments`` and ``access_profile``: what became of a write
        whose answer is lost can only be read.
    waits : sequence of float
        Seconds to wait before each reading when an answer is lost.
    sleep : callable
        Waits; replaced in tests.

    Notes
    -----
    One write at a time for all desks of a client, because another of ours in between could be taken
    for a lost one's outcome; two clients of one account do not know of each other. Each has a
    connection of its own. Each begins with reading, so that an
    outcome can be told from what was there before. A write is sent again only where no connection
    could be made. Every write makes the account's cached answers forgotten.

    Each method raises ``ConfigurationError`` or ``TokenError`` where nothing was sent because of
    what was asked, ``TransportError`` where the service could not be reached and nothing was sent,
    an ``ApiError`` where the service refused, and ``OutcomeUnknownError`` with its ``candidates``
    where the answer was lost and reading did not tell. After that, or after interrupting a write,
    look at the payments before sending it again.
    """

    def __init__(
        self,
        client: Client,
        *,
        waits: Sequence[float] = RECONCILE_WAITS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._transport = client._transport  # noqa: SLF001 - a client has no public way to write, on purpose
        self._waits, self._sleep = tuple(waits), sleep
        self._actor_id: str | None = None

    def pay(  # noqa: PLR0913 - one keyword for each documented parameter
        self,
        *,
        amount: Decimal | int | str,
        note: str,
        user_id: str | None = None,
        email: str | None = None,
        phone: str | None = None,
        audience: str | None = None,
    ) -> Receipt:
        """Send money to one user, email address or US phone number (document: "POST /payments").

        Parameters
        ----------
        amount : Decimal, int or str
            Currency units above zero, such as ``"12.30"``; a float is refused.
        note : str
            Goes with the payment; required.
        user_id, email, phone : str
            Exactly one of them.
        audience : str, optional
            "public", "friends" or "private"; without it the service decides.

        Returns
        -------
        Receipt
            The payment, whose ``status`` tells what became of it: "failed", for one, is no error
            (document: "Errors"). The balance is None where it was not told.
        """
        return self._create(
            order(Action.PAY, user_id=user_id, email=email, phone=phone, amount=amount, note=note, audience=audience)
        )

    def charge(  # noqa: PLR0913 - one keyword for each documented parameter
        self,
        *,
        amount: Decimal | int | str,
        note: str,
        user_id: str | None = None,
        email: str | None = None,
        phone: str | None = None,
        audience: str | None = None,
    ) -> Receipt:
        """Ask for money; parameters and result as for :meth:`pay`, the amount is above zero here too."""
        return self._create(
            order(Action.CHARGE, user_id=user_id, email=email, phone=phone, amount=amount, note=note, audience=audience)
        )

    def approve(self, payment_id: str) -> Payment:
        """Pay what somebody asked of the token's owner, and return the payment as it is then."""
        return self._resolve(Resolution.APPROVE, payment_id)

    def deny(self, payment_id: str) -> Payment:
        """Refuse what somebody asked of the token's owner, and return the payment as it is then."""
        return self._resolve(Resolution.DENY, payment_id)

    def cancel(self, payment_id: str) -> Payment:
        """Take back what the token's owner asked for, and return the payment as it is then."""
        return self._resolve(Resolution.CANCEL, payment_id)

    def __repr__(self) -> str:
        """Show which service is written to."""
        return f"<PaymentDesk of {self._client.base_url}>"

    def _create(self, asked: Order) -> Receipt:
        with self._transport.turn:
            actor_id, before = self._actor(), self._snapshot()
            try:
                path = vocabulary.CREATE_PAYMENT.path
                receipt = self._transport.write("POST", path, asked.fields(), records.decode_receipt).value
                if asked.agrees_with(receipt.payment) and receipt.payment.id not in before.ids:
                    return receipt
                lost: ServiceError = ProtocolError("The service answered with another payment.")
            except (OutcomeUnknownError, ProtocolError) as error:
                lost = error
            return self._found(asked, actor_id, before, lost)

    def _found(self, asked: Order, actor_id: str, before: _Snapshot, lost: ServiceError) -> Receipt:
        """Look for the outcome of an order among the payments that were not there before."""
        candidates: list[Payment] = []
        seen = False
        for _ in self._moments_to_look(f"this {asked.action}"):
            try:
                candidates = [payment for payment in self._since(before) if asked.is_met_by(payment, actor_id)]
            except (ServiceError, TokenError):
                continue
            seen = True
            if candidates:
                break
        if len(candidates) == 1:
            return records.Receipt(payment=candidates[0], reconciled=True)
        raise _unknown(f"this {asked.action}", lost, candidates, seen=seen)

    def _resolve(self, action: Resolution, payment_id: str) -> Payment:
        with self._transport.turn:
            self._actor()
            before = self._client.payment(payment_id, fresh=True)
            if before.status in _CLOSED:
                raise ConfigurationError(
                    f"Payment {payment_id} is {before.status} and no longer pending; nothing was sent."
                )
            path = vocabulary.RESOLVE_PAYMENT.at(quote(payment_id, safe=""))
            try:
                payment = self._transport.write("PUT", path, {"action": action}, records.decode_payment).value
                if payment.id == before.id:
                    return payment
                lost: ServiceError = ProtocolError("The service answered with another payment.")
            except (OutcomeUnknownError, ProtocolError) as error:
                lost = error
            return self._resolved(action, before, lost)

    def _resolved(self, action: Resolution, before: Payment, lost: ServiceError) -> Payment:
        """Look at a payment until it is closed, and tell whether that was this write's doing."""
        candidates: list[Payment] = []
        for _ in self._moments_to_look(f"the {action} of payment {before.id}"):
            try:
                now = self._client.payment(before.id, fresh=True)
            except (ServiceError, TokenError):
                continue
            candidates = [now]
            if now.status in _OUTCOMES[action]:
                return now
            if now.status in _CLOSED:
                raise InvalidRequestError(
                    f"Payment {now.id} is {now.status}: it was closed before you could {action} it."
                )
        raise _unknown(f"the {action} of payment {before.id}", lost, candidates, seen=bool(candidates))

    def _moments_to_look(self, what: str) -> Iterator[None]:
        """Wait before each reading; said aloud, because somebody who sees nothing happen might send it again."""
        log.warning(
            "The answer to %s was lost; looking for its outcome for up to %g seconds: do not send it again.",
            what,
            sum(self._waits),
        )
        for wait in self._waits:
            self._sleep(wait)
            yield

    def _actor(self) -> str:
        """Return whose payments these are; asking also opens the account's cache, to be emptied by a write."""
        if self._actor_id is None:
            self._actor_id = str(self._client.me().user.id)
        return self._actor_id

    def _snapshot(self) -> _Snapshot:
        """Return which payments there are: a page of the newest tells all that come later from them."""
        page = next(self._client.payment_pages(fresh=True))
        dates = [item.date_created for item in page.items if item.date_created is not None]
        oldest = min(dates, default=None) if page.next is not None else None
        return _Snapshot(frozenset(item.id for item in page.items), oldest)

    def _since(self, before: _Snapshot) -> list[Payment]:
        """Return the payments that were not there before, from as many pages as they take."""
        new: list[Payment] = []
        for page in self._client.payment_pages(fresh=True):
            fresh = [item for item in page.items if not before.holds(item)]
            new += fresh
            if len(fresh) < len(page.items):
                break
        return new


class _Snapshot(msgspec.Struct, frozen=True):
    """The ids of the newest payments, and when the oldest of them was made if there are older ones."""

    ids: frozenset[str]
    oldest: datetime | None

    def holds(self, payment: Payment) -> bool:
        """Tell whether a payment was there already, or may have been."""
        if payment.id in self.ids:
            return True
        return self.oldest is not None and (payment.date_created is None or payment.date_created <= self.oldest)


def _unknown(what: str, lost: ServiceError, candidates: list[Payment], *, seen: bool) -> OutcomeUnknownError:
    found = f"{len(candidates)} payments may be it" if len(candidates) > 1 else "reading did not show it"
    return OutcomeUnknownError(
        f"Nobody knows whether {what} was carried out: its answer was lost and "
        f"{found if seen else 'the payments could not be read'}; look at them before you send it again.",
        status_code=lost.status_code,
        code=lost.code,
        retry_after=lost.retry_after,
        candidates=candidates,
    )
