"""The commands sync and verify: load payments into an archive, compare it with the service, and say how many."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli


@pytest.fixture
def town(monkeypatch):
    """Serve a town, with the viewer's token in the environment."""
    with p2p.sandbox.SandboxServer(seed=7) as server:
        monkeypatch.setenv("P2P_BASE_URL", server.base_url)
        monkeypatch.setenv("P2P_ACCESS_TOKEN", server.token(server.viewer))
        yield server


def start_note(folder: Path) -> str:
    """Return the line that a first sync into a folder writes."""
    return f"There is no archive in {folder} yet: this sync starts a new one there.\n"


def test_a_new_archive_is_announced(town, tmp_path, capsys) -> None:
    """A mistyped name starts a new archive: standard error says so, and where; a later sync is quiet."""
    assert cli.main(["sync", str(tmp_path / "payments")]) == 0
    assert capsys.readouterr().err == start_note(tmp_path / "payments")
    assert cli.main(["sync", str(tmp_path / "payments")]) == 0
    assert capsys.readouterr().err == ""
    assert cli.main(["sync", str(tmp_path / "paymnets")]) == 0
    assert capsys.readouterr().err == start_note(tmp_path / "paymnets")


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"{")], ids=["lost", "broken"])
def test_an_archive_with_a_damaged_manifest_is_not_new(town, tmp_path, capsys, damage) -> None:
    """Its payments are recovered from its files."""
    assert cli.main(["sync", str(tmp_path / "a")]) == 0
    capsys.readouterr()
    damage(tmp_path / "a" / "manifest.json")
    assert not p2p.open_archive(tmp_path / "a").is_new
    assert cli.main(["sync", str(tmp_path / "a")]) == 0
    assert "starts a new one" not in capsys.readouterr().err


def test_sync_and_sync_again(town, tmp_path, capsys) -> None:
    """The command prints the number of new payments, and the names of corrupt files."""
    folder = str(tmp_path / "a")
    assert cli.main(["sync", folder]) == 0
    count = len(p2p.open_archive(folder).history().payments)
    assert capsys.readouterr().out == f"{count} new payments, 0 with another status, in {folder}\n"
    (file,) = (tmp_path / "a").glob("payments-*")
    file.write_bytes(b"")
    assert cli.main(["sync", folder]) == 0
    said = capsys.readouterr()
    assert f"{file.name} was broken" in said.err
    assert said.out.startswith(f"{count} new payments")


def test_a_broken_file_of_people_loses_earlier_names(town, tmp_path, capsys, caplog) -> None:
    """The service shows present names only, so the sync reports the loss."""
    assert cli.main(["sync", str(tmp_path / "a")]) == 0
    (file,) = (tmp_path / "a").glob("people-*")
    file.write_bytes(b"")
    capsys.readouterr()
    assert cli.main(["sync", str(tmp_path / "a")]) == 0
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"{file.name} was broken: it is set aside, and all payments are loaded again; the earlier names of people "
        "(also_named) are lost."
    )
    assert caplog.messages[-1].endswith("is set aside; the earlier names of people (also_named) are lost.")


def test_an_interrupted_sync_prints_the_note_of_the_load(tmp_path, capsys, monkeypatch) -> None:
    """Ctrl-C exits with 130 and prints the note of the load."""

    def interrupt(*_: object, **__: object) -> None:
        interrupt = KeyboardInterrupt()
        interrupt.add_note("272 payments are kept, and the next load goes on from there.")
        raise interrupt

    monkeypatch.setattr("p2p_analytics.archive.Archive.sync", interrupt)
    monkeypatch.setenv("P2P_BASE_URL", "https://service.invalid/v1")
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "made-up")
    assert cli.main(["sync", str(tmp_path / "a")]) == 130
    kept = "stopped. 272 payments are kept, and the next load goes on from there."
    assert capsys.readouterr().err == f"{start_note(tmp_path / 'a')}\np2p-analytics: {kept}\n"


