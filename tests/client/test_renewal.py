"""Renewal of a stored sign-in: once, by one thread or process, and without losing tokens."""

import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest.mock import Mock

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.auth import AccessToken, FileStore, Secret, SignIn

ME = {"data": {"balance": None, "user": {"id": "7"}}}
NEW = {"access_token": "new", "expires_in": 5184000, "refresh_token": "r2"}


def store_sign_in(sign_in: SignIn, left: timedelta) -> SignIn:
    """Store a sign-in that expires after some time."""
    token = AccessToken(sign_in.token.reveal(), scopes=sign_in.token.scopes, expires_at=datetime.now(UTC) + left)
    sign_in = replace(sign_in, token=token)
    FileStore().save(sign_in)
    return sign_in


def list_tokens(sign_in: SignIn | None = None) -> tuple[str, str]:
    """Return the access and the refresh token of a sign-in, by default of the stored one."""
    sign_in = sign_in or FileStore().load()
    return sign_in.token.reveal(), sign_in.refresh_token.reveal()


def request_me(base_url: str, times: int = 1) -> None:
    """Request /me with a client that finds the token itself."""
    with p2p.Client(base_url=base_url, cache_dir=False) as client:
        for _ in range(times):
            client.me(lenient=True)


def store_scripted_sign_in(start_service, monkeypatch: pytest.MonkeyPatch, answer: object, left: timedelta):
    """Store a sign-in for a scripted service with one answer to refreshes, and return the service."""
    monkeypatch.setenv("P2P_CLIENT_SECRET", "s")
    service = start_service(lambda path, _parameters: answer if path.startswith("POST") else ME)
    store_sign_in(SignIn(service.base_url, AccessToken("old"), "1", Secret("r1")), left)
    return service


def count_refreshes(service) -> int:
    """Return the number of refreshes that reached a scripted service."""
    return len([path for path, _ in service.asked if path.startswith("POST")])


@pytest.mark.parametrize("left", [timedelta(hours=1), timedelta(days=-1)])
def test_new_tokens_are_stored_before_they_are_used(start_service, monkeypatch, left: timedelta) -> None:
    """Before and after it expires, a sign-in is renewed for 60 days; with two days left, nothing is refreshed.

    The file holds the new pair before the first request with it.
    """
    seen = []
    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(days=2))
    answer = service.answer

    def answer_and_note(path: str, parameters: dict[str, str]) -> object:
        seen.append((path, parameters.get("access_token"), *list_tokens()))
        return answer(path, parameters)

    service.answer = answer_and_note
    request_me(service.base_url)
    old = store_sign_in(FileStore().load(), left)
    request_me(service.base_url, times=2)
    assert seen == [
        ("/v1/me", "old", "old", "r1"), ("POST /v1/oauth/access_token", None, "old", "r1"),
        *[("/v1/me", "new", "new", "r2")] * 2,
    ]  # fmt: skip
    renewed = FileStore().load()
    assert timedelta(days=59) < renewed.token.expires_at - datetime.now(UTC) < timedelta(days=60)
    assert renewed.ident == old.ident


def test_threads_and_clients_renew_once(start_service, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one of them refreshes, under a lock of the machine, the others wait for the result."""
    second = threading.Event()

    def answer(path: str, _parameters: dict[str, str]) -> object:
        if not path.startswith("POST"):
            return ME
        if count_refreshes(service) > 1:
            second.set()
        second.wait(0.5)
        return NEW

    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(hours=1))
    service.answer = answer
    clients = [p2p.Client(base_url=service.base_url, cache_dir=False) for _ in range(2)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda client: client.me(lenient=True), clients * 3))
    for client in clients:
        client.close()
    assert count_refreshes(service) == 1
    assert [asked for path, asked in service.asked if path == "/v1/me"] == [{"access_token": "new"}] * 6


@pytest.mark.parametrize(
    ("renewals", "sent"), [(0, ["token-1"]), (1, ["token-1", "token-2"]), (9, [f"token-{n}" for n in range(1, 6)])]
)
def test_a_refused_token_is_replaced_by_a_renewed_one(start_service, renewals: int, sent: list[str]) -> None:
    """Another process renews the token before the answer; without that, or after five attempts, the error is raised."""
    base = []

    def answer(_path: str, parameters: dict[str, str]) -> object:
        number = int(parameters["access_token"].removeprefix("token-"))
        if renewals == 1 and number == 2:
            return ME
        if renewals:
            renewed = replace(base[0], token=AccessToken(f"token-{number + 1}"), refresh_token=Secret("r2"))
            store_sign_in(renewed, timedelta(days=60))
        return 401, {}, {"error": {"message": "deleted", "code": "259"}}

    service = start_service(answer)
    base.append(store_sign_in(SignIn(service.base_url, AccessToken("token-1"), "1", Secret("r1")), timedelta(days=2)))
    with nullcontext() if renewals == 1 else pytest.raises(errors.AuthenticationError):
        request_me(service.base_url)
    assert [asked["access_token"] for _, asked in service.asked] == sent


@pytest.mark.parametrize(
    "answer",
    [(400, {}, {"error": {"message": "", "code": "275"}}), lambda connection: connection.shutdown(2), (503, {}, {})],
)
def test_a_failed_renewal_is_logged_before_expiry(start_service, monkeypatch, caplog, answer: object) -> None:
    """It is sent once and logged; after expiry it raises."""
    caplog.set_level(logging.WARNING)
    service = store_scripted_sign_in(start_service, monkeypatch, answer, timedelta(hours=1))
    request_me(service.base_url, times=3)
    assert count_refreshes(service) == 1
    assert caplog.text.count("could not be renewed") == 1
    store_sign_in(FileStore().load(), timedelta(seconds=-1))
    with pytest.raises(errors.ServiceError, match=r"sign in again|service failed"):
        request_me(service.base_url)
    assert count_refreshes(service) == 2
    assert list_tokens() == ("old", "r1")


OTHER = {"token": AccessToken("other"), "client_id": "1", "refresh_token": Secret("r9")}


@pytest.mark.parametrize(
    ("prevent", "message"),
    [
        # A later sign-in may belong to another user.
        (lambda _, url: store_sign_in(SignIn(url, **OTHER), timedelta(hours=1)), "create a new Client"),
        # The client secret is not stored with the tokens.
        (lambda patch, _: patch.delenv("P2P_CLIENT_SECRET"), "set P2P_CLIENT_SECRET"),
        (lambda patch, _: patch.setattr(os, "fsync", Mock(side_effect=OSError(28, "Full"))), "(full)"),
    ],
    ids=["another sign-in", "no secret", "a full disk"],
)
def test_where_nothing_can_be_renewed_nothing_is_sent(start_service, monkeypatch, caplog, prevent, message) -> None:
    """No pair is given up or replaced; the client goes on with its own token, and the log says why."""
    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(hours=1))
    with p2p.Client(base_url=service.base_url, cache_dir=False) as client:
        prevent(monkeypatch, service.base_url)
        kept = list_tokens()
        client.me(lenient=True)
    assert service.asked == [("/v1/me", {"access_token": "old"})]
    assert (message in caplog.text, list_tokens()) == (True, kept)
