"""The catalogue declares each public analysis as it is."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import analyses
from p2p_analytics.catalogue import ANALYSES, COUNT, DATE, DTYPES, ID, INSTANT, MONEY, WHOLE_DAYS, list_hidden
from p2p_analytics.frames.schema import PAYMENTS
from support.analyses.records import make_town
from support.frames import frame_from_rows

AS_OF = "2025-03-01T12:00"


def test_every_public_analysis_is_declared() -> None:
    """Each public function of payments that returns a table has a declaration, and a plot of the same name."""
    functions = {name for name in p2p.__all__ if getattr(p2p, name) is getattr(analyses, name, None)}
    assert functions - {"categorise", "default_rules"} == {*ANALYSES}
    assert [name for name in ANALYSES if not hasattr(p2p.plots, name)] == []


@pytest.mark.parametrize("name", ANALYSES)
def test_the_columns_are_those_of_the_result(name: str) -> None:
    """The result has the declared columns in their order, in the dtypes of their kinds, and the declared words."""
    payments = frame_from_rows(make_town(seed=3, people=5, years=2), PAYMENTS)
    function = getattr(p2p, name)
    known = {"as_of": AS_OF} if "as_of" in inspect.signature(function).parameters else {}
    table = function(payments, **known)
    columns = ANALYSES[name].columns
    assert list(table) == [column.name for column in columns]
    dates = {DATE: "datetime64[us]", COUNT: "int64"}
    for column in columns:
        wanted = dates.get(column.kind) or DTYPES.get(column.kind, "str")
        assert table[column.name].dtype.name.lower() == wanted.lower(), column.name
        if column.words:
            assert [word for word in table[column.name].dropna() if not re.fullmatch(column.words, word)] == []
    listed = [ANALYSES[name].find_column(listed) for listed in ANALYSES[name].listed]
    assert ID not in {column.kind for column in listed}


def test_headings_and_kinds() -> None:
    """A heading is the name in words unless another one is given."""
    columns = {column.name: column for column in ANALYSES["spend_by_friend"].columns}
    assert (columns["share_of_sent"].heading, columns["counterparty_name"].heading) == ("Share of sent", "Person")
    kinds = {column.name: column.kind for column in ANALYSES["pending_requests"].columns}
    assert (kinds["amount"], kinds["date_created"], kinds["age_days"]) == (MONEY, INSTANT, WHOLE_DAYS)


def test_what_privacy_mode_hides() -> None:
    """Words and times of day are hidden in both modes, days in the strict one only."""
    assert list_hidden("categories", private=True, strict=False) == ["the words of notes"]
    assert list_hidden("recurring", private=True, strict=False) == []
    assert list_hidden("recurring", private=True, strict=True) == ["days"]
    assert list_hidden("activity", private=False, strict=False) == []


@pytest.mark.parametrize("package", ["analyses", "plots"])
def test_a_star_import_brings_functions_only(package: str) -> None:
    """It does not replace names of the caller, such as the library ``requests``, by modules of this package."""
    names: dict[str, object] = {}
    exec(f"from p2p_analytics.{package} import *", names)  # noqa: S102 - a function cannot hold a star import
    assert {*ANALYSES} <= {*names}
    assert [name for name, value in names.items() if inspect.ismodule(value)] == []


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
