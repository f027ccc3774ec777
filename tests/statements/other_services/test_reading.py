"""Files of other services through the public reader: accounts, currencies, overlaps and balances."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import SchemaError

_WHOLE = (
    "cash_app_2023", "cash_app_2026", "monzo", "paypal_activity_de", "paypal_statement_en", "revolut_en",
    "splitwise_en", "wise",
)  # fmt: skip
_SAMPLES = Path(__file__).parent / "samples"
_REVOLUT = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh"


def _write(folder: Path, **texts: str) -> list[Path]:
    paths = [folder / f"{name}.csv" for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return paths


@pytest.mark.parametrize(
    ("name", "account", "balances"),
    [
        # opening + moved = closing, as the comment beside each sample's rows adds up
        ("paypal_statement_en", "paypal", {"USD": (10000, -4791, 5209)}),
        ("paypal_statement_es", "paypal", {"EUR": (120000, 3559, 123559)}),
        ("paypal_activity_de", "nora@example.org", {"EUR": (50000, -1314, 48686), "USD": (0, 0, 0)}),
        ("paypal_activity_2015", "nora@example.org", {"EUR": (0, 0, 0), "USD": (0, 2975, 2975)}),
        ("monzo", "monzo", {"GBP": (50000, 126890, 176890)}),
        ("wise", "wise", {"EUR": (100000, -35063, 64937)}),
        ("revolut_en", "revolut", {"EUR": (0, 7629, 7629)}),
    ],
)
def test_each_currency_reconciles(name, account, balances):
    """Every currency of a file has a balance of its own, which its rows explain to the cent."""
    statements = p2p.read_statements(_SAMPLES / f"{name}.csv")
    assert statements.accounts == [account]
    checked = statements.reconciliation[statements.reconciliation["reconciled"].fillna(value=False)]
    found = checked[["currency", "opening_cents", "moved_cents", "closing_cents"]].itertuples(index=False)
    assert {currency: tuple(cents) for currency, *cents in found} == balances
    listed = statements.files.set_index("currency")[["opening_cents", "closing_cents"]]
    assert {currency: (listed.loc[currency].tolist()) for currency in balances} == {
        currency: [opening, closing] for currency, (opening, _, closing) in balances.items()
    }
    assert (statements.files["rows"] == statements.files.loc[:, "payment":"unknown"].sum(axis=1)).all()


def test_splitwise_member():
    """The member's cells add up to the total of each currency; the file has one row for each currency."""
    statements = p2p.read_statements(_SAMPLES / "splitwise_en.csv", account="Theo Marsh")
    # The euros of Theo: ten less, fifteen more, 7.50 less, two, five and twenty more: 24.50.
    found = statements.reconciliation[["currency", "moved_cents", "closing_cents", "reconciled"]]
    assert list(found.itertuples(index=False, name=None)) == [("EUR", 2450, 2450, True), ("JPY", 120000, 120000, True)]
    assert statements.files[["currency", "rows", "payment", "merchant", "notice"]].to_numpy().tolist() == [
        ["EUR", 8, 2, 4, 2],
        ["JPY", 2, 0, 1, 1],
    ]
    settlements = statements.payments[statements.payments["kind"] == "payment"]
    assert list(settlements[["counterparty_name", "flow_cents"]].itertuples(index=False, name=None)) == [
        ("Lena Ortiz (removed)", -500),
        ("Nora Quill", 750),
    ]


def test_currencies_are_never_added():
    """Analyses refuse a history in several currencies, and say how to select one; each alone is counted."""
    history = p2p.read_statements(_SAMPLES / "paypal_statement_en.csv").history()
    with pytest.raises(SchemaError, match="needs payments in one currency, not in EUR and USD: select the rows of one"):
        p2p.monthly_flow(history.payments)
    euros = history.payments[history.payments["currency"] == "EUR"]
    assert p2p.monthly_flow(euros)["received"].tolist() == [10.0]
    assert "No sums" in history._repr_html_()


def test_statement_and_activity_of_one_account(tmp_path):
    """With the address as account, the statement and the activity of PayPal are one account; their rows are united."""
    activity, statement = _write(
        tmp_path,
        activity="Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,From Email Address,To Email Address,"
        "Transaction ID,Balance\n"
        "03/15/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,USD,9.00,0,9.00,lena@example.org,nora@example.org,"
        "P1,9.00\n",
        statement="Date,Time,Time Zone,Description,Currency,Gross,Fee,Net,Balance,Transaction ID,Name\n"
        "03/15/2024,10:00:00,UTC,Mobile Payment,USD,9.00,0,9.00,9.00,P1,Lena Ortiz\n",
    )
    statements = p2p.read_statements([activity, statement], account="nora@example.org")
    assert statements.accounts == ["nora@example.org"]
    assert statements.payments["payment_id"].tolist() == ["P1"]


