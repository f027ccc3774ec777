"""Damaged files give a typed error that names the file, or a frame of which every row is in a bin."""

from __future__ import annotations

import contextlib
import csv
import io
import os
import random
import re
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.frames.schema import KINDS, PAYMENTS, STATEMENT

_SAMPLES = [path.read_bytes() for path in sorted((Path(__file__).parent / "samples").glob("*.csv"))]
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
        change = chance.randrange(7)
        if change == 0:
            lines.insert(at, chance.choice(lines))
        elif change == 1 and len(lines) > 1:
            del lines[at]
        elif change == 2:
            cells.insert(place, chance.choice(_CELLS))
        elif change == 3:
            del cells[place]
        else:
            quoted = chance.choice(_CELLS).replace('"', '""')
            cells[place] = f'"{quoted}"'
        if change > 1:
            lines[at] = ",".join(cells)
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
    else:
        check_frames(statements)
        assert count_rows(content) in {None, statements.files["rows"].sum()}
        return True
    assert str(path) in message
    assert message.endswith(".")
    return False


def check_frames(statements: p2p.Statements) -> None:
    """Check that every row is in a bin, and every transaction in the payments or united with another one."""
    files, payments = statements.files, statements.payments
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


def run_cases(path: Path, cases: range) -> int:
    """Check cases and return how many of them gave a frame; the number of a failing case is in the error."""
    frames = 0
    for case in cases:
        chance = random.Random(_SEED + case)  # noqa: S311 - the same cases each time
        damage = chance.choice((damage_bytes, damage_rows))
        content = damage(chance.choice(_SAMPLES), chance)
        try:
            frames += check(content, path)
        except Exception as error:
            error.add_note(f"case {case} of P2P_SEED={_SEED}: {content[:4000]!r}")
            raise
    return frames


@pytest.mark.parametrize(
    "cases",
    [
        range(50),
        pytest.param(range(50, 500), marks=pytest.mark.full_fuzz),
        *(pytest.param(range(at, at + 1000), marks=pytest.mark.soak) for at in range(500, 20_500, 1000)),
    ],
)
def test_damaged_files(cases, tmp_path):
    """Each damaged file has one of the two outcomes, and both occur often."""
    assert len(cases) // 5 < run_cases(tmp_path / "file.csv", cases) < len(cases)
