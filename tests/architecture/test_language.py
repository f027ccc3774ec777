"""The project's texts use plain technical English: no avoided word, no function named by a bare participle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from architecture.language import Finding, files_below, find_in, walk_statements

ROOT = Path(__file__).parents[2]
ALLOWED = {
    ("tests/architecture/language.py", None): "defines the avoided words",
    ("tests/architecture/test_language.py", None): "gives examples of the avoided words",
    ("p2p_analytics/history/_history.py", "participle"): "History.masked is a public name that users type",
    ("p2p_analytics/statements/_statements.py", "participle"): "Statements.masked is a public name that users type",
}
"""Findings that are right as they are: file and expression (None: all of them) to the reason."""


def is_allowed(finding: Finding) -> bool:
    """Return whether the allow-list names a finding's file and expression."""
    return (finding.path, None) in ALLOWED or (finding.path, finding.expression) in ALLOWED


def relative(finding: Finding) -> Finding:
    """Return a finding with its path from the top of the project."""
    return finding._replace(path=str(Path(finding.path).relative_to(ROOT)))


def test_no_avoided_word_and_no_bare_participle() -> None:
    """Docstrings, comments, messages and documents avoid the words; functions are named by verb phrases."""
    roots = [ROOT / name for name in ("p2p_analytics", "tests", "docs", "data", "notebooks", *markdown())]
    findings = [relative(finding) for finding in find_in(files_below(roots))]
    assert "\n".join(str(finding) for finding in findings if not is_allowed(finding)) == ""
    used = {(finding.path, expression) for finding in findings for expression in (finding.expression, None)}
    assert set(ALLOWED) <= used, "an entry of the allow-list is not needed any more"


def markdown() -> list[str]:
    """Return the names of the texts at the top of the project."""
    return sorted(path.name for path in ROOT.glob("*.md"))


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('"""Ask for the page anew."""', ["anew"]),
        ("retries = 3  # nobody asked for more", ["somebody"]),
        ('raise ValueError("the token, whose end is unknown, tells nothing")', ["whose", "tell"]),
        ("def gathered(): ...", ["participle"]),
        ("def _sent_by(person): ...", ["participle"]),
        ("def allowed_methods(): ...", []),
        ("def feed(): ...", []),
        ("class Page:\n    @property\n    def loaded(self): ...", []),
        ("whose = anew + told", []),
        ('"""Return the retry delay in seconds."""', []),
    ],
)
def test_the_check_sees_words_and_names(source: str, expected: list[str], tmp_path: Path) -> None:
    """Comments, docstrings, messages and function names are searched; other names and code are not."""
    path = tmp_path / "module.py"
    path.write_text(source, encoding="utf-8")
    assert [finding.expression for finding in find_in([path])] == expected


def test_the_check_reads_markdown_without_its_code(tmp_path: Path) -> None:
    """Code blocks and code in a line are passed over, and lines are counted."""
    path = tmp_path / "text.md"
    path.write_text("Plain.\n```\nanew\n```\n`whose` is so many\n", encoding="utf-8")
    assert [(finding.line, finding.expression) for finding in find_in([path])] == [(5, "so many")]


def test_statements_are_found_at_any_depth() -> None:
    """Functions and imports are statements: in blocks, handlers, cases and other functions, but in no expression."""
    tree = ast.parse(
        "import a\n"
        "class A:\n    def one(self):\n        if a:\n            import b\n        else:\n            import c\n"
        "try:\n    import d\nexcept* E:\n    import e\nelse:\n    import f\nfinally:\n    import g\n"
        "match a:\n    case {'x': [1, *_]}:\n        async def two():\n"
        "            with a as b:\n                import h\n"
        "g = lambda: [x for x in (1, 2)]\n"
    )
    nodes = list(walk_statements(tree))
    assert sorted(name.name for node in nodes if isinstance(node, ast.Import) for name in node.names) == list(
        "abcdefgh"
    )
    assert [node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)] == ["one", "two"]
    assert not any(isinstance(node, ast.expr) for node in nodes)
