"""Movements of the account holder's balance: by how much each settled row changed it, and where it began."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.schema import KIND_PAYMENT, KIND_TRANSFER, SOURCE_API

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    Row = Mapping[str, Any]

_GROSS_TYPES: Final = ("payment", "charge")  # in statements of businesses, the fee of these is beside the amount


class Opening(NamedTuple):
    """The balance of an account and currency before its first row, and the last one that statements state.

    ``stated`` is None where the balance after the last of these rows is the stated one.
    """

    at: datetime
    cents: int
    stated: Stated | None


class Stated(NamedTuple):
    """A stated balance that does not follow from the rows, which lead to ``counted`` cents."""

    at: datetime
    cents: int
    counted: int


def is_paid_elsewhere(row: Row) -> bool:
    """Return whether a bank or card paid a row, so that the balance of the service did not change."""
    return (
        is_bank_or_card(row["funding_source"])
        and row["kind"] != KIND_TRANSFER
        and row["flow_cents"] is not None
        and row["flow_cents"] < 0
    )


def find_movements(rows: Sequence[Row]) -> list[int | None]:
    """Return by how many cents each settled row changed the balance; None where its amount is not known.

    A fee is inside the flow, except that of a payment that a business received and that of a payment of the service
    itself. Where two neighbours of a file have balances, their difference decides.
    """
    movements = [_expect_movement(row) for row in rows]
    for file in _list_files(rows):
        for before, after in pairwise(file):
            balances = rows[before]["balance_cents"], rows[after]["balance_cents"]
            if movements[after] is not None and None not in balances:
                change = balances[1] - balances[0]
                if change in _list_candidates(rows[after]):
                    movements[after] = change
    return movements


def _expect_movement(row: Row) -> int | None:
    flow: int | None = row["flow_cents"]
    if flow is None or not is_paid_elsewhere(row):
        return flow - _find_fee_apart(row) if flow is not None else None
    return 0


def _find_fee_apart(row: Row) -> int:
    fee: int = row["fee_cents"] or 0
    if row["file"] is None:
        return fee if row["source"] in {SOURCE_API, None} else 0
    is_received = row["kind"] == KIND_PAYMENT and row["direction"] == "in"
    return fee if is_received and (row["type"] or "").lower() in _GROSS_TYPES else 0


def _list_candidates(row: Row) -> tuple[int, ...]:
    """Return what a row can have moved: its flow, with the fee inside or apart, nothing, or the opposite of a debt."""
    flow = row["flow_cents"]
    return flow, flow - (row["fee_cents"] or 0), 0, -flow


def _list_files(rows: Sequence[Row]) -> Iterator[list[int]]:
    """Yield the positions of the rows of each file, account and currency, in the order in which they moved."""
    files: dict[Hashable, list[int]] = {}
    for at, row in enumerate(rows):
        if row["file"] is not None:
            files.setdefault((row["file"], row["account_id"], row["currency"]), []).append(at)
    for file in files.values():
        yield _order_file(rows, file)


def _order_file(rows: Sequence[Row], file: list[int]) -> list[int]:
    """Return the positions of the rows of a file by line, the last line first if that is the oldest."""
    by_line = sorted(file, key=lambda at: rows[at]["line"] or 0)
    dates = [rows[at]["moment"] for at in by_line]
    return by_line[::-1] if dates[0] > dates[-1] else by_line


def find_openings(rows: Sequence[Row], movements: Sequence[int | None]) -> dict[tuple[str | None, str], Opening]:
    """Return the opening balance of each account and currency of which statements state a balance.

    It is that before the first row, and follows from the first balance that is known. Accounts with a row of unknown
    amount before that one are left out.
    """
    accounts: dict[tuple[str | None, str], list[int]] = {}
    for at in _order_rows(rows):
        accounts.setdefault((rows[at]["account_id"], rows[at]["currency"]), []).append(at)
    openings = {}
    for key, account in accounts.items():
        known = [place for place, at in enumerate(account) if rows[at]["balance_cents"] is not None]
        if not known:
            continue
        until = [movements[at] for at in account[: known[-1] + 1]]
        if None in until[: known[0] + 1]:
            continue
        first, last = rows[account[known[0]]], rows[account[known[-1]]]
        opening = first["balance_cents"] - _add(until[: known[0] + 1])
        counted = opening + _add(until)
        stated = Stated(last["moment"], last["balance_cents"], counted) if counted != last["balance_cents"] else None
        openings[key] = Opening(rows[account[0]]["moment"], opening, stated)
    return openings


def _add(movements: Iterable[int | None]) -> int:
    return sum(cents for cents in movements if cents is not None)


def _order_rows(rows: Sequence[Row]) -> list[int]:
    """Return the positions of all rows, the oldest first; those of one second as in their file."""
    places = {at: place for file in _list_files(rows) for place, at in enumerate(file)}
    return sorted(range(len(rows)), key=lambda at: (rows[at]["moment"], places.get(at, 0)))
