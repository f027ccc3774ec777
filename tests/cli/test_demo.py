"""The command demo writes what the sandbox holds, privately, and nothing where it fails."""

import contextlib
import io
import re
import signal
import stat
from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.export import read_csv
from p2p_analytics.frames import schema

ROOT = Path(__file__).parents[2]
PLOTS = ["spend_by_friend", "status_mix", "pending_ageing", "monthly_flow"]
FILES = {"report.html", "payments.csv", "people.csv", "friends.csv", *(f"{name}.png" for name in PLOTS)}
SMALL = "--years 1 --people 4 --seed 3 --progress none"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """Run the demo once, in a folder that does not exist yet; return the folder and all that was printed."""
    out = tmp_path_factory.mktemp("demo") / "new" / "out"
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        assert cli.main(["demo", "--out", str(out), "--years", "1", "--seed", "11"]) == 0
    return out, shown.getvalue()


def test_every_file_is_there_private_and_whole(demo) -> None:
    """A report, CSV files and the documented plots, readable by their owner alone; no other file and no moving bar."""
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
    assert re.findall(r"`(\w+)\.png`", (ROOT / "docs" / "quick-start.md").read_text("utf-8")) == PLOTS
    assert "four plots as PNG files" in (ROOT / "README.md").read_text("utf-8")


def test_the_summary_is_that_of_the_files(demo) -> None:
    """Counts, sums and open requests equal plain sums over the rows of the CSV files."""
    out, shown = demo
    payments, friends, people = (read_csv(out / f"{name}.csv") for name in ("payments", "friends", "people"))
    assert [*payments] == [*schema.PAYMENTS]
    sums: Counter[str] = Counter()
    for status, side, cents in payments[["status", "direction", "amount_cents"]].itertuples(index=False, name=None):
        sums += {f"{status} {side}": abs(cents), f"{status} {side} count": 1}
    dollars = {place: Decimal(int(cents)) / 100 for place, cents in sums.items()}
    sent, received = dollars["settled out"], dollars["settled in"]
    opened = {
        side: f"{sums[f'pending {side} count']} worth ${dollars[f'pending {side}']:,.2f}" for side in ("in", "out")
    }
    assert (received < sent, set(friends["user_id"]) < set(people["user_id"])) == (True, True)
    assert f"{len(payments):,} payments" in shown
    assert f"{len(friends):,} friends" in shown
    assert f"sent ${sent:,.2f}, received ${received:,.2f}, net -${sent - received:,.2f}" in shown
    assert f"open: {opened['in']} to come in, {opened['out']} to go out" in shown


@pytest.mark.usefixtures("draw_nothing")
def test_another_person_and_progress(run) -> None:
    """Any person of the town can sign in, with or without an @; `log` writes a line for each step."""
    Path("out").mkdir()
    Path("out/payments.csv").write_text("of a run before")
    code, out, err = run("demo --out out --years 1 --people 3 --person @tom-ohara --progress log")
    assert (code, "(@tom-ohara)" in out) == (0, True)
    assert [line.split()[0] for line in err.splitlines() if line.endswith(" ...")] == ["Building", "Loading", "Drawing"]
    payments = read_csv("out/payments.csv")
    assert ((payments["actor_username"] == "tom-ohara") | (payments["target_user_username"] == "tom-ohara")).all()


