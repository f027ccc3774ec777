"""The command demo writes what the sandbox holds, privately, and nothing where it fails."""

from __future__ import annotations

import os
import signal
import stat
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import requests

from p2p_analytics import cli
from p2p_analytics.cli import _demo
from p2p_analytics.export import read_csv
from p2p_analytics.frames import schema
from p2p_analytics.sandbox import SandboxServer

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator

FILES = {
    "report.html", "payments.csv", "people.csv", "friends.csv",
    "spend_by_friend.png", "status_mix.png", "pending_ageing.png", "monthly_flow.png",
}  # fmt: skip
SMALL = "--years 1 --people 4 --seed 3 --progress none"


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    """Forget the figures: pyplot keeps them, and warns when they are many."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the demo once, in a folder that does not exist yet; return the folder and all that was printed."""
    out = tmp_path_factory.mktemp("demo") / "new" / "out"
    shown: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout.write", shown.append)
        patch.setattr("sys.stderr.write", shown.append)
        assert cli.main(["demo", "--out", str(out), "--years", "1", "--seed", "11"]) == 0
    return out, "".join(shown)


@pytest.fixture(scope="module")
def town() -> tuple[str, list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the viewer's id, and payments and friends as the same town's sandbox lists them."""
    with SandboxServer(11, years=1) as server:
        token = server.token(server.viewer)
        me = _get(f"{server.base_url}/me", token)["data"]["user"]
        payments = _list_all(f"{server.base_url}/payments?limit=50", token)
        friends = _list_all(f"{server.base_url}/users/{me['id']}/friends?limit=50", token)
    return me["id"], payments, friends


def _get(url: str, token: str) -> dict[str, Any]:
    answer = requests.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=20)
    answer.raise_for_status()
    body: dict[str, Any] = answer.json(parse_float=Decimal)
    return body


def _list_all(url: str, token: str) -> list[dict[str, Any]]:
    """Return every item of a list, going one second back at each page so that no tie is lost."""
    items: dict[str, dict[str, Any]] = {}
    while url:
        page = _get(url, token)
        items |= {item["id"]: item for item in page["data"]}
        following = page["pagination"]["next"]
        if following and "before=" in following and page["data"]:
            moment = pd.Timestamp(page["data"][-1]["date_created"].rstrip("Z")).floor("s") + pd.Timedelta(seconds=1)
            head, _, tail = following.partition("before=")
            following = f"{head}before={moment.isoformat()}{'&' + tail.partition('&')[2] if '&' in tail else ''}"
        url = "" if following == url else following
    return list(items.values())


def test_every_file_is_there_private_and_whole(demo) -> None:
    """A report, three CSV files and four plots, readable by their owner alone; no other file, and no moving bar."""
    out, shown = demo
    assert {path.name for path in out.iterdir()} == FILES
    assert {stat.S_IMODE(path.stat().st_mode) for path in out.iterdir()} == {0o600}
    page = (out / "report.html").read_text("utf-8")
    assert (page[:15].lower(), page.rstrip()[-7:]) == ("<!doctype html>", "</html>")
    for path in out.glob("*.png"):
        content = path.read_bytes()
        assert (content[:8], content[-8:]) == (b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82")
        assert int.from_bytes(content[16:20]) > 500
    assert (shown.count("Loading payments ...\n"), "\r" in shown) == (1, False)
    assert all(name in shown for name in (str(out), *FILES))


def test_the_csv_files_hold_the_town(demo, town) -> None:
    """Every payment, friend and person that the service lists is in the files, once."""
    (out, _), (_, items, others) = demo, town
    payments, friends, people = (read_csv(out / f"{name}.csv") for name in ("payments", "friends", "people"))
    assert [*payments] == [*schema.PAYMENTS]
    found = payments[["payment_id", "amount_cents", "note", "status"]].itertuples(index=False, name=None)
    expected = [(each["id"], int(abs(each["amount"] * 100)), each["note"], each["status"]) for each in items]
    assert sorted((name, abs(cents), *rest) for name, cents, *rest in found) == sorted(expected)
    assert sorted(friends["user_id"]) == sorted(each["id"] for each in others)
    users = [user for each in items for user in (each["actor"], each["target"]["user"]) if user]
    assert sorted(people["user_id"]) == sorted({user["id"] for user in (*users, *others)})


def test_the_summary_is_right(demo, town) -> None:
    """Counts, sums and open requests equal plain sums over the raw JSON."""
    (_, shown), (viewer, payments, friends) = demo, town
    sums: Counter[str] = Counter()
    for item in payments:
        is_out = (item["actor"]["id"] == viewer) == (item["action"] == "pay")
        place = f"{item['status']} {'out' if is_out else 'in'}"
        sums += {place: abs(Decimal(item["amount"])), f"{place} count": 1}
    sent, received = sums["settled out"], sums["settled in"]
    assert received < sent
    assert f"{len(payments):,} payments" in shown
    assert f"{len(friends):,} friends" in shown
    assert f"sent ${sent:,.2f}, received ${received:,.2f}, net -${sent - received:,.2f}" in shown
    assert (
        f"open: {sums['pending in count']} worth ${sums['pending in']:,.2f} to come in, "
        f"{sums['pending out count']} worth ${sums['pending out']:,.2f} to go out"
    ) in shown


@pytest.mark.usefixtures("draw_nothing")
@pytest.mark.parametrize(("way", "steps"), [("none", []), ("log", ["Building", "Loading", "Drawing"])])
def test_another_person_and_progress(run, way: str, steps: list[str]) -> None:
    """Any person of the town can sign in, with or without an @; `log` writes a line for each step."""
    Path("out").mkdir()
    Path("out/payments.csv").write_text("of a run before")
    code, out, err = run(f"demo --out out --years 1 --people 3 --person @tom-ohara --progress {way}")
    assert (code, "(@tom-ohara)" in out) == (0, True)
    assert [line.split()[0] for line in err.splitlines() if line.endswith(" ...")] == steps
    payments = read_csv("out/payments.csv")
    assert ((payments["actor_username"] == "tom-ohara") | (payments["target_user_username"] == "tom-ohara")).all()


@pytest.mark.usefixtures("draw_nothing")
def test_statement_files_give_the_sums_of_the_list(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent, received and open requests are those of a demo that signs in; this one does not, and keeps its files."""
    wanted = run(f"demo --out town {SMALL}").out.splitlines()
    monkeypatch.setattr("p2p_analytics.sandbox.SandboxServer.sign_in", lambda *_: pytest.fail("signed in"))
    monkeypatch.setattr("p2p_analytics.sandbox.SandboxServer.token", lambda *_: pytest.fail("took a token"))
    code, out, _ = run(f"demo --statements --out out {SMALL}")
    shown = out.splitlines()
    assert (code, shown[1]) == (0, "Maya Lindqvist (@maya-lindqvist)")
    assert shown[3:5] == wanted[3:5]
    assert shown[2].split(",")[0] == wanted[2].split(",")[0]  # the number of payments
    assert "other transactions" in shown[2]
    assert {path.name for path in Path("out").iterdir()} == FILES | {"statements", "reconciliation.png"}
    files = sorted(Path("out/statements").iterdir())
    assert (files[0].name, len(files)) == ("maya-lindqvist_2024-06-30_2024-09-27.csv", 5)
    assert {stat.S_IMODE(path.stat().st_mode) for path in files} == {0o600}
    assert [line for line in shown if line.startswith("  statements/ ") and line.endswith("  5 statement files")]


@pytest.mark.parametrize("mode", [pytest.param("", marks=pytest.mark.full), "strict"])
def test_privacy_keeps_no_statement_file(run, mode: str) -> None:
    """In privacy mode the statement files are removed, and no file has a name of the town."""
    code, shown, _ = run(f"demo --statements --out out {SMALL} --privacy {mode}")
    assert (code, "statements/" in shown) == (0, False)
    assert {path.name for path in Path("out").iterdir()} == FILES | {"reconciliation.png"}
    texts = [path.read_text("utf-8") for path in Path("out").iterdir() if path.suffix != ".png"]
    assert any("transfer" in text for text in texts)
    names = ("maya-lindqvist", "Lindqvist", "Haddad", "O'Hara")
    assert [name for name in names for text in (*texts, shown) if name in text] == []


# ---- failures


def test_a_failure_leaves_the_files_of_the_run_before(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When one plot cannot be drawn, no file has changed."""
    Path("report.html").write_text("old")
    monkeypatch.setattr("p2p_analytics.plots.monthly_flow", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("demo --out . --years 1 --people 3")
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("report.html", "old")]


@pytest.mark.parametrize("way", ["", "--statements"])
def test_an_unknown_person(run, way: str) -> None:
    """The error lists some known ones; a folder that was made for nothing goes again, and one that was there stays."""
    for out in ("new", "."):
        code, _, err = run(f"demo --out {out} --years 1 --people 3 --person no-such-person {way}")
        last = err.splitlines()[-1]
        assert (code, last.startswith("p2p-analytics: No person of this town has the username")) == (1, True)
        assert "maya-lindqvist" in last
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("out", "reason"), [("file", "it is a file"), ("file/out", "not a directory"), ("/proc/self/out", "")]
)
def test_a_folder_that_cannot_be_written(run, out: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found before the sandbox is built, also where only the file system refuses, as to the superuser."""
    Path("file").write_text("mine")
    monkeypatch.setattr("p2p_analytics.sandbox.SandboxServer.__enter__", lambda _self: pytest.fail("work had begun"))
    code, printed, err = run(f"demo --out {out}")
    assert (code, printed, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"p2p-analytics: Cannot write into {out}: {reason}")
    assert Path("file").read_text() == "mine"


def test_a_privacy_mode_that_is_none_is_refused_first(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """P2P_PRIVACY=maybe is one sentence before any town is built, and leaves no folder."""
    monkeypatch.setenv("P2P_PRIVACY", "maybe")
    said = "p2p-analytics: P2P_PRIVACY is 1 for privacy mode, strict for the strict one, or 0, and nothing else.\n"
    assert run("demo --out out") == (1, "", said)
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("at", [1, 3])
def test_an_interrupt_that_python_swallowed_still_ends_the_demo(run, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Ctrl-C while an object is cleaned away raises nothing that is seen; it is asked for between the steps."""
    asked: list[bool] = []
    plain = _demo.run_command

    def run_command(options) -> None:
        options.interrupted = lambda: asked.append(True) or len(asked) >= at
        plain(options)

    monkeypatch.setattr(_demo, "run_command", run_command)
    assert run("demo --out out --people 3 --years 1")[:2] == (130, "")
    assert (len(asked), Path("out").exists()) == (at, False)


@pytest.mark.full
def test_ctrl_c_stops_the_demo(tmp_path: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    """Ctrl-C in the middle of the load: exit code 130, one line, no traceback, no file."""
    process = start("demo", "--out", str(tmp_path), "--people", "60", "--years", "20")
    assert next(line for line in process.stderr if line.startswith("Loading"))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "\np2p-analytics: stopped.\n")
    assert os.listdir(tmp_path) == []  # noqa: PTH208 - names alone
