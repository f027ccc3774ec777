"""Formats of the user's own: as declarations in Python and TOML, drafts of them, and as functions."""

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.statements import Reading, StatementFormat, complete_rows
from p2p_analytics.statements.formats import registry
from support.frames import list_rows

pytestmark = pytest.mark.usefixtures("own_formats")

_CLUB = (
    "Kasse 2024\n\nTag;Mitglied;Betrag;Zweck\n"
    "03.02.2024;Theo Marsh;12,50;Beitrag\n05.02.2024;Lena Ortiz;-4,00;Kreide\n29.02.2024;Kasse;8,50;\n"
)
_COLUMNS = {"date": "Tag", "name": "Mitglied", "amount": "Betrag", "note": "Zweck"}
_TOML = """
name = "club"
currency = "EUR"
order = "dmy"
decimal = ","
opening = 0
closing = "^kasse$"

[columns]
date = "Tag"
name = "Mitglied"
amount = "Betrag"
note = "Zweck"
"""


@pytest.fixture
def read_club(read):
    """Return a function that registers a declaration, and reads a file of it."""

    def read_club(text: str, **declaration) -> p2p.Statements:
        p2p.register_format(p2p.ColumnFormat(**{"name": "club", "currency": "EUR", **declaration}))
        return read(text)

    return read_club


def test_a_declaration_in_python_and_in_toml(read_club, write):
    """The file has the keys of the declaration; the last row states the balance, which the others explain from 0."""
    own = p2p.read_format(write("club.toml", _TOML))
    declared = {"closing": "^kasse$", "opening": 0, "order": "dmy", "decimal": ","}
    found = read_club(_CLUB, columns=_COLUMNS, **declared)
    assert own == p2p.ColumnFormat(name="club", currency="EUR", columns=_COLUMNS, **declared)
    assert list_rows(found.payments, "counterparty_name", "kind", "flow_cents", "note") == [
        ("Lena Ortiz", "payment", -400, "Kreide"), ("Theo Marsh", "payment", 1250, "Beitrag"),
    ]  # fmt: skip
    assert list_rows(found.reconciliation, "opening_cents", "closing_cents", "reconciled") == [(0, 850, True)]
    assert found.files["notice"].tolist() == [1]


_WHO = {"date": "Day", "name": "Who"}
_DUTCH = (
    "Datum,Af Bij,Bedrag,Soort,Toestand,Tekst\n"
    '13-02-2024,Af,"1.250,00",Tikkie,klaar,Betaald aan Theo Marsh\n'
    '14-02-2024,Bij,"4,00",Tikkie,bezig,Ontvangen van Lena Ortiz\n'
    '15-02-2024,Af,"2,00",Winkel,klaar,Betaald aan de bakker\n'
)
_SIGNED = "Day,Who,Sum,CR/DR\n2024-02-13,Theo Marsh,10.00,{}\n2024-02-14,Theo Marsh,10.00,{}\n"
_SIGN = _WHO | {"amount": "Sum", "sign": "CR/DR"}
_FEE = "Day,Who,Sum,Cost\n2024-02-13,Theo Marsh,-10.00,-0.50\n"
_FEES = _WHO | {"amount": "Sum", "fee": "Cost"}
_TWO = "Day,Who,Out (SEK),In (SEK),Left (SEK)\n2024-02-13,Theo Marsh,10.00,,90.00\n2024-02-14,Lena Ortiz,,5,95\n"


