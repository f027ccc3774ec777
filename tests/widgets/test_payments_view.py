"""View of single payments in the explorer: search, order, totals, pages and the file."""

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import p2p_analytics as p2p
from support.widgets.histories import build_history, build_long_history, build_payment, choose

pytestmark = pytest.mark.usefixtures("draw_nothing")
ROWS = [
    build_payment(
        1, "2024-05-01T00:30:00Z", "2", "Ben", -1000, note="Straße (50%)", date_completed="2024-05-02T00:00:00Z"
    ),
    build_payment(2, "2024-05-03T12:00:00Z", "3", "Amélie", 250, note="rent\n<b>May</b>", counterparty_username="ame"),
    build_payment(3, "2024-05-02T12:00:00Z", "4", "Zoë", -4000, status="pending", counterparty_username="Zoe.Ray"),
    build_payment(4, "2024-05-04T12:00:00Z", "5", "ben", None, note="a.c", status=None),
    build_payment(5, None, None, None, 1, note="x" * 600, status="exploded"),
]


def open_payments(rows: list[dict[str, Any]]) -> p2p.Explorer:
    """Return an explorer that shows the payments of these rows."""
    explorer = p2p.Explorer(build_history(rows))
    choose(explorer, "analysis", "Payments")
    return explorer


@pytest.fixture
def explorer() -> p2p.Explorer:
    """Return an explorer that shows the payments above."""
    return open_payments(ROWS)


def displayed_cells(explorer: p2p.Explorer) -> list[list[str]]:
    """Return the texts of the displayed table, row by row."""
    body = explorer._table.value.partition("<tbody")[2]
    return [re.findall(r"<bdi>(.*?)</bdi>", row) for row in body.split("<tr ")[1:]]


def found_ids(explorer: p2p.Explorer) -> str:
    """Return the ids of the table, in its order, in one text."""
    return "".join(explorer.table["payment_id"])


def test_a_row_shows_date_person_amount_status_and_note(explorer: p2p.Explorer) -> None:
    """Newest first; the sign is the viewer's; text is escaped and on one line; only settled payments are added up."""
    assert displayed_cells(explorer) == [
        ["2024-05-04 12:00", "ben", "not known", "", "a.c"],
        ["2024-05-03 12:00", "Amélie", "+$2.50", "settled", "rent &lt;b&gt;May&lt;/b&gt;"],
        ["2024-05-02 12:00", "Zoë", "\N{MINUS SIGN}$40.00", "pending", ""],
        ["2024-05-01 00:30", "Ben", "\N{MINUS SIGN}$10.00", "settled", "Straße (50%)"],
        ["no date", "(no name)", "+$0.01", "exploded", "x" * 500 + "…"],
    ]
    assert "5 payments, newest first</caption>" in explorer._table.value
    totals = "5 payments: sent $10.00, received $2.50, net \N{MINUS SIGN}$7.50. Only the 2 settled ones count."
    assert totals in explorer._table.value
    choose(explorer, "status", "pending")
    assert "1 payment; none is settled, so no money moved." in explorer._table.value


MERCHANT = {"kind": "merchant"}
UNDIRECTED = {"direction": None}


