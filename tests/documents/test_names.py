"""Public names that the README and the documentation mention exist, and none is missing."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import pkgutil
import re
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.frames.schema import PAYMENTS, PEOPLE
from p2p_analytics.statements import FIELDS

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
FILE = re.compile(r"\.(csv|html|ipynb|json|md|png|py|toml|txt|yaml|yml)$")
FOREIGN = {"CHECK", "col", "nw", "pandas"}  # SQL and other libraries
VALUES = set(re.findall(r"\w+", "by friends as_of uncategorised weekly yearly active late ended duplicate large"))
WRONG = ["p2p.load(client)", "client.pay()", "load_history(client, all=True)", "errors.Nothing", "refund()"]
OWNERS = (p2p.AccessToken, p2p.plots, p2p.sandbox)  # of names that the documentation uses without a prefix
MODULES = {module.name for module in pkgutil.iter_modules(p2p.__path__)}


@pytest.fixture(scope="module")
def objects(
    examples_server: p2p.sandbox.SandboxServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, object]]:
    """Return the objects that the documentation calls by these names."""
    token = examples_server.token(examples_server.viewer, "make_payments", "access_profile", "access_friends")
    archive = p2p.open_archive(tmp_path_factory.mktemp("archive") / "payments")
    with p2p.Client(token, base_url=examples_server.base_url, cache_dir=False) as client:
        archive.merge(p2p.load_history(client))
        yield {
            "archive": archive,
            "archives": p2p.open_archives(archive.path.parent),
            "client": client,
            "desk": PaymentDesk(client),
            "form": p2p.TokenForm,
            "history": p2p.load_history(client),
            "server": examples_server,
            "statements": p2p.read_statements(ROOT / "tests" / "statements" / "samples"),
        }


@pytest.mark.parametrize("name", p2p.__all__)
def test_every_public_name_is_documented(name: str, guide: str) -> None:
    """Each name that users can import loads, and the README or the documentation mentions it."""
    assert getattr(p2p, name) is not None
    assert re.search(rf"\b{name}\b", guide)


def read_table(page: str, start: str, end: str = "\n\n") -> list[str]:
    """Return the names in the first cells of a table of a page."""
    table = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").partition(start)[2].partition(end)[0]
    return re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE)))


def test_the_attributes_of_a_history_are_documented() -> None:
    """The table of attributes lists every field, and nothing else."""
    fields = [field.name for field in dataclasses.fields(p2p.History)]
    assert read_table("loading-and-archive", "| attribute of `History`") == fields


def test_the_table_of_fields_is_complete() -> None:
    """Users without Python have the fields of their own formats from the page alone."""
    text = (ROOT / "docs" / "statements.md").read_text(encoding="utf-8")
    assert [name for name, meaning in FIELDS.items() if f"| `{name}` | {meaning} |" not in text] == []


def test_the_columns_of_the_reconciliation_are_documented() -> None:
    """The table lists every column after file, account and currency, in their order."""
    columns = list(p2p.read_statements(ROOT / "tests" / "statements" / "samples").reconciliation)
    expected = [columns[3], "closing_cents", "moved_cents", *columns[6:]]
    assert read_table("statements", "| column | meaning |") == expected


def test_the_columns_of_payments_and_people_are_documented() -> None:
    """The page names every column once: payments in a table, people in the paragraph below it."""
    assert sorted(read_table("loading-and-archive", "Columns of `payments`:", "\n\n- ")) == sorted(PAYMENTS)
    text = (ROOT / "docs" / "loading-and-archive.md").read_text(encoding="utf-8")
    paragraph = text.partition("Columns of `people`: ")[2].partition("the earlier")[0]
    assert re.findall(r"`(\w+)`", paragraph) == list(PEOPLE)


@pytest.mark.parametrize("name", ANALYSES)
def test_the_columns_of_each_analysis_are_documented(name: str) -> None:
    """The section of an analysis names all columns of its table behind "Columns:", and no others there."""
    text = (ROOT / "docs" / "analyses.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    _, found, listed = section.partition("\nColumns: ")
    assert found
    words = re.findall(r"`(\w+)`", listed.partition("\n\n")[0])
    columns = {column.name for column in ANALYSES[name].columns}
    assert columns <= set(words)
    assert set(words) - columns <= VALUES


def test_names_and_arguments_exist(spans: list[tuple[str, str]], objects: dict[str, object]) -> None:
    """Calls and attributes in inline code refer to something that exists and accepts these arguments."""
    checked = 0
    for page, span in spans:
        try:
            checked += check(span, objects)
        except (AttributeError, ImportError, TypeError) as error:
            pytest.fail(f"{page}: {span}: {error}")
    assert checked > 50


def test_error_classes_exist(guide: str) -> None:
    """Each error that the documentation names is a class of `p2p_analytics.errors`."""
    named = set(re.findall(r"`(\w+Error|NotSignedIn)`", guide))
    assert len(named) >= 5
    assert [name for name in named if not issubclass(getattr(p2p.errors, name), p2p.P2PAnalyticsError)] == []


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_name_or_argument_is_noticed(wrong: str, objects: dict[str, object]) -> None:
    """The check fails for a name, a method, a keyword and an error class that do not exist."""
    with pytest.raises((AttributeError, ImportError, TypeError)):
        check(wrong, objects)


def check(span: str, objects: dict[str, object]) -> int:
    """Raise if a name in a span does not exist or does not accept its arguments; return the number of names."""
    nodes = list_names(span)
    for node in nodes:
        call = node if isinstance(node, ast.Call) else None
        target = resolve(ast.unparse(call.func if call else node), objects)
        if call and callable(target):
            keywords = {keyword.arg: None for keyword in call.keywords if keyword.arg}
            positional = [None for argument in call.args if ast.unparse(argument) != "..."]  # any number of arguments
            inspect.signature(target).bind_partial(*positional, **keywords)
    return len(nodes)


def list_names(span: str) -> list[ast.expr]:
    """Return the calls and attributes of this package in a span of Python; none for file names and anything else."""
    try:
        tree = ast.parse("" if FILE.search(span) else span)
    except SyntaxError:
        return []
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Call | ast.Attribute)]
    parts = {node.func if isinstance(node, ast.Call) else node.value for node in nodes}
    outer = [node for node in nodes if node not in parts]
    names = [ast.unparse(node.func if isinstance(node, ast.Call) else node) for node in outer]
    is_ours = [re.fullmatch(r"\w+(\.\w+)*", name) and name.split(".")[0] not in FOREIGN for name in names]
    return [node for node, ours in zip(outer, is_ours, strict=True) if ours]


def resolve(dotted: str, objects: dict[str, object]) -> object:
    """Return the object with a dotted name, or raise; None for a name that belongs to the reader's own code."""
    first, *rest = dotted.split(".")
    if first in ("p2p", "p2p_analytics"):
        return pkgutil.resolve_name(".".join(["p2p_analytics", *rest]))
    if first in objects:
        return reduce(getattr, rest, objects[first])
    if first in p2p.__all__:
        return reduce(getattr, rest, getattr(p2p, first))
    if first in MODULES and rest:
        return pkgutil.resolve_name(f"p2p_analytics.{dotted}")
    owners = [owner for owner in (*objects.values(), *OWNERS) if hasattr(owner, first)]
    if not rest and not owners:
        raise AttributeError(f"No public object has {first}().")
    return None if rest else getattr(owners[0], first)
