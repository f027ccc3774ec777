"""Difficult files of other services: ambiguous dates, decimal commas, currencies without cents, missing members."""

from datetime import UTC, datetime

import pytest

from p2p_analytics.statements.formats.registry import find_format
from support.statements.files import CASH_APP, PAYPAL, REVOLUT, SPLITWISE
from support.statements.tables import read_text, read_texts

_ACTIVITY = f"{PAYPAL},Balance Impact\n"
_MOBILE = "Lena Ortiz,Mobile Payment,Completed"
_MONZO = "Transaction ID,Date,Time,Type,Name,Amount,Currency,Local amount,Local currency,Money Out,Money In\n"
_DUTCH = "Datum,Tijd,Tijdzone,Naam,Type,Status,Valuta,Bruto,Fee,Net,Transactiereferentie,Saldo,Effect op saldo\n"
_FRENCH = "Date,Heure,Fuseau horaire,Nom,Type,État,Devise,Avant commission,Commission,Net,Numéro de transaction\n"


def _cash(day: str = "2024-03-01 10:00:00 CST", end: str = "COMPLETE,,Theo Marsh,", **cells: str) -> str:
    usual = {"id": "a1", "type": "P2P", "currency": "USD", "amount": "$5", "fee": "$0", "net": "$5"} | cells
    return f"{usual['id']},{day},{','.join([*usual.values()][1:])},,,,{end}\n"


