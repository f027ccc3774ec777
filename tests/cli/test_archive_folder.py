"""Commands write no file into the folder of an archive, where it could replace a part of the archive."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.errors import ConfigurationError
from support.archives.statements import row, statements_of

ENDINGS = ("csv", "parquet", "jsonl", "xlsx", "sqlite", "db", "beancount", "journal")


def read_folder(path: str) -> dict[str, bytes]:
    """Return the content of each file of a folder."""
    return {each.name: each.read_bytes() for each in Path(path).iterdir()}


def find_parts(path: str) -> list[str]:
    """Return the names of the archive's tables."""
    return [name for name in read_folder(path) if name.endswith(".parquet")]


def find_payments(path: str) -> list[str]:
    """Return the names of the archive's tables of payments."""
    return [name for name in find_parts(path) if name.startswith("payments-")]


def test_no_command_writes_into_an_archive(archive_path, capsys, monkeypatch) -> None:
    """Neither over a part of it nor beside them, whatever the command and the kind of file; one sentence says so."""
    before = read_folder(archive_path)
    names = [*find_parts(archive_path), "people.csv", *(f"new.{ending}" for ending in ENDINGS)]
    commands = [["export", archive_path, f"{archive_path}/{name}"] for name in names]
    commands += [
        ["report", archive_path, "--out", f"{archive_path}/report.html"],
        ["report", archive_path, "--template", "year", "--out", f"{archive_path}/year.md"],
        ["demo", "--out", archive_path],
        ["demo", "--out", archive_path, "--statements"],
        ["sandbox", "--statements", archive_path, "--years", "1"],
        ["sandbox", "--db", f"{archive_path}/lock"],
    ]
    for command in commands:
        assert cli.main(command) == 1, command
        out, err = capsys.readouterr()
        sentence = (
            f"{archive_path} is the folder of an archive, because it has the file {min(find_payments(archive_path))}, "
            "and other files do not belong into it: name another folder."
        )
        assert (out, err.splitlines()[-1]) == ("", f"p2p-analytics: {sentence}")
    monkeypatch.chdir(archive_path)
    assert cli.main(["export", ".", "payments.csv"]) == 1
    assert "is the folder of an archive" in capsys.readouterr().err
    assert read_folder(archive_path) == before


@pytest.mark.parametrize("damage", ["nothing", "manifest", "statements only"])
def test_functions_write_into_no_archive(tmp_path, archive_path, damage: str) -> None:
    """Also where the manifest is broken, and where only statements were imported; other folders are as they were."""
    if damage == "manifest":
        (Path(archive_path) / "manifest.json").write_bytes(b"{}")
    elif damage == "statements only":
        archive_path = str(tmp_path / "imported")
        p2p.open_archive(archive_path).import_(statements_of(row(1)))
    before = read_folder(archive_path)
    frame = pd.DataFrame({"a": [1]})
    for name in ("manifest.json", "lock", *find_parts(archive_path)):
        with pytest.raises(ConfigurationError, match="is the folder of an archive"):
            p2p.to_csv(frame, Path(archive_path) / name)
    assert read_folder(archive_path) == before
    (tmp_path / "manifest.json").write_bytes(b"of another program")
    p2p.to_csv(frame, tmp_path / "manifest.json")
    assert (tmp_path / "manifest.json").read_bytes() == b'"a"\n1\n'
