"""No summary, log or script of the command line holds the token."""

from __future__ import annotations

from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.canary import CANARY, find_canary_files, issue_canary_tokens


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Serve a town with a canary token in the environment, and return the path of an archive of it."""
    issue_canary_tokens(monkeypatch)
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as server:
        monkeypatch.setenv("P2P_BASE_URL", server.base_url)
        monkeypatch.setenv("P2P_ACCESS_TOKEN", server.token(server.viewer))
        assert cli.main(["sync", str(tmp_path / "a")]) == 0
        yield str(tmp_path / "a")


def test_no_command_prints_the_token(folder: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Summaries as text and JSON, logged progress, tables on standard output, completion scripts and wrong use."""
    out = str(tmp_path / "out")
    statement = str(Path(__file__).parents[1] / "statements" / "samples" / "gen_d_2024.csv")
    lines = [
        ["whoami"], ["whoami", "--json"],
        ["sync", folder, "--json", "--progress", "log"], ["sync", folder, "--refresh", "--json"],
        ["verify", folder], ["verify", folder, "--json", "--progress", "log"],
        ["export", folder, "-"], ["export", folder, "-", "--table", "problems"],
        ["export", folder, f"{out}.csv", "--json"],
        *(["export", folder, "-", "--table", name] for name in ("activity", "exposure", "split_bills")),
        ["report", folder, "--out", f"{out}.html", "--json", "--progress", "log"],
        ["reminders", folder], ["reminders", folder, "--json"],
        ["import", f"{out}-own", statement, "--dry-run"], ["import", f"{out}-own", statement, "--json"],
        ["people", f"{out}-own"], ["people", f"{out}-own", "--json"], ["undo", f"{out}-own", "--yes", "--json"],
        *(["completion", shell] for shell in ("bash", "zsh", "fish")),
    ]  # fmt: skip
    for line in lines:
        capfd.readouterr()
        assert cli.main(line) == 0, line
        printed = capfd.readouterr()
        assert printed.out
        assert CANARY not in printed.out + printed.err, line
    for wrong in (["whoami", f"--token={CANARY}"], ["sync", "a", "--base-url", CANARY]):
        with pytest.raises(SystemExit):
            cli.main(wrong)
        assert CANARY not in "".join(capfd.readouterr())
    assert find_canary_files(tmp_path) == []
