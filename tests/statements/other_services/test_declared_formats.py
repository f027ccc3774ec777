"""Formats of the user's own as declarations, in Python and in TOML, and the draft of one."""

from __future__ import annotations

import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError, StatementError
from p2p_analytics.statements.formats import registry

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


@pytest.fixture(autouse=True)
def _own_formats(monkeypatch):
    monkeypatch.setattr(registry, "_FORMATS", {})


def _write(folder, name: str, text: str):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def _read(folder, text: str, **declaration) -> p2p.Statements:
    p2p.register_format(p2p.ColumnFormat(**{"name": "club", "currency": "EUR", **declaration}))
    return p2p.read_statements(_write(folder, "file.csv", text))


def _list_rows(statements: p2p.Statements, *columns: str) -> list[list[object]]:
    return statements.payments[::-1][list(columns)].astype(object).to_numpy().tolist()


def test_a_declaration_in_python(tmp_path):
    """The last row states the balance, which the others explain from 0."""
    found = _read(tmp_path, _CLUB, columns=_COLUMNS, closing="^kasse$", opening=0)
    assert _list_rows(found, "counterparty_name", "kind", "flow_cents", "note") == [
        ["Theo Marsh", "payment", 1250, "Beitrag"],
        ["Lena Ortiz", "payment", -400, "Kreide"],
    ]
    assert found.reconciliation[["opening_cents", "closing_cents"]].to_numpy().tolist() == [[0, 850]]
    assert found.reconciliation["reconciled"].tolist() == [True]
    assert found.files["notice"].tolist() == [1]


def test_the_same_in_toml(tmp_path):
    """The file has the keys of the declaration, and gives an equal format."""
    own = p2p.read_format(_write(tmp_path, "club.toml", _TOML))
    assert own == p2p.ColumnFormat(
        name="club", currency="EUR", order="dmy", decimal=",", opening=0, closing="^kasse$", columns=_COLUMNS
    )
    p2p.register_format(own)
    assert p2p.read_statements(_write(tmp_path, "club.csv", _CLUB)).reconciliation["reconciled"].tolist() == [True]


def test_signs_kinds_statuses_and_persons(tmp_path):
    """A word distinguishes in and out; patterns of types, words of states and texts with names are declared."""
    text = (
        "Datum,Af Bij,Bedrag,Soort,Toestand,Tekst\n"
        '13-02-2024,Af,"1.250,00",Tikkie,klaar,Betaald aan Theo Marsh\n'
        '14-02-2024,Bij,"4,00",Tikkie,bezig,Ontvangen van Lena Ortiz\n'
        '15-02-2024,Af,"2,00",Winkel,klaar,Betaald aan de bakker\n'
    )
    found = _read(
        tmp_path,
        text,
        columns={
            "date": "Datum", "sign": "Af Bij", "amount": "Bedrag", "type": "Soort", "status": "Toestand",
            "description": "Tekst",
        },
        signs={"out": "Af", "in": ["Bij"]},
        kinds={"payment": "tikkie", "merchant": "winkel"},
        statuses={"settled": "klaar", "pending": ["bezig"]},
        persons=["^(?:Betaald aan|Ontvangen van) (.+)$"],
    )  # fmt: skip
    assert _list_rows(found, "counterparty_name", "kind", "status", "flow_cents") == [
        ["Theo Marsh", "payment", "settled", -125000],
        ["Lena Ortiz", "payment", "pending", 400],
        ["Betaald aan de bakker", "merchant", "settled", -200],
    ]
    assert found.problems.empty


@pytest.mark.parametrize(("fee", "flow"), [("inside", -1000), ("added", -1050), ("taken off", -950)])
def test_what_a_fee_means(tmp_path, fee, flow):
    """The amount contains it, or it is added with its sign, or taken off."""
    text = "Day,Who,Sum,Cost\n2024-02-13,Theo Marsh,-10.00,-0.50\n"
    columns = {"date": "Day", "name": "Who", "amount": "Sum", "fee": "Cost"}
    assert _list_rows(_read(tmp_path, text, columns=columns, fee=fee), "flow_cents", "fee_cents") == [[flow, 50]]


def test_two_columns_for_in_and_out(tmp_path):
    """The currency is in the header; the balance after each row is checked."""
    text = "Day,Who,Out (SEK),In (SEK),Left (SEK)\n2024-02-13,Theo Marsh,10.00,,90.00\n2024-02-14,Lena Ortiz,,5,95\n"
    columns = {"date": "Day", "name": "Who"} | {
        field: f"{name} (currency)" for field, name in {"out": "Out", "in": "In", "balance": "Left"}.items()
    }
    found = _read(tmp_path, text, columns=columns, currency=None)
    assert _list_rows(found, "flow_cents", "currency", "balance_cents") == [[-1000, "SEK", 9000], [500, "SEK", 9500]]
    assert found.reconciliation["reconciled"].tolist() == [True]


