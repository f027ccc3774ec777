"""Public names that the README and the documentation mention exist, and none is missing."""

import ast
import dataclasses
import inspect
import pkgutil
import re
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.frames.schema import PAYMENTS, PEOPLE
from p2p_analytics.statements import FIELDS

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"\.(csv|html|ipynb|json|md|png|py|toml|txt|yaml|yml)$")
FOREIGN = {"CHECK", "col", "nw", "pandas"}  # SQL and other libraries
VALUES = set(re.findall(r"\w+", "by friends as_of uncategorised weekly yearly active late ended duplicate large"))
VARIABLES = {
    "archive": p2p.Archive, "archives": p2p.Archives, "client": p2p.Client, "desk": PaymentDesk, "form": p2p.TokenForm,
    "history": p2p.History, "server": p2p.sandbox.SandboxServer(), "statements": p2p.Statements,
}  # fmt: skip
OWNERS = (p2p, *VARIABLES.values(), p2p.AccessToken, p2p.plots, p2p.sandbox)  # of names without a prefix
MODULES = {module.name for module in pkgutil.iter_modules(p2p.__path__)}


def test_every_public_name_is_documented(guide: str) -> None:
    """Each name that users can import loads, and the README or the documentation mentions it."""
    assert [name for name in p2p.__all__ if getattr(p2p, name) is None or not re.search(rf"\b{name}\b", guide)] == []


def read_table(page: str, start: str, end: str = "\n\n") -> list[str]:
    """Return the names in the first cells of a table of a page."""
    table = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").partition(start)[2].partition(end)[0]
    return re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)))


def test_tables_of_attributes_and_columns_are_complete() -> None:
    """Attributes of a history, columns of the reconciliation after file, account and currency, payments, and people."""
    columns = list(p2p.read_statements(ROOT / "tests" / "statements" / "samples").reconciliation)
    expected = [columns[3], "closing_cents", "moved_cents", *columns[6:]]
    assert read_table("statements", "| column | meaning |") == expected
    fields = [field.name for field in dataclasses.fields(p2p.History)]
    assert read_table("loading-and-archive", "| attribute of `History`") == fields
    assert sorted(read_table("loading-and-archive", "Columns of `payments`:", "\n\n- ")) == sorted(PAYMENTS)
    text = (ROOT / "docs" / "loading-and-archive.md").read_text(encoding="utf-8")
    paragraph = text.partition("Columns of `people`: ")[2].partition("the earlier")[0]
    assert re.findall(r"`(\w+)`", paragraph) == list(PEOPLE)


def test_the_table_of_fields_is_complete() -> None:
    """Users without Python have the fields of their own formats from the page alone."""
    text = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")
    assert [name for name, meaning in FIELDS.items() if f"| `{name}` | {meaning} |" not in text] == []


def test_the_columns_of_each_analysis_are_documented() -> None:
    """The section of an analysis names all columns of its table behind "Columns:", and no others there."""
    text = (ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    for name, analysis in ANALYSES.items():
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        words = set(re.findall(r"`(\w+)`", section.partition("\nColumns: ")[2].partition("\n\n")[0]))
        columns = {column.name for column in analysis.columns}
        assert (columns - words, words - columns - VALUES) == (set(), set()), name


def test_names_and_arguments_exist(spans: list[tuple[str, str]]) -> None:
    """Calls and attributes in inline code refer to something that exists and accepts these arguments."""
    checked = 0
    for page, span in spans:
        try:
            checked += check(span)
        except (AttributeError, ImportError, TypeError) as error:
            pytest.fail(f"{page}: {span}: {error}")
    assert checked > 50
    for wrong in ("p2p.load(client)", "client.pay()", "load_history(client, all=True)", "errors.Nothing", "refund()"):
        with pytest.raises((AttributeError, ImportError, TypeError)):
            check(wrong)


def test_error_classes_exist(guide: str) -> None:
    """Each error that the documentation names is a class of `p2p_analytics.errors`."""
    named = set(re.findall(r"`(\w+Error|NotSignedIn)`", guide))
    assert len(named) >= 5
    assert [name for name in named if not issubclass(getattr(p2p.errors, name), p2p.P2PAnalyticsError)] == []


def check(span: str) -> int:
    """Raise if a name of this package does not exist or does not accept its arguments; return the number of names."""
    try:
        nodes = [*ast.walk(ast.parse("" if FILE.search(span) else span))]
    except SyntaxError:
        return 0
    calls = {node.func: node for node in nodes if isinstance(node, ast.Call)}
    parts = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    checked = 0
    for node in nodes:
        dotted = ast.unparse(node) if node in calls or isinstance(node, ast.Attribute) else ""
        if node in parts or not re.fullmatch(r"\w+(\.\w+)*", dotted) or dotted.split(".")[0] in FOREIGN:
            continue
        target, call = resolve(dotted), calls.get(node)
        if call and callable(target):
            signature = inspect.signature(target)
            keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg}
            positional = [None for argument in call.args if ast.unparse(argument) != "..."]  # any number of arguments
            signature.bind_partial(*[None] * ("self" in signature.parameters), *positional, **keywords)
        checked += 1
    return checked


def resolve(dotted: str) -> object:
    """Return the object with a dotted name, or raise; None for a field, and for a name of the reader's own code."""
    first, *rest = dotted.split(".")
    if first in ("p2p", "p2p_analytics"):
        return pkgutil.resolve_name(".".join(["p2p_analytics", *rest]))
    if first in MODULES - VARIABLES.keys() and rest:
        return pkgutil.resolve_name(f"p2p_analytics.{dotted}")
    if first not in VARIABLES and first not in p2p.__all__:
        owners = [owner for owner in OWNERS if hasattr(owner, first)]
        if not rest and not owners:
            raise AttributeError(f"No public object has {first}().")
        return None if rest else getattr(owners[0], first)
    found = VARIABLES.get(first) or getattr(p2p, first)
    for name in rest:
        found = None if name in getattr(found, "__annotations__", {}) else getattr(found, name)
    return found
