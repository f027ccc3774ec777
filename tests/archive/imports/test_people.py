"""People behind the names in statements: matches, suggestions, and the file in which the user decides."""

import csv
import io
import shutil
import tempfile
from functools import partial
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import p2p_analytics as p2p
from p2p_analytics import cli
from p2p_analytics.errors import ArchiveError
from p2p_analytics.formulas import restore_text
from support.archives.statements import row, statements_of
from support.frames import list_values
from support.hostile_texts import TRIGGERS

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    [f"{each}1+1" for each in TRIGGERS]
)
seen = partial(row, account_id="7")
BO = {"type": "user", "user": {"id": "8", "display_name": "Bo", "username": "bo"}}


@pytest.fixture
def archive(new, history_of, payment) -> p2p.Archive:
    """Return an archive of payment 1, to "Bo", who is 8."""
    new.merge(history_of(payment(1, target=BO), friends=0))
    return new


@pytest.fixture(scope="module")
def bo(tmp_path_factory, history_of, payment) -> Path:
    """Return an archive in which payment 1 shows that "Bo" is 8, and that knows 2 from a statement alone."""
    made = p2p.open_archive(tmp_path_factory.mktemp("bo") / "archive")
    made.merge(history_of(payment(1, target=BO), friends=0))
    made.import_(statements_of(seen(1), seen(2), account="7"))
    return made.path


@pytest.fixture
def of_bo(bo, tmp_path) -> p2p.Archive:
    """Return a copy of it."""
    return p2p.open_archive(shutil.copytree(bo, tmp_path / "bo"))


def people(archive) -> list[tuple[str, str | None, str | None, int]]:
    """Return alias, person, how it was matched, and the number of payments."""
    shown = archive.people
    columns = (list_values(shown[name]) for name in ("alias", "person", "matched", "payments"))
    return list(zip(*columns, strict=True))


def find_person(archive) -> str | None:
    """Return the id of the counterparty of payment 2, which only a statement knows."""
    return list_values(archive.history().payments.query("payment_id == '2'")["counterparty_id"])[0]


def test_a_name_that_both_sides_show_takes_the_id_everywhere(archive) -> None:
    """Payment 1 shows that Bo is 8; 2 and 3, which only statements know, take id and username on both columns."""
    archive.import_(statements_of(seen(1), seen(2), seen(3, direction="in"), seen(4, "Cy"), account="7"))
    payments = archive.history().payments.set_index("payment_id").sort_index()
    assert list_values(payments["counterparty_id"]) == ["8", "8", "8", None]
    assert list_values(payments["counterparty_matched"]) == [None, "payments", "payments", None]
    assert list_values(payments["counterparty_username"]) == ["bo", "bo", "bo", None]
    assert list_values(payments["actor_id"]) == ["7", "7", "8", "7"]
    assert list_values(payments["target_user_id"]) == ["8", "8", "7", None]
    assert people(archive) == [("Bo", "8", "payments", 2), ("Cy", None, None, 1)]
    spend = p2p.spend_by_friend(archive.history().payments).set_index("counterparty_name")
    assert spend.loc["Bo", ["sent", "received"]].tolist() == [10.0, 5.0]


def test_two_friends_of_one_name_are_never_united(of_bo, history_of, payment) -> None:
    """A second person with the name, who is seen anywhere and at any time, ends the match; both are suggested."""
    assert find_person(of_bo) == "8"
    other = {"type": "user", "user": {"id": "9", "display_name": "Bo", "username": "bo2"}}
    of_bo.merge(history_of(payment(5, target=other), friends=0))
    assert find_person(of_bo) is None
    assert people(of_bo) == [("Bo", "user:bo", None, 1), ("Bo", "user:bo2", None, 1)]


def test_the_only_person_of_a_name_is_a_suggestion(archive) -> None:
    """Without a payment that both sides know, nothing is united until the user removes the question mark."""
    assert archive.people.empty
    archive.import_(statements_of(seen(2), account="7"))
    file = archive.write_people()
    assert file == archive.path / "people.csv"
    assert file.stat().st_mode & 0o777 == 0o600
    text = file.read_text("utf-8-sig")
    assert text == '"alias","person","evidence"\n"Bo","?user:bo","Bo is the only person of this name"\n'
    assert find_person(archive) is None
    file.write_text(text.replace("?", ""))
    assert find_person(archive) == "8"
    assert people(archive) == [("Bo", "8", "people.csv", 1)]
    assert archive.write_people().read_text("utf-8-sig") == text.replace("?", "")


def test_people_that_change_during_an_import(archive, monkeypatch) -> None:
    """The user saves people.csv while the batch is written: the view that was derived before is not shown."""
    make_file = tempfile.mkstemp

    def save_and_make(**options):
        (archive.path / "people.csv").write_text("alias,person,evidence\nBo,,\n")
        return make_file(**options)

    monkeypatch.setattr(tempfile, "mkstemp", save_and_make)
    archive.import_(statements_of(seen(1), seen(2), account="7"))
    assert find_person(archive) is None


