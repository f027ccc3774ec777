"""Names that ledgers take: accounts of one's own balances, and commodities of currencies."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Collection

_ACCOUNT: Final = re.compile(r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+")
_COMMODITY: Final = re.compile(r"(?!(TRUE|FALSE|NULL)$)[A-Z][A-Z0-9]{1,23}")  # the words have a meaning in beancount
_LONGEST_WORD: Final = 16  # of a commodity that gets a hyphen and a number too


def check_account(name: object, *, what: str) -> None:
    """Raise a ConfigurationError if ledgers do not take the name of an account."""
    if not isinstance(name, str) or not _ACCOUNT.fullmatch(name):
        raise ConfigurationError(
            f"{what} names the account {name!r}, which ledgers do not take: begin with Assets, Liabilities, Equity, "
            "Income or Expenses, and add parts of letters, digits and hyphens with a capital first, as Expenses:Rent."
        )


def name_own(ids: set[str | None], own: str) -> dict[str | None, str]:
    """Return the account of one's own balance for each account id; several have different names below one account."""
    if len(ids) <= 1:
        return dict.fromkeys(ids, own)
    names: dict[str | None, str] = {}
    for each in sorted(ids, key=lambda value: (value is None, value or "")):
        word = re.sub("[^A-Za-z0-9]+", "-", _to_ascii(each or "unknown")).strip("-") or "Account"
        names[each] = _make_unique(f"{own}:{word[0].upper()}{word[1:]}", names.values())
    return names


def name_commodities(codes: set[str]) -> dict[str, str]:
    """Return the commodity of each currency: its code, or for a word that ledgers do not take, a different one.

    The word "CA$" is called CA, and CA-2 if that is a currency too. One without letters is called XXX-2, because XXX is
    the code of an unknown currency.
    """
    names = {code: code for code in sorted(codes) if _COMMODITY.fullmatch(code)}
    for code in sorted(codes - {*names}):
        word = re.sub("[^A-Z0-9]", "", _to_ascii(code).upper())[:_LONGEST_WORD]
        name = word if _COMMODITY.fullmatch(word) else f"{UNKNOWN_CURRENCY}-{word}".rstrip("-")
        names[code] = _make_unique(name, {UNKNOWN_CURRENCY, *names.values()})
    return names


def _to_ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _make_unique(name: str, taken: Collection[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique
