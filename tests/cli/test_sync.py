"""The commands sync and verify: load payments into an archive, compare it with the service, and say how many."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import Mock

import pytest

import p2p_analytics as p2p
from support.servers import sandbox_fixture

NEW = "There is no archive in a yet: this sync starts a new one there.\n"


server = sandbox_fixture(seed=7, people=5, years=9)  # more than 20 pages


@pytest.fixture
def town(server, monkeypatch: pytest.MonkeyPatch) -> p2p.sandbox.SandboxServer:
    """Return a town with the viewer's token in the environment."""
    monkeypatch.setenv("P2P_BASE_URL", server.base_url)
    monkeypatch.setenv("P2P_ACCESS_TOKEN", server.token(server.viewer))
    return server


def test_sync_and_sync_again(town, run) -> None:
    """The first sync is announced, because a mistyped name looks like one; a refresh says how much it reloaded."""
    code, out, err = run("sync a")
    count = len(p2p.open_archive("a").history().payments)
    assert (code, out, err) == (0, f"{count:,} new payments, 0 with another status, in a\n", NEW)
    assert run("sync a") == (0, "0 new payments, 0 with another status, in a\n", "")
    reloaded = f"{count:,} payments reloaded: 0 new payments, 0 with another status, in a\n"
    assert run("sync a --refresh") == (0, reloaded, "")


def test_damaged_files(town, run) -> None:
    """A damaged manifest does not make an archive new; broken tables are named, set aside and loaded again."""
    run("sync a")
    for damage in (Path.unlink, lambda path: path.write_bytes(b"{")):
        damage(Path("a/manifest.json"))
        assert not p2p.open_archive("a").is_new
        code, _, err = run("sync a")
        assert (code, "starts a new one" in err) == (0, False)
    (payments,), (people,) = Path("a").glob("payments-*"), Path("a").glob("people-*")
    count = len(p2p.open_archive("a").history().payments)
    for file, loss in (
        (payments, "its payments are loaded again"),
        (people, "all payments are loaded again; the earlier names of people (also_named) are lost"),
    ):
        file.write_bytes(b"")
        code, out, err = run("sync a")
        assert err.splitlines()[-1] == f"{file.name} was broken: it is set aside, and {loss}."
        assert out.startswith(f"{count:,} new payments") == (file is payments)


def test_an_interrupted_sync_prints_the_note_of_the_load(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C exits with 130 and prints the note of the load; without a token, nothing is made."""
    monkeypatch.setenv("P2P_BASE_URL", "https://service.invalid/v1")
    code, _, err = run("sync a")
    assert (code, err.count("\n"), list(Path().iterdir())) == (1, 1, [])
    interrupt = KeyboardInterrupt()
    interrupt.add_note("272 payments are kept, and the next load goes on from there.")
    monkeypatch.setattr(p2p.Archive, "sync", Mock(side_effect=interrupt))
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "made-up")
    kept = "stopped. 272 payments are kept, and the next load goes on from there."
    assert run("sync a") == (130, "", f"{NEW}\np2p-analytics: {kept}\n")


def test_summaries_as_json(town, run) -> None:
    """`--json` prints the documented keys of sync and verify, with the exit code of a difference."""
    code, out, err = run("sync a --json --progress none")
    count = len(p2p.open_archive("a").history().payments)
    counts = {"loaded": count, "added": count, "changed": 0}
    expected = {"archive": "a", "refresh": False, "since": None, **counts, "set_aside": []}
    assert (code, json.loads(out), err) == (0, expected, "")
    same = {"archive": "a", "agrees": True, "since": None, "missing": 0, "extra": 0, "changed": 0, "months": []}
    code, out, _ = run("verify a --json")
    assert (code, json.loads(out)) == (0, same)
    later = [{"date_created": datetime(2025, 1, 15, 12, second, tzinfo=UTC)} for second in (1, 2)]
    town.add_payments(town.viewer, later)
    code, out, _ = run("verify a --json")
    months = [{"month": "2025-01", "missing": 2, "extra": 0, "changed": 0}]
    assert (code, json.loads(out)) == (1, same | {"agrees": False, "missing": 2, "months": months})


def test_progress_in_a_log(town, run) -> None:
    """`--progress log` writes lines without control characters to standard error, `none` nothing."""
    lines = run("sync a --progress log").err.removeprefix(NEW)
    assert re.fullmatch(r"Loading payments into a \.\.\.\n(?:[\d,]+ payments loaded\n)+", lines)
    assert run("sync b --progress none").err == ""


def test_sync_since_a_date(town, run) -> None:
    """The summaries of sync and verify say which payments are not loaded, until a sync without a date loads them."""
    left_out = "Payments made before 2024-08-01 are not loaded, except pending ones."
    assert run("sync a --since 2024-08-01").out.splitlines()[1] == left_out
    assert run("verify a").out.splitlines() == ["a and the service agree.", left_out]
    assert json.loads(run("sync a --since 2024-09-01 --json").out)["since"] == "2024-08-01T00:00:00Z"
    assert "not loaded" not in run("sync a").out
    assert p2p.open_archive("a").history().payments["date_created"].min().year < 2024
    code, _, err = run("sync a --since 2024-01-01 --refresh")
    assert (code, "leave out --since, or --refresh" in err) == (2, True)
