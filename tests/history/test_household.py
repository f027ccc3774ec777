"""Households: several accounts as one viewer, with payments between members counted once."""

from dataclasses import replace
from datetime import timedelta
from itertools import combinations

import pandas as pd
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ConfigurationError
from p2p_analytics.frames.schema import PAYMENTS
from p2p_analytics.records import Me, User
from support.archives.statements import row, statements_of
from support.frames import list_rows


def person(user_id: str, name: str) -> dict[str, str]:
    """Return a user in the wire form."""
    return {"id": user_id, "display_name": name, "username": name.lower()}


ADA, BO, CY = person("7", "Ada"), person("8", "Bo"), person("9", "Cy")


def target(user: dict[str, str]) -> dict[str, object]:
    """Return a user as the target of a payment."""
    return {"type": "user", "user": user}


@pytest.fixture
def of(history_of, payment):
    """Return a function that builds the history of a user from payments."""

    def build(user: dict[str, str], *items: dict[str, object], balance: int | None = 100, **fields) -> p2p.History:
        me = Me(user=User(id=user["id"], display_name=user["display_name"]), balance_cents=balance)
        return replace(history_of(*items, account=user["id"], **fields), me=me)

    return build


def test_a_payment_between_members_is_internal(of, payment) -> None:
    """Each once: without direction, flow 0, kind transfer; payments with others stay as their member sees them."""
    rent = payment(1, actor=ADA, target=target(BO), amount=400)
    request = payment(2, actor=BO, target=target(ADA), action="charge", status="pending")
    lunch = payment(3, actor=ADA, target=target(CY), amount=9)
    gift = payment(4, actor=CY, target=target(BO), amount=20)
    united = p2p.household([of(ADA, rent, request, lunch), of(BO, rent, request, gift)])
    rows = list_rows(united.payments, "payment_id", "kind", "direction", "flow_cents", "account_id")
    assert sorted(rows)[2:] == [("3", "payment", "out", -900, "7"), ("4", "payment", "in", 2000, "8")]
    assert sorted(row[:4] for row in rows)[:2] == [("1", "transfer", None, 0), ("2", "transfer", None, 0)]
    assert united.payments.dtypes.astype(str).to_dict() == dict(PAYMENTS)
    spend = p2p.spend_by_friend(united.payments)
    assert list_rows(spend, "counterparty_name", "sent", "received") == [("Cy", 9.0, 20.0)]
    assert p2p.pending_requests(united.payments, as_of="2024-06-01").empty


def test_the_household_as_a_user(of, payment) -> None:
    """All names and ids, the sum of the balances if all are known, the oldest date, and the friends outside."""
    lunch = payment(3, actor=ADA, target=target(CY))
    ada, bo = of(ADA, lunch, friends=2), of(BO, payment(4, actor=CY, target=target(BO)))  # friends: 8 and 9; 8
    later = replace(ada, fetched_at=ada.fetched_at + timedelta(days=1))
    united = p2p.household([later, bo])
    assert (united.me.user.id, united.me.user.display_name) == ("7+8", "Ada and Bo")
    assert united.me.balance_cents == 200
    assert united.fetched_at == bo.fetched_at
    assert united.friends["user_id"].tolist() == ["9"]
    assert united.people["user_id"].tolist() == ["7", "8", "9"]
    assert p2p.household([ada, of(BO, balance=None)]).me.balance_cents is None
    three = p2p.household([ada, bo, of(CY)])
    assert three.me.user.display_name == "Ada, Bo and Cy"
    assert "Ada and Bo" in united._repr_html_()


@pytest.mark.parametrize(
    ("other", "ids"),
    [
        ({}, ["1"]), ({"counterparty_name": "Ada L"}, ["1"]), ({"amount_cents": 501}, ["ada:1", "bo:1"]),
        ({"direction": "out"}, ["ada:1", "bo:1"]), ({"currency": "EUR"}, ["ada:1", "bo:1"]),
        ({"date": "2024-05-02T12:00:01"}, ["ada:1", "bo:1"]),
        # The other zone, a file with the day of the request or of the completion alone.
        ({"date": "2024-05-02T12:00:00"}, ["1"]), ({"date": "2024-04-01T00:00:00", "status": "pending"}, ["1"]),
        ({"date": "2024-04-01T00:00:00", "date_completed": "2024-05-01"}, ["1"]),
    ],
)  # fmt: skip
def test_one_id_in_statements_of_two_members(other, ids) -> None:
    """Internal if nothing contradicts it; else both stay, with the account in the id: services use short ids again."""
    ada = statements_of(row(1)).history()
    bo = statements_of(row(1, **{"direction": "in", "account_id": "bo", **other}), account="bo").history()
    if "date_completed" in other:
        dates = pd.to_datetime([other["date_completed"]], utc=True).as_unit("us")
        bo = replace(bo, payments=bo.payments.assign(date_completed=dates))
    united = p2p.household([ada, bo]).payments
    assert sorted(united["payment_id"]) == ids
    if ids == ["1"]:
        assert list_rows(united, "kind", "flow_cents", "direction") == [("transfer", 0, None)]
    else:
        assert set(united["kind"]) == {"payment"}


