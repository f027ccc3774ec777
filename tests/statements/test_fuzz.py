"""Damaged files give a typed error that names the file, or a frame with every row in a bin; so do any cells."""

import contextlib
import csv
import io
import os
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.frames.schema import KINDS, PAYMENTS, STATEMENT
from p2p_analytics.statements import list_formats
from p2p_analytics.statements.rows import polars_schema
from support.statements.files import SAMPLES
from support.statements.tables import read_text

_SAMPLES = [path.read_bytes() for name, path in SAMPLES.items() if name.startswith("gen_")]
_BYTES = (b'"', b",", b"\n", b"\r", b"\r\n", b"\0", b"\xff", b"\xef\xbb\xbf", b";", b"$", b"-", b"\xe2\x80", b"9" * 30)
_CELLS = (
    "", " ", "NA", "nan", "(None)", "-", "+ $1.00", "- $92,233,720,368,547,758.07", "$92,233,720,368,547,758.08",
    "1e999", "2024-02-30T00:00:00", "9999-12-31T23:59:59", "2199-12-31T23:59:59", "Refund", "Charge", "Payment",
    "Crypto Purchase", "Pending", "Beginning Balance", "ID", '"', '""', "a\nb", "=1+1", "\u202e", "\U0001f355",
    "x" * 2000, "Nora Quill", "Cryptocurrency summary", "2410000000000000117", "3.18E+18", "venmo balance",
)  # fmt: skip
_SEED = int(os.environ.get("P2P_SEED", "20240531"))


def damage_bytes(content: bytes, chance: random.Random) -> bytes:
    """Return bytes with a few places inserted, removed, replaced or repeated."""
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(content) + 1)
        end = min(len(content), at + chance.choice((1, 2, 20, 200)))
        replacement = chance.choice((b"", content[at:end] * 2, chance.choice(_BYTES), bytes([chance.randrange(256)])))
        content = content[:at] + replacement + content[end if chance.random() < 0.5 else at :]
    return content


def damage_rows(content: bytes, chance: random.Random) -> bytes:
    """Return a file with rows shuffled, repeated or removed, and cells replaced, inserted or removed."""
    lines = content.decode("utf-8-sig").split("\n")
    for _ in range(chance.randint(1, 6)):
        at = chance.randrange(len(lines))
        cells = lines[at].split(",")
        place = chance.randrange(len(cells))
        quoted = chance.choice(_CELLS).replace('"', '""')
        lines[at : at + 1] = chance.choice(
            (
                [chance.choice(lines), lines[at]],
                [] if len(lines) > 1 else lines,
                [",".join([*cells[:place], chance.choice(_CELLS), *cells[place:]])],
                [",".join(cells[:place] + cells[place + 1 :])],
                [",".join([*cells[:place], f'"{quoted}"', *cells[place + 1 :]])],
                [",".join([*cells[:place], f'"{quoted}"', *cells[place + 1 :]])],
            )
        )
    if chance.random() < 0.1:
        chance.shuffle(lines)
    return "\n".join(lines).encode(chance.choice(("utf-8", "utf-8-sig", "utf-16", "utf-16-le")))


def check(content: bytes, path: Path) -> bool:
    """Read a file; return whether it is a statement, and fail unless the outcome is one of the two allowed."""
    path.write_bytes(content)
    try:
        statements = p2p.read_statements(path)
    except StatementError as error:
        message = str(error)
        assert (str(path) in message, message[-1:]) == (True, ".")
        return False
    files, payments = statements.files, statements.payments
    assert count_rows(content) in {None, files["rows"].sum()}
    # Every row is in a bin, and every transaction is in the payments, or united with another one.
    assert (files[list(KINDS)].sum(axis=1) == files["rows"]).all()
    assert list(payments) == [*PAYMENTS, *STATEMENT]
    assert payments["payment_id"].notna().all()
    assert not payments[["account_id", "payment_id"]].duplicated().any()
    repeated = statements.problems["problem"].str.contains("the id is repeated").sum()
    transactions = (files["rows"] - files["notice"]).sum()
    if files["file"].nunique() == 1:
        assert transactions == len(payments) + repeated
    else:  # a second header begins another part of the file, and rows of both parts are united
        assert transactions >= len(payments) + repeated
    for account in statements.accounts:
        assert statements.history(account).payments["account_id"].eq(account).all()
    return True


