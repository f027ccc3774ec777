"""Exact conversion of amounts to whole cents."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from p2p_analytics.errors import MoneyError
from p2p_analytics.money import add_units, format_cents, to_cents, to_units


@pytest.mark.parametrize(
    ("amount", "cents"),
    [
        ("0.10", 10), ("-0.20", -20), ("0.1", 10), ("0.100000", 10), ("12", 1200), (".5", 50), ("+3.07", 307),
        (" 8.04 ", 804), ("1e2", 10000), ("1E-2", 1), ("-0.00", 0), (7, 700), (Decimal("-12.30"), -1230),
        (Decimal("4.350"), 435),  # int(4.35 * 100) is 434
        ("92233720368547758.07", 2**63 - 1), ("-92233720368547758.07", 1 - 2**63), ("9" * 13 + ".99", 10**15 - 1),
    ],
)  # fmt: skip
def test_every_spelling_of_an_amount(amount: Decimal | int | str, cents: int) -> None:
    """Decimal text in each form that clients and the service use is converted."""
    assert to_cents(amount) == cents


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        *((each, "fraction of a cent") for each in ("0.001", "1e-3", Decimal("0.005"), "0." + "1" * 40)),
        *((each, "too large") for each in ("92233720368547758.08", "1e17", Decimal("1e999999"), Decimal("Infinity"))),
        *(
            (each, "is not an amount: ")
            for each in ("", "abc", "1,000.00", "$5", "1_000", "0x10", "\uff11", "1e", "--1")
        ),
        *((each, "is not an amount: ") for each in ("5 0", "\0", "9" * 41, "NaN")),
        *((each, "not exact") for each in (0.1, True, float("nan"))),
    ],
)
def test_no_amount_of_money(amount: object, message: str) -> None:
    """Nothing is rounded, and binary floats are refused; the message quotes at most forty characters."""
    with pytest.raises(MoneyError, match=message) as caught:
        to_cents(amount)
    assert len(str(caught.value)) < 120


CENTS = {0: "0.00", 5: "0.05", -5: "-0.05", -1230: "-12.30", 100: "1.00"}


def test_cents_as_text() -> None:
    """Amounts always show two decimal places, and the sign even below one unit."""
    assert {cents: format_cents(cents) for cents in CENTS} == {cents: str(to_units(cents)) for cents in CENTS} == CENTS


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_cents_go_out_and_come_back(cents: int) -> None:
    """Any 64-bit number of cents survives the round trip through text and Decimal."""
    assert to_cents(format_cents(cents)) == to_cents(to_units(cents)) == cents


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
    assert [add_units(each) for each in ([0.1] * 1000, [1.1, None, -2.2], [])] == [100.0, -1.1, 0]