@pytest.mark.parametrize(
    ("text", "columns", "rows", "problems"),
    [
        # another language than English means day before month
        (f'{_FRENCH}02/03/2024,10:00:00,CET,Lena,Paiement sur mobile,Terminé,EUR,"1.234,56","-0,56","1.234,00",F1\n',
         "date kind status flow_cents fee_cents moved_cents",
         [(datetime(2024, 3, 2, 9, tzinfo=UTC), "payment", "settled", 123400, 56, 123400)], []),
        ((f"{_DUTCH}"
          '06-12-2017,17:47:00,CET,Theo,Mobiele betaling,Voltooid,EUR,"100,00","-5,00","95,00",D1,"1.875,88",Bij\n'
          '07-12-2017,17:47:00,CET,,Algemene opname,In behandeling,EUR,"-20,00",0,"-20,00",D2,"1.855,88",Af\n'),
         "date kind status flow_cents moved_cents balance_cents",
         [(datetime(2017, 12, 6, 16, 47, tzinfo=UTC), "payment", "settled", 9500, 9500, 187588),
          (datetime(2017, 12, 7, 16, 47, tzinfo=UTC), "transfer", "pending", -2000, -2000, 185588)], []),
        # in a file with points, a comma is not guessed
        ((f"{_ACTIVITY}13/01/2024,10:00:00,UTC,{_MOBILE},EUR,10.50,0.00,10.50,A1,Credit\n"
          f'13/01/2024,10:00:00,UTC,{_MOBILE},EUR,"10,50",0.00,"10,50",A2,Credit\n'), "flow_cents moved_cents",
         [(1050, 1050), (None, None)], [(3, "amount", "10,50"), (3, "net", "10,50")]),
        # in the caller's zone, Berlin
        (f"{_ACTIVITY}13/01/2024,10:00:00,Moon/Base,{_MOBILE},EUR,1.00,0.00,1.00,A1,Credit\n", "date",
         [(datetime(2024, 1, 13, 9, tzinfo=UTC),)], [(2, "zone", "Moon/Base")]),
        # gross and fee, and the impact, contradict the net amount
        (f"{_ACTIVITY}13/01/2024,10:00:00,UTC,{_MOBILE},EUR,5.00,-0.50,4.00,A1,Debit\n", "moved_cents", [(400,)],
         [(2, "net", "4.00"), (2, "impact", "Debit")]),
        (f"{PAYPAL}\n13/01/2024,10:00:00,UTC,Lena Ortiz,Zyzzyva,Blorped,EUR,5.00,0.00,5.00,A1\n",
         "type kind status moved_cents", [("Zyzzyva", "unknown", "Blorped", 0)],
         [(2, "status", "Blorped"), (2, "type", "Zyzzyva")]),
        # without Total, the amount is what moved; without a status, rows are settled
        (("Date,Time,Time zone,Name,Type,Currency,Amount,Transaction ID\n"
         "14/02/2026,15:25:46,GMT,Lena Ortiz,Mobile Payment,GBP,45.00,A1\n"), "kind status flow_cents moved_cents",
         [("payment", "settled", 4500, 4500)], []),
        (CASH_APP + _cash(type="Cash sent"), "kind", [("unknown",)], [(2, "type", "Cash sent")]),
        # Bitcoin has no cents
        (CASH_APP + _cash(type="Bitcoin Withdrawal", currency="BTC", amount="BTC -0.5", fee="BTC 0", net="BTC -0.5"),
         "kind flow_cents fee_cents moved_cents currency", [("asset", None, None, None, "BTC")],
         [(2, "net", "BTC -0.5")]),
        # a refunded payment comes back without a problem
        (CASH_APP + _cash(type="Sent P2P") + _cash(id="a2", type="Sent P2P", end="PAYMENT REFUNDED,,Theo Marsh,"),
         "direction", [("in",), ("in",)], [(2, "type", "Sent P2P")]),
        (f"{_MONZO}t1,01/02/2024,10:00:00,Faster payment,Theo Marsh,-5.00,GBP,-5.00,GBP,,5.00\n", "flow_cents",
         [(-500,)], [(2, "amount", "-5.00")]),
        # a blank id is none
        (CASH_APP + _cash(id=" ", end="COMPLETE, ,Theo Marsh,") + _cash(id=" ", amount="$6", net="$6"),
         "payment_id note flow_cents", [(None, None, 500), (None, None, 600)], []),
        # the only product of a file is its account
        (f"{REVOLUT}INTEREST,Savings,2024-01-01,2024-01-01,Interest earned,0.05,0.00,EUR,COMPLETED,9.05\n",
         "kind moved_cents balance_cents", [("reward", 5, 905)], []),
        # the kind of a refund is not known before all files are
        ((f"{_ACTIVITY.strip()},Balance,Reference Txn ID\n"
          "13/01/2024,10:00:00,UTC,Lena Ortiz,Payment Refund,Completed,USD,5.00,0.00,5.00,R1,Credit,105.00,P9\n"),
         "kind reference_id balance_cents", [(None, "P9", 10500)], []),
    ],
)  # fmt: skip
def test_rows_and_problems(text, columns, rows, problems):
    """What a cell cannot say is null or the word itself, and a problem; the row stays."""
    reading = read_text(text, tz="Europe/Berlin")
    assert reading.rows.select(columns.split()).rows() == rows
    assert [(each.line, each.field, each.value) for each in reading.problems] == problems


def test_ambiguous_dates_are_listed_once_for_each_file():
    """English dates with no day above 12 are month/day/year, and a problem; other files of the call decide nothing."""
    rows = "{0},10:00:00,UTC,{2},USD,1.00,0.00,1.00,A1,Credit\n{1},10:00:00,UTC,{2},USD,1.00,0.00,1.00,A2,Credit\n"
    days = {"a.csv": ("02/03/2024", "04/05/2024"), "b.csv": ("02/03/2024", "31/03/2024")}
    reading = read_texts({name: _ACTIVITY + rows.format(*pair, _MOBILE) for name, pair in days.items()})
    assert [(moment.month, moment.day) for moment in reading.rows["date"]] == [(2, 3), (4, 5), (3, 2), (3, 31)]
    (problem,) = reading.problems
    assert problem[:6] == ("ambiguous_date", "a.csv", 2, None, "date", "02/03/2024 10:00:00")
    assert problem.sentence == "has no day above 12 in its file: read as month/day/year"