@pytest.mark.parametrize(
    ("text", "declared", "columns", "rows"),
    [
        # A word distinguishes in and out; patterns of types, words of states and texts with names are declared.
        (_DUTCH,
         {"columns": {"date": "Datum", "sign": "Af Bij", "amount": "Bedrag", "type": "Soort", "status": "Toestand",
                      "description": "Tekst"},
          "signs": {"out": "Af", "in": ["Bij"]}, "kinds": {"payment": "tikkie", "merchant": "winkel"},
          "statuses": {"settled": "klaar", "pending": ["bezig"]},
          "persons": ["^(?:Betaald aan|Ontvangen van) (.+)$"]},
         "counterparty_name kind status flow_cents",
         [("Theo Marsh", "payment", "settled", -125000), ("Lena Ortiz", "payment", "pending", 400),
          ("Betaald aan de bakker", "merchant", "settled", -200)]),
        (_FEE, {"columns": _FEES, "fee": "inside"}, "flow_cents fee_cents", [(-1000, 50)]),
        (_FEE, {"columns": _FEES, "fee": "added"}, "flow_cents fee_cents", [(-1050, 50)]),
        (_FEE, {"columns": _FEES, "fee": "taken off"}, "flow_cents fee_cents", [(-950, 50)]),
        # The currency is in the header.
        (_TWO,
         {"columns": _WHO | {"out": "Out (currency)", "in": "In (currency)", "balance": "Left (currency)"},
          "currency": None},
         "flow_cents currency balance_cents", [(-1000, "SEK", 9000), (500, "SEK", 9500)]),
        (_SIGNED.format("?", "CR"), {"columns": _SIGN, "signs": {"in": "cr", "out": "dr"}}, "flow_cents",
         [(None,), (1000,)]),
        # Words are compared in lower case: a sharp s stays one; "(?i)" and the names of groups are no words.
        (_SIGNED.format("WEISS", "Wei\u00df"),
         {"columns": _SIGN, "signs": {"in": "weiss", "out": "wei\u00df"}, "kinds": {"fee": "(?i)(?P<A>tax)"}},
         "flow_cents", [(1000,), (-1000,)]),
    ],
)  # fmt: skip
def test_what_a_declaration_means(read_club, text, declared, columns, rows):
    """Rows are as declared; a word that is not is a problem."""
    found = read_club(text, **declared)
    assert list_rows(found.payments[::-1], *columns.split()) == rows
    assert found.problems["value"].tolist() == ["?"] * text.count("?")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nonsense = 1\n" + _TOML, "has the unknown key 'nonsense': use one of name, columns, required, "),
        (_TOML + 'amuont = "Betrag"\n', "The format 'club' has the unknown field 'amuont': use one of id, "),
        (_TOML.replace('"dmy"', '"ymd"'), "The format 'club' has the wrong order 'ymd': write 'mdy' or 'dmy'."),
        (_TOML.replace('order = "dmy"', "order = []"), "has the wrong order []: write 'mdy' or 'dmy'."),
        (_TOML.replace('"EUR"', "978"), "The format 'club' has the wrong currency 978: write a code such as 'EUR'."),
        (_TOML.replace('"club"', "7"), "The format 7 has the wrong name 7: write a text."),
        (_TOML.replace("^kasse$", "("), "The format 'club' has the wrong closing '(': write a regular expression "),
        (_TOML.replace("^kasse$", "^Übertrag$"), "closing '^Übertrag$': write a regular expression in lower case."),
        (_TOML + '\n[kinds]\nfee = "x"\nmerchant = "("\n', "has the wrong kinds"),
        (_TOML.replace('note = "Zweck"', "note = []"), "has the wrong columns"),
        (_TOML.replace("^kasse$", "^Kasse$"), "wrong closing '^Kasse$': write a regular expression in lower case."),
        ('persons = ["to .+"]' + _TOML, "wrong persons ['to .+']: write regular expressions with one group, the name."),
        (_TOML + '\n[kinds]\ngift = "x"\n', "has the wrong kinds {'gift': 'x'}: write a regular expression in "),
        (_TOML + '\n[statuses]\nsettled = "x"\nopening = 5\n', "has 'opening' below [statuses]: move it above the "),
        (_TOML + 'sign = "S/H"\n', "has the field 'sign' without signs: write its words of 'in' and of 'out'."),
        (_TOML + '\n[statuses]\ndone = "x"\n', "has the wrong statuses {'done': 'x'}: write a table "),
        (_TOML.replace('amount = "Betrag"', ""), "The format 'club' needs the column of a date, and of an amount "),
        (_TOML.replace('amount = "Betrag"', "amount = 5"), "The format 'club' has the wrong columns "),
        ('name = "club"\n', "has no columns: write the name of the format, and a table [columns]."),
        ("name = \n", "is not a TOML file: "),
        ('symbols = {"$" = "cad"}' + _TOML, "has the wrong symbols {'$': 'cad'}: write a code such as 'USD' for "),
    ],
)
def test_a_wrong_file(write, text, message):
    """One sentence names the file, the key and the allowed values."""
    with pytest.raises(ConfigurationError) as error:
        p2p.read_format(write("club.toml", text))
    assert message in str(error.value)
    assert "club.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_a_text_editor(write):
    """It may begin with a mark of its encoding; another encoding is named."""
    assert p2p.read_format(write("club.toml", "\ufeff" + _TOML)).name == "club"
    path = write("club.toml", _TOML.replace("Betrag", "Geb\u00fchr").encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"club\.toml is not in UTF-8: save it as a text file in UTF-8\.$"):
        p2p.read_format(path)


