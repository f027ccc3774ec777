"""Statement files of one account, from one list of transactions: overlapping, damaged, or saved by a spreadsheet."""

from datetime import date, datetime
from typing import NamedTuple

HANDLE = "ada"
_HEADER = (
    ",ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (tip),Amount (tax),Amount (fee),Tax Rate,Tax Exempt,"
    "Funding Source,Destination,Beginning Balance,Ending Balance,Statement Period Fees,Terminal Location,"
    "Year to Date Fees,Disclaimer"
)


class Transaction(NamedTuple):
    """A transaction that waits from one moment to another, or is at once. Cents are + to the account holder."""

    payment_id: str
    created: str
    ended: str
    type: str
    status: str
    name: str
    cents: int
    note: str = ""


# A charge that is paid in May and one that is cancelled in June. Refunds: of a person who is paid in June only, of a
# shop where the account holder bought in April, and of a name that no other row has.
LEDGER = [
    Transaction("901", "2024-04-02T10:00:07", "", "Payment", "Complete", "Bo Lund", -1037, "tea"),
    Transaction("902", "2024-04-10T11:30:00", "2024-05-11T08:15:41", "Charge", "Complete", "Bo Lund", 2050, "rent"),
    Transaction("903", "2024-04-20T09:12:13", "", "Merchant Transaction", "Complete", "Corner Store", -3225),
    Transaction("904", "2024-04-28T23:59:59", "2024-06-02T00:00:01", "Charge", "Cancelled", "Cy Moss", -700, "tickets"),
    Transaction("905", "2024-05-03T12:00:09", "", "Refund", "Complete", "Dee Ray", 425),
    Transaction("906", "2024-05-15T15:16:17", "", "Payment", "Complete", "Cy Moss", -5000, "van"),
    Transaction("907", "2024-05-28T18:00:30", "", "Refund", "Complete", "Corner Store", 225),
    Transaction("908", "2024-06-06T06:06:06", "", "Payment", "Complete", "Dee Ray", -425, "loan"),
    Transaction("909", "2024-06-20T20:20:20", "", "Refund", "Complete", "Nobody Else", 311),
    Transaction("910", "2024-06-29T21:00:21", "", "Payment", "Complete", "Bo Lund", 80000, "car"),
]


class File(NamedTuple):
    """A statement of the days from one to another.

    In a damaged one, the amount of a payment is a dollar less. One that a spreadsheet saved has no seconds, no notes
    and no fees. One with other names has them in capital letters.
    """

    start: date
    end: date
    damaged: str | None = None
    resaved: bool = False
    balances: bool = True
    other_names: bool = False


def write_statement(file: File) -> str:
    """Return the text of a statement."""
    moved = [each for each in LEDGER if each.status == "Complete"]
    opening = sum(each.cents for each in moved if _find_end(each).date() < file.start)
    closing = sum(each.cents for each in moved if _find_end(each).date() <= file.end)
    rows = []
    for each in LEDGER:
        moment, status = _find_end(each), each.status
        if moment.date() > file.end:
            moment, status = datetime.fromisoformat(each.created), "Pending"
        if file.start <= moment.date() <= file.end:
            rows.append((moment, _write_row(each, moment, status, file)))
    lines = [line for _, line in sorted(rows)]
    first = {"Beginning Balance": _write_money(opening)} if file.balances else {}
    last = {"Ending Balance": _write_money(closing)} if file.balances else {}
    title = [f"Account Statement - (@{HANDLE})", "Account Activity", _HEADER]
    return "\n".join([*title, _write_cells(first), *lines, _write_cells(last)]) + "\n"


def _find_end(each: Transaction) -> datetime:
    return datetime.fromisoformat(each.ended or each.created)


def _write_money(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}${abs(cents) // 100}.{abs(cents) % 100:02}"


def _write_cells(cells: dict[str, str]) -> str:
    return ",".join(cells.get(name, "") for name in _HEADER.split(","))


def _write_row(each: Transaction, moment: datetime, status: str, file: File) -> str:
    name = each.name.upper() if file.other_names else each.name
    sides = ("Ada Reyes", name) if (each.cents < 0) != (each.type == "Charge") else (name, "Ada Reyes")
    cents = abs(each.cents) - (100 if file.damaged == each.payment_id else 0)
    cells = {
        "ID": each.payment_id, "Datetime": moment.isoformat(timespec="minutes" if file.resaved else "seconds"),
        "Type": each.type, "Status": status, "From": sides[0], "To": sides[1],
        "Amount (total)": f"{'+' if each.cents > 0 else '-'} {_write_money(cents)}",
        "Funding Source" if each.cents < 0 else "Destination": "Balance",
    }  # fmt: skip
    return _write_cells(cells if file.resaved else cells | {"Note": each.note, "Amount (fee)": "0"})
