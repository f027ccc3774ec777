"""All payments of an archive, of the service and of statements, with the people of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from p2p_analytics.archive._folder import PEOPLE_FILE
from p2p_analytics.archive._rewrite import read_statements
from p2p_analytics.archive.imports.people import BY_USERNAME, NamesOfPeople, match_names, read_aliases
from p2p_analytics.archive.imports.rows import rename_account
from p2p_analytics.archive.tables import BATCH, MATCHED
from p2p_analytics.frames import schema
from p2p_analytics.frames.merge_sources import merge_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.archive._manifest import Manifest
    from p2p_analytics.archive.imports.people import Alias, Match


class AllPayments(NamedTuple):
    """PAYMENTS, STATEMENT and `MATCHED`; and the names in statements: payments by name, matches, people, the file."""

    payments: pd.DataFrame
    counts: Mapping[str, int]
    matches: Mapping[str, Match]
    known: NamesOfPeople
    aliases: Sequence[Alias]


def has_statements(manifest: Manifest) -> bool:
    """Return whether an archive holds statements."""
    return "statements" in manifest.small


def read_problems(folder: ArchiveFolder, manifest: Manifest, problems: pd.DataFrame) -> pd.DataFrame:
    """Return the problems of the service's payments, then those of statements."""
    import pandas as pd

    found = read_statements(folder, manifest.small)["statement_problems"]
    return pd.concat([problems, found[list(schema.PROBLEMS)]], ignore_index=True)


def read_all_payments(
    folder: ArchiveFolder, manifest: Manifest, listed: pd.DataFrame, people: pd.DataFrame
) -> AllPayments:
    """Return the payments of the service and of statements, with the people of names where they are known.

    Parameters
    ----------
    folder, manifest
        An archive with statements.
    listed : DataFrame
        PAYMENTS, as the service listed them.
    people : DataFrame
        PEOPLE.
    """
    owner = manifest.me.user
    stored = read_statements(folder, manifest.small)["statements"].drop(columns=BATCH)
    rows = rename_account(stored, str(owner.id), owner.username)
    payments = merge_sources(listed, rows)
    is_nameless = payments["counterparty_id"].isna() & payments["counterparty_name"].notna()
    is_named = (payments["source"] == schema.SOURCE_STATEMENT) & is_nameless
    is_named &= payments["kind"].fillna(schema.KIND_PAYMENT) == schema.KIND_PAYMENT
    found = payments.loc[is_named, "counterparty_name"].value_counts()
    counts = {str(name): count for name, count in found.items()}
    both = rows[["payment_id", "counterparty_name"]].merge(listed[["payment_id", "counterparty_id"]], on="payment_id")
    seen = both[["counterparty_name", "counterparty_id"]].dropna().itertuples(index=False, name=None)
    known = NamesOfPeople(people, seen)
    aliases = read_file(folder)
    matches = match_names(counts, known, aliases, str(folder.path / PEOPLE_FILE))
    return AllPayments(_apply(payments, is_named, matches, known, str(owner.id)), counts, matches, known, aliases)


def read_file(folder: ArchiveFolder) -> list[Alias]:
    """Return the lines of the user's file of people; none without the file."""
    body = folder.read_bytes(PEOPLE_FILE)
    return [] if body is None else read_aliases(body, str(folder.path / PEOPLE_FILE))


def _apply(
    payments: pd.DataFrame, is_named: pd.Series[bool], matches: Mapping[str, Match], known: NamesOfPeople, owner: str
) -> pd.DataFrame:
    """Return payments with the people of the names that have a match."""
    by_username = payments["counterparty_username"].str.casefold().where(is_named).map(known.ids_by_username())
    names = payments["counterparty_name"].where(is_named & by_username.isna())
    ids = names.map({name: match.user_id for name, match in matches.items()}).astype(schema.TEXT)
    ids = ids.where(by_username.isna(), by_username.astype(schema.TEXT))
    usernames = ids.map(known.usernames).astype(schema.TEXT)
    called = names.map({name: match.name for name, match in matches.items()}).astype(schema.TEXT)
    columns = {
        MATCHED: names.map({name: match.matched for name, match in matches.items()})
        .astype(schema.TEXT)
        .mask(by_username.notna(), BY_USERNAME),
        "counterparty_id": payments["counterparty_id"].where(ids.isna(), ids),
        "counterparty_username": payments["counterparty_username"].where(usernames.isna(), usernames),
        "counterparty_name": payments["counterparty_name"].where(called.isna(), called),
    }
    for side, other in (("actor", "target_user"), ("target_user", "actor")):
        is_guest = (payments[f"{other}_id"] == owner) & ids.notna()
        columns[f"{side}_id"] = payments[f"{side}_id"].mask(is_guest, ids)
        columns[f"{side}_username"] = payments[f"{side}_username"].mask(is_guest, usernames)
    return payments.assign(**columns)
