"""All payments of an archive, of the service and of statements, with the people of names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from p2p_analytics.archive._folder import PEOPLE_FILE
from p2p_analytics.archive._rewrite import list_other_rows
from p2p_analytics.archive.imports.balances import STATED, list_problems
from p2p_analytics.archive.imports.people import BY_USERNAME, NamesOfPeople, PeopleFile, match_names, read_aliases
from p2p_analytics.archive.tables import MATCHED, arrow_schema
from p2p_analytics.forks import refuse_marked
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import frame_of, frame_of_polars
from p2p_analytics.frames.people import merge_people

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    import polars as pl

    from p2p_analytics.archive._folder import ArchiveFolder
    from p2p_analytics.archive._manifest import Manifest
    from p2p_analytics.archive.imports.people import Match
    from p2p_analytics.statements import OtherRows

_COLUMNS: Final = {**schema.PAYMENTS, **schema.STATEMENT, MATCHED: schema.TEXT}
_NAMES: Final = ("counterparty_name", "counterparty_username")
# What the matching of names needs: a scan reads no other columns before its query.
_LISTED: Final = ("payment_id", "counterparty_id")
_STATED: Final = ("payment_id", "kind", "counterparty_id", *_NAMES)


class Names(NamedTuple):
    """Names in statements: payments by name, matches, and names of people.

    Then PEOPLE, with those whom statements show; and the table of persons of `lazy_merge.concat_rows`, None if no name
    has a match.
    """

    counts: Mapping[str, int]
    matches: Mapping[str, Match]
    known: NamesOfPeople
    people: pd.DataFrame
    persons: pl.DataFrame | None


class _Tables(NamedTuple):
    """Payments of the service, rows of statements, the row of a statement for each payment, and the other rows."""

    listed: pl.DataFrame
    stated: pl.DataFrame
    places: pl.Series
    only: pl.DataFrame


def has_statements(manifest: Manifest) -> bool:
    """Return whether an archive holds statements."""
    return "statements" in manifest.small


def read_problems(folder: ArchiveFolder, manifest: Manifest, problems: pd.DataFrame) -> pd.DataFrame:
    """Return the problems of the service's payments, then those of statements."""
    import pandas as pd

    kept = folder.read_frame(manifest.small["statement_problems"])
    balances = read_balances(folder, manifest)
    found = list_problems(kept, balances, lambda: read_other_rows(folder, manifest, balances))
    listed = problems.reindex(columns=list(found)).astype(dict(schema.PLACE))
    return pd.concat([listed, found], ignore_index=True)


def read_balances(folder: ArchiveFolder, manifest: Manifest) -> pd.DataFrame:
    """Return the balances of statement files; none for an archive of an earlier version."""
    entry = manifest.small.get("statement_balances")
    return frame_of(arrow_schema("statement_balances").empty_table()) if entry is None else folder.read_frame(entry)


def read_other_rows(folder: ArchiveFolder, manifest: Manifest, balances: pd.DataFrame) -> OtherRows:
    """Return the rows that moved the balance and come from no statement file of which the balances are known."""
    entry = manifest.small.get("statements")
    rows = arrow_schema("statements").empty_table() if entry is None else folder.read(entry, columns=[*STATED])
    return list_other_rows(folder, manifest.payments, frame_of(rows.select([*STATED])), balances)


def read_file(folder: ArchiveFolder) -> PeopleFile:
    """Return the content of the user's file of people; no lines without the file."""
    body = folder.read_bytes(PEOPLE_FILE)
    return PeopleFile() if body is None else read_aliases(body, str(folder.path / PEOPLE_FILE))


