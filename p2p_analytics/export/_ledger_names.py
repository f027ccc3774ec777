"""Names that ledgers take: accounts of one's own balances, and commodities of currencies."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from itertools import combinations
from typing import TYPE_CHECKING, Final

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.errors import ConfigurationError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Collection

_ACCOUNT: Final = re.compile(r"(Assets|Liabilities|Equity|Income|Expenses)(:[A-Z0-9][A-Za-z0-9-]*)+")
_COMMODITY: Final = re.compile(r"(?!(TRUE|FALSE|NULL)$)[A-Z][A-Z0-9]{1,23}")  # the words have a meaning in beancount
_LONGEST_WORD: Final = 16  # of a commodity that gets a hyphen and digits of a hash too
_DIGITS: Final = 6


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
    """Return the commodity of each currency, by its code; it does not depend on the other currencies.

    It is the code, or for a word that ledgers do not take, the letters and digits of the word and of its hash:
    CA-DA44C5 for "CA$", and XXX-09FC96 for "$". No code has a hyphen.

    Raises
    ------
    SchemaError
        Two currencies have one name, so that their amounts would be added up.
    """
    names = {code: code if _COMMODITY.fullmatch(code) else _make_commodity(code) for code in sorted(codes)}
    for one, other in combinations(names, 2):
        if names[one] == names[other]:
            raise SchemaError(
                f"The currencies {one} and {other} have the same name in a ledger, {names[one]}: write one of them at "
                "a time."
            )
    return names


def _make_commodity(code: str) -> str:
    word = re.sub("[^A-Z0-9]", "", _to_ascii(code).upper())[:_LONGEST_WORD]
    name = word if _COMMODITY.fullmatch(word) else f"{UNKNOWN_CURRENCY}-{word}"
    digest = hashlib.sha256(code.encode()).hexdigest()[:_DIGITS].upper()
    return f"{name[:_LONGEST_WORD].rstrip('-')}-{digest}"


def _to_ascii(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _make_unique(name: str, taken: Collection[str]) -> str:
    unique, number = name, 1
    while unique in taken:
        number += 1
        unique = f"{name}-{number}"
    return unique