@pytest.mark.parametrize(
    ("line", "expected"),
    [("Bo,user:BO,", "8"), ("Bo,,", None), ("Bo,?9,", "8"), ("Bo;8;", "8"), ("Bo\t8\t", "8")],
    ids=["a username", "kept apart", "open", "semicolons", "tabs"],
)
def test_what_the_user_writes(of_bo, line, expected) -> None:
    """An id or username; an empty person undoes the match by payments; a spreadsheet may change the delimiters."""
    header = line[2].join(["alias", "person", "evidence"])
    (of_bo.path / "people.csv").write_text(f"{header}\r\n{line}\r\n")
    assert find_person(of_bo) == expected


def test_a_name_can_be_another_name(new) -> None:
    """Without ids, two spellings become one name, also by a chain; blanks around a name do not matter."""
    new.import_(statements_of(row(1, "Bo"), row(2, "BO"), row(3, "B. O."), row(4, "Cy"), row(5, "CY")))
    lines = ["sep=,", "Alias,Person,Evidence", "BO,Bo,", " B. O. ,BO,", "Cy,CY,", "CY,CY,"]
    (new.path / "people.csv").write_text("\n".join(lines))
    payments = new.history().payments.set_index("payment_id")["counterparty_name"]
    assert payments[["1", "2", "3", "4", "5"]].tolist() == ["Bo"] * 3 + ["CY"] * 2


def test_suggestions_for_other_forms_of_a_name(new, history_of, payment) -> None:
    """Case, accents, blanks, order, signs and short words; of several possible names none is suggested."""
    zoe = {"type": "user", "user": {"id": "9", "display_name": "Zoë Núñez", "username": "zoe"}}
    new.merge(history_of(payment(1, target=zoe), friends=0))
    suggested = {
        "ZOE  NUNEZ": "Zoë Núñez", "Zoë N.": "Zoë Núñez", "BO HALE": "Bo Hale", "Marsh, Theo": "Theo Marsh",
        "Lee Wu \N{SPARKLES}": "Lee Wu", "Theo Kern": "Theodore Kern", "T. Vale": "Theo Vale", "Rae M.": "Rae Moss",
    }  # fmt: skip
    plain = ["Ada L.", "Ada Lo", "Ada Lovelace", "Ada Long", "Theo Hale", *{*suggested.values()} - {"Zoë Núñez"}]
    names = [*suggested, *plain]
    new.import_(statements_of(*(seen(10 + at, name) for at, name in enumerate(names)), account="7"))
    assert {alias: person for alias, person, _, _ in people(new)} == dict.fromkeys(plain) | suggested


def test_lines_of_people_without_effect(new, capsys) -> None:
    """A misspelt name does nothing, so it is listed with the nearest one; so is the holder as another side."""
    new.import_(statements_of(row(1, "Sam Rivera"), row(2, "Theo"), row(3, "Bo "), row(4, "THEO"), row(5, "theo")))
    assert people(new)[:2] == [("THEO", "Theo", None, 1), ("theo", "Theo", None, 1)]
    lines = ["alias,person,evidence", "theo,Ada,", "Sam Riverra,Sam,", "Bo,Bo Lund,", "Zoe,,"]
    (new.path / "people.csv").write_text("\n".join(lines), "utf-8")
    shown = new.people.set_index("alias")
    assert shown.loc["theo", "evidence"].endswith("people.csv says so, but this is the holder of the account")
    assert shown.loc["Bo ", "person"] == "Bo Lund", "blanks in the file of the service do not matter either"
    nearest = "people.csv, line 3: no payment of a statement has the name 'Sam Riverra'; nearest: 'Sam Rivera'"
    other = "people.csv, line 5: no payment of a statement has the name 'Zoe'"
    assert shown[shown["payments"] == 0]["evidence"].to_dict() == {"Sam Riverra": nearest, "Zoe": other}
    assert cli.main(["people", str(new.path)]) == 0
    assert f"\nWithout effect: {nearest}\nWithout effect: {other}\n" in capsys.readouterr().out


