"""The text of a file of each generation, from lines that are given: headers, rows around the lines, cells, quotes."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from p2p_analytics.sandbox.statements.generations import CSV_FORMS
from p2p_analytics.sandbox.statements.json_history import write_json
from p2p_analytics.sandbox.statements.lines import BALANCE, BANK, DEBIT_CARD, Line, LineType, Statement
from p2p_analytics.sandbox.storage.rows import Payment, Person
from support.statements.plain_files import read_json

NORA = Person(11, "nora-quill", "Nora", "Quill", "Nora Quill", "", "", 0, "nora@example.com", "15550100199", 0)
THEO = Person(12, "theo-marsh", "Theo", "Marsh", "Theo Marsh", "", "", 0, "theo@example.com", "15550100198", 0)

HEADER_A = (
    '" ID","Datetime","Type","Status","Note","From","To","Amount (total)","Amount (fee)","Funding Source","Destination"'
)
HEADER_B = (
    " Username,ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (fee),Funding Source,Destination,"
    "Beginning Balance,Ending Balance,Statement Period Venmo Fees,Year to Date Venmo Fees,Disclaimer"
)
HEADER_C = (
    ",ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (tip),Amount (fee),Funding Source,Destination,"
    "Beginning Balance,Ending Balance,Statement Period Venmo Fees,Terminal Location,Year to Date Venmo Fees,Disclaimer"
)
HEADER_D = (
    ",ID,Datetime,Type,Status,Note,From,To,Amount (total),Amount (tip),Amount (tax),Amount (fee),Tax Rate,Tax Exempt,"
    "Funding Source,Destination,Beginning Balance,Ending Balance,Statement Period Venmo Fees,Terminal Location,"
    "Year to Date Venmo Fees,Disclaimer"
)
HEADER_E = (
    "Transaction ID,Date,Time (UTC),Type,Status,Note,From,To,Donor email,Amount (total),Amount (fee),Amount (net),"
    "Funding Source,Destination"
)
HEADER_E_FULL = (
    "Transaction ID,Date,Time (UTC),Type,Status,Note,From,Donor email,To,Amount (total),Amount (tip),Amount (tax),"
    "Amount (net),Amount (fee),Tax Rate,Tax Exempt,Funding Source,Destination,Beginning Balance,Ending Balance,"
    "Statement Period Venmo Fees,Terminal Location,Year to Date Venmo Fees,Disclaimer"
)
LONG_ID = 3970000000000000301
NOTE = 'say "rent", \nplease'


def us(text: str) -> int:
    """Return an instant in microseconds, with half a second that files do not show."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000 + 500_000


def payment(payment_id: int, action: str, cents: int, note: str, *days: str) -> Payment:
    """Return a settled payment of nora's to theo."""
    return Payment(payment_id, "settled", action, cents, note, "private", "ios", 0, *map(us, days), 11, "user", 12)


PAID, ASKED = "2024-01-15T14:30:22", "2024-01-22T16:20:45"
LINES = [
    Line(
        us(PAID), LONG_ID, LineType.PAYMENT, "Complete", -7_500, -7_500, "moving van", "Nora Quill", "Theo Marsh",
        BALANCE, payment=payment(LONG_ID, "pay", 7_500, "moving van", PAID, PAID),
    ),
    Line(
        us(ASKED), 303, LineType.CHARGE, "Complete", 123_456, 123_456, NOTE, "Nora Quill", "Theo Marsh", "",
        BALANCE, payment=payment(303, "charge", 123_456, NOTE, "2024-01-20T10:00:00", ASKED),
    ),
    Line(
        us("2024-01-25T09:30:18"), 304, LineType.MERCHANT, "Complete", -3_225, -3_225, "", "Nora Quill",
        "Corner Store", BALANCE, tip_cents=200, tax_cents=112,
    ),
    Line(
        us("2024-01-28T21:10:55"), 305, LineType.INSTANT_TRANSFER, "Issued", -20_000, -20_000,
        destination=DEBIT_CARD, fee_cents=350,
    ),
    Line(us("2024-01-29T08:00:00"), 306, LineType.FEE, "Complete", -48, 0, funding_source=BANK),
]  # fmt: skip
# 1,250.00 - 75.00 + 1,234.56 - 32.25 - 200.00 = 2,177.31; the bank paid the 0.48. Fees: 3.50 + 0.48 = 3.98.
STATEMENT = Statement(
    NORA, {11: NORA, 12: THEO}, date(2024, 1, 1), date(2024, 1, 31), LINES, 125_000, 217_731, 398, 1_000
)


