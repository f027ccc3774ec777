"""Exact conversion of amounts to whole cents."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_analytics.errors import MoneyError
from p2p_analytics.money import add_units, format_cents, to_cents, to_units

CENTS = st.integers(-(2**63) + 1, 2**63 - 1)


@pytest.mark.parametrize(
    ("amount", "cents"),
    [
        ("0.10", 10),
        ("-0.20", -20),
        ("0.1", 10),
        ("0.100000", 10),
        ("12", 1200),
        (".5", 50),
        ("+3.07", 307),
        (" 8.04 ", 804),
        ("1e2", 10000),
        ("1E-2", 1),
        ("0", 0),
        ("-0.00", 0),
        (Decimal("-12.30"), -1230),
        (Decimal("4.350"), 435),  # int(4.35 * 100) is 434
        (7, 700),
        ("92233720368547758.07", 9223372036854775807),
        ("-92233720368547758.07", -9223372036854775807),
    ],
)
def test_every_spelling_of_an_amount(amount: Decimal | int | str, cents: int) -> None:
    """Decimal text in each form that clients and the service use is converted."""
    assert to_cents(amount) == cents


@pytest.mark.parametrize(
    "amount",
    ["0.001", "12.345", "1e-3", Decimal("0.005"), "0.1000000000000000000000000000000000000001"],
)
def test_a_fraction_of_a_cent_is_refused(amount: Decimal | str) -> None:
    """Fractions of a cent are refused, never rounded."""
    with pytest.raises(MoneyError, match="fraction of a cent"):
        to_cents(amount)


@pytest.mark.parametrize("amount", ["92233720368547758.08", "1e17", Decimal("1e999999"), "NaN", Decimal("Infinity")])
def test_no_amount_of_money(amount: Decimal | str) -> None:
    """Amounts that are not finite or need more than 64 bits are refused."""
    with pytest.raises(MoneyError):
        to_cents(amount)


@pytest.mark.parametrize(
    "amount", ["", "abc", "1,000.00", "$5", "1_000", "0x10", "\uff11\uff12", "1e", "--1", "5 0", "\0", "9" * 41]
)
def test_text_that_is_no_amount(amount: str) -> None:
    """An amount is plain ASCII decimal digits; the message quotes at most forty characters of other text."""
    with pytest.raises(MoneyError) as caught:
        to_cents(amount)
    assert len(str(caught.value)) < 120


@pytest.mark.parametrize("amount", [0.1, True, float("nan")])
def test_binary_floats_are_refused(amount: float) -> None:
    """Floats are refused: they cannot hold cents exactly."""
    with pytest.raises(MoneyError, match="not exact"):
        to_cents(amount)  # type: ignore[arg-type]


@given(CENTS)
def test_cents_go_out_and_come_back(cents: int) -> None:
    """Any 64-bit number of cents survives the round trip through text and Decimal."""
    assert to_cents(format_cents(cents)) == cents
    assert to_cents(to_units(cents)) == cents


@pytest.mark.parametrize(("cents", "text"), [(0, "0.00"), (5, "0.05"), (-5, "-0.05"), (-1230, "-12.30"), (100, "1.00")])
def test_cents_as_text(cents: int, text: str) -> None:
    """Amounts always show two decimal places, and the sign even below one unit."""
    assert format_cents(cents) == text
    assert to_units(cents) == Decimal(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**15), max_value=10**15, places=3))
def test_the_fraction_decides(amount: Decimal) -> None:
    """Amounts with three decimal places are accepted only if they end in 0."""
    thousandths = int(amount.scaleb(3))
    if thousandths % 10:
        with pytest.raises(MoneyError):
            to_cents(amount)
    else:
        assert to_cents(amount) * 10 == thousandths


def test_sums_of_units_are_exact() -> None:
    """A thousand times ten cents is a hundred, with a null between; negative amounts are subtracted."""
    assert add_units([0.1] * 1000) == 100.0
    assert add_units([1.1, None, -2.2]) == -1.1
    assert add_units([]) == 0
