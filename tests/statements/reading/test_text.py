"""Bytes to UTF-8: text is checked in pieces, and damage is reported with its line."""

from __future__ import annotations

import pytest

from p2p_analytics.errors import StatementError
from p2p_analytics.statements.reading import tables as text


@pytest.mark.parametrize("piece", [1, 3, 2**20])
def test_damage_is_found_in_any_piece(monkeypatch, piece):
    """The line is that of the damaged character, however many bytes are decoded at a time."""
    monkeypatch.setattr(text, "_PIECE", piece)
    sound = "é\nab\n🍕 and ü\r\n".encode()
    assert text.to_utf8(sound, "a.csv") == (sound, False)
    assert text.to_utf8(b"", "a.csv") == (b"", False)
    with pytest.raises(StatementError, match=r"^a\.csv, line 4: the text is damaged"):
        text.to_utf8(sound + b"pi\xe2\x28zza\nend\n", "a.csv")
    assert text.to_utf8(b"a\nb\ncaf\xe9\n", "a.csv") == ("a\nb\ncafé\n".encode(), True)
