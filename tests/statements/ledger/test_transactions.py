"""Several rows of one payment, the order of payments, and that no order of files or rows changes them."""

import contextlib
import itertools
import random
from datetime import UTC, date, datetime

import pandas as pd
import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.statements import Collected, collect, complete_rows, derive
from p2p_analytics.statements.ledger.transactions import sort_newest_first, unite_rows
from support.archives.ledger import File, write_statement
from support.frames import list_rows
from support.statements.files import REVOLUT, SAMPLES, SPLITWISE
from support.statements.rows import describe_files


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
    found = problem.code, problem.field, problem.value
    assert found == ("other_date", "date", "2024-05-02 12:00:00.000000+00:00")
    assert "another date" in problem.sentence
    assert "line 4 of 'a.csv'" in problem.sentence


def test_a_row_that_is_not_from_a_file() -> None:
    """The other amount is a problem all the same, without the place of the row that counts."""
    rows = {**_row("", adds_up=True), "file": None, "line": None}, _row("b.csv", flow_cents=-6900)
    payment, (problem,) = _unite(*rows)
    assert (payment["flow_cents"], problem.value) == (-6837, "-6900")
    assert problem.sentence == "another row of this payment has another amount, and is the one that is kept"


def test_a_later_damaged_file(tmp_path, write) -> None:
    """Its amount of the payment 901 is a dollar less, and its state of 904 is the later one, which counts."""
    april = date(2024, 4, 1)
    write("spring.csv", write_statement(File(april, date(2024, 5, 1))))
    write("summer.csv", write_statement(File(april, date(2024, 7, 31), damaged="901")))
    statements = p2p.read_statements(tmp_path)
    assert list_rows(statements.reconciliation, "file", "reconciled") == [("spring.csv", True), ("summer.csv", False)]
    payments = statements.payments.set_index("payment_id")
    assert payments.loc[["901", "902", "904", "906"], "flow_cents"].tolist() == [-1037, 2050, -700, -5000]
    assert payments.loc[["902", "904"], "status"].tolist() == ["settled", "cancelled"]
    assert payments.loc["901", "file"] == "summer.csv"
    problem = statements.problems[statements.problems["field"] == "flow_cents"]
    assert list_rows(problem, "file", "line", "payment_id", "value") == [("summer.csv", 5, "901", "-937")]
    assert "line 5 of 'spring.csv', a file that adds up" in problem["problem"].item()
    assert "spring" not in statements.masked().problems["problem"].str.cat()


_DAY = datetime(2024, 5, 31, tzinfo=UTC)
_NEXT_DAY = datetime(2024, 6, 1, tzinfo=UTC)
# Newest first; of one instant the longer id, then the later one, then the first account; without a date last.
_ORDERED = [
    ("9", _NEXT_DAY, "nora"), ("100", _DAY, "nora"), ("20", _DAY, "nora"), ("20", _DAY, "theo"), ("19", _DAY, "nora"),
    ("8", datetime(2024, 5, 30, 23, 59, 59, 999999, UTC), "nora"), ("77", None, "nora"), ("76", None, "nora"),
]  # fmt: skip


def test_transactions_are_ordered_by_date_then_id_then_account():
    """Whatever the order of the rows is; notices are left out."""
    schema = {"kind": pl.String, "payment_id": pl.String, "date": pl.Datetime("us", "UTC"), "account": pl.String}
    given = [*(("payment", *row) for row in _ORDERED), ("notice", None, None, "nora"), ("notice", "5", _DAY, "theo")]
    frame = pl.DataFrame(given, schema=schema, orient="row").with_columns(file=pl.lit("a.csv"))
    for seed in range(5):
        rows = complete_rows(frame.sample(fraction=1, shuffle=True, seed=seed))
        assert rows.select("payment_id", "date", "account")[sort_newest_first(rows)].rows() == _ORDERED
        view = derive(Collected(rows, tuple(describe_files(rows)), ()))
        found = list_rows(view.payments, "payment_id", "date_created", "account_id")
        assert found == _ORDERED
        assert view.problems == []


