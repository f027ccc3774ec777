"""Each sample file gives the frame that was computed by hand beside it; periods, dates, accounts and privacy mode."""

from __future__ import annotations

import csv
import hashlib
import zipfile
from datetime import UTC, date, datetime
from pathlib import Path

import pandas as pd
import pytest
from polars.testing import assert_frame_equal

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import FRIENDS, KINDS, PAYMENTS, STATEMENT

_HERE = Path(__file__).parent
SAMPLES = sorted((_HERE / "samples").glob("*.csv"))
# File: kinds and numbers of rows, opening and closing balance, whether it reconciles (None: a balance is not known).
FILES = {
    "gen_a_2018": ({"payment": 5, "transfer": 1}, None, None, None),
    "gen_b_2019": ({"payment": 3, "notice": 5}, 4000, 5925, True),
    "gen_c_2021": ({"payment": 6, "notice": 5}, 10000, 23300, True),
    "gen_d_2024": ({"payment": 3, "merchant": 1, "transfer": 1, "unknown": 1, "notice": 2}, 125000, 101826, True),
    "gen_d_2025": ({"payment": 1, "notice": 1}, 1000, 3500, True),
    "gen_e_business_2025": ({"payment": 1, "transfer": 1}, None, None, None),
}


def list_cells(payments: pd.DataFrame, names: list[str]) -> list[dict[str, str]]:
    """Return rows as the text of their cells, as in the expected files."""

    def spell(value: object) -> str:
        if isinstance(value, datetime):
            return value.strftime("%Y-%m-%dT%H:%M:%SZ")
        return str(value)

    rows = payments[names].astype(object).where(payments[names].notna(), None).to_dict("records")
    return [{name: "" if value is None else spell(value) for name, value in row.items()} for row in rows]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_a_sample_gives_the_frame_computed_by_hand(sample):
    """Every cell is as in the file of the expected folder; the columns that it leaves out are empty."""
    statements = p2p.read_statements(sample)
    payments = statements.payments
    assert list(payments) == [*PAYMENTS, *STATEMENT]
    assert payments.dtypes.astype(str).to_dict() == {
        name: {"str": "str", "Int64": "Int64"}.get(dtype, dtype) for name, dtype in (PAYMENTS | STATEMENT).items()
    }
    with (_HERE / "expected" / sample.name).open(encoding="utf-8", newline="") as file:
        expected = list(csv.DictReader(file))
    assert list_cells(payments, list(expected[0])) == expected
    assert set(payments["file"]) == {sample.name}
    assert set(payments["source"]) == {"statement"}
    assert set(payments["currency"]) == {"USD"}
    others = set(PAYMENTS) - set(expected[0]) - {"source", "currency"}
    assert payments[sorted(others)].isna().all(axis=None)
    kinds, *balances = FILES[sample.stem]
    (row,) = statements.files.to_dict("records")
    assert {kind: row[kind] for kind in KINDS if row[kind]} == kinds
    assert row["rows"] == sum(kinds.values()) == len(payments) + row["notice"]
    found = [row["opening_cents"], row["closing_cents"], *statements.reconciliation["reconciled"]]
    assert [None if pd.isna(value) else value for value in found] == balances


def test_all_samples_together():
    """The file without a handle belongs to the handle of the same holder; the business is an account of its own."""
    statements = p2p.read_statements(_HERE / "samples")
    assert statements.accounts == ["Sandhill Choir", "nora-quill"]
    assert statements.payments["account_id"].value_counts().to_dict() == {"nora-quill": 22, "Sandhill Choir": 2}
    first = statements.payments.iloc[-1]
    assert (first["actor_id"], first["actor_username"]) == ("nora-quill", "nora-quill")
    assert statements.payments["date_created"].is_monotonic_decreasing
    assert statements.files["rows"].sum() == 6 + 8 + 11 + 8 + 2 + 2
    problem, *gaps = statements.problems.to_dict("records")
    names = ("file", "line", "payment_id", "field", "value")
    assert [problem[name] for name in names] == [
        "gen_d_2024.csv", 10, "3970000000000000306", "type", "Boost Cashback",
    ]  # fmt: skip
    # The years between the files are in none; the first file states no balance that the second could connect with.
    assert [(gap["code"], gap["file"], gap["other_file"], gap["cents"]) for gap in gaps[1:]] == [
        ("gap", "gen_c_2021.csv", "gen_b_2019.csv", 4075),
        ("gap", "gen_d_2024.csv", "gen_c_2021.csv", 101700),
        ("gap", "gen_d_2025.csv", "gen_d_2024.csv", -100826),
    ]
    assert [gap["problem"].partition(": ")[2] for gap in gaps] == [
        "8 months without rows",
        "26 months without rows, the balance changed by $40.75",
        "27 months without rows, the balance changed by $1,017.00",
        "15 months without rows, the balance changed by \N{MINUS SIGN}$1,008.26",
    ]
    assert repr(statements) == (
        "<Statements: 6 files, 2 accounts, 24 transactions, 19 between people, 4 of 4 balances reconciled, "
        "2 files state none, 5 problems>"
    )


