"""Import rules that the contracts of pyproject.toml cannot express: lazy loading, cycles and the package root."""

import re
import subprocess
import sys
from pathlib import Path

import grimp
import pytest

PACKAGE = "p2p_analytics"
HEAVY = {
    "IPython", "duckdb", "emoji", "httpx", "ipywidgets", "jinja2", "keyring", "matplotlib", "msgspec",
    "narwhals", "numpy", "orjson", "pandas", "platformdirs", "polars", "pyarrow", "pydantic", "requests",
    "requests_cache", "shtab", "sqlite3", "starlette", "tqdm", "urllib3", "uvicorn",
}  # fmt: skip


def find_loaded_modules(*arguments: str) -> set[str]:
    """Return the top-level modules that a fresh interpreter loads for these arguments."""
    done = subprocess.run(  # noqa: S603 - our own interpreter and words
        [sys.executable, "-X", "importtime", *arguments], capture_output=True, text=True, timeout=60, check=True
    )
    return {match[1] for match in re.finditer(r"\| +(\w+)(?:\.\w+)*$", done.stderr, re.MULTILINE)}


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    """Return the import graph of the package, with the imports for type checking."""
    return grimp.build_graph(PACKAGE, include_external_packages=True, cache_dir=None)


def test_nothing_heavy_loads() -> None:
    """Printing help loads no heavy library; each is loaded on first use."""
    for words in (["export", "--help"], ["--version"]):
        loaded = find_loaded_modules("-m", PACKAGE, *words)
        assert (PACKAGE in loaded, loaded & HEAVY) == (True, set())
        # Importing typing takes a tenth of the time of --help. The standard library imports it for --version.
        assert "typing" not in loaded or words == ["--version"]


def test_the_package_itself_loads_nothing() -> None:
    """Importing the package loads no other module, not even one of the standard library."""
    loaded = find_loaded_modules("-c", "import p2p_analytics; dir(p2p_analytics)")
    assert loaded - find_loaded_modules("-c", "pass") == {PACKAGE, "__future__"}
    assert "pandas" in find_loaded_modules("-c", "import pandas"), "the probe sees heavy modules"


def test_no_module_imports_the_root(graph: grimp.ImportGraph) -> None:
    """The root is for users; a module that imports it would create a cycle."""
    assert graph.find_modules_that_directly_import(PACKAGE) - {PACKAGE} == set()


def test_the_sandbox_is_a_second_implementation(graph: grimp.ImportGraph) -> None:
    """The sandbox imports only vocabulary, money and errors from the toolkit."""
    inside = {name for name in graph.modules if name.startswith(f"{PACKAGE}.sandbox")}
    imported = set().union(*(graph.find_modules_directly_imported_by(name) for name in inside)) - inside
    shared = {f"{PACKAGE}.{name}" for name in ("vocabulary", "money", "errors")}
    assert {name for name in imported if name.startswith(PACKAGE)} <= shared


def test_no_cycles_between_modules(graph: grimp.ImportGraph) -> None:
    """No two modules import each other, directly or indirectly."""
    knots = {
        (one, other)
        for one in graph.modules
        if one.startswith(PACKAGE) and one != PACKAGE
        for other in graph.find_modules_directly_imported_by(one)
        if other.startswith(PACKAGE) and not one.startswith(other + ".") and graph.chain_exists(other, one)
    }
    assert knots == set()


def test_no_host_is_built_in() -> None:
    """The package names no host but loopback and reserved example names."""
    root = Path(__file__).parents[2] / PACKAGE
    harmless = re.compile(
        r"https?://(127\.0\.0\.1|localhost|\[::1\]|host\b|[\w.]*example\.(invalid|com|org)|www\.w3\.org|\{|<|[)`'\"\s]|$)"
    )
    paths = [path for path in root.rglob("*") if path.suffix in {".py", ".html", ".jinja", ".css", ".md"}]
    found = [match[0] for path in paths for match in re.finditer(r"https?://[^\s]*", path.read_text("utf-8"))]
    assert [address for address in found if not harmless.match(address)] == []
