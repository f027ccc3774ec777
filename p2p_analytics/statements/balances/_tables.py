"""Balances of files as tables: as an archive keeps them, and joined from file to file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.currencies import UNKNOWN_CURRENCY
from p2p_analytics.frames.schema import BALANCES, FLAG, INSTANT, TEXT, WHOLE, parse_dtype
from p2p_analytics.statements.balances._continuity import Balance, Period, Seam, find_replaced

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    import pandas as pd

RECONCILIATION: Final[Mapping[str, str]] = {
    "file": TEXT,
    "account": TEXT,
    "currency": TEXT,
    "opening_cents": WHOLE,
    "moved_cents": WHOLE,
    "closing_cents": WHOLE,
    "difference_cents": WHOLE,
    "reconciled": FLAG,
    "suggestion": TEXT,
    "period_start": INSTANT,
    "period_end": INSTANT,
    "follows": TEXT,
    "gap_cents": WHOLE,
    "note": TEXT,
}


def frame_joined(joined: Iterable[tuple[Balance, Seam]]) -> pd.DataFrame:
    """Return the columns and dtypes of `RECONCILIATION`, in the order of `join_files`."""
    lines = [
        {
            "file": balance.file,
            "account": balance.account,
            "currency": balance.currency,
            "opening_cents": balance.opening,
            "moved_cents": balance.moved,
            "closing_cents": balance.closing,
            "difference_cents": balance.difference,
            "reconciled": balance.is_reconciled,
            "suggestion": balance.suggestion,
            "period_start": balance.period.start,
            "period_end": balance.period.end,
            "follows": seam.before and seam.before.file,
            "gap_cents": seam.gap_cents,
            "note": " ".join(filter(None, [balance.remarks, *seam.remarks])) or None,
        }
        for balance, seam in joined
    ]
    return _to_frame(lines, RECONCILIATION)


def frame_balances(balances: Iterable[Balance]) -> pd.DataFrame:
    """Return `BALANCES` of balances, without their rows."""
    lines = [
        {
            "file": balance.file,
            "format": balance.format,
            "account": balance.account,
            "currency": balance.currency,
            "service": balance.subaccount[0],
            "product": balance.subaccount[1],
            "opening_cents": balance.opening,
            "moved_cents": balance.moved,
            "closing_cents": balance.closing,
            "difference_cents": balance.difference,
            "reconciled": balance.is_reconciled,
            "suggestion": balance.suggestion,
            "remarks": balance.remarks,
            "first_date": balance.dates.start,
            "last_date": balance.dates.end,
            "period_start": balance.stated.start,
            "period_end": balance.stated.end,
        }
        for balance in balances
    ]
    return _to_frame(lines, BALANCES)


def list_balances(table: pd.DataFrame) -> list[Balance]:
    """Return the balances of `BALANCES`, without their rows."""
    columns = [[_read_value(value) for value in table[name].tolist()] for name in BALANCES]
    balances = []
    for values in zip(*columns, strict=True):
        row: dict[str, Any] = dict(zip(BALANCES, values, strict=True))
        balances.append(
            Balance(
                row["file"],
                row["format"],
                row["account"],
                row["currency"],
                (row["service"] or "", row["product"] or ""),
                row["opening_cents"],
                row["moved_cents"],
                row["closing_cents"],
                row["difference_cents"],
                row["reconciled"],
                row["suggestion"],
                row["remarks"],
                dates=Period(row["first_date"], row["last_date"]),
                stated=Period(row["period_start"], row["period_end"]),
            )
        )
    return balances


def find_balance(table: pd.DataFrame, currencies: Collection[str]) -> int | None:
    """Return the closing balance of the last file; unknown if the files are about several balances, or none.

    Parameters
    ----------
    table : DataFrame
        `BALANCES` of one account.
    currencies : collection of str
        The currencies in which the account has payments.
    """
    last: dict[tuple[object, ...], Balance] = {}
    balances = list_balances(table)
    replaced = find_replaced(balances)
    dated = [(balance.period.end, balance.file, at) for at, balance in enumerate(balances) if balance.period.end]
    for *_, at in sorted(dated):
        code = balances[at].currency or UNKNOWN_CURRENCY
        if code in currencies and balances[at] not in replaced:
            last[code, balances[at].subaccount] = balances[at]
    closings = [balance.closing for balance in last.values() if balance.closing is not None]
    return closings[0] if len(closings) == len(currencies) == 1 else None


def _read_value(value: Any) -> Any:  # noqa: ANN401 - a cell of any column
    import pandas as pd

    if pd.isna(value):
        return None
    return value.to_pydatetime() if isinstance(value, pd.Timestamp) else value


def _to_frame(lines: list[dict[str, Any]], schema: Mapping[str, str]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        {name: pd.array([line[name] for line in lines], dtype=parse_dtype(dtype)) for name, dtype in schema.items()}
    )
