"""Privacy mode of statements: nothing of a file, its name or its holder is in frames, cards, pages or errors."""

import pickle
import traceback
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli, settings
from p2p_analytics.errors import ArchiveError, StatementError
from p2p_analytics.frames.schema import PROBLEMS
from p2p_analytics.privacy import Mask
from support.archives.statements import row, statements_of
from support.frames import frame_from_rows
from support.privacy.masking import KEY, find_secrets, render_table
from support.statements.hostile import OWNER, SAMPLES, write_json

NAME = "venmo-of-zebquill"  # of the files
# People, handles, notes, ids, banks and the last digits of accounts in the samples.
SECRETS = [
    NAME, "Nora", "Quill", "Theo", "Marsh", "Lena", "Ortiz", "Imani", "Cole", "Choir", "Corner Store", "HARBOR FERRY",
    "example.org", "*1559", "*8967", "*4321", "x-4321", "Bank of Sand", "SAND, N.A.", "3970000000000000",
    "7AA0000000000", "9CC0000000000", "TRANSFER-302", "tx_0001", "ca0001", "pizza", "Konzert", "moving van", "Tutoring",
    "two slices", "pot_0001", "raffle", "Boost Cashback",
]  # fmt: skip
TABLES = ("payments", "reconciliation", "problems", "files")


def list_contents(statements: p2p.Statements) -> dict[str, bytes]:
    """Return everything that statements and the histories of them show and hold."""
    made = {name: render_table(getattr(statements, name)) for name in TABLES}
    made["statements"] = (repr(statements) + statements._repr_html_() + repr(vars(statements))).encode()
    made["pickle"] = pickle.dumps(statements)
    for account in statements.accounts:
        history = statements.history(account)
        texts = [account, repr(history), history._repr_html_(), repr(vars(history))]
        made[f"history {account}"] = "".join(texts).encode() + render_table(history.people)
        made[f"problems {account}"] = render_table(history.problems)
    return made


def fill_folder(folder: Path, names: list[str]) -> Path:
    """Write samples, a picture and a list of other columns into a folder, all with a name that is a secret."""
    folder.mkdir()
    for name in names:
        (folder / f"{NAME}-{name}.csv").write_bytes(SAMPLES[name].read_bytes())
    (folder / f"{NAME}.json").write_text(write_json(["Theo Marsh", "moving van"]), "utf-8")
    (folder / f"{NAME}.png").write_bytes(b"")
    (folder / f"{NAME}-list.csv").write_text("Theo Marsh,Nora\nraffle,pizza\n", "utf-8")
    return folder


def test_nothing_of_a_file_is_in_anything(tmp_path: Path) -> None:
    """Statements of every format, masked as a whole; without the mask, each secret is there."""
    folder = fill_folder(tmp_path / "Downloads", list(SAMPLES))
    statements = p2p.read_statements(folder, account=OWNER)
    skipped = statements.problems["code"].eq("skipped").sum()
    assert {secret for _, secret in find_secrets(list_contents(statements), SECRETS)} == set(SECRETS)
    for strict in (False, True):
        masked = statements.masked(key=KEY, strict=strict)
        assert find_secrets(list_contents(masked), [*SECRETS, str(tmp_path)]) == []
        assert masked.problems["code"].eq("skipped").sum() == skipped == 2
        assert masked.problems["problem"].equals(masked.problems["code"].str.replace("_", " "))
        of_accounts = [masked.history(account).problems["code"] for account in masked.accounts]
        assert not any(codes.eq("skipped").any() for codes in of_accounts)


