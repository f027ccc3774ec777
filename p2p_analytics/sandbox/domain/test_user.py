"""The fixed test user (document: "Sandbox outcomes"), and the length of a day."""

from __future__ import annotations

from typing import Final

from p2p_analytics.sandbox.storage.rows import Person

DAY_US: Final = 86_400_000_000
TEST_USER_ID: Final = 145434160922624933
TEST_USER: Final = Person(
    user_id=TEST_USER_ID,
    username="test-user",
    first_name="Test",
    last_name="User",
    display_name="Test User",
    about="Pay me 0.10 and it settles, pay me 0.20 and it fails.",
    profile_picture_url="https://pictures.example.invalid/test-user.png",
    joined_us=1_360_533_485_000_000,
    email="venmo@venmo.com",
    phone="15555555555",
    balance_cents=0,
)