def test_generation_a() -> None:
    """Every cell in quotes, a space in the name of the id, nothing around the lines."""
    van = '"moving van","Nora Quill","Theo Marsh","- $75.00","","Venmo balance",""'
    store, bank = '"","Nora Quill","Corner Store","- $32.25"', '"BANK OF SAND, N.A. Personal Checking *1234"'
    assert CSV_FORMS["A"].write(STATEMENT).splitlines() == [
        HEADER_A,
        f'"3970000000000000301","2024-01-15T14:30:22","Payment","Complete",{van}',
        '"303","2024-01-22T16:20:45","Charge","Complete","say ""rent"", ',
        'please","Nora Quill","Theo Marsh","+ $1,234.56","","","Venmo balance"',
        f'"304","2024-01-25T09:30:18","Merchant Transaction","Complete",{store},"","Venmo balance",""',
        '"305","2024-01-28T21:10:55","Instant Transfer","Issued","","","","- $200.00","$3.50","","Visa Debit *1559"',
        f'"306","2024-01-29T08:00:00","Payment Fee","Complete","","","","- $0.48","",{bank},""',
    ]


def test_generation_e() -> None:
    """Ids in three quotes, date and time apart, (None) for empty cells; total and fee add up to the net."""
    van = "moving van,Nora Quill,Theo Marsh,(None),- $75.00,$0.00,- $75.00,Venmo balance,(None)"
    store = "(None),Nora Quill,Corner Store,(None),- $32.25,$0.00,- $32.25,Venmo balance,(None)"
    transfer = "(None),(None),(None),(None),- $196.50,- $3.50,- $200.00,(None),Visa Debit *1559"
    fee = '(None),(None),(None),(None),- $0.48,$0.00,- $0.48,"BANK OF SAND, N.A. Personal Checking *1234",(None)'
    assert CSV_FORMS["E"].write(STATEMENT).splitlines() == [
        "Account Activity,,,,,,,,,,,,,",
        HEADER_E,
        f'"""3970000000000000301""",01/15/2024,14:30:22,Payment,Complete,{van}',
        '"""303""",01/22/2024,16:20:45,Charge,Complete,"say ""rent"", ',
        'please",Nora Quill,Theo Marsh,(None),"+ $1,234.56",$0.00,"+ $1,234.56",(None),Venmo balance',
        f'"""304""",01/25/2024,09:30:18,Merchant Transaction,Complete,{store}',
        f'"""305""",01/28/2024,21:10:55,Instant Transfer,Issued,{transfer}',
        f'"""306""",01/29/2024,08:00:00,Payment Fee,Complete,{fee}',
    ]


