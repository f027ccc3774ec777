"""Raw payments: those of one person of a sandbox town, and such as break analyses."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from p2p_analytics.sandbox.town.build import Town, build

Record = dict[str, Any]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TEXTS = (
    "payment_id", "status", "action", "note", "audience", "kind", "currency", "direction", "counterparty_id",
    "counterparty_username", "counterparty_name", "account_id",
)  # fmt: skip
CENTS, DATES = ("amount_cents", "flow_cents"), ("date_created", "date_completed")
COLUMNS = (*TEXTS, *CENTS, *DATES)


def make_record(**values: Any) -> Record:
    """Return a settled payment to Ann, or with other values; the flow follows from amount and direction."""
    record: Record = {
        **dict.fromkeys(COLUMNS),
        "payment_id": "1", "status": "settled", "action": "pay", "amount_cents": 1250, "note": "Pizza",
        "audience": "private", "kind": "payment", "currency": "USD", "direction": "out", "counterparty_id": "3",
        "counterparty_username": "ann", "counterparty_name": "Ann Quill", "account_id": "10",
        "date_created": datetime(2024, 2, 29, 12, tzinfo=UTC), **values,
    }  # fmt: skip
    amount, sign = record["amount_cents"], {"in": 1, "out": -1}.get(record["direction"])
    record["flow_cents"] = None if amount is None or sign is None else sign * abs(amount)
    return record


def make_town(seed: int, people: int = 6, years: int = 3) -> list[Record]:
    """Return the payments that the first person of a town can see, in the order of their ids."""
    return sorted(view_records(build(seed, people=people, years=years)), key=lambda record: record["payment_id"])


def view_records(town: Town, place: int = 0) -> list[Record]:
    """Return the payments of a town's person, by their place in it."""
    persons = {person.user_id: person for person in town.people}
    viewer = town.people[place].user_id
    records = []
    for payment in town.payments:
        is_actor = payment.actor_id == viewer
        if payment.refund_of is not None or not (is_actor or payment.target_user_id == viewer):
            continue
        other = persons.get((payment.target_user_id if is_actor else payment.actor_id) or 0)
        address, is_charge = payment.target_email or payment.target_phone, payment.action == "charge"
        fields = {
            "payment_id": str(payment.payment_id), "status": str(payment.status), "action": str(payment.action),
            "amount_cents": -payment.amount_cents if is_charge else payment.amount_cents, "note": payment.note,
            "audience": str(payment.audience), "direction": "in" if is_actor == is_charge else "out",
            "counterparty_id": other and str(other.user_id), "counterparty_username": other and other.username,
            "counterparty_name": other.display_name if other else address,
        }  # fmt: skip
        for name, instant in (("created", payment.created_us), ("completed", payment.completed_us)):
            fields[f"date_{name}"] = None if instant is None else EPOCH + timedelta(microseconds=instant)
        records.append(make_record(**fields))
    return records