def test_an_unknown_sign_is_a_problem(tmp_path):
    """The amount is then unknown."""
    text = "Day,Who,Sum,CR/DR\n2024-02-13,Theo Marsh,10.00,?\n2024-02-14,Theo Marsh,10.00,CR\n"
    columns = {"date": "Day", "name": "Who", "amount": "Sum", "sign": "CR/DR"}
    found = _read(tmp_path, text, columns=columns, signs={"in": "cr", "out": "dr"})
    assert found.payments["flow_cents"].isna().tolist() == [False, True]
    assert found.problems[["code", "value"]].to_numpy().tolist() == [["unknown_sign", "?"]]


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
        (_TOML.replace("^kasse$", "^Kasse$"), "wrong closing '^Kasse$': write a regular expression in lower case."),
        ('persons = ["to .+"]' + _TOML, "wrong persons ['to .+']: write regular expressions with one group, the name."),
        (_TOML + '\n[kinds]\ngift = "x"\n', "has the wrong kinds {'gift': 'x'}: write a regular expression in "),
        (_TOML + '\n[kinds]\nfee = "x"\nmerchant = "("\n', "has the wrong kinds {'merchant': '('}: write a "),
        (_TOML + '\n[statuses]\nsettled = "x"\nopening = 5\n', "has 'opening' below [statuses]: move it above the "),
        (_TOML + 'sign = "S/H"\n', "has the field 'sign' without signs: write its words of 'in' and of 'out'."),
        (_TOML + '\n[statuses]\ndone = "x"\n', "has the wrong statuses {'done': 'x'}: write a table "),
        (_TOML.replace('amount = "Betrag"', ""), "The format 'club' needs the column of a date, and of an amount "),
        (_TOML.replace('amount = "Betrag"', "amount = 5"), "The format 'club' has the wrong columns "),
        ('name = "club"\n', "has no columns: write the name of the format, and a table [columns]."),
        ("name = \n", "is not a TOML file: "),
        (
            _TOML.replace("^kasse$", "^\u00dcbertrag$"),
            "wrong closing '^\u00dcbertrag$': write a regular expression in lower case.",
        ),
        (_TOML.replace('note = "Zweck"', "note = []"), "has the wrong columns {'note': []}: write a table "),
        ('symbols = {"$" = "cad"}' + _TOML, "has the wrong symbols {'$': 'cad'}: write a code such as 'USD' for "),
    ],
)
def test_a_wrong_file(tmp_path, text, message):
    """One sentence names the file, the key and the allowed values."""
    with pytest.raises(ConfigurationError) as error:
        p2p.read_format(_write(tmp_path, "club.toml", text))
    assert message in str(error.value)
    assert "club.toml" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_of_a_text_editor(tmp_path):
    """It may begin with a mark of its encoding; another encoding is named."""
    path = tmp_path / "club.toml"
    path.write_bytes(b"\xef\xbb\xbf" + _TOML.encode())
    assert p2p.read_format(path).name == "club"
    path.write_bytes(_TOML.replace("Betrag", "Geb\u00fchr").encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"club\.toml is not in UTF-8: save it as a text file in UTF-8\.$"):
        p2p.read_format(path)


def test_a_wrong_decimal_refuses_the_file(tmp_path):
    """None of the three amounts 12,50, -4,00 and 8,50 can be read with a decimal point."""
    with pytest.raises(
        StatementError, match=r"line 4: '12,50' is not an amount, .* of the 3 .* write decimal = ','\.$"
    ):
        _read(tmp_path, _CLUB, columns=_COLUMNS, decimal=".")


def test_a_column_that_the_file_lacks_is_named(tmp_path):
    """The caller's own format is the nearest one, also of a file that looks like a bank's."""
    columns = {"date": "Date", "note": "Description", "amount": "Amount", "balance": "Left"}
    with pytest.raises(StatementError, match=r"The nearest format is club, which also has the columns 'Left'\.$"):
        _read(tmp_path, "Date,Description,Amount\n2024-02-13,Tea,-3.00\n", columns=columns)