@pytest.mark.parametrize(
    ("text", "declared", "error", "message"),
    [
        # None of the three amounts 12,50, -4,00 and 8,50 can be read with a decimal point.
        (_CLUB, {"columns": _COLUMNS, "decimal": "."}, StatementError,
         "line 4: '12,50' is not an amount, .* write decimal = ','\\.$"),
        # The caller's own format is the nearest one, also of a file that looks like a bank's.
        ("Date,Description,Amount\n2024-02-13,Tea,-3.00\n",
         {"columns": {"date": "Date", "note": "Description", "amount": "Amount", "balance": "Left"}}, StatementError,
         r"The nearest format is club, which also has the columns 'Left'\.$"),
        # The patterns are those of Polars: the sentence names the format, not the whole query.
        (_CLUB, {"columns": _COLUMNS, "closing": r"kasse\Z"}, ConfigurationError,
         "^The format 'club' cannot be used: .*unrecognized escape"),
        # A function has to return a frame and problems, and nothing is rounded.
        *((_CLUB, {"columns": _COLUMNS, "adjust": adjust}, ConfigurationError, "adjust of the format 'club'")
          for adjust in (
              lambda frame: frame, lambda frame: (frame.to_pandas(), []), lambda frame: (frame, ["text"]),
              lambda frame: (frame.with_columns(flow_cents=frame["flow_cents"] / 2), []),
              lambda frame: (frame.select("no such column"), []), lambda frame: {}["no such key"], 5)),
    ],
)  # fmt: skip
def test_a_file_that_a_declaration_does_not_fit(read_club, text, declared, error, message):
    """One sentence says what to write."""
    with pytest.raises(error, match=message) as caught:
        read_club(text, **declared)
    assert "\n" not in str(caught.value)


def test_texts_without_digits_are_no_evidence_of_a_separator(read_club):
    """A file with "-" in place of all three amounts is read: each is a problem, and no other separator is advised."""
    text = "Tag;Mitglied;Betrag;Zweck\n" + "03.02.2024;Theo Marsh;-;Beitrag\n" * 3
    found = read_club(text, columns=_COLUMNS, order="dmy", decimal=",")
    assert list_rows(found.problems, "code", "line", "value")[:3] == [("not_an_amount", at, "-") for at in (2, 3, 4)]


def test_a_format_names_its_service():
    """Summaries show its title, else its name; `match_bank` looks for its words beside those of the known services."""
    known = {*registry.list_bank_words()}
    assert known >= {"venmo", "cash app", "cashapp", "paypal", "wise", "transferwise", "revolut", "monzo"}
    p2p.register_format(p2p.ColumnFormat(name="club", columns=_COLUMNS, title="Our Club", bank_words=("club",)))
    assert {*registry.list_bank_words()} == known | {"club"}
    assert [registry.find_title(name) for name in ("club", "cash_app", "other")] == ["Our Club", "Cash App", "other"]
    p2p.register_format(p2p.ColumnFormat(name="cash_app", columns=_COLUMNS))  # in place of the one with the words
    assert registry.find_title("cash_app") == "Cash App"
    assert "cash app" in registry.list_bank_words()
    for words in ("club", [""]):
        with pytest.raises(ConfigurationError, match="bank_words"):
            p2p.ColumnFormat(name="club", columns=_COLUMNS, bank_words=words)


