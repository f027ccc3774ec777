"""Faults that misread the `before` of a list of payments."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from p2p_analytics.sandbox import SandboxServer
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from collections.abc import Callable

    Asking = Callable[..., Any]

# Each test sets the faults.
own = sandbox_fixture(people=3, years=1)


@pytest.fixture(autouse=True)
def _no_faults_left(own: SandboxServer) -> None:
    own.faults = ""


@pytest.mark.parametrize(
    ("kind", "asked", "shown"),
    [  # There is a payment at each hour of two days; the first shown is the newest before the bound as read.
        ("bound-zone", "2025-03-02T12:00:00", "2025-03-02T06:00:00"),
        ("bound-zone", "2025-03-02T12:00:00Z", "2025-03-02T06:00:00"),
        ("bound-zone", "2025-03-02T14:30:00+02:00", "2025-03-02T07:00:00"),
        ("bound-zone", "2025-03-02T12:00:00.000001", "2025-03-02T07:00:00"),
        ("bound-zone", "2025-03-02T03:00:00", "2025-03-01T21:00:00"),
        ("bound-zone", "2025-03-02", "2025-03-01T18:00:00"),
        ("bound-day", "2025-03-02T12:00:00", "2025-03-01T23:00:00"),
        ("bound-day", "2025-03-02T12:00:00.5Z", "2025-03-01T23:00:00"),
        ("bound-day", "2025-03-03T01:00:00+02:00", "2025-03-01T23:00:00"),
        ("bound-day", "2025-03-02", "2025-03-01T23:00:00"),
    ],
)
def test_a_bound_that_is_misread(ask: Asking, kind: str, asked: str, shown: str) -> None:
    """`before` is read 5 h earlier or as its day, with filters too; `after` and lists without `before` are not."""
    with SandboxServer(people=3, years=1) as own:
        hours = [datetime(2025, 3, day, hour, tzinfo=UTC) for day in (1, 2) for hour in range(24)]
        own.add_payments(own.viewer, [{"date_created": hour, "spelling": 0} for hour in hours])
        me = ask(on=own)
        unbounded, after = (
            me.get_body("/payments", limit=3),
            me.get_body("/payments", limit=50, after=asked, action="pay"),
        )
        own.faults = f"{kind}:1"
        for filters in ({}, {"status": "settled", "action": "pay", "after": "2025-03-01T00:00:00"}):
            assert me.get_body("/payments", limit=1, before=asked, **filters)["data"][0]["date_created"][:19] == shown
        assert me.get_body("/payments", limit=3) == unbounded
        assert me.get_body("/payments", limit=50, after=asked, action="pay") == after


@pytest.mark.parametrize("kind", ["bound-zone", "bound-day"])
@pytest.mark.parametrize(
    "before",
    ["", "yesterday", "2025-02-30", "0001-01-01", "0001-01-01T03:00:00+09:00", "9999-12-31T23:59:59-23:00", "\xff"],
)
def test_a_bound_at_the_edge_is_answered(ask: Asking, own: SandboxServer, kind: str, before: str) -> None:
    """For any text in `before` the response has the status and code of the response without the fault."""
    own.faults = f"ok {kind}"
    me = ask(on=own)
    honest, faulty = (me.get("/payments", before=before, limit=50) for _ in range(2))
    assert faulty.status_code == honest.status_code
    if honest.status_code != 200:
        assert faulty.json() == honest.json()


HOURS = "2025-03-02T12:00:00"


@pytest.mark.parametrize(
    ("query", "before"),
    [
        (f"before={HOURS}", HOURS),
        (f"%62efore={HOURS.replace(':', '%3A')}", HOURS),
        (f"before=+{HOURS}+", HOURS),
        (f"before=&before={HOURS}&before=%20", HOURS),
        ("before=2025-03-02T14:00:00+02:00", HOURS),
        (f"x=%ff%C3%28&before={HOURS}&note=%00&=&x", HOURS),
        (f"before={HOURS}&before={HOURS}", None),
        (f"before={HOURS}&%62efore=2025-03-02", None),
        (f"before={HOURS}%00", None),
        (f"Before={HOURS}&before[]={HOURS}", ""),
    ],
)
@pytest.mark.parametrize("kind", ["bound-zone", "bound-day"])
def test_a_bound_is_misread_however_it_is_spelled(
    ask: Asking, own: SandboxServer, query: str, before: str | None, kind: str
) -> None:
    """The response is that to the misread bound, with the other parameters unchanged; refusals do not change."""
    me = ask(on=own)
    address = f"/payments?{query}&status=settled&limit=50"
    honest = me.get(address)
    own.faults = kind
    faulty = me.get(address)
    if before is None:
        assert (honest.status_code, faulty.status_code) == (400, 400)
        assert faulty.json() == honest.json()
    elif before:
        misread = {"bound-zone": "2025-03-02T07:00:00", "bound-day": "2025-03-02"}[kind]
        assert faulty.content == me.get("/payments", before=misread, status="settled", limit=50).content
    else:
        assert faulty.json() == honest.json()


def test_other_lists_are_not_misread(ask: Asking, own: SandboxServer) -> None:
    """`before` of a list of friends is an id and is not misread."""
    me = ask(on=own)
    path = f"/users/{me.get_body('/me')['data']['user']['id']}/friends"
    honest = me.get_body(path, before=own.people[-1].user_id)
    for kind in ("bound-zone", "bound-day"):
        own.faults = kind
        assert me.get_body(path, before=own.people[-1].user_id) == honest
