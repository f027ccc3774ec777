"""Each sample file gives the frame that was computed by hand beside it; periods, dates, accounts and privacy mode."""

import csv
import hashlib
from datetime import UTC, date, datetime
from pathlib import Path

import pandas as pd
import pytest
from polars.testing import assert_frame_equal

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import FRIENDS, KINDS, PAYMENTS, STATEMENT
from support.frames import list_rows, list_values
from support.statements.files import CASH_APP, SAMPLES, read_sample

_FOLDER = Path(__file__).parent / "samples"
# File: kinds and numbers of rows, opening and closing balance, whether it reconciles (None: a balance is not known).
FILES = {
    "gen_a_2018": ({"payment": 5, "transfer": 1}, None, None, None),
    "gen_b_2019": ({"payment": 3, "notice": 5}, 4000, 5925, True),
    "gen_c_2021": ({"payment": 6, "notice": 5}, 10000, 23300, True),
    "gen_d_2024": ({"payment": 3, "merchant": 1, "transfer": 1, "unknown": 1, "notice": 2}, 125000, 101826, True),
    "gen_d_2025": ({"payment": 1, "notice": 1}, 1000, 3500, True),
    "gen_e_business_2025": ({"payment": 1, "transfer": 1}, None, None, None),
}
_A, _C, _D = map(read_sample, ("gen_a_2018", "gen_c_2021", "gen_d_2024"))
_A_HEADER = _A.partition("\n")[0] + "\n"


def _spell(value: object) -> str:
    """Return a value as in the expected files."""
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    return "" if value is None else str(value)


