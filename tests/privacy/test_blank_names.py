"""A blank name has a pseudonym in privacy mode, because it would mark the few people that have one."""

from __future__ import annotations

import pandas as pd
import pytest

from p2p_analytics.privacy import Mask
from p2p_analytics.privacy._pseudonyms import Pseudonyms
from support.privacy.masking import KEY, ME, load, payment, to


@pytest.mark.parametrize(("blank", "strict"), [("", False), (" \t", True)])
def test_a_blank_name_has_a_pseudonym_as_any_other(service, blank: str, strict) -> None:
    """Few people have a blank name, so it would mark them; a null stays, because it says which fields were sent."""
    cafe = {"id": "4488448844884488448", "username": "kafferep", "display_name": "Kafferep", "first_name": "Kafferep",
            "last_name": blank}  # fmt: skip
    nameless = {"id": "4477447744774477447", "username": blank, "display_name": blank, "first_name": blank,
                "last_name": None}  # fmt: skip
    service[1]["/v1/payments"]["data"] = [payment(2, actor=nameless, target=to(ME)), payment(1, target=to(cafe))]
    service[1]["/v1/me"]["data"]["user"] = ME | {"last_name": blank}
    private = load(service).masked(key=KEY, strict=strict)
    assert private.me.user.last_name == Pseudonyms(KEY).name(ME["id"]).split()[1]
    people = private.people.set_index("user_id")
    for person in (cafe, nameless):
        first, last = Pseudonyms(KEY).name(person["id"]).split()
        row = people.loc[Pseudonyms(KEY).identifier(person["id"])]
        assert row[["username", "display_name", "first_name"]].tolist() == [
            f"{first}-{last}".lower(), f"{first} {last}", first,
        ]  # fmt: skip
        assert (row["last_name"] == last) is (person is cafe)
    assert people["last_name"].isna().tolist().count(True) == load(service).people["last_name"].isna().sum()
    payments = private.payments.set_index("payment_id").loc[[Pseudonyms(KEY).identifier(payment(2)["id"])]]
    name = Pseudonyms(KEY).name(nameless["id"])
    assert payments[["actor_display_name", "counterparty_name"]].to_numpy().tolist() == [[name, name]]
    assert payments[["actor_username", "counterparty_username"]].nunique(axis=1).tolist() == [1]


@pytest.mark.parametrize("blank", ["", " \t"])
def test_a_blank_name_without_an_id_has_a_pseudonym(blank: str) -> None:
    """In frames of one's own too; the same person in the columns of actor and counterparty."""
    frame = pd.DataFrame(
        {
            "actor_id": [None, None],
            "actor_display_name": [blank, "Zeb"],
            "actor_username": [blank, None],
            "counterparty_id": [None, None],
            "counterparty_name": [blank, "Zeb"],
            "counterparty_username": [blank, None],
        }
    )
    masked = Mask(KEY).frame(frame)
    unnamed = Pseudonyms(KEY).name("")
    handle = unnamed.lower().replace(" ", "-")
    assert masked.iloc[0].fillna("-").tolist() == ["-", unnamed, handle, "-", unnamed, handle]
    assert masked.iloc[1][["actor_display_name", "counterparty_name"]].tolist() == [Pseudonyms(KEY).name("Zeb")] * 2
    assert masked.iloc[1][["actor_username", "counterparty_username"]].isna().all()