def test_flows_of_a_closed_town() -> None:
    """Flows of each group are the sums of payments with people outside; of all people, every payment is internal."""
    town_histories = {}
    with p2p.sandbox.SandboxServer(seed=11, people=4, years=1) as server:
        for one in server.people:
            with p2p.Client(server.token(one.user_id), base_url=server.base_url, cache_dir=False) as client:
                town_histories[one.user_id] = p2p.load_history(client)
    everybody = pd.concat([history.payments for history in town_histories.values()])
    once = everybody.drop_duplicates("payment_id").set_index("payment_id")
    settled = once[once["status"] == "settled"]
    payer = settled["actor_id"].where(settled["action"] == "pay", settled["target_user_id"])
    payee = settled["target_user_id"].where(settled["action"] == "pay", settled["actor_id"])
    for size in (1, 2, 3, 4):
        for members in combinations(town_histories, size):
            united = p2p.household([town_histories[each] for each in members]).payments
            found = united[(united["status"] == "settled") & (united["kind"] == "payment")]
            leaves, comes = payer.isin(members) & ~payee.isin(members), payee.isin(members) & ~payer.isin(members)
            size_of = settled["amount_cents"].abs()
            assert found["flow_cents"].sum() == size_of[comes].sum() - size_of[leaves].sum()
            assert found["flow_cents"].abs().sum() == size_of[comes | leaves].sum()
            involved = once["actor_id"].isin(members) | once["target_user_id"].isin(members)
            assert sorted(united["payment_id"]) == sorted(once.index[involved])
    between_people = united[united["target_type"] == "user"]
    assert set(list_rows(between_people, "kind", "flow_cents")) == {("transfer", 0)}


def test_wrong_input(of, payment) -> None:
    """The error says what to pass; a household alone stays as it is."""
    history = of(ADA, payment(1, target=target(CY)))
    for given, words in (
        (history, "needs a list"),
        ([], "not an empty list"),
        ([history.payments], r"not pandas\.DataFrame"),
        ([history, of(BO).masked()], "privacy mode with one that is not"),
    ):
        with pytest.raises(ConfigurationError, match=words):
            p2p.household(given)
    assert "Ada" not in p2p.household([history.masked(), of(BO).masked()]).me.user.display_name
    both = p2p.household([history, of(BO, payment(2, target=target(CY)))])  # beside a member, it would count twice
    with pytest.raises(ConfigurationError, match=r"one is of 2 accounts \(.*\): give the histories of its members"):
        p2p.household([both, history])
    pd.testing.assert_frame_equal(p2p.household([both]).payments, both.payments)


@pytest.mark.parametrize("unite", [p2p.household, p2p.combine])
def test_statements_of_a_member_are_the_members(of, payment, unite) -> None:
    """Files name the account by its username, so its payments count once, whichever comes first."""
    listed = of(ADA, payment(1, target=target(BO)), payment(2, target=target(BO)), friends=1)
    listed = replace(listed, me=Me(user=User(id="7", username="Ada", display_name="Ada")))
    stated = statements_of(row(1, tip_cents=3), row(3, "Cy")).history()
    assert stated.me.user.id == "ada"
    for histories in ([listed, stated], [stated, listed]):
        united = unite(histories)
        assert (united.me.user.id, len(united.friends)) == ("7", 1)
        payments = united.payments.set_index("payment_id").sort_index()
        assert payments.index.tolist() == ["1", "2", "3"]
        assert set(payments["account_id"]) == {"7"}
        assert payments["source"].tolist() == ["api", "api", "statement"]
        assert (payments["tip_cents"].get("1"), payments["actor_id"].get("3")) == (3, "7")
        assert sorted(united.people["user_id"]) == sorted(listed.people["user_id"])


def test_a_username_of_two_people_decides_nothing(of, payment) -> None:
    """Neither do statements of another account, which stay a member of their own."""
    ada = replace(of(ADA, payment(1, target=target(BO))), me=Me(user=User(id="7", username="ada")))
    other = replace(of(CY, payment(4, target=target(BO))), me=Me(user=User(id="9", username="ADA")))
    for account in ("ada", "bo"):
        stated = statements_of(row(3, "Di", account_id=account), account=account).history()
        assert p2p.household([ada, other, stated]).payments["account_id"].nunique() == 3
