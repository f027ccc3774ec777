"""A client whose sign-in is kept renews it before its end: once, whoever else does it, and nothing is lost."""

from __future__ import annotations

import logging
import multiprocessing
import os
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from p2p_analytics import errors
from p2p_analytics.auth import AccessToken, FileStore, Secret, SignIn, authorize_url, code_from_redirect
from p2p_analytics.client import oauth

if TYPE_CHECKING:
    from collections.abc import Iterator

ME = {"data": {"balance": None, "user": {"id": "7"}}}
NEW = {"access_token": "new", "expires_in": 5184000, "refresh_token": "r2"}


@pytest.fixture(scope="module")
def server() -> Iterator[p2p.sandbox.SandboxServer]:
    """Start a sandbox."""
    with p2p.sandbox.SandboxServer(seed=7, people=5, years=1) as running:
        yield running


@pytest.fixture
def signed_in(server, monkeypatch: pytest.MonkeyPatch) -> SignIn:
    """Keep a sign-in of the server-side flow whose end is an hour away."""
    application = server.register_application(server.viewer, name="Ledger", redirect_url="http://127.0.0.1/callback")
    monkeypatch.setenv("P2P_CLIENT_SECRET", application.client_secret)
    address = authorize_url(server.base_url, application.client_id, response_type="code")
    code = code_from_redirect(server.sign_in(address, server.viewer))
    sign_in = oauth.exchange(code, base_url=server.base_url, client_id=application.client_id)
    return keep(sign_in, timedelta(hours=1))


def keep(sign_in: SignIn, left: timedelta) -> SignIn:
    """Keep a sign-in of which so much time is left."""
    token = AccessToken(sign_in.token.reveal(), scopes=sign_in.token.scopes, expires_at=datetime.now(UTC) + left)
    sign_in = replace(sign_in, token=token)
    FileStore().save(sign_in)
    return sign_in


def kept() -> SignIn:
    """Return the sign-in that is kept."""
    sign_in = FileStore().load()
    assert sign_in is not None
    return sign_in


def value(sign_in: SignIn) -> str:
    """Return the token's text."""
    return sign_in.token.reveal()


def ask_me(base_url: str, times: int = 1) -> None:
    """Make a client that finds its token itself, and ask."""
    with p2p.Client(base_url=base_url, cache_dir=False) as client:
        for _ in range(times):
            client.me(lenient=True)


def scripted_sign_in(scripted, monkeypatch: pytest.MonkeyPatch, answer: object, left: timedelta):
    """Keep a sign-in for a scripted service that answers a refresh so, and return the service."""
    monkeypatch.setenv("P2P_CLIENT_SECRET", "s")
    service = scripted(lambda path, _parameters: answer if path.startswith("POST") else ME)
    keep(SignIn(service.base_url, AccessToken("old"), "1", Secret("r1")), left)
    return service


def refreshes(service) -> int:
    """Count the refreshes that reached a scripted service."""
    return len([path for path, _ in service.asked if path.startswith("POST")])


def test_it_is_renewed_before_its_end(signed_in: SignIn) -> None:
    """With an hour left both tokens are replaced in the file, for 60 days, and the client goes on with the new one."""
    ask_me(signed_in.base_url, times=3)
    renewed = kept()
    assert value(renewed) != value(signed_in)
    assert renewed.refresh_token.reveal() != signed_in.refresh_token.reveal()  # type: ignore[union-attr]
    assert renewed.token.expires_at - datetime.now(UTC) > timedelta(days=59)  # type: ignore[operator]
    assert renewed.ident == signed_in.ident
    ask_me(signed_in.base_url)
    assert value(kept()) == value(renewed)


def test_it_is_renewed_after_its_end(signed_in: SignIn) -> None:
    """A refresh token outlives the access token: an expired sign-in that is kept is renewed, not refused."""
    keep(signed_in, timedelta(days=-1))
    ask_me(signed_in.base_url)
    assert value(kept()) != value(signed_in)


