"""Difficult files of other services: ambiguous dates, decimal commas, currencies without cents, missing members."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from p2p_analytics.errors import StatementError
from p2p_analytics.statements.formats.registry import find_format
from support.statements.tables import read_text, read_texts

_ACTIVITY = "Date,Time,TimeZone,Name,Type,Status,Currency,Gross,Fee,Net,Transaction ID,Balance Impact\n"
_SPLITWISE = "Date,Description,Category,Cost,Currency,Nora Quill,Theo Marsh\n"
_MONZO = "Transaction ID,Date,Time,Type,Name,Amount,Currency,Local amount,Local currency,Money Out,Money In\n"
_CASH_APP = (
    "Transaction ID,Date,Transaction Type,Currency,Amount,Fee,Net Amount,Asset Type,Asset Price,Asset Amount,Status,"
    "Notes,Name of sender/receiver,Account\n"
)


def _list_problems(reading) -> list[tuple[str, int, str, str]]:
    return [(each.file, each.line, each.field, each.value) for each in reading.problems]


def test_ambiguous_dates_are_listed_once_for_each_file():
    """English dates with no day above 12 are month/day/year, and a problem; other files of the call decide nothing."""
    ambiguous = _ACTIVITY + "02/03/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,USD,1.00,0.00,1.00,A1,Credit\n"
    ambiguous += "04/05/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,USD,1.00,0.00,1.00,A2,Credit\n"
    british = _ACTIVITY + "02/03/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,GBP,1.00,0.00,1.00,B1,Credit\n"
    british += "31/03/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,GBP,1.00,0.00,1.00,B2,Credit\n"
    reading = read_texts({"a.csv": ambiguous, "b.csv": british})
    assert [(moment.month, moment.day) for moment in reading.rows["date"]] == [(2, 3), (4, 5), (3, 2), (3, 31)]
    (problem,) = reading.problems
    assert problem[:6] == ("ambiguous_date", "a.csv", 2, None, "date", "02/03/2024 10:00:00")
    assert problem.sentence == "has no day above 12 in its file: read as month/day/year"


def test_the_language_of_the_header_decides_ambiguous_dates():
    """A header in another language than English means day before month, so that nothing is ambiguous."""
    header = "Date,Heure,Fuseau horaire,Nom,Type,État,Devise,Avant commission,Commission,Net,Numéro de transaction\n"
    row = '02/03/2024,10:00:00,CET,Lena Ortiz,Paiement sur mobile,Terminé,EUR,"1.234,56","-0,56","1.234,00",F1\n'
    reading = read_text(header + row)
    assert reading.problems == []
    (found,) = reading.rows.iter_rows(named=True)
    assert found["date"] == datetime(2024, 3, 2, 9, tzinfo=UTC)
    assert (found["kind"], found["status"]) == ("payment", "settled")
    assert (found["flow_cents"], found["fee_cents"], found["moved_cents"]) == (123400, 56, 123400)


def test_the_decimal_sign_is_found_in_each_file():
    """The same English header has decimal points in one file and commas in the other."""
    row = '13/01/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,EUR,"{0}","0{1}00","{0}",A1,Credit\n'
    point = _ACTIVITY + row.format("1,234.56", ".")
    comma = _ACTIVITY + row.format("1.234,56", ",")
    reading = read_texts({"point.csv": point, "comma.csv": comma})
    assert reading.rows["flow_cents"].to_list() == [123456, 123456]
    assert reading.problems == []


def test_amounts_with_both_decimal_signs_are_not_guessed():
    """In a file with points, an amount with a comma is null and a problem, and the row stays."""
    row = '13/01/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,EUR,"{0}",0.00,"{0}",{1},Credit\n'
    reading = read_text(_ACTIVITY + row.format("10.50", "A1") + row.format("10,50", "A2"))
    assert reading.rows["flow_cents"].to_list() == [1050, None]
    assert reading.rows["moved_cents"].to_list() == [1050, None]
    assert _list_problems(reading) == [("sample.csv", 3, "amount", "10,50"), ("sample.csv", 3, "net", "10,50")]


def test_an_unknown_zone_is_a_problem_and_the_date_stays():
    """A datetime in an unknown zone is read in the zone that the caller named."""
    row = "13/01/2024,10:00:00,Moon/Base,Lena Ortiz,Mobile Payment,Completed,EUR,1.00,0.00,1.00,A1,Credit\n"
    reading = read_text(_ACTIVITY + row, tz="Europe/Berlin")
    assert reading.rows["date"].to_list() == [datetime(2024, 1, 13, 9, tzinfo=UTC)]
    assert _list_problems(reading) == [("sample.csv", 2, "zone", "Moon/Base")]


def test_net_and_impact_that_contradict_are_problems():
    """The net amount is used where gross and fee, or the balance impact, say something else."""
    row = "13/01/2024,10:00:00,UTC,Lena Ortiz,Mobile Payment,Completed,EUR,5.00,-0.50,4.00,A1,Debit\n"
    reading = read_text(_ACTIVITY + row)
    assert reading.rows["moved_cents"].to_list() == [400]
    assert _list_problems(reading) == [("sample.csv", 2, "net", "4.00"), ("sample.csv", 2, "impact", "Debit")]


def test_unknown_words_stay():
    """An unknown type has the kind "unknown"; an unknown status stays, and moves nothing; both are problems."""
    header = _ACTIVITY.replace(",Balance Impact", "")
    reading = read_text(header + "13/01/2024,10:00:00,UTC,Lena Ortiz,Zyzzyva,Blorped,EUR,5.00,0.00,5.00,A1\n")
    (row,) = reading.rows.iter_rows(named=True)
    assert (row["type"], row["kind"], row["status"], row["moved_cents"]) == ("Zyzzyva", "unknown", "Blorped", 0)
    assert _list_problems(reading) == [("sample.csv", 2, "status", "Blorped"), ("sample.csv", 2, "type", "Zyzzyva")]
    cash = read_text(_CASH_APP + "a1,2024-03-01 10:00:00 CST,Cash sent,USD,-$5,$0,-$5,,,,COMPLETE,,Theo Marsh,\n")
    assert cash.rows["kind"].to_list() == ["unknown"]
    assert _list_problems(cash) == [("sample.csv", 2, "type", "Cash sent")]


def test_bitcoin_amounts_are_not_counted_in_cents():
    """A row in Bitcoin is an asset without an amount, and its only problem says so."""
    row = "a1,2024-03-01 10:00:00 CST,Bitcoin Withdrawal,BTC,BTC -0.5,BTC 0,BTC -0.5,BTC,,0.5,COMPLETE,,,\n"
    reading = read_text(_CASH_APP + row)
    assert reading.rows.select("kind", "flow_cents", "fee_cents", "moved_cents", "currency").rows() == [
        ("asset", None, None, None, "BTC")
    ]
    assert _list_problems(reading) == [("sample.csv", 2, "net", "BTC -0.5")]


def test_a_type_that_contradicts_its_sign_is_a_problem():
    """The direction follows the amount, except that a refunded payment comes back without a problem."""
    row = "{0},2024-03-01 10:00:00 CST,Sent P2P,USD,$5,$0,$5,,,,{1},,Theo Marsh,\n"
    reading = read_text(_CASH_APP + row.format("a1", "COMPLETE") + row.format("a2", "PAYMENT REFUNDED"))
    assert reading.rows["direction"].to_list() == ["in", "in"]
    assert _list_problems(reading) == [("sample.csv", 2, "type", "Sent P2P")]


def test_a_currency_is_taken_from_the_symbol_or_the_file():
    """A row without a currency has that of its symbol, else the only one of its file; otherwise it is a problem."""
    row = "{0},2024-03-01 10:00:00 CST,P2P,{1},{2},{2},{2},,,,COMPLETE,,Theo Marsh,\n"
    one = _CASH_APP + row.format("a1", "", "£5") + row.format("a2", "", "5")
    two = _CASH_APP + row.format("b1", "USD", "5") + row.format("b2", "GBP", "5") + row.format("b3", "", "5")
    reading = read_texts({"one.csv": one, "two.csv": two})
    assert reading.rows["currency"].to_list() == ["GBP", "GBP", "USD", "GBP", None]
    assert [(each.file, each.line, each.field) for each in reading.problems] == [("two.csv", 4, "currency")]


def test_money_in_and_out_that_contradict_the_amount_are_a_problem():
    """The amount is used; the columns for in and out are compared with it."""
    row = "t1,01/02/2024,10:00:00,Faster payment,Theo Marsh,-5.00,GBP,-5.00,GBP,,5.00\n"
    reading = read_text(_MONZO + row)
    assert reading.rows["flow_cents"].to_list() == [-500]
    assert _list_problems(reading) == [("sample.csv", 2, "amount", "-5.00")]


@pytest.mark.parametrize(
    ("currency", "cost", "cents", "problems"),
    [
        ("JPY", "1800", 180000, 0),
        ("JPY", "1800.00", 180000, 0),
        ("CLP", "200000", 20000000, 0),
        ("KWD", "1.230", 123, 0),
        ("KWD", "1.234", None, 1),
        ("EUR", "1.230", None, 1),
    ],
)
def test_currencies_without_cents(currency, cost, cents, problems):
    """Amounts are hundredths of the unit in every currency; what has no whole hundredths is null and a problem."""
    row = f"2024-05-01,Tea,Payment,{cost},{currency},{cost},-{cost}\n"
    reading = read_text(_SPLITWISE + row, account="Nora Quill")
    assert reading.rows["moved_cents"].to_list() == [cents]
    assert [problem.field for problem in reading.problems] == ["cost", "member", "member"][: problems * 3]


@pytest.mark.parametrize(
    ("account", "message"),
    [
        (None, "team.csv does not say which member you are"),
        ("Lena", "team.csv has no member 'Lena'"),
    ],
)
def test_splitwise_needs_the_member(account, message):
    """A group is the same file for all members, so the caller has to say who is asking."""
    with pytest.raises(StatementError) as error:
        read_text(_SPLITWISE + "2024-05-01,Tea,Tea,3,EUR,1.50,-1.50\n", name="team.csv", account=account)
    assert str(error.value) == f"{message}: name yours with member=... (--member), one of 'Nora Quill', 'Theo Marsh'."


def test_cells_of_members_that_do_not_add_up():
    """A cent for each member is rounding; more than that is a problem."""
    rows = "2024-05-01,Tea,Tea,3,EUR,1.50,-1.48\n2024-05-02,Tea,Tea,3,EUR,1.50,-1.40\n"
    reading = read_text(_SPLITWISE + rows, account="Theo Marsh")
    assert reading.rows["flow_cents"].to_list() == [-148, -140]
    assert _list_problems(reading) == [("sample.csv", 3, "cost", "3")]


def test_an_expense_with_several_payers_names_nobody():
    """The export does not say who paid which part."""
    header = _SPLITWISE.strip() + ",Lena Ortiz\n"
    reading = read_text(header + "2024-05-01,Boat,Fun,90,EUR,10.00,20.00,-30.00\n", account="Lena Ortiz")
    assert reading.rows["counterparty_name"].to_list() == [None]
    assert reading.rows["flow_cents"].to_list() == [-3000]


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
)  # fmt: skip
def test_headers_in_other_languages(header, name):
    """Formats are found by names in several languages, whatever their case, spaces or byte order mark."""
    found, *_ = find_format(header.split(","))
    assert found.name == name


def test_dutch_activity():
    """A Dutch download has dates with hyphens, a decimal comma and words of its own for the impact."""
    header = "Datum,Tijd,Tijdzone,Naam,Type,Status,Valuta,Bruto,Fee,Net,Transactiereferentie,Saldo,Effect op saldo\n"
    rows = (
        '06-12-2017,17:47:00,CET,Theo Marsh,Mobiele betaling,Voltooid,EUR,"100,00","-5,00","95,00",D1,"1.875,88",Bij\n'
    )
    rows += '07-12-2017,17:47:00,CET,,Algemene opname,In behandeling,EUR,"-20,00","0,00","-20,00",D2,"1.855,88",Af\n'
    reading = read_text(header + rows)
    assert reading.problems == []
    names = ("kind", "status", "flow_cents", "moved_cents", "balance_cents")
    assert reading.rows.select(names).rows() == [
        ("payment", "settled", 9500, 9500, 187588),
        ("transfer", "pending", -2000, -2000, 185588),
    ]
    assert reading.rows["date"][0] == datetime(2017, 12, 6, 16, 47, tzinfo=UTC)


def test_cells_of_spaces_are_empty():
    """Rows with a blank id have none, so that they are not one payment."""
    rows = " ,2024-03-01 10:00:00 CST,P2P,USD,$5,$0,$5,,,,COMPLETE, ,Theo Marsh,\n"
    reading = read_text(_CASH_APP + rows + rows.replace("$5", "$6"))
    assert reading.rows.select("payment_id", "note", "flow_cents").rows() == [(None, None, 500), (None, None, 600)]
    assert reading.problems == []


@pytest.mark.parametrize("product", ["Savings", "Pocket"])
def test_a_file_of_one_other_product_has_its_own_balance(product):
    """Where a file has no current account, its product is the account."""
    header = "Type,Product,Started Date,Completed Date,Description,Amount,Fee,Currency,State,Balance\n"
    reading = read_text(
        f"{header}INTEREST,{product},2024-01-01,2024-01-01,Interest earned,0.05,0.00,EUR,COMPLETED,9.05\n"
    )
    assert reading.rows.select("kind", "moved_cents", "balance_cents").rows() == [("reward", 5, 905)]


def test_a_refund_of_another_file_keeps_the_stated_balance():
    """Its kind is not known before all files are, and the balance beside it is."""
    row = "13/01/2024,10:00:00,UTC,Lena Ortiz,Payment Refund,Completed,USD,5.00,0.00,5.00,R1,Credit,105.00,P9\n"
    reading = read_text(_ACTIVITY.strip() + ",Balance,Reference Txn ID\n" + row)
    assert reading.problems == []
    (found,) = reading.rows.iter_rows(named=True)
    assert (found["kind"], found["reference_id"], found["balance_cents"]) == (None, "P9", 10500)
