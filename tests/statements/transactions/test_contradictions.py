"""Several rows of one payment: which value counts, and which contradictions are problems."""

from __future__ import annotations

from datetime import UTC, date, datetime

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.statements.ledger.transactions import unite_rows
from p2p_analytics.statements.rows import complete_rows
from support.archives.ledger import File, write_statement

APRIL, MAY, JUNE, SUMMER = date(2024, 4, 1), date(2024, 5, 1), date(2024, 6, 30), date(2024, 7, 31)


def _read(tmp_path, files: dict[str, File]) -> p2p.statements.Statements:
    for name, file in files.items():
        (tmp_path / name).write_text(write_statement(file), "utf-8")
    return p2p.read_statements(tmp_path)


def _row(file: str, **fields: object) -> dict[str, object]:
    """Return the row of the payment 5: 68.37 to Bo, settled, in a file to 31 May of which the balance is not known."""
    return {
        "file": file, "line": 4, "account": "ada", "payment_id": "5",
        "date": datetime(2024, 5, 1, 12, 0, 7, tzinfo=UTC),
        "kind": "payment", "action": "pay", "status": "settled", "direction": "out", "flow_cents": -6837,
        "currency": "USD", "note": "tea", "file_end": datetime(2024, 5, 31, tzinfo=UTC), "adds_up": None, **fields,
    }  # fmt: skip


def _unite(*rows: dict[str, object]):
    """Return the one payment of rows, and their problems, in either order."""
    results = []
    for given in (rows, rows[::-1]):
        schema = {"file_end": pl.Datetime("us", "UTC"), "adds_up": pl.Boolean, "date": pl.Datetime("us", "UTC")}
        frame = pl.DataFrame(list(given), infer_schema_length=None, schema_overrides=schema)
        described = pl.concat([complete_rows(frame), frame.select("file_end", "adds_up")], how="horizontal")
        united, problems = unite_rows(described)
        (payment,) = united.rows(named=True)
        results.append((payment, problems))
    assert results[0] == results[1]
    return results[0]


_LATER = datetime(2024, 6, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ({}, {"file_end": _LATER, "note": "green tea"}, {"note": "green tea", "file": "b.csv"}),
        ({"fee_cents": 25}, {"file_end": _LATER, "note": None}, {"note": "tea", "fee_cents": 25}),
        ({"status": "pending"}, {}, {"status": "settled"}),
        ({"note": "paid"}, {"status": "pending", "file_end": _LATER}, {"status": "settled", "note": "paid"}),
        ({}, {"status": "cancelled", "file_end": _LATER}, {"status": "cancelled"}),
        ({"status": None}, {"status": "pending"}, {"status": "pending"}),
        ({"note": "zoo"}, {"note": "ant"}, {"note": "ant", "file": "b.csv"}),  # the later name
        ({"flow_cents": None, "direction": None}, {"line": 9}, {"flow_cents": -6837, "direction": "out"}),
        ({"kind": "unknown", "action": None, "file_end": _LATER}, {}, {"kind": "payment", "action": "pay"}),
        # A refund, of which the kind is null, is known to be one.
        ({"kind": None, "action": None, "file_end": _LATER}, {}, {"kind": None, "action": None}),
    ],
)
def test_the_value_that_counts(first, second, expected) -> None:
    """The final state, then the later file; a null, and a kind that is not known, replace nothing."""
    payment, problems = _unite(_row("a.csv", **first), _row("b.csv", **second))
    assert {name: payment[name] for name in expected} == expected
    assert problems == []


@pytest.mark.parametrize(
    ("first", "second", "cents"),
    [
        ({"adds_up": True}, {"adds_up": False, "file_end": _LATER}, -6837),
        ({"adds_up": True}, {"file_end": _LATER}, -6837),
        ({}, {"adds_up": False, "file_end": _LATER}, -6837),
        ({"adds_up": True}, {"adds_up": True, "file_end": _LATER}, -6900),
        ({}, {"file_end": _LATER}, -6837),  # whole dollars look rounded
        ({"flow_cents": -6800}, {"file_end": _LATER}, -6900),
        # Of a pending payment, a balance says nothing.
        ({"status": "pending", "adds_up": True}, {"file_end": _LATER}, -6900),
        ({"status": "pending", "adds_up": True}, {"adds_up": False}, -6837),
    ],
)
def test_the_amount_that_counts(first, second, cents) -> None:
    """That of a file that adds up, then of one of which that is not known; the other amount is a problem."""
    rows = _row("a.csv", **first), _row("b.csv", **{"flow_cents": -6900, "fee_cents": 3, **second})
    payment, (problem,) = _unite(*rows)
    kept, other = sorted(rows, key=lambda row: row["flow_cents"] != cents)
    assert (payment["flow_cents"], payment["fee_cents"]) == (cents, 3)
    assert (problem.file, problem.line, problem.payment_id) == (other["file"], 4, "5")
    assert (problem.field, problem.value) == ("flow_cents", str(other["flow_cents"]))
    assert (problem.code, problem.other_file) == ("other_amount", kept["file"])
    assert f"line 4 of '{kept['file']}'" in problem.sentence
    assert problem.sentence.endswith("that adds up") == (kept["adds_up"] is True and other["adds_up"] is False)


