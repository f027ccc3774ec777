"""Statement files of a sandbox's people, written into a folder."""

from __future__ import annotations

from pathlib import Path

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError, describe_os_error
from p2p_analytics.files import atomic_file
from p2p_analytics.sandbox import SandboxServer


def write_statement_files(server: SandboxServer, folder: Path, username: str, generation: str) -> list[Path]:
    """Write the files of one person's history, each of at most 90 days; return their paths. They are private."""
    ending = "json" if generation == "JSON" else "csv"
    texts = {
        folder / f"{username}_{start}_{end}.{ending}": server.statement(username, start, end, generation)
        for start, end in server.statement_periods()
    }
    try:
        settings.make_private(folder)
    except OSError as error:
        raise ConfigurationError(f"Cannot create {folder}: {describe_os_error(error)}; name another folder.") from None
    if not folder.is_dir():
        raise ConfigurationError(f"Cannot write into {folder}: it is no folder; name another one.")
    for path, text in texts.items():
        with atomic_file(path) as file:
            file.write(text.encode())
    return list(texts)
