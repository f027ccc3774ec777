"""The command demo --statements works from statement files alone, and finds what the service lists."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest

from p2p_analytics import cli

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "report.html", "payments.csv", "people.csv", "friends.csv", "spend_by_friend.png", "status_mix.png",
    "pending_ageing.png", "monthly_flow.png", "reconciliation.png",
}  # fmt: skip
SMALL = ("--years", "1", "--people", "4", "--seed", "3", "--progress", "none")


@pytest.mark.usefixtures("draw_nothing")
def test_files_and_list_give_the_same_sums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sent, received and open requests are those of a demo that signs in; this one does not, and keeps its files."""
    listed = tmp_path / "listed"
    assert cli.main(["demo", "--out", str(listed), *SMALL]) == 0
    wanted = capsys.readouterr().out.splitlines()
    out = tmp_path / "out"
    monkeypatch.setattr("p2p_analytics.sandbox.SandboxServer.sign_in", lambda *_: pytest.fail("signed in"))
    monkeypatch.setattr("p2p_analytics.sandbox.SandboxServer.token", lambda *_: pytest.fail("took a token"))
    assert cli.main(["demo", "--statements", "--out", str(out), *SMALL]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert [line for line in shown if "sent " in line or "open: " in line] == [
        line for line in wanted if "sent " in line or "open: " in line
    ]
    assert shown[1] == wanted[1] == "Maya Lindqvist (@maya-lindqvist)"
    assert "other transactions" in shown[2]
    assert shown[2].split(";")[0].split(",")[0] == wanted[2].split(";")[0].split(",")[0]  # the number of payments
    assert {path.name for path in out.iterdir()} == FILES | {"statements"}
    files = sorted(path.name for path in (out / "statements").iterdir())
    assert files[0] == "maya-lindqvist_2024-06-30_2024-09-27.csv"
    assert len(files) == 5
    (line,) = [line for line in shown if line.startswith("  statements/ ")]
    assert line.endswith("  5 statement files")
    assert {stat.S_IMODE(path.stat().st_mode) for path in (out / "statements").iterdir()} == {0o600}


@pytest.mark.parametrize("mode", [pytest.param((), marks=pytest.mark.full), ("strict",)])
def test_privacy_keeps_no_statement_file(
    tmp_path: Path, mode: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    """In privacy mode the statement files are removed, and no file has a name of the town."""
    assert cli.main(["demo", "--statements", "--out", str(tmp_path), *SMALL, "--privacy", *mode]) == 0
    shown = capsys.readouterr().out
    assert "statements/" not in shown
    assert {path.name for path in tmp_path.iterdir()} == FILES
    texts = [path.read_text(encoding="utf-8") for path in tmp_path.iterdir() if path.suffix != ".png"]
    for text in (*texts, shown):
        for name in ("maya-lindqvist", "Lindqvist", "Haddad", "O'Hara"):
            assert name not in text
    assert any("transfer" in text for text in texts)


def test_an_unknown_person(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown username is one sentence, and nothing is written."""
    out = tmp_path / "out"
    assert cli.main(["demo", "--statements", "--out", str(out), *SMALL, "--person", "no-such-person"]) == 1
    assert "No person of this town has the username 'no-such-person'" in capsys.readouterr().err
    assert not out.exists()
