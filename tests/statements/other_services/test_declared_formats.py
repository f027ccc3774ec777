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
    frame = statements.payments[::-1][list(columns)].astype(object)
    return frame.where(frame.notna(), None).to_numpy().tolist()


def test_a_declaration_in_python_and_in_toml(tmp_path):
    """The file has the keys of the declaration; the last row states the balance, which the others explain from 0."""
    own = p2p.read_format(_write(tmp_path, "club.toml", _TOML))
    declared = {"closing": "^kasse$", "opening": 0, "order": "dmy", "decimal": ","}
    found = _read(tmp_path, _CLUB, columns=_COLUMNS, **declared)
    assert own == p2p.ColumnFormat(name="club", currency="EUR", columns=_COLUMNS, **declared)
    assert _list_rows(found, "counterparty_name", "kind", "flow_cents", "note") == [
        ["Theo Marsh", "payment", 1250, "Beitrag"],
        ["Lena Ortiz", "payment", -400, "Kreide"],
    ]
    assert found.reconciliation[["opening_cents", "closing_cents", "reconciled"]].to_numpy().tolist() == [
        [0, 850, True]
    ]
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
_COLUMNS_OF = {
    "Datum,Af Bij,Bedrag,Soort,Toestand,Tekst": "counterparty_name kind status flow_cents",
    "Day,Who,Sum,Cost": "flow_cents fee_cents",
    "Day,Who,Out (SEK),In (SEK),Left (SEK)": "flow_cents currency balance_cents",
    "Day,Who,Sum,CR/DR": "flow_cents",
}
_TWO = "Day,Who,Out (SEK),In (SEK),Left (SEK)\n2024-02-13,Theo Marsh,10.00,,90.00\n2024-02-14,Lena Ortiz,,5,95\n"


@pytest.mark.parametrize(
    ("text", "declared", "rows", "problems"),
    [
        # A word distinguishes in and out; patterns of types, words of states and texts with names are declared.
        (
            _DUTCH,
            {
                "columns": {
                    "date": "Datum", "sign": "Af Bij", "amount": "Bedrag", "type": "Soort", "status": "Toestand",
                    "description": "Tekst",
                },
                "signs": {"out": "Af", "in": ["Bij"]},
                "kinds": {"payment": "tikkie", "merchant": "winkel"},
                "statuses": {"settled": "klaar", "pending": ["bezig"]},
                "persons": ["^(?:Betaald aan|Ontvangen van) (.+)$"],
            },
            [
                ["Theo Marsh", "payment", "settled", -125000], ["Lena Ortiz", "payment", "pending", 400],
                ["Betaald aan de bakker", "merchant", "settled", -200],
            ],
            [],
        ),
        (_FEE, {"columns": _FEES, "fee": "inside"}, [[-1000, 50]], []),
        (_FEE, {"columns": _FEES, "fee": "added"}, [[-1050, 50]], []),
        (_FEE, {"columns": _FEES, "fee": "taken off"}, [[-950, 50]], []),
        # The currency is in the header.
        (
            _TWO,
            {
                "columns": _WHO | {"out": "Out (currency)", "in": "In (currency)", "balance": "Left (currency)"},
                "currency": None,
            },
            [[-1000, "SEK", 9000], [500, "SEK", 9500]],
            [],
        ),
        (
            _SIGNED.format("?", "CR"),
            {"columns": _SIGN, "signs": {"in": "cr", "out": "dr"}},
            [[None], [1000]],
            ["?"],
        ),
        # Words are compared in lower case: a sharp s stays one; "(?i)" and the names of groups are no words.
        (
            _SIGNED.format("WEISS", "Wei\u00df"),
            {"columns": _SIGN, "signs": {"in": "weiss", "out": "wei\u00df"}, "kinds": {"fee": "(?i)(?P<A>tax)"}},
            [[1000], [-1000]],
            [],
        ),
    ],
)  # fmt: skip
def test_what_a_declaration_means(tmp_path, text, declared, rows, problems):
    """Rows are as declared; a word that is not is a problem."""
    found = _read(tmp_path, text, **declared)
    columns = _COLUMNS_OF[text.partition("\n")[0]]
    assert _list_rows(found, *columns.split()) == rows
    assert found.problems["value"].tolist() == problems


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


@pytest.mark.parametrize(
    ("text", "declared", "message"),
    [
        # None of the three amounts 12,50, -4,00 and 8,50 can be read with a decimal point.
        (_CLUB, {"columns": _COLUMNS, "decimal": "."}, "line 4: '12,50' is not an amount, .* write decimal = ','\\.$"),
        # The caller's own format is the nearest one, also of a file that looks like a bank's.
        ("Date,Description,Amount\n2024-02-13,Tea,-3.00\n",
         {"columns": {"date": "Date", "note": "Description", "amount": "Amount", "balance": "Left"}},
         r"The nearest format is club, which also has the columns 'Left'\.$"),
    ],
)  # fmt: skip
def test_a_file_that_a_declaration_does_not_fit(tmp_path, text, declared, message):
    """The error says what to write."""
    with pytest.raises(StatementError, match=message):
        _read(tmp_path, text, **declared)


@pytest.mark.parametrize(
    "adjust",
    [
        lambda frame: frame,
        lambda frame: (frame.to_pandas(), []),
        lambda frame: (frame, ["text"]),
        lambda frame: (frame.with_columns(flow_cents=frame["flow_cents"] / 2), []),
        lambda frame: (frame.select("no such column"), []),
        lambda frame: {}["no such key"],
        5,
    ],
    ids=["no pair", "pandas", "no problems", "half cents", "unknown column", "a fault of its own", "no function"],
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
