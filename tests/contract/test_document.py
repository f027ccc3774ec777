"""Completeness of the table of the interface document: every sentence has a row, and every row a test over HTTP."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
SUPPORT = sorted((TESTS / "support").glob("*.py"))

# Counted by hand in the document: its headings in order, and the minimum number of rows for each.
HEADINGS = {
    "What the service does": 12,  # four things that it does, eight rules
    "Resources and their fields": 0,
    "User": 27,  # 12 fields, 7 of a friend, 8 of an actor or target
    "Current-user envelope (GET /me)": 2,
    "Payment (covers both payments and charges)": 25,  # 13 fields, 2 not shown, 10 in a list
    "Target": 4,
    "Pagination object": 1,
    "Error envelope": 2,
    "States and transitions": 15,  # 9 rows, 5 words, a definition that is not shown
    "Sandbox outcomes": 6,  # the user, 5 amounts
    "Endpoints": 3,
    "GET /me": 6,  # itself, 4 scopes, the token
    "GET /users/:user_id": 4,
    "GET /users/:user_id/friends": 7,
    "POST /payments": 12,
    "GET /payments": 11,
    "GET /payments/:payment": 4,
    "PUT /payments/:payment": 6,
    "GET /oauth/authorize": 1,
    "Authentication": 1,
    "Application registration": 6,
    "Client-side flow": 5,
    "Server-side flow": 2,
    "Scopes named": 7,  # 6, and that the rest is not shown
    "Events": 1,
    "Errors": 7,  # 5 rules, 2 lists that are not shown
    "Limits": 10,  # 6 values, 4 rules
    "Versioning": 3,
}
STATEMENTS = {("What the service does", "1"), ("What the service does", "2"), ("Versioning", "2")}
WIRES = {
    "requests.get", "requests.post", "requests.request", "requests.Session", "urlopen", "http.client.HTTPConnection",
    "sign_in", "ThreadingHTTPServer",
}  # fmt: skip


def test_every_heading_has_its_rows(table: Any) -> None:
    """The headings are in the document's order, and each has at least one row for everything listed below it."""
    counts = Counter(row.section for row in table.ROWS)
    assert list(table.DOCUMENT) == list(HEADINGS)
    assert {name: counts[name] for name, least in HEADINGS.items() if counts[name] < least} == {}


def test_rows_of_each_kind(table: Any) -> None:
    """The counts of endpoints, states, outcomes, scopes and limits are the document's; other kinds are known words."""
    kinds = Counter(row.kind for row in table.ROWS)
    assert {kind: kinds[kind] for kind in ("endpoint", "state", "outcome", "limit")} == {
        "endpoint": 8, "state": 9, "outcome": 5, "limit": 6,
    }  # fmt: skip
    assert sum(row.kind == "scope" for row in table.ROWS if row.section == "Scopes named") == 6
    assert set(kinds) == {
        "endpoint", "state", "outcome", "limit", "scope", "field", "parameter", "rule", "open", "statement",
    }  # fmt: skip


def test_no_row_is_repeated(table: Any) -> None:
    """Items are unique within a section, and every row has a summary."""
    named = Counter((row.section, row.kind, row.item) for row in table.ROWS)
    assert [one for one, count in named.items() if count > 1] == []
    assert [row for row in table.ROWS if not (row.item.strip() and row.says.strip())] == []


def test_only_statements_have_no_test(table: Any) -> None:
    """Three sentences are about agreements, without HTTP behaviour; every other row names a test."""
    untied = {(row.section, row.item) for row in table.ROWS if not row.test}
    assert untied == STATEMENTS
    assert {(row.section, row.item) for row in table.ROWS if row.kind == "statement"} == STATEMENTS


