"""Tests of response bodies to records: both dialects, exact amounts, and problems of deviating records."""

import json
from datetime import UTC, datetime

import pytest

from p2p_analytics import records
from p2p_analytics.errors import PaginationError, ProtocolError, RecordError

ID = "1322585332520059421"


def page_of(*items: object, pagination: object = None) -> bytes:
    """Return a list's body."""
    return json.dumps({"data": items, "pagination": pagination}).encode()


def payment(**fields: object) -> dict[str, object]:
    """Return a documented list item with some fields changed."""
    user = {"id": "8", "username": "theo", "date_joined": "2013-02-10T21:58:05"}
    return {
        "id": ID, "status": "settled", "note": "n", "amount": 12.30, "action": "pay", "audience": "private",
        "date_created": "2014-08-18T17:15:15", "date_completed": None, "actor": user,
        "target": {"type": "user", "email": None, "phone": None, "user": user},
    } | fields  # fmt: skip


@pytest.mark.parametrize(
    ("spelling", "cents"),
    [
        ("0.1", 10), ("-12.30", -1230), ("233.85", 23385), ("1e2", 10000), ('"9.90"', 990), ("5", 500), ("null", None),
        ("90071992547409.93", 9007199254740993),
        *((invalid, "problem") for invalid in
          ('"1_000"', '"\uff15"', "true", "{}", "[1]", '"NaN"', "1e400", '""', "0.001")),
    ],
)  # fmt: skip
def test_an_amount_is_exact_or_a_problem(spelling: str, cents: object) -> None:
    """Amounts are decimal numbers, or text of decimal digits, in currency units; 2**53 + 1 cents survive."""
    page = records.decode_payments(page_of(payment(amount="AMOUNT")).replace(b'"AMOUNT"', spelling.encode()))
    is_problem = cents == "problem"
    assert page.items[0].amount_cents == (None if is_problem else cents)
    assert [problem.field for problem in page.problems if problem.unreadable] == ["amount"] * is_problem


@pytest.mark.parametrize(("end", "microsecond"), [("Z", 0), ("", 0), (".865985", 865985)])
def test_all_three_spellings_of_a_datetime_are_one_instant_in_utc(end: str, microsecond: int) -> None:
    """The document states a Z, its samples show none, and creates show fractions."""
    found = records.decode_payments(page_of(payment(date_created=f"2013-12-30T19:40:57{end}"))).items[0]
    assert found.date_created == datetime(2013, 12, 30, 19, 40, 57, microsecond, tzinfo=UTC)


def test_unknown_words_and_keys_survive() -> None:
    """An unknown status, action, medium or type is kept, and raw holds every key; a byte order mark is skipped."""
    target = {"type": "merchant", "merchant": {"display_name": "Corner Store"}}
    odd = payment(status="held", action="gift", medium="BudgetApp", target=target, extra={"a": [1]})
    page = records.decode_payments(b"\xef\xbb\xbf" + page_of(odd))
    found = page.items[0]
    assert (found.status, found.action, found.medium) == ("held", "gift", "BudgetApp")
    assert (found.target.type, found.target.name) == ("merchant", "Corner Store")
    assert json.loads(found.raw)["extra"] == {"a": [1]}
    assert repr(found).startswith(f"Payment(id='{ID}', status='held'")
    assert "raw" not in repr(found)
    assert [(problem.field, problem.value, problem.unreadable) for problem in page.problems] == [
        ("status", "held", False),
        ("action", "gift", False),
    ]


def test_a_field_that_cannot_be_read_leaves_the_others() -> None:
    """A bad field becomes a problem with the id of the record and the value; the other fields are kept."""
    page = records.decode_payments(page_of(payment(status=5, amount=0.123, date_created="2014-02-30T00:00:00")))
    assert (page.items[0].id, page.items[0].note, page.items[0].status) == (ID, "n", None)
    assert {(each.field, each.record_id, each.value) for each in page.problems if each.unreadable} == {
        ("status", ID, "5"), ("amount", ID, "0.123"), ("date_created", ID, "2014-02-30T00:00:00"),
    }  # fmt: skip


@pytest.mark.parametrize("item", [{}, {"id": None}, {"id": ""}, {"id": 7}, 3, None, [], "text"])
def test_an_item_without_an_id_is_a_problem_and_not_a_row(item: object) -> None:
    """An item without an id cannot be a row, and is reported."""
    page = records.decode_payments(page_of(payment(), item))
    assert len(page.items) == 1
    assert any(problem.unreadable and problem.field == "id" for problem in page.problems)


