"""The vocabulary, compared with literals from the interface document.

Client and sandbox share the vocabulary, so a mistake in it is consistent on both sides and found only
here. Expected values are copied from the document by hand and never imported.
"""

from __future__ import annotations

import pytest

from p2p_analytics import vocabulary


@pytest.mark.parametrize(
    ("words", "documented"),
    [
        (vocabulary.Status, ["settled", "pending", "failed", "expired", "cancelled"]),
        (vocabulary.Action, ["pay", "charge"]),
        (vocabulary.Audience, ["public", "friends", "private"]),
        (vocabulary.Medium, ["ios", "android", "web", "api"]),
        (vocabulary.TargetType, ["email", "phone", "user"]),
        (vocabulary.Resolution, ["approve", "deny", "cancel"]),
        (
            vocabulary.Scope,
            ["access_profile", "access_email", "access_phone", "access_balance", "access_friends", "make_payments"],
        ),
    ],
)
def test_closed_words(words: type[vocabulary.Status], documented: list[str]) -> None:
    """Each enumeration has exactly the document's words, in their wire form."""
    assert [str(word) for word in words] == documented


@pytest.mark.parametrize(
    ("fields", "documented"),
    [
        (
            vocabulary.USER_FIELDS,
            "id username first_name last_name display_name date_joined profile_picture_url about email phone is_friend \
            friends_count",
        ),
        (vocabulary.FRIEND_FIELDS, "username about last_name display_name first_name profile_picture_url id"),
        (
            vocabulary.EMBEDDED_USER_FIELDS,
            "username first_name last_name display_name about profile_picture_url id date_joined",
        ),
        (
            vocabulary.PAYMENT_FIELDS,
            "id status note amount action date_created date_completed audience target actor fee refund medium",
        ),
        (
            vocabulary.LISTED_PAYMENT_FIELDS,
            "status date_completed target audience actor note amount action date_created id",
        ),
        (vocabulary.TARGET_FIELDS, "type email phone user"),
    ],
)
def test_fields(fields: tuple[str, ...], documented: str) -> None:
    """Each resource and each subset has exactly the document's fields, without repetition."""
    assert sorted(fields) == sorted(documented.split())


ENDPOINTS = [
    ("GET", "/me", "access_profile", "access_email access_phone access_balance", "access_token"),
    ("GET", "/users/{user_id}", "access_profile", "", "access_token"),
    ("GET", "/users/{user_id}/friends", "access_friends", "", "access_token before limit"),
    (
        "POST",
        "/payments",
        "make_payments",
        "access_balance",
        "access_token user_id email phone note amount audience",
    ),
    ("GET", "/payments", "access_profile", "", "access_token action actor status limit after before"),
    ("GET", "/payments/{payment}", "access_profile", "", "access_token"),
    ("PUT", "/payments/{payment}", "make_payments", "", "access_token action"),
    ("GET", "/oauth/authorize", None, "", "client_id scope redirect_uri"),
]


def test_endpoints() -> None:
    """Eight endpoints, each with method, path, required scope, optional scopes and parameters."""
    found = [
        (
            one.method,
            one.path,
            one.scope and str(one.scope),
            " ".join(one.optional_scopes),
            " ".join(one.parameters),
        )
        for one in vocabulary.ENDPOINTS
    ]
    assert found == ENDPOINTS


@pytest.mark.parametrize(
    ("number", "documented"),
    [
        (vocabulary.PAGE_SIZE_DEFAULT, 20),
        (vocabulary.PAGE_SIZE_MAXIMUM, 50),
        (vocabulary.CLIENT_TOKEN_SECONDS, 1_800),
        (vocabulary.SERVER_TOKEN_SECONDS, 5_184_000),
    ],
)
def test_limits(number: int, documented: int) -> None:
    """20 and 50 items per page; tokens last 30 minutes and 60 days."""
    assert number == documented


def test_version_is_a_part_of_the_path() -> None:
    """`/v1` follows the base address."""
    assert vocabulary.VERSION_PATH == "/v1"


def test_the_name_of_the_token_parameter() -> None:
    """Authorized requests pass `access_token`."""
    assert vocabulary.TOKEN_PARAMETER == "access_token"


@pytest.mark.parametrize(
    ("endpoint", "path"),
    [
        (vocabulary.USER, "/users/145434160922624933"),
        (vocabulary.FRIENDS, "/users/145434160922624933/friends"),
        (vocabulary.PAYMENT, "/payments/145434160922624933"),
    ],
)
def test_paths_with_an_id(endpoint: vocabulary.Endpoint, path: str) -> None:
    """The id replaces the document's placeholder."""
    assert endpoint.at("145434160922624933") == path
