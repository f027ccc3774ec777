"""The page through which the browser is opened: private, deleted afterwards, and shown in no process list."""

from __future__ import annotations

import contextlib
import html
import json
import os
import re
import subprocess
import sys
import urllib.request
import webbrowser
from pathlib import Path

import pytest

from p2p_analytics.auth import browser as _browser
from support.waiting import wait_until

BROWSER = """
import json, os, sys
from pathlib import Path
from urllib.parse import urlsplit
page = Path(urlsplit(sys.argv[-1]).path)
seen = {"argv": sys.argv, "page": str(page), "modes": [], "text": "", "listed": ""}
if page.exists():
    seen |= {"modes": [path.stat().st_mode & 0o777 for path in (page, page.parent)], "text": page.read_text()}
for process in Path("/proc").glob("[0-9]*/cmdline"):
    try:
        seen["listed"] += process.read_text()
    except OSError:
        pass
record = Path(os.environ["RECORD"])
record.with_suffix(".new").write_text(json.dumps(seen))
record.with_suffix(".new").replace(record)
"""


def test_no_process_list_shows_where_the_browser_is_sent(server, tmp_path, monkeypatch) -> None:
    """The browser is given a page that only its owner reads; the nonce is in no argument, the page gone at the end."""
    (tmp_path / "browser.py").write_text(BROWSER)
    record = tmp_path / "seen.json"
    monkeypatch.setenv("RECORD", str(record))
    monkeypatch.setenv("BROWSER", f"{sys.executable} {tmp_path / 'browser.py'} %s")
    monkeypatch.setenv("HOME", str(tmp_path))
    command = [sys.executable, "-m", "p2p_analytics", "login"]
    with (
        subprocess.Popen(  # noqa: S603 - our own interpreter and words
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, umask=0
        ) as process,
        contextlib.ExitStack() as stack,
    ):
        stack.callback(process.kill)
        wait_until(lambda: record.exists() or process.poll() is not None)
        seen = json.loads(record.read_text())
        assert seen["modes"] == [0o600, 0o700], seen["argv"]
        assert [path.parent for path in tmp_path.glob("*/sign-in.html")] == [Path(seen["page"]).parent]
        address = html.unescape(re.findall(r"url=([^\"]*)", seen["text"])[0])
        nonce = re.findall(r"callback%2F([0-9a-f]{32})", address)[0]
        assert nonce not in seen["listed"] + str(seen["argv"])
        assert "p2p_analytics" in seen["listed"]
        with urllib.request.urlopen(server.sign_in(address, server.viewer), timeout=20) as page:  # noqa: S310 - loopback
            assert b"You are signed in" in page.read()
        output = process.stdout.read()
        assert process.wait(20) == 0, output
    assert nonce in output, "for who opens the address by hand"
    assert "If the browser shows no page to sign in at, open the address above" in output
    assert not Path(seen["page"]).parent.exists()


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


@pytest.mark.parametrize("display", ["", ":0"])
def test_a_missing_browser(run, type_lines, monkeypatch: pytest.MonkeyPatch, display: str) -> None:
    """Without a display no browser is asked for, and one that fails is no error: the address is printed in any case."""

    def fail(_address: str) -> bool:
        raise webbrowser.Error

    monkeypatch.setattr("webbrowser.open", fail)
    monkeypatch.setenv("DISPLAY", display)
    type_lines("nothing useful")
    code, _, err = run("login --paste")
    assert (code, "No browser can be opened from here" in err, "/oauth/authorize?" in err) == (1, True, True)
