"""People of the report as they are displayed: names, phone numbers, suffixes of namesakes and earlier names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from p2p_analytics import display, plots

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_LONGEST_NAME: Final = 60
_LONGEST_NAMES: Final = 120  # all earlier names of one person
_BETWEEN_NAMES: Final = "; "


class Label(NamedTuple):
    """A person as displayed.

    Attributes
    ----------
    name : str
        On one line; a phone number has its digits in groups.
    suffix : str
        The part that distinguishes the person from a namesake in the report; empty without one.
    also : str
        The person's other names, separated by "; "; empty without one.
    is_phone : bool
        Whether the name is a phone number.
    """

    name: str
    suffix: str
    also: str
    is_phone: bool


def label_people(
    rows: Sequence[Mapping[str, Any]], profiles: Iterable[Mapping[str, Any]], phones: frozenset[str]
) -> dict[tuple[str | None, str | None], Label]:
    """Return the label of each person in the rows of the report, by id and name.

    Parameters
    ----------
    rows : sequence of mappings
        The rows that are displayed, with ``counterparty_id`` and ``counterparty_name``; ``counterparty_username`` may
        be absent.
    profiles : iterable of mappings
        Rows of PEOPLE, as far as the people are known: ``user_id username display_name also_named``.
    phones : frozenset of str
        The texts that are known to be phone numbers.
    """
    known = {profile["user_id"]: profile for profile in profiles}
    keys = [(row["counterparty_id"], row["counterparty_name"]) for row in rows]
    names = [_format_name(name, phones) for _, name in keys]
    usernames = _find_usernames(rows, known)
    suffixes = display.name_suffixes(names, usernames, [identifier or name for identifier, name in keys])
    return {
        key: Label(name, suffix, _list_other_names(known.get(key[0]), name), key[1] in phones)
        for key, name, suffix in zip(keys, names, suffixes, strict=True)
    }


def name_in_figures(
    rows: Sequence[Mapping[str, Any]], profiles: Iterable[Mapping[str, Any]]
) -> dict[tuple[str | None, str | None], str]:
    """Return the name of each person in figures, the same in all, by id and name; arguments as for `label_people`."""
    people: dict[str, list[str | None]] = {
        "counterparty_id": [row["counterparty_id"] for row in rows],
        "counterparty_name": [row["counterparty_name"] for row in rows],
        "counterparty_username": _find_usernames(rows, {profile["user_id"]: profile for profile in profiles}),
    }
    return plots.name_people(people)


def _find_usernames(rows: Sequence[Mapping[str, Any]], known: Mapping[str, Mapping[str, Any]]) -> list[str | None]:
    return [row.get("counterparty_username") or known.get(row["counterparty_id"], {}).get("username") for row in rows]


def _format_name(name: str | None, phones: frozenset[str]) -> str:
    """Return a name on one line and of limited length, a phone number with its digits in groups."""
    if name is None:
        return display.clean_text(name)
    return _to_line(display.format_phone(name) if name in phones else name) or display.NO_NAME


def _list_other_names(profile: Mapping[str, Any] | None, shown: str) -> str:
    """Return the present and earlier names of a person, except the one that is shown."""
    if profile is None:
        return ""
    texts = [profile["display_name"], *(profile["also_named"] or "").split(_BETWEEN_NAMES)]
    lines = dict.fromkeys(_to_line(text) for text in texts if text)
    return _cut(_BETWEEN_NAMES.join(line for line in lines if line and line != shown), _LONGEST_NAMES)


def _to_line(name: str) -> str:
    words = " ".join(name.split())  # line breaks separate words; clean_line removes them
    return _cut(display.clean_line(words), _LONGEST_NAME)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[:longest].rstrip() + "…"
