"""Privacy mode from end to end: no secret in a file, plot, notebook or error, and a note wherever it is on."""

import base64
import re
import traceback
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.text import Text

import p2p_analytics as p2p
from p2p_analytics import plots, settings
from p2p_analytics.errors import ApiError, ConfigurationError, RecordError
from support.privacy.masking import (
    AS_OF,
    KEY,
    ME,
    SAYS_SO,
    SECRETS,
    SENT,
    STRANGE,
    STRANGE_SECRETS,
    artefacts_of,
    find_secrets,
    load,
    render_table,
)


def count_notes(made: dict[str, bytes]) -> set[int]:
    """Return how often privacy mode is named in the report, in each of its figures, and in card and repr."""
    figures = [base64.b64decode(part.partition(b'"')[0]) for part in made["report"].split(b"base64,")[1:]]
    assert len(figures) >= 6
    notes = {shown.count(SAYS_SO.encode()) for shown in (*figures, made["report"], made["card"])}
    return notes | {made["repr"].count(b"privacy mode")}


def test_nothing_private_is_in_anything(service, tmp_path: Path) -> None:
    """Every table, plot, page and file of a history that was loaded in privacy mode; each says once that it was."""
    service[1]["/v1/payments"]["data"] = [*SENT, *STRANGE][::-1]
    history = load(service, privacy=True, on_bad_record="report")
    assert history.private
    assert len(history.payments) == 15
    assert len(history.problems) == 5
    made = artefacts_of(history, tmp_path)
    assert len(made) > 60
    assert find_secrets(made, [*SECRETS, *STRANGE_SECRETS, str(tmp_path)]) == []
    assert count_notes(made) == {1}


@pytest.mark.full
def test_the_search_would_find_each_secret(service, tmp_path: Path) -> None:
    """Without privacy mode each of them is there, and nothing says that it is masked; so the search can fail."""
    service[1]["/v1/payments"]["data"] = [*SENT, *STRANGE][::-1]
    history = load(service, on_bad_record="report")
    year = p2p.render_year(history, as_of=AS_OF)  # in privacy mode by itself
    assert find_secrets({"year": year.encode()}, [*SECRETS, *STRANGE_SECRETS]) == []
    made = artefacts_of(history, tmp_path)
    assert count_notes(made) == {0}
    found = find_secrets(made, [*SECRETS, *STRANGE_SECRETS])
    assert {secret for _, secret in found} == {*SECRETS, *STRANGE_SECRETS}
    assert find_secrets({"explorer": made["explorer spend_by_friend 0"]}, [str(tmp_path)])
    assert {name for name, _ in found} >= {
        "repr", "me", "attributes", "card", "report", "reminders", "payments", "people", "friends", "problems",
        "payments.csv", "friends.csv", "spend_by_friend", "spend_by_friend.csv", "spend_by_friend.parquet",
        "spend_by_friend unpacked",
        "pending_requests", "spend_by_friend texts", "spend_by_friend svg none", "spend_by_friend svg path",
        "year in review", "year in Markdown",
        "pending_requests svg none", "monthly_flow", "explorer spend_by_friend 0", "explorer pending_requests 2",
    }  # fmt: skip


@pytest.mark.parametrize("strange", STRANGE, ids=lambda item: item["id"][-2:])
def test_an_error_of_a_load_quotes_nothing(service, strange: dict[str, Any]) -> None:
    """The sentence names the field and what to do, and not the value; without privacy mode it does quote it."""
    service[1]["/v1/payments"]["data"] = [strange]
    texts = []
    for privacy in (True, False):
        with pytest.raises(RecordError, match="on_bad_record") as caught:
            load(service, privacy=privacy)
        texts.append(f"{caught.value}{caught.value!r}{caught.value.args}{vars(caught.value)}".encode())
    assert find_secrets({"error": texts[0]}, [*SECRETS, *STRANGE_SECRETS]) == []
    assert len(find_secrets({"error": texts[1]}, STRANGE_SECRETS)) > 0
    assert b"cannot be read" in texts[0]


@pytest.mark.parametrize(
    ("at", "status"), [("/v1/me", 401), ("/v1/payments", 400), (f"/v1/users/{ME['id']}/friends", 403), ("/v1/me", 500)]
)
def test_an_error_of_a_load_quotes_no_words_of_the_service(service, at: str, status: int) -> None:
    """What the service says may name people; without privacy mode it is quoted."""
    refusal = (status, {}, {"error": {"message": "Wilhelmax owes Volodya.", "code": "Quuxmart"}})
    service[1][at] = refusal
    texts = []
    for privacy in (True, False):
        with pytest.raises(ApiError) as caught:
            load(service, privacy=privacy, max_attempts=1)
        told = "".join(traceback.format_exception(caught.value))
        texts.append(f"{told}{caught.value!r}{caught.value.args}{vars(caught.value)}".encode())
        assert caught.value.status_code == status
    assert find_secrets({"error": texts[0]}, SECRETS) == []
    assert {secret for _, secret in find_secrets({"error": texts[1]}, SECRETS)} == {"wilhelmax", "Volodya", "Quuxmart"}


