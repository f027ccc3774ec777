"""Files that do not add up, and files before which something may be missing, as problems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.display import format_count, format_money
from p2p_analytics.frames.schema import DOES_NOT_ADD_UP, FOLLOWS_A_GAP
from p2p_analytics.money import to_units
from p2p_analytics.statements._format import Problem
from p2p_analytics.statements.balances._continuity import describe_others, find_replaced

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from p2p_analytics.statements.balances._continuity import Balance, Seam

_FIELD: Final = "balance"


def list_balance_problems(joined: Sequence[tuple[Balance, Seam]]) -> list[Problem]:
    """Return a problem for each balance that does not add up, then one for each seam at which something may be missing.

    A file that another one replaces, because that has the whole period and adds up, has none. Files that overlap leave
    nothing out.

    Parameters
    ----------
    joined : sequence of tuple of Balance and Seam
        As `join_files` returns them.
    """
    replaced = {id(balance) for balance in find_replaced([balance for balance, _ in joined])}
    standing = [(balance, seam) for balance, seam in joined if id(balance) not in replaced]
    return [*_list_differences([balance for balance, _ in standing]), *_list_gaps(standing)]


def _list_differences(balances: Sequence[Balance]) -> Iterator[Problem]:
    for balance in balances:
        if balance.is_reconciled is not False:
            continue
        found = (balance.remarks or "amounts cannot be read").rstrip(".").lower()
        if balance.difference:
            found = f"differ by {format_money(to_units(balance.difference), currency=balance.currency)}"
        if balance.suggestion is not None:
            found += f", which {balance.suggestion} would explain"
        days = [f"{instant:%Y-%m-%d}" for instant in balance.period if instant is not None]
        code = balance.currency or UNKNOWN_CURRENCY
        value = f"{balance.format}, {code}, {' to '.join(days) or 'no dates'}: {found}"
        yield Problem(balance.file, None, None, _FIELD, value, DOES_NOT_ADD_UP)


def _list_gaps(joined: Sequence[tuple[Balance, Seam]]) -> Iterator[Problem]:
    for balance, seam in joined:
        found = []
        if seam.days:
            found.append(f"{format_count(seam.days, 'day is', 'days are')} in no file")
        if seam.months:
            found.append(f"{format_count(seam.months, 'month', 'months')} without rows")
        if seam.gap_cents and not seam.is_filled:
            found.append(f"the balance changed by {format_money(to_units(seam.gap_cents), currency=balance.currency)}")
        if seam.before is None or seam.is_overlap or not found:
            continue
        days = [f"{instant:%Y-%m-%d}" for instant in (seam.before.period.end, balance.period.start) if instant]
        names = ", ".join(filter(None, [balance.currency or UNKNOWN_CURRENCY, balance.subaccount[1]]))
        value = f"after {seam.before.file!r}, {names}, {' to '.join(days)}: {', '.join(found)}"
        if seam.others:
            cents = seam.others_cents
            amount = None if cents is None else format_money(to_units(cents), currency=balance.currency)
            value += f"; {describe_others(seam.others, amount)}"
        yield Problem(balance.file, None, None, _FIELD, value, FOLLOWS_A_GAP)