def test_a_row_that_a_spreadsheet_saved_replaces_nothing() -> None:
    """Its date has no seconds, its note is lost: the later file adds a fee, and is no contradiction."""
    minute = datetime(2024, 5, 1, 12, 0, tzinfo=UTC)
    rows = _row("a.csv"), _row("b.csv", date=minute, note=None, type="Payment", fee_cents=3, file_end=_LATER)
    payment, problems = _unite(*rows)
    assert (payment["date"].second, payment["note"], payment["fee_cents"], payment["file"]) == (7, "tea", 3, "a.csv")
    assert problems == []
    _, (problem,) = _unite(rows[0], _row("b.csv", date=minute.replace(day=2)))
    assert (problem.code, problem.field) == ("other_date", "date")
    assert problem.value == "2024-05-02 12:00:00.000000+00:00"
    assert "another date" in problem.sentence
    assert "line 4 of 'a.csv'" in problem.sentence


def test_a_row_that_is_not_from_a_file() -> None:
    """The other amount is a problem all the same, without the place of the row that counts."""
    rows = {**_row("", adds_up=True), "file": None, "line": None}, _row("b.csv", flow_cents=-6900)
    payment, (problem,) = _unite(*rows)
    assert (payment["flow_cents"], problem.value) == (-6837, "-6900")
    assert problem.sentence == "another row of this payment has another amount, and is the one that is kept"


def test_rows_that_say_the_same_are_one() -> None:
    """The file of the payment is the one with the later name."""
    payment, problems = _unite(*(_row(f"{name}.csv") for name in "abcd"))
    assert (payment["file"], problems) == ("d.csv", [])


def test_a_later_damaged_file(tmp_path) -> None:
    """Its amount of the payment 906 is a dollar less, and its state of 904 is the later one, which counts."""
    files = {"spring.csv": File(APRIL, MAY), "summer.csv": File(APRIL, SUMMER, damaged="901")}
    statements = _read(tmp_path, files)
    assert statements.reconciliation.set_index("file")["reconciled"].to_dict() == {
        "spring.csv": True,
        "summer.csv": False,
    }
    payments = statements.payments.set_index("payment_id")
    assert payments.loc[["901", "902", "904", "906"], "flow_cents"].tolist() == [-1037, 2050, -700, -5000]
    assert payments.loc[["902", "904"], "status"].tolist() == ["settled", "cancelled"]
    assert payments.loc["901", "file"] == "summer.csv"
    (problem,) = statements.problems[statements.problems["field"] == "flow_cents"].to_dict("records")
    assert (problem["file"], problem["line"], problem["payment_id"], problem["value"]) == (
        "summer.csv",
        5,
        "901",
        "-937",
    )
    assert "line 5 of 'spring.csv', a file that adds up" in problem["problem"]
    assert "spring" not in statements.masked().problems["problem"].str.cat()


def test_a_later_file_of_a_spreadsheet(tmp_path) -> None:
    """Seconds, notes and fees of the original stay; payments that only the later file has are as it says."""
    statements = _read(tmp_path, {"april.csv": File(APRIL, MAY), "sheet.csv": File(APRIL, JUNE, resaved=True)})
    payments = statements.payments.set_index("payment_id")
    assert payments["date_created"].dt.strftime("%H:%M:%S")[["901", "906"]].tolist() == ["10:00:07", "15:16:00"]
    assert payments["note"].fillna("none")[["901", "906"]].tolist() == ["tea", "none"]
    assert payments["fee_cents"].fillna(-1)[["901", "906"]].tolist() == [0, -1]
    assert statements.problems["field"].tolist() == ["kind"], "only the refund of Nobody Else is one"
