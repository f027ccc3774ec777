"""The sample statement files by name, and headers of services' files with their line ends."""

from pathlib import Path
from typing import Final

_STATEMENTS: Final = Path(__file__).parents[2] / "statements"
SAMPLES: Final = {
    path.stem: path
    for folder in ("samples", "other_services/samples")
    for path in sorted((_STATEMENTS / folder).glob("*.csv"))
    if not path.name.endswith(".expected.csv")
}
CASH_APP: Final = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
)
PAYPAL: Final = "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,Transaction ID"
"""Of the activity; without a line end, because it has further columns at times."""
REVOLUT: Final = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
SPLITWISE: Final = "Date,Description,Category,Cost,Currency"
"""Members follow."""
WISE: Final = "TransferWise ID,Date,Amount,Currency,Description,Running Balance\n"


def read_sample(name: str) -> str:
    """Return the text of a sample without its byte order mark."""
    return SAMPLES[name].read_text("utf-8-sig")
