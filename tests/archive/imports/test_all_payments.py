"""Payments of the service and rows of statements as one frame, in memory and in the engines of a scan."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.merge_sources import merge_sources, rename_account
from p2p_analytics.frames.schema import PAYMENTS, STATEMENT
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of

ADA = Me(user=User(id="7", username="ada", display_name="Ada"))
TIMES = {"created_us": "date_created", "completed_us": "date_completed"}


def make_rows(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return fields of payments of the service, and rows of statements, of which about half are the same payments."""
    choose = random.Random(seed)  # noqa: S311 - rows of a test
    listed, stated = [], []
    for number in range(40):
        day = f"2024-{choose.randint(1, 6):02}-{choose.randint(1, 3):02}T12:00:00"
        direction, action = choose.choice(["in", "out"]), choose.choice(["pay", "charge"])
        status, person = choose.choice(["settled", "pending", "cancelled"]), choose.randint(8, 10)
        if choose.random() < 0.6:
            ada, other = {"id": "7", "display_name": "Ada"}, {"id": str(person), "display_name": f"Person {person}"}
            sides = (ada, other) if (direction == "out") == (action == "pay") else (other, ada)
            listed.append(
                {
                    "payment_id": number, "status": status, "action": action, "date_created": day,
                    "note": choose.choice([None, "rent"]), "actor": sides[0],
                    "target": {"type": "user", "user": sides[1]},
                }
            )  # fmt: skip
        if choose.random() < 0.7:
            fields = {
                "date": day, "direction": direction, "action": action, "status": choose.choice(["settled", status]),
                "fee_cents": choose.choice([None, 25]), "line": number,
            }  # fmt: skip
            if choose.random() < 0.2:
                fields |= {"kind": "transfer", "action": "pay", "counterparty_name": None}
            stated.append(row(number, choose.choice([f"Person {person}", "Cy"]), **fields))
    return listed, stated


@pytest.fixture(scope="module")
def archive_and_rows(tmp_path_factory, history_of, payment) -> tuple[Path, pd.DataFrame, list[dict[str, Any]]]:
    """Return the folder of an archive with both kinds of rows, the payments of the service, and the other rows."""
    listed, stated = make_rows(5)
    made = [payment(fields.pop("payment_id"), **fields) for fields in listed]
    history = replace(history_of(*made, account="7"), me=ADA)
    archive = p2p.open_archive(tmp_path_factory.mktemp("mixed") / "archive")
    archive.merge(history)
    archive.import_(statements_of(*stated))
    return archive.path, history.payments, stated


def test_the_history_is_the_merge_of_both(archive_and_rows) -> None:
    """The rule of `merge_sources`, which works on pandas frames, gives the same rows, columns and order."""
    path, listed, rows = archive_and_rows
    stated = statements_of(*rows).payments
    expected = merge_sources(listed, rename_account(stated[[*PAYMENTS, *STATEMENT]], "7", "ada"))
    found = p2p.open_archive(path).history().payments
    unmatched = found["counterparty_matched"].isna()
    assert 0 < (~unmatched).sum() < len(found)
    pd.testing.assert_frame_equal(found.loc[unmatched, [*expected]], expected[unmatched])
    others = [name for name in expected if not name.startswith(("actor", "target", "counterparty"))]
    pd.testing.assert_frame_equal(found[others], expected[others])
    # "Cy" is the name of several people, each other name that of one.
    known = dict(listed[["counterparty_name", "counterparty_id"]].drop_duplicates().to_numpy().tolist())
    matched = found[~unmatched]
    assert matched["counterparty_id"].tolist() == matched["counterparty_name"].map(known).tolist()
    both = matched[["actor_id", "target_user_id"]].apply(set, axis="columns").tolist()
    assert both == [{"7", number} for number in matched["counterparty_id"]]


@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_scans_show_statements_too(archive_and_rows, engine) -> None:
    """They have the rows and columns of the history, in any order, and both dates in microseconds."""
    archive = p2p.open_archive(archive_and_rows[0])
    expected = archive.history().payments
    for name, date in TIMES.items():
        expected[name] = expected[date].astype("int64").where(expected[date].notna()).astype("Int64")
    expected["settle_us"] = expected["completed_us"] - expected["created_us"]
    scan = archive.scan(engine)
    if engine == "polars":  # a query reads no more than it needs
        assert "PROJECT 1/" in scan.select("flow_cents").explain()
    table = scan.collect() if engine == "polars" else pl.from_arrow(scan.to_arrow_table())
    assert table.columns == list(expected)
    by_id = expected.sort_values("payment_id")
    rows = by_id.astype(object).where(by_id.notna(), None).itertuples(index=False, name=None)
    assert table.sort("payment_id").rows() == list(rows)


def test_user_ids_in_files_match_names_of_others(tmp_path) -> None:
    """A file with user ids, such as JSON, says who a name in another file is, unless two people have the name."""
    shown = {"counterparty_id": "31", "counterparty_username": "bo", "target_user_id": "31"}
    rows = [
        row(1, "Bo", **shown),
        row(2, "Bo"),
        row(6, "Bo", counterparty_username=""),
        row(3, "Di"),
        row(4, "Di", **shown | {"counterparty_id": "32"}),
    ]
    archive = p2p.open_archive(tmp_path / "archive")
    archive.import_(statements_of(*rows, row(5, "Di", **shown | {"counterparty_id": "33"})))
    history = archive.history()
    payments = history.payments.set_index("payment_id")
    assert payments["counterparty_id"].get("2") == payments["target_user_id"].get("2") == "31"
    assert payments["counterparty_matched"].dropna().to_dict() == {"2": "payments", "6": "payments"}
    assert pd.isna(payments["counterparty_id"]["3"])
    people = history.people.set_index("user_id")
    assert people.loc["31", ["display_name", "username"]].tolist() == ["Bo", "bo"]
    assert sorted(people.index) == ["31", "32", "33", "ada"]
    assert archive.people.set_index("alias")["evidence"].get("Bo") == "1 payment is in files with user ids"


def test_a_forked_process_is_refused(archive_and_rows, monkeypatch) -> None:
    """Polars, which merges both kinds of rows, would hang in it."""
    archive = p2p.open_archive(archive_and_rows[0])
    monkeypatch.setattr("p2p_analytics.forks.is_marked", lambda: True)
    for call in (archive.history, lambda: archive.people):
        with pytest.raises(ConfigurationError, match="forked"):
            call()


def test_calls_that_would_show_names(tmp_path, monkeypatch) -> None:
    """In privacy mode they are refused, with the call to use instead; imports show invented names of files."""
    archive = p2p.open_archive(tmp_path / "a")
    archive.import_(statements_of(row(1)))
    monkeypatch.setenv("P2P_PRIVACY", "1")
    for call in (lambda: archive.people, archive.write_people, lambda: archive.scan("polars")):
        with pytest.raises(ConfigurationError, match=r"use history\(\) instead"):
            call()
    assert not (archive.path / "people.csv").exists()
    assert archive.imports["files"].tolist() == list(archive.preview_undo().files) != ["may.csv"]
