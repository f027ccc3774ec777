"""Lint, types and the tests that mirror changed files: `make quick`, or `make quick PATHS="p2p_analytics/money.py"`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


# Tests of the readers of a declaration, which its own tests do not run.
ALSO = {"p2p_analytics/catalogue.py": ("tests/report", "tests/export", "tests/cli/test_export.py")}


def mirror(path: Path) -> Path | None:
    """Return the tests of a file or folder: the test file of its name, else the folder of its package."""
    top, *inner = path.parts
    folder = path if (ROOT / path).is_dir() else path.parent
    if top == "tests":
        if path.name.startswith("test_") or path == folder:
            return path
        return folder if len(inner) > 1 and inner[0] not in {"support", "typing"} else None
    if top != "p2p_analytics":
        return Path("tests", "notebooks" if top == "notebooks" else "documents")
    place = Path("tests", *folder.parts[1:])
    name = f"test_{path.stem.lstrip('_')}.py"
    named = [] if path == folder else [place / name, place.parent / name]
    for candidate in (*named, place, place.parent):
        if candidate.parent != Path() and (ROOT / candidate).exists():
            return candidate
    return None


def run(*words: str) -> bool:
    """Run a program of the environment, and return whether it succeeded."""
    return subprocess.run([str(ROOT / ".venv" / "bin" / words[0]), *words[1:]], cwd=ROOT, check=False).returncode == 0  # noqa: S603 - our words


def main() -> int:
    """Run each check, also after one that failed, and return 1 if any did.

    The first argument is the expression that selects tests, the others are paths.
    """
    markers, *names = sys.argv[1:]
    if not names:  # the files that differ from the last commit, and new ones
        words = ["git", "status", "--porcelain", "--untracked-files=all", "--no-renames"]
        status = subprocess.run(words, cwd=ROOT, capture_output=True, encoding="utf-8", check=True).stdout  # noqa: S603 - our words
        names = [line[3:] for line in status.splitlines()]
    paths = [Path(name) for name in names]
    sources = [
        str(path) for path in paths if (ROOT / path).is_dir() or (path.suffix == ".py" and (ROOT / path).exists())
    ]
    tests = {str(test) for path in paths if (test := mirror(path)) and (ROOT / test).exists()}
    tests |= {test for path in paths for test in ALSO.get(str(path), ())}
    passed = [run("mypy"), run("lint-imports", "--no-logo")]
    if sources:
        passed += [run("ruff", "check", *sources), run("ruff", "format", "--check", *sources)]
    if tests:
        passed.append(run("python", "-m", "pytest", "-q", "-m", markers, *sorted(tests)))
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
