"""The disclaimer that ends a file."""

from __future__ import annotations

from typing import Final

_INDENT: Final = "        "
_SENTENCES: Final = (
    "This account belongs to an invented person.",
    "No bank holds any of this money:",
    "it exists in a sandbox on one computer only.",
    "",
    "If a line of this statement looks wrong:",
    '- Compare it with the list of payments, which has the same "id"',
    "- Look at the time: all of them are in UTC; and",
    "- Count the lines with another funding source:",
    "they do not change it.",
    "",
    "How the amounts are meant:",
    "1. A minus is money that left the account, a plus is money",
    "that came in.",
    "2. Fees, tips and taxes are inside the total.",
    "3. Pending, cancelled, failed and expired lines move nothing.",
    "4. A transfer to the bank counts when it is issued, even if",
    "the bank takes three working days, or five.",
    "",
    "The balance at the end is the balance at the beginning and",
    "all lines that moved it, to the cent.",
    'If it is not, that is an error: please "report" it with the',
    "seed of the town, the name of the user, and both dates.",
    "",
    "Prices of coins are invented as well.",
)

DISCLAIMER: Final = "\n".join(
    [_SENTENCES[0], *(_INDENT + sentence if sentence else "" for sentence in _SENTENCES[1:]), _INDENT]
)
