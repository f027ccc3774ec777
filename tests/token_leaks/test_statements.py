"""Statements need no token and show none, also where a file of the user holds one.

A note is the user's own data: frames, archives and exports keep it as it is. Messages, logs, counts and reprs do not
quote it.
"""

from __future__ import annotations

import logging
import pickle
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.canary import CANARY, find_canary_files

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = Path(__file__).parents[1] / "statements" / "samples" / "gen_d_2024.csv"


@pytest.fixture
def read_output(caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return a function that returns the log at DEBUG and the output so far."""
    caplog.set_level(logging.DEBUG)
    return lambda: "".join([caplog.text, *capfd.readouterr()])


def write_sample(folder: Path, note: str) -> Path:
    """Write a statement with a note in place of "moving van", and return its path."""
    text = SAMPLE.read_text("utf-8-sig")
    assert text.count("moving van") == 1
    (folder / "may.csv").write_text(text.replace("moving van", note), "utf-8")
    return folder / "may.csv"


def list_errors(folder: Path, note: str) -> str:
    """Return the errors of damaged statements with a note, of an import and of people.csv."""
    folder.mkdir()
    good = write_sample(folder, note)
    text = good.read_text("utf-8")
    damaged = {
        "rounded.csv": text.replace("3970000000000000302", "3.97E+18"), "nul.csv": f"{text}\0",
        "long.csv": text.replace(note, note + "x" * 2**18), "group.csv": f"Date,Cost,Currency\n2024-01-01,3,{note}\n",
        "text.json": f'{{"note": "{note}"',
    }  # fmt: skip
    for name, content in damaged.items():
        (folder / name).write_text(content, "utf-8")
    archive, statements = p2p.open_archive(folder / "a"), p2p.read_statements(good)
    archive.import_(statements)
    (archive.path / "people.csv").write_text("name\nTheo Marsh\n", "utf-8")
    calls = [lambda name=name: p2p.read_statements(folder / name) for name in damaged]
    calls += [
        archive.write_people, lambda: statements.history("someone"),
        lambda: p2p.match_bank(statements, folder / "no.csv"), lambda: p2p.match_bank(statements, good),
        lambda: p2p.open_archive(folder).undo(), lambda: archive.import_(statements.payments),
    ]  # fmt: skip
    texts = []
    for call in calls:
        with pytest.raises(p2p.P2PAnalyticsError) as caught:
            call()
        texts += [*traceback.format_exception_only(caught.value), repr(caught.value), repr(vars(caught.value))]
    return "".join(texts)


def test_the_token_of_the_environment_is_in_nothing(tmp_path: Path, monkeypatch, read_output) -> None:
    """Frames, files, reprs, errors with all variables, logs and output of reading, pairing, importing and undoing."""
    monkeypatch.setenv("P2P_ACCESS_TOKEN", f"{CANARY}-1")
    statements = p2p.read_statements(write_sample(tmp_path, "x"))
    (tmp_path / "bank.csv").write_text("Date,Description,Amount\n2024-01-29,VENMO CASHOUT,500.00\n", "utf-8")
    bank = p2p.match_bank(statements, tmp_path / "bank.csv")
    assert len(bank) == 2
    archive = p2p.open_archive(tmp_path / "archive")
    plans = [archive.import_(statements, dry_run=True), archive.import_(statements)]
    archive.write_people()
    history = archive.history()
    shown = [repr(each) for each in (statements, vars(statements), bank, plans, archive, vars(archive), history.me)]
    shown += [statements._repr_html_(), history._repr_html_(), archive.people.to_csv(), archive.imports.to_csv()]
    shown += [archive.reconciliation(privacy=mode).to_csv() for mode in (False, True)]
    shown += [repr(pickle.dumps(each)) for each in (statements, history, bank)]
    for name in ("payments", "files", "problems", "reconciliation"):
        p2p.to_csv(getattr(statements, name), tmp_path / f"{name}.csv")
        shown.append(repr(getattr(statements, name).attrs))
    archive.undo()
    with pytest.raises(p2p.P2PAnalyticsError) as caught:
        p2p.read_statements(tmp_path / "archive")
    shown += traceback.TracebackException.from_exception(caught.value, capture_locals=True).format()
    shown += [list_errors(tmp_path / "errors", "x"), read_output()]
    assert CANARY not in "".join(shown)
    assert find_canary_files(tmp_path) == []


def test_a_token_in_a_note_is_quoted_by_nothing(tmp_path: Path, read_output) -> None:
    """Errors, reprs, logs and output of the commands do not quote it; only rows and view of the archive hold it."""
    note = f"{CANARY}-1"
    statements = p2p.read_statements(write_sample(tmp_path, note))
    assert CANARY in "".join(statements.payments["note"].dropna()), "the data is the user's own"
    shown = [repr(statements), statements._repr_html_(), repr(statements.history()), statements.history()._repr_html_()]
    shown += [getattr(statements, name).to_csv() for name in ("problems", "files", "reconciliation")]
    shown.append(list_errors(tmp_path / "errors", note))
    archive, file = str(tmp_path / "archive"), str(tmp_path / "may.csv")
    for line in (
        ["import", archive, file, "--dry-run", "--rows", "0", "--progress", "log"], ["import", archive, file],
        ["people", archive], ["people", archive, "--json"],
    ):  # fmt: skip
        assert cli.main(line) == 0
    assert {Path(path).name.partition("-")[0] for path in find_canary_files(Path(archive))} == {"rows", "view_payments"}
    assert cli.main(["undo", archive, "--yes", "--json"]) == 0
    assert find_canary_files(Path(archive)) == []
    shown.append(read_output())
    assert "1 Venmo file, 1 of 1 balance reconciled" in shown[-1]
    assert CANARY not in "".join(shown)