def test_a_pending_row_is_the_completed_row_of_a_later_file(tmp_path):
    """A row without an id is the same when it is completed, although its date is then another one."""
    row = "CARD_PAYMENT,Current,2026-02-08 16:51:50,{0},Bus 13,-2.18,0.00,EUR,{1},{2}\n"
    files = _write(
        tmp_path,
        february=_REVOLUT + row.format("", "PENDING", ""),
        march=_REVOLUT + row.format("2026-02-09 04:00:00", "COMPLETED", "7.82"),
    )
    for paths in (files, files[::-1]):
        payments = p2p.read_statements(paths).payments
        assert payments["status"].tolist() == ["settled"]
        assert payments["date_completed"].tolist() == [pd.Timestamp("2026-02-09 04:00:00", tz="UTC")]


def test_equal_rows_of_two_groups_are_two_payments(tmp_path):
    """Rows of one file and of two groups stay apart; the same row of two exports of one group is one."""
    row, total = "2024-05-01,Taxi,Taxi,10.00,EUR,{0}\n", "2024-06-0{0},Total balance,,,EUR,{1}\n"
    hotel = "2024-05-09,Hotel,Hotel,60.00,EUR,30.00,-30.00\n"
    taxi, renamed = row.format("5.00,-5.00"), row.format("5.00,-5.00,0.00")
    other = _SPLITWISE.replace("Theo Marsh", "Lena Ortiz")
    first, second, later = _write(
        tmp_path,
        first=f"{_SPLITWISE}\n{taxi * 2}{total.format(1, '10.00,-10.00')}",
        second=f"{other}\n{taxi}{hotel}{total.format(1, '35.00,-35.00')}",
        later=f"{_SPLITWISE} (removed),Imani Cole\n{renamed * 2}{total.format(2, '10.00,-10.00,0.00')}",
    )
    read = {
        name: len(p2p.read_statements(paths, account="Nora Quill").payments)
        for name, paths in {"one": [first], "groups": [first, second], "exports": [first, later]}.items()
    }
    assert read == {"one": 2, "groups": 4, "exports": 2}


def test_members_with_one_name(tmp_path):
    """The second of two members with one name is called "(2)"; without it, the first is meant."""
    (path,) = _write(tmp_path, group=f"{_SPLITWISE},Theo Marsh\n2024-05-01,Tea,Tea,9.00,EUR,6.00,-2.00,-4.00\n")
    found = {
        account: p2p.read_statements(path, account=account).payments["flow_cents"].tolist()
        for account in ("Theo Marsh", "Theo Marsh (2)")
    }
    assert found == {"Theo Marsh": [-200], "Theo Marsh (2)": [-400]}


def test_a_refund_from_another_file_follows_its_counterparty(tmp_path):
    """A refund of a payment that no file has is a purchase or a payment as the other rows of its counterparty are."""
    header = "Date,Time,Time Zone,Description,Currency,Gross,Fee,Net,Balance,Transaction ID,Name,Reference Txn ID\n"
    (path,) = _write(
        tmp_path,
        statement=header
        + "03/15/2024,10:00:00,UTC,Express Checkout Payment,USD,-9.00,0,-9.00,1.00,P1,Corner Store,\n"
        + "03/16/2024,10:00:00,UTC,Payment Refund,USD,4.00,0,4.00,5.00,P2,Corner Store,P0\n",
    )
    assert p2p.read_statements(path).payments["kind"].tolist() == ["merchant", "merchant"]


def _save_as(path: Path, text: str, form: str) -> None:
    if form == "tabs":
        rows = list(csv.reader(io.StringIO(text, newline="")))
        out = io.StringIO(newline="")
        csv.writer(out, delimiter="\t").writerows(rows)
        text = out.getvalue()
    if form == "crlf":
        text = text.replace("\n", "\r\n")
    path.write_bytes(text.encode("utf-16" if form == "utf-16" else "utf-8-sig" if form == "crlf" else "utf-8"))


def _read_payments(paths: list[Path]) -> pd.DataFrame:
    payments = p2p.read_statements(paths, account="Nora Quill").payments
    return payments.drop(columns=["file", "line"]).sort_values("payment_id", ignore_index=True)


@pytest.mark.parametrize("form", ["crlf", "utf-16", "tabs", "halves"])
@pytest.mark.parametrize("name", _WHOLE)
def test_saved_in_another_form(tmp_path, name, form):
    """Line ends, encoding, delimiter and the cut into overlapping files change no payment."""
    sample = _SAMPLES / f"{name}.csv"
    text = sample.read_text(encoding="utf-8")
    paths = [tmp_path / "first.csv", tmp_path / "second.csv"]
    if form == "halves":
        header, *rows = csv.reader(io.StringIO(text, newline=""))
        rows = [row for row in rows if row]
        middle = len(rows) // 2
        for path, part in zip(paths, (rows[: middle + 2], rows[middle - 1 :]), strict=True):
            with path.open("w", encoding="utf-8", newline="") as lines:
                csv.writer(lines).writerows([header, *part])
    else:
        _save_as(paths.pop(), text, form)
        paths = [tmp_path / "second.csv"]
    found, expected = _read_payments(paths), _read_payments([sample])
    if name == "splitwise_en" and form == "halves":  # only the second half has the total
        expected, found = (frame.drop(columns="balance_cents") for frame in (expected, found))
    pd.testing.assert_frame_equal(found, expected)
