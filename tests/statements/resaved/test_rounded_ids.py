"""Ids that end in zeros: rounded by a spreadsheet, or by chance."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError

_HEADER = (Path(__file__).parents[1] / "samples" / "gen_a_2018.csv").read_text("utf-8").splitlines()[0] + "\n"
_WHOLE_17 = [f"123456789012{number:05}" for number in range(1, 149)]  # the last is ...00148; ...00100 ends in zeros


@pytest.mark.parametrize(
    ("ids", "doubtful"),
    [
        (["12345678901234500"], ["12345678901234500"]),  # one of 100 ids of 17 digits ends so
        ([*_WHOLE_17, "12345678901299900"], []),  # two of 149, where 1.5 are expected
        (["1234567890123456700"], []),  # a spreadsheet would have left 15 digits
        (["123456789012345000"], None),  # one of 1,000 ids of 18 digits ends so
        (["1234567890123450000"], None),  # one of 10,000 of 19 digits
        (["12345678901234500", "12345678901234600"], None),  # both: one of 10,000 pairs
        ([f"{number}00" for number in range(123456789012345, 123456789012845)], None),
    ],
)
def test_ids_that_end_in_zeros(ids, doubtful, tmp_path):
    """Zeros that are no accident are refused, because the digits are lost; a doubtful one is listed."""
    rows = [f"{each},2020-01-02,Payment,Complete,n,Bo,Ada,+ $5.00,,,\n" for each in ids]
    path = tmp_path / "file.csv"
    path.write_text(_HEADER + "".join(rows), encoding="utf-8")
    if doubtful is None:
        with pytest.raises(StatementError, match="was rounded"):
            p2p.read_statements(path)
    else:
        statements = p2p.read_statements(path)
        assert sorted(statements.payments["payment_id"]) == sorted(ids)
        assert statements.problems["value"].to_list() == doubtful
