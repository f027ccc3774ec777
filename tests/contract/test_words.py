"""The vocabulary that client and sandbox share, compared with literals that were copied from the interface document."""

from contract.plain_http import FIELDS

from p2p_analytics import vocabulary


def test_closed_words() -> None:
    """Each enumeration has exactly the document's words, in their wire form."""
    kinds = ("Status", "Action", "Audience", "Medium", "TargetType", "Resolution", "Scope")
    assert {name: " ".join(getattr(vocabulary, name)) for name in kinds} == {
        "Status": "settled pending failed expired cancelled",
        "Action": "pay charge",
        "Audience": "public friends private",
        "Medium": "ios android web api",
        "TargetType": "email phone user",
        "Resolution": "approve deny cancel",
        "Scope": "access_profile access_email access_phone access_balance access_friends make_payments",
    }


def test_fields() -> None:
    """Each resource and each subset has exactly the document's fields, in its order."""
    assert {
        "User": " ".join(vocabulary.USER_FIELDS),
        "Friend": " ".join(vocabulary.FRIEND_FIELDS),
        "EmbeddedUser": " ".join(vocabulary.EMBEDDED_USER_FIELDS),
        "Payment": " ".join(vocabulary.PAYMENT_FIELDS),
        "ListedPayment": " ".join(vocabulary.LISTED_PAYMENT_FIELDS),
        "Target": " ".join(vocabulary.TARGET_FIELDS),
    } == FIELDS


def test_endpoints() -> None:
    """Eight endpoints, each with method, path, required scope, optional scopes and parameters."""
    assert [
        (one.method, one.path, one.scope, " ".join(one.optional_scopes), " ".join(one.parameters))
        for one in vocabulary.ENDPOINTS
    ] == [
        ("GET", "/me", "access_profile", "access_email access_phone access_balance", "access_token"),
        ("GET", "/users/{user_id}", "access_profile", "", "access_token"),
        ("GET", "/users/{user_id}/friends", "access_friends", "", "access_token before limit"),
        (
            "POST", "/payments", "make_payments", "access_balance",
            "access_token user_id email phone note amount audience",
        ),
        ("GET", "/payments", "access_profile", "", "access_token action actor status limit after before"),
        ("GET", "/payments/{payment}", "access_profile", "", "access_token"),
        ("PUT", "/payments/{payment}", "make_payments", "", "access_token action"),
        ("GET", "/oauth/authorize", None, "", "client_id scope redirect_uri"),
    ]  # fmt: skip
    assert vocabulary.FRIENDS.at("14543") == "/users/14543/friends"


def test_limits_and_names() -> None:
    """20 and 50 items per page; tokens last 30 minutes and 60 days; the version and the token's parameter."""
    assert (vocabulary.PAGE_SIZE_DEFAULT, vocabulary.PAGE_SIZE_MAXIMUM) == (20, 50)
    assert (vocabulary.CLIENT_TOKEN_SECONDS, vocabulary.SERVER_TOKEN_SECONDS) == (1_800, 5_184_000)
    assert (vocabulary.VERSION_PATH, vocabulary.TOKEN_PARAMETER) == ("/v1", "access_token")
