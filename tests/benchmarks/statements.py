"""Reading 1,000 statement files with a million rows, against pandas.read_csv on the same bytes; and one import more.

Each measurement is a process of its own, so that its peak memory is that of one reader. The peer gives the text of the
cells only; `read_statements` gives cents, instants, directions, one row for each payment, and reconciled balances.
"""

import json
import random
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from costs import read_memory, run_alone, time_call  # beside this file

FILES = 1_000
ROWS = 1_000  # of each file
ROUNDS = 3
PREAMBLE = 2  # lines before the header
HEADER = (
    ",ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (tip),Amount (tax),Amount (fee),Tax Rate,Tax Exempt,"
    "Funding Source,Destination,Beginning Balance,Ending Balance,Statement Period Venmo Fees,Terminal Location,"
    "Year to Date Venmo Fees,Disclaimer"
)
NOTES = ("rent", "Dinner \U0001f355", '"gas, water"', "NA", "two tickets for friday", '"first line\nsecond line"')
STEP = timedelta(hours=1)
FIRST_ID = 3_970_000_000_000_000_301


def measure(add_row) -> None:
    """Add the rows of statement files to the table, each with its target."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), FILES, ROWS)
        rounds = [[run_alone(__file__, reader, folder) for reader in ("ours", "peer")] for _ in range(ROUNDS)]
    name = f"{FILES:,} files with {FILES * ROWS:,} rows"
    for number, (what, wanted) in enumerate(
        ((f"time of {name}", "3x or less"), ("CPU time of that", "3x or less"), ("peak memory of that", "1.5x or less"))
    ):
        add_row(what, "pandas.read_csv", [ours[number] / peer[number] for ours, peer in rounds], wanted=wanted)
    what = "CPU time of one import more, 2,000 rows to 200,000"
    imports = [_import_one_more() for _ in range(10)][1:]  # the first one of a process loads modules
    add_row(what, "history() without a cache", imports, wanted="1.2x or less")


def _import_one_more() -> float:
    """Return the CPU time of an import, compared with that of deriving all payments of the archive after it."""
    import p2p_analytics as p2p

    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder), 101, 2_000)
        *files, last = sorted(Path(folder).iterdir())
        archive = p2p.open_archive(Path(folder) / "archive")
        archive.import_(p2p.read_statements(files))
        one = p2p.read_statements(last)
        _, _, ours = time_call(lambda: archive.import_(one))
        rows, _, peer = time_call(lambda: len(archive.history().payments))  # the import has left no view of them
        assert rows == 101 * 2_000
        return ours / peer


def write_files(folder: Path, files: int, rows: int) -> None:
    """Write files of one account, each with the balance that the one before ends with."""
    chance = random.Random(3)  # noqa: S311 - the same data each time
    cents, moment, number = 125_000, datetime(2000, 1, 1, tzinfo=UTC), FIRST_ID
    for file in range(files):
        lines = ["Account Statement - (@nora-quill)" + "," * 21, "Account Activity" + "," * 21, HEADER]
        lines.append(f',,,,,,,,,,,,,,,,"{_spell(cents)}",,,,,')
        for _ in range(rows):
            other, amount = f"Person {chance.randrange(400)}", chance.randrange(100, 500_000)
            sign, sides = ("-", f"Nora Quill,{other}") if chance.random() < 0.5 else ("+", f"{other},Nora Quill")
            cents += amount if sign == "+" else -amount
            moment, number = moment + STEP, number + 7
            funds = "Venmo balance," if sign == "-" else ",Venmo balance"
            lines.append(
                f",{number},{moment:%Y-%m-%dT%H:%M:%S},Payment,Complete,{chance.choice(NOTES)},{sides},"
                f'"{sign} {_spell(amount)}",,0,,0,,{funds},,,,Venmo,,'
            )
        lines.append(f',,,,,,,,,,,,,,,,,"{_spell(cents)}",$0.00,,$0.00,"In case of errors\n        or questions"')
        (folder / f"statement_{file:04}.csv").write_text("\n".join(lines) + "\n", "utf-8")


def _spell(cents: int) -> str:
    return f"{'-' if cents < 0 else ''}${abs(cents) / 100:,.2f}"


def _read(reader: str, folder: str) -> None:
    """Print the wall time, the CPU time and the peak of memory of one reader."""
    import pandas as pd
    import polars  # noqa: F401, ICN001 - imported before the clock starts, like pandas

    import p2p_analytics as p2p

    def read_peer() -> int:
        paths = sorted(Path(folder).iterdir())
        return len(pd.concat([pd.read_csv(path, skiprows=PREAMBLE) for path in paths])) - 2 * FILES

    def read_ours() -> int:
        statements = read_statements(folder)
        assert statements.reconciliation["reconciled"].all()
        return len(statements.payments)

    read_statements = p2p.read_statements
    rows, wall, cpu = time_call(read_ours if reader == "ours" else read_peer)
    assert rows == FILES * ROWS
    print(json.dumps([wall, cpu, read_memory()]))  # noqa: T201 - its result


if __name__ == "__main__":
    _read(*sys.argv[1:])
