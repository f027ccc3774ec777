"""Hostile names and notes in statements of every format, and in everything that shows them."""

import csv
import json
import re
from pathlib import Path

import pytest
from ipywidgets.embed import dependency_state

import p2p_analytics as p2p
from p2p_analytics import cli
from support.hostile_texts import CONTROLS, MARKUP, TEXTS, TRIGGERS
from support.reports import ParsedPage
from support.statements.files import SAMPLES
from support.statements.hostile import OWNER, WITHOUT_PEOPLE, fill_sample, write_json

# Controls except line ends and tabs, and characters that change the direction of text.
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
WITHOUT_NOTES = ("paypal_statement", "paypal_activity_2015", "revolut")
FILE = "\x1b[31m<b>\u202e=1.csv"


def read(name: str, texts: tuple[str, ...], path: Path) -> p2p.Statements:
    """Write and read a statement of a format with these names and notes."""
    text = write_json(texts) if name == "json" else fill_sample(name, texts)
    path.write_text(text, encoding="utf-8", newline="")
    return p2p.read_statements(path, account=OWNER if name.startswith("splitwise") else None)


@pytest.mark.parametrize("name", sorted({*SAMPLES, "json"} - WITHOUT_PEOPLE))
def test_every_format_keeps_them(name: str, tmp_path: Path) -> None:
    """Names and notes are as in the file, and no cell of an exported table begins or continues as a formula."""
    found = read(name, TEXTS, tmp_path / "file")
    names, notes, expected = (  # re-saved files may have other blanks
        {" ".join(text.split()) for text in texts}
        for texts in (found.payments["counterparty_name"].dropna(), found.payments["note"].dropna(), TEXTS)
    )
    if name.startswith("revolut"):
        names |= {re.sub("^(To|Para) ", "", text) for text in names}
    assert name.startswith("splitwise") or expected <= names
    assert name.startswith(WITHOUT_NOTES) or expected <= notes
    for table in (found.payments, found.files, found.reconciliation, found.problems):
        p2p.to_csv(table, tmp_path / "table.csv")
        with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
            texts = [cell for row in csv.reader(file) for cell in row if not re.fullmatch(r"-?[\d.]+", cell)]
        lines = [line.lstrip(" \u200b\ufeff") for cell in texts for line in re.split("[\r\n]", cell)]
        assert [line for line in lines if line.startswith(TRIGGERS)] == []


def test_pages_escape_them(tmp_path: Path) -> None:
    """Card, report and explorer show text: none of it becomes a tag, an attribute or a control character."""
    statements = read("gen_d_2025", (*MARKUP[:4], *CONTROLS[:6]), tmp_path / FILE)
    history = statements.history()
    report = p2p.render_report(history, as_of=history.fetched_at)
    year = p2p.render_year(history, as_of=history.fetched_at, privacy=False)
    explorer = p2p.Explorer(history, as_of=history.fetched_at)
    state = dependency_state(explorer.widget)
    shown = "".join(view["state"].get("value", "") for view in state.values() if view["model_name"] == "HTMLModel")
    explorer.widget.close()
    page = ParsedPage(report)
    assert "<script>alert(1)</script>" in page.text
    assert '<img src=x onerror="alert(1)">' in page.text
    assert '<img src=x onerror="alert(1)">' in ParsedPage(year).text
    for html in (statements._repr_html_(), history._repr_html_(), report, year, shown):
        tags = ParsedPage(html).tags
        assert [tag for tag, _ in tags].count("script") == (html is report)  # its own, which its policy knows by hash
        assert not any(key.startswith("on") for _, attributes in tags for key in attributes)
        assert [attributes for _, attributes in tags if attributes.get("src") == "x"] == []
        assert UNSEEN.findall(html) == []
    assert "&lt;img" in shown


def test_json_output_is_ascii(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The JSON of undo names the file, with all unusual characters escaped."""
    statements = read("json", TEXTS, tmp_path / FILE)
    p2p.open_archive(tmp_path / "a").import_(statements)
    assert cli.main(["undo", str(tmp_path / "a"), "--yes", "--json"]) == 0
    printed = capfd.readouterr().out
    assert printed.isascii()
    assert json.loads(printed)["files"] == [statements.files["file"][0]]