def test_the_totals_name_the_settled_payments_that_do_not_count() -> None:
    """Rows of $1.00 each: payments, those of other kinds, and those without a direction."""
    one, two = (f"sent ${sent}.00, received $0.00, net \N{MINUS SIGN}${sent}.00" for sent in (1, 2))
    reasons = "2 are of 2 other kinds and 1 has no direction"
    for rows, sentence in (
        ([{}], f"1 payment: {one}. Only the settled one counts."),
        (
            [{}, MERCHANT, MERCHANT],
            f"3 transactions: {one}. Only 1 of the 3 settled ones counts: 2 are of the kind merchant.",
        ),
        (
            [{}, MERCHANT, {"kind": "fee"}, UNDIRECTED, {"kind": None}],
            f"5 transactions: {two}. Only 2 of the 5 settled ones count: {reasons}.",
        ),
        (
            [{}, {**MERCHANT, "status": "pending"}, {**UNDIRECTED, "status": "failed"}],
            f"3 transactions: {one}. Only the settled one counts.",
        ),
        # These are settled, so the words are not that no money moved.
        (
            [UNDIRECTED] * 120,
            "120 payments; none of the 120 settled ones counts, those of all pages: 120 have no direction.",
        ),
        ([UNDIRECTED], "1 payment; the settled one does not count: 1 has no direction."),
    ):
        payments = [build_payment(at, None, "2", "Ben", -100, **more) for at, more in enumerate(rows)]
        assert f"<p>{sentence}</p>" in open_payments(payments)._table.value


def test_people_and_kinds_are_listed_apart() -> None:
    """The list of people has no shops; that of kinds, and a last column, are there for several kinds."""
    rows = [
        build_payment(1, None, "2", "Ben", -100),
        build_payment(2, None, None, "Ben", 100, kind=None),
        build_payment(3, None, None, "Kiosk", -300, kind="merchant"),
        build_payment(4, None, None, "Ben", -500, kind="transfer"),
    ]
    explorer = open_payments(rows)
    assert [cells[-1] for cells in displayed_cells(explorer)] == ["payment", "payment", "merchant", "transfer"]
    assert repr(explorer) == "<Explorer of Rosa: Payments, 4 transactions>"
    assert "All 4 transactions, of any date." in explorer._scope.value
    assert [label.split()[0] for label, _ in explorer.person.options] == ["everyone", "Ben", "Ben"]
    assert [label for label, _ in explorer.kind.options] == ["every kind", "payment", "merchant", "transfer"]
    for kind, ids in (("payment", "12"), ("merchant", "3")):
        choose(explorer, "kind", kind)
        assert found_ids(explorer) == ids
    assert explorer._file_name().startswith("payments-merchant-")
    choose(explorer, "analysis", "Where it went")
    assert (explorer.kind.layout.display, len(explorer.payments)) == ("none", 4)
    assert "2 are no payment between people, and not counted below." in explorer._scope.value
    explorer.person.value = ("counterparty_name", "Ben")
    assert list(explorer.payments["payment_id"]) == ["2"]
    explorer = open_payments(rows[:2])
    assert explorer.kind.layout.display == "none"
    assert [len(cells) for cells in displayed_cells(explorer)] == [5, 5]
    choose(explorer, "analysis", "Where it went")
    assert "not counted" not in explorer._scope.value


def test_one_of_several_currencies_is_selected() -> None:
    """At first the most frequent, so that none are added; only single payments stand beside a purchase abroad."""
    rows = [
        build_payment(1, None, "2", "Ben", -100, currency="GBP"),
        build_payment(2, None, "3", "Cleo", 250, currency="GBP"),
        build_payment(3, None, None, "Kiosk", -120000, currency="JPY", kind="merchant"),
    ]
    explorer = p2p.Explorer(build_history([build_payment(4, None, "2", "Ben", -150, currency="EUR"), *rows[:2]]))
    assert [label for label, _ in explorer.currency.options] == ["GBP", "EUR"]
    for label, sent, words in (("GBP", 1.0, "£1.00"), ("EUR", 1.5, "€1.50")):
        choose(explorer, "currency", label)
        assert explorer.table["sent"].sum() == sent
        assert words in explorer._table.value
    assert explorer._file_name() == "spend_by_friend-EUR"
    assert p2p.Explorer(build_history(rows[:1])).currency.layout.display == "none"
    explorer = open_payments(rows)
    assert (explorer.currency.layout.display, explorer.currency.label) == (None, "every currency")
    assert [cells[2] for cells in displayed_cells(explorer)] == [
        "\N{MINUS SIGN}£1.00", "+£2.50", "\N{MINUS SIGN}¥1,200",
    ]  # fmt: skip
    assert "sent £1.00, received £2.50, net £1.50" in explorer._table.value
    choose(explorer, "currency", "JPY")
    assert found_ids(explorer) == "3"


