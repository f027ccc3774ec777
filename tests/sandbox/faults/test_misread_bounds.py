"""Faults that misread the `before` of a list of payments; `tests/round_trip` has them over HTTP."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest

from p2p_analytics.sandbox.faults.injection import misread_bound
from p2p_analytics.sandbox.faults.specification import Kind
from p2p_analytics.sandbox.http.parameters import instant_us

NOON = "2025-03-02T12:00:00"


def misread(kind: str, query: str, path: str = "/v1/payments", method: str = "GET") -> str:
    """Return a query as a service with the fault reads it."""
    scope = {"method": method, "path": path, "query_string": query.encode("latin-1")}
    return misread_bound(Kind(kind), scope, instant_us)["query_string"].decode("ascii")


@pytest.mark.parametrize(
    ("asked", "zone", "day"),
    [
        (NOON, "2025-03-02T07:00:00", "2025-03-02T00:00:00"),
        (f"{NOON}Z", "2025-03-02T07:00:00", "2025-03-02T00:00:00"),
        ("2025-03-03T01:00:00+02:00", "2025-03-02T18:00:00", "2025-03-02T00:00:00"),
        ("2025-03-02T12:00:00.000001", "2025-03-02T07:00:00.000001", "2025-03-02T00:00:00"),
        ("2025-03-02T03:00:00", "2025-03-01T22:00:00", "2025-03-02T00:00:00"),
        ("2025-03-02", "2025-03-01T19:00:00", "2025-03-02T00:00:00"),
        (" 2025-03-02T12:00:00 ", "2025-03-02T07:00:00", "2025-03-02T00:00:00"),
        ("0001-01-01", "0001-01-01T00:00:00", "0001-01-01T00:00:00"),
        ("0001-01-01T03:00:00+09:00", "0001-01-01T00:00:00", "0001-01-01T00:00:00"),
        ("9999-12-31T23:59:59-23:00", "9999-12-31T23:59:59.999999", "9999-12-31T23:59:59.999999"),
        *((text, text, text) for text in ("", "yesterday", "2025-02-30", f"{NOON}\0")),
    ],
)
def test_a_bound_that_is_misread(asked: str, zone: str, day: str) -> None:
    """`before` is read 5 h earlier or as its day, within the range of datetime; other texts stay as they are."""
    for kind, expected in (("bound-zone", zone), ("bound-day", day), ("503", asked)):
        query = misread(kind, f"before={asked.replace('+', '%2B')}")
        assert parse_qsl(query, keep_blank_values=True) == [("before", expected)]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"%62efore={NOON.replace(':', '%3A')}&limit=1", [("before", "2025-03-02"), ("limit", "1")]),
        (f"before=&before={NOON}&before=%20", [("before", ""), ("before", "2025-03-02"), ("before", " ")]),
        (f"Before={NOON}&before[]={NOON}&after={NOON}", [("Before", NOON), ("before[]", NOON), ("after", NOON)]),
        (f"x=%ff&before={NOON}&=&x", [("x", "\xff"), ("before", "2025-03-02"), ("", ""), ("x", "")]),
    ],
)
def test_only_before_is_misread_however_it_is_spelled(query: str, expected: list[tuple[str, str]]) -> None:
    """Escapes and repetitions count, other names do not, and other parameters are unchanged."""
    pairs = parse_qsl(misread("bound-day", query), keep_blank_values=True, encoding="latin-1")
    assert [(name, value.removesuffix("T00:00:00")) for name, value in pairs] == expected


@pytest.mark.parametrize(("path", "method"), [("/v1/users/1/friends", "GET"), ("/v1/payments", "POST")])
def test_other_requests_are_not_misread(path: str, method: str) -> None:
    """`before` of a list of friends is an id, and a write has none."""
    assert misread("bound-zone", f"before={NOON}", path, method) == f"before={NOON}"
