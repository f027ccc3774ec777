"""No summary, log, script or help of the command line holds the token, and no command takes one as an argument."""

import re
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from support.canary import CANARY, find_canary_files, issue_canary_tokens

ROOT = Path(__file__).parents[2]
STATEMENT = ROOT / "tests" / "statements" / "samples" / "gen_d_2024.csv"
LINES = [
    "whoami", "whoami --json", "sync a --json --progress log", "sync a --refresh --json",
    "verify a", "verify a --json --progress log", "export a -", "export a - --table problems",
    "export a - --table exposure", "export a out.csv --json", "report a --json --progress log --only status_mix",
    "reminders a", "reminders a --json", "import own statement.csv --dry-run", "import own statement.csv --json",
    "people own", "people own --json", "undo own --yes --json", "completion bash", "completion zsh", "completion fish",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the canary into all variables, and make the folder of the test the current one."""
    for name in ("ACCESS_TOKEN", "CLIENT_SECRET", "CLIENT_ID", "BASE_URL"):
        monkeypatch.setenv(f"P2P_{name}", CANARY)
    monkeypatch.chdir(tmp_path)


def test_no_command_prints_the_token(monkeypatch, capfd) -> None:
    """Summaries as text and JSON, logged progress, tables on standard output, completion scripts and wrong use."""
    issue_canary_tokens(monkeypatch)
    Path("statement.csv").write_bytes(STATEMENT.read_bytes())
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as server:
        monkeypatch.setenv("P2P_BASE_URL", server.base_url)
        monkeypatch.setenv("P2P_ACCESS_TOKEN", server.token(server.viewer))
        assert cli.main(["sync", "a"]) == 0
        for line in LINES:
            capfd.readouterr()
            assert cli.main(line.split()) == 0, line
            out, err = capfd.readouterr()
            assert (out != "", CANARY in out + err) == (True, False), line
    for wrong in (["whoami", f"--token={CANARY}"], ["sync", "a", "--base-url", CANARY]):
        with pytest.raises(SystemExit):
            cli.main(wrong)
        assert CANARY not in "".join(capfd.readouterr())
    assert find_canary_files(Path()) == []


def test_help_shows_no_variable_and_no_option_takes_a_token(capsys) -> None:
    """Help shows no value of a variable; an option for a secret is unknown, whatever the number of arguments."""

    def run(*words: str):
        with pytest.raises(SystemExit):
            cli.main(list(words))
        return capsys.readouterr()

    commands = re.findall(r"^    ([\w-]+) ", run("--help").out.partition("commands:")[2], re.MULTILINE)
    assert {"login", "sync", "report", "sandbox"} < set(commands)
    for command in ("", *commands):
        out, err = run(*command.split(), "--help")
        assert ("usage:" in out, CANARY in out + err) == (True, False), command
        for option in ("--token", "--access-token", "--secret", "--client-secret", "--refresh-token"):
            err = run(*command.split(), f"{option}={CANARY}").err
            assert (f": unrecognized arguments: {option}" in err, CANARY in err) == (True, False), command
