"""Payments of the sandbox's raw JSON as plain Python values, by the words of the interface document."""

import json
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen


def request_json(base_url: str, path: str, **parameters: str) -> dict[str, Any]:
    """Return one raw response, with numbers as exact decimals."""
    with urlopen(f"{base_url}{path}?{urlencode(parameters)}") as response:  # noqa: S310 - the test's own loopback
        return json.loads(response.read(), parse_float=Decimal, parse_int=Decimal)


def parse_instant(text: str) -> datetime:
    """Parse the three documented formats."""
    return datetime.fromisoformat(text.removesuffix("Z") + "+00:00")


def list_payments(base_url: str, token: str) -> list[dict[str, Any]]:
    """Return all payments; each request includes the last second of the previous page."""
    found: dict[str, dict[str, Any]] = {}
    bound: dict[str, str] = {}
    while True:
        page = request_json(base_url, "/payments", access_token=token, limit="50", **bound)
        found |= {item["id"]: item for item in page["data"]}
        if not page["pagination"]["next"]:
            return list(found.values())
        last = parse_instant(page["data"][-1]["date_created"]).replace(microsecond=0) + timedelta(seconds=1)
        bound = {"before": last.strftime("%Y-%m-%dT%H:%M:%S")}


def get_perspective(viewer: str, item: dict[str, Any]) -> tuple[str, int]:
    """Return the counterparty and the signed cents."""
    cents = int(abs(item["amount"]) * 100)
    mine = item["actor"]["id"] == viewer
    outward = (item["action"] == "pay") == mine
    target = item["target"]
    if not mine:
        other = item["actor"]["id"]
    elif target["user"]:
        other = target["user"]["id"]
    else:
        other = target["email"] or target["phone"] or f"unregistered {target['type']}"
    return other, -cents if outward else cents


def to_row(viewer: str, item: dict[str, Any]) -> dict[str, Any]:
    """Return a payment under the names of the PAYMENTS columns; null is None."""
    other, flow = get_perspective(viewer, item)
    actor, target = item["actor"], item["target"]
    user = target["user"] or {}
    person = user if actor["id"] == viewer else actor
    return {
        "payment_id": item["id"],
        "status": item["status"],
        "action": item["action"],
        "amount_cents": abs(flow) if item["action"] == "pay" else -abs(flow),
        "note": item["note"],
        "audience": item["audience"],
        "date_created": parse_instant(item["date_created"]),
        "date_completed": item["date_completed"] and parse_instant(item["date_completed"]),
        "actor_id": actor["id"],
        "actor_username": actor["username"],
        "actor_display_name": actor["display_name"],
        "target_type": target["type"],
        "target_email": target["email"],
        "target_phone": target["phone"],
        "target_user_id": user.get("id"),
        "target_user_display_name": user.get("display_name"),
        "direction": "in" if flow > 0 else "out",
        "counterparty_id": other,
        "counterparty_username": person.get("username"),
        "counterparty_name": person.get("display_name", other),
        "flow_cents": flow,
    }
