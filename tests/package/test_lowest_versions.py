"""The tests run with the lowest version of each dependency that `pyproject.toml` allows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOWEST = Path(sys.prefix) / "lowest"  # made by `make soak`

# Folders that test the developers' tools, or start browsers and peers, are left out.
FOLDERS = (
    *("analyses", "archive", "auth", "cli", "client", "contract", "export", "frames", "history", "plots", "privacy"),
    *("records", "report", "round_trip", "sandbox", "statements"),
)


@pytest.mark.soak
def test_the_lowest_versions_work() -> None:
    """Their environment has exactly the declared lower bounds, and the tests pass there."""
    python = LOWEST / "bin" / "python"
    if not python.exists():
        pytest.skip("The lowest versions are not installed: `make soak` installs them if uv and PyPI can be reached")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["engines"], *extras["notebook"]]
    code = "import sys; from importlib.metadata import version; print(*[version(name) for name in sys.argv[1:]])"
    bounds = dict(re.fullmatch(r"([\w-]+)>=([\d.]+).*", line).groups() for line in wanted)  # type: ignore[union-attr]
    found = subprocess.run([python, "-c", code, *bounds], capture_output=True, text=True, check=True).stdout.split()  # noqa: S603 - our words
    assert [
        number for number, low in zip(found, bounds.values(), strict=True) if not f"{number}.0.0".startswith(low)
    ] == []
    environment = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    tests = [str(ROOT / "tests" / folder) for folder in FOLDERS]
    options = "-m pytest -q -n 2 -p no:cacheprovider -o filterwarnings=default -m"
    words = [python, *options.split(), "not soak"]
    ended = subprocess.run([*words, *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our words
    assert ended.returncode == 0, ended.stdout[-5000:]