def draw(seed: int, count: int, **choices: list[Any]) -> list[Record]:
    """Return records with random values out of these, and ids that do not follow the order."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    ids = chance.sample(range(10 * count), count)
    return [
        make_record(**{"payment_id": f"{seed}-{each}", **{name: chance.choice(of) for name, of in choices.items()}})
        for each in ids
    ]


def _days(*texts: str) -> list[datetime]:
    return [datetime.fromisoformat(text).replace(tzinfo=UTC) for text in texts]


# Month edges in several zones, changes of the clocks, an hour that occurs twice, the day that Apia left out.
INSTANTS = _days(
    "2011-12-30T09:59:59.999999", "2011-12-30T10:00:00", "2024-03-10T06:59:59.999999", "2024-03-10T07:00:00",
    "2024-11-03T05:30:00", "2024-11-03T06:30:00", "2024-04-06T15:00:00", "2024-04-06T14:45:00", "2024-02-29T18:14:59",
    "2024-02-29T18:15:00", "2024-12-31T23:59:59.999999", "2025-01-01T00:00:00", "2025-01-01T05:00:00",
)  # fmt: skip
FIRST_YEARS = _days(
    "0001-01-01T00:00:00", "1969-12-31T23:59:59.999999", "1970-01-01T00:00:00", "1970-01-01T02:00:00",
    "1971-06-01T00:00:00",
)  # fmt: skip
LAST_YEARS = _days(
    "2199-06-30T00:00:00", "2199-12-31T23:59:59.999999", "2200-01-01T00:00:00", "9999-12-31T23:59:59.999999",
)  # fmt: skip
WAYS: dict[str, list[Any]] = {
    "status": ["settled", "settled", "pending", "cancelled", "expired", "failed"],
    "action": ["pay", "charge"],
    "direction": ["in", "out"],
    "amount_cents": [1, 5, -99, 1000, 1001, -12345, 50000],
    "audience": ["public", "friends", "private"],
    "date_created": INSTANTS,
    "date_completed": [None, *INSTANTS],
}
# Of Latin, Chinese and decomposed letters, an emoji, white space, a control character, and an id.
NAMES = [
    "Ann Quill", "ann quill", "Ann  Quill", "Zo\u00eb", "Zoe\u0308", "\U0001f355", "\u738b\u82b3", "1", "", " ",
    "\x00", "3",
]  # fmt: skip
# White space and letters on which engines differ, emoji of several characters, syntax, long and invisible text.
NOTES = [
    "Pizza", " PIZZA\u00a0", "pizza\x1f", "\u2003pizza\u3000", "\u0130zmir", "i\u0307zmi\u0307r", "izmir",
    "\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c2", "\u03bf\u03b4\u03bf\u03c3", "Stra\u00dfe", "STRASSE",
    "\u1e9e", "\u00df", "Rent \U0001f3e0", "\U0001f3e0\ufe0f", "\U0001f469\u200d\U0001f373",
    "\U0001f469\U0001f3fd\u200d\U0001f373 \U0001f373", "\U0001f3cb\U0001f3ff\u200d\u2640\ufe0f", "\u2708\ufe0f",
    "\u2708", "\U0001f17f\ufe0frent", "rent\u0301", "rental", "e\u0301tude", "\u00e9tude", "=SUM(1)",
    "'; DROP TABLE lunch; --", '"', "\\", "%", "_", "a\tb\nc", "", " ", "\u200b", "\u200bpizza", "\x00",
    "\u202efood", None, "x" * 300, "\U0001f1ef\U0001f1f5\U0001f1e7\U0001f1f7", "gas", "Gas bill", "cat food",
    "\u043f\u0438\u0446\u0446\u0430", "\u041f\u0418\u0426\u0426\u0410", "\uff50\uff49\uff5a\uff5a\uff41", "\ufb01ne",
    "caf\u00e9", "cafe\u0301", "\u01c5", "\u01c6",
]  # fmt: skip
PEOPLE: dict[str, list[Any]] = {"counterparty_id": [None, "3", "03", "4"], "counterparty_name": [None, *NAMES]}
WORDS: dict[str, list[Any]] = {
    "account_id": ["10", "9", "a"],
    "status": ["settled", "settled", "settled", "pending", "cancelled", "Settled", "on_hold", "", None],
    "action": ["pay", "charge", "charge", "gift", "Charge", "", None],
    "direction": ["in", "out", "in", "out", "IN", "", None],
    "audience": ["public", "PUBLIC", "everyone", "friends", None, ""],
    "kind": ["payment", "payment", "payment", None, "card", "transfer", "Payment", ""],
    "counterparty_username": [None, "ann", "Ann", "zo", "\u00e9"],
}
HOSTILE: dict[str, Callable[[], list[Record]]] = {
    "no rows": list,
    "one row": lambda: [make_record()],
    "one row of nothing": lambda: [dict.fromkeys(COLUMNS)],
    "nothing settled": lambda: draw(1, 40, **{**WAYS, "status": ["failed", "on_hold", None]}, currency=["EUR"]),
    "a mixture": lambda: draw(
        2, 250, **{name: [*values, None] for name, values in {**WAYS, **PEOPLE, **WORDS, "note": NOTES}.items()}
    ),
    "without ids": lambda: draw(3, 60, **WAYS, counterparty_id=[None, "3"], counterparty_name=[None, "Ann", "Bo"])
    + draw(4, 60, **{**WAYS, "date_created": [None, *INSTANTS[:3]], "date_completed": [None]}, payment_id=[None]),
    "notes": lambda: draw(
        5, 150, **{**WAYS, "amount_cents": [100, 200, 200]}, note=NOTES, counterparty_id=["3", "4"]
    ) + [make_record(payment_id=f"{at}", note=note, audience="public") for at, note in enumerate(NOTES)],
    "huge amounts": lambda: draw(
        6, 60, **{**WAYS, "amount_cents": [0, -1, 2**53 // 61, -(2**53 // 61), 10**14 + 1, None]}, **PEOPLE
    ),
    "nothing but zeros": lambda: draw(7, 60, **{**WAYS, "amount_cents": [0, None], "status": ["settled"]}),
    "first years": lambda: draw(
        8, 60, **{**WAYS, "date_created": [*FIRST_YEARS, None], "date_completed": [None, None, *FIRST_YEARS]}
    ),
    "last years": lambda: draw(
        13, 60, **{**WAYS, "date_created": [*LAST_YEARS, None], "date_completed": [None, None, *LAST_YEARS]}
    ),
    "bursts": lambda: draw(
        9, 150, **{**WAYS, "amount_cents": [500, -500, 800], "action": ["charge"], "date_created": [
            INSTANTS[0] + timedelta(minutes=step) + timedelta(microseconds=late)
            for step in (0, 5, 10, 15, 120, 360, 370, 730) for late in (0, 1)]},
        note=["Ferry", "ferry ", "Tent"], counterparty_id=["3", "4", "5", None],
    ),
    "names alike": lambda: draw(10, 120, **WAYS, **PEOPLE, currency=["EUR"]),
    "euros of another kind": lambda: draw(11, 60, **WAYS, account_id=["10", "9", "1"])
    + draw(12, 20, **WAYS, currency=["EUR"], kind=["card"]),
}  # fmt: skip
