"""The README of the sandbox, compared with the tests and the code."""

import re
from pathlib import Path

import p2p_analytics.sandbox

README = (Path(p2p_analytics.sandbox.__file__).parent / "README.md").read_text(encoding="utf-8")


def test_each_decision_names_tests_that_exist() -> None:
    """Every row of the table of decisions names its test, and every named test exists."""
    tests = list(Path(__file__).parents[1].rglob("test_*.py"))
    defined = {path.stem for path in tests}
    text = "".join(path.read_text(encoding="utf-8") for path in tests)
    defined |= set(re.findall(r"^def (test_\w+)", text, re.MULTILINE))
    table = README.partition("## What the document leaves open")[2]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| open in")]
    named = [re.findall(r"`(test_\w+)`", row) for row in rows]
    assert len(rows) > 20
    assert all(named)
    assert {name for names in named for name in names} <= defined


def test_the_python_example_runs() -> None:
    """The example of the README runs as it stands."""
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)  # noqa: S102 - the README's own example
    assert names["server"].base_url.endswith("/v1")