def test_strict_mode_is_turned_on_everywhere(service, tmp_path: Path, monkeypatch) -> None:
    """By privacy="strict" or P2P_PRIVACY=strict: a load, an archive and both kinds of file show months."""
    # Under some random keys two people draw the same words, and are numbered by their order in the table.
    (settings.private_state_dir() / "privacy.key").write_bytes(KEY)
    history = load(service)
    archive = p2p.open_archive(tmp_path / "archive")
    archive.merge(history)
    p2p.to_csv(history.payments, tmp_path / "payments.csv")
    p2p.to_parquet(history.payments, tmp_path / "payments.parquet")
    expected = history.masked(strict=True).payments
    for privacy in ("strict", None):
        for payments in (
            load(service, privacy=privacy).payments,
            archive.history(privacy=privacy).payments,
            p2p.read_csv(tmp_path / "payments.csv", privacy=privacy),
            p2p.read_parquet(tmp_path / "payments.parquet", privacy=privacy),
        ):
            pd.testing.assert_frame_equal(payments, expected)
        monkeypatch.setenv("P2P_PRIVACY", "strict")


@pytest.mark.full
def test_strict_mode_shows_months_in_all_that_is_made(history, tmp_path: Path) -> None:
    """No day of a payment is in the card, the report, the explorer, plots and demo's tables; each says its mode."""
    days = [f"{day} May 2024" for day in range(2, 16)] + [f"2024-05-{day:02d}" for day in range(2, 16)]
    strict = history.masked(key=KEY, strict=True)
    made = artefacts_of(strict, tmp_path)
    assert find_secrets(made, [*SECRETS, *days]) == []
    report = p2p.render_report(strict, as_of=AS_OF, tz="America/New_York")
    assert report == p2p.render_report(strict, as_of=AS_OF)
    assert "11 payments of May 2024" in report
    assert "from May 2024 to May 2024" in strict._repr_html_()
    assert "Strict privacy mode: names and amounts are invented, dates are months" in strict._repr_html_()
    assert "Since</th>" in report
    since = re.search(r'data-label="Since" class="date" data-key="(\d+)">May 2024</td>', report)
    assert since
    assert pd.Timestamp(int(since[1]), unit="s") == pd.Timestamp("2024-05-01")  # the key to sort by
    assert "31 to 61 days" in report  # requests of May, counted from its first day to 30 June
    ordinary = p2p.render_report(history.masked(key=KEY), as_of=AS_OF)
    assert {secret for _, secret in find_secrets({"report": ordinary.encode()}, days)} >= {"4 May 2024", "5 May 2024"}


@pytest.mark.parametrize(("kind", "way"), [("csv", "argument"), ("parquet", "environment")])
def test_reading_a_file_masks_it(history, tmp_path: Path, monkeypatch, kind: str, way: str) -> None:
    """Each table of a real history, read in privacy mode: nothing private is in it, and payments are as loaded."""
    write, read = (p2p.to_csv, p2p.read_csv) if kind == "csv" else (p2p.to_parquet, p2p.read_parquet)
    tables = {name: getattr(history, name) for name in ("payments", "friends", "people", "problems")}
    tables["spend_by_friend"] = p2p.spend_by_friend(history.payments, history.friends)
    for name, table in tables.items():
        write(table, tmp_path / name)
    if way == "environment":
        monkeypatch.setenv("P2P_PRIVACY", "1")
    privacy = True if way == "argument" else None
    made = {name: render_table(read(tmp_path / name, privacy=privacy)) for name in tables}
    assert find_secrets(made, SECRETS) == []
    pd.testing.assert_frame_equal(read(tmp_path / "payments", privacy=privacy), history.masked().payments)
    pd.testing.assert_frame_equal(read(tmp_path / "payments", privacy=False), history.payments)


def test_the_environment_turns_it_on_and_the_argument_decides(service, monkeypatch) -> None:
    """P2P_PRIVACY=1 masks a load; privacy=False shows it; another word is refused before anything is sent."""
    monkeypatch.setenv("P2P_PRIVACY", "1")
    assert load(service).private
    assert not load(service, privacy=False).private
    monkeypatch.setenv("P2P_PRIVACY", "0")
    assert not load(service).private
    service[0].asked.clear()
    monkeypatch.setenv("P2P_PRIVACY", "yes please")
    with pytest.raises(ConfigurationError, match="P2P_PRIVACY is 1"):
        load(service)
    with pytest.raises(ConfigurationError, match="privacy is True"):
        load(service, privacy="no")
    assert service[0].asked == []


def test_a_private_history_stays_as_it_is(service) -> None:
    """Masked twice it would be other people's; loaded and masked, in one step or in two, it is the same."""
    private = load(service, privacy=True)
    assert private.masked() is private
    again = load(service).masked()
    for name in ("payments", "friends", "problems"):
        pd.testing.assert_frame_equal(getattr(private, name), getattr(again, name))
    assert private.me == again.me
    assert repr(private) == repr(again).replace(f"{again.fetched_at:%H:%M}", f"{private.fetched_at:%H:%M}")


@pytest.mark.parametrize(("name", "rows"), [("spend_by_friend", None), ("monthly_flow", None), ("status_mix", 0)])
def test_a_mark_hides_nothing(history, name: str, rows: int | None) -> None:
    """It is inside the figure, and on no other text that shows."""
    ax = plots.mark_private(getattr(plots, name)(getattr(p2p, name)(history.payments).iloc[:rows]))
    figure = ax.figure
    figure.draw_without_rendering()
    hidden = [] if ax.axison else ax.xaxis.findobj(Text) + ax.yaxis.findobj(Text)
    texts = [text for text in figure.findobj(Text) if text.get_text() and text not in hidden]
    boxes = {text.get_text(): text.get_window_extent() for text in texts}
    mark = boxes.pop(SAYS_SO)
    assert len(boxes) > 1
    assert [text for text, box in boxes.items() if mark.overlaps(box)] == []
    assert 0 <= mark.y0 < mark.y1 <= figure.bbox.y1
    assert 0 <= mark.x0 < mark.x1 <= figure.bbox.x1
