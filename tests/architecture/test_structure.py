"""Rules about the code: private imports, the sentences of problems, and plain technical English."""

import ast
import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = "p2p_analytics"
FILES = sorted((ROOT / PACKAGE).rglob("*.py"))


def find_owner(module: str, name: str = "") -> str | None:
    """Return the only package that may import a name from a module, None if all packages may."""
    parts = module.split(".")
    private = next((at for at, part in enumerate([*parts, name]) if re.match(r"_(?!_)", part)), None)
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
    for spelling in ("import p2p_analytics.auth._store", "from p2p_analytics.auth import _store",
                     "def f():\n    from p2p_analytics.plots.flow import _label"):  # fmt: skip
        assert list_private_imports("p2p_analytics.report", ast.parse(spelling))


SENTENCE = r"""(?:\.(?:problem|sentence)\b(?!\()|\[[^]\n]*['"]problem['"]\]|col\(['"]problem['"]\))"""
SEARCH = re.compile(
    rf"{SENTENCE}(?:\.str|\.lower\(\))*\.(?:isin|is_in|contains|\w*match|find|\w*split|\w*partition|\w*s_?with|re\w+)\("
    rf"|{SENTENCE} *(?:==|!=|in\b)|(?:==|!=|\bin) +[\w.]*{SENTENCE}(?![^\n]*\bfor\b)|match [\w.]*{SENTENCE}"
)


def test_no_module_reads_a_sentence() -> None:
    """The columns of PROBLEMS state everything that code needs; the sentence is only written out."""
    found = [f"{path}: {match[0]}" for path in FILES for match in SEARCH.finditer(path.read_text("utf-8"))]
    assert found == []
    for source in ("problem.problem == REFUSED", "'gap' in problem.sentence", "problems['problem'].isin(texts)",
                   "rows.filter(pl.col('problem').str.starts_with('skipped'))"):  # fmt: skip
        assert SEARCH.search(source)


FOLDERS = ("p2p_analytics", "tests", "docs", "data", "notebooks")
# A standard term says the same.
AVOIDED = re.compile(
    r"\b(?:anew|whose|tells?|told|telling|(?:stands?|stood|standing) in|stand-ins?|(?:some|any|no)body"
    r"|[Ww]hat (?:is|are|of)|(?:lays?|laid|laying) out|away with|so (?:many|few)|beforehand|as (?:it|they) came"
    r"|[Tt]hose (?:who|that|which))\b"
)
# Endings alone would find nouns and verbs too. A participle before a noun, as in `allowed_methods`, is an adjective;
# before a particle it is the name's verb.
PARTICIPLE = re.compile(
    r"_*(?!(?:bed|embed|exceed|feed|need|proceed|red|seed|shared|shed|speed)(?:_|$))"
    r"(?:[a-z]+ed|begun|bought|bound|broken|brought|built|caught|chosen|done|drawn|driven|fallen|found|given|gone|grown"
    r"|held|hidden|kept|known|left|lent|lost|made|meant|met|paid|said|seen|sent|shown|sold|spent|spoken|taken|thrown"
    r"|told|won|worn|written)(?:_(?:as|at|back|by|down|for|from|in|into|of|off|on|out|to|up|with)(?:_.*)?)?"
)
PUBLIC_NAMES = {("_history.py", "masked"), ("_statements.py", "masked")}


def list_passages(path: Path, source: str) -> list[str]:
    """Return comments and texts with a blank in Python code, and the prose of Markdown and HTML."""
    if path.suffix != ".py":
        return [re.sub(r"^ *```.*?^ *```|`[^`\n]*`", "", source, flags=re.DOTALL | re.MULTILINE)]
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    return [token.string for token in tokens if token.type in texts and " " in token.string.strip()]


def find_offenders(path: Path) -> list[str]:
    """Return the avoided words of a file, and its functions that are named by a bare participle."""
    source = path.read_text(encoding="utf-8")
    found = [match[0] for text in list_passages(path, source) for match in AVOIDED.finditer(text)]
    if path.suffix == ".py":
        for decorators, name in re.findall(r"((?:@.*\n *)*)(?:async )?def (\w+)\(", source):
            is_property = re.search(r"property|\.setter", decorators)
            if PARTICIPLE.fullmatch(name) and not is_property and (path.name, name) not in PUBLIC_NAMES:
                found.append(name)
    return found


def test_no_avoided_word_and_no_bare_participle() -> None:
    """Docstrings, comments, messages and documents avoid the words; functions are named by verb phrases."""
    suffixes = {".py", ".md", ".html", ".jinja"}
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    paths += ROOT.glob("*.md")
    paths.remove(Path(__file__))  # gives examples
    assert len(paths) > 300
    assert {str(path): found for path in paths if (found := find_offenders(path))} == {}
    assert list_passages(Path("m.md"), "Plain.\n```\nanew\n```\n`whose` is told\n") == ["Plain.\n\n is told\n"]
    assert AVOIDED.findall("it is told") == ["told"]
    assert [PARTICIPLE.fullmatch(name) is not None for name in ("_sent_by", "gathered", "allowed_size", "feed")] == [
        True, True, False, False,
    ]  # fmt: skip
