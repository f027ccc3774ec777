"""Write the tables of ``performance.md`` from the results of ``make bench``: ``make docs`` and ``make bench`` run it.

Every result is on the page, and every missed limit, so that the page is not a selection of the best.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = Path(__file__).with_name("performance.md")
RESULTS = Path(__file__).parents[1] / "tests" / "benchmarks" / "results.md"
RULE = "|---|---|---|---|---|\n"
BLOCK = re.compile(r"(<!-- bench: (.+?) -->\n).*?(<!-- /bench -->\n)", re.DOTALL)
TEN_TIMES = "ten times the payments"
# The first row of each section; the rows below it, up to the next first row, belong to the section too.
STARTS = {
    "requests": r"requests for \d+ payments$",
    "frames": r"flatten ",
    "start": r"import p2p_analytics$",
    "few rows": r"\w+, [\d,]+, more$",
    "analyses": rf"\w+, ([\d,]+|{TEN_TIMES})$",
    "spark": r"start of Spark|analyses on Spark",
    "archive": r"size of .* payments, less$",
    "paging": r"load [\d,]+, \d+ connections",
    "loading": r"load [\d,]+ payments",
    "sandbox": r"page of \d+, ",
    "statements": r"time of [\d,]+ files",
    "report": r"report of ",
    "memory": r"write [\d,]+ payments$|memory of spend_by_friend$",
}
ABSENT = "The results have no such rows."
NUMBER = r"[-+]?\d[\d,]*(?:\.\d+)?"


class Row(NamedTuple):
    """A row of the results."""

    what: str
    against: str
    result: str
    spread: str
    wanted: str


def read_rows(text: str) -> list[Row]:
    """Return the rows of the table of results."""
    lines = text.partition(RULE)[2].splitlines()
    return [Row(*(cell.strip() for cell in line.strip()[1:-1].split("|"))) for line in lines if line.strip()]


def split_rows(rows: list[Row]) -> dict[str, list[Row]]:
    """Return the rows of each section, in their order; ValueError for rows above the first row of a section."""
    sections: dict[str, list[Row]] = {name: [] for name in STARTS}
    here = ""
    for row in rows:
        here = next((name for name, start in STARTS.items() if re.match(start, row.what)), here)
        if not here:
            raise ValueError(f"No section of the page begins with the row {row.what!r}: add one to STARTS.")
        sections[here].append(row)
    return sections


def is_missed(row: Row) -> bool:
    """Return whether a result misses its limit; without a number or a limit it does not.

    A limit is a number "or more", "or less" or "or fewer"; or several with units, which none of the result may exceed.
    """
    if not has_limit(row):
        return False
    if " or " not in row.wanted:
        limits = re.findall(r"([\d.]+) (\w+)", row.wanted)
        return any(find_number(row.result, rf" {unit}\b") > float(limit) for limit, unit in limits)
    number, limit = find_number(row.result), find_number(row.wanted)
    return number < limit if row.wanted.endswith("more") else number > limit


def has_limit(row: Row) -> bool:
    """Return whether a result is a number that is compared with a limit."""
    return bool(row.wanted and re.match(NUMBER, row.result))


def find_number(text: str, unit: str = "") -> float:
    """Return the first number of a text, or the first in front of a unit."""
    found = re.search(f"({NUMBER}){unit}", text)
    if not found:
        raise ValueError(f"There is no number with the unit {unit!r} in {text!r}.")
    return float(found[1].replace(",", ""))


def mark(row: Row, text: str) -> str:
    """Return the text, in bold if the result misses its limit."""
    return f"**{text}**" if is_missed(row) else text


def list_rows(rows: list[Row]) -> Iterator[str]:
    """Yield the lines of a table with the rows as they are in the results."""
    yield from ("| what | against | result | spread | wanted |", RULE.rstrip())
    for row in rows:
        yield f"| {row.what} | {row.against} | {mark(row, row.result)} | {row.spread} | {row.wanted} |"


def draw_matrix(rows: list[Row], size: str) -> Iterator[str]:
    """Yield the lines of a table with a row for each analysis and a column for each peer or engine."""
    cells = {(name, row.against): row for row in rows for name, _, of in [row.what.partition(", ")] if of == size}
    names, peers = (list(dict.fromkeys(key[at] for key in cells)) for at in (0, 1))
    names.sort(key=lambda name: name.startswith("geometric mean"))
    limits = {peer: next(row.wanted for key, row in cells.items() if key[1] == peer) for peer in peers}
    yield "| analysis | " + " | ".join(f"{peer} ({limits[peer]})" for peer in peers) + " |"
    yield "|---|" + "---|" * len(peers)
    for name in names:
        found = [cells.get((name, peer)) for peer in peers]
        yield f"| {name} | " + " | ".join(mark(row, _shorten(row)) if row else "" for row in found) + " |"


def _shorten(row: Row) -> str:
    """Return a result without its ratio of wall time, and with the limit of a mean, which is another one."""
    result = re.sub(r"; wall [\d.]+x", "", row.result).replace("; ", ", ")
    return f"{result} ({row.wanted})" if row.wanted and row.what.startswith("geometric mean") else result


def count_misses(rows: list[Row]) -> Iterator[str]:
    """Yield a sentence with the numbers of results with a limit, within it and beyond it."""
    limited = list(filter(has_limit, rows))
    missed = sum(map(is_missed, limited))
    yield f"Results with a limit: {len(limited)}. Within it: {len(limited) - missed}. Misses: {missed}."


def fill_page(text: str, results: str) -> str:
    """Return the text of the page with the current results between its markers."""
    rows = read_rows(results)
    sections = split_rows(rows)
    about = [line for line in results.partition("\n| ")[0].splitlines() if line.startswith("- ")]
    draw: dict[str, Callable[[str], Iterator[str]]] = {
        "misses": lambda _: count_misses(rows),
        "machine": lambda _: iter(about),
        "matrix": lambda size: draw_matrix(sections["analyses"], size),
        "rows": lambda name: list_rows(sections[name]) if sections[name] else iter([ABSENT]),
    }

    def fill(block: re.Match[str]) -> str:
        kind, _, argument = block[2].partition(" ")
        return block[1] + "\n".join(draw[kind](argument)) + "\n" + block[3]

    return BLOCK.sub(fill, text)


def write_page() -> None:
    """Write the page again from the results."""
    PAGE.write_text(fill_page(PAGE.read_text(encoding="utf-8"), RESULTS.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write_page()
