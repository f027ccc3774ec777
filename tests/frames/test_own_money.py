"""The one rule for which funding sources and destinations are the balance of the service."""

from p2p_analytics.frames.own_money import is_bank_or_card, is_own_money


def test_words_at_the_end_decide() -> None:
    """A source that is cash, or ends in balance or your cash, is one's own money; without one nothing else is named."""
    own = ["Venmo balance", "Your Cash", " BALANCE ", "Cash"]
    others = ["First Cash", "Moneycash", "Bank of Imbalance", "Bank of Sand *1234", "Cash Card *1234",
              "Nora's balance sheet"]  # fmt: skip
    assert [source for source in (*own, *others, "", "  ") if is_own_money(source)] == own
    assert [source for source in (*own, *others, "", "  ", None) if is_bank_or_card(source)] == others
