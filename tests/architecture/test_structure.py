"""Rules about names and texts in the code: private imports, and the sentences of problems."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = "p2p_analytics"
FILES = sorted((ROOT / PACKAGE).rglob("*.py"))


def is_private(name: str) -> bool:
    """Return whether a name starts with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def find_owner(module: str, name: str = "") -> str | None:
    """Return the only package that may import a name from a module, None if all packages may."""
    parts = module.split(".")
    private = next((at for at, part in enumerate([*parts, name]) if is_private(part)), None)
    if private is None:
        return None
    if private < len(parts):
        return ".".join(parts[:private])
    is_package = (ROOT / Path(*parts)).is_dir()
    return module if is_package else module.rpartition(".")[0]


def list_private_imports(package: str, tree: ast.Module) -> list[str]:
    """Return the imports in a module of a package that reach into the private part of another package."""
    imported = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imported += [(node.module or "", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            imported += [(alias.name, "") for alias in node.names]
    found = [(module, name, find_owner(module, name)) for module, name in imported if module.startswith(PACKAGE)]
    return [f"{module} {name}" for module, name, owner in found if owner and not f"{package}.".startswith(f"{owner}.")]


def test_no_private_import_across_packages() -> None:
    """A module or name with an underscore is imported only inside the package that holds it, subpackages included."""
    found = {}
    for path in FILES:
        package = ".".join(path.relative_to(ROOT).parts[:-1])
        if names := list_private_imports(package, ast.parse(path.read_text("utf-8"))):
            found[str(path)] = names
    assert found == {}


@pytest.mark.parametrize(
    ("package", "statement", "is_allowed"),
    [
        ("p2p_analytics.auth", "from p2p_analytics.auth._store import SignInStore", True),
        ("p2p_analytics.client.http", "from p2p_analytics.client._client import Client", True),
        ("p2p_analytics.report", "from p2p_analytics.auth._store import SignInStore", False),
        ("p2p_analytics.report", "import p2p_analytics.auth._store", False),
        ("p2p_analytics.report", "from p2p_analytics.auth import _store", False),
        ("p2p_analytics.report", "from p2p_analytics.plots.flow import _label", False),
        ("p2p_analytics.plots", "from p2p_analytics.plots.flow import _label", True),
        ("p2p_analytics.client", "from p2p_analytics.client.http._adapter_part import Part", False),
        ("p2p_analytics.report", "from p2p_analytics import __version__", True),
        ("p2p_analytics.report", "def f():\n    from p2p_analytics.auth import _token", False),
    ],
)
def test_private_imports_are_recognised(package: str, statement: str, *, is_allowed: bool) -> None:
    """The check of the test above finds every spelling of a private import, and no other import."""
    assert (list_private_imports(package, ast.parse(statement)) == []) == is_allowed


SENTENCE = r"""(?:\.(?:problem|sentence)\b(?!\()|\[[^]\n]*['"]problem['"]\]|col\(['"]problem['"]\))"""
SEARCH = re.compile(
    rf"{SENTENCE}(?:\.str|\.lower\(\))*\.(?:isin|is_in|contains|\w*match|find|\w*split|\w*partition|\w*s_?with|re\w+)\("
    rf"|{SENTENCE} *(?:==|!=|in\b)|(?:==|!=|\bin) +[\w.]*{SENTENCE}(?![^\n]*\bfor\b)|match [\w.]*{SENTENCE}"
)


def test_no_module_reads_a_sentence() -> None:
    """The columns of PROBLEMS state everything that code needs; the sentence is only written out."""
    found = [f"{path}: {match[0]}" for path in FILES for match in SEARCH.finditer(path.read_text("utf-8"))]
    assert found == []


@pytest.mark.parametrize(
    ("source", "is_found"),
    [
        ("problem.problem == REFUSED", True),
        ("'gap' in problem.sentence", True),
        ("problems['problem'].isin(texts)", True),
        ("problems.loc[is_known, 'problem'].str.contains('add up')", True),
        ("rows.filter(pl.col('problem').str.starts_with('skipped'))", True),
        ("problem.problem.lower().partition(':')", True),
        ("match problem.sentence:", True),
        ("problems['code'] == GAP", False),
        ("print(f'{problem.file}: {problem.sentence}')", False),
        ("row['problem'] is not None", False),
    ],
)
def test_the_check_sees_a_search(source: str, *, is_found: bool) -> None:
    """Comparisons, and methods of text and of columns; sentences are written out and checked for null."""
    assert (SEARCH.search(source) is not None) == is_found
