"""The catalogue declares each public analysis as it is."""

import inspect
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import analyses
from p2p_analytics.catalogue import ANALYSES, COUNT, DATE, DTYPES, ID, list_hidden
from p2p_analytics.frames.schema import PAYMENTS
from support.analyses.records import make_town
from support.frames import frame_from_rows


@pytest.mark.parametrize("package", ["analyses", "plots"])
def test_every_public_analysis_is_declared(package: str) -> None:
    """A star import brings a function and a plot for each declaration, and no module, such as ``requests``."""
    functions = {name for name in p2p.__all__ if getattr(p2p, name) is getattr(analyses, name, None)}
    assert functions - {"categorise", "default_rules"} == {*ANALYSES}
    names: dict[str, object] = {}
    exec(f"from p2p_analytics.{package} import *", names)  # noqa: S102 - a function cannot hold a star import
    assert {*ANALYSES} <= {*names}
    assert [name for name, value in names.items() if inspect.ismodule(value)] == []


@pytest.mark.parametrize("name", ANALYSES)
def test_the_columns_are_those_of_the_result(name: str) -> None:
    """The result has the declared columns in their order, in the dtypes of their kinds, and the declared words."""
    payments = frame_from_rows(make_town(seed=3, people=5, years=2), PAYMENTS)
    function = getattr(p2p, name)
    known = {"as_of": "2025-03-01T12:00"} if "as_of" in inspect.signature(function).parameters else {}
    table = function(payments, **known)
    columns = ANALYSES[name].columns
    assert list(table) == [column.name for column in columns]
    dates = {DATE: "datetime64[us]", COUNT: "int64"}
    for column in columns:
        wanted = dates.get(column.kind) or DTYPES.get(column.kind, "str")
        assert table[column.name].dtype.name.lower() == wanted.lower(), column.name
        if column.words:
            assert [word for word in table[column.name].dropna() if not re.fullmatch(column.words, word)] == []
    assert ID not in {ANALYSES[name].find_column(listed).kind for listed in ANALYSES[name].listed}


@pytest.mark.parametrize(
    ("name", "private", "strict"),
    [("categories", ["the words of notes"], []), ("recurring", [], ["days"]), ("activity", ["times of day"], [])],
)
def test_what_privacy_mode_hides(name: str, private: list[str], strict: list[str]) -> None:
    """Words and times of day are hidden in both modes, days in the strict one only."""
    assert list_hidden(name, private=False, strict=False) == []
    assert list_hidden(name, private=True, strict=False) == private
    assert list_hidden(name, private=True, strict=True) == private + strict


def test_the_package_works_in_a_zip_file(tmp_path: Path) -> None:
    """The list of public names is found there, too."""
    root = Path(p2p.__file__).parent
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        for path in [*root.glob("*.py"), *root.glob("*.pyi")]:
            archive.write(path, f"p2p_analytics/{path.name}")
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'p.zip')!r}); import p2p_analytics as p; print(p.__all__)"
    command = [sys.executable, "-P", "-c", code]
    shown = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True, timeout=60)  # noqa: S603
    assert shown.stdout == f"{p2p.__all__}\n"