# Rows up to the disclaimer, and the end of the text after it.
ROWS = {
    # The first row has the username and the balance; four rows with one value each follow the lines.
    "B": (
        {
            0: HEADER_B,
            1: 'nora-quill,,,,,,,,,,,,"$1,250.00",,,,',
            6: ",305,2024-01-28T21:10:55,Instant Transfer,Issued,,,,- $200.00,$3.50,,Visa Debit *1559,,,,,",
            8: ',,,,,,,,,,,,,"$2,177.31",,,',
            9: ",,,,,,,,,,,,,,$3.98,,",
            10: ",,,,,,,,,,,,,,,$10.00,",
            11: ',,,,,,,,,,,,,,,,"',
        },
        '\n        "\n',
    ),
    # Two rows with handle and period; an empty first column; one closing row; a block of coins.
    "C": (
        {
            0: "Account Statement - (@nora-quill) - January 1st to January 31st 2024 ,,,,,,,,,,,,,,,,,,",
            1: "Account Activity,,,,,,,,,,,,,,,,,,",
            2: HEADER_C,
            3: ',,,,,,,,,,,,,"$1,250.00",,,,,',
            7: ",304,2024-01-25T09:30:18,Merchant Transaction,Complete,,Nora Quill,Corner Store,- $32.25,$2.00,,"
            "Venmo balance,,,,,Venmo,,",
            10: ',,,,,,,,,,,,,,"$2,177.31",$3.98,,$10.00,"',
        },
        ",Coin,Quantity,Value,,,,,,,,,,,,,,,\n,BTC,0.00000000,$0.00,,,,,,,,,,,,,,,\n",
    ),
    # A byte order mark, CRLF between rows and not inside of cells, no period, columns for taxes.
    "D": (
        {
            0: "\ufeffAccount Statement - (@nora-quill) ,,,,,,,,,,,,,,,,,,,,,",
            2: HEADER_D,
            3: ',,,,,,,,,,,,,,,,"$1,250.00",,,,,',
            5: ',303,2024-01-22T16:20:45,Charge,Complete,"say ""rent"", \nplease",Nora Quill,Theo Marsh,"+ $1,234.56",,'
            "0,,0,,,Venmo balance,,,,Venmo,,",
            6: ",304,2024-01-25T09:30:18,Merchant Transaction,Complete,,Nora Quill,Corner Store,- $32.25,$2.00,$1.12,,"
            "8,,Venmo balance,,,,,Venmo,,",
            7: ",305,2024-01-28T21:10:55,Instant Transfer,Issued,,,,- $200.00,,0,$3.50,0,,,Visa Debit *1559,,,,Venmo,,",
            9: ',,,,,,,,,,,,,,,,,"$2,177.31",$3.98,,$10.00,"',
        },
        '\n        "\r\n',
    ),
    # Username and phone before the header, and both balances on the opening row.
    "D2025": (
        {
            0: "Username,nora-quill,,,,,,,,,,,,,,,,,,,,",
            1: "Phones,15550100199,,,,,,,,,,,,,,,,,,,,",
            3: HEADER_D,
            4: ',,,,,,,,,,,,,,,,"$1,250.00","$2,177.31",,,,',
            11: ',,,,,,,,,,,,,,,,,,$3.98,,$10.00,"',
        },
        ",Coin,Quantity,Value,,,,,,,,,,,,,,,,,,\n,BTC,0.00021000,$13.02,,,,,,,,,,,,,,,,,,\n",
    ),
    # 24 columns, 0 in both balance columns of each line, no net of transfers; balances on rows without an id.
    "E-full": (
        {
            1: HEADER_E_FULL,
            2: ',,,,,,,,,,,,,,,,,,"$1,250.00",,,,,',
            6: '"""304""",01/25/2024,09:30:18,Merchant Transaction,Complete,(None),Nora Quill,(None),Corner Store,'
            "- $32.25,$2.00,$1.12,- $32.25,$0.00,8,,Venmo balance,(None),0,0,,Venmo,,",
            7: '"""305""",01/28/2024,21:10:55,Instant Transfer,Issued,(None),(None),(None),(None),- $200.00,(None),0,'
            "(None),- $3.50,0,,(None),Visa Debit *1559,0,0,,Venmo,,",
            9: ',,,,,,,,,,,,,,,,,,,"$2,177.31",$3.98,,$10.00,"',
        },
        '\n        "\n',
    ),
}  # fmt: skip


