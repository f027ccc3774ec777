"""The command sandbox: serves with the given settings until Ctrl-C, or writes statement files."""

import json
import signal
import socket
import stat
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from p2p_analytics import cli
from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.sandbox.statements.write import GENERATIONS

SMALL = "sandbox --years 1 --people 3"


def test_the_sandbox_serves_until_ctrl_c(start: Callable[..., subprocess.Popen[str]]) -> None:
    """It prints how to sign in, fails as its script says, speaks the dialect, keeps to the limit, and ends with 0."""
    options = f"{SMALL} --port 0 --dialect observed --rate-limit 2/3600 --rate-limit-status 400 --faults"
    process = start(*options.split(), "ok 504")
    login = next(words for line in process.stdout if (words := line.partition("p2p-analytics ")[2].split()))
    address = cli.build_parser().parse_args(login).base_url
    assert login == ["login", "--base-url", address, "--client-id", "1001"]
    given = cli.build_parser().parse_args(["sandbox"])
    assert (given.dialect, given.rate_limit, given.rate_limit_status, given.port) == ("documented", None, 429, 8400)
    request = f"{address}/oauth/authorize?client_id=1001&scope=access_profile"
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - loopback
        assert answer.status == 200
    for status, code in ((401, 267), (504, None), (401, 267), (400, 277)):
        with pytest.raises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(f"{address}/me", timeout=20)  # noqa: S310 - loopback
        with caught.value as error:
            body = error.read()
            is_ours = error.headers["Content-Type"].startswith("application/json")
        assert (error.status, json.loads(body)["error"]["code"] if is_ours else None) == (status, code)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, "Traceback" in err) == (0, False)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address, timeout=5)  # noqa: S310 - loopback


def test_a_port_that_is_taken(run) -> None:
    """A second sandbox on the same port says so in one line, names the option, and leaves no database behind."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        code, _, err = run(f"{SMALL} --port {port} --db town.db")
    advice = "choose another with --port, or 0 for any free one.\n"
    assert (code, err.count("\n"), err.endswith(advice)) == (1, 1, True)
    assert err.startswith(f"p2p-analytics: Port {port} cannot be used (address already in use): ")
    assert list(Path().iterdir()) == []


def test_statement_files_of_the_main_person(run) -> None:
    """`sandbox --statements` writes private files that cover the history, and ends without serving."""
    assert run(f"{SMALL} --statements new/files") == (0, "5 statement files of maya-lindqvist in new/files\n", "")
    files = sorted(Path("new/files").iterdir())
    assert [path.name for path in files] == [
        "maya-lindqvist_2024-06-30_2024-09-27.csv",
        "maya-lindqvist_2024-09-21_2024-12-19.csv",
        "maya-lindqvist_2024-12-13_2025-03-12.csv",
        "maya-lindqvist_2025-03-06_2025-06-03.csv",
        "maya-lindqvist_2025-05-28_2025-06-30.csv",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    with SandboxServer(people=3, years=1) as server:
        text = server.statement("maya-lindqvist", "2024-06-30", "2024-09-27")
    assert files[0].read_bytes() == text.encode()
    assert text.startswith("\ufeffAccount Statement - (@maya-lindqvist)")


def test_statement_files_of_others_in_another_form(run) -> None:
    """`--person`, also repeated and with @, and `--generation` choose; files of a run before are replaced."""
    assert f"{{{','.join(GENERATIONS)}}}" in run("sandbox --help").out
    people = "--person @tom-ohara --person noor-haddad --person tom-ohara"
    for _ in range(2):
        code, out, _ = run(f"{SMALL} --statements files --generation JSON {people}")
        assert (code, out.count("\n")) == (0, 2)
    assert {path.name.partition("_")[0] for path in Path("files").iterdir()} == {"tom-ohara", "noor-haddad"}
    files = [json.loads(path.read_bytes())["data"] for path in sorted(Path("files").glob("tom-ohara*.json"))]
    assert (len(files), all(file["transactions"] for file in files)) == (5, True)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ("--person kai_", 2, "--person is for statement files: name their folder with --statements."),
        ("--generation A", 2, "--generation is for statement files: name their folder with --statements."),
        ("--rate-limit-status 400", 2, "--rate-limit-status 400 needs --dialect observed: leave it out, or add that."),
        ("--statements file", 1, "Cannot write into file: it is no folder; name another one."),
        ("--statements file/new", 1, "Cannot create file/new: not a directory; name another folder."),
        ("--statements out --person no-such-name", 1, "No person of this town has the username 'no-such-name'"),
    ],
)
def test_what_cannot_be_done(run, words: str, code: int, message: str) -> None:
    """Options of the other use, a file in place of the folder, and an unknown person are one line each."""
    Path("file").write_text("mine")
    found = run(f"{SMALL} --port 0 {words}")
    assert (found.code, found.out, found.err.count("\n")) == (code, "", 1)
    assert found.err.startswith(f"p2p-analytics: {message}")
    assert [path.name for path in Path().iterdir()] == ["file"]