def read_all_payments(
    folder: ArchiveFolder, manifest: Manifest, people: pd.DataFrame
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the payments of the service and of statements, newest first, and PEOPLE with those whom statements show.

    Parameters
    ----------
    folder, manifest
        An archive with statements.
    people : DataFrame
        PEOPLE.
    """
    import narwhals.stable.v2 as nw
    import polars as pl

    from p2p_analytics.archive.scans import lazy_merge

    tables = _read(folder, manifest, schema.PAYMENTS, [*schema.PAYMENTS, *schema.STATEMENT])
    names = _match(folder, manifest, tables, people)
    compared = lazy_merge.list_compared(name for name in schema.PAYMENTS if tables.listed[name].null_count())
    # A join of all columns takes ten times as long as picking the rows.
    beside = tables.stated.select(
        *(pl.col(name).gather(tables.places) for name in schema.STATEMENT),
        *(pl.col(name).gather(tables.places).alias(f"{name}{lazy_merge.BESIDE}") for name in compared),
    )
    rows = lazy_merge.concat_rows(
        nw.from_native(pl.concat([tables.listed, beside], how="horizontal").lazy()),
        nw.from_native(tables.only.lazy()),
        None if names.persons is None else nw.from_native(names.persons.lazy()),
        manifest.me.user,
        compared=compared,
        columns=list(_COLUMNS),
    )
    united: pl.DataFrame = rows.to_native().collect()
    return frame_of_polars(_sort(united), _COLUMNS), names.people


def read_names(folder: ArchiveFolder, manifest: Manifest, people: pd.DataFrame) -> Names:
    """Return the names in the statements of an archive; of its files, only the columns with names are read."""
    return _match(folder, manifest, _read(folder, manifest, _LISTED, _STATED), people)


def _read(folder: ArchiveFolder, manifest: Manifest, listed: Collection[str], stated: Collection[str]) -> _Tables:
    """Return columns of the payments of the service and of statements."""
    import numpy as np

    refuse_marked()
    service = folder.read_polars(manifest.payments[::-1], listed)
    statements = folder.read_polars([manifest.small["statements"]], stated)
    numbered = statements.select("payment_id").with_row_index("place")
    places = service.select("payment_id").join(numbered, on="payment_id", how="left", maintain_order="left")["place"]
    is_only = np.ones(len(statements), dtype=bool)
    is_only[places.drop_nulls().to_numpy()] = False
    return _Tables(service, statements, places, statements.filter(is_only))


def _match(folder: ArchiveFolder, manifest: Manifest, tables: _Tables, people: pd.DataFrame) -> Names:
    """Return the names of the payments that only statements know, with their people."""
    import polars as pl

    name, number = "counterparty_name", "counterparty_id"
    both = pl.DataFrame([tables.stated[name].gather(tables.places), tables.listed[number]])
    in_files = tables.only.select(name, number)
    seen, shown = (
        pairs.drop_nulls().group_by(name, number).len().sort(name, number).rows() for pairs in (both, in_files)
    )
    people = merge_people([people, _list_stated_people(tables.only, str(manifest.me.user.id))])
    is_payment = pl.col("kind").fill_null(schema.KIND_PAYMENT) == schema.KIND_PAYMENT
    named = tables.only.filter(is_payment, pl.col(number).is_null(), pl.col(name).is_not_null()).select(_NAMES)
    counts = dict(named.group_by(name).len().rows())
    known = NamesOfPeople(people, seen, shown)
    place = str(folder.path / PEOPLE_FILE)
    matches = match_names(counts, known, read_file(folder).lines, place, manifest.me.user)
    return Names(counts, matches, known, people, _list_persons(named, matches, known))


def _list_stated_people(rows: pl.DataFrame, owner: str) -> pd.DataFrame:
    """Return PEOPLE of the user ids that statements show; the columns of names may be all that there are."""
    import pandas as pd
    import polars as pl

    shown = rows.select("counterparty_id", *_NAMES).filter(pl.col("counterparty_id").is_not_null()).unique()
    shown = shown.filter(pl.col("counterparty_id") != owner).sort("counterparty_id", *_NAMES)
    columns = ("user_id", "display_name", "username")
    values = shown.to_dict(as_series=False).values()
    return pd.DataFrame(dict(zip(columns, values, strict=True))).reindex(columns=[*schema.PEOPLE]).astype(schema.PEOPLE)


def _list_persons(named: pl.DataFrame, matches: Mapping[str, Match], known: NamesOfPeople) -> pl.DataFrame | None:
    """Return the table of persons of `lazy_merge.concat_rows`; None if no name has a match."""
    import polars as pl

    from p2p_analytics.archive.scans.lazy_merge import NAMES, PERSON

    by_username = known.ids_by_username()
    rows: list[tuple[str | None, ...]] = []
    # An empty username is none, and of each key there is one row: a second one would double payments.
    for name, username in named.with_columns(pl.col(_NAMES[1]).fill_null("")).unique().rows():
        user_id = by_username.get(username.casefold()) if username else None
        if user_id is not None:
            rows.append((name, username, user_id, known.usernames.get(user_id), None, BY_USERNAME))
        elif match := matches.get(name):
            username_of = known.usernames.get(match.user_id) if match.user_id else None
            rows.append((name, username, match.user_id, username_of, match.name, match.matched))
    schema_of_persons = dict.fromkeys((*NAMES, *PERSON), pl.String)
    return pl.DataFrame(rows, schema=schema_of_persons, orient="row") if rows else None


def _sort(rows: pl.DataFrame) -> pl.DataFrame:
    """Return rows in the order of `sort_newest_first`."""
    import polars as pl

    length = pl.col("payment_id").str.len_bytes()
    order = rows.select(
        pl.arg_sort_by("date_created", length, "payment_id", descending=True, nulls_last=True)
    ).to_series()
    return rows if order.is_sorted() else rows[order]
