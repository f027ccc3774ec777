"""The service's JSON history: usernames, amounts without a sign, one sub-object in each row; and any JSON at all."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from p2p_analytics.frames.schema import KINDS
from support.frames import list_rows, list_values

NORA = {"username": "nora-quill", "display_name": "Nora Quill", "id": "7"}
THEO = {"username": "theo-marsh", "display_name": "Theo Marsh", "id": 31}  # a number in some files
BANK = {"name": "Bank of Sand *1234", "type": "bank"}
BALANCE = {"name": "Venmo balance", "type": "balance"}


def payment(actor: dict[str, str], target: dict[str, str], action: str, status: str = "settled") -> dict[str, Any]:
    """Return the sub-object of a payment to a user."""
    user = {"type": "user", "user": target, "email": None, "phone": None}
    return {"id": "31", "status": status, "action": action, "actor": actor, "target": user}


def row(number: int, kind: str, amount: float, part: object = None, source: object = None) -> dict[str, Any]:
    """Return a row with one sub-object."""
    when = f"2024-01-{number:02}T10:00:00"
    fields = {"id": f"30{number:02}", "type": kind, "datetime_created": when, "note": "n", "amount": amount}
    return {**fields, "funding_source": source, "payment": None, kind: part}


STORE = {"display_name": "Corner Store"}
OUT, CHARGED = payment(NORA, THEO, "pay"), payment(THEO, NORA, "charge")
INSTANT = {"type": "instant", "status": "issued", "amount_fee_cents": 350, "destination": BANK}
SAVINGS = {"source": BALANCE, "destination": {"name": "Savings", "type": "goal"}}
CASES = [  # type, amount and sub-object; then kind, status, direction, flow and counterparty
    (("payment", 12.3, OUT, BALANCE), ("payment", "settled", "out", -1_230, "Theo Marsh")),
    (("payment", 31.25, payment(THEO, NORA, "pay")), ("payment", "settled", "in", 3_125, "Theo Marsh")),
    (("payment", 1234.56, payment(NORA, THEO, "charge")), ("payment", "settled", "in", 123_456, "Theo Marsh")),
    (("payment", 40, CHARGED, BANK), ("payment", "settled", "out", -4_000, "Theo Marsh")),
    (("payment", 7, CHARGED | {"status": "pending"}), ("payment", "pending", "out", -700, "Theo Marsh")),
    (("refund", 12.3, {"payment": OUT}), ("payment", "settled", "in", 1_230, "Theo Marsh")),
    (("refund", 9, {"payment": OUT | {"status": "expired"}}), ("hold", "settled", "in", 900, "Theo Marsh")),
    (("transfer", 200, INSTANT), ("transfer", "settled", "out", -20_000, None)),
    (("transfer", 50, {"type": "add_funds", "status": "issued", "source": BANK}),
     ("transfer", "settled", "in", 5_000, None)),
    (("transfer", 60, {"type": "standard", "status": "failed", "destination": BANK}),
     ("transfer", "failed", "out", -6_000, None)),
    (("capture", 18.5, {"authorization": {"merchant": STORE, "user": NORA}}, BALANCE),
     ("merchant", "settled", "out", -1_850, "Corner Store")),
    (("disbursement", 5, {"merchant": STORE}), ("merchant", "settled", "in", 500, "Corner Store")),
    (("direct_deposit", 300, {}), ("deposit", "settled", "in", 30_000, None)),
    (("internal_balance_transfer", 20, SAVINGS), ("transfer", "settled", "out", -2_000, None)),
    (("fee", -1.5), ("fee", "settled", "out", -150, None)),
    (("a_new_type", 1.01), ("unknown", "settled", "in", 101, None)),
]  # fmt: skip
ROWS = [row(number, *given) for number, (given, _) in enumerate(CASES, 1)]
# 100.00 - 12.30 + 31.25 + 1,234.56 + 12.30 + 9.00 - 200.00 + 50.00 - 18.50 + 5.00 + 300.00 - 20.00 - 1.50 + 1.01
OPENING, CLOSING = 100, 1490.82


def to_json(rows: list[Any], **data: object) -> str:
    """Return the text of a history."""
    return json.dumps({"data": {"transactions": rows, **data}})


def test_every_row_by_hand(read) -> None:
    """Kinds, directions and flows; usernames of both sides; the balance adds up to the cent."""
    found = read(to_json(ROWS, start_balance=OPENING, end_balance=CLOSING), tz="Asia/Tokyo")  # it is in UTC
    rows = found.payments.sort_values("line")
    assert rows["line"].tolist() == [*range(1, 17)]
    assert list_rows(rows, "kind", "status", "direction", "flow_cents", "counterparty_name") == [
        expected for _, expected in CASES
    ]
    names = ("payment_id", "account_id", "actor_username", "target_user_username", "fee_cents")
    assert list_rows(rows.iloc[[0, 7]], *names) == [
        ("3001", "nora-quill", "nora-quill", "theo-marsh", None), ("3008", "nora-quill", None, None, 350),
    ]  # fmt: skip
    assert list_rows(rows.iloc[[0, 3, 7]], "actor_id", "target_user_id", "counterparty_id") == [
        ("nora-quill", "31", "31"), ("31", "nora-quill", "31"), (None, None, None),
    ]  # fmt: skip
    people = found.history().people.set_index("user_id")
    assert people.loc["31", ["username", "display_name"]].tolist() == ["theo-marsh", "Theo Marsh"]
    assert rows["date_completed"].iloc[0].isoformat() == "2024-01-01T10:00:00+00:00"
    names = ("opening_cents", "closing_cents", "difference_cents", "reconciled")
    assert list_rows(found.reconciliation, *names) == [(10_000, 149_082, 0, True)]
    assert list_rows(found.files, "format", "rows", "notice") == [("statement_json", 17, 1)]
    assert list_rows(found.problems, "line", "value", "problem") == [
        (16, "a_new_type", "is not a type that this version knows")
    ]


def test_who_the_holder_is(write) -> None:
    """Two users in all rows: the holder of another file, or the account that is named; otherwise it stays open."""
    single = write("one.json", to_json([ROWS[0]]))
    alone = p2p.read_statements(single)
    assert alone.payments["direction"].isna().all()
    assert "name the account" in alone.problems["problem"].iloc[0]
    named = p2p.read_statements(single, account="theo-marsh").payments
    assert list_rows(named, "direction", "flow_cents", "counterparty_name") == [("in", 1_230, "Nora Quill")]
    both = p2p.read_statements([single, write("two.json", to_json([ROWS[10]]))]).payments
    assert list_rows(both, "account_id", "direction") == [("nora-quill", "out")] * 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"data": {"transactions": [', "is no statement: it begins as JSON and cannot be read as such"),
        (
            '{"data": {"transactions": 5}}',
            r"is no statement: a JSON history has a list data\.transactions, and this has none",
        ),
        ("[1, 2]", r"has a list data\.transactions"),
        ("[" * 100_000, "begins as JSON and cannot be read as such"),
        # The number of elements is bounded, not only that of bytes.
        (f'{{"data": {{"transactions": [{"0," * 100_000}0]}}}}', "has 100,001 transactions, which no history has"),
        # Refused before its values are Python objects; a line may be longer than in a CSV file.
        (f'{{"data": {{"transactions": [{"{}," * 2_500_000}0]}}}}', "is longer than a JSON history"),
    ],
    ids=["cut off", "no list", "a list", "deep", "many rows", "long"],
)
def test_files_that_are_refused(write, text: str, reason: str) -> None:
    """One sentence that names the file and what was looked for."""
    path = write("history.json", text)
    with pytest.raises(StatementError, match=reason) as caught:
        p2p.read_statements(path, account="nora-quill")
    assert str(caught.value).startswith(str(path))


def test_strange_rows_stay(read) -> None:
    """Rows without fields, of other types and with values that are no amounts and dates are kept, with problems."""
    strange = [
        5,
        {},
        {"id": None, "type": {"a": 1}, "amount": [1], "datetime_created": "yesterday", "payment": "none"},
        row(17, "payment", 1e30, {"actor": 3, "target": []}),
        row(19, "payment", 1, payment(NORA, {**THEO, "id": {"a": 1}}, "pay")),
        row(18, "payment", float("nan"), payment(NORA, THEO, "pay", "a new word")),
        {**ROWS[0], "id": "7", "note": "\ud83c half of a character"},
        row(20, "payment", 1, payment(NORA, {**THEO, "id": ""}, "pay")),  # unknown, as without an id
    ]
    found = read(to_json([*ROWS, *strange], start_balance="?", end_balance=None))
    assert len(found.payments) == 24
    files = found.files.iloc[0]
    assert files["rows"] == 25
    assert sum(files[kind] for kind in ("payment", "transfer", "merchant", "deposit", "fee", "hold", "unknown")) == 24
    assert set(found.problems["line"]) >= {17, 18, 19, 20, 22}
    assert found.problems.query("line == 17")["problem"].to_list() == ["is not a transaction"]
    assert not found.reconciliation["reconciled"].fillna(value=False).any()
    by_id = found.payments.set_index("payment_id")
    assert by_id.loc["7", "note"] == "? half of a character"
    assert list_values(by_id.loc[["7", "3020"], "counterparty_id"]) == ["31", None]


@pytest.mark.parametrize(
    ("fee", "cents", "problems"),
    [(69, 69, []), (69.0, 69, []), ("69", 69, []), (69.5, None, ["69.5"]), ("much", None, ["much"]), (None, None, [])],
)
def test_fees(read, fee: object, cents: int | None, problems: list[str]) -> None:
    """A fee is a whole number of cents, however it is written."""
    part = {"type": "instant", "status": "issued", "amount_fee_cents": fee, "destination": BANK}
    found = read(to_json([row(1, "transfer", 10, part)]), account="nora-quill")
    assert list_values(found.payments["fee_cents"]) == [cents]
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
BALANCES = st.none() | st.floats() | st.integers() | WORDS


@pytest.mark.parametrize("examples", [10, pytest.param(1_000, marks=pytest.mark.soak)])
def test_any_rows(examples: int, tmp_path: Path) -> None:
    """The kinds of a file sum to its rows: one for each transaction and one for the balances."""
    path = tmp_path / "history.json"

    @settings(max_examples=examples, deadline=None, derandomize=True)
    @given(st.lists(ROW, max_size=6), BALANCES, BALANCES, st.sampled_from(["utf-8-sig", "utf-16"]), st.booleans())
    def check(rows: list[object], start: object, end: object, encoding: str, one_line: bool) -> None:  # noqa: FBT001 - generated
        body = {"data": {"transactions": rows, "start_balance": start, "end_balance": end}}
        text = json.dumps(body, indent=None if one_line else 1, ensure_ascii=one_line)
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
