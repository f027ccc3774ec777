"""Settings: the base address, certificates, the cache and state folders, privacy mode."""

import os
import stat

import pytest

from p2p_analytics import settings
from p2p_analytics.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("https://pay.example", "https://pay.example/v1"),
        ("https://pay.example/v1/", "https://pay.example/v1"),
        ("https://pay.example:8443/api", "https://pay.example:8443/api/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("  https://pay.example \n", "https://pay.example/v1"),
    ],
)
def test_the_version_path_is_added_where_it_is_missing(given: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The argument comes before P2P_BASE_URL, and without both there is no default host."""
    with pytest.raises(ConfigurationError, match="P2P_BASE_URL"):
        settings.base_url()
    monkeypatch.setenv("P2P_BASE_URL", given)
    assert settings.base_url() == used
    monkeypatch.setenv("P2P_BASE_URL", "https://other.example")
    assert settings.base_url(given) == used


@pytest.mark.parametrize(
    "given",
    [
        "http://pay.example", "http://127.0.0.1.pay.example", "http://10.0.0.1", "ftp://u:CANARY@pay.example", "CANARY",
        "https://", "https://user:CANARY@pay.example", "https://pay.example?x=1", "https://pay.example#x",
        "https://u:CANARY@pay.example:port", "https://pay.exa\\mple", "https://[::1", "app.example?access_token=CANARY",
    ],
)  # fmt: skip
def test_an_address_that_cannot_be_used_is_refused(given: str) -> None:
    """Https is required except on loopback; a token or password in the place of the address is not quoted."""
    with pytest.raises(ConfigurationError) as caught:
        settings.base_url(given)
    assert "CANARY" not in str(caught.value)


def test_certificates(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """REQUESTS_CA_BUNDLE precedes CURL_CA_BUNDLE; a missing file, or another thing, is an error at once."""
    for name in settings.CA_BUNDLE_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert settings.ca_bundle() is None
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path))
    assert settings.ca_bundle() == str(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    for name, reason in (("gone.pem", "does not exist"), ("pipe", "is neither a file nor a folder")):
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / name))
        with pytest.raises(ConfigurationError, match=f"REQUESTS_CA_BUNDLE names .*{name}, which {reason}"):
            settings.ca_bundle()


def test_the_folders_are_private(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """New folders and their new parents are 0700 under any umask; variables name them, the defaults are the user's."""
    monkeypatch.setenv("P2P_STATE_DIR", str(tmp_path / "c" / "d"))
    assert settings.state_dir() == tmp_path / "c" / "d"
    assert not (tmp_path / "c").exists()
    before = os.umask(0)
    try:
        folders = [settings.cache_dir(tmp_path / "a" / "b"), settings.private_state_dir()]
    finally:
        os.umask(before)
    assert folders == [tmp_path / "a" / "b", tmp_path / "c" / "d"]
    places = [place for folder in folders for place in (folder, folder.parent)]
    assert {stat.S_IMODE(place.stat().st_mode) for place in places} == {0o700}
    for name in ("P2P_STATE_DIR", "P2P_CACHE_DIR"):
        monkeypatch.delenv(name)
    for kind in ("state", "cache"):
        own = str(tmp_path / kind)
        monkeypatch.setattr(f"platformdirs.user_{kind}_dir", lambda name, *, appauthor, own=own: f"{own}/{name}")
    assert settings.state_dir() == tmp_path / "state" / "p2p_analytics"
    assert settings.cache_dir() == tmp_path / "cache" / "p2p_analytics"


@pytest.mark.parametrize(
    ("wrong", "message"), [(True, "False for none"), (5, "False for none"), ("file/below", "cache folder")]
)
def test_a_cache_folder_that_cannot_be_used(wrong: object, message: str, tmp_path, monkeypatch) -> None:
    """Only False turns the cache off; a path below a file cannot be a folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match=message):
        settings.cache_dir(wrong)  # type: ignore[arg-type]


def test_privacy_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    """P2P_PRIVACY is the default of the argument, which wins; other words are refused."""
    for said, mode in {"1": True, " 1 ": True, "0": False, "": False, "strict": "strict"}.items():
        monkeypatch.setenv("P2P_PRIVACY", said)
        assert [settings.privacy(value) for value in (None, True, False, "strict")] == [mode, True, False, "strict"]
    for wrong in ("1", "days", 1):
        with pytest.raises(ConfigurationError, match="privacy is True"):
            settings.privacy(wrong)
    monkeypatch.setenv("P2P_PRIVACY", "Strict")
    with pytest.raises(ConfigurationError, match="P2P_PRIVACY is 1 for privacy mode, strict for the strict one, or 0"):
        settings.privacy()
