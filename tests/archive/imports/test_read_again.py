"""A file that is imported again counts as it was read last, whatever its name is; a whole file replaces a short one."""

import io
import zipfile
from dataclasses import replace

import pytest

import p2p_analytics as p2p
from p2p_analytics.statements.formats import registry

WALLET = "No,Day,Who,Sum,S/H\n1,2024-02-03,Theo Marsh,20.00,S\n2,2024-02-04,Lena Ortiz,5.00,H\n"
WITHOUT_ID = "Day,Who,Sum,S/H\n2024-02-03,Theo Marsh,20.00,S\n2024-02-04,Lena Ortiz,5.00,H\n"


def read(files, signs: tuple[str, str], account: str | None = "ada") -> p2p.Statements:
    """Read wallets with the words of money out and in."""
    columns = {"date": "Day", "name": "Who", "amount": "Sum", "sign": "S/H"}
    given = {"currency": "EUR", "signs": dict(zip(("out", "in"), signs, strict=True))}
    p2p.register_format(p2p.ColumnFormat(name="wallet", columns={"id": "No", **columns}, **given))
    p2p.register_format(p2p.ColumnFormat(name="purse", columns=columns, **given))
    return p2p.read_statements(files, account=account)


def list_flows(archive) -> list[int]:
    """Return the flows of an archive without problems, the newest first."""
    history = archive.history()
    assert history.problems.empty, history.problems.to_dict("records")
    return history.payments["flow_cents"].tolist()


@pytest.fixture
def archive(new, monkeypatch) -> p2p.Archive:
    """Return a new archive, and forget the formats afterwards."""
    monkeypatch.setattr(registry, "_FORMATS", {})
    return new


@pytest.mark.parametrize(
    ("text", "account", "name"),
    [(WALLET, "Ada", "wallet.csv"), (WITHOUT_ID, None, "wallet (1).csv"), (WITHOUT_ID, "ada", "download.zip")],
)
def test_a_file_counts_as_it_was_read_last(archive, text, account, name) -> None:
    """First the signs are the wrong way round; the browser, or a zip archive, gives the same file another name."""
    archive.import_(read([("wallet.csv", text.encode())], ("h", "s")))
    assert list_flows(archive) == [-500, 2000]
    body = io.BytesIO(text.encode())
    if name.endswith(".zip"):
        with zipfile.ZipFile(body := io.BytesIO(), "w") as file:
            file.writestr("folder/wallet.csv", text)
    archive.import_(read([(name, body.getvalue())], ("s", "h"), account))
    assert list_flows(archive) == [500, -2000]
    assert str(archive.history().me.user.id).lower() == "ada"
    archive.undo()
    assert list_flows(archive) == [-500, 2000]


def test_files_in_another_order(archive) -> None:
    """The names that files in memory get by their order do not matter."""
    first, second = WALLET.encode(), WALLET.replace("1,2024-02", "3,2024-01").replace("2,2024-02", "4,2024-01").encode()
    archive.import_(read([first, second], ("h", "s")))
    archive.import_(read([second, first], ("s", "h")))
    assert list_flows(archive) == [500, -2000, 500, -2000]


def test_rows_that_are_left_out_of_a_second_reading_stay(archive) -> None:
    """The first import has one of two payments, the second import the other one."""
    statements = read([("wallet.csv", WALLET.encode())], ("s", "h"))
    for rows in (statements.payments.iloc[:1], statements.payments.iloc[1:]):
        plan = archive.import_(replace(statements, payments=rows))
        assert (plan.new, plan.removed) == (1, 0)
    assert list_flows(archive) == [500, -2000]


def test_an_edited_note_of_a_row_that_has_another_id_now(archive) -> None:
    """Without an id in the file, the id of a row contains its amount; the edit adds no payment."""
    statements = read([("purse.csv", WITHOUT_ID.encode())], ("h", "s"))
    statements.payments["note"] = "edited"
    archive.import_(statements)
    assert archive.history().payments["note"].tolist() == ["edited", "edited"]
    plan = archive.import_(read([("purse.csv", WITHOUT_ID.encode())], ("s", "h")))
    assert (plan.new, plan.removed) == (2, 2)
    assert plan.details["outcome"].tolist() == ["removed", "removed"]
    assert list_flows(archive) == [500, -2000]


SERVICE = (
    "Account Statement - (@ada-q),,,,,,,,,,,\nAccount Activity,,,,,,,,,,,\n"
    "ID,Datetime,Type,Status,Note,From,To,Amount (total),Funding Source,Destination,Beginning Balance,Ending Balance\n"
    ",,,,,,,,,,$20.00,\n"
    "101,2024-05-03T10:00:00,Payment,Complete,tea,Ada Q,Bo Lund,- $5.00,Venmo balance,,,\n"
    "102,2024-05-04T10:00:00,Payment,Complete,taxi,Ada Q,Bo Lund,- $6.00,Venmo balance,,,\n"
    ",,,,,,,,,,,$9.00\n"
)


CUTS = [SERVICE.index("102,") + 2, SERVICE.index("taxi"), SERVICE.index(",,,,,,,,,,,$9")]


@pytest.mark.parametrize(
    ("end", "name", "is_turned"),
    [*((end, "may (1).csv", False) for end in CUTS), (CUTS[1], "may.csv", False), (CUTS[1], "may (1).csv", True)],
)
def test_a_whole_file_takes_the_place_of_one_that_is_cut_off(archive, end, name, is_turned) -> None:
    """A half id, a row without an amount and the problems of the shorter file are gone, in either order."""
    short, whole = ("may.csv", SERVICE[:end].encode()), (name, SERVICE.encode())
    first, second = (whole, short) if is_turned else (short, whole)
    archive.import_(p2p.read_statements([first]))
    assert archive.history().describe_wrong_files().startswith("The last rows of" if first is short else "")
    archive.import_(p2p.read_statements([second]))
    history = archive.history()
    assert history.payments["payment_id"].tolist() == ["102", "101"]
    assert history.payments["flow_cents"].tolist() == [-600, -500]
    assert history.problems.empty, history.problems.to_dict("records")
    assert history.describe_wrong_files() == ""