def test_a_username_in_a_statement(of_bo) -> None:
    """It names one person, whatever the name."""
    of_bo.import_(statements_of(seen(3, "Robert", counterparty_username="Bo"), account="7"))
    (found,) = of_bo.history().payments.query("payment_id == '3'").to_dict("records")
    assert (found["counterparty_id"], found["counterparty_matched"]) == ("8", "username")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("alias,person,evidence\nBo,88,\n", 2, "the archive knows no person '88': write a name"),
        ("alias,person,evidence\nBo,user:cy,\n", 2, "knows no person 'user:cy'"),
        ("alias,person,evidence\nBo,3.18E+18,\n", 2, "a spreadsheet rounded the id '3.18E+18': write the username"),
        ("alias,person,evidence\nBo,8,\nBo,Cy,\n", 3, "'Bo' is '8' in another line: keep one"),
        ("alias,person,evidence\nBo,Cy,\nCy,BO,\nBO,Bo,\n", 4, "it leads back to 'BO' through other lines"),
    ],
    ids=["unknown id", "unknown username", "rounded", "two people", "ring"],
)
def test_a_line_that_cannot_be_used_is_left_out(of_bo, text, line, message) -> None:
    """It is a problem with its line, in history and people; the lines of the file stay."""
    (of_bo.path / "people.csv").write_text(text)
    for _ in range(2):  # derived, then from the cache
        (problem,) = of_bo.history().problems.query("code == 'people_line'").to_dict("records")
        assert (problem["file"], problem["line"], problem["field"]) == ("people.csv", line, "person")
        assert message in problem["problem"]
    (evidence,) = of_bo.people.query("payments == 0")["evidence"]
    assert evidence.startswith(f"people.csv, line {line}: ")
    assert message in evidence
    assert of_bo.write_people().read_bytes().count(b"\n") == text.count("\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"name,who\nBo,8\n", "needs the columns alias and person"),
        (b"", "needs the columns"),
        (b"alias,person,Alias\nBo,8,\n", "has the column alias more than once"),
        (b'alias,person,evidence\n"Bo,8,\n', "line 2: unexpected end of data"),
        ("alias,person,evidence\nBo,\xe9,\n".encode("latin-1"), "is not in UTF-8"),
    ],
    ids=["other columns", "empty", "a column twice", "open quote", "encoding"],
)
def test_a_file_that_cannot_be_read(of_bo, text, message) -> None:
    """The payments are shown without it, with a problem; the list of people, which is written there, is an error."""
    (of_bo.path / "people.csv").write_bytes(text)
    (problem,) = of_bo.history().problems.query("code == 'people_line'")["problem"]
    assert message in problem
    for call in (lambda: of_bo.people, of_bo.write_people):
        with pytest.raises(ArchiveError, match=message) as caught:
            call()
        assert "people.csv" in str(caught.value)


def read_cells(cells: list[str]) -> list[str]:
    """Return a line of people.csv as a user means it: cells that are no formulas, a person without blanks around it."""
    alias, person, *others = map(restore_text, cells)
    person = f"?{restore_text(person[1:])}" if person.startswith("?") else person
    return [alias, person.strip(), *others]


@settings(max_examples=30)
@given(st.lists(st.lists(TEXTS, min_size=4, max_size=4)))
@example([["", "", "\n", ""], ["a", "?=1+1", "", "my column"], ["b", "?=1+1", "", ""]])
def test_the_users_lines_are_defused_and_stay(synced_folder, rows) -> None:
    """Any text stays, except rows without text and suggestions beside which there is none; no cell is a formula."""
    with tempfile.TemporaryDirectory() as made:
        archive = p2p.open_archive(shutil.copytree(synced_folder, Path(made) / "a"))
        sink = io.StringIO(newline="")
        csv.writer(sink, quoting=csv.QUOTE_ALL).writerows([["alias", "person", "evidence", "since"], *rows])
        (archive.path / "people.csv").write_bytes(sink.getvalue().encode())
        text = archive.write_people().read_bytes().decode("utf-8-sig")
    given_rows = [cells for cells in map(read_cells, rows) if any(cell.strip() for cell in cells)]
    expected = [cells for cells in given_rows if not cells[1].startswith("?") or cells[3]]
    assert [read_cells(cells) for cells in csv.reader(io.StringIO(text, newline=""))][1:] == expected
    for trigger in TRIGGERS:
        assert f'"{trigger}1+1' not in text
        assert f'"?{trigger}1+1' not in text


def test_columns_of_the_user_stay(new) -> None:
    """With their cells, also beyond the header, and with a suggestion beside which the user wrote."""
    new.import_(statements_of(row(1, "Bo"), row(2, "BO"), row(3, "Cy Di"), row(4, "Cy D.")))
    file = new.path / "people.csv"
    file.write_text("Since,alias,person,evidence\n2019,Cy D.,?Cy Di,my guess\n2020,Bo,Bob,,at work\n")
    for _ in range(2):
        assert new.write_people().read_text("utf-8-sig").splitlines() == [
            '"alias","person","evidence","Since",""',
            '"Cy D.","?Cy Di","my guess","2019",""',
            '"Bo","Bob","","2020","at work"',
            '"BO","?Bo","Bo differs in case, accents, signs or order of words alone","",""',
        ]


@pytest.mark.parametrize(("alias", "person"), [("BO HALE", "Bo Hale"), ("Bo Hale", "BO HALE"), ("Bo Hale", "Bo H.")])
def test_no_suggestion_reverses_a_line_of_the_user(new, alias, person) -> None:
    """Accepted, the two lines would lead to each other."""
    new.import_(statements_of(row(1, alias), row(2, person)))
    (new.path / "people.csv").write_text(f"alias,person,evidence\n{alias},{person},mine\n", "utf-8")
    new.write_people()
    assert new.people["person"].dropna().tolist() == [person]
    assert (new.path / "people.csv").read_text("utf-8").splitlines()[1:] == [f'"{alias}","{person}","mine"']
