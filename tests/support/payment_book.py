"""Scripted service with a ledger of payments, and the faults of its writes."""

import json
from collections.abc import Callable
from typing import Any

from support.canary import CANARY
from support.scripted import hang_up

ME, FRIEND = {"id": "7", "display_name": "Me"}, {"id": "8", "display_name": "Friend"}
ENVELOPE = {"error": {"message": f"No. access_token={CANARY}", "code": "1"}}
LUNCH = {"user_id": "8", "amount": "12.30", "note": "lunch"}
SCOPE, STATE = ({"error": {"message": "No.", "code": code}} for code in ("260", "409"))
HTML, PAGE = (200, {}, b"<html>please log in</html>"), (404, {}, b"<html>not found</html>")


class PaymentBook:
    """Service with a ledger of payments; ``fault`` decides on each write and its response."""

    def __init__(self, fault: Callable[..., Any]) -> None:
        self.fault = fault
        self.now = 0.0
        self.items: list[dict[str, Any]] = []
        self.visible_from: dict[str, float] = {}
        self.unreadable = False
        self.on_read: Callable[[], None] = lambda: None

    def __call__(self, path: str, fields: dict[str, str]) -> Any:
        """Return the response to a request."""
        if path.startswith(("POST ", "PUT ")):
            return self.fault(self, fields)
        if path == "/v1/me":
            return {"data": {"balance": 50, "user": ME}}
        if self.unreadable:
            return 500, {}, b""
        shown = [item for item in self.items if self.visible_from.get(item["id"], 0) <= self.now]
        self.on_read()
        if path == "/v1/payments":
            shown = [item for item in shown if item["date_created"] < fields.get("before", "9")]
            return {"data": shown[:50], "pagination": {"next": "?before=x" if len(shown) > 50 else None}}
        return {"data": next(item for item in shown if path.endswith(f"/{item['id']}"))}

    def carry_out(self, fields: dict[str, str], *, after: float = 0.0, **changed: object) -> dict[str, Any]:
        """Add a payment, visible ``after`` some seconds, and return the documented response."""
        number = len(self.items) + 1
        cents = fields["amount"]
        item = {
            "id": str(number), "status": "settled", "action": "charge" if cents.startswith("-") else "pay",
            "amount": float(cents), "note": fields["note"], "actor": ME, "audience": "private",
            "target": {"type": "user", "email": None, "phone": None, "user": FRIEND},
            "date_created": f"2024-05-01T12:00:{number:02}.500000", "date_completed": None,
        } | changed  # fmt: skip
        self.items.insert(0, item)
        self.visible_from[item["id"]] = self.now + after
        return {"data": {"balance": 37.7, "payment": item | {"fee": None, "refund": None, "medium": "api"}}}

    def resolve(self, status: str) -> dict[str, Any]:
        """Set the status of the newest payment, and return the documented response."""
        self.items[0] = self.items[0] | {"status": status}
        return {"data": self.items[0]}


def list_writes(service) -> list[str]:
    """Return the writes that reached a service, in order."""
    return [path for path, _ in service.asked if path.startswith(("POST", "PUT"))]


def truncate(book: PaymentBook, fields: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """Carry out a payment, and truncate the response."""
    whole = json.dumps(book.carry_out(fields)).encode()
    return 200, {"Content-Length": str(len(whole))}, whole[:40]


def carry_out_then_answer(answer: Any, *, after: float = 0.0) -> Callable[..., Any]:
    """Return a fault that carries the payment out, perhaps some seconds later, and gives an answer at once."""
    return lambda book, fields: (book.carry_out(fields, after=after), answer)[1]


def answer_without_effect(answer: Any) -> Callable[..., Any]:
    """Return a fault that gives an answer and carries nothing out."""
    return lambda _book, _fields: answer


def carry_out_late(seconds: float) -> Callable[..., Any]:
    """Return a fault that answers 503 and carries the payment out some seconds later."""
    return carry_out_then_answer((503, {}, ENVELOPE), after=seconds)


def carry_out_twice(book: PaymentBook, fields: dict[str, str]) -> Any:
    """Lose the response, while another device makes an equal payment."""
    book.carry_out(fields)
    book.carry_out(fields)
    return hang_up