_ROW = f'13/01/2024,10:00:00,UTC,{_MOBILE},EUR,"{{0}}","0{{1}}00","{{0}}",A1,Credit\n'


@pytest.mark.parametrize(
    ("texts", "column", "values", "problems"),
    [
        # The same English header has decimal points in one file and commas in the other.
        ([_ACTIVITY + _ROW.format("1,234.56", "."), _ACTIVITY + _ROW.format("1.234,56", ",")], "flow_cents",
         [123456, 123456], []),
        # A row without a currency has that of its symbol, else the only one of its file; otherwise it is a problem.
        ([CASH_APP + _cash(currency="", amount="£5", net="£5") + _cash(id="a2", currency="", amount="5", net="5"),
          CASH_APP + "".join(_cash(id=code, currency=code, amount="5", net="5") for code in ("USD", "GBP", ""))],
         "currency", ["GBP", "GBP", "USD", "GBP", None], [("2.csv", 4, "currency")]),
    ],
)  # fmt: skip
def test_each_file_has_its_own_spelling(texts, column, values, problems):
    """Other files of the call decide nothing."""
    reading = read_texts({f"{number}.csv": text for number, text in enumerate(texts, 1)})
    assert reading.rows[column].to_list() == values
    assert [(each.file, each.line, each.field) for each in reading.problems] == problems


@pytest.mark.parametrize(
    ("currency", "cost", "cents", "problems"),
    [
        ("JPY", "1800", 180000, 0), ("JPY", "1800.00", 180000, 0), ("CLP", "200000", 20000000, 0),
        ("KWD", "1.230", 123, 0), ("KWD", "1.234", None, 3), ("EUR", "1.230", None, 3),
    ],
)  # fmt: skip
def test_currencies_without_cents(currency, cost, cents, problems):
    """Amounts are hundredths of the unit in every currency; what has no whole hundredths is null and a problem."""
    text = f"{SPLITWISE},Nora Quill,Theo Marsh\n2024-05-01,Tea,Payment,{cost},{currency},{cost},-{cost}\n"
    reading = read_text(text, account="Nora Quill")
    assert reading.rows["moved_cents"].to_list() == [cents]
    assert [problem.field for problem in reading.problems] == ["cost", "member", "member"][:problems]


def test_cells_of_members():
    """More than a cent of rounding for each member is a problem; of several payers, none is named."""
    text = (
        f"{SPLITWISE},Nora Quill,Theo Marsh,Lena Ortiz\n"
        "2024-05-01,Tea,Tea,3,EUR,1.50,0,-1.47\n2024-05-02,Tea,Tea,3,EUR,1.50,0,-1.40\n"
        "2024-05-01,Boat,Fun,90,EUR,10.00,20.00,-30.00\n"
    )
    reading = read_text(text, account="Lena Ortiz")
    assert reading.rows.select("counterparty_name", "flow_cents").rows() == [
        ("Nora Quill", -147), ("Nora Quill", -140), (None, -3000),
    ]  # fmt: skip
    assert [(each.line, each.field, each.value) for each in reading.problems] == [(3, "cost", "3")]


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Data,Descrizione,Categorie,Costo,Valuta,Nora,Theo", "splitwise"),
        ("Date,Description,Catégorie,Coût,Devise,Nora,Theo", "splitwise"),
        ("Art,Produkt,Datum des Beginns,Datum des Abschlusses,Beschreibung,Betrag,Gebühr,Währung,Status", "revolut"),
        ("Type,Produit,Date de début,Date de fin,Description,Montant,Frais,Devise,État,Solde", "revolut"),
        ("Datum,Tijd,Naam,Type,Status,Valuta,Bruto,Fee,Net,Transactiereferentie,Effect op saldo", "paypal_activity"),
        ("\ufeffTransferWise ID, DATE ,amount,Currency,Description,Running  Balance", "wise"),
    ],
)
def test_headers_in_other_languages(header, name):
    """Formats are found by names in several languages, whatever their case, spaces or byte order mark."""
    assert find_format(header.split(","))[0].name == name
