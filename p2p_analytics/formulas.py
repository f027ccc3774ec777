"""Formula injection: defuses text cells that a spreadsheet would run as formulas, and restores them.

A cell is a formula by its first character after any blanks, and so is each line within a cell,
because some programs start a new row there. A formula is defused by a leading apostrophe. A cell or
line that begins with an apostrophe gets one more, so that removing one restores the text exactly.
"""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

# Without CR and LF: each line is matched separately, so a run of line breaks takes linear time.
_BLANKS: Final = (
    r"[\x00-\x09\x0b\x0c\x0e-\x20\x7f-\xa0\xad\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ufeff]*"
)
_SIGNS: Final = "[-=+@\uff1d\uff0b\uff0d\uff20]"  # and their full-width forms
_AT_START: Final = rf"\A(?='|[^\S\t\r\n]*[\t\r\n\x00]|{_BLANKS}{_SIGNS})"
_IN_LINE: Final = rf"(?<=[\r\n])(?='|[^\S\t\r\n]*[\t\x00]|{_BLANKS}{_SIGNS})"
_FORMULA: Final = re.compile(f"{_AT_START}|{_IN_LINE}")
_APOSTROPHE: Final = re.compile(r"(?:\A|(?<=[\r\n]))'")

# Arrow's regular expressions have no lookahead: they preselect a superset of the cells, and Python's make the change.
_MAY_BE_FORMULA: Final = rf"(^|[\r\n])[\pZ\pC]*('|[\t\r\n\x00]|{_SIGNS})"
_MAY_BE_DEFUSED: Final = r"(^|[\r\n])'"


def defuse_formulas(column: pa.Array) -> pa.Array:
    """Return the text column with every formula defused."""
    return _rewrite_cells(column, _MAY_BE_FORMULA, _FORMULA, "'")


def restore_formulas(column: pa.Array) -> pa.Array:
    """Return the text column that `defuse_formulas` was applied to."""
    return _rewrite_cells(column, _MAY_BE_DEFUSED, _APOSTROPHE, "")


def defuse_text(text: str) -> str:
    """Return a text with every formula defused."""
    return _FORMULA.sub("'", text)


def restore_text(text: str) -> str:
    """Return the text that `defuse_text` was applied to."""
    return _APOSTROPHE.sub("", text)


def _rewrite_cells(column: pa.Array, candidates: str, pattern: re.Pattern[str], replacement: str) -> pa.Array:
    mask = pc.fill_null(pc.match_substring_regex(column, candidates), fill_value=False)
    changed = [pattern.sub(replacement, text) for text in column.filter(mask).to_pylist()]
    return pc.replace_with_mask(column, mask, pa.array(changed, column.type)) if changed else column