@pytest.mark.parametrize("generation", ROWS)
def test_rows_of_a_generation(generation: str) -> None:
    """Rows around the lines, and lines; all rows are as long as the header, and the disclaimer has 25 lines."""
    expected, end = ROWS[generation]
    text = CSV_FORMS[generation].write(STATEMENT)
    rows, _, rest = text.partition("This account belongs")
    lines = rows.split("\r\n" if generation == "D" else "\n")
    assert {at: lines[at] for at in expected} == expected
    assert rest.endswith(end)
    assert "\r" not in rest.removesuffix("\r\n")
    table = list(csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline="")))
    assert len({len(row) for row in table}) == 1
    (disclaimer,) = (cell for row in table for cell in row if cell.startswith("This account"))
    assert len(disclaimer.splitlines()) == 25


def test_notes_that_break_csv() -> None:
    """A carriage return alone, quotes, commas and line breaks are quoted."""
    notes = ["a\rb", 'a"b', "a,b", "a\nb", "a\r\nb", " a ", "'", ""]
    lines = [LINES[0]._replace(note=note) for note in notes]
    for generation, form in CSV_FORMS.items():
        text = form.write(STATEMENT._replace(lines=lines)).removeprefix("\ufeff")
        table = list(csv.reader(io.StringIO(text, newline="")))
        at = next(row.index("Note") for row in table if "Note" in row)
        found = [row[at] for row in table if "Nora Quill" in row]
        assert found == [note or "(None)" if generation.startswith("E") else note for note in notes]


def test_json() -> None:
    """Balances and fees, then rows with one sub-object each, amounts without a sign, and usernames."""
    data = read_json(write_json(STATEMENT))
    parts = {
        "payment", "refund", "transfer", "disbursement", "capture", "direct_deposit", "internal_balance_transfer",
    }  # fmt: skip
    assert (data["start_balance"], data["end_balance"]) == (Decimal("1250.0"), Decimal("2177.31"))
    assert [
        (row["type"], row["amount"], {part for part in parts if row[part]}, (row["funding_source"] or {}).get("type"))
        for row in data["transactions"]
    ] == [
        ("payment", 75, {"payment"}, "balance"),
        ("payment", Decimal("1234.56"), {"payment"}, None),
        ("capture", Decimal("32.25"), {"capture"}, "balance"),
        ("transfer", 200, {"transfer"}, None),
        ("fee", Decimal("-0.48"), set(), "bank"),
    ]
    assert [(row["id"], row["datetime_created"]) for row in data["transactions"]] == [
        ("3970000000000000301", PAID), ("303", ASKED), ("304", "2024-01-25T09:30:18"), ("305", "2024-01-28T21:10:55"),
        ("306", "2024-01-29T08:00:00"),
    ]  # fmt: skip
    charge = data["transactions"][1]["payment"]
    sides = charge.pop("actor")["username"], charge.pop("target")["user"]["username"]
    assert sides == ("nora-quill", "theo-marsh")
    assert charge == {
        "id": "303", "status": "settled", "action": "charge", "amount": Decimal("1234.56"), "note": NOTE,
        "audience": "private", "date_created": "2024-01-20T10:00:00", "date_completed": ASKED,
    }  # fmt: skip


def test_a_refund_in_json_nests_its_payment() -> None:
    """A refund has the payment that it returns; what a merchant returns is a disbursement."""
    sent = LINES[0].payment
    refund = Line(
        us("2024-01-30T08:00:00"), 5, LineType.REFUND, "Complete", 7_500, 7_500, destination=BALANCE, payment=sent
    )
    returned = refund._replace(payment=None, from_name="Corner Store", to_name="Nora Quill")
    first, second = read_json(write_json(STATEMENT._replace(lines=[refund, returned])))["transactions"]
    assert (first["type"], first["id"], first["refund"]["payment"]["id"]) == ("refund", "5", "3970000000000000301")
    assert (second["type"], second["disbursement"]) == ("disbursement", {"merchant": {"display_name": "Corner Store"}})
