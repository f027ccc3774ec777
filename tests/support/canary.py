"""The marker that tests put into tokens, codes and secrets, and then search for in everything that is produced."""

import secrets
from collections.abc import Collection
from pathlib import Path

import pytest

CANARY = "CANARYc0ffee"
TOKEN_BYTES = 32  # The nonce of a redirect URI has fewer random bytes and is no secret to a notebook.


def issue_canary_tokens(patch: pytest.MonkeyPatch, *, sizes: Collection[int | None] | None = None) -> None:
    """Make the sandbox of this process issue secrets that begin with the canary; by default of every size."""
    plain = secrets.token_urlsafe

    def issue(nbytes: int | None = None) -> str:
        return (CANARY if sizes is None or nbytes in sizes else "") + plain(nbytes)

    patch.setattr(secrets, "token_urlsafe", issue)


def find_canary_files(folder: Path) -> list[str]:
    """Return the files below a folder that hold the canary in their content or their path."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [str(path) for path in files if CANARY.encode() in path.read_bytes() or CANARY in str(path)]