def test_a_column_of_money_that_went(read_club):
    """Without a column of money that came; its amounts have no sign. The cells are between bars."""
    found = read_club(
        "Day|Who|Spent\n2024-02-03|Theo Marsh|12.50\n2024-02-04|Lena Ortiz|\n",
        columns={"date": "Day", "name": "Who", "out": "Spent"},
    )
    assert list_rows(found.payments, "counterparty_name", "flow_cents") == [("Lena Ortiz", None), ("Theo Marsh", -1250)]


@pytest.mark.parametrize("code", ["missing", "other_amount"])
def test_a_problem_of_a_function_without_its_details(read_club, code):
    """The sentence of a code of the package needs details."""

    def adjust(frame):
        return frame, [p2p.statements.Problem(code, "club.csv", 2)]

    with pytest.raises(ConfigurationError, match="adjust of the format 'club' failed"):
        read_club(_CLUB, columns=_COLUMNS, order="dmy", decimal=",", adjust=adjust)


def test_a_problem_of_a_function_in_its_own_words(read_club):
    """Braces in the code stay as they are."""
    found = read_club(
        _CLUB,
        columns=_COLUMNS,
        order="dmy",
        decimal=",",
        adjust=lambda frame: (frame, [p2p.statements.Problem("odd_{x}", "club.csv", 2)]),
    )
    assert "odd {x}" in [text for (text,) in list_rows(found.problems, "problem")]


def test_a_description_is_a_draft(write):
    """Columns, three rows, and a format that reads the file when it is saved."""
    path = write("club.csv", _CLUB)
    described = p2p.describe_file(path)
    assert described.columns == ("Tag", "Mitglied", "Betrag", "Zweck")
    assert described.rows[0] == ("03.02.2024", "Theo Marsh", "12,50", "Beitrag")
    assert described.format is None
    assert described.toml in str(described)
    p2p.register_format(p2p.read_format(write("club.toml", described.toml)))
    rows = list_rows(p2p.read_statements(path).payments, "counterparty_name", "flow_cents", "note")
    assert rows[-1] == ("Theo Marsh", 1250, "Beitrag")


@pytest.mark.parametrize(
    "text",
    [
        'Fecha,Concepto,Importe,Divisa,Saldo\n13/02/2024,Bizum de Ana Ruiz,"1.000,00",EUR,"1.000,00"\n',
        "Datum;Naam / Omschrijving;Af Bij;Bedrag (EUR)\n13-02-2024;Theo Marsh;Af;12,50\n14-02-2024;Lena;Bij;3,00\n",
        "x,y,z\n2024-02-13,Theo Marsh,-12.50\n",
        'Date\tType\tDebit\tCredit\n02/13/2024\tCard (EUR) "x"\t12.50\t\n02/14/2024\tSent\t\t3\n',
    ],
    ids=["spanish", "dutch", "unknown names", "tabs and two columns"],
)
def test_drafts_of_other_files(write, text):
    """A draft is valid as it is, and finds the date and the amount by their names or cells."""
    path = write("file.csv", text)
    p2p.register_format(p2p.read_format(write("own.toml", p2p.describe_file(path).toml)))
    assert p2p.read_statements(path).payments[["flow_cents", "date_created"]].notna().all(axis=None)


def test_a_draft_takes_words_and_codes_from_the_cells(write):
    """The column Valuta has dates, and H brings money in; the word of the status is unknown."""
    text = (
        "Buchungstag;Valuta;W\u00e4hrung;Betrag;S/H;Geb\u00fchr;Status\n"
        "13.02.2024;13.02.2024;EUR;12,50;H;0;gebucht\n14.02.2024;15.02.2024;EUR;3,00;S;0;gebucht\n"
    )
    lines = p2p.describe_file(write("bank.csv", text)).toml.splitlines()
    assert {
        'signs = { out = ["S"], in = ["H"] }  # correct them', 'currency = "W\u00e4hrung"', '# not used: "Valuta"',
        '# settled = ["gebucht"]',
    } <= {*lines}  # fmt: skip
    assert any(line.startswith('fee = "inside"') for line in lines)