def test_with_time_left_it_is_left_alone(scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two days left nothing is refreshed."""
    service = scripted_sign_in(scripted, monkeypatch, NEW, timedelta(days=2))
    ask_me(service.base_url)
    assert service.asked == [("/v1/me", {"access_token": "old"})]


def test_it_is_kept_before_it_is_used(scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the first request goes out with the new token, the new pair stands in the file already."""
    seen = []
    monkeypatch.setenv("P2P_CLIENT_SECRET", "s")

    def answer(path: str, _parameters: dict[str, str]) -> object:
        seen.append((path, value(kept()), kept().refresh_token.reveal()))  # type: ignore[union-attr]
        return NEW if path.startswith("POST") else ME

    service = scripted(answer)
    keep(SignIn(service.base_url, AccessToken("old"), "1", Secret("r1")), timedelta(hours=1))
    ask_me(service.base_url)
    assert seen == [("POST /v1/oauth/access_token", "old", "r1"), ("/v1/me", "new", "r2")]


def test_threads_renew_once(scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many threads of one client one refreshes, and all go on with its result."""
    service = scripted_sign_in(scripted, monkeypatch, NEW, timedelta(hours=1))
    with p2p.Client(base_url=service.base_url, cache_dir=False) as client:
        threads = [threading.Thread(target=client.me, kwargs={"lenient": True}) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert refreshes(service) == 1
    assert [asked for path, asked in service.asked if path == "/v1/me"] == [{"access_token": "new"}] * 8


def test_two_clients_renew_once(scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one client's refresh is on its way, the other waits for its result instead of sending another."""
    second = threading.Event()

    def answer(path: str, _parameters: dict[str, str]) -> object:
        if path.startswith("POST"):
            if refreshes(service) > 1:
                second.set()
            second.wait(0.5)
            return NEW
        return ME

    monkeypatch.setenv("P2P_CLIENT_SECRET", "s")
    service = scripted(answer)
    keep(SignIn(service.base_url, AccessToken("old"), "1", Secret("r1")), timedelta(hours=1))
    clients = [p2p.Client(base_url=service.base_url, cache_dir=False) for _ in range(2)]
    threads = [threading.Thread(target=client.me, kwargs={"lenient": True}) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for client in clients:
        client.close()
    assert refreshes(service) == 1
    assert [asked for path, asked in service.asked if path == "/v1/me"] == [{"access_token": "new"}] * 2


def _in_a_process(base_url: str, ready, go, done) -> None:
    client = p2p.Client(base_url=base_url, cache_dir=False)
    ready.put(os.getpid())
    go.wait(30)
    try:
        client.me()
        done.put("fine")
    except errors.P2PAnalyticsError as error:
        done.put(repr(error))


def test_two_processes_renew_once(signed_in: SignIn, server) -> None:
    """Both hold the old pair; one refreshes, the other takes its result, and nobody is signed out."""
    context = multiprocessing.get_context("spawn")
    ready, done, go = context.Queue(), context.Queue(), context.Event()
    processes = [context.Process(target=_in_a_process, args=(signed_in.base_url, ready, go, done)) for _ in range(2)]
    for process in processes:
        process.start()
    try:
        for _ in processes:
            ready.get(timeout=60)
        go.set()
        assert [done.get(timeout=60) for _ in processes] == ["fine", "fine"]
    finally:
        for process in processes:
            process.join(10)
    ask_me(signed_in.base_url)


def test_a_token_that_another_process_has_renewed(scripted) -> None:
    """A read that was refused with the old token is asked again with the one that is kept by now."""
    base = []

    def answer(_path: str, parameters: dict[str, str]) -> object:
        if parameters["access_token"] == "old":
            keep(replace(base[0], token=AccessToken("new"), refresh_token=Secret("r2")), timedelta(days=60))
            return 401, {}, {"error": {"message": "deleted", "code": "259"}}
        return ME

    service = scripted(answer)
    base.append(keep(SignIn(service.base_url, AccessToken("old"), "1", Secret("r1")), timedelta(days=2)))
    ask_me(service.base_url)
    assert [asked["access_token"] for _, asked in service.asked] == ["old", "new"]


def test_a_refused_token_that_nobody_has_renewed(scripted) -> None:
    """It is asked once, and the refusal is told."""
    service = scripted(lambda *_: (401, {}, {"error": {"message": "deleted", "code": "259"}}))
    keep(SignIn(service.base_url, AccessToken("old"), "1", Secret("r1")), timedelta(days=2))
    with pytest.raises(errors.AuthenticationError):
        ask_me(service.base_url)
    assert len(service.asked) == 1


def test_another_sign_in_is_not_taken(scripted, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """Who signs in meanwhile may be somebody else: a running client neither takes nor renews that sign-in."""
    service = scripted_sign_in(scripted, monkeypatch, NEW, timedelta(days=2))
    with p2p.Client(base_url=service.base_url, cache_dir=False) as client:
        other = keep(SignIn(service.base_url, AccessToken("other"), "1", Secret("r9")), timedelta(hours=1))
        client._transport._token_source._sign_in = replace(  # type: ignore[union-attr]
            client._transport._token_source._sign_in,  # type: ignore[union-attr]
            token=AccessToken("old", expires_at=datetime.now(UTC) + timedelta(hours=1)),
        )
        client.me(lenient=True)
    assert service.asked == [("/v1/me", {"access_token": "old"})]
    assert value(kept()) == value(other)
    assert "create a new Client" in caplog.text


@pytest.mark.parametrize(
    ("answer", "sent"),
    [
        ((400, {}, {"error": {"message": "", "code": "275"}}), 1),
        (lambda connection: connection.shutdown(2), 1),
        ((503, {}, {}), 1),
    ],
)
def test_a_renewal_that_fails(scripted, monkeypatch: pytest.MonkeyPatch, caplog, answer, sent: int) -> None:
    """It is sent once and logged while the token lasts; when the token is over, it is the error."""
    caplog.set_level(logging.WARNING)
    service = scripted_sign_in(scripted, monkeypatch, answer, timedelta(hours=1))
    ask_me(service.base_url, times=3)
    assert refreshes(service) == sent
    assert caplog.text.count("could not be renewed") == 1
    keep(kept(), timedelta(seconds=-1))
    with pytest.raises(errors.ServiceError, match=r"sign in again|service failed"):
        ask_me(service.base_url)
    assert refreshes(service) == sent + 1
    assert kept().refresh_token is not None


def test_without_the_applications_secret(scripted, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """The secret is not kept with the tokens: without P2P_CLIENT_SECRET nothing is sent, and the log says so."""
    service = scripted_sign_in(scripted, monkeypatch, NEW, timedelta(hours=1))
    monkeypatch.delenv("P2P_CLIENT_SECRET")
    ask_me(service.base_url)
    assert refreshes(service) == 0
    assert "set P2P_CLIENT_SECRET" in caplog.text


def test_a_place_that_cannot_be_written_is_found_before(scripted, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    """Where the new pair could not be kept, the old one is not given up for it."""
    service = scripted_sign_in(scripted, monkeypatch, NEW, timedelta(hours=1))

    def full(_number: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ask_me(service.base_url)
    assert service.asked == [("/v1/me", {"access_token": "old"})]
    assert "no space left on device" in caplog.text
