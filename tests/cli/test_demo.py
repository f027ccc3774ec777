"""The demo writes what the sandbox holds, privately, and shows no token."""

from __future__ import annotations

import stat
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import pandas as pd
import pytest
import requests

from p2p_analytics import auth, cli
from p2p_analytics.cli import _demo as demonstration
from p2p_analytics.export import read_csv
from p2p_analytics.frames import schema
from p2p_analytics.sandbox import SandboxServer, UnknownPersonError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILES = {
    "report.html", "payments.csv", "people.csv", "friends.csv",
    "spend_by_friend.png", "status_mix.png", "pending_ageing.png", "monthly_flow.png",
}  # fmt: skip


@dataclass
class Outcome:
    """What one run of the demo did."""

    out: Path
    shown: str
    token: str
    payments: list[dict[str, Any]]
    friends: list[dict[str, Any]]
    viewer: str


@pytest.fixture(autouse=True)
def _no_figures_left() -> Iterator[None]:
    """Forget the figures: pyplot keeps them, and warns when they are many."""
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """Run the demo once, in a folder that does not exist yet, and ask the same town's sandbox for its raw JSON."""
    tokens: list[str] = []

    def remember(address: str) -> auth.AccessToken:
        token = real(address)
        tokens.append(token.reveal())
        return token

    out = tmp_path_factory.mktemp("demo") / "new" / "out"
    real = auth.token_from_redirect
    shown: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demonstration, "token_from_redirect", remember)
        patch.setattr("sys.stdout.write", shown.append)
        patch.setattr("sys.stderr.write", shown.append)
        assert cli.main(["demo", "--out", str(out), "--years", "2", "--seed", "11"]) == 0
    with SandboxServer(11, years=2) as server:
        token = server.token(server.viewer)
        me = _get(f"{server.base_url}/me", token)["data"]["user"]
        payments = _all(f"{server.base_url}/payments?limit=50", token)
        friends = _all(f"{server.base_url}/users/{me['id']}/friends?limit=50", token)
    return Outcome(out, "".join(shown), tokens[0], payments, friends, me["id"])


def _get(url: str, token: str) -> dict[str, Any]:
    answer = requests.get(url, headers={"Authorization": f"Bearer {token}"}, timeout=20)
    answer.raise_for_status()
    body: dict[str, Any] = answer.json(parse_float=Decimal)
    return body


def _all(url: str, token: str) -> list[dict[str, Any]]:
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


def test_every_file_is_there_and_private(demo: Outcome) -> None:
    """A report, two CSV files and four plots, readable by their owner alone, and no other file."""
    assert {path.name for path in demo.out.iterdir()} == FILES
    assert {stat.S_IMODE(path.stat().st_mode) for path in demo.out.iterdir()} == {0o600}


def test_the_csv_files_hold_the_town(demo: Outcome) -> None:
    """Every payment and friend that the service lists is in the files, once, with its amount and note."""
    payments = read_csv(demo.out / "payments.csv")
    assert list(payments.columns) == list(schema.PAYMENTS)
    assert Counter(payments["payment_id"]) == Counter(item["id"] for item in demo.payments)
    expected = {item["id"]: (abs(item["amount"] * 100), item["note"], item["status"]) for item in demo.payments}
    found = {
        row.payment_id: (abs(row.amount_cents), row.note, row.status)
        for row in payments[["payment_id", "amount_cents", "note", "status"]].itertuples()
    }
    assert found == expected
    friends = read_csv(demo.out / "friends.csv")
    assert list(friends.columns) == list(schema.FRIENDS)
    assert set(friends["user_id"]) == {item["id"] for item in demo.friends}
    people = read_csv(demo.out / "people.csv")
    assert list(people.columns) == list(schema.PEOPLE)
    users = [user for item in demo.payments for user in (item["actor"], item["target"]["user"]) if user]
    assert sorted(people["user_id"]) == sorted({user["id"] for user in (*users, *demo.friends)})


