"""The table of the interface document: every section has rows, and every row a test that runs by default."""

from __future__ import annotations

import ast
from pathlib import Path

from contract.document import DOCUMENT

TESTS = Path(__file__).parents[1]


def test_each_row_names_a_test_that_runs() -> None:
    """Each of the 27 sections with text has rows; each named test exists, asserts something, and is not skipped."""
    assert len(DOCUMENT) == 27
    assert all(DOCUMENT.values())
    for path, name in {(path, name) for rows in DOCUMENT.values() for path, name, _ in rows}:
        body = ast.parse((TESTS / path).read_text(encoding="utf-8")).body
        (test,) = (node for node in body if isinstance(node, ast.FunctionDef) and node.name == name)
        assert any(isinstance(node, ast.Assert) for node in ast.walk(test)), name
        assert all(ast.unparse(one).startswith("pytest.mark.parametrize") for one in test.decorator_list), name
