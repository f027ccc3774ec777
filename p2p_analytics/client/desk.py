"""Payment desk: pay, charge, approve, deny and cancel.

A desk moves money, so users have to import it explicitly; a client alone only reads. The service has no idempotency
keys, so a write with a lost response is never retried: the desk searches the payments for its outcome instead.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Final
from urllib.parse import quote

import msgspec

from p2p_analytics import records, vocabulary
from p2p_analytics.client._client import Client
from p2p_analytics.client._payment_requests import PaymentRequest, build_payment_request
from p2p_analytics.errors import (
    ConfigurationError,
    InvalidRequestError,
    OutcomeUnknownError,
    ProtocolError,
    ServiceError,
    TokenError,
)
from p2p_analytics.records import Payment, Receipt
from p2p_analytics.vocabulary import Action, Resolution, Status

log = logging.getLogger(__name__)

# A slow service may also commit late; each wait begins after the previous search.
RECONCILE_WAITS: Final = (5.0, 15.0, 45.0)

_CLOSED: Final = frozenset(Status) - {Status.PENDING}
# Statuses after success; the document does not say that deny and cancel lead to "cancelled", but real services do so.
_OUTCOMES: Final = {
    Resolution.APPROVE: frozenset({Status.SETTLED, Status.FAILED}),
    Resolution.DENY: frozenset({Status.CANCELLED}),
    Resolution.CANCEL: frozenset({Status.CANCELLED}),
}


class PaymentDesk:
    """Makes payments and charges, and resolves requests, for the owner of the client's token.

    Parameters
    ----------
    client : Client
        Its token needs the scopes ``make_payments`` and ``access_profile``: the desk has to read payments to find the
        outcome of a write after a lost response.
    waits : sequence of float
        Seconds to wait before each search for the outcome.
    sleep : callable
        Sleeps for a number of seconds; replaced in tests.

    Notes
    -----
    All desks of a client share a lock and write one at a time, so that one write is not mistaken for the outcome of
    another; two clients of one account act independently. Each write uses a new connection, and first reads
    the payments, so that earlier payments are not mistaken for its outcome. A write is retried only if no connection
    could be made. Every write deletes the short-lived entries of the account's cache.

    Each method raises ``ConfigurationError`` or ``TokenError`` if an argument or the token is invalid and nothing was
    sent, ``TransportError`` if the service could not be reached and nothing was sent, an ``ApiError`` if the service
    refused, and ``OutcomeUnknownError`` with its ``candidates`` if the response was lost and the outcome was not found.
    After that, or after interrupting a write, check the payments before sending it again.
    """

    def __init__(
        self,
        client: Client,
        *,
        waits: Sequence[float] = RECONCILE_WAITS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._client = client
        self._transport = client._transport  # noqa: SLF001 - a client deliberately has no public method to write
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
            Text of the payment; required.
        user_id, email, phone : str
            Exactly one of them.
        audience : str, optional
            "public", "friends" or "private"; by default the service decides.

        Returns
        -------
        Receipt
            The payment with its ``status``; "failed", for example, does not raise (document: "Errors"). The balance is
            None if the response has none.
        """
        return self._create(
            build_payment_request(
                Action.PAY, user_id=user_id, email=email, phone=phone, amount=amount, note=note, audience=audience
            )
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
        """Request money; parameters and result as for :meth:`pay`, with an amount above zero."""
        return self._create(
            build_payment_request(
                Action.CHARGE, user_id=user_id, email=email, phone=phone, amount=amount, note=note, audience=audience
            )
        )

    def approve(self, payment_id: str) -> Payment:
        """Pay a charge to the token's owner, and return the updated payment."""
        return self._resolve(Resolution.APPROVE, payment_id)

    def deny(self, payment_id: str) -> Payment:
        """Refuse a charge to the token's owner, and return the updated payment."""
        return self._resolve(Resolution.DENY, payment_id)

    def cancel(self, payment_id: str) -> Payment:
        """Cancel a charge by the token's owner, and return the updated payment."""
        return self._resolve(Resolution.CANCEL, payment_id)

    def __repr__(self) -> str:
        """Return a text with the address of the service."""
        return f"<PaymentDesk of {self._client.base_url}>"

    def _create(self, request: PaymentRequest) -> Receipt:
        with self._transport.write_lock:
            actor_id, before = self._get_actor_id(), _Snapshot.take(self._client)
            try:
                path = vocabulary.CREATE_PAYMENT.path
                receipt = self._transport.write("POST", path, request.build_fields(), records.decode_receipt).value
                if request.is_same_transfer(receipt.payment) and receipt.payment.id not in before.ids:
                    return receipt
                lost: ServiceError = ProtocolError("The service answered with another payment.")
            except (OutcomeUnknownError, ProtocolError) as error:
                lost = error
            candidates: list[Payment] = []
            was_read = False
            for _ in self._wait_between_searches(f"this {request.action}"):
                try:
                    new = before.list_new(self._client)
                    candidates = [each for each in new if request.is_fulfilled_by(each, actor_id)]
                except (ServiceError, TokenError):
                    continue
                was_read = True
                if candidates:
                    break
            if len(candidates) == 1:
                return records.Receipt(payment=candidates[0], reconciled=True)
            raise _build_unknown_outcome(f"this {request.action}", lost, candidates, was_read=was_read)

    def _resolve(self, action: Resolution, payment_id: str) -> Payment:
        with self._transport.write_lock:
            self._get_actor_id()
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
            return self._find_resolved(action, before, lost)

    def _find_resolved(self, action: Resolution, before: Payment, lost: ServiceError) -> Payment:
        """Return the payment of a resolution with a lost response, once it is no longer pending."""
        candidates: list[Payment] = []
        for _ in self._wait_between_searches(f"the {action} of payment {before.id}"):
            try:
                current = self._client.payment(before.id, fresh=True)
            except (ServiceError, TokenError):
                continue
            candidates = [current]
            if current.status in _OUTCOMES[action]:
                return current
            if current.status in _CLOSED:
                raise InvalidRequestError(
                    f"Payment {current.id} is {current.status}: it was closed before you could {action} it."
                )
        raise _build_unknown_outcome(
            f"the {action} of payment {before.id}", lost, candidates, was_read=bool(candidates)
        )

    def _wait_between_searches(self, write: str) -> Iterator[None]:
        """Yield after each wait; log a warning first, so that users do not repeat the write meanwhile."""
        log.warning(
            "The response to %s was lost; searching for its outcome for up to %g seconds: do not send it again.",
            write,
            sum(self._waits),
        )
        for wait in self._waits:
            self._sleep(wait)
            yield

    def _get_actor_id(self) -> str:
        """Return the id of the token's owner; its request also opens the account's cache, which a write invalidates."""
        if self._actor_id is None:
            self._actor_id = str(self._client.me().user.id)
        return self._actor_id


class _Snapshot(msgspec.Struct, frozen=True):
    """Ids of the newest page of payments, and the date of its oldest one; None if there is no older page."""

    ids: frozenset[str]
    oldest: datetime | None

    @classmethod
    def take(cls, client: Client) -> _Snapshot:
        """Return the present newest page, which is enough to recognise later payments."""
        page = next(client.payment_pages(fresh=True))
        dates = [item.date_created for item in page.items if item.date_created is not None]
        oldest = min(dates, default=None) if page.next is not None else None
        return cls(frozenset(item.id for item in page.items), oldest)

    def list_new(self, client: Client) -> list[Payment]:
        """Return the payments that certainly did not exist at the time of the snapshot."""
        found: list[Payment] = []
        for page in client.payment_pages(fresh=True):
            new = [
                item
                for item in page.items
                if item.id not in self.ids
                and (self.oldest is None or (item.date_created is not None and item.date_created > self.oldest))
            ]
            found += new
            if len(new) < len(page.items):
                break
        return found


def _build_unknown_outcome(
    write: str, lost: ServiceError, candidates: list[Payment], *, was_read: bool
) -> OutcomeUnknownError:
    if not was_read:
        finding = "the payments could not be read"
    elif len(candidates) > 1:
        finding = f"{len(candidates)} payments match it"
    else:
        finding = "the payments do not show it"
    return OutcomeUnknownError(
        f"It is unknown whether {write} was carried out, because its response was lost and {finding}: check the "
        "payments before you send it again.",
        status_code=lost.status_code,
        code=lost.code,
        retry_after=lost.retry_after,
        candidates=candidates,
    )
