"""The commands sync, export and report: from a service to an archive, and from there on without a token."""

from __future__ import annotations

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics import cli


@pytest.fixture
def town(monkeypatch):
    """Serve a town, with the viewer's token in the environment."""
    with p2p.sandbox.SandboxServer(seed=7) as server:
        monkeypatch.setenv("P2P_BASE_URL", server.base_url)
        monkeypatch.setenv("P2P_ACCESS_TOKEN", server.token(server.viewer))
        yield server


@pytest.fixture
def archive_path(tmp_path, history_of, payment) -> str:
    """Return the path of an archive of two payments."""
    pending = payment(2, status="pending", action="charge", date_created="2024-05-31T23:30:00", note="rent")
    p2p.open_archive(tmp_path / "a").merge(history_of(payment(1), pending))
    return str(tmp_path / "a")


def test_sync_and_sync_again(town, tmp_path, capsys) -> None:
    """It says how much is new, and names what was broken."""
    folder = str(tmp_path / "a")
    assert cli.main(["sync", folder]) == 0
    count = len(p2p.open_archive(folder).history().payments)
    assert capsys.readouterr().out == f"{count} new payments, 0 with another status, in {folder}\n"
    (file,) = (tmp_path / "a").glob("payments-*")
    file.write_bytes(b"")
    assert cli.main(["sync", folder]) == 0
    said = capsys.readouterr()
    assert f"{file.name} was broken" in said.err
    assert said.out.startswith(f"{count} new payments")


def test_a_sync_that_is_stopped_says_what_is_kept(tmp_path, capsys, monkeypatch) -> None:
    """Ctrl-C ends with 130 and the note of the load."""

    def interrupt(*_: object, **__: object) -> None:
        interrupt = KeyboardInterrupt()
        interrupt.add_note("272 payments are kept, and the next load goes on from there.")
        raise interrupt

    monkeypatch.setattr("p2p_analytics.archive.Archive.sync", interrupt)
    monkeypatch.setenv("P2P_BASE_URL", "https://service.invalid/v1")
    monkeypatch.setenv("P2P_ACCESS_TOKEN", "made-up")
    assert cli.main(["sync", str(tmp_path / "a")]) == 130
    kept = "stopped. 272 payments are kept, and the next load goes on from there."
    assert capsys.readouterr().err == f"\np2p-analytics: {kept}\n"


def test_sync_without_a_token(tmp_path, capsys, monkeypatch) -> None:
    """One line, and no folder."""
    monkeypatch.setenv("P2P_BASE_URL", "https://service.invalid/v1")
    assert cli.main(["sync", str(tmp_path / "a")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_export_payments(archive_path, tmp_path, capsys) -> None:
    """As CSV and as Parquet, the rows of the archive, and a line that says so."""
    for name, read in (("p.csv", p2p.read_csv), ("p.parquet", p2p.read_parquet)):
        assert cli.main(["export", archive_path, str(tmp_path / name)]) == 0
        assert capsys.readouterr().out == f"2 rows of payments, in {tmp_path / name}\n"
        assert read(tmp_path / name)["payment_id"].tolist() == ["2", "1"]


@pytest.mark.parametrize(
    ("table", "column", "values"),
    [
        ("friends", "user_id", ["8"]),
        ("problems", "payment_id", []),
        ("spend_by_friend", "sent", [5.0]),
        ("monthly_flow", "month", ["2024-05"]),
        ("status_mix", "status", ["pending", "settled"]),
        ("pending_ageing", "payments", [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
        ("pending_requests", "age_days", [3.0]),
    ],
)
def test_export_a_table(archive_path, tmp_path, table, column, values) -> None:
    """Friends, problems and each analysis, as of the date that is given."""
    out = tmp_path / "t.parquet"
    assert cli.main(["export", archive_path, str(out), "--table", table, "--as-of", "2024-06-03T23:30:00"]) == 0
    assert pd.read_parquet(out)[column].tolist() == values


def test_report(archive_path, tmp_path, capsys) -> None:
    """One HTML file, with months in the zone that is given, and nothing real in privacy mode."""
    out = tmp_path / "r.html"
    assert cli.main(["report", archive_path, "--out", str(out), "--tz", "America/New_York"]) == 0
    assert capsys.readouterr().out == f"The report of 2 payments, in {out}\n"
    assert "rent" in out.read_text()
    assert cli.main(["report", archive_path, "--out", str(out), "--privacy"]) == 0
    assert ">rent<" not in out.read_text()


@pytest.mark.parametrize(
    ("words", "strict"),
    [
        (["--privacy", "ARCHIVE"], False),
        (["ARCHIVE", "--privacy"], False),
        (["ARCHIVE", "--privacy", "strict"], True),
        (["--privacy", "strict", "ARCHIVE"], True),
        (["--privacy=strict", "ARCHIVE"], True),
    ],
)
def test_privacy_takes_no_word_but_strict(archive_path, tmp_path, words, strict) -> None:
    """With or without it, and wherever the archive's name stands, which is not taken for the mode."""
    out = tmp_path / "r.html"
    words = [archive_path if word == "ARCHIVE" else word for word in words]
    assert cli.main(["report", *words, "--out", str(out), "--tz", "Pacific/Auckland"]) == 0
    said = "Strict privacy mode: " if strict else "Privacy mode: "
    assert said in out.read_text()
    assert "the zone UTC" in out.read_text()


def test_a_privacy_mode_that_is_none_is_wrong_use(archive_path, tmp_path, capsys) -> None:
    """It ends with 2 and says which there are, and nothing is written."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["report", archive_path, "--privacy=weak", "--out", str(tmp_path / "r.html")])
    assert caught.value.code == 2
    assert "weak is no privacy mode: write --privacy or --privacy strict" in capsys.readouterr().err
    assert not (tmp_path / "r.html").exists()


@pytest.mark.parametrize(("mode", "bands"), [([], "under 1 day"), (["strict"], "under 31 days")])
def test_tables_in_privacy_mode(archive_path, tmp_path, mode, bands) -> None:
    """Months are UTC's whatever the zone; ages are in bands of days or of months."""
    out = tmp_path / "t.parquet"
    private, plain = ["--privacy", *mode], ["--table", "monthly_flow", "--tz", "Pacific/Kiritimati"]
    assert cli.main(["export", archive_path, str(out), *plain, *private]) == 0
    real = p2p.open_archive(archive_path).history(privacy=False).payments
    assert pd.read_parquet(out)["month"].tolist() == p2p.monthly_flow(real)["month"].tolist()
    assert cli.main(["export", archive_path, str(out), "--table", "pending_ageing", *private]) == 0
    assert bands in pd.read_parquet(out)["band"].tolist()


def test_wrong_use(archive_path, tmp_path, capsys) -> None:
    """A file of another kind ends with 2; a folder that is no archive with 1 and one line."""
    with pytest.raises(SystemExit) as caught:
        cli.main(["export", archive_path, "payments.xlsx"])
    assert caught.value.code == 2
    assert "neither in .csv nor in .parquet" in capsys.readouterr().err
    for option, wrong, said in (("--tz", "Foo", "no zone name"), ("--as-of", "yesterday", "no date")):
        with pytest.raises(SystemExit) as caught:
            cli.main(["export", archive_path, str(tmp_path / "p.csv"), option, wrong])
        assert caught.value.code == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "p.csv").exists()
    assert cli.main(["report", str(tmp_path / "none")]) == 1
    assert "no archive" in capsys.readouterr().err
