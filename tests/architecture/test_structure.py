"""The meaning of the underscore in names of modules."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from architecture.language import walk_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = "p2p_analytics"


class Import(NamedTuple):
    """One imported module, or one name that is imported from a module."""

    importer: str
    line: int
    module: str
    name: str | None


def files_of(top: str) -> list[Path]:
    """Return the Python files below a folder of the project."""
    return sorted((ROOT / top).rglob("*.py"))


@cache
def tree_of(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    """Return the dotted name of a file of the package."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PATHS = {module_of(path): path for path in files_of(PACKAGE)}
PACKAGES = {name for name, path in PATHS.items() if path.name == "__init__.py"}


def package_of(module: str) -> str:
    """Return the package that holds a module; a package holds itself."""
    return module if module in PACKAGES else module.rpartition(".")[0]


def is_private(name: str) -> bool:
    """Return whether a name starts with one underscore."""
    return name.startswith("_") and not name.startswith("__")


def imports_of(module: str, tree: ast.Module) -> Iterator[Import]:
    """Yield the imports from the package in a module, those inside functions and for type checking too."""
    for node in walk_statements(tree):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: a relative import"
            if (node.module or "").partition(".")[0] == PACKAGE:
                yield from (Import(module, node.lineno, node.module or "", alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] == PACKAGE:
                    yield Import(module, node.lineno, alias.name, None)


def owner_of(found: Import) -> str | None:
    """Return the only package that may use an import, None if all packages may."""
    parts = found.module.split(".")
    for at, part in enumerate(parts):
        if is_private(part):
            return ".".join(parts[:at])
    return package_of(found.module) if found.name and is_private(found.name) else None


def private_imports(module: str, tree: ast.Module) -> list[str]:
    """Return the imports in a module that reach into the private part of another package."""
    return [
        f"{found.importer}, line {found.line}: {found.module}{f' import {found.name}' if found.name else ''}"
        for found in imports_of(module, tree)
        if (owner := owner_of(found)) and not f"{package_of(module)}.".startswith(f"{owner}.")
    ]


def test_no_private_import_across_packages() -> None:
    """A module or name with an underscore is imported only inside the package that holds it, subpackages included."""
    found = [line for module, path in PATHS.items() for line in private_imports(module, tree_of(path))]
    assert found == []


@pytest.mark.parametrize(
    ("importer", "statement", "is_allowed"),
    [
        ("p2p_analytics.auth._token", "from p2p_analytics.auth._store import SignInStore", True),
        ("p2p_analytics.auth", "from p2p_analytics.auth import _store", True),
        ("p2p_analytics.client.http.cache", "from p2p_analytics.client._client import Client", True),
        ("p2p_analytics.report._report", "from p2p_analytics.auth._store import SignInStore", False),
        ("p2p_analytics.report._report", "import p2p_analytics.auth._store", False),
        ("p2p_analytics.report._report", "from p2p_analytics.auth import _store", False),
        ("p2p_analytics.report._report", "from p2p_analytics.plots.flow import _label", False),
        ("p2p_analytics.plots.spend", "from p2p_analytics.plots.flow import _label", True),
        ("p2p_analytics.authority", "from p2p_analytics.auth._token import Secret", False),
        ("p2p_analytics.client._client", "from p2p_analytics.client.http._retry import Retry", False),
        ("p2p_analytics.report._report", "from p2p_analytics import __version__", True),
        ("p2p_analytics.report._report", "def f():\n    from p2p_analytics.auth import _token", False),
    ],
)
def test_private_imports_are_recognised(importer: str, statement: str, *, is_allowed: bool) -> None:
    """The check of the test above finds every spelling of a private import, and no other import."""
    assert (private_imports(importer, ast.parse(statement)) == []) == is_allowed


def test_plain_modules_are_used_from_outside() -> None:
    """A module without an underscore is imported by another package or by its own ``__init__``, or is documented.

    In the sandbox, the package itself is the boundary: all its modules have plain names.
    """
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("**/*.md")]
    documented = "".join(path.read_text(encoding="utf-8") for path in documents)
    used = {
        name
        for module, path in (*PATHS.items(), (PACKAGE, ROOT / PACKAGE / "__init__.pyi"))
        for found in imports_of(module, tree_of(path))
        for name in (found.module, f"{found.module}.{found.name}")
        if name in PATHS and (path.stem == "__init__" or package_of(module) != package_of(name))
    }
    unused = [
        module
        for module in PATHS
        if package_of(module) != PACKAGE
        and module not in PACKAGES
        and not is_private(module.rpartition(".")[2])
        and not module.startswith(f"{PACKAGE}.sandbox.")
        and module not in used
        and module not in documented
    ]
    assert unused == []
