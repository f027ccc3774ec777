"""Access tokens, which never show their value, and both ends of the redirect."""

import copy
import copyreg
import functools
import gc
import inspect
import json
import multiprocessing.reduction
import pickle
from dataclasses import asdict, astuple
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p
from p2p_analytics.auth import AccessToken, Secret, SignIn, authorize_url, code_from_redirect, token_from_redirect
from p2p_analytics.errors import ConfigurationError, TokenError
from support.canary import CANARY

NOW = datetime(2025, 5, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("show", [repr, str, "{}".format, "{:>40}".format, lambda token: f"{token!r:}"])
def test_no_way_of_printing_shows_the_token(show) -> None:
    """Repr, str and format show that there is a token, but no part of it."""
    shown = show(AccessToken(CANARY, scopes=["access_profile"]))
    assert "***" in shown
    assert CANARY not in shown


@pytest.mark.parametrize("store", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars, hash])
def test_a_token_cannot_be_serialised(store) -> None:
    """A token cannot be pickled, copied, dumped, or used as a key."""
    with pytest.raises(TypeError) as caught:
        store(AccessToken(CANARY))
    assert CANARY not in str(caught.value)


TOOLS = {
    "members": inspect.getmembers,
    "members that are not computed": inspect.getmembers_static,
    "state": object.__getstate__,
    "state of pickle": lambda token: copyreg.__reduce_ex__(token, 2),
    "attributes of attributes": lambda token: [
        [getattr(value, inner, None) for inner in dir(value)] for _name, value in inspect.getmembers(token)
    ],
    "slots": lambda token: [
        getattr(token, name) for kind in type(token).__mro__ for name in vars(kind).get("__slots__", ())
    ],
    "what it refers to": lambda token: [gc.get_referents(each) for each in [token, *gc.get_referents(token)]],
}


@pytest.mark.parametrize("tool", TOOLS.values(), ids=TOOLS)
@pytest.mark.parametrize("kind", [AccessToken, Secret])
def test_introspection_shows_no_secret(kind: type[Secret], tool) -> None:
    """Debuggers and introspection tools print attributes: none of them is the text of the secret."""
    secret = kind(CANARY)
    try:
        shown = repr(tool(secret))
    except TypeError as error:  # it refuses
        shown = str(error)
    assert (bool(shown), CANARY in shown, secret.reveal()) == (True, False, CANARY)


def test_a_secret_is_any_text() -> None:
    """Any text that an environment variable can hold is returned unchanged; no error quotes a value of another type."""
    for text in ("", "caf\u00e9", "\udcff", "x" * 5000):
        assert Secret(text).reveal() == text
    for value in (None, 5, CANARY.encode()):
        with pytest.raises(ConfigurationError, match="pass a string") as caught:
            Secret(value)
        assert CANARY not in str(caught.value)


@pytest.mark.parametrize("store", [pickle.dumps, copy.copy, copy.deepcopy, asdict, astuple])
def test_objects_with_a_token_do_not_show_it(store) -> None:
    """A sign-in or client cannot be serialised or copied with its token; closures and partials do not show it."""
    sign_in = SignIn("https://pay.example/v1", AccessToken(CANARY), "1", Secret(CANARY))
    client = p2p.Client(CANARY, base_url="https://pay.example/v1", cache_dir=False)
    for holder in (sign_in, client, functools.partial(print, sign_in)):
        # Python 3.11.2 cannot read this one of a dataclass with slots, so inspect.getmembers fails.
        members = [getattr(holder, name, None) for name in dir(holder) if name != "__weakref__"]
        assert CANARY not in repr(holder) + repr(members)
        try:
            shown = repr(store(holder))
        except TypeError as error:
            shown = str(error)
        assert CANARY not in shown
    with pytest.raises(TypeError):
        multiprocessing.reduction.ForkingPickler.dumps(client)


def test_equality_is_identity() -> None:
    """A token equals only itself, not another token with the same value, nor the text."""
    token = AccessToken(CANARY)
    assert token == token  # noqa: PLR0124 - the rule itself
    assert token != AccessToken(CANARY)
    assert token != CANARY


@pytest.mark.parametrize(
    "value", ["", " ", "two words", "line\nbreak", "caf\u00e9", "x" * 4097, None, 5, "https://a.example/?x=1"]
)
def test_a_malformed_token_is_refused_without_being_quoted(value: object) -> None:
    """A token is one printable word; the error does not quote the argument."""
    with pytest.raises(TokenError) as caught:
        AccessToken(value)
    assert len(str(caught.value)) < 120


def test_a_token_knows_its_expiry() -> None:
    """At the instant of its expiry a token is expired; a naive expiry, which could be wrong by hours, is refused."""
    token = AccessToken(CANARY, expires_at=NOW)
    token.require_unexpired(NOW - timedelta(seconds=1))
    with pytest.raises(TokenError, match="expired at 2025-05-01 12:00 UTC"):
        token.require_unexpired(NOW)
    with pytest.raises(ConfigurationError, match="aware"):
        AccessToken(CANARY, expires_at=datetime(2025, 5, 1))  # noqa: DTZ001 - the rule itself


def test_an_address_for_the_browser() -> None:
    """It returns the state, and has at least one scope, each of them documented."""
    address = authorize_url("https://pay.example", "1234", ["access_email"], state="s t")
    assert address == "https://pay.example/v1/oauth/authorize?client_id=1234&scope=access_email&state=s%20t"
    for scopes in ([], ["read_everything"], "access_profile access_friends"):
        with pytest.raises(ConfigurationError, match="access_profile, access_email"):
            authorize_url("https://pay.example", "1234", scopes)


@pytest.mark.parametrize(
    "address",
    [
        f"https://app.example/cb?access_token={CANARY}",
        f"https://app.example/cb?state=1&access_token={CANARY}#top",
        f'"https://app.example/cb?access_token={CANARY}" ',
        f"access_token={CANARY}",
    ],
)
def test_the_token_is_a_query_parameter_of_the_redirect(address: str) -> None:
    """The service appends access_token as a query parameter; the token is valid for 30 minutes."""
    token = token_from_redirect(address, scopes=["access_profile"], now=NOW)
    assert token.reveal() == CANARY
    assert token.expires_at == datetime(2025, 5, 1, 12, 30, tzinfo=UTC)
    assert token.scopes == {"access_profile"}


@pytest.mark.parametrize(
    ("read", "query", "sentence"),
    [
        (token_from_redirect, "?error=user+denied+access", "user denied access"),
        (token_from_redirect, "", "holds no access token"),
        (token_from_redirect, "?code=abc", "holds a code, not a token"),
        (token_from_redirect, "?access_token=", "holds no access token"),
        (token_from_redirect, "?access_token=a&access_token=b", "holds no access token"),
        (code_from_redirect, "?error=user+denied+access", "user denied access"),
        (code_from_redirect, "?access_token=a", "holds no code"),
        (code_from_redirect, "?code=a&code=b", "holds no code"),
        (code_from_redirect, "?code=", "holds no code"),
    ],
)
def test_an_address_without_exactly_one_secret_is_explained(read, query: str, sentence: str) -> None:
    """The errors for a denial and for an address that was not copied completely say what to do."""
    with pytest.raises(TokenError, match=sentence):
        read(f"https://app.example/cb{query}")
