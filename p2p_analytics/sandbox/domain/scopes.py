"""Descriptions of the scopes for the consent page and the OpenAPI description."""

from __future__ import annotations

from typing import Final

from p2p_analytics.vocabulary import Scope

PLAIN_WORDS: Final = {
    Scope.PROFILE: "See your profile, other people's profiles, and your payments",
    Scope.EMAIL: "See your email address",
    Scope.PHONE: "See your phone number",
    Scope.BALANCE: "See your balance",
    Scope.FRIENDS: "See lists of friends",
    Scope.PAYMENTS: "Make payments and charges for you, and answer requests",
}
