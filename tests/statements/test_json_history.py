"""The service's JSON history: usernames, amounts without a sign, one sub-object in each row; and any JSON at all."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.frames.schema import KINDS

NORA = {"username": "nora-quill", "display_name": "Nora Quill", "id": "7"}
THEO = {"username": "theo-marsh", "display_name": "Theo Marsh", "id": 31}  # a number in some files
BANK = {"name": "Bank of Sand *1234", "type": "bank"}
BALANCE = {"name": "Venmo balance", "type": "balance"}


def payment(actor: dict[str, str], target: dict[str, str], action: str, status: str = "settled") -> dict[str, Any]:
    """Return the sub-object of a payment to a user."""
    user = {"type": "user", "user": target, "email": None, "phone": None}
    return {"id": "31", "status": status, "action": action, "actor": actor, "target": user}


def row(number: int, kind: str, amount: float, part: object = None, **more: object) -> dict[str, Any]:
    """Return a row with one sub-object."""
    when = f"2024-01-{number:02}T10:00:00"
    fields = {"id": f"30{number:02}", "type": kind, "datetime_created": when, "note": "n", "amount": amount}
    return {**fields, "funding_source": None, "payment": None, kind: part, **more}


ROWS = [
    row(1, "payment", 12.3, payment(NORA, THEO, "pay"), funding_source=BALANCE),
    row(2, "payment", 31.25, payment(THEO, NORA, "pay")),
    row(3, "payment", 1234.56, payment(NORA, THEO, "charge")),
    row(4, "payment", 40, payment(THEO, NORA, "charge"), funding_source=BANK),
    row(5, "payment", 7, payment(THEO, NORA, "charge", "pending")),
    row(6, "refund", 12.3, {"payment": payment(NORA, THEO, "pay")}),
    row(7, "refund", 9, {"payment": payment(NORA, THEO, "pay", "expired")}),
    row(8, "transfer", 200, {"type": "instant", "status": "issued", "amount_fee_cents": 350, "destination": BANK}),
    row(9, "transfer", 50, {"type": "add_funds", "status": "issued", "source": BANK}),
    row(10, "transfer", 60, {"type": "standard", "status": "failed", "destination": BANK}),
    row(
        11, "capture", 18.5, {"authorization": {"merchant": {"display_name": "Corner Store"}, "user": NORA}},
        funding_source=BALANCE,
    ),
    row(12, "disbursement", 5, {"merchant": {"display_name": "Corner Store"}}),
    row(13, "direct_deposit", 300, {}),
    row(14, "internal_balance_transfer", 20, {"source": BALANCE, "destination": {"name": "Savings", "type": "goal"}}),
    row(15, "fee", -1.5),
    row(16, "a_new_type", 1.01),
]  # fmt: skip
# 100.00 - 12.30 + 31.25 + 1,234.56 + 12.30 + 9.00 - 200.00 + 50.00 - 18.50 + 5.00 + 300.00 - 20.00 - 1.50 + 1.01
OPENING, CLOSING = 100, 1490.82
EXPECTED = [  # number, kind, status, direction, flow, counterparty
    (1, "payment", "settled", "out", -1_230, "Theo Marsh"),
    (2, "payment", "settled", "in", 3_125, "Theo Marsh"),
    (3, "payment", "settled", "in", 123_456, "Theo Marsh"),
    (4, "payment", "settled", "out", -4_000, "Theo Marsh"),
    (5, "payment", "pending", "out", -700, "Theo Marsh"),
    (6, "payment", "settled", "in", 1_230, "Theo Marsh"),
    (7, "hold", "settled", "in", 900, "Theo Marsh"),
    (8, "transfer", "settled", "out", -20_000, None),
    (9, "transfer", "settled", "in", 5_000, None),
    (10, "transfer", "failed", "out", -6_000, None),
    (11, "merchant", "settled", "out", -1_850, "Corner Store"),
    (12, "merchant", "settled", "in", 500, "Corner Store"),
    (13, "deposit", "settled", "in", 30_000, None),
    (14, "transfer", "settled", "out", -2_000, None),
    (15, "fee", "settled", "out", -150, None),
    (16, "unknown", "settled", "in", 101, None),
]


def write(folder: Path, rows: list[Any], name: str = "history.json", **data: object) -> Path:
    """Write a history and return its path."""
    path = folder / name
    path.write_text(json.dumps({"data": {"transactions": rows, **data}}), encoding="utf-8")
    return path


def test_every_row_by_hand(tmp_path: Path) -> None:
    """Kinds, directions and flows; usernames of both sides; the balance adds up to the cent."""
    found = p2p.read_statements(write(tmp_path, ROWS, start_balance=OPENING, end_balance=CLOSING))
    rows = found.payments.sort_values("line")
    columns = ["line", "kind", "status", "direction", "flow_cents", "counterparty_name"]
    plain = rows[columns].astype(object)
    assert list(plain.where(plain.notna(), None).itertuples(index=False, name=None)) == EXPECTED
    first = rows.iloc[0]
    assert (first["account_id"], first["actor_username"], first["target_user_username"]) == (
        "nora-quill",
        "nora-quill",
        "theo-marsh",
    )
    ids = rows[["actor_id", "target_user_id", "counterparty_id"]]
    assert ids.iloc[[0, 3]].to_numpy().tolist() == [["nora-quill", "31", "31"], ["31", "nora-quill", "31"]]
    assert ids.iloc[7].isna().all()
    people = found.history().people.set_index("user_id")
    assert people.loc["31", ["username", "display_name"]].tolist() == ["theo-marsh", "Theo Marsh"]
    assert first["payment_id"] == "3001"
    assert first["date_completed"].isoformat() == "2024-01-01T10:00:00+00:00"
    assert rows.iloc[7]["fee_cents"] == 350
    (checked,) = found.reconciliation.itertuples()
    assert (checked.opening_cents, checked.closing_cents, checked.difference_cents) == (10_000, 149_082, 0)
    assert checked.reconciled
    assert found.files.iloc[0][["format", "rows", "notice"]].to_list() == ["statement_json", 17, 1]
    assert found.problems[["line", "value", "problem"]].to_numpy().tolist() == [
        [16, "a_new_type", "is not a type that this version knows"]
    ]


def test_who_the_holder_is(tmp_path: Path) -> None:
    """Two users in all rows: the holder of another file, or the account that is named; otherwise it stays open."""
    single = write(tmp_path, [ROWS[0]], "one.json")
    alone = p2p.read_statements(single)
    assert alone.payments["direction"].isna().all()
    assert "name the account" in alone.problems["problem"].iloc[0]
    named = p2p.read_statements(single, account="theo-marsh").payments.iloc[0]
    assert (named["direction"], named["flow_cents"], named["counterparty_name"]) == ("in", 1_230, "Nora Quill")
    other = write(tmp_path, [ROWS[10]], "two.json")
    both = p2p.read_statements([single, other]).payments
    assert set(both["account_id"]) == {"nora-quill"}
    assert both["direction"].to_list() == ["out", "out"]


def test_one_long_line(tmp_path: Path) -> None:
    """A history in one line that is longer than a line of CSV may be."""
    rows = [{**ROWS[0], "id": str(number), "note": "x" * 300} for number in range(2_000)]
    path = write(tmp_path, [*rows, ROWS[10]])
    assert path.stat().st_size > 2**19
    assert len(p2p.read_statements(path).payments) == 2_001


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"data": {"transactions": [', "begins as JSON and cannot be read as such"),
        ('{"data": {"transactions": 5}}', r"has a list data\.transactions, and this has none"),
        ('{"data": []}', r"has a list data\.transactions"),
        ("[1, 2]", r"has a list data\.transactions"),
        ("[" * 100_000, "begins as JSON and cannot be read as such"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    """One sentence that names the file and what was looked for."""
    path = tmp_path / "history.json"
    path.write_text(text)
    with pytest.raises(StatementError, match=reason) as caught:
        p2p.read_statements(path)
    assert str(caught.value).startswith(f"{path} is no statement: ")


@pytest.mark.parametrize(
    ("unit", "count", "reason"),
    [
        ("0,", 100_000, "has 100,001 transactions, which no history has"),
        ('"",', 5_000_000, "is longer than a JSON history"),  # refused before its values are Python objects
        ("{},", 2_500_000, "is longer than a JSON history"),
    ],
)
def test_more_elements_than_a_history_has(tmp_path: Path, unit: str, count: int, reason: str) -> None:
    """The number of elements is bounded, not only that of bytes."""
    path = tmp_path / "history.json"
    path.write_text('{"data": {"transactions": [' + unit * count + "0]}}")
    with pytest.raises(StatementError, match=reason):
        p2p.read_statements(path, account="nora-quill")


def test_strange_rows_stay(tmp_path: Path) -> None:
    """Rows without fields, of other types and with values that are no amounts and dates are kept, with problems."""
    strange = [
        5,
        {},
        {"id": None, "type": {"a": 1}, "amount": [1], "datetime_created": "yesterday", "payment": "none"},
        row(17, "payment", 1e30, {"actor": 3, "target": []}),
        row(19, "payment", 1, payment(NORA, {**THEO, "id": {"a": 1}}, "pay")),
        row(18, "payment", float("nan"), payment(NORA, THEO, "pay", "a new word")),
        {**ROWS[0], "id": "7", "note": "\ud83c half of a character"},
    ]
    found = p2p.read_statements(write(tmp_path, [*ROWS, *strange], start_balance="?", end_balance=None))
    assert len(found.payments) == 23
    files = found.files.iloc[0]
    assert files["rows"] == 24
    assert sum(files[kind] for kind in ("payment", "transfer", "merchant", "deposit", "fee", "hold", "unknown")) == 23
    assert set(found.problems["line"]) >= {17, 18, 19, 20, 22}
    assert found.problems.query("line == 17")["problem"].to_list() == ["is not a transaction"]
    assert not found.reconciliation["reconciled"].fillna(value=False).any()
    note = found.payments.set_index("payment_id").loc["7", "note"]
    assert note == "? half of a character"


@pytest.mark.parametrize(
    ("fee", "cents", "problems"),
    [(69, 69, []), (69.0, 69, []), ("69", 69, []), (69.5, None, ["69.5"]), ("much", None, ["much"]), (None, None, [])],
)
def test_fees(tmp_path: Path, fee: object, cents: int | None, problems: list[str]) -> None:
    """A fee is a whole number of cents, however it is written."""
    part = {"type": "instant", "status": "issued", "amount_fee_cents": fee, "destination": BANK}
    found = p2p.read_statements(write(tmp_path, [row(1, "transfer", 10, part)]), account="nora-quill")
    (value,) = found.payments["fee_cents"].astype(object)
    assert (None if pd.isna(value) else value) == cents
    assert found.problems["value"].to_list() == problems


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
WORDS = st.sampled_from(
    ["payment", "refund", "transfer", "capture", "disbursement", "internal_balance_transfer", "fee", "pay", "charge",
     "settled", "pending", "expired", "add_funds", "balance", "held", "bank", "nora", "theo", "user", "email",
     "2024-05-31T18:30:00", "12.30", "3.18E+18", "=1+1"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["id", "type", "datetime_created", "note", "amount", "payment", "refund", "transfer", "capture", "actor", "target",
     "user", "username", "display_name", "status", "action", "funding_source", "source", "destination", "name",
     "authorization", "merchant", "amount_fee_cents", "email", "phone"]
)  # fmt: skip
ROW = st.recursive(WORDS | ANYTHING, lambda inner: st.dictionaries(NAMES, inner, max_size=8), max_leaves=25)
ENCODING = st.sampled_from(["utf-8", "utf-8-sig", "utf-16"])
BALANCE_ANY = st.none() | st.floats() | st.integers() | WORDS


@pytest.mark.parametrize("examples", [10, pytest.param(1_000, marks=pytest.mark.soak)])
def test_any_rows(examples: int) -> None:
    """The kinds of a file sum to its rows: one for each transaction and one for the balances."""

    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(st.lists(ROW, max_size=6), BALANCE_ANY, BALANCE_ANY, ENCODING, st.booleans())
    def check(rows: list[object], start: object, end: object, encoding: str, one_line: bool) -> None:  # noqa: FBT001 - generated
        body = {"data": {"transactions": rows, "start_balance": start, "end_balance": end}}
        text = json.dumps(body, indent=None if one_line else 1, ensure_ascii=one_line)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "history.json"
            path.write_bytes(text.encode(encoding, "replace"))
            try:
                found = p2p.read_statements(path)
            except StatementError as error:
                assert str(error).startswith(str(path))  # noqa: PT017 - it may also be read
                return
        assert found.files["rows"].sum() == len(rows) + 1
        assert (found.files[list(KINDS)].sum(axis=1) == found.files["rows"]).all()
        assert len(found.payments) <= len(rows)
        ids = found.payments["payment_id"]
        assert ids.notna().all()
        assert ids.is_unique

    check()


def test_an_empty_id_of_a_user_is_unknown(tmp_path: Path) -> None:
    """It is null, as without an id."""
    path = tmp_path / "history.json"
    path.write_text(
        json.dumps({"data": {"transactions": [row(1, "payment", 5, payment(NORA, THEO | {"id": ""}, "pay"))]}})
    )
    (found,) = p2p.read_statements(path).payments["counterparty_id"].isna()
    assert found
