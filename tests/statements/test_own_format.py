"""Formats of the user's own: found before built-in ones, and held to their contract."""

from __future__ import annotations

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.statements import Reading, StatementFormat, complete_rows
from p2p_analytics.statements.formats import registry

_COLUMNS = {"day": ("Day",), "member": ("Member",), "cents": ("Cents",)}

_ROW_FOR_ROW = (
    "The format 'club' has to return one row for each row of the table, in its order, with its file and line: give a "
    "row that is not a transaction the kind 'notice'."
)
_KINDS = (
    "The format 'club' returns the kind 'gift': use one of payment, transfer, merchant, card, reward, deposit, fee, "
    "asset, hold, notice, unknown."
)


@pytest.fixture(autouse=True)
def _own_formats(monkeypatch):
    monkeypatch.setattr(registry, "_FORMATS", {})


def _read(table):
    rows = table.cells.with_columns(
        date=pl.col("day").str.to_datetime("%Y-%m-%d", time_unit="us", time_zone="UTC"),
        kind=pl.lit("payment"),
        flow_cents=pl.col("cents").cast(pl.Int64),
        counterparty_name="member",
        currency=pl.lit("EUR"),
    )
    return Reading(complete_rows(rows))


def _read_file(folder, read, **changes):
    p2p.register_format(
        StatementFormat(**({"name": "club", "columns": _COLUMNS, "required": ["day"]} | changes), read=read)
    )
    path = folder / "club.csv"
    path.write_text("Day,Member,Cents\n2024-01-02,Theo Marsh,150\n2024-01-03,Lena Ortiz,-20\n", encoding="utf-8")
    return p2p.read_statements(path)


def test_rows_of_an_own_format(tmp_path):
    """The rows get the name of the format as account, and ids of their content."""
    payments = _read_file(tmp_path, _read).payments
    assert payments[["counterparty_name", "flow_cents", "account_id"]].to_numpy().tolist() == [
        ["Lena Ortiz", -20, "club"],
        ["Theo Marsh", 150, "club"],
    ]
    assert payments["payment_id"].str.fullmatch("club-[0-9a-f]{16}-1").all()


@pytest.mark.parametrize("name", ["[Day]", "{Day}"])
def test_a_header_that_begins_as_json_does(tmp_path, name):
    """The file is CSV: a bracket alone does not make it JSON."""
    p2p.register_format(StatementFormat("club", _COLUMNS | {"day": (name,)}, ["day"], _read))
    (tmp_path / "club.csv").write_text(f"{name},Member,Cents\n2024-01-02,Theo Marsh,150\n", encoding="utf-8")
    assert p2p.read_statements(tmp_path / "club.csv").payments["flow_cents"].to_list() == [150]


def test_an_own_format_wins():
    """Of two formats with the same columns of a header, the registered one is used; with its name, it replaces one."""
    header = ["Transaction ID", "Date", "Amount", "Currency", "Running Balance"]
    wise, positions, _ = registry.find_format(["TransferWise ID", *header[1:]])
    assert (wise.name, len(positions)) == ("wise", 5)
    own = StatementFormat("own", wise.columns, wise.required, _read)
    p2p.register_format(own)
    assert registry.find_format(["TransferWise ID", *header[1:]])[0] is own
    replaced = StatementFormat("wise", _COLUMNS, ["day"], _read)
    p2p.register_format(replaced)
    assert [each for each in registry.list_formats() if each.name == "wise"] == [replaced]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda table: table.cells, "The format 'club' has to return a Reading with rows of Polars."),
        (lambda _: Reading(None), "The format 'club' has to return a Reading with rows of Polars."),
        (
            lambda table: Reading(complete_rows(table.cells.head(1))),
            _ROW_FOR_ROW,
        ),
        (
            lambda table: Reading(complete_rows(table.cells.reverse())),
            _ROW_FOR_ROW,
        ),
        (
            lambda table: Reading(complete_rows(table.cells.with_columns(kind=pl.lit("gift")))),
            _KINDS,
        ),
    ],
    ids=["no reading", "no rows", "a row less", "another order", "unknown kind"],
)
def test_a_format_that_breaks_its_contract(tmp_path, read, message):
    """No row can be lost: the error names the format and the rule."""
    with pytest.raises(ConfigurationError) as error:
        _read_file(tmp_path, read)
    assert str(error.value) == message


def test_columns_of_other_types(tmp_path):
    """A column that cannot have its type of ROWS is an error."""
    with pytest.raises(ConfigurationError, match="The format 'club' returns other types than ROWS has: "):
        _read_file(tmp_path, lambda table: Reading(table.cells.with_columns(flow_cents=pl.lit("a lot"))))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"required": []}, "The format 'club' requires no field: any file would be one."),
        ({"required": ["sum"]}, "The format 'club' requires sum: name their columns."),
        (
            {"columns": {"line": ("Line",)}, "required": ["line"]},
            "The format 'club' has a field 'line', which every table has: give it another name.",
        ),
        (
            {"columns": {"day": "Day"}},
            "The format 'club' names the column of 'day' as text: write ('Day',).",
        ),
    ],
)
def test_unusable_columns(tmp_path, changes, message):
    """What cannot work is refused when the format is made."""
    with pytest.raises(ConfigurationError) as error:
        _read_file(tmp_path, _read, **changes)
    assert str(error.value) == message
