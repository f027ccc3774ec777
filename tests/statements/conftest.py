"""Files in the folder of a test, and an empty list of own formats."""

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.statements.formats import registry


@pytest.fixture
def own_formats(monkeypatch) -> None:
    """Begin with no format of the user's own, and forget the ones that the test registers."""
    monkeypatch.setattr(registry, "_FORMATS", {})


@pytest.fixture
def write(tmp_path) -> Callable[[str, str | bytes], Path]:
    """Return a function that writes a file into the folder of the test."""

    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


@pytest.fixture
def pack(tmp_path) -> Callable[[str, Mapping[str, str | bytes]], Path]:
    """Return a function that writes a zip archive into the folder of the test."""

    def pack(name: str, members: Mapping[str, str | bytes]) -> Path:
        with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, content in members.items():
                archive.writestr(member, content)
        return tmp_path / name

    return pack


@pytest.fixture
def read(write) -> Callable[..., p2p.Statements]:
    """Return a function that writes ``file.csv`` and reads it."""
    return lambda content, **options: p2p.read_statements(write("file.csv", content), **options)