def test_files_that_cannot_be_described(write, monkeypatch):
    """An empty file has no header; in privacy mode no row is shown."""
    with pytest.raises(StatementError, match=r"empty\.csv has no header of columns"):
        p2p.describe_file(write("empty.csv", "\n"))
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with pytest.raises(ConfigurationError, match="privacy mode"):
        p2p.describe_file(write("club.csv", _CLUB))


_DAYS = {"day": ("Day",), "member": ("Member",), "cents": ("Cents",)}
_ROW_FOR_ROW = "one row for each row of the table, in its order, with its file and line: give a row that is not a "


def _read_days(table):
    rows = table.cells.with_columns(
        date=pl.col("day").str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC"),
        kind=pl.lit("payment"),
        flow_cents=pl.col("cents").cast(pl.Int64),
        counterparty_name="member",
        currency=pl.lit("EUR"),
    )
    return Reading(complete_rows(rows))


@pytest.fixture
def read_own(read):
    """Return a function that registers a format, and reads a file of it."""

    def read_own(reader, day="Day", **changes) -> p2p.Statements:
        declared = {"name": "club", "columns": _DAYS | {"day": (day,)}, "required": ["day"]} | changes
        p2p.register_format(StatementFormat(**declared, read=reader))
        return read(f"{day},Member,Cents\n2024-01-02,Theo Marsh,150\n2024-01-03,Lena Ortiz,-20\n")

    return read_own


@pytest.mark.parametrize("name", ["Day", "[Day]", "{Day}"])  # a bracket alone does not make a file JSON
def test_rows_of_an_own_format(read_own, name):
    """The rows get the name of the format as account, and ids of their content."""
    payments = read_own(_read_days, name).payments
    assert list_rows(payments, "counterparty_name", "flow_cents", "account_id") == [
        ("Lena Ortiz", -20, "club"), ("Theo Marsh", 150, "club"),
    ]  # fmt: skip
    assert payments["payment_id"].str.fullmatch("club-[0-9a-f]{16}-1").all()


def test_an_own_format_wins():
    """Of two formats with the same columns of a header, the registered one is used; with its name, it replaces one."""
    header = ["TransferWise ID", "Date", "Amount", "Currency", "Running Balance"]
    wise, positions, _ = registry.find_format(header)
    assert (wise.name, len(positions)) == ("wise", 5)
    own = p2p.register_format(StatementFormat("own", wise.columns, wise.required, _read_days))
    assert registry.find_format(header)[0] is own
    replaced = p2p.register_format(StatementFormat("wise", _DAYS, ["day"], _read_days))
    assert [each for each in registry.list_formats() if each.name == "wise"] == [replaced]


@pytest.mark.parametrize(
    ("reader", "changes", "message"),
    [
        (lambda table: table.cells, {}, "has to return a Reading with rows of Polars."),
        (lambda _: Reading(None), {}, "has to return a Reading with rows of Polars."),
        (lambda table: Reading(complete_rows(table.cells.head(1))), {}, _ROW_FOR_ROW),
        (lambda table: Reading(complete_rows(table.cells.reverse())), {}, _ROW_FOR_ROW),
        (lambda table: Reading(complete_rows(table.cells.with_columns(kind=pl.lit("gift")))), {},
         "the kind 'gift': use "),
        (lambda table: Reading(table.cells.with_columns(flow_cents=pl.lit("a lot"))), {},
         "returns other types than ROWS"),
        # What cannot work is refused when the format is made.
        (_read_days, {"required": []}, "requires no field: any file would be one."),
        (_read_days, {"required": ["sum"]}, "requires sum: name their columns."),
        (_read_days, {"columns": {"line": ("Line",)}, "required": ["line"]},
         "has a field 'line', which every table has: give it another name."),
        (_read_days, {"columns": {"day": "Day"}}, "names the column of 'day' as text: write ('Day',)."),
    ],
)  # fmt: skip
def test_a_format_that_breaks_its_contract(read_own, reader, changes, message):
    """No row can be lost: the error names the format and the rule."""
    with pytest.raises(ConfigurationError) as error:
        read_own(reader, **changes)
    assert str(error.value).startswith("The format 'club' ")
    assert message in str(error.value)