@pytest.mark.parametrize("name", FILES)
def test_a_sample_gives_the_frame_computed_by_hand(name):
    """Every cell is as in the file of the expected folder; the columns that it leaves out are empty."""
    statements = p2p.read_statements(SAMPLES[name], tz="Asia/Tokyo")  # the files are in UTC, whatever the caller says
    payments = statements.payments
    assert payments.dtypes.astype(str).to_dict() == PAYMENTS | STATEMENT
    assert list(payments) == [*PAYMENTS, *STATEMENT]
    with (_FOLDER.parent / "expected" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        columns, *expected = csv.reader(file)
    assert [[*map(_spell, row)] for row in list_rows(payments, *columns)] == expected
    assert set(list_rows(payments, "file", "source", "currency")) == {(f"{name}.csv", "statement", "USD")}
    others = set(PAYMENTS) - {*columns, "source", "currency"}
    assert payments[sorted(others)].isna().all(axis=None)
    kinds, *balances = FILES[name]
    (row,) = statements.files.to_dict("records")
    assert {kind: row[kind] for kind in KINDS if row[kind]} == kinds
    assert row["rows"] == sum(kinds.values()) == len(payments) + row["notice"]
    assert list_rows(statements.files, "opening_cents", "closing_cents") == [tuple(balances[:2])]
    assert list_values(statements.reconciliation["reconciled"]) == balances[2:]


def test_all_samples_together():
    """The file without a handle belongs to the handle of the same holder; the business is an account of its own."""
    statements = p2p.read_statements(_FOLDER)
    assert statements.accounts == ["Sandhill Choir", "nora-quill"]
    assert statements.payments["account_id"].value_counts().to_dict() == {"nora-quill": 22, "Sandhill Choir": 2}
    assert list_rows(statements.payments[-1:], "actor_id", "actor_username") == [("nora-quill", "nora-quill")]
    assert statements.payments["date_created"].is_monotonic_decreasing
    assert statements.files["rows"].sum() == 6 + 8 + 11 + 8 + 2 + 2
    # The years between the files are in none; the first file states no balance that the second could connect with.
    assert list_rows(statements.problems, "code", "file", "line", "payment_id", "value", "other_file", "cents") == [
        ("unknown_type", "gen_d_2024.csv", 10, "3970000000000000306", "Boost Cashback", None, None),
        ("gap", "gen_b_2019.csv", None, None, None, "gen_a_2018.csv", None),
        ("gap", "gen_c_2021.csv", None, None, None, "gen_b_2019.csv", 4075),
        ("gap", "gen_d_2024.csv", None, None, None, "gen_c_2021.csv", 101700),
        ("gap", "gen_d_2025.csv", None, None, None, "gen_d_2024.csv", -100826),
    ]
    assert [problem.partition(": ")[2] for problem in statements.problems["problem"][1:]] == [
        "8 months without rows",
        "26 months without rows, the balance changed by $40.75",
        "27 months without rows, the balance changed by $1,017.00",
        "15 months without rows, the balance changed by \N{MINUS SIGN}$1,008.26",
    ]
    assert repr(statements) == (
        "<Statements: 6 files, 2 accounts, 24 transactions, 19 between people, 4 of 4 balances reconciled, "
        "2 files state none, 5 problems>"
    )


@pytest.mark.parametrize(
    ("text", "others", "account"),
    [
        # A file of bank transfers shows no name; all personal statements are of one service.
        (f"{_A_HEADER}{_A.splitlines()[3]}\n", ["gen_d_2024"], "nora-quill"),
        # The line before the header may be empty after its label: the account is the holder's name in the rows.
        ("Username,,,,\n" + "".join(_D.splitlines(keepends=True)[2:]), [], "Nora Quill"),
        (_D.replace("(@nora-quill)", "(@Nora-Quill)"), ["gen_c_2021"], "Nora-Quill"),
    ],
    ids=["without a holder", "without a handle", "another case"],
)
def test_the_account_of_files(write, text, others, account):
    """One holder is one account, in the spelling of the latest row."""
    statements = p2p.read_statements([write("file.csv", text), *(SAMPLES[name] for name in others)])
    assert statements.accounts == [account]
    assert set(statements.payments["account_id"]) == set(statements.files["account"]) == {account}
    assert set(statements.payments["actor_id"].dropna()) <= {account}


def test_a_history_works_like_one_of_the_service():
    """It has a user and an empty list of friends; money between people is counted, and nothing else."""
    history = p2p.read_statements(_FOLDER).history("nora-quill")
    user = history.me.user
    assert (user.id, user.username, user.display_name) == ("nora-quill", "nora-quill", "Nora Quill")
    assert history.me.balance_cents == 3500
    assert history.fetched_at == datetime(2025, 5, 1, 12, 34, 56, tzinfo=UTC)
    assert list(history.friends) == list(FRIENDS)
    settled = [-22000, 115000, -12000, 8250, -1200, 3125, -6410, -1800, 13800, -3700, -6000, 5000, -7500, -4550, 12000]
    assert round(p2p.monthly_flow(history.payments)["net"].sum() * 100) == sum(settled) + 2500


@pytest.mark.parametrize(
    ("days", "dates", "problems"),
    [
        (("01/02/2024", "15/02/2024"), ["2024-02-01", "2024-02-15"], []),
        (("01/02/2024", "02/15/2024"), ["2024-01-02", "2024-02-15"], []),
        (("01/02/2024", "03/02/2024"), ["2024-01-02", "2024-03-02"], ["01/02/2024 00:08"]),
        (("01.02.2024", "03.02.2024"), ["2024-02-01", "2024-02-03"], []),
    ],
)
def test_dates_that_a_spreadsheet_wrote(read, days, dates, problems):
    """A day above 12 shows the order of day and month, and points mean day first; else the file has a problem."""
    rows = [f"{n},{day} 00:08,Payment,Complete,,Nora,Theo,- $1.00,,," for n, day in enumerate(days, 1)]
    statements = read(_A_HEADER + "\n".join(rows))
    assert sorted(statements.payments["date_created"].dt.strftime("%Y-%m-%d")) == dates
    assert statements.problems["value"].tolist() == problems


def test_privacy_mode_keeps_counts_and_kinds(monkeypatch):
    """Ids, lines and accounts are masked, and the masked accounts have histories; counts and kinds are real."""
    plain = p2p.read_statements(_FOLDER)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    private = p2p.read_statements(_FOLDER)
    assert private.masked() is private
    assert private.history(private.accounts[-1]).private
    assert private.files["rows"].tolist() == plain.files["rows"].tolist()
    assert private.payments["kind"].value_counts().equals(plain.payments["kind"].value_counts())
    assert private.payments["line"].isna().all()
    assert not set(plain.payments["payment_id"]) & set(private.payments["payment_id"])
    assert set(private.payments["account_id"]) == set(private.accounts)


def _june(when: str) -> str:
    header = _C.splitlines()[2]
    title = "Account Statement - (@ada) - June 1st to June 30th 2021 ,,,\nAccount Activity,,,\n"
    closing = ["$5.00" if name == "Ending Balance" else "" for name in header.split(",")]
    row = f",1,{when},Payment,Complete,n,Bo,Ada,+ $5.00{',' * (len(closing) - 9)}"
    return f"{title}{header}\n{row}\n{','.join(closing)}\n"


@pytest.mark.parametrize(
    ("when", "end"),
    [
        ("2021-06-30T20:00:00", datetime(2021, 6, 30, 23, 59, 59, 999_999, UTC)),
        ("2021-07-01T20:00:00", datetime(2021, 7, 1, 20, tzinfo=UTC)),  # after the period that the file states
    ],
)
def test_the_days_of_a_title_are_in_utc(when, end, read):
    """No payment is newer than "data as of"; the caller's zone does not move the dates of the service's files."""
    statements = read(_june(when), tz="America/Los_Angeles")
    assert list_rows(statements.files, "period_start", "period_end") == [
        (pd.Timestamp("2021-06-01T00:00:00Z"), pd.Timestamp("2021-06-30T23:59:59.999999Z"))
    ]
    assert statements.history().fetched_at == end


def test_a_history_has_the_problems_of_its_own_account(tmp_path, write):
    """Two accounts with a payment "1": a cell of one file is not a problem of the other account."""
    write("june.csv", _june("2021-06-30"))
    rows = "1,yesterday,Payment,Complete,n,Cy,Di,- $5.00,,,\n,2021-01-01,Payment,Complete,n,Cy,Di,- $6.00,,,\n"
    write("cy.csv", _A_HEADER + rows)
    statements = p2p.read_statements(tmp_path)
    assert statements.accounts == ["Cy", "ada"]
    assert len(statements.history("ada").problems) == 0
    assert statements.history("Cy").problems["problem"].to_list() == ["is not a date", "there is no id"]


def test_the_fee_of_a_transfer_is_inside_its_amount(read, write):
    """38.72 arrive at the bank, and the balance falls by 39.41; a payment received is 20.00, of which 19.52 arrive."""
    header = "".join(read_sample("gen_e_business_2025").splitlines(keepends=True)[:2])
    row = '"""42350000000000007{}""",01/31/2025,03:00:00,{},{}\n'
    transfer = "Issued,(None),(None),(None),(None),- $38.72,- $0.69,- $39.41,(None),Bank of Sand *4321"
    payment = "Complete,n,Theo Marsh,Sandhill Choir,(None),+ $20.00,- $0.48,+ $19.52,(None),(None)"
    statements = read(header + row.format(11, "Instant Transfer", transfer) + row.format(12, "Payment", payment))
    assert list_rows(statements.payments.sort_values("line"), "flow_cents", "fee_cents") == [(-3941, 69), (2000, 48)]
    assert statements.reconciliation["moved_cents"].to_list() == [-3941 + 1952]
    bank = write("bank.txt", "Date,Description,Amount\n2025-01-31,VENMO,38.72\n")
    assert p2p.match_bank(statements, bank)["state"].to_list() == ["paired"]


def test_short_ids_that_were_saved_as_numbers(tmp_path, write):
    """A file that a program saved again has the payments of the original, and no others."""
    row = "{},2021-01-01,Payment,Complete,n,Cy,Di,- $5.00,,,\n"
    write("original.csv", _A_HEADER + row.format("123") + row.format("7.5"))
    write("saved.csv", _A_HEADER + row.format("123.0"))
    assert sorted(p2p.read_statements(tmp_path).payments["payment_id"]) == ["123", "7.5"]


def test_an_account_of_several_is_as_its_files_alone():
    """Selected statements have the frames, rows and history of a call with the files of the account."""
    personal, business = [SAMPLES["gen_c_2021"], SAMPLES["gen_d_2024"]], [SAMPLES["gen_e_business_2025"]]
    both = p2p.read_statements(personal + business)
    for account, files in (("@Nora-Quill", personal), ("Sandhill Choir", business)):
        selected, alone = both.select_account(account), p2p.read_statements(files)
        for name in ("payments", "reconciliation", "problems", "files"):
            pd.testing.assert_frame_equal(getattr(selected, name), getattr(alone, name))
        (rows, _), (expected, _) = selected.collect(), alone.collect()
        assert rows.files == expected.files
        assert_frame_equal(rows.rows, expected.rows)
        assert selected.accounts == alone.accounts
        assert selected.history().me == alone.history().me
    with pytest.raises(ConfigurationError, match="account is one of 'Sandhill Choir', 'nora-quill', not 'ada'"):
        both.select_account("ada")


_STRANGE = "{0},2024-05-0{0}T10:00:00,Sponsored Tea,Complete,tea,Ada Reyes,Bo Lund,- $5.00,0,Balance,,,"


def _join(*rows: str, handle: str = "ada", closing: str = "$9.00") -> str:
    """Return a file of rows, with an opening balance of 20.00."""
    header = (
        "ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,Beginning Balance,"
        "Ending Balance"
    )
    title = [f"Account Statement - (@{handle})", "Account Activity", header]
    return "\n".join([*title, f"{',' * 11}$20.00,", *rows, f"{',' * 12}{closing}"]) + "\n"


def _list(problems):
    return sorted(list_rows(problems, "file", "line", "payment_id", "field"), key=str)


def test_a_folder_and_a_zip_archive_of_its_files(tmp_path, pack, write) -> None:
    """The problems are those of one file, also in a history."""
    rows = [_STRANGE.format(3), _STRANGE.format(4), "5,2024-05-05T10:00:00,Payment,Complete,n" + "," * 9 + "x"]
    path = write("may.csv", _join(*rows))
    pack("download.zip", {"copy/may.csv": path.read_bytes()})
    alone, both = p2p.read_statements(path), p2p.read_statements(tmp_path)
    assert both.files["file"].tolist() == ["download.zip/copy/may.csv", "may.csv"]
    assert [each[1:] for each in _list(alone.problems)] == [
        (5, "3", "type"), (6, "4", "type"), (7, "5", "total"), (7, None, "row"), (None, None, "balance"),
    ]  # fmt: skip
    assert _list(both.problems) == _list(both.history().problems) == _list(alone.problems)


def test_rows_of_files_that_overlap(tmp_path, write) -> None:
    """The problem of a row that two files have is one; one of another account, or of another row, is another."""
    write("a.csv", _join(_STRANGE.format(3), _STRANGE.format(4), closing="$10.00"))
    write("b.csv", _join(_STRANGE.format(4), closing="$15.00"))
    write("c.csv", _join(_STRANGE.format(4), handle="bo", closing="$15.00"))
    found = [each for each in _list(p2p.read_statements(tmp_path).problems) if each[3] == "type"]
    assert found == [("a.csv", 5, "3", "type"), ("b.csv", 5, "4", "type"), ("c.csv", 5, "4", "type")]


def test_rows_of_one_id_in_one_file(tmp_path, write) -> None:
    """A purchase and its refund of one id have a problem each, also in a history, with a copy of the file."""
    row = "3x9,2024-05-0{} 10:00:00 EDT,P2P,USD,{},x,{},,,,CARD CHARGED,Deli,,Visa 1111\n"
    for name in ("a.csv", "b.csv"):
        write(name, CASH_APP + row.format(4, "-$8", "-$8") + row.format(5, "$3", "$3"))
    parts = ("300", "USD", str((date(2024, 5, 5) - date(1970, 1, 1)).days))
    refund = f"3x9-{hashlib.sha256(chr(31).join(parts).encode()).hexdigest()[:8]}"
    statements = p2p.read_statements(tmp_path, account="ada")
    for found in (statements, statements.history(), statements.select_account("ada")):
        assert _list(found.problems) == [("b.csv", 2, "3x9", "fee"), ("b.csv", 3, refund, "fee")]


@pytest.mark.parametrize(
    ("source", "moved"), [("Your Cash", -500), ("Venmo balance", -500), ("Visa *1234", 0), ("", -500)]
)
def test_the_funding_source_decides_what_moves_the_balance(read, source, moved) -> None:
    """One's own money and an empty cell move it; a card does not."""
    row = f"2410000000000000117,2018-01-02T10:00:00,Payment,Complete,tea,Ada,Bo,- $5.00,,{source},"
    found = read(f"{_A_HEADER}{row}\n", account="ada").reconciliation
    assert found["moved_cents"].tolist() == [moved]


def test_a_refund_of_a_counterparty_with_two_kinds(read) -> None:
    """It is unknown which of them it reverses."""
    row = "{0},2018-01-0{0}T10:00:00,{1},Complete,tea,Ada,Bo,{2} $5.00,,,".format
    rows = [row(1, "Payment", "-"), row(2, "Merchant Transaction", "-"), row(3, "Refund", "+")]
    found = read(_A_HEADER + "\n".join(rows), account="ada")
    assert found.payments["kind"].tolist() == ["unknown", "merchant", "payment"]
    assert found.problems["payment_id"].tolist() == ["3"]


def test_a_sign_that_contradicts_the_names() -> None:
    """The direction is that of the sign, the counterparty the other name, and a problem says so."""
    rows = "".join(
        f'"{number}","2018-03-0{number}T10:00:00","Payment","Complete","Tea","{name}","Theo","{amount}","","",""\n'
        for number, (name, amount) in enumerate([("Ada L", "- $9"), *[("Ada", "- $10")] * 2, ("Ada", "+ $5")], start=1)
    )
    statements = p2p.read_statements([("a.csv", (_A_HEADER + rows).encode())])
    shown = list_rows(statements.payments, "payment_id", "direction", "counterparty_name", "flow_cents")
    assert shown == [
        ("4", "in", "Theo", 500),
        *[(id_, "out", "Theo", -1000) for id_ in "32"],
        ("1", "out", "Theo", -900),
    ]
    assert list_rows(statements.problems, "code", "payment_id") == [("wrong_side", "4")]
