"""Statement files on a time axis: bars, labels and ticks worked out by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import p2p_analytics as p2p
from p2p_analytics import plots
from p2p_analytics.errors import SchemaError
from support.plots.axes import assert_labels_apart, list_key, list_places, list_rows, list_texts

GREEN, GREY, ORANGE = "#009e73", "#999999", "#d55e00"
MONTH = pd.Timedelta(days=27)


def _make(rows: int, *, start: str = "2023-01-01", **columns: Any) -> pd.DataFrame:
    """Return a table of one file a month that adds up, with some columns replaced."""
    first = pd.date_range(start, periods=rows, freq="MS", tz="UTC")
    usual = {
        "file": [f"{day:%Y-%m}.csv" for day in first],
        "account": "nora-quill",
        "currency": "USD",
        "difference_cents": pd.array([0] * rows, dtype="Int64"),
        "reconciled": pd.array([True] * rows, dtype="boolean"),
        "period_start": first,
        "period_end": first + MONTH,
        "gap_cents": pd.array([0] * rows, dtype="Int64"),
    }
    return pd.DataFrame(usual | columns)


def _bars(ax: Axes) -> list[tuple[int, str, float]]:
    """Return row, colour and length in days of every bar, from the top."""
    return sorted(
        (round(bar.get_y() + bar.get_height() / 2), to_hex(bar.get_facecolor()), round(bar.get_width(), 2))
        for box in ax.containers
        for bar in box
    )


def test_each_file_has_a_bar_over_its_period() -> None:
    """The colour is the result; only what does not add up, and what changed between two files, has a label."""
    table = _make(
        4,
        difference_cents=pd.array([0, -123456, None, 0], dtype="Int64"),
        reconciled=pd.array([True, False, None, False], dtype="boolean"),
        gap_cents=pd.array([None, 0, None, 205], dtype="Int64"),
    )
    ax = plots.reconciliation(table)
    assert _bars(ax) == [(0, GREEN, 27.0), (1, ORANGE, 27.0), (2, GREY, 27.0), (3, ORANGE, 27.0)]
    assert list_rows(ax) == ["2023-01.csv", "2023-02.csv", "2023-03.csv", "2023-04.csv"]
    assert list_texts(ax) == [
        "difference \N{MINUS SIGN}$1,234.56", "rows could not be read,\n$2.05 since the file before",
    ]  # fmt: skip
    assert list_key(ax) == ["adds up", "balance not known", "does not add up"]
    ax = plots.reconciliation(_make(3, start="2022-11-01"))
    assert list_key(ax) == ["adds up"]  # the results that occur
    assert max(bar.get_height() for bar in ax.patches) < 1  # rows do not touch
    # The axis begins 61 days before the year 2023, which is 19,358 days after 1970.
    assert [bar.get_x() for bar in ax.containers[0]] == [19358 - 61, 19358 - 31, 19358]
    assert ax.get_xlim()[0] == 19358 - 61
    assert list_places(ax) == ["Nov\n2022", "Dec", "Jan\n2023", "Feb"]


@pytest.mark.parametrize(
    ("start", "end"), [("2000-01-05", "2000-01-06"), ("2000-01-01", "2003-04-01"), ("0001-01-01", "9999-12-31")]
)
@pytest.mark.parametrize("width", [3.4, 6.4])
def test_labels_of_the_time_axis_never_overlap(width: float, start: str, end: str) -> None:
    """Any axis has a label, and labels have room on narrow axes too; dates reach from year 1 to 9999."""
    period = {
        name: pd.Series([pd.Timestamp(day, tz="UTC").as_unit("us")], dtype="datetime64[us, UTC]")
        for name, day in (("period_start", start), ("period_end", end))
    }
    ax = Figure(figsize=(width, 3), layout="constrained").subplots()
    assert_labels_apart(plots.reconciliation(_make(1).assign(**period), ax=ax), 1)


def test_a_file_without_dates() -> None:
    """It has no bar; its label has the result."""
    table = _make(2)
    table.loc[1, ["period_start", "period_end"]] = pd.NaT
    for rows, bars in ((table, [(0, GREEN, 27.0)]), (table[1:], [])):
        ax = plots.reconciliation(rows)
        assert (_bars(ax), list_texts(ax)) == (bars, ["adds up, no dates"])


def test_many_files_share_the_last_row() -> None:
    """Files with a difference, then with a change before them, then without balances have the first claim to a row."""
    table = _make(
        300,
        start="1999-01-01",
        reconciled=pd.array([{250: False, 100: None}.get(at, True) for at in range(300)], dtype="boolean"),
        gap_cents=pd.array([-5 * (at == 200) for at in range(300)], dtype="Int64"),
    )
    rows = ["2007-05.csv", "2015-09.csv", "2019-11.csv"]
    axes = {top: plots.reconciliation(table, top=top) for top in (1, 2, 3)}
    for top, ax in axes.items():
        assert list_rows(ax) == [*rows[-top:], f"{300 - top} other files"]
    assert list_texts(axes[1])[-1] == "298 add up,\n1 not known"
    assert list_texts(axes[3]) == [
        "\N{MINUS SIGN}$0.05 since the file before", "rows could not be read", "297 add up",
    ]  # fmt: skip
    assert sum(row == 3 for row, *_ in _bars(axes[3])) == 297
    assert len(list_rows(plots.reconciliation(table))) == 31


def test_several_accounts_and_currencies_are_named() -> None:
    """Amounts have the currency of their row, if it is known; files can have several. Names of files keep their end."""
    table = _make(
        2,
        file=["account_statement_of_nora_2024-01.csv", "x/a.csv"],
        currency=["EUR", "USD"],
        difference_cents=pd.array([-400, 250], dtype="Int64"),
        reconciled=pd.array([False, False], dtype="boolean"),
    )
    ax = plots.reconciliation(table)
    assert list_rows(ax) == ["account…ora_2024-01.csv\nEUR", "x/a.csv\nUSD"]
    assert list_texts(ax) == ["difference \N{MINUS SIGN}€4.00", "difference $2.50"]
    several = plots.reconciliation(table.assign(account=["nora-quill", None]))
    assert list_rows(several) == ["account…ora_2024-01.csv\nnora-quill, EUR", "x/a.csv\nUSD"]
    decided = plots.reconciliation(table.drop(columns=["account", "currency", "gap_cents"]))
    assert list_texts(decided) == ["difference \N{MINUS SIGN}¤4.00", "difference ¤2.50"]


def test_statements_themselves_are_drawn(tmp_path: Path) -> None:
    """Statements give their table; a history has no files, and the error names what to pass."""
    path = tmp_path / "a.csv"
    path.write_text("Date,Description,Category,Cost,Currency,Nora,Theo\n2024-01-02,tea,Food,10.00,USD,5.00,-5.00\n")
    statements = p2p.read_statements(path, account="Nora")
    (label,) = plots.reconciliation(statements).get_yticklabels()
    assert label.get_text() == "a.csv"
    with pytest.raises(SchemaError, match=r"not a History: pass statements\.reconciliation\.$"):
        plots.reconciliation(statements.history())  # type: ignore[arg-type]


def test_years_have_no_month() -> None:
    """Where ticks are years apart."""
    ends = pd.to_datetime(["2000-01-31", "2019-12-31"], utc=True)
    places = list_places(plots.reconciliation(_make(2, start="2000-01-01").assign(period_end=ends)))
    assert (places[0], {*map(len, places)}) == ("2000", {4})
