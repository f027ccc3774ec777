"""Each sample file gives the frame that was computed by hand beside it, and reconciles or says why not."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
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


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.stem)
def test_every_row_of_a_sample_is_in_one_bin(sample):
    """The bins sum to the rows, and the balances are those of the file."""
    statements = p2p.read_statements(sample)
    kinds, opening, closing, is_reconciled = FILES[sample.stem]
    (row,) = statements.files.to_dict("records")
    assert {kind: row[kind] for kind in KINDS if row[kind]} == kinds
    assert row["rows"] == sum(kinds.values())
    assert [None if pd.isna(row[name]) else row[name] for name in ("opening_cents", "closing_cents")] == [
        opening,
        closing,
    ]
    (checked,) = statements.reconciliation["reconciled"].tolist()
    assert (None if pd.isna(checked) else checked) is is_reconciled
    assert len(statements.payments) == row["rows"] - row["notice"]


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
    assert (problem["line"], problem["payment_id"], problem["field"], problem["value"]) == (
        10,
        "3970000000000000306",
        "type",
        "Boost Cashback",
    )
    assert problem["file"].endswith("gen_d_2024.csv")
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


def test_a_handle_in_another_case_is_the_same_account(tmp_path):
    """The spelling of the latest row is that of all."""
    d = (_HERE / "samples/gen_d_2024.csv").read_text("utf-8-sig")
    (tmp_path / "d.csv").write_text(d.replace("(@nora-quill)", "(@Nora-Quill)"), "utf-8")
    statements = p2p.read_statements([_HERE / "samples/gen_c_2021.csv", tmp_path / "d.csv"])
    assert statements.accounts == ["Nora-Quill"]
    assert set(statements.payments["account_id"]) == set(statements.files["account"]) == {"Nora-Quill"}
    assert statements.payments["actor_id"].dropna().eq("Nora-Quill").all()


def test_a_history_works_like_one_of_the_service():
    """Card, report, explorer and analyses take the history; money between people is counted, and nothing else."""
    history = p2p.read_statements(_HERE / "samples").history("nora-quill")
    assert (history.me.user.id, history.me.user.username, history.me.user.display_name) == (
        "nora-quill",
        "nora-quill",
        "Nora Quill",
    )
    assert history.me.balance_cents == 3500
    assert history.fetched_at == datetime(2025, 5, 1, 12, 34, 56, tzinfo=UTC)
    assert list(history.friends) == list(FRIENDS)
    assert "Nora Quill" in history._repr_html_()
    flow = p2p.monthly_flow(history.payments)
    settled = [-22000, 115000, -12000, 8250, -1200, 3125, -6410, -1800, 13800, -3700, -6000, 5000, -7500, -4550, 12000]
    settled.append(2500)
    assert round(flow["net"].sum() * 100) == sum(settled)
    friends = p2p.spend_by_friend(history.payments, history.friends)
    assert not friends.empty
    for table in (p2p.status_mix(history.payments), p2p.pending_requests(history.payments, as_of="2021-09-01")):
        assert len(table)
    assert len(p2p.pending_ageing(history.payments, as_of="2021-09-01"))
    assert "Theo Marsh" in p2p.render_report(history, as_of="2025-06-01")
    p2p.Explorer(history)


def test_the_argument_names_the_account():
    """The account of the caller is that of all files, and one that names another is listed."""
    a = p2p.read_statements(_HERE / "samples/gen_a_2018.csv", account="nora")
    assert set(a.payments["account_id"]) == {"nora"}
    b = p2p.read_statements(_HERE / "samples/gen_b_2019.csv", account="nora")
    assert set(b.payments["account_id"]) == {"nora"}
    assert b.problems[b.problems["field"] == "account"]["value"].tolist() == ["nora-quill"]


def test_the_callers_zone_moves_no_date_of_the_service():
    """The files of the service are in UTC, also if the header does not name the zone."""
    d = p2p.read_statements(_HERE / "samples/gen_d_2025.csv", tz="America/Los_Angeles").payments
    assert d["date_created"].tolist() == [pd.Timestamp("2025-05-01T12:34:56Z")]
    e = p2p.read_statements(_HERE / "samples/gen_e_business_2025.csv", tz="America/Los_Angeles").payments
    assert e["date_created"].max() == pd.Timestamp("2025-01-31T03:00:00Z")


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
