"""Names of the sheets of a workbook, as Excel takes them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from p2p_analytics.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterable

_LONGEST: Final = 31  # units of UTF-16
_FORBIDDEN: Final = re.compile(r"[\[\]:*?/\\]|\A'|'\Z")
_RESERVED: Final = "history"  # the sheet in which Excel tracks changes


def check_sheet_names(names: Iterable[object]) -> None:
    """Raise a ConfigurationError if Excel does not take a name of a sheet, or takes two of them for one."""
    seen: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not _is_sheet_name(name):
            raise ConfigurationError(
                f"{str(name)[:60]!r} is no name of a sheet: choose 1 to {_LONGEST} characters, none of []:*?/\\, with "
                "no apostrophe at an end, and not History."
            )
        other = seen.setdefault(name.casefold(), name)
        if other is not name:
            raise ConfigurationError(f"Excel takes the sheets {other!r} and {name!r} for one: rename one of them.")


def _is_sheet_name(name: str) -> bool:
    return (
        0 < len(name.encode("utf-16-le", "surrogatepass")) <= 2 * _LONGEST
        and name.isprintable()
        and name.casefold() != _RESERVED
        and not _FORBIDDEN.search(name)
    )
