"""Tests of recurring against hand calculation, on every kind of frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from p2p_analytics.analyses.series import recurring

if TYPE_CHECKING:
    from collections.abc import Callable

    Builder = Callable[..., Any]
    Reader = Callable[[Any], list[dict[str, Any]]]

ANN = {"counterparty_id": "1", "counterparty_name": "Ann", "direction": "out", "note": "Rent"}


def pay(cents: int | None, *days: str, **more: Any) -> list[dict[str, Any]]:
    """Return payments of one amount at noon of some days, to Ann unless another person is given."""
    return [
        ANN | {"amount_cents": cents, "created": f"{day}T12:00:00Z" if len(day) == len("2024-01-01") else day} | more
        for day in days
    ]


def read_dates(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its dates as text, whatever type the kind of frame has for them."""
    return {
        name: value if value is None else f"{value:%Y-%m-%d}" if "date" in name or name == "next_expected" else value
        for name, value in row.items()
    }


def test_one_series(payments: Builder, rows_of: Reader) -> None:
    """Rent on the first of three months; rows that are pending, of another kind, or without amount do not count."""
    found = recurring(
        payments(
            *pay(-90000, "2024-01-01", "2024-02-01", "2024-03-01"),
            *pay(90000, "2024-04-01", status="pending"),
            *pay(None, "2024-04-01"),
            *pay(90000, "2024-04-01", direction=None),
            *pay(90000, "2024-04-01", kind="transfer"),
        ),
        as_of="2024-03-20",
    )
    assert [read_dates(row) for row in rows_of(found)] == [
        {
            "counterparty_id": "1", "counterparty_name": "Ann", "direction": "out", "cadence": "monthly",
            "amount": 900.0, "payments": 3, "first_date": "2024-01-01", "last_date": "2024-03-01",
            "next_expected": "2024-04-01", "state": "active", "note": "Rent",
        }
    ]  # fmt: skip
