"""Renewal of a stored sign-in: once, by one thread or process, and without losing tokens."""

from __future__ import annotations

import logging
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.auth import AccessToken, FileStore, Secret, SignIn, authorize_url, code_from_redirect
from p2p_analytics.client import oauth

ME = {"data": {"balance": None, "user": {"id": "7"}}}
NEW = {"access_token": "new", "expires_in": 5184000, "refresh_token": "r2"}


def store_sign_in(sign_in: SignIn, left: timedelta) -> SignIn:
    """Store a sign-in that expires after some time."""
    token = AccessToken(sign_in.token.reveal(), scopes=sign_in.token.scopes, expires_at=datetime.now(UTC) + left)
    sign_in = replace(sign_in, token=token)
    FileStore().save(sign_in)
    return sign_in


def load_sign_in() -> SignIn:
    """Return the stored sign-in."""
    sign_in = FileStore().load()
    assert sign_in is not None
    return sign_in


def get_text(sign_in: SignIn) -> str:
    """Return the text of the token."""
    return sign_in.token.reveal()


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
def test_a_sign_in_is_renewed(server, monkeypatch: pytest.MonkeyPatch, left: timedelta) -> None:
    """Before and after it expires, both tokens are replaced for 60 days, and the client uses the new ones."""
    application = server.register_application(server.viewer, name="Ledger", redirect_url="http://127.0.0.1/callback")
    monkeypatch.setenv("P2P_CLIENT_SECRET", application.client_secret)
    address = authorize_url(server.base_url, application.client_id, response_type="code")
    code = code_from_redirect(server.sign_in(address, server.viewer))
    sign_in = store_sign_in(oauth.exchange(code, base_url=server.base_url, client_id=application.client_id), left)
    request_me(sign_in.base_url, times=3)
    renewed = load_sign_in()
    assert get_text(renewed) != get_text(sign_in)
    assert renewed.refresh_token.reveal() != sign_in.refresh_token.reveal()  # type: ignore[union-attr]
    assert renewed.token.expires_at - datetime.now(UTC) > timedelta(days=59)  # type: ignore[operator]
    assert renewed.ident == sign_in.ident
    request_me(sign_in.base_url)
    assert get_text(load_sign_in()) == get_text(renewed)


def test_new_tokens_are_stored_before_they_are_used(start_service, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file holds the new pair before the first request with it; with two days left, nothing is refreshed."""
    seen = []
    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(days=2))
    answer = service.answer

    def answer_and_note(path: str, parameters: dict[str, str]) -> object:
        seen.append((path, get_text(load_sign_in()), load_sign_in().refresh_token.reveal()))  # type: ignore[union-attr]
        return answer(path, parameters)

    service.answer = answer_and_note
    request_me(service.base_url)
    store_sign_in(load_sign_in(), timedelta(hours=1))
    request_me(service.base_url)
    assert seen == [
        ("/v1/me", "old", "r1"), ("POST /v1/oauth/access_token", "old", "r1"), ("/v1/me", "new", "r2"),
    ]  # fmt: skip


def test_threads_and_clients_renew_once(start_service, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one of them refreshes, under a lock of the machine, the others wait for the result."""
    second = threading.Event()

    def answer() -> object:
        if count_refreshes(service) > 1:
            second.set()
        second.wait(0.5)
        return NEW

    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(hours=1))
    service.answer = lambda path, _parameters: answer() if path.startswith("POST") else ME
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
    store_sign_in(load_sign_in(), timedelta(seconds=-1))
    with pytest.raises(errors.ServiceError, match=r"sign in again|service failed"):
        request_me(service.base_url)
    assert count_refreshes(service) == 2
    assert load_sign_in().refresh_token is not None


def test_another_sign_in_is_not_used(start_service, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """A later sign-in may belong to another user: a running client neither uses nor renews it."""
    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(days=2))
    with p2p.Client(base_url=service.base_url, cache_dir=False) as client:
        other = store_sign_in(SignIn(service.base_url, AccessToken("other"), "1", Secret("r9")), timedelta(hours=1))
        renewal = client._transport._renew_token.__self__
        token = AccessToken("old", expires_at=datetime.now(UTC) + timedelta(hours=1))
        renewal._sign_in = replace(renewal._sign_in, token=token)
        client.me(lenient=True)
    assert service.asked == [("/v1/me", {"access_token": "old"})]
    assert get_text(load_sign_in()) == get_text(other)
    assert "create a new Client" in caplog.text


def test_without_a_client_secret_nothing_is_renewed(start_service, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """The secret is not stored with the tokens; without P2P_CLIENT_SECRET nothing is sent, and the log says so."""
    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(hours=1))
    monkeypatch.delenv("P2P_CLIENT_SECRET")
    request_me(service.base_url)
    assert count_refreshes(service) == 0
    assert "set P2P_CLIENT_SECRET" in caplog.text


def test_an_unwritable_store_is_detected_before_the_refresh(
    start_service, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    """The old pair is not given up if the new one could not be stored."""
    service = store_scripted_sign_in(start_service, monkeypatch, NEW, timedelta(hours=1))

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    request_me(service.base_url)
    assert service.asked == [("/v1/me", {"access_token": "old"})]
    assert "no space left on device" in caplog.text