def test_a_file_without_a_holder_belongs_to_the_only_account(tmp_path):
    """A file of bank transfers shows no name; all personal statements are of one service."""
    lines = (_HERE / "samples/gen_a_2018.csv").read_text("utf-8").splitlines()
    (tmp_path / "a.csv").write_text(f"{lines[0]}\n{lines[3]}\n", "utf-8")
    statements = p2p.read_statements([tmp_path / "a.csv", _HERE / "samples/gen_d_2024.csv"])
    assert statements.accounts == ["nora-quill"]
    assert statements.files["account"].tolist() == ["nora-quill", "nora-quill"]


def test_a_line_without_its_handle_names_no_account(tmp_path):
    """The line before the header may be empty after its label: the account is the holder's name in the rows."""
    d = (_HERE / "samples/gen_d_2024.csv").read_text("utf-8-sig").splitlines(keepends=True)
    (tmp_path / "d.csv").write_text("Username,,,,\n" + "".join(d[2:]), "utf-8")
    assert p2p.read_statements(tmp_path / "d.csv").accounts == ["Nora Quill"]


def test_a_handle_in_another_case_is_the_same_account(tmp_path):
    """The spelling of the latest row is that of all."""
    d = (_HERE / "samples/gen_d_2024.csv").read_text("utf-8-sig")
    (tmp_path / "d.csv").write_text(d.replace("(@nora-quill)", "(@Nora-Quill)"), "utf-8")
    statements = p2p.read_statements([_HERE / "samples/gen_c_2021.csv", tmp_path / "d.csv"])
    assert statements.accounts == ["Nora-Quill"]
    assert set(statements.payments["account_id"]) == set(statements.files["account"]) == {"Nora-Quill"}
    assert statements.payments["actor_id"].dropna().eq("Nora-Quill").all()


def test_a_history_works_like_one_of_the_service():
    """Card, report and analyses take the history; money between people is counted, and nothing else."""
    history = p2p.read_statements(_HERE / "samples").history("nora-quill")
    user = history.me.user
    assert (user.id, user.username, user.display_name) == ("nora-quill", "nora-quill", "Nora Quill")
    assert history.me.balance_cents == 3500
    assert history.fetched_at == datetime(2025, 5, 1, 12, 34, 56, tzinfo=UTC)
    assert list(history.friends) == list(FRIENDS)
    settled = [-22000, 115000, -12000, 8250, -1200, 3125, -6410, -1800, 13800, -3700, -6000, 5000, -7500, -4550, 12000]
    assert round(p2p.monthly_flow(history.payments)["net"].sum() * 100) == sum(settled) + 2500
    assert "Theo Marsh" in p2p.render_report(history, as_of="2025-06-01")


@pytest.mark.parametrize(
    ("days", "dates", "problems"),
    [
        (("01/02/2024", "15/02/2024"), ["2024-02-01", "2024-02-15"], []),
        (("01/02/2024", "02/15/2024"), ["2024-01-02", "2024-02-15"], []),
        (("01/02/2024", "03/02/2024"), ["2024-01-02", "2024-03-02"], ["01/02/2024 00:08"]),
        (("01.02.2024", "03.02.2024"), ["2024-02-01", "2024-02-03"], []),
    ],
)
def test_dates_that_a_spreadsheet_wrote(tmp_path, days, dates, problems):
    """A day above 12 shows the order of day and month, and points mean day first; else the file has a problem."""
    header, *_ = (_HERE / "samples/gen_a_2018.csv").read_text("utf-8").splitlines()
    rows = [f"{n},{day} 00:08,Payment,Complete,,Nora,Theo,- $1.00,,," for n, day in enumerate(days, 1)]
    (tmp_path / "a.csv").write_text("\n".join([header, *rows]), "utf-8")
    statements = p2p.read_statements(tmp_path / "a.csv")
    assert sorted(statements.payments["date_created"].dt.strftime("%Y-%m-%d")) == dates
    assert statements.problems["value"].tolist() == problems


