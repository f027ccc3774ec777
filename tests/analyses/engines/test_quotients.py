"""Exact quotients on every engine, which are the last step of a result."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

from analyses.conftest import read_values

import p2p_analytics as p2p

AS_OF = datetime(2200, 1, 1, tzinfo=UTC)
DAY = 24 * 60 * 60 * 10**6  # microseconds
# A product with the inverse, or a division of rounded numbers, gives another number than these quotients.
CENTS = [*range(0, 1000, 7), 5879, 10**15 + 1, 2**53 - 1]
WAITED = [0, 1, DAY - 1, DAY, DAY + 1, 3 * DAY // 7, 73_000 * DAY - 1, 73_000 * DAY, 2**53 - 1]


def list_rows():
    """Return pending payments of these amounts, and requests that were paid after these times."""
    rows = [{"status": "pending", "direction": "in", "amount_cents": cents, "note": "amount"} for cents in CENTS]
    for waited in WAITED:
        created = f"{AS_OF - timedelta(microseconds=waited):%Y-%m-%dT%H:%M:%S.%fZ}"
        row = {"direction": "in", "action": "charge", "note": f"{waited}", "created": created}
        rows += [row | {"status": "pending"}, row | {"completed": f"{AS_OF:%Y-%m-%dT%H:%M:%SZ}"}]
    return [{"payment_id": f"{number:03}"} | row for number, row in enumerate(rows)]


def read_quotients(frame):
    """Return the amounts, the whole days by the microseconds waited, and the days by them."""
    pending = read_values(p2p.pending_requests(frame, AS_OF), "note", "amount", "age_days")
    days = read_values(p2p.time_to_settle(frame, by="note"), "note", "days_p50")
    amounts = sorted(amount for note, amount, _ in pending if note == "amount")
    return (
        amounts,
        {int(note): age for note, _, age in pending if note != "amount"},
        {int(note): of for note, of in days},
    )


EXPECTED = (
    [float(Fraction(cents, 100)) for cents in CENTS],
    {waited: waited // DAY for waited in WAITED},
    {waited: float(Fraction(waited, DAY)) for waited in WAITED},
)


def test_quotients(payments):
    """Each is the float next to the quotient; whole days are rounded down."""
    assert read_quotients(payments(*list_rows())) == EXPECTED