@pytest.mark.usefixtures("draw_nothing")
def test_statement_files_give_the_sums_of_the_list(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sent, received and open requests are those of a demo that signs in; this one does not, and keeps its files."""
    signed_in = run(f"demo --out town {SMALL}")
    wanted = signed_in.out.splitlines()
    assert signed_in.err == "", "SMALL has --progress none"
    for name in ("sign_in", "token"):
        monkeypatch.setattr(p2p.sandbox.SandboxServer, name, lambda *_: pytest.fail("it signed in"))
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


@pytest.mark.usefixtures("draw_nothing")
def test_privacy_keeps_no_statement_file(run) -> None:
    """In privacy mode, which is named, the statement files are removed, and no file has a name of the town."""
    code, shown, _ = run(f"demo --statements --out out {SMALL} --privacy strict")
    assert (code, "statements/" in shown, "names and amounts are invented, dates are months" in shown) == (
        0,
        False,
        True,
    )
    assert {path.name for path in Path("out").iterdir()} == FILES | {"reconciliation.png"}
    texts = [path.read_text("utf-8") for path in Path("out").iterdir() if path.suffix != ".png"]
    assert any("transfer" in text for text in texts)
    names = ("maya-lindqvist", "Lindqvist", "Haddad", "O'Hara")
    assert [name for name in names for text in (*texts, shown) if name in text] == []


# ---- failures


def test_a_failure_leaves_the_files_of_the_run_before(run, monkeypatch: pytest.MonkeyPatch) -> None:
    """When one plot cannot be drawn, no file has changed."""
    Path("report.html").write_text("old")
    monkeypatch.setattr(p2p.plots, "to_image", lambda _plot, _table, kind, **_: b"<svg/>" if kind == "svg" else 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run("demo --out . --years 1 --people 3")
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("report.html", "old")]


def test_an_unknown_person(run) -> None:
    """The error lists some known ones; a folder that was made for nothing goes again, and one that was there stays."""
    for words in ("--out new", "--out . --statements"):
        code, _, err = run(f"demo {words} --years 1 --people 3 --person no-such-person")
        last = err.splitlines()[-1]
        assert (code, last.startswith("p2p-analytics: No person of this town has the username")) == (1, True)
        assert "maya-lindqvist" in last
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("out", "reason"), [("file", "it is a file"), ("file/out", "not a directory"), ("/proc/self/out", "")]
)
def test_what_is_refused_before_a_town_is_built(run, out: str, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that cannot be written to, also where only the file system refuses, and an unknown privacy mode."""
    Path("file").write_text("mine")
    monkeypatch.setattr(p2p.sandbox.SandboxServer, "__enter__", lambda _self: pytest.fail("work had begun"))
    code, printed, err = run(f"demo --out {out}")
    assert (code, printed, err.count("\n")) == (1, "", 1)
    assert err.startswith(f"p2p-analytics: Cannot write into {out}: {reason}")
    monkeypatch.setenv("P2P_PRIVACY", "maybe")
    said = "p2p-analytics: P2P_PRIVACY is 1 for privacy mode, strict for the strict one, or 0, and nothing else.\n"
    assert run("demo --out new") == (1, "", said)
    assert [(path.name, path.read_text()) for path in Path().iterdir()] == [("file", "mine")]


class Interrupting:
    """An object that receives Ctrl-C while it is cleaned away: Python swallows the exception."""

    def __del__(self) -> None:
        """Interrupt this process."""
        signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("draw_nothing")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    ("place", "name", "reached"),
    [
        (p2p.sandbox.SandboxServer, "sign_in", "Loading"),
        (p2p.sandbox.SandboxServer, "__exit__", "Loading"),
        (p2p.plots, "to_image", "Drawing"),
    ],
)
def test_an_interrupt_that_python_swallowed_still_ends_the_demo(
    run, monkeypatch, place, name: str, reached: str
) -> None:
    """Ctrl-C is noticed during the load, after it and before the first file is written: one line, and no folder."""
    call = getattr(place, name)
    monkeypatch.setattr(place, name, lambda *words, **given: Interrupting() and call(*words, **given))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        code, out, err = run("demo --out out --people 5 --years 9 --progress log")
    finally:
        signal.signal(signal.SIGINT, before)
    steps = [line.split()[0] for line in err.splitlines() if line.endswith(" ...")]
    assert (code, out, steps[-1], Path("out").exists()) == (130, "", reached, False)
    assert (err.splitlines()[-1], " payments loaded\n" in err) == ("p2p-analytics: stopped.", name != "sign_in")
