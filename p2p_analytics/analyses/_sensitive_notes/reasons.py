"""The reasons for which a note is sensitive."""

from __future__ import annotations

from typing import Final

from p2p_analytics.analyses._sensitive_notes._forms import find_forms
from p2p_analytics.analyses._sensitive_notes._lists import load_lists
from p2p_analytics.analyses._sensitive_notes._tokens import fold, split_tokens

REASONS: Final = (
    "email",
    "phone",
    "address",
    "health",
    "drugs and alcohol and gambling",
    "adult",
    "politics and religion",
    "money trouble",
    "location",
)


def find_reasons(note: str) -> list[str]:
    """Return the reasons for which a note is sensitive, in the order of `REASONS`; none for a harmless one.

    The time is proportional to the length of the note, whatever it holds.
    """
    text = fold(note)
    found = find_forms(text) | load_lists().find(split_tokens(text))
    return [reason for reason in REASONS if reason in found]