def test_privacy_mode_masks_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With P2P_PRIVACY, the same as `masked`: also the names of files, and the reasons why others are skipped."""
    # Under some random keys the words of two notes, one after the other in a file, spell a secret: "piano", "rainy".
    (settings.private_state_dir() / "privacy.key").write_bytes(KEY)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    statements = p2p.read_statements(fill_folder(tmp_path / "Downloads", ["gen_b_2019", "gen_d_2024"]))
    assert statements.private
    assert find_secrets(list_contents(statements), [*SECRETS, str(tmp_path)]) == []
    assert len(statements.files) == 3
    assert statements.problems["code"].eq("skipped").sum() == 2


def write_unreadable(folder: Path) -> list[Path]:
    """Write files that cannot be read, for reasons that quote their names or cells."""
    text = SAMPLES["gen_d_2024"].read_text("utf-8")
    contents = {
        "rounded.csv": text.replace("3970000000000000301", "3.97E+18").encode(),
        "damaged.csv": SAMPLES["gen_d_2024"].read_bytes() + b"\xff pizza",
        "nul.csv": f"{text}\0".encode(), "list.csv": b"Theo Marsh,Nora\nraffle,pizza\n", "text.json": b'{"Theo Marsh"',
        "group.csv": SAMPLES["splitwise_en"].read_bytes(), "empty.csv": b"", "book.zip": b"PK\x03\x04Theo Marsh",
    }  # fmt: skip
    paths = [folder / f"{NAME}-{name}" for name in contents]
    for path, content in zip(paths, contents.values(), strict=True):
        path.write_bytes(content)
    packed = folder / "packed.zip"
    for name, member in (("packed", f"{NAME}.csv"), ("outside", f"../{NAME}.csv"), ("nested", f"{NAME}.zip")):
        packed = folder / f"{name}.zip"
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(member, contents["rounded.csv"])
        paths.append(packed)
    return paths


def test_errors_quote_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch) -> None:
    """No name of a file and no cell is in message, context or output; without privacy mode, most messages hold one."""
    messages = {}
    for path in write_unreadable(tmp_path):
        monkeypatch.setenv("P2P_PRIVACY", "0")
        with pytest.raises(StatementError) as caught:
            p2p.read_statements(path)
        messages[path.name] = str(caught.value).encode()
        monkeypatch.setenv("P2P_PRIVACY", "1")
        with pytest.raises(StatementError) as caught:
            p2p.read_statements(path)
        error = caught.value
        message = "A statement file cannot be read: privacy mode hides its name and the reason, so set P2P_PRIVACY=0"
        assert str(error) == f"{message} to see them."
        printed = "".join(traceback.format_exception_only(error)) + repr((error, error.__context__, error.__cause__))
        assert cli.main(["import", str(tmp_path / "a"), str(path)]) == 1
        printed += "".join(capfd.readouterr())
        assert find_secrets({path.name: printed.encode()}, SECRETS) == []
    assert {secret for _, secret in find_secrets(messages, SECRETS)} >= {NAME, "Theo", "Nora"}
    assert len(find_secrets(messages, [NAME])) == len(messages)


def test_imports_and_their_undo_name_no_file(tmp_path: Path, monkeypatch, capfd: pytest.CaptureFixture[str]) -> None:
    """The names are those of masked statements; nothing can be imported, because its plan shows ids."""
    archive = p2p.open_archive(tmp_path / "a")
    original = statements_of(row(1, file=f"{NAME}.csv"), row(2, file="b.csv"))
    archive.import_(original)
    monkeypatch.setenv("P2P_PRIVACY", "1")
    (files,) = archive.imports["files"]
    assert files.split("; ") == original.masked().files["file"].tolist()
    with pytest.raises(ArchiveError, match=r"import the original ones, with P2P_PRIVACY=0\.$"):
        archive.import_(original, dry_run=True)
    assert cli.main(["undo", str(tmp_path / "a"), "--yes", "--json"]) == 0
    printed = "".join(capfd.readouterr())
    assert files.split("; ")[0] in printed
    assert NAME not in printed


def test_people_csv_is_not_quoted(tmp_path: Path) -> None:
    """A line that cannot be used is named by its number; without privacy mode it is quoted."""
    archive = p2p.open_archive(tmp_path / "a")
    archive.import_(statements_of(row(1, "Theo Marsh")))
    lines = [
        "alias,person,evidence",
        "Theo Marsh,user:zebquill,",
        "Theo Marsh,7.7E+18,",
        "Theo,Nora,",
        "Theo,Lena,",
        "",
    ]
    (archive.path / "people.csv").write_text("\n".join(lines), "utf-8")
    secrets = ["zebquill", "7.7E+18", "Nora"]
    shown = find_secrets({"problems": archive.history().problems.to_csv().encode()}, secrets)
    assert [secret for _, secret in shown] == secrets
    for privacy in (True, "strict"):
        problems = archive.history(privacy=privacy).problems
        assert set(problems["code"]) == {"people_line"}
        assert find_secrets({"problems": problems.to_csv().encode()}, [*secrets, "Theo"]) == []


def test_balances_of_an_archive_in_privacy_mode(tmp_path: Path) -> None:
    """No name of a file, id of a suggestion, account or amount is in the table, nor in an export."""
    # Under some random keys an invented amount has the digits of a real one: workbooks write 8.2 as 8.199999999999999.
    (settings.private_state_dir() / "privacy.key").write_bytes(KEY)
    archive = p2p.open_archive(tmp_path / "archive")
    head = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance"
    for month, balances in {"01": ("9371.44", "9361.44"), "04": ("9361.40", "7318.29")}.items():
        rows = [
            f"TRANSFER,Current,2024-{month}-{day} 10:00:00,2024-{month}-{day} 10:00:00,To Theo Marsh,-10.00,0.00,EUR,"
            f"COMPLETED,{balance}"
            for day, balance in zip(("10", "20"), balances, strict=True)
        ]
        (tmp_path / f"{NAME}-{month}.csv").write_text("\n".join([head, *rows, ""]), "utf-8")
        archive.import_(p2p.read_statements(tmp_path / f"{NAME}-{month}.csv", account="nora-quill"))
    secrets = [NAME, "nora-quill", "938144", "936144", "731829", "revolut-", "9371.44", "7318.29"]
    original = archive.reconciliation()
    assert {secret for _, secret in find_secrets({"table": render_table(original)}, secrets)} >= set(secrets[:5])
    made: dict[str, bytes] = {}
    for mode, endings in ((True, ["xlsx", "parquet"]), ("strict", ["csv"])):
        private = archive.reconciliation(privacy=mode)
        assert len(private) == len(original) == 2
        made |= {f"table {mode}": render_table(private), f"repr {mode}": repr(private).encode()}
        for ending in endings:
            path = tmp_path / f"out.{ending}"
            options = ["--table", "reconciliation", "--privacy", *(["strict"] if mode == "strict" else [])]
            assert cli.main(["export", str(archive.path), str(path), *options]) == 0
            made[ending] = path.read_bytes()
    with zipfile.ZipFile(tmp_path / "out.xlsx") as book:
        made |= {name: book.read(name) for name in book.namelist()}
    made["rows"] = pd.read_parquet(tmp_path / "out.parquet").to_csv().encode()
    assert find_secrets(made, secrets) == []


def test_ones_own_money_stays_known() -> None:
    """A source that ends in a word for the balance is "balance", without its other words; all others are masked."""
    frame = pd.DataFrame(
        {
            "funding_source": ["Venmo balance", "Balance of Nora ", "Your Cash", "Visa Debit *1559", "", None],
            "destination": ["Bank of Sand", None, "Visa Debit *1559", "venmo Balance", "Nora's balance sheet", ""],
        },
        dtype="str",
    )
    masked = Mask(KEY).frame(frame)
    sources, destinations = masked["funding_source"].tolist(), masked["destination"].tolist()
    assert [sources[at] for at in (0, 2, 4)] == ["balance", "balance", ""]
    assert destinations[3] == "balance"
    assert sources[3] == destinations[2]
    others = {sources[1], sources[3], destinations[0], destinations[4]}
    assert len(others) == 4
    assert "balance" not in others
    assert find_secrets({"frame": render_table(masked)}, ["Venmo", "Nora", "Cash", "Visa", "1559", "Sand"]) == []


@pytest.mark.parametrize("strict", [False, True])
def test_problems_of_files_name_no_file_day_or_amount(strict: bool) -> None:  # noqa: FBT001 - a parameter
    """The code stays, also as the sentence; files are invented, days are reduced, and the cents are an amount."""
    morning = datetime(2024, 5, 17, 9, tzinfo=UTC)
    gap = {
        "code": "gap", "file": "Volodya.csv", "line": 7, "field": "balance", "first_day": morning, "last_day": morning,
        "cents": -123456, "currency": "USD", "other_file": "April of Volodya.csv",
        "problem": "a file or rows may be missing after April of Volodya",
    }  # fmt: skip
    own = {**gap, "code": "Volodya paid", "payment_id": "9", "other_file": "Volodya.csv"}
    given = frame_from_rows([gap, own, {**gap, "cents": None, "currency": "Volodya"}], PROBLEMS)
    masked = Mask(KEY, strict=strict).frame(given)
    assert find_secrets({"problems": render_table(masked)}, ["Volodya", "April", "1234.56", "123456"]) == []
    assert masked["code"].tolist() == ["not shown in privacy mode", "gap", "gap"]
    assert masked["problem"].tolist() == masked["code"].tolist()
    day = pd.Timestamp(2024, 5, 1 if strict else 17, tz="UTC")
    assert (masked[["first_day", "last_day"]] == day).all(axis=None)
    assert (masked["cents"].dropna() < 0).all()
    assert masked["cents"].isna().tolist() == [False, False, True]
    assert masked["line"].isna().all()
    assert masked["currency"].tolist()[:2] == ["USD", "USD"]
    assert masked.loc[0, "file"] == masked.loc[0, "other_file"] == masked.loc[1, "file"] != masked.loc[1, "other_file"]
