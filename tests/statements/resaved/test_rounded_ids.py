"""Ids that end in zeros: rounded by a spreadsheet, or by chance."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError

_HEADER = (Path(__file__).parents[1] / "samples" / "gen_a_2018.csv").read_text("utf-8").splitlines()[0] + "\n"
_WHOLE_17 = [f"123456789012{number:05}" for number in range(1, 149)]  # the last is ...00148; ...00100 ends in zeros


def _read(ids: list[str], folder: Path) -> p2p.Statements:
    path = folder / "file.csv"
    rows = [f"{each},2020-01-02,Payment,Complete,n,Bo,Ada,+ $5.00,,,\n" for each in ids]
    path.write_text(_HEADER + "".join(rows), encoding="utf-8")
    return p2p.read_statements(path)


@pytest.mark.parametrize(
    ("ids", "doubtful"),
    [
        (["12345678901234500"], ["12345678901234500"]),  # one of 100 ids of 17 digits ends so
        ([*_WHOLE_17, "12345678901299900"], []),  # two of 149, where 1.5 are expected
        (["1234567890123456700"], []),  # a spreadsheet would have left 15 digits
    ],
)
def test_ids_that_may_end_in_zeros_by_chance_are_read(ids, doubtful, tmp_path):
    """The payments of an account do not depend on the digits of its ids; a doubtful one is listed."""
    statements = _read(ids, tmp_path)
    assert sorted(statements.payments["payment_id"]) == sorted(ids)
    assert statements.problems["value"].to_list() == doubtful


@pytest.mark.parametrize(
    "ids",
    [
        ["123456789012345000"],  # one of 1,000 ids of 18 digits ends so
        ["1234567890123450000"],  # one of 10,000 of 19 digits
        ["12345678901234500", "12345678901234600"],  # both: one of 10,000 pairs
        [f"{number}00" for number in range(123456789012345, 123456789012845)],
    ],
)
def test_rounded_ids_are_refused(ids, tmp_path):
    """Zeros that are no accident mean that the digits are lost."""
    with pytest.raises(StatementError, match="was rounded"):
        _read(ids, tmp_path)
