"""A keyring for the tests of stored sign-ins."""

from collections.abc import Iterator

import keyring
import pytest
from keyring.backend import KeyringBackend


@pytest.fixture
def memory_keyring() -> Iterator[dict[tuple[str, str], str]]:
    """Return the contents of an in-memory keyring that replaces the system's."""
    kept: dict[tuple[str, str], str] = {}

    class Memory(KeyringBackend):
        priority = 1

        def get_password(self, service, username):
            return kept.get((service, username))

        def set_password(self, service, username, password):
            kept[service, username] = password

        def delete_password(self, service, username):
            del kept[service, username]

    before = keyring.get_keyring()
    keyring.set_keyring(Memory())
    yield kept
    keyring.set_keyring(before)
