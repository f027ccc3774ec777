"""Selection of the explorer by person, status, kind and currency."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from p2p_analytics.currencies import describe_code
from p2p_analytics.display import clean_line
from p2p_analytics.frames.row_currencies import count_currencies, is_in_currency, list_currencies
from p2p_analytics.frames.schema import KIND_PAYMENT, select_payments
from p2p_analytics.widgets._inputs import build_dropdown, set_visible
from p2p_analytics.widgets._table import format_names, to_list

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

_EVERYONE: Final = "everyone"
_ANY_STATUS: Final = "every status"
_ANY_KIND: Final = "every kind"
_ANY_CURRENCY: Final = "every currency"


class Selection:
    """Inputs that select rows of PAYMENTS by person, status, kind and currency.

    A person has payments between people only. The kinds are for the view of single payments, because analyses count
    payments between people. If these are in several currencies, one is always selected, at first the most frequent.

    Parameters
    ----------
    payments : DataFrame
        All rows of the history.
    on_change : callable
        Called after a change of an input.
    """

    def __init__(self, payments: pd.DataFrame, *, on_change: Callable[..., None]) -> None:
        people = select_payments(payments)
        statuses = sorted(payments["status"].dropna().unique())
        kinds = list(dict.fromkeys([KIND_PAYMENT, *sorted(set(_name_kinds(payments)))]))
        currencies = list(dict.fromkeys([*count_currencies(payments), *list_currencies(payments)]))
        any_currency = [(_ANY_CURRENCY, "")] if len(count_currencies(payments)) <= 1 else []
        self.person = build_dropdown("Person", [(_EVERYONE, ()), *_person_options(people)])
        self.status = build_dropdown("Status", [(_ANY_STATUS, ""), *((word, word) for word in statuses)])
        self.kind = build_dropdown("Kind", [(_ANY_KIND, ""), *((clean_line(kind), kind) for kind in kinds)])
        self.currency = build_dropdown(
            "Currency", [*any_currency, *((describe_code(code), code) for code in currencies)]
        )
        self._has_kinds = len(people) < len(payments)
        set_visible(self.currency, len(currencies) > 1)
        for each in (self.person, self.status, self.kind, self.currency):
            each.observe(on_change, names="value")

    def show_kinds(self, *, is_single: bool) -> None:
        """Show the list of kinds in the view of single payments, if there are several; hide it in other views."""
        set_visible(self.kind, is_single and self._has_kinds)

    def select(self, payments: pd.DataFrame, *, is_single: bool) -> pd.DataFrame:
        """Return the selected rows; in the view of single payments also by kind."""
        rows = payments
        if self.currency.value:
            rows = rows[is_in_currency(rows, self.currency.value)]
        if self.person.value:
            column, key = self.person.value
            rows = select_payments(rows)
            rows = rows[rows[column] == key]
            if column == "counterparty_name":  # people without an id
                rows = rows[rows["counterparty_id"].isna()]
        if self.kind.value and is_single:
            rows = rows[[kind == self.kind.value for kind in _name_kinds(rows)]]
        return rows[rows["status"] == self.status.value] if self.status.value else rows

    def list_choices(self, *, is_single: bool) -> list[str]:
        """Return the choices as words for a file name; none for the initial ones."""
        parts = [self.person.label, digest(self.person.value)] if self.person.value else []
        parts += [self.kind.label, digest(self.kind.value)] if self.kind.value and is_single else []
        return [*parts, self.status.value, self.currency.label if self.currency.index else ""]


def digest(choice: object) -> str:
    """Return eight digits for a choice, because words of two choices may differ in removed characters only."""
    return hashlib.blake2s(repr(choice).encode(), digest_size=4).hexdigest()


def _name_kinds(payments: pd.DataFrame) -> list[str]:
    """Return the kind of each row; one without a kind is a payment."""
    return [kind or KIND_PAYMENT for kind in to_list(payments.reindex(columns=["kind"])["kind"])]


def _person_options(payments: pd.DataFrame) -> list[tuple[str, tuple[str, str]]]:
    """Return each counterparty's name with the column and value that identify it; the last of several names counts."""
    people: Any = payments.reindex(columns=["counterparty_id", "counterparty_name", "counterparty_username"])
    people = people.drop_duplicates().astype(object)
    people = people.where(people.notna(), None).sort_values("counterparty_name", na_position="first", kind="stable")
    known: dict[tuple[str, str], tuple[str | None, str | None]] = {}
    for identifier, name, username in people.itertuples(index=False, name=None):
        if identifier is not None:
            known["counterparty_id", identifier] = name, username
        elif name is not None:
            known["counterparty_name", name] = name, username
    ids = [value if column == "counterparty_id" else None for column, value in known]
    names, usernames = ([pair[at] for pair in known.values()] for at in (0, 1))
    options = zip(format_names(names, usernames, ids), known, strict=True)
    return sorted(options, key=lambda option: option[0].casefold())
