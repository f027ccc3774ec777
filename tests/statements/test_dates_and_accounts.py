"""Periods in the caller's zone, orders of dates, and what belongs to one account of several."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest
from polars.testing import assert_frame_equal

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError

_SAMPLES = Path(__file__).parent / "samples"
_A = (_SAMPLES / "gen_a_2018.csv").read_text("utf-8").splitlines()[0] + "\n"
_C = (_SAMPLES / "gen_c_2021.csv").read_text("utf-8-sig").splitlines()[2] + "\n"
_E = "\n".join((_SAMPLES / "gen_e_business_2025.csv").read_text("utf-8-sig").splitlines()[:2]) + "\n"


def _write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _june(when: str) -> str:
    title = "Account Statement - (@ada) - June 1st to June 30th 2021 ,,,\nAccount Activity,,,\n"
    cells = _C.count(",")
    closing = ["$5.00" if name == "Ending Balance" else "" for name in _C.strip().split(",")]
    return f"{title}{_C},1,{when},Payment,Complete,n,Bo,Ada,+ $5.00{',' * (cells - 8)}\n{','.join(closing)}\n"


@pytest.mark.parametrize(
    ("when", "end"),
    [
        ("2021-06-30T20:00:00", datetime(2021, 6, 30, 23, 59, 59, 999_999, UTC)),
        ("2021-07-01T20:00:00", datetime(2021, 7, 1, 20, tzinfo=UTC)),  # after the period that the file states
    ],
)
def test_the_days_of_a_title_are_in_utc(when, end, tmp_path):
    """No payment is newer than "data as of"; the caller's zone does not move the dates of the service's files."""
    statements = p2p.read_statements(_write(tmp_path, "june.csv", _june(when)), tz="America/Los_Angeles")
    (file,) = statements.files.itertuples()
    assert file.period_start == pd.Timestamp("2021-06-01T00:00:00Z")
    assert file.period_end == pd.Timestamp("2021-06-30T23:59:59.999999Z")
    assert statements.history().fetched_at == end


def test_a_history_has_the_problems_of_its_own_account(tmp_path):
    """Two accounts with a payment "1": a cell of one file is not a problem of the other account."""
    _write(tmp_path, "june.csv", _june("2021-06-30"))
    rows = "1,yesterday,Payment,Complete,n,Cy,Di,- $5.00,,,\n,2021-01-01,Payment,Complete,n,Cy,Di,- $6.00,,,\n"
    _write(tmp_path, "cy.csv", _A + rows)
    statements = p2p.read_statements(tmp_path)
    assert statements.accounts == ["Cy", "ada"]
    assert len(statements.history("ada").problems) == 0
    assert statements.history("Cy").problems["problem"].to_list() == ["is not a date", "there is no id"]


@pytest.mark.parametrize(
    ("days", "dates"),
    [
        (("05/02/2025", "13/02/2025"), ["2025-02-05", "2025-02-13"]),
        (("05/02/2025", "06/02/2025"), ["2025-05-02", "2025-06-02"]),  # as the service writes them
        (("05/02/2025", "02/13/2025"), ["2025-02-13", "2025-05-02"]),
    ],
)
def test_dates_of_a_business_statement(days, dates, tmp_path):
    """The month is first, unless a day above 12 shows that the file was saved again in another order."""
    rows = [
        f'"""423500000000000071{number}""",{day},18:05:09,Payment,Complete,n,Theo Marsh,Sandhill Choir,(None),'
        "+ $20.00,$0.00,+ $20.00,(None),(None)\n"
        for number, day in enumerate(days, 1)
    ]
    statements = p2p.read_statements(_write(tmp_path, "e.csv", _E + "".join(rows)))
    assert sorted(statements.payments["date_created"].dt.strftime("%Y-%m-%d")) == dates
    assert len(statements.problems) == 0


def test_the_fee_of_a_transfer_is_inside_its_amount(tmp_path):
    """38.72 arrive at the bank, and the balance falls by 39.41; a payment received is 20.00, of which 19.52 arrive."""
    row = '"""42350000000000007{}""",01/31/2025,03:00:00,{},{}\n'
    transfer = "Issued,(None),(None),(None),(None),- $38.72,- $0.69,- $39.41,(None),Bank of Sand *4321"
    payment = "Complete,n,Theo Marsh,Sandhill Choir,(None),+ $20.00,- $0.48,+ $19.52,(None),(None)"
    text = _E + row.format(11, "Instant Transfer", transfer) + row.format(12, "Payment", payment)
    statements = p2p.read_statements(_write(tmp_path, "e.csv", text))
    found = statements.payments.sort_values("line")
    assert found[["flow_cents", "fee_cents"]].to_numpy().tolist() == [[-3941, 69], [2000, 48]]
    assert statements.reconciliation["moved_cents"].to_list() == [-3941 + 1952]
    bank = _write(tmp_path, "bank.txt", "Date,Description,Amount\n2025-01-31,VENMO,38.72\n")
    assert p2p.match_bank(statements, bank)["state"].to_list() == ["paired"]


def test_short_ids_that_were_saved_as_numbers(tmp_path):
    """A file that a program saved again has the payments of the original, and no others."""
    row = "{},2021-01-01,Payment,Complete,n,Cy,Di,- $5.00,,,\n"
    _write(tmp_path, "original.csv", _A + row.format("123") + row.format("7.5"))
    _write(tmp_path, "saved.csv", _A + row.format("123.0"))
    assert sorted(p2p.read_statements(tmp_path).payments["payment_id"]) == ["123", "7.5"]


def test_an_account_of_several_is_as_its_files_alone():
    """Selected statements have the frames, rows and history of a call with the files of the account."""
    files = ["gen_c_2021.csv", "gen_d_2024.csv"]
    business = _SAMPLES / "gen_e_business_2025.csv"
    both = p2p.read_statements([*(_SAMPLES / file for file in files), business])
    for account, own in (("@Nora-Quill", [_SAMPLES / file for file in files]), ("Sandhill Choir", [business])):
        selected, alone = both.select_account(account), p2p.read_statements(own)
        for name in ("payments", "reconciliation", "problems", "files"):
            pd.testing.assert_frame_equal(getattr(selected, name), getattr(alone, name))
        (rows, _), (expected, _) = selected.collect(), alone.collect()
        assert rows.files == expected.files
        assert_frame_equal(rows.rows, expected.rows)
        assert selected.accounts == alone.accounts
        assert selected.history().me == alone.history().me
    with pytest.raises(ConfigurationError, match="account is one of 'Sandhill Choir', 'nora-quill', not 'ada'"):
        both.select_account("ada")
