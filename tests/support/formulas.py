"""Characters that make a spreadsheet run a cell as a formula."""

from __future__ import annotations

TRIGGERS = tuple("=+-@\t\r\n\0＝＋－＠")  # noqa: RUF001 - full-width signs run as well