def test_slices_change_no_result(set_limit):
    """Balances, files and payments of all samples are the same when each file is worked on alone."""
    paths = [path for name, path in SAMPLES.items() if name.startswith(("gen_", "paypal_")) and "2015" not in name]
    together = p2p.read_statements(paths)
    set_limit("reconciled_rows", 1)
    apart = p2p.read_statements(paths)
    for name in ("payments", "reconciliation", "files", "problems"):
        pd.testing.assert_frame_equal(getattr(apart, name), getattr(together, name))


def _write_revolut(chance: random.Random) -> str:
    """Return rows of three days, some pending, many of one moment and amount."""
    rows, balance = [REVOLUT], 5000
    for _ in range(chance.randint(1, 6)):
        moment = f"2024-05-0{chance.randint(1, 3)} 10:00:00"
        if chance.random() < 0.3:
            rows.append(f"CARD_PAYMENT,Current,{moment},,Deli,-5.00,0.00,EUR,PENDING,\n")
        else:
            balance -= 500
            word = chance.choice(["CARD_PAYMENT", "Card Payment"])
            rows.append(f"{word},Current,{moment},{moment},Deli,-5.00,0.00,EUR,COMPLETED,{balance / 100:.2f}\n")
    return "".join(rows)


def _join(parts: list[Collected]) -> Collected:
    rows = pl.concat([part.rows.with_columns(pl.col(pl.Categorical).cast(pl.String)) for part in parts])
    files = tuple(info for part in parts for info in part.files)
    problems = tuple(problem for part in parts for problem in part.problems)
    return Collected(rows, files, problems)


def _assert_same(parts: list[Collected], chance: random.Random) -> None:
    expected = derive(_join(parts))
    for is_mixed in (False, True):
        chance.shuffle(parts)
        joined = _join(parts)
        if is_mixed:
            joined = joined._replace(rows=joined.rows.sample(fraction=1, shuffle=True, seed=chance.randint(1, 99)))
        view = derive(joined)
        pd.testing.assert_frame_equal(view.payments, expected.payments)
        pd.testing.assert_frame_equal(view.reconciliation, expected.reconciliation)
        assert set(view.problems) == set(expected.problems)
        assert (view.holders, view.unnamed) == (expected.holders, expected.unnamed)
        files = [
            frame.sort_values(["file", "account", "currency"], ignore_index=True)
            for frame in (view.files, expected.files)
        ]
        pd.testing.assert_frame_equal(*files)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.full_fuzz) for seed in range(2, 15))])
def test_any_order(write, seed):
    """Samples of all services and languages, and several downloads of one month, in accounts with one name or none."""
    chance = random.Random(seed)  # noqa: S311 - the same cases each time
    paths = chance.sample([*SAMPLES.values()], 7)
    paths += [write(f"{name}.csv", _write_revolut(chance)) for name in "abc"]
    parts = []
    for path in paths:
        for account in chance.sample(["Nora Quill", "Nora", "nora", None], 4):
            with contextlib.suppress(StatementError):  # of a group without its member
                parts.append(collect(path, account=account))
                break
    assert len(parts) == 10
    _assert_same(parts, chance)


def test_exports_of_a_group_in_any_order(write) -> None:
    """Two of one day and a later one: rows that grow are one group."""
    row = "2024-05-0{0},Tea,General,{1}.00,EUR,{2}.00,-{2}.00\n".format
    end = "2024-05-0{0},Total balance, , ,EUR,{1}.00,-{1}.00\n".format
    one, two, three = row(1, 4, 2), row(2, 6, 3), row(3, 8, 4)
    texts = {"c": one + end(5, 2), "b": one + two + end(5, 5), "a": one + two + three + end(6, 9)}
    paths = [write(f"{name}.csv", f"{SPLITWISE},Nora,Theo\n{text}") for name, text in texts.items()]
    for order in itertools.permutations(paths):
        found = p2p.read_statements([*order], account="Nora")
        assert sorted(found.payments["flow_cents"]) == [200, 300, 400]
