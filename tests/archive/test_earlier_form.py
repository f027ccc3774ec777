"""An archive that an earlier version wrote, with the profiles of people in the rows of payments, is read and converted.

The files in `earlier_form` were written by that version: five payments of Ada (7) with Bo (8, named Persson
in the oldest payment), Cleo (9) and the holder of an email address, in three files.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError
from p2p_analytics.frames.schema import PAYMENTS, PEOPLE


@pytest.fixture
def archive(tmp_path: Path) -> p2p.Archive:
    """Return a copy of the archive in the earlier form."""
    folder = tmp_path / "archive"
    shutil.copytree(Path(__file__).parent / "earlier_form", folder)
    return p2p.open_archive(folder)


def check(history: p2p.History) -> None:
    """Assert that the history is the one that the files were written from, in the present form."""
    payments, people = history.payments, history.people
    assert payments.dtypes.astype(str).to_dict() == dict(PAYMENTS)
    assert payments["payment_id"].tolist() == ["5", "4", "3", "2", "1"]
    assert payments["amount_cents"].tolist() == [500, 500, -1250, 725, 500]
    assert payments["counterparty_id"].tolist() == ["8", "dan@mail.example", "9", "8", "8"]
    assert payments["counterparty_username"].fillna("none").tolist() == [
        "bo-lund", "none", "cleo-adler", "bo-lund", "bo-lund",
    ]  # fmt: skip
    assert set(zip(payments["account_id"], payments["kind"], payments["currency"], strict=True)) == {
        ("7", "payment", "USD")
    }
    assert people.dtypes.astype(str).to_dict() == dict(PEOPLE)
    shown = people.set_index("user_id")
    assert shown["display_name"].to_dict() == {"7": "Ada Reyes", "8": "Bo Lund", "9": "Cleo Adler"}
    assert shown["also_named"].dropna().to_dict() == {"8": "Bo Persson"}
    assert shown["about"].to_dict() == {"7": "about ada-reyes", "8": "about bo-lund", "9": "about cleo-adler"}
    assert set(shown["date_joined"]) == {pd.Timestamp("2013-02-10T21:58:05Z")}
    assert shown.loc["7", ["email", "friends_count"]].tolist() == ["ada@mail.example", 1]
    assert shown["is_friend"].fillna(value=False).to_dict() == {"7": False, "8": True, "9": False}


def test_it_is_read_unchanged(archive) -> None:
    """Payments are in the present form, people are collected from the rows; no file changes."""
    before = {path.name: path.read_bytes() for path in archive.path.iterdir()}
    check(archive.history())
    assert {path.name: path.read_bytes() for path in archive.path.iterdir()} == before


def test_the_next_change_converts_every_file(archive, history_of, payment) -> None:
    """A merge rewrites all files, keeps every profile and state, and writes the file of people."""
    assert archive.merge(history_of(payment(5), payment("6", date_created="2024-04-01T00:00:00"))).added == 1
    manifest = json.loads((archive.path / "manifest.json").read_bytes())
    assert manifest["format"] == 3
    for entry in manifest["payments"]:
        assert "actor_about" not in pq.read_schema(archive.path / entry["name"]).names
    history = p2p.open_archive(archive.path).history()
    pending = history.payments[history.payments["status"] == "pending"]
    assert pending["payment_id"].tolist() == ["4", "3"]
    assert history.payments.set_index("payment_id").loc["5", ["fee_cents", "medium"]].tolist() == [25, "ios"]
    shown = history.people.set_index("user_id")
    assert shown.loc["9", "about"] == "about cleo-adler"
    assert shown.loc["8", "date_joined"] == pd.Timestamp("2013-02-10T21:58:05Z")
    assert archive.scan("polars").select("kind").unique().collect().to_series().to_list() == ["payment"]


def test_a_scan_asks_for_the_conversion(archive) -> None:
    """Engines read the files themselves, so files in the earlier form are refused in one sentence."""
    with pytest.raises(ArchiveError, match="written by an earlier p2p_analytics: sync it"):
        archive.scan("polars")


def test_payments_are_recovered_without_a_manifest(archive, history_of) -> None:
    """Without the manifest, payments and profiles come from the files, in the earlier form and after the conversion."""
    for _ in range(2):
        (archive.path / "manifest.json").unlink()
        archive.merge(history_of(friends=0))
        found = archive.history()
        assert found.payments["payment_id"].tolist() == ["5", "4", "3", "2", "1"]
        shown = found.people.set_index("user_id")
        assert shown.loc["9", ["display_name", "about"]].tolist() == ["Cleo Adler", "about cleo-adler"]
        assert shown.loc["9", "date_joined"] == pd.Timestamp("2013-02-10T21:58:05Z")