def test_a_search_is_plain_text_in_notes_and_names(explorer: p2p.Explorer) -> None:
    """In notes, names and usernames with their at sign, in upper or lower case, and never as a pattern."""
    for text, ids in {
        "  ": "42315",
        "STRASSE": "1",
        "(50%": "1",
        "a.c": "4",  # a dot is a dot
        ".*": "",
        "BEN": "41",
        "ame\N{COMBINING ACUTE ACCENT}lie": "2",  # the other encoding of é
        "@zoe.ray": "3",
        "zoe.ray": "3",
        "rent <b>": "2",  # as displayed: on one line
        "ben a.c": "",  # in one field
        "x" * 600: "5",  # the whole note, not only its displayed part
    }.items():
        explorer.search.value = text
        assert found_ids(explorer) == ids, text
        assert sorted(explorer.payments["payment_id"]) == sorted(ids), text
        assert ("Payments: none for this selection</caption>" in explorer._table.value) == (not ids), text


def test_each_order_has_both_directions(explorer: p2p.Explorer) -> None:
    """A row without a value to sort by is last in both; rows with equal values are newest first."""
    for order, ids in {
        "newest first": "42315",
        "oldest first": "13245",
        "person, A to Z": "21435",  # of two called Ben in either case, the smaller id first
        "person, Z to A": "34125",
        "largest amount first": "31254",
        "smallest amount first": "52134",
        "status, A to Z": "53214",
        "status, Z to A": "21354",
    }.items():
        choose(explorer, "order", order)
        assert found_ids(explorer) == ids, order
        assert f"5 payments, {order}</caption>" in explorer._table.value
        assert explorer._table.value.count("aria-sort=") == 1


def test_namesakes_are_distinguished_where_both_are_displayed() -> None:
    """By username, else by the end of the id, on each page; a search that leaves one of them needs no suffix."""
    ids = ["1001", *["1002"] * 100]
    rows = [build_payment(at, None, who, "Sam", 1) for at, who in enumerate(ids)]
    rows[0] |= {"counterparty_username": "sam-r", "note": "tea"}
    explorer = open_payments(rows)
    assert [cells[1] for cells in displayed_cells(explorer)] == ["Sam @sam-r", *["Sam (…1002)"] * 99]
    explorer._single.next.click()
    assert [cells[1] for cells in displayed_cells(explorer)] == ["Sam (…1002)"]
    explorer.search.value = "tea"
    assert [cells[1] for cells in displayed_cells(explorer)] == ["Sam"]


def list_visible(box: Any) -> list[int]:
    """Return the ids of the widgets in a box that are not hidden, nor in a hidden box."""
    inside = [each for each in getattr(box, "children", ()) if each.layout.display != "none"]
    return [id(each) for each in inside] + [deeper for each in inside for deeper in list_visible(each)]


def test_a_page_has_a_hundred_rows() -> None:
    """Sentence, totals and buttons are those of 250 payments; a new choice goes back to the first page."""
    explorer = p2p.Explorer(build_long_history(250))
    choose(explorer, "analysis", "Payments")
    previous, following = explorer._single.previous, explorer._single.next
    buttons = {id(previous), id(following)}
    totals = "sent $125.00, received $125.00, net $0.00. Only the 250 settled ones count, those of all pages."
    newest = "The newest 100 of 250 payments. Go to the next 100, or narrow the search or the period."
    for words, first, rows, disabled in (
        (newest, "rent 0", 100, (True, False)),
        ("Payments 101 to 200 of 250, newest first.", "Pizza 🍕 100", 100, (False, False)),
        ("Payments 201 to 250 of 250, newest first.", "Pizza 🍕 200", 50, (False, True)),
    ):
        if first != "rent 0":
            following.click()
        assert words in explorer._table.value
        assert totals in explorer._table.value
        cells = displayed_cells(explorer)
        assert (cells[0][4], len(cells)) == (first, rows)
        assert (previous.disabled, following.disabled) == disabled
        assert buttons <= {*list_visible(explorer.widget)}
    previous.click()
    assert "Payments 101 to 200" in explorer._table.value
    choose(explorer, "order", "person, A to Z")
    assert "The first 100 of 250 payments, by person, A to Z." in explorer._table.value
    assert previous.disabled
    explorer.search.value = "rent"
    assert found_ids(explorer) == "0"
    assert buttons.isdisjoint(list_visible(explorer.widget))
    explorer.search.value = ""
    choose(explorer, "analysis", "Where it went")
    assert buttons.isdisjoint(list_visible(explorer.widget))


