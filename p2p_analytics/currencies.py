"""Currencies: their symbols, names and numbers of decimals, in text for people."""

from __future__ import annotations

import re
from typing import Final

US_DOLLARS: Final = "USD"  # of payments that the service lists
UNKNOWN_CURRENCY: Final = "XXX"  # in ISO 4217, the code for no currency: of statements that do not say which it is
WITH_MILLS: Final = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})  # three decimals
_WHOLE: Final = frozenset(  # no decimals
    "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split()  # noqa: SIM905 - a line is read faster
)
_LONGEST_CODE: Final = 12  # characters of a word that is not a code
_CODE: Final = re.compile("[A-Z]{3}", re.ASCII)

# No symbol that several of the currencies here could have: other dollars and crowns keep their codes.
_SPELLINGS: Final = {  # symbol and name
    US_DOLLARS: ("$", "US dollars"),
    "EUR": ("€", "euros"),
    "GBP": ("£", "pounds sterling"),
    "JPY": ("¥", "yen"),
    UNKNOWN_CURRENCY: ("¤", "an unknown currency"),  # the sign for a currency that is not specified
}


def name_currency(code: str | None) -> str:
    """Return a currency in words, such as "US dollars"; one without words here is its code, and null is unknown."""
    spelling = _SPELLINGS.get(code or UNKNOWN_CURRENCY)
    return clean_code(code) if spelling is None else spelling[1]


def find_prefix(code: str | None) -> str:
    """Return the text before an amount: the symbol of the currency, or its code and a no-break space."""
    spelling = _SPELLINGS.get(code or UNKNOWN_CURRENCY)
    return f"{clean_code(code)}\N{NO-BREAK SPACE}" if spelling is None else spelling[0]


def count_decimals(code: str | None) -> int:
    """Return the number of decimals of a currency: 2 unless it is known to have none or three."""
    return 0 if code in _WHOLE else 3 if code in WITH_MILLS else 2


def clean_code(code: str | None) -> str:
    """Return the code of a currency; of another word, which a file may have in its place, the letters and digits."""
    given = code or UNKNOWN_CURRENCY
    if _CODE.fullmatch(given):
        return given
    return "".join(character for character in given if character.isalnum())[:_LONGEST_CODE] or "?"


def describe_code(code: str | None) -> str:
    """Return the code of a currency as `clean_code` does, and of an unknown one the word."""
    return "unknown" if (code or UNKNOWN_CURRENCY) == UNKNOWN_CURRENCY else clean_code(code)