@pytest.mark.parametrize(
    "adjust",
    [
        lambda frame: frame,
        lambda frame: (frame.to_pandas(), []),
        lambda frame: (frame, ["text"]),
        lambda frame: (frame.with_columns(flow_cents=frame["flow_cents"] / 2), []),
        lambda frame: (frame.drop("flow_cents"), []),
        lambda frame: (frame.select("no such column"), []),
        lambda frame: {}["no such key"],
        5,
    ],
    ids=[
        "no pair",
        "pandas",
        "no problems",
        "half cents",
        "no amounts",
        "unknown column",
        "a fault of its own",
        "no function",
    ],
)
def test_a_function_that_returns_something_else(tmp_path, adjust):
    """One sentence names the format; nothing is rounded."""
    with pytest.raises(ConfigurationError, match="adjust of the format 'club'"):
        _read(tmp_path, _CLUB, columns=_COLUMNS, adjust=adjust)


def test_a_pattern_that_only_python_knows(tmp_path):
    """The patterns are those of Polars: one sentence names the format, not the whole query."""
    with pytest.raises(ConfigurationError, match=r"^The format 'club' cannot be used: .*unrecognized escape") as error:
        _read(tmp_path, _CLUB, columns=_COLUMNS, closing=r"kasse\Z")
    assert "\n" not in str(error.value)


def test_words_are_compared_in_lower_case(tmp_path):
    """A sharp s stays one; "(?i)" and the names of groups are no words."""
    text = "Day,Who,Sum,CR/DR\n2024-02-13,Theo Marsh,10.00,WEISS\n2024-02-14,Theo Marsh,10.00,Wei\u00df\n"
    columns = {"date": "Day", "name": "Who", "amount": "Sum", "sign": "CR/DR"}
    found = _read(
        tmp_path, text, columns=columns, signs={"in": "weiss", "out": "wei\u00df"}, kinds={"fee": "(?i)(?P<A>tax)"}
    )
    assert _list_rows(found, "flow_cents") == [[1000], [-1000]]


def test_a_description_is_a_draft(tmp_path):
    """Columns, three rows, and a format that reads the file when it is saved."""
    path = _write(tmp_path, "club.csv", _CLUB)
    described = p2p.describe_file(path)
    assert described.columns == ("Tag", "Mitglied", "Betrag", "Zweck")
    assert described.rows[0] == ("03.02.2024", "Theo Marsh", "12,50", "Beitrag")
    assert described.format is None
    assert described.toml in str(described)
    p2p.register_format(p2p.read_format(_write(tmp_path, "club.toml", described.toml)))
    assert _list_rows(p2p.read_statements(path), "counterparty_name", "flow_cents", "note")[0] == [
        "Theo Marsh", 1250, "Beitrag",
    ]  # fmt: skip


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
def test_drafts_of_other_files(tmp_path, text):
    """A draft is valid as it is, and finds the date and the amount by their names or cells."""
    path = _write(tmp_path, "file.csv", text)
    own = p2p.read_format(_write(tmp_path, "own.toml", p2p.describe_file(path).toml))
    p2p.register_format(own)
    found = p2p.read_statements(path)
    assert found.payments["flow_cents"].notna().all()
    assert found.payments["date_created"].notna().all()


def test_a_draft_takes_words_and_codes_from_the_cells(tmp_path):
    """The column Valuta has dates, and H brings money in; the word of the status is unknown."""
    path = _write(
        tmp_path,
        "bank.csv",
        "Buchungstag;Valuta;W\u00e4hrung;Betrag;S/H;Geb\u00fchr;Status\n"
        "13.02.2024;13.02.2024;EUR;12,50;H;0;gebucht\n14.02.2024;15.02.2024;EUR;3,00;S;0;gebucht\n",
    )
    lines = p2p.describe_file(path).toml.splitlines()
    assert 'signs = { out = ["S"], in = ["H"] }  # correct them' in lines
    assert 'currency = "W\u00e4hrung"' in lines
    assert '# not used: "Valuta"' in lines
    assert '# settled = ["gebucht"]' in lines
    assert any(line.startswith('fee = "inside"') for line in lines)


def test_files_that_cannot_be_described(tmp_path, monkeypatch):
    """An empty file has no header; in privacy mode no row is shown."""
    with pytest.raises(StatementError, match=r"empty\.csv has no header of columns"):
        p2p.describe_file(_write(tmp_path, "empty.csv", "\n"))
    monkeypatch.setenv("P2P_PRIVACY", "1")
    with pytest.raises(ConfigurationError, match="privacy mode"):
        p2p.describe_file(_write(tmp_path, "club.csv", _CLUB))