def test_the_file_has_all_rows_of_the_selection_in_the_displayed_order(tmp_path: Path) -> None:
    """Rows of other pages too, and no others; the message says so, and the file is named after the choices."""
    explorer = p2p.Explorer(build_long_history(250), folder=tmp_path)
    choose(explorer, "analysis", "Payments")
    choose(explorer, "order", "oldest first")
    explorer.search.value = "pizza"
    explorer.save_csv.click()
    (written,) = tmp_path.iterdir()
    assert re.fullmatch(r"payments-search-pizza-oldest-first-[0-9a-f]{8}\.csv", written.name)
    assert f"Saved {written}: 249 payments in the displayed order, those of all pages" in explorer._message.value
    table = p2p.read_csv(written)
    assert list(table.columns) == [
        "payment_id", "date_created", "counterparty_id", "counterparty_username", "counterparty_name", "direction",
        "amount", "currency", "status", "note", "kind",
    ]  # fmt: skip
    assert list(table["payment_id"]) == [str(number) for number in range(249, 0, -1)]
    pd.testing.assert_frame_equal(table, explorer.table)
    explorer.search.value = "PIZZA"
    explorer.save_csv.click()
    assert len(list(tmp_path.iterdir())) == 2


def test_viewers_without_a_kernel_show_the_first_page(tmp_path: Path) -> None:
    """Below the initial view, or instead of it if the payments are displayed, which have no plot and no button."""
    explorer = p2p.Explorer(build_long_history(120), folder=tmp_path)
    still = explorer._repr_mimebundle_()["text/html"]
    assert "<figure>" in still
    assert "<details><summary>Payments, first page</summary>" in still
    assert "The newest 100 of 120 payments" in still
    assert ("Pizza 🍕 99<" in still, "Pizza 🍕 100<" in still) == (True, False)
    choose(explorer, "analysis", "Payments")
    still = explorer._repr_mimebundle_()["text/html"]
    assert "<figure>" not in still
    assert still.count("The newest 100 of 120 payments") == 1
    assert explorer._plot.layout.display == explorer.save_plot.layout.display == "none"
    explorer.save_plot.click()
    assert "Single payments have no plot: choose another view." in explorer._message.value
    assert list(tmp_path.iterdir()) == []
    choose(explorer, "analysis", "Where it went")
    assert explorer._plot.layout.display is explorer.save_plot.layout.display is None
    assert "<figure>" in explorer._plot.value


@pytest.mark.parametrize("strict", [False, True])
def test_every_choice_shows_a_table(strict) -> None:
    """In each order, by either date, and in strict privacy mode; without payments, too."""
    for rows in ([], ROWS):
        history = build_history(rows)
        explorer = p2p.Explorer(history.masked(key=b"k" * 32, strict=True) if strict else history)
        choose(explorer, "analysis", "Payments")
        choose(explorer, "date", "completed")
        for order in explorer.order.options:
            choose(explorer, "order", order)
            assert len(displayed_cells(explorer)) == len(explorer.table) == len(rows)
            assert explorer._message.value == ""
