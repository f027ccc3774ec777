"""Change the package at random places, one change at a time, and report the changes that no test notices.

``make mutate`` runs it: ``MUTATE="--count 300 --seed 7 frames analyses"`` selects the number of mutants, their random
seed and the parts of the package. Each mutant is a copy of the checkout with one changed expression. It is tested by
the folder of tests that mirrors the changed module and, if that passes, with ``--all`` by the other folders. Coverage
is measured first, so that a mutant needs only the tests that run its lines.

A surviving mutant is a missing test, or equivalent code: read each one. The exit code is 0 whatever survives.
"""

import argparse
import ast
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import Final, NamedTuple

from choose import SEPARATOR
from coverage import Coverage

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = "p2p_analytics"
LIMIT_SECONDS: Final = 600  # of the tests of one mutant; an endless loop is noticed by it
FEWEST_TESTS: Final = 3  # of a line; fewer may leave a cached result to others, or be none if an import runs it
NOT_SELECTED: Final = "not (full or all_frames or full_fuzz or soak)"
# Folders without tests of the product, and folders that need a build or other programs.
NO_TESTS: Final = {
    "architecture", "benchmarks", "mutation", "notebooks", "package", "peers", "support", "typing", "__pycache__",
}  # fmt: skip
COMPARISONS: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
OPERATORS: Final[dict[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip
CoverageMap = dict[Path, dict[int, set[str]]]  # the tests that run each line of a module
_TIMES: Final = itertools.count(10**18, 10**9)  # of changed files, in nanoseconds


class Mutant(NamedTuple):
    """One changed expression: the place of the original in the bytes of a file, and the text in its place."""

    path: Path  # relative to the checkout
    line: int
    start: int
    end: int
    text: str


def list_mutants(path: Path) -> Iterator[Mutant]:
    """Yield the mutants of a module, in the order of its text."""
    body = (ROOT / path).read_bytes()
    starts = [0]
    for line in body.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    for node in _walk(ast.parse(body)):
        for changed in _change(node):
            start = starts[node.lineno - 1] + node.col_offset
            end = starts[node.end_lineno - 1] + node.end_col_offset
            yield Mutant(path, node.lineno, start, end, changed)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: without annotations, f-strings, docstrings and blocks for type checkers."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in {"annotation", "returns", "decorator_list", "type_params"}:
            continue
        for child in value if isinstance(value, list) else [value]:
            is_for_types = isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)
            is_text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            if isinstance(child, ast.AST) and not (is_for_types or is_text or isinstance(child, ast.JoinedStr)):
                yield from _walk(child)


def _change(node: ast.AST) -> Iterator[str]:
    """Yield the source of each change of a node; the parentheses keep its precedence."""
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        operator = COMPARISONS[type(node.ops[0])]()
        yield f"({ast.unparse(ast.Compare(node.left, [operator, *node.ops[1:]], node.comparators))})"
    elif isinstance(node, ast.BoolOp):
        yield f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values))})"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield f"({ast.unparse(node.operand)})"
    elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        yield f"({ast.unparse(ast.BinOp(node.left, OPERATORS[type(node.op)](), node.right))})"
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield str(not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        yield str(node.value + 1)
    elif isinstance(node, ast.IfExp):
        yield f"({ast.unparse(node.orelse)})"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield "None"  # the call is left out


def find_mirror(path: Path) -> list[str]:
    """Return the tests that mirror a module: the folder of its package, or the file of a module at the top, if any."""
    part = path.parts[1]
    mirror = f"tests/test_{part}" if part.endswith(".py") else f"tests/{part}"
    return [mirror] if (ROOT / mirror).exists() else []


def list_others(mirror: list[str]) -> list[str]:
    """Return the other folders, and modules at the top, with tests of the product."""
    paths = [path for path in (ROOT / "tests").iterdir() if path.is_dir() or path.name.startswith("test_")]
    return sorted({f"tests/{path.name}" for path in paths if path.name not in NO_TESTS} - {*mirror})


def measure(checkout: Path, folders: list[str]) -> CoverageMap:
    """Run the tests of some folders without a mutant, and return which tests run each line of each module."""
    data = checkout / "coverage"
    data.mkdir()
    (data / "settings").write_text(
        f"[run]\nsource_pkgs = {PACKAGE}\ndata_file = {data}/data\nparallel = true\npatch = subprocess\n"
        "context = ${PYTEST_CURRENT_TEST-}\n"  # of a process that a test starts
    )
    command = ["-m", "coverage", "run", f"--rcfile={data}/settings", "-m", "pytest", *folders]
    if not _run(command, checkout, None):  # it would "notice" every mutant
        sys.exit(f"{' '.join(folders)} must pass without a mutant first.")
    coverage = Coverage(data_file=data / "data")
    coverage.combine([str(data)])
    found = coverage.get_data()
    return {
        Path(name).relative_to(checkout): {
            line: {re.sub(r" \((setup|call|teardown)\)$", "", test) for test in tests if test}
            for line, tests in found.contexts_by_lineno(name).items()
        }
        for name in found.measured_files()
    }


def list_tests(mutant: Mutant, covered: CoverageMap, folders: list[str]) -> list[str]:
    """Return the tests in some folders that may notice a mutant: files with the name of its module come first."""
    lines = covered.get(mutant.path, {})
    tests = lines.get(mutant.line, set())
    tests = tests if len(tests) >= FEWEST_TESTS else set().union(*lines.values())
    name, places, counts = mutant.path.stem.lstrip("_"), {}, Counter[str]()
    wanted = tuple(f"{folder}{end}" for folder in folders for end in "/:")
    for test in sorted(test for test in tests if test.startswith(wanted)):
        function = test.split("[")[0]
        counts[function] += 1  # the first test of each function, then the second ones
        places[test] = f"/test_{name}.py:" not in test, counts[function], test
    return sorted(places, key=places.__getitem__)


def passes(checkout: Path, tests: list[str]) -> bool:
    """Return whether tests pass in a checkout."""
    chosen = checkout / "chosen-tests"
    chosen.write_text(SEPARATOR.join(tests))
    files = sorted({test.split("::")[0] for test in tests})
    return not tests or _run(["-m", "pytest", *files], checkout, LIMIT_SECONDS, MUTATION_TESTS=str(chosen))


def _run(command: list[str], checkout: Path, limit: float | None, **settings: str) -> bool:
    """Run Python with the package of a checkout, not the installed one; return whether it ends well."""
    settings |= {"PYTHONPATH": f"{checkout}:{checkout}/tests/mutation", "POLARS_MAX_THREADS": "1"}
    process = subprocess.Popen(  # noqa: S603 - this interpreter
        [sys.executable, *command, "-x", "-q", "-p", "no:cacheprovider", "-p", "choose", "-m", NOT_SELECTED],
        cwd=checkout,
        env={**os.environ, **settings},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(limit) == 0
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)  # the tests start processes, too
        process.wait()
        return False


def judge(mutant: Mutant, checkouts: Queue[Path], covered: CoverageMap, *, use_all: bool) -> str:
    """Return which tests notice a mutant: "mirror", "rest" or "none"; then print its place and both texts."""
    checkout = checkouts.get()
    path = checkout / mutant.path
    original = path.read_bytes()
    mirror = find_mirror(mutant.path)
    try:
        path.write_bytes(original[: mutant.start] + mutant.text.encode() + original[mutant.end :])
        os.utime(path, ns=(0, next(_TIMES)))  # else Python could take a compiled module of the same second and size
        for name, folders in (("mirror", mirror), ("rest", list_others(mirror) if use_all else [])):
            if not passes(checkout, list_tests(mutant, covered, folders)):
                return name
    finally:
        path.write_bytes(original)
        os.utime(path, ns=(0, next(_TIMES)))
        checkouts.put(checkout)
    before = " ".join(original[mutant.start : mutant.end].decode().split())
    print(f"{mutant.path}:{mutant.line}\n    - {before}\n    + {mutant.text}", flush=True)  # noqa: T201 - its result
    return "none"


def main() -> None:
    """Test random mutants and print the survivors and the share that was noticed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", help="folders or modules of the package; all of them if none is named")
    parser.add_argument("--count", type=int, default=20, help="number of mutants")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the choice of mutants")
    parser.add_argument("--all", action="store_true", help="run the other folders of tests for survivors, too")
    parser.add_argument("--workers", type=int, default=2, help="mutants at a time")
    options = parser.parse_args()
    roots = [ROOT / PACKAGE / part for part in options.parts] or [ROOT / PACKAGE]
    paths = sorted(path for root in roots for path in ([root] if root.is_file() else root.rglob("*.py")))
    mutants = [mutant for path in paths for mutant in list_mutants(path.relative_to(ROOT))]
    chosen = random.Random(options.seed).sample(mutants, min(options.count, len(mutants)))  # noqa: S311 - no secret
    print(f"{len(chosen)} of {len(mutants):,} mutants, seed {options.seed}", flush=True)  # noqa: T201 - its result
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(options.workers) as pool:
        checkouts: Queue[Path] = Queue()
        for number in range(options.workers):
            _copy_checkout(Path(folder) / str(number))
            checkouts.put(Path(folder) / str(number))
        folders = sorted({folder for mutant in chosen for folder in find_mirror(mutant.path)})
        covered = measure(Path(folder) / "0", list_others([]) if options.all else folders)
        counts = Counter(pool.map(lambda mutant: judge(mutant, checkouts, covered, use_all=options.all), chosen))
    print(f"noticed by: {dict(counts)}")  # noqa: T201 - its result


def _copy_checkout(target: Path) -> None:
    """Copy the files that belong to the checkout, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607 - the user's git
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


if __name__ == "__main__":
    main()