def count_rows(content: bytes) -> int | None:
    """Return the number of rows that the csv module finds below the only header; None with several headers."""
    encodings = ("utf-16", "utf-16-le") if b"\0" in content else ("utf-8-sig", "cp1252")
    for encoding in encodings:
        with contextlib.suppress(UnicodeDecodeError, UnicodeError):
            text = content.decode(encoding)
            break
    text = re.sub("(^|[\r\n])\ufeff+", r"\1", text)  # byte order marks at the start of lines are no content
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    headers = [number for number, row in enumerate(rows) if {"Type", "Status", "From", "To"} <= set(row)]
    return len(rows) - headers[0] - 1 if len(headers) == 1 else None


@pytest.mark.parametrize(
    "cases",
    [
        range(16),
        pytest.param(range(16, 500), marks=pytest.mark.full_fuzz),
        *(pytest.param(range(at, at + 1000), marks=pytest.mark.soak) for at in range(500, 20_500, 1000)),
    ],
)
def test_damaged_files(cases, tmp_path):
    """Each damaged file has one of the two outcomes, and both occur often."""
    frames = 0
    for case in cases:
        chance = random.Random(_SEED + case)  # noqa: S311 - the same cases each time
        damage = chance.choice((damage_bytes, damage_rows))
        content = damage(chance.choice(_SAMPLES), chance)
        try:
            frames += check(content, tmp_path / "file.csv")
        except Exception as error:
            error.add_note(f"case {case} of P2P_SEED={_SEED}: {content[:4000]!r}")
            raise
    assert len(cases) // 5 < frames < len(cases)


_FORMATS = {
    each.name: each for each in list_formats() if not each.name.startswith("statement_") and each.name != "history"
}
_PLAIN = (
    "", " ", "0", "-", "NA", "(None)", "1", "-5.00", "$10", "1,234.56", "1.234,56", "1e400", "9" * 30, "- $ 5",
    "\u0663", "2024-02-30", "31/12/2024", "12/31/2024", "01.02.2024", "2024-03-31 02:30:00 CET", "99:99", "EDT",
    "Europe/Berlin", "USD", "jpy", "BTC -0.1", "KWD", "COMPLETE", "Ausstehend", "Memo", "Soll", "CARD-1", "FEE-CARD-1",
    "BALANCE-2", "Payment", "Sent P2P", "Account Notifications", "Bitcoin Buy", "Refund", "Savings", "=1+1", "\x00",
    "\u202e", "🍕",
)  # fmt: skip


@pytest.mark.parametrize("name", _FORMATS)
@pytest.mark.parametrize(
    "examples", [5, pytest.param(20, marks=pytest.mark.full_fuzz), pytest.param(3_000, marks=pytest.mark.soak)]
)
def test_any_cells(name, examples):
    """One row for each row of the file, with a kind, or none for a refund; an amount that is not read is a problem."""

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
        cells = st.sampled_from(_PLAIN) | st.text(max_size=20)
        rows = [*filter(any, data.draw(st.lists(st.lists(cells, min_size=width, max_size=width), max_size=6)))]
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([header + extras, *rows])

        reading = read_text(text.getvalue(), account="Nora Quill")
        assert dict(reading.rows.schema) == polars_schema()
        assert len(reading.rows) == len(rows)
        reported = {problem.line for problem in reading.problems}
        assert reported <= set(reading.rows["line"])
        assert {problem.file for problem in reading.problems} <= {"sample.csv"}
        for row, cells in zip(reading.rows.iter_rows(named=True), rows, strict=True):
            assert row["kind"] in {*KINDS, None}
            assert (row["fee_cents"] or 0) >= 0
            amounts = [cell for field, cell in zip(fields, cells, strict=False) if field in {"amount", "gross", "net"}]
            is_empty = {cell.strip() for cell in amounts} <= {"", "(None)"}
            assert row["flow_cents"] is not None or is_empty or row["line"] in reported

    check()
