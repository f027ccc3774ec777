"""The page through which the browser is opened: private, deleted afterwards, and shown in no process list."""

import html
import os
import re
import shlex
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path
from unittest.mock import Mock
from urllib.parse import urlsplit

import pytest

from p2p_analytics.auth import browser as _browser
from support.waiting import wait_until

BROWSER = """
import os, sys
from pathlib import Path
record = Path(os.environ["RECORD"])
record.with_suffix(".new").write_text("\\n".join(sys.argv))
record.with_suffix(".new").replace(record)
"""


def test_no_process_list_shows_where_the_browser_is_sent(server, start, tmp_path, monkeypatch) -> None:
    """The browser is given a page that only its owner reads; the nonce is in no argument, the page gone at the end."""
    (tmp_path / "browser.py").write_text(BROWSER)
    record = tmp_path / "seen.json"
    monkeypatch.setenv("RECORD", str(record))
    monkeypatch.setenv("BROWSER", f"{shlex.join([sys.executable, str(tmp_path / 'browser.py')])} %s")
    monkeypatch.setenv("HOME", str(tmp_path))
    process = start("login", stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=os.environ, umask=0)
    wait_until(lambda: record.exists() or process.poll() is not None)
    arguments = record.read_text()
    page = Path(urlsplit(arguments.splitlines()[-1]).path)
    assert [path.stat().st_mode & 0o777 for path in (page, page.parent)] == [0o600, 0o700], arguments
    assert [*tmp_path.glob("*/sign-in.html")] == [page]
    address = html.unescape(re.findall(r"url=([^\"]*)", page.read_text())[0])
    nonce = re.findall(r"callback%2F([0-9a-f]{32})", address)[0]
    listed = Path(f"/proc/{process.pid}/cmdline").read_text()
    assert (nonce in listed + arguments, "p2p_analytics" in listed) == (False, True)
    with urllib.request.urlopen(server.sign_in(address, server.viewer), timeout=20) as shown:  # noqa: S310 - loopback
        assert b"You are signed in" in shown.read()
    output, _ = process.communicate(timeout=20)
    assert process.returncode == 0, output
    assert nonce in output, "for who opens the address by hand"
    assert "If the browser shows no page to sign in at, open the address above" in output
    assert not page.parent.exists()


def test_the_page_of_a_killed_sign_in_is_removed_by_the_next(
    server, browser: list[str], run, tmp_path, monkeypatch
) -> None:
    """Only old pages of ours go: neither a fresh one, nor one with other files, nor a link, nor another's page."""
    monkeypatch.setenv("HOME", str(tmp_path))
    own = _browser._PAGE.format(address="http://127.0.0.1/x")
    kept = {"p2p-sign-in-fresh000", "p2p-sign-in-more0000", "p2p-sign-in-other000", "p2p-sign-in-link0000",
            "p2p-sign-in-linked00", "p2p-sign-in-Notours0", "p2p-sign-in-toolong00", "p2p-sign-in-folder00",
    }  # fmt: skip
    for name in kept - {"p2p-sign-in-linked00"} | {"p2p-sign-in-killed_0", "elsewhere"}:
        page = tmp_path / name / "sign-in.html"
        page.parent.mkdir()
        if "link" in name:
            page.symlink_to(tmp_path / "elsewhere" / "sign-in.html")
        elif "folder" in name:
            page.mkdir()
        else:
            page.write_text("<!doctype html><title>mine</title>" if "other" in name else own)
        if "fresh" not in name:
            os.utime(page, (0, 0), follow_symlinks=False)
    (tmp_path / "p2p-sign-in-more0000" / "notes.txt").write_text("mine")
    (tmp_path / "p2p-sign-in-linked00").symlink_to(tmp_path / "elsewhere")
    assert run("login").code == 0
    assert {path.name for path in tmp_path.glob("p2p-sign-in-*")} == kept
    assert (tmp_path / "elsewhere" / "sign-in.html").read_text() == own


def test_a_home_that_cannot_be_written(server, browser: list[str], run, tmp_path, monkeypatch) -> None:
    """The page is then made where temporary files are."""
    monkeypatch.setenv("HOME", str(tmp_path / "none"))
    assert run("login").code == 0
    assert "You are signed in" in browser[-1]


def test_a_missing_browser(run, type_lines, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a display no browser is asked for, and one that fails is no error: the address is printed in any case."""
    monkeypatch.setattr("webbrowser.open", Mock(side_effect=webbrowser.Error))
    for display in ("", ":0"):
        monkeypatch.setenv("DISPLAY", display)
        type_lines("nothing useful")
        code, _, err = run("login --paste")
        assert (code, "No browser can be opened from here" in err, "/oauth/authorize?" in err) == (1, True, True)