def test_the_summary_is_right(demo: Outcome) -> None:
    """Counts, sums and open requests equal plain sums over the raw JSON."""
    sent = received = Decimal(0)
    open_in: list[Decimal] = []
    open_out: list[Decimal] = []
    for item in demo.payments:
        mine = item["actor"]["id"] == demo.viewer
        outwards = mine == (item["action"] == "pay")
        size = abs(Decimal(item["amount"]))
        if item["status"] == "settled":
            sent, received = (sent + size, received) if outwards else (sent, received + size)
        if item["status"] == "pending":
            (open_out if outwards else open_in).append(size)
    assert f"{len(demo.payments):,} payments" in demo.shown
    assert f"{len(demo.friends):,} friends" in demo.shown
    assert received < sent
    assert f"sent ${sent:,.2f}, received ${received:,.2f}, net -${sent - received:,.2f}" in demo.shown
    assert f"open: {len(open_in)} worth ${sum(open_in):,.2f} to come in, " in demo.shown
    assert f"to come in, {len(open_out)} worth ${sum(open_out):,.2f} to go out" in demo.shown
    assert str(demo.out) in demo.shown
    assert all(name in demo.shown for name in FILES)


def test_progress_is_one_quiet_line_without_a_terminal(demo: Outcome) -> None:
    """Logs get a line for each step and no moving bar."""
    assert demo.shown.count("Loading payments ...\n") == 1
    assert "\r" not in demo.shown


def test_no_token_anywhere(demo: Outcome) -> None:
    """The token of the sign-in is in nothing that was shown or written."""
    assert len(demo.token) > 20
    assert demo.token not in demo.shown
    assert not [path.name for path in demo.out.iterdir() if demo.token.encode() in path.read_bytes()]


def test_plots_are_pictures(demo: Outcome) -> None:
    """Each plot is a whole PNG of a size that shows something."""
    for path in demo.out.glob("*.png"):
        content = path.read_bytes()
        assert content.startswith(b"\x89PNG\r\n\x1a\n")
        assert content.endswith(b"IEND\xaeB`\x82")
        assert int.from_bytes(content[16:20]) > 500


def test_a_failure_leaves_the_files_of_the_run_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When one plot cannot be drawn, no file has changed."""
    (tmp_path / "report.html").write_text("old")
    monkeypatch.setattr("p2p_analytics.plots.monthly_flow", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cli.main(["demo", "--out", str(tmp_path), "--years", "1"])
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text() == "old"


def test_the_report_is_whole(demo: Outcome) -> None:
    """The report is one closed HTML page."""
    page = (demo.out / "report.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")


@pytest.mark.usefixtures("draw_nothing")
def test_the_same_town_gives_the_same_data(demo: Outcome, tmp_path: Path) -> None:
    """The same seed gives the same files, byte for byte, and writing again replaces them."""
    (tmp_path / "payments.csv").write_text("old")
    assert cli.main(["demo", "--out", str(tmp_path), "--years", "2", "--seed", "11"]) == 0
    for name in ("payments.csv", "people.csv", "friends.csv"):
        assert (tmp_path / name).read_bytes() == (demo.out / name).read_bytes()


@pytest.mark.usefixtures("draw_nothing")
def test_another_person(tmp_path: Path) -> None:
    """Any person of the town can sign in, with or without an @ before the name, and gets their own data."""
    with SandboxServer(7, years=1) as server:
        other = server.people[1]
    assert cli.main(["demo", "--out", str(tmp_path), "--years", "1", "--person", f"@{other.username}"]) == 0
    payments = read_csv(tmp_path / "payments.csv")
    assert len(payments) > 0
    assert ((payments["actor_id"] == other.user_id) | (payments["target_user_id"] == other.user_id)).all()


def test_an_interrupt_that_python_swallowed_still_ends_the_demo(tmp_path: Path) -> None:
    """Ctrl-C while an object is cleaned away raises nothing that is seen; it is asked for between the steps."""
    asked: list[bool] = []

    def is_interrupted() -> bool:
        asked.append(True)
        return len(asked) > 2

    with pytest.raises(KeyboardInterrupt):
        demonstration.run(tmp_path / "out", people=3, years=1, interrupted=is_interrupted)
    assert not (tmp_path / "out").exists()


def test_a_privacy_mode_that_is_neither_on_nor_off_is_refused_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """P2P_PRIVACY=maybe is one sentence before any town is built, and leaves no folder."""
    monkeypatch.setenv("P2P_PRIVACY", "maybe")
    assert cli.main(["demo", "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr() == (
        "", "p2p-analytics: P2P_PRIVACY is 1 for privacy mode, strict for the strict one, or 0, and nothing else.\n",
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_no_empty_folder(tmp_path: Path) -> None:
    """A folder that was made for nothing goes again; one that was there stays."""
    for out in (tmp_path / "new", tmp_path):
        with pytest.raises(UnknownPersonError):
            demonstration.run(out, people=3, years=1, person="nobody")
    assert list(tmp_path.iterdir()) == []
