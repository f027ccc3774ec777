"""The command line in this process and in others, and an archive, in a folder of the test."""

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli

SAMPLES = Path(__file__).parents[1] / "statements" / "samples"
CASH = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
    "c1,2023-01-15 20:00:00 PST,P2P,USD,-$10,$0,-$10,,,,PAYMENT SENT,lunch,Bo,Your Cash\n"
)
# A shell that runs jobs in the background makes them ignore Ctrl-C, and children inherit that.
WITH_CTRL_C = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from p2p_analytics.cli import main; sys.exit(main())"
)


class Printed(NamedTuple):
    """Exit code, standard output and standard error of a command."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """Lines that a person types at a terminal."""

    def isatty(self) -> bool:
        """Return true."""
        return True


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch) -> None:
    """Make the folder of the test the current one."""
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Printed]:
    """Return a function that runs a command line, words of which may follow the text."""

    def run(line: str, *words: object) -> Printed:
        capsys.readouterr()
        try:
            code = cli.main([*line.split(), *map(str, words)])
        except SystemExit as ended:
            code = int(ended.code or 0)
        return Printed(code, *capsys.readouterr())

    return run


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Give a function that starts the command line as a terminal would; its processes end with the test."""
    processes: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("P2P_")}
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and words
            [sys.executable, "-u", "-c", WITH_CTRL_C, *arguments],
            **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment} | options,
        )
        processes.append(process)
        return process

    yield start
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Return a function that types text at a terminal."""
    return lambda text: monkeypatch.setattr("sys.stdin", Terminal(text))


@pytest.fixture
def samples(tmp_path: Path) -> None:
    """Write the sample statements of Nora Quill, one of her choir, and one of Cash App into the current folder."""
    shutil.copytree(SAMPLES, tmp_path, dirs_exist_ok=True)
    (tmp_path / "cash.csv").write_text(CASH)


@pytest.fixture(scope="session")
def _two_payments(tmp_path_factory, history_of, payment) -> Path:
    """Return an archive of a settled and a pending payment, which tests copy."""
    folder = tmp_path_factory.mktemp("two-payments") / "a"
    pending = payment(2, status="pending", action="charge", date_created="2024-05-31T23:30:00", note="rent")
    p2p.open_archive(folder).merge(history_of(payment(1), pending))
    return folder


@pytest.fixture
def archive(tmp_path, _two_payments) -> Path:
    """Return the folder ``a`` of an archive of two payments."""
    return shutil.copytree(_two_payments, tmp_path / "a")
