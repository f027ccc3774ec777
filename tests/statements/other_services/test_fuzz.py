"""Any text in the cells of any format: every row stays, in one bin, and what cannot be read is a problem."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from p2p_analytics.frames.schema import KINDS
from p2p_analytics.statements.formats.registry import list_formats
from p2p_analytics.statements.rows import polars_schema
from support.statements.tables import read_text

_FORMATS = {
    each.name: each for each in list_formats() if not each.name.startswith("statement_") and each.name != "history"
}
_PLAIN = (
    "", " ", "0", "-", "NA", "(None)", "1", "-5.00", "$10", "1,234.56", "1.234,56", "1e400", "9" * 30, "- $ 5",
    "\u0663", "2024-02-30", "31/12/2024", "12/31/2024", "01.02.2024", "2024-03-31 02:30:00 CET", "99:99", "EDT",
    "Europe/Berlin",
    "USD", "jpy", "BTC -0.1", "KWD", "COMPLETE", "Ausstehend", "Memo", "Soll", "CARD-1", "FEE-CARD-1", "BALANCE-2",
    "Payment", "Sent P2P", "Account Notifications", "Bitcoin Buy", "Refund", "Savings", "=1+1", "\x00", "\u202e", "🍕",
)  # fmt: skip
_CELLS = st.one_of(st.sampled_from(_PLAIN), st.text(max_size=20))


def _find_silent(reading, fields, rows) -> list[int]:
    """Return the lines with an amount that was not read, without a problem."""
    reported = {problem.line for problem in reading.problems}
    amounts = [position for position, field in enumerate(fields) if field in {"amount", "gross", "net"}]
    return [
        row["line"]
        for row, cells in zip(reading.rows.iter_rows(named=True), rows, strict=True)
        if row["flow_cents"] is None
        and any(cells[position].strip() not in {"", "(None)"} for position in amounts)
        and row["line"] not in reported
    ]


@pytest.mark.parametrize("name", _FORMATS)
@pytest.mark.parametrize(
    "examples", [5, pytest.param(20, marks=pytest.mark.full_fuzz), pytest.param(3_000, marks=pytest.mark.soak)]
)
def test_any_cells(name, examples):
    """One row of the schema for each row of the file, with a kind, or none for a refund; problems have true lines."""

    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(data=st.data())
    def check(data):
        statement_format = _FORMATS[name]
        fields = [
            key for key in statement_format.columns if key in statement_format.required or data.draw(st.booleans())
        ]
        header = [data.draw(st.sampled_from(statement_format.columns[key])) for key in fields]
        extras = ["Nora Quill", "Theo Marsh"] if name == "splitwise" else []
        width = len(header) + len(extras)
        rows = data.draw(st.lists(st.lists(_CELLS, min_size=width, max_size=width), max_size=6))
        rows = [row for row in rows if any(row)]
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([header + extras, *rows])

        reading = read_text(text.getvalue(), account="Nora Quill")
        assert dict(reading.rows.schema) == polars_schema()
        assert len(reading.rows) == len(rows)
        assert set(reading.rows["kind"]) <= {*KINDS, None}
        lines = set(reading.rows["line"])
        assert {problem.line for problem in reading.problems} <= lines
        assert {problem.file for problem in reading.problems} <= {"sample.csv"}
        assert _find_silent(reading, fields, rows) == []
        fees = [fee for fee in reading.rows["fee_cents"] if fee is not None]
        assert all(fee >= 0 for fee in fees)

    check()