def test_half_a_character_pair_becomes_one_replacement_character() -> None:
    """An unpaired surrogate is replaced; a surrogate pair and an escaped backslash are kept."""
    body = page_of(payment(note="NOTE")).replace(b"NOTE", rb"a\ud83c b\ud83c\udf55 c\\ud83c d\udf55")
    page = records.decode_payments(body)
    assert page.items[0].note == "a\ufffd b\U0001f355 c\\ud83c d\ufffd"
    assert [problem.field for problem in page.problems] == ["text"]


def test_every_spelling_of_the_last_page_ends_the_list() -> None:
    """The document does not specify the next link of the last page; another link that is not text is an error."""
    for pagination in (None, {}, {"next": None}, {"next": ""}):
        assert records.decode_payments(page_of(pagination=pagination)).next is None
    with pytest.raises(PaginationError):
        records.decode_payments(page_of(pagination={"next": 5}))


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"<html>", b"{}", b'{"data": 1}', b"\xff", b"[" * 100_000])
def test_a_body_outside_the_document_is_a_protocol_error(body: bytes) -> None:
    """Any other bytes raise an error of this package."""
    with pytest.raises(ProtocolError):
        records.decode_payments(body)


@pytest.mark.parametrize(
    ("balance", "count", "cents", "problems"),
    [(b"9.9", b"5", 990, set()), (b'"9.90"', b"5", 990, set()), (b"null", b"5", None, set()),
     (b"0.005", b'"5"', None, {"balance", "friends_count"})],
)  # fmt: skip
def test_me_keeps_its_readable_fields(balance: bytes, count: bytes, cents: int | None, problems: set[str]) -> None:
    """A balance is a number, or text as in real answers; half a cent, or a count that is text, is reported."""
    user = b'{"id": "7", "username": "u", "friends_count": %b, "friend_request": {}}' % count
    me = records.decode_me(b'{"data": {"balance": %b, "user": %b}}' % (balance, user))
    assert (me.balance_cents, me.user.id, me.user.username) == (cents, "7", "u")
    assert me.user.friends_count == (None if problems else 5)
    assert {problem.field for problem in me.problems if problem.unreadable} == problems


def test_friends_keep_their_readable_fields() -> None:
    """A bio of a space is none; a friend with a bad date is kept; one without an id is reported."""
    friends = [{"id": "7", "about": " "}, {"id": "8", "about": " x ", "date_joined": "2013-13-01T00:00:00"}]
    page = records.decode_friends(page_of(*friends, {"username": "x"}))
    assert [(friend.id, friend.about) for friend in page.items] == [("7", ""), ("8", " x ")]
    assert [problem.field for problem in page.problems if problem.unreadable] == ["friend.date_joined", "friend.id"]


@pytest.mark.parametrize(
    ("decode", "data", "words"),
    [
        (records.decode_me, {"balance": None, "user": {}}, "no user id"),
        (records.decode_payment, {"id": None}, "field 'id' of a record"),
        (records.decode_receipt, {"balance": 1, "payment": {"id": "1", "amount": 0.001}}, "'amount' of payment 1"),
        (records.decode_user, {"id": "8", "date_joined": "never"}, "'user.date_joined' of a record"),
    ],
)
def test_a_record_that_loses_data_is_refused(decode, data: object, words: str) -> None:
    """Only lists have problems; without an id the responses of two accounts could not be separated."""
    with pytest.raises(RecordError, match=words):
        decode(json.dumps({"data": data}).encode())


def test_a_single_payment_has_fee_and_refund() -> None:
    """A fee has an amount, a refund is a payment record; a receipt has the balance too."""
    item = payment(fee={"amount": 0.25}, refund={"id": "99", "amount": 12.3}, note=None)
    found = records.decode_payment(json.dumps({"data": item}).encode())
    assert (found.fee_cents, found.refund.id, found.refund.amount_cents, found.note) == (25, "99", 1230, None)
    receipt = records.decode_receipt(json.dumps({"data": {"balance": "9.90", "payment": item}}).encode())
    assert (receipt.payment.id, receipt.balance_cents) == (ID, 990)
