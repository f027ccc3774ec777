"""Statements need no token and show none, nor the notes of the user's files.

A note is the user's own data: frames, archives and exports keep it as it is. Messages, logs, counts and reprs do not
quote it.
"""

import logging
import pickle
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.canary import CANARY, find_canary_files
from support.exceptions import format_everything

NOTE = "n0tec0ffee"
SAMPLE = (Path(__file__).parents[1] / "statements" / "samples" / "gen_d_2024.csv").read_text("utf-8-sig")
WITH_NOTE = SAMPLE.replace("moving van", NOTE)
DAMAGED = {
    "rounded.csv": WITH_NOTE.replace("3970000000000000302", "3.97E+18"), "nul.csv": f"{WITH_NOTE}\0",
    "long.csv": WITH_NOTE.replace(NOTE, NOTE + "x" * 2**18), "group.csv": f"Date,Cost,Currency\n2024-01-01,3,{NOTE}\n",
    "text.json": f'{{"note": "{NOTE}"',
}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the current folder, with a statement, a bank's file and damaged files; the environment holds a token."""
    monkeypatch.setenv("P2P_ACCESS_TOKEN", f"{CANARY}-1")
    monkeypatch.chdir(tmp_path)
    bank = "Date,Description,Amount\n2024-01-29,VENMO CASHOUT,500.00\n"
    for name, content in (DAMAGED | {"may.csv": WITH_NOTE, "bank.csv": bank}).items():
        Path(name).write_text(content, "utf-8")
    assert WITH_NOTE.count(NOTE) == 1
    return tmp_path


def find_files_with_note(folder: Path) -> set[str]:
    """Return the kinds of files below a folder that hold the note."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.name.partition("-")[0] for path in files if NOTE.encode() in path.read_bytes()}


def test_errors_quote_neither_token_nor_note(folder: Path) -> None:
    """Damaged statements, an import and people.csv: the message, and the variables of all frames for the token."""
    archive, statements = p2p.open_archive("a"), p2p.read_statements("may.csv")
    archive.import_(statements)
    (archive.path / "people.csv").write_text("name\nTheo Marsh\n", "utf-8")
    calls = [lambda name=name: p2p.read_statements(name) for name in DAMAGED]
    calls += [
        archive.write_people, lambda: statements.history("someone"), lambda: p2p.match_bank(statements, "no.csv"),
        lambda: p2p.match_bank(statements, "may.csv"), lambda: p2p.open_archive(folder).undo(),
        lambda: archive.import_(statements.payments), lambda: p2p.read_statements("a"),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(p2p.P2PAnalyticsError) as caught:
            call()
        assert CANARY not in format_everything(caught.value)
        assert NOTE not in repr([caught.value, str(caught.value), vars(caught.value)])


def test_only_rows_and_frames_hold_a_note_and_nothing_the_token(folder: Path, caplog, capfd) -> None:
    """Frames, files, reprs, logs and output of reading, pairing, importing and undoing, and of the commands."""
    caplog.set_level(logging.DEBUG)
    statements = p2p.read_statements("may.csv")
    bank, archive = p2p.match_bank(statements, "bank.csv"), p2p.open_archive("archive")
    assert len(bank) == 2
    plans = [archive.import_(statements, dry_run=True), archive.import_(statements)]
    archive.write_people()
    histories = [statements.history(), archive.history()]
    shown = [repr(each) for each in (statements, plans, archive, histories, [each.me for each in histories])]
    shown += [each._repr_html_() for each in (statements, *histories)]
    shown += [archive.people.to_csv(), archive.imports.to_csv(), repr(statements.payments.attrs)]
    shown += [archive.reconciliation(privacy=mode).to_csv() for mode in (False, True)]
    shown += [getattr(statements, name).to_csv() for name in ("problems", "files", "reconciliation")]
    data = [repr([vars(statements), vars(archive), bank, *map(pickle.dumps, (statements, histories, bank))])]
    for name in ("payments", "files", "problems", "reconciliation"):
        p2p.to_csv(getattr(statements, name), f"{name}.csv")
    assert find_files_with_note(archive.path) == {"rows", "view_payments"}
    archive.undo()
    for line in (
        "import b may.csv --dry-run --rows 0 --progress log", "import b may.csv", "people b", "people b --json",
        "undo b --yes --json",
    ):  # fmt: skip
        assert cli.main(line.split()) == 0
    output = "".join([caplog.text, *capfd.readouterr()])
    assert "1 Venmo file, 1 of 1 balance reconciled" in output
    assert CANARY not in "".join([*shown, *data, output])
    assert NOTE not in "".join([*shown, output])
    assert find_canary_files(folder) == []
    assert find_files_with_note(archive.path) | find_files_with_note(Path("b")) == set()
