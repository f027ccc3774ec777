"""Ids, amounts and dates of the service's own file after a spreadsheet has saved it."""

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import StatementError
from support.frames import list_rows, list_values

HEADER = "ID;Datetime;Type;Status;Note;From;To;Amount (total);Amount (fee);Funding Source;Destination"


@pytest.fixture
def read_amounts(write):
    """Return a function that reads payments of Nora Quill, saved with the semicolons of a German spreadsheet."""

    def read_amounts(*amounts: str, day: str = "31.12.2023", fee: str = "0") -> p2p.Statements:
        lines = [
            f"397000000000000030{at};{day} 14:3{at};Payment;Complete;;Nora Quill;Imani Cole;{amount};{fee};Venmo "
            "balance;"
            for at, amount in enumerate(amounts, 1)
        ]
        return p2p.read_statements(write("re.csv", "\r\n".join([f"\ufeff{HEADER}", *lines, ""])))

    return read_amounts


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("- 68,00 $", -6800), ("+ 1.234,50 $", 123450), ("-1.234.567,5$", -123456750),
        ("\N{MINUS SIGN}0,75\u00a0$", -75),
        ("($68.00)", -6800), ("$ (1,234.50)", -123450), ("(68,00 $)", -6800), ("((5.00))", None), ("(-5.00)", None),
        ("- 68,00 €", None),
    ],
)  # fmt: skip
def test_a_spelling_that_can_mean_one_amount_only(read_amounts, text, cents) -> None:
    """It is read whatever the other amounts look like; a problem is listed for other text only."""
    found = read_amounts(text, "- $42.50")
    assert list_values(found.payments["flow_cents"]) == [-4250, cents]
    problems = found.problems[found.problems["code"] == "not_an_amount"]
    assert list_rows(problems, "line", "field", "value") == ([] if cents else [(2, "total", text)])


def test_a_whole_german_file(read_amounts) -> None:
    """Amounts, fees and dates; the point of 1.234 separates thousands, because the other amounts have a comma."""
    found = read_amounts("- 68,00 $", "- 1.234 $", "- 12,50 $", fee="0,25 $", day="05.02.2024")
    frame = found.payments.assign(time=[f"{moment:%Y-%m-%d %H:%M}" for moment in found.payments["date_created"]])
    assert list_rows(frame, "time", "flow_cents", "fee_cents") == [
        ("2024-02-05 14:33", -1250, 25), ("2024-02-05 14:32", -123400, 25), ("2024-02-05 14:31", -6800, 25),
    ]  # fmt: skip
    assert found.problems.empty


@pytest.mark.parametrize(
    ("amounts", "sentence"),
    [
        (["+ 1.234 $"], r"line 2: the amount \+ 1\.234 \$ was rewritten by a spreadsheet, and no other"),
        (["- $42.50", "+ 1.234 $"], r"line 3: the amount \+ 1\.234 \$ was rewritten"),
        (["- 42,50 $", "- $42.50", "+ 1.234 $"], r"line 4: the amount \+ 1\.234 \$ was rewritten"),
        (["- 68,00 €", "- 1,00 €", "- 2,00 €"], "line 2: '- 68,00 €' is not an amount, and none of the 3 amounts"),
    ],
)
def test_a_file_that_is_refused(read_amounts, amounts, sentence) -> None:
    """Nothing in the file shows whether 1.234 is 1234 dollars, or three amounts are euros, which it never has."""
    with pytest.raises(StatementError, match=rf"re\.csv, {sentence}"):
        read_amounts(*amounts)


_WHOLE_17 = [f"123456789012{number:05}" for number in range(1, 149)]  # the last is ...00148; ...00100 ends in zeros


@pytest.mark.parametrize(
    ("ids", "doubtful"),
    [
        (["12345678901234500"], ["12345678901234500"]),  # one of 100 ids of 17 digits ends so
        ([*_WHOLE_17, "12345678901299900"], []),  # two of 149, where 1.5 are expected
        (["1234567890123456700"], []),  # a spreadsheet would have left 15 digits
        (["123456789012345000"], None),  # one of 1,000 ids of 18 digits ends so
        (["1234567890123450000"], None),  # one of 10,000 of 19 digits
        (["12345678901234500", "12345678901234600"], None),  # both: one of 10,000 pairs
        ([f"{number}00" for number in range(123456789012345, 123456789012845)], None),
    ],
)
def test_ids_that_end_in_zeros(ids, doubtful, read):
    """Zeros that are no accident are refused, because the digits are lost; a doubtful one is listed."""
    rows = [f"{each};2020-01-02;Payment;Complete;n;Bo;Ada;+ $5.00;;;" for each in ids]
    text = "\n".join([HEADER, *rows])
    if doubtful is None:
        with pytest.raises(StatementError, match="was rounded"):
            read(text)
    else:
        statements = read(text)
        assert sorted(statements.payments["payment_id"]) == sorted(ids)
        assert statements.problems["value"].to_list() == doubtful