def test_privacy_mode_masks_everything(monkeypatch, tmp_path):
    """In privacy mode no name, note, handle, file name or id of the files is left; counts and kinds are real."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path))
    open_statements = p2p.read_statements(_HERE / "samples")
    monkeypatch.setenv("P2P_PRIVACY", "1")
    statements = p2p.read_statements(_HERE / "samples")
    assert statements.private
    history = statements.history(statements.accounts[-1])
    assert history.private
    frames = [statements.payments, statements.files, statements.reconciliation, statements.problems, history.payments]
    text = "\n".join(frame.to_csv() for frame in frames) + repr(history) + history._repr_html_() + repr(statements)
    for word in ("Nora", "nora", "Theo", "Lena", "Imani", "Sandhill", "gen_", "pizza", "Rent", "Visa", "*1559"):
        assert word not in text
    assert not set(open_statements.payments["payment_id"]) & set(statements.payments["payment_id"])
    assert statements.files["rows"].tolist() == open_statements.files["rows"].tolist()
    assert statements.payments["kind"].value_counts().equals(open_statements.payments["kind"].value_counts())
    assert statements.payments["line"].isna().all()
    assert set(statements.payments["account_id"]) == set(statements.accounts)
    assert statements.masked() is statements


def test_progress_counts_files():
    """The callback gets the number of files that are read, and of all files."""
    calls = []
    p2p.read_statements(_HERE / "samples", on_progress=lambda *numbers: calls.append(numbers))
    assert calls == [(number, 6) for number in range(1, 7)]


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


_HEADER = (
    "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,Beginning Balance,"
    "Ending Balance"
)
_WALLET = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account"
)
_STRANGE = "{0},2024-05-0{0}T10:00:00,Sponsored Tea,Complete,tea,Ada Reyes,Bo Lund,- $5.00,0,Balance,,,"


def _write_copy(path, *rows: str, handle: str = "ada", closing: str = "$9.00"):
    title = [f"Account Statement - (@{handle})", "Account Activity", _HEADER]
    path.write_text("\n".join([*title, f"{',' * 11}$20.00,", *rows, f"{',' * 12}{closing}"]) + "\n", "utf-8")
    return path


def _list(problems):
    columns = problems[["file", "line", "payment_id", "field"]].astype(object)
    return sorted(columns.where(columns.notna(), None).itertuples(index=False, name=None), key=str)


def test_a_folder_and_a_zip_archive_of_its_files(tmp_path) -> None:
    """The problems are those of one file, also in a history."""
    rows = [_STRANGE.format(3), _STRANGE.format(4), "5,2024-05-05T10:00:00,Payment,Complete,n" + "," * 9 + "x"]
    path = _write_copy(tmp_path / "may.csv", *rows)
    with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
        archive.write(path, "copy/may.csv")
    alone, both = p2p.read_statements(path), p2p.read_statements(tmp_path)
    assert both.files["file"].tolist() == ["download.zip/copy/may.csv", "may.csv"]
    assert [each[1:] for each in _list(alone.problems)] == [
        (5, "3", "type"), (6, "4", "type"), (7, "5", "total"), (7, None, "row"), (None, None, "balance"),
    ]  # fmt: skip
    assert _list(both.problems) == _list(both.history().problems) == _list(alone.problems)


def test_rows_of_files_that_overlap(tmp_path) -> None:
    """The problem of a row that two files have is one; one of another account, or of another row, is another."""
    early = _write_copy(tmp_path / "a.csv", _STRANGE.format(3), _STRANGE.format(4), closing="$10.00")
    late = _write_copy(tmp_path / "b.csv", _STRANGE.format(4), closing="$15.00")
    other = _write_copy(tmp_path / "c.csv", _STRANGE.format(4), handle="bo", closing="$15.00")
    found = [each for each in _list(p2p.read_statements([early, late, other]).problems) if each[3] == "type"]
    assert found == [("a.csv", 4 + 1, "3", "type"), ("b.csv", 5, "4", "type"), ("c.csv", 5, "4", "type")]


def test_rows_of_one_id_in_one_file(tmp_path) -> None:
    """A purchase and its refund of one id have a problem each, also with a copy of the file."""
    row = "\n3x9,2024-05-0{} 10:00:00 EDT,P2P,USD,{},x,{},,,,CARD CHARGED,Deli,,Visa 1111"
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text(_WALLET + row.format(4, "-$8", "-$8") + row.format(5, "$3", "$3"), "utf-8")
    parts = ("300", "USD", str((date(2024, 5, 5) - date(1970, 1, 1)).days))
    refund = f"3x9-{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:8]}"
    assert _list(p2p.read_statements(tmp_path).problems) == [("b.csv", 2, "3x9", "fee"), ("b.csv", 3, refund, "fee")]
