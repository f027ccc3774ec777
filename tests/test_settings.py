"""Settings: the base address, certificates, the cache and state folders, privacy mode."""

from __future__ import annotations

import os
import stat

import pytest

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://pay.example", "https://pay.example/v1"),
        ("https://pay.example/v1", "https://pay.example/v1"),
        ("https://pay.example/v1/", "https://pay.example/v1"),
        ("https://pay.example:8443/api", "https://pay.example:8443/api/v1"),
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("  https://pay.example \n", "https://pay.example/v1"),
    ],
)
def test_the_version_path_is_added_where_it_is_missing(given: str, used: str) -> None:
    """The version follows the base address, in production and in the sandbox."""
    assert settings.base_url(given) == used


@pytest.mark.parametrize(
    "given",
    [
        "http://pay.example",
        "http://127.0.0.1.pay.example",
        "http://10.0.0.1",
        "ftp://pay.example",
        "pay.example",
        "https://",
        "https://user:secret@pay.example",
        "https://pay.example?x=1",
        "https://pay.example#x",
        "https://pay.example:port",
        "https://pay.exa\\mple",
        "https://[::1",
    ],
)
def test_an_address_that_cannot_be_used_is_refused(given: str) -> None:
    """Https is required except on loopback, and the address has only scheme, host and path."""
    with pytest.raises(ConfigurationError) as caught:
        settings.base_url(given)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "given", ["CANARY", "app.example/cb?access_token=CANARY", "ftp://u:CANARY@h/", "https://u:CANARY@h:port/"]
)
def test_a_secret_in_the_place_of_the_address_is_not_quoted(given: str) -> None:
    """The error does not quote a token that was passed as the base URL by mistake."""
    with pytest.raises(ConfigurationError) as caught:
        settings.base_url(given)
    assert "CANARY" not in str(caught.value)


def test_a_missing_certificate_file_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """REQUESTS_CA_BUNDLE precedes CURL_CA_BUNDLE, and a missing file is an error at once."""
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path))
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    assert settings.ca_bundle() == str(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "gone.pem"))
    with pytest.raises(ConfigurationError, match="REQUESTS_CA_BUNDLE names"):
        settings.ca_bundle()


def test_the_environment_variable_counts_where_no_address_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument comes before P2P_BASE_URL, and without both there is no default host."""
    with pytest.raises(ConfigurationError, match="P2P_BASE_URL"):
        settings.base_url()
    monkeypatch.setenv("P2P_BASE_URL", "https://from.example")
    assert settings.base_url() == "https://from.example/v1"
    assert settings.base_url("https://given.example") == "https://given.example/v1"


def test_the_cache_folder_is_private(tmp_path) -> None:
    """A new cache folder and its new parents are 0700 under any umask."""
    before = os.umask(0)
    try:
        made = settings.cache_dir(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (made, made.parent)] == [0o700, 0o700]


@pytest.mark.parametrize("wrong", [True, 5])
def test_a_cache_folder_is_a_path(wrong: object) -> None:
    """Only False turns the cache off, so True and numbers are refused with the valid values."""
    with pytest.raises(ConfigurationError, match="False for none"):
        settings.cache_dir(wrong)  # type: ignore[arg-type]


def test_a_cache_folder_that_cannot_be_made_is_refused(tmp_path) -> None:
    """A path below a file cannot be a folder; the message names it."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="cache folder"):
        settings.cache_dir(tmp_path / "file" / "below")


def test_the_state_folder_is_private_and_the_users_own(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2P_STATE_DIR names it, the default is the user's own; its mode is 0700 once something is saved there."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "a" / "b"))
    assert settings.state_dir() == tmp_path / "a" / "b"
    assert not (tmp_path / "a").exists()
    assert settings.private_state_dir() == tmp_path / "a" / "b"
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
    monkeypatch.delenv("P2P_STATE_DIR")
    monkeypatch.setattr("platformdirs.user_state_dir", lambda name, *, appauthor: str(tmp_path / name))
    assert settings.state_dir() == tmp_path / "p2p_analytics"


@pytest.mark.parametrize(("said", "private"), [("1", True), (" 1 ", True), ("0", False), ("", False)])
def test_the_environment_says_whether_it_is_private(
    said: str, monkeypatch: pytest.MonkeyPatch, *, private: bool
) -> None:
    """P2P_PRIVACY is the default of the argument."""
    monkeypatch.setenv("P2P_PRIVACY", said)
    assert settings.privacy() is private
    assert settings.privacy(not private) is not private


def test_strict_privacy_is_a_mode_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """P2P_PRIVACY=strict or the argument turns it on, and the argument wins; other words are refused."""
    monkeypatch.setenv("P2P_PRIVACY", "strict")
    assert settings.privacy() == "strict"
    assert settings.privacy(value=True) is True
    monkeypatch.setenv("P2P_PRIVACY", "1")
    assert settings.privacy("strict") == "strict"
    monkeypatch.setenv("P2P_PRIVACY", "Strict")
    with pytest.raises(ConfigurationError, match="P2P_PRIVACY is 1 for privacy mode, strict for the strict one, or 0"):
        settings.privacy()
    for wrong in ("1", "days", 1):
        with pytest.raises(ConfigurationError, match="privacy is True"):
            settings.privacy(wrong)