def test_sync_without_a_token(tmp_path, capsys, monkeypatch) -> None:
    """The error is one line, and no folder is created."""
    monkeypatch.setenv("P2P_BASE_URL", "https://service.invalid/v1")
    assert cli.main(["sync", str(tmp_path / "a")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_refresh_says_how_much_it_reloaded(town, tmp_path, capsys) -> None:
    """The summary of `--refresh` has the number of payments that the service listed."""
    folder = str(tmp_path / "a")
    assert cli.main(["sync", folder]) == 0
    count = len(p2p.open_archive(folder).history().payments)
    capsys.readouterr()
    assert cli.main(["sync", folder, "--refresh"]) == 0
    expected = f"{count} payments reloaded: 0 new payments, 0 with another status, in {folder}\n"
    assert capsys.readouterr().out == expected


def test_summaries_as_json(town, tmp_path, capsys) -> None:
    """`--json` prints the documented keys of sync and verify, with the exit code of a difference."""
    folder = str(tmp_path / "a")
    assert cli.main(["sync", folder, "--json", "--progress", "none"]) == 0
    count = len(p2p.open_archive(folder).history().payments)
    printed = capsys.readouterr()
    counts = {"loaded": count, "added": count, "changed": 0}
    assert json.loads(printed.out) == {"archive": folder, "refresh": False, "since": None, **counts, "set_aside": []}
    assert printed.err == ""
    assert cli.main(["verify", folder, "--json"]) == 0
    agreement = {"archive": folder, "agrees": True, "since": None, "missing": 0, "extra": 0, "changed": 0, "months": []}
    assert json.loads(capsys.readouterr().out) == agreement
    town.add_payments(
        town.viewer, [{"date_created": datetime(2025, 1, 15, 12, second, tzinfo=UTC)} for second in (1, 2)]
    )
    assert cli.main(["verify", folder, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["agrees"], found["missing"], found["extra"], found["changed"]) == (False, 2, 0, 0)
    assert found["months"] == [{"month": "2025-01", "missing": 2, "extra": 0, "changed": 0}]


def test_progress_in_a_log(town, tmp_path, capsys, monkeypatch) -> None:
    """`--progress log` writes lines without control characters to standard error, `none` nothing."""
    monkeypatch.setattr("p2p_analytics.cli._output._STEPS_PER_LINE", 3)
    assert cli.main(["sync", str(tmp_path / "a"), "--progress", "log"]) == 0
    lines = capsys.readouterr().err
    lines = lines.removeprefix(start_note(tmp_path / "a"))
    assert re.fullmatch(rf"Loading payments into {tmp_path}/a \.\.\.\n(?:[\d,]+ payments loaded\n)+", lines)
    assert cli.main(["sync", str(tmp_path / "b"), "--progress", "none"]) == 0
    assert capsys.readouterr().err == ""


def test_sync_since_a_date(town, tmp_path, capsys) -> None:
    """The summaries of sync and verify say which payments are not loaded, until a sync without a date loads them."""
    folder = str(tmp_path / "a")
    assert cli.main(["sync", folder, "--since", "2024-01-01"]) == 0
    left_out = "Payments made before 2024-01-01 are not loaded, except pending ones."
    assert capsys.readouterr().out.splitlines()[1] == left_out
    assert cli.main(["verify", folder]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{folder} and the service agree.", left_out]
    assert cli.main(["sync", folder, "--since", "2024-06-01", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["since"] == "2024-01-01T00:00:00Z"
    assert cli.main(["sync", folder]) == 0
    assert "not loaded" not in capsys.readouterr().out
    assert p2p.open_archive(folder).history().payments["date_created"].min().year < 2024
    assert cli.main(["sync", folder, "--since", "2024-01-01", "--refresh"]) == 2
    assert "leave out --since, or --refresh" in capsys.readouterr().err