def test_each_named_test_exists_and_sends_requests(table: Any) -> None:
    """Each test is collected and run by default, asserts something, and sends requests by itself or its fixtures."""
    wrong = {}
    for path, name in sorted({(row.path, row.name) for row in table.ROWS if row.test}):
        if problem := problem_of(TESTS / path, name):
            wrong[f"{path}::{name}"] = problem
    assert wrong == {}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("test_good", None),
        ("test_by_a_fixture", None),
        ("test_missing", "is not there"),
        ("test_skipped", "is not run by default"),
        ("test_later", "is not run by default"),
        ("test_within", "sends no request"),
        ("test_read", "sends no request"),
        ("test_empty", "asserts nothing"),
        ("helper", "is no test"),
        ("test_nested", "is not there"),
    ],
)
def test_the_check_finds_invalid_tests(tmp_path: Path, name: str, expected: str | None) -> None:
    """A test is rejected if it is missing, skipped, for soak runs only, or without a request or an assertion."""
    file = tmp_path / "test_sample.py"
    file.write_text(
        "def test_good():\n    assert requests.get('x')\n"
        "def answer():\n    return requests.get('x')\n"
        "def test_by_a_fixture(answer):\n    assert answer\n"
        "@pytest.mark.skipif(True)\ndef test_skipped():\n    assert requests.get('x')\n"
        "@pytest.mark.soak\ndef test_later():\n    assert requests.get('x')\n"
        "def test_read(page: requests.Response):\n    assert page.text\n"
        "def test_within():\n    assert server.requests\n"
        "def test_empty():\n    requests.get('x')\n"
        "def helper():\n    def test_nested():\n        assert requests.get('x')\n"
    )
    assert problem_of(file, name) == expected


def test_the_printed_summary(table: Any) -> None:
    """The summary has all rows and kinds, the number of tests that passed, and the rows of failed tests."""
    from contract import conftest

    rows = [
        table.Row("Limits", "limit", "default", "20", "a.py", "test_one"),
        table.Row("Limits", "limit", "maximum", "50", "a.py", "test_two"),
        table.Row("Limits", "rule", "1", "x", "a.py", "test_three"),
        table.Row("Versioning", "statement", "2", "x", "", ""),
    ]
    assert conftest.format_summary(rows, {"a.py::test_one"}, {"a.py::test_two"}) == [
        "interface document: 4 rows, all but 1 statements tied to tests (2 limit, 1 rule, 1 statement)",
        "1 of 3 were shown in this run",
        "not so: Limits: maximum (a.py::test_two)",
    ]


def problem_of(path: Path, name: str) -> str | None:
    """Return the reason why a test does not cover a row, or None."""
    known = functions_of(path)
    test = known.get(name)
    if test is None:
        return "is not there"
    if not name.startswith("test_"):
        return "is no test"
    marks = {one.attr for mark in test.decorator_list for one in ast.walk(mark) if isinstance(one, ast.Attribute)}
    if marks & {"skip", "skipif", "xfail", "soak"}:
        return "is not run by default"
    nodes = list(collect_nodes(test, known))
    if not any(isinstance(node, ast.Assert) for node in nodes):
        return "asserts nothing"
    return None if any(request_names(node) & WIRES for node in nodes) else "sends no request"


def collect_nodes(start: ast.AST, known: dict[str, ast.AST]) -> list[ast.AST]:
    """Return all nodes of a test, and of the functions, classes and fixtures that it uses, recursively."""
    waiting, seen, nodes = [start], {id(start)}, []
    while waiting:
        for node in ast.walk(waiting.pop()):
            nodes.append(node)
            used = known.get(getattr(node, "id", getattr(node, "arg", getattr(node, "attr", None))))
            if used is not None and id(used) not in seen:
                seen.add(id(used))
                waiting.append(used)
    return nodes


def request_names(node: ast.AST) -> set[str]:
    """Return the names by which a node may send a request, qualified by the module if it has one."""
    if isinstance(node, ast.Attribute):
        return {node.attr, ast.unparse(node)}
    return {node.id} if isinstance(node, ast.Name) else set()


@functools.cache
def functions_of(path: Path) -> dict[str, ast.AST]:
    """Return functions and classes by name: of a file, its imports from `plain_http`, and the fixtures in scope."""
    found: dict[str, ast.AST] = {}
    for file in SUPPORT:
        found |= {name: node for name, node in definitions_of(file).items() if is_shared(node)}
    tree = ast.parse(path.read_text(encoding="utf-8")) if path.is_file() else ast.Module(body=[], type_ignores=[])
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "contract.plain_http":
            known = definitions_of(TESTS / "contract" / "plain_http.py")
            found |= {one.name: known[one.name] for one in node.names if one.name in known}
    for file in (path.parents[1] / "conftest.py", path.parent / "conftest.py", path):
        found |= definitions_of(file)
    return found


def definitions_of(file: Path) -> dict[str, ast.AST]:
    """Return the top-level functions and classes of a file by name; none if there is no such file."""
    body = ast.parse(file.read_text(encoding="utf-8")).body if file.is_file() else []
    return {node.name: node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def is_shared(node: ast.AST) -> bool:
    """Return whether tests use a definition of `support` without an import: a fixture, or a class behind one."""
    return isinstance(node, ast.ClassDef) or any("fixture" in ast.unparse(one) for one in node.decorator_list)
