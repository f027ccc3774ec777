"""Formats of the user's own: found before built-in ones, and held to their contract."""

from __future__ import annotations

import polars as pl
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.statements import Reading, StatementFormat, complete_rows
from p2p_analytics.statements.formats import registry

_COLUMNS = {"day": ("Day",), "member": ("Member",), "cents": ("Cents",)}
_ROW_FOR_ROW = "one row for each row of the table, in its order, with its file and line: give a row that is not a "


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


def _read_file(folder, read, day="Day", **changes):
    declared = {"name": "club", "columns": _COLUMNS | {"day": (day,)}, "required": ["day"]} | changes
    p2p.register_format(StatementFormat(**declared, read=read))
    path = folder / "club.csv"
    path.write_text(f"{day},Member,Cents\n2024-01-02,Theo Marsh,150\n2024-01-03,Lena Ortiz,-20\n", encoding="utf-8")
    return p2p.read_statements(path)


@pytest.mark.parametrize("name", ["Day", "[Day]", "{Day}"])  # a bracket alone does not make a file JSON
def test_rows_of_an_own_format(tmp_path, name):
    """The rows get the name of the format as account, and ids of their content."""
    payments = _read_file(tmp_path, _read, name).payments
    assert payments[["counterparty_name", "flow_cents", "account_id"]].to_numpy().tolist() == [
        ["Lena Ortiz", -20, "club"],
        ["Theo Marsh", 150, "club"],
    ]
    assert payments["payment_id"].str.fullmatch("club-[0-9a-f]{16}-1").all()


def test_an_own_format_wins():
    """Of two formats with the same columns of a header, the registered one is used; with its name, it replaces one."""
    header = ["TransferWise ID", "Date", "Amount", "Currency", "Running Balance"]
    wise, positions, _ = registry.find_format(header)
    assert (wise.name, len(positions)) == ("wise", 5)
    own = p2p.register_format(StatementFormat("own", wise.columns, wise.required, _read))
    assert registry.find_format(header)[0] is own
    replaced = p2p.register_format(StatementFormat("wise", _COLUMNS, ["day"], _read))
    assert [each for each in registry.list_formats() if each.name == "wise"] == [replaced]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda table: table.cells, "has to return a Reading with rows of Polars."),
        (lambda _: Reading(None), "has to return a Reading with rows of Polars."),
        (lambda table: Reading(complete_rows(table.cells.head(1))), _ROW_FOR_ROW),
        (lambda table: Reading(complete_rows(table.cells.reverse())), _ROW_FOR_ROW),
        (lambda table: Reading(complete_rows(table.cells.with_columns(kind=pl.lit("gift")))), "the kind 'gift': use "),
        (lambda table: Reading(table.cells.with_columns(flow_cents=pl.lit("a lot"))), "returns other types than ROWS"),
    ],
    ids=["no reading", "no rows", "a row less", "another order", "unknown kind", "another type"],
)
def test_a_format_that_breaks_its_contract(tmp_path, read, message):
    """No row can be lost: the error names the format and the rule."""
    with pytest.raises(ConfigurationError) as error:
        _read_file(tmp_path, read)
    assert str(error.value).startswith("The format 'club' ")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"required": []}, "The format 'club' requires no field: any file would be one."),
        ({"required": ["sum"]}, "The format 'club' requires sum: name their columns."),
        (
            {"columns": {"line": ("Line",)}, "required": ["line"]},
            "The format 'club' has a field 'line', which every table has: give it another name.",
        ),
        ({"columns": {"day": "Day"}}, "The format 'club' names the column of 'day' as text: write ('Day',)."),
    ],
)
def test_unusable_columns(tmp_path, changes, message):
    """What cannot work is refused when the format is made."""
    with pytest.raises(ConfigurationError) as error:
        _read_file(tmp_path, _read, **changes)
    assert str(error.value) == message
