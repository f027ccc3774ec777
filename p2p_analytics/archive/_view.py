"""The view of an archive: payments, problems, balances and people, derived from what it stores.

It is a pure function of the rows of all imports, the user's edits, people.csv and the service's payments. Its tables
are cached in files under the digest of these inputs, and may be deleted at any time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pandas as pd
import polars as pl
from msgspec.structs import replace

from p2p_analytics.archive._batches import Holder, Rows, encode_holder, read_holder, read_rows
from p2p_analytics.archive._folder import PEOPLE_FILE, ArchiveFolder
from p2p_analytics.archive._manifest import Manifest
from p2p_analytics.archive._people import (
    BY_USERNAME,
    Fault,
    Match,
    NamesOfPeople,
    PeopleFile,
    match_names,
    read_aliases,
)
from p2p_analytics.archive.tables import MATCHED, SCHEMAS, empty_frame, tabulate
from p2p_analytics.errors import ArchiveError, ConfigurationError
from p2p_analytics.forks import refuse_marked
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import MICROSECONDS, frame_of, frame_of_polars, is_among, to_polars
from p2p_analytics.frames.merge_sources import (
    is_decided,
    lay_over,
    merge_sources,
    refuse_rows,
    rename_account,
    sort_frame,
)
from p2p_analytics.frames.own_money import is_bank_or_card
from p2p_analytics.frames.people import merge_people, people_frame
from p2p_analytics.frames.row_currencies import fill_codes
from p2p_analytics.frames.schema import set_dtypes
from p2p_analytics.records import Me, User
from p2p_analytics.statements import (
    RECONCILIATION,
    SERVICE,
    OtherRow,
    Problem,
    derive,
    find_end,
    frame_problems,
    strip_label,
)
from p2p_analytics.statements import View as StatementView
from p2p_analytics.vocabulary import Action, Status

# What statements are compared with, of the payments that the service has listed.
LISTED: Final = (
    "payment_id", "status", "amount_cents", "direction", "currency", "date_created", "date_completed", "flow_cents",
    "source", "counterparty_id",
)  # fmt: skip
# The same payment in another file is not another payment, and the holder has the names in the archive.
NOT_COMPARED: Final = frozenset({
    "payment_id", "file", "line", "account_id", "actor_id", "actor_username", "target_user_id", "target_user_username",
})  # fmt: skip
PEOPLE_LINE: Final = "people_line"  # the code of a line of people.csv that is left out
_FEW_ROWS: Final = 10_000  # payments of a view that an import writes at once
_VERSION: Final = b"2"  # of the derivation: another one derives again
_COLUMNS: Final = {**schema.PAYMENTS, **schema.STATEMENT}
_MERGED: Final = {**_COLUMNS, MATCHED: schema.TEXT}
_TABLES: Final = ("payments", "problems", "people", "reconciliation")
_NAMES: Final = ("counterparty_name", "counterparty_username")
_IS_PAYMENT: Final = pl.col("kind").fill_null(schema.KIND_PAYMENT) == schema.KIND_PAYMENT
_PERSON: Final = ("person_id", "person_username", "person_name", MATCHED)


class Statements(NamedTuple):
    """What the statements of an archive say of its account, before it is united with the service's payments."""

    accounts: Collection[str]  # of the rows
    unnamed: Collection[str]  # the accounts that are only a service's name
    me: Me  # the holder: as the service describes the user, else as the files do
    fetched_at: datetime
    listed: pd.DataFrame  # columns of the payments that the service has listed
    payments: pd.DataFrame  # PAYMENTS and STATEMENT, with the id and username of the holder, without refused rows
    refused: pd.DataFrame  # the rows that contradict what the service says of a payment
    problems: pd.DataFrame
    view: StatementView  # what follows from the rows of the files alone


class Names(NamedTuple):
    """Names in statements: payments by name, matches, known names, PEOPLE, and unusable lines of people.csv."""

    counts: Mapping[str, int]
    matches: Mapping[str, Match]
    known: NamesOfPeople
    people: pd.DataFrame
    persons: pl.DataFrame  # the person of each pair of a name and a username that has a match
    faults: Sequence[Fault] = ()


class View(NamedTuple):
    """The tables of an archive with statements, and its holder."""

    me: Me
    fetched_at: datetime
    payments: pd.DataFrame
    problems: pd.DataFrame
    reconciliation: pd.DataFrame
    people: pd.DataFrame


def read_view(folder: ArchiveFolder, manifest: Manifest) -> View:
    """Return the view of an archive; with statements, from its cache if that is of the present inputs."""
    if (service := manifest.service) and not manifest.has_statements:
        payments, none = folder.read_payments(service), empty_frame(RECONCILIATION)
        problems, people = folder.read_frame(service.problems), folder.read_frame(service.people)
        return View(service.me, service.fetched_at, payments, problems, none, people)
    refuse_marked()
    key = find_key(folder, manifest)
    cached = {kind: found[1] for kind in _TABLES if (found := folder.find_cached(f"view_{kind}", key))}
    if len(cached) == len(_TABLES):
        holder = read_holder(cached["payments"])
        names = {kind: [name for name in SCHEMAS[f"view_{kind}"] if name not in MICROSECONDS] for kind in _TABLES}
        frames = {kind: frame_of(file.read(columns=names[kind])) for kind, file in cached.items()}
        return View(holder.me, holder.fetched_at, **frames)
    view = derive_view(folder, manifest, derive_statements(folder, manifest, read_rows(folder, manifest)))
    if find_key(folder, manifest) == key:  # the user may change people.csv at any time
        with contextlib.suppress(OSError, ConfigurationError):  # a folder that cannot be written is read all the same
            _write_tables(folder, key, view, _TABLES)
    return view


def find_view_file(folder: ArchiveFolder, manifest: Manifest) -> Path | None:
    """Return the file with the payments of a view, which is written if it is missing; None if it cannot be written."""
    key = find_key(folder, manifest)
    found = folder.find_cached("view_payments", key)
    if found is None:
        read_view(folder, manifest)
        found = folder.find_cached("view_payments", key)
    return found[0] if found else None


def read_outline(folder: ArchiveFolder, manifest: Manifest) -> tuple[pl.DataFrame, pd.DataFrame]:
    """Return the outline of the payments of an archive and its problems, cached if they are of the present inputs."""
    key = find_key(folder, manifest)
    payments, problems = (folder.find_cached(kind, key) for kind in ("view_outline", "view_problems"))
    if payments and problems:
        return pl.DataFrame(pl.from_arrow(payments[1].read())), frame_of(problems[1].read())
    if manifest.is_empty:
        return pl.DataFrame(schema={"payment_id": pl.String, "digest": pl.Int64}), empty_frame(schema.PROBLEMS)
    view = read_view(folder, manifest)
    return outline(view.payments), view.problems


def outline(payments: pd.DataFrame) -> pl.DataFrame:
    """Return ``payment_id``, and as ``digest`` one of the compared columns of each payment."""
    compared = [name for name in _COLUMNS if name not in NOT_COMPARED]
    digests = to_polars(complete_columns(payments)[compared]).hash_rows()
    return to_polars(payments[["payment_id"]]).with_columns(digest=digests.reinterpret(signed=True))


def complete_columns(payments: pd.DataFrame) -> pd.DataFrame:
    """Return the columns PAYMENTS and STATEMENT of payments; a history of the service has no STATEMENT."""
    return set_dtypes(payments.reindex(columns=[*_COLUMNS]), _COLUMNS)


def write_outline(folder: ArchiveFolder, key: str, view: View, payments: pl.DataFrame) -> None:
    """Write the outline of a view as files that are read until one of its inputs changes, and all of a small view."""
    folder.write("view_outline", payments.to_arrow(), str(view.me.user.id), key=key)
    _write_tables(folder, key, view, _TABLES if len(view.payments) <= _FEW_ROWS else ["problems"])


def _write_tables(folder: ArchiveFolder, key: str, view: View, kinds: Sequence[str]) -> None:
    holder = encode_holder(Holder(view.me, view.fetched_at))
    for name, kind in ((name, f"view_{name}") for name in kinds):
        folder.write(kind, tabulate(kind, getattr(view, name)), str(view.me.user.id), metadata=holder, key=key)


def find_key(folder: ArchiveFolder, manifest: Manifest) -> str:
    """Return the digest of everything that a view is derived from."""
    rows = [(batch.rows, batch.edits) for batch in manifest.batches]
    stored = msgspec.json.encode((manifest.service, rows, manifest.edits, manifest.problems))
    people = folder.read_bytes(PEOPLE_FILE)
    parts = (_VERSION, stored) if people is None else (_VERSION, stored, people)  # an empty file is not usable
    return sha256(b"\0".join(parts)).hexdigest()[:32]


def derive_statements(folder: ArchiveFolder, manifest: Manifest, rows: Rows, owner: User | None = None) -> Statements:
    """Return what the statements of an archive say of its account; the service is about to describe the owner."""
    refuse_marked()
    service = manifest.service
    columns = {name: schema.PAYMENTS[name] for name in LISTED}
    listed = folder.read_payments(service, columns) if service else empty_frame(columns)
    owner = service.me.user if service else owner
    collected, others = rows.collected, list[OtherRow]()
    if not listed.empty:  # payments of the service that are in no file as settled
        is_settled = pl.col("status").cast(pl.String) == Status.SETTLED.value
        known = collected.rows.filter(is_settled)["payment_id"].drop_nulls().unique()
        others = _find_moves(listed[~is_among(listed["payment_id"], pd.Series(known.to_list()))], SERVICE)
    view = derive(collected, owner, others)
    accounts, unnamed = list(view.holders), view.unnamed
    if len(view.holders) > 1:  # the service has another username for the user than older files
        own = str(service.me.user.username if service else next(iter(view.holders)))
        collected = collected._replace(files=tuple(replace(info, account=own) for info in collected.files))
        view = derive(collected, owner, others)
    if len(rows.edits) and len(view.reconciliation):
        # Merged rows that are in no file, which is known when the rows of files have their ids, nor listed.
        others_ids = [*view.ids["payment_id"].drop_nulls().unique(), *listed["payment_id"]]
        merged = rows.edits[~is_among(rows.edits["payment_id"], pd.Series(others_ids, dtype=schema.TEXT))]
        is_own = ~merged["funding_source"].fillna("").map(is_bank_or_card).astype(bool)
        if moves := _find_moves(merged[is_own], None):
            view = derive(collected, owner, [*others, *moves])
    me = service.me if service else _find_holder(view, rows)
    payments = rename_account(lay_over(view.payments, rows.edits), str(me.user.id), me.user.username)
    problems = frame_problems(view.problems)
    if len(rows.edits) and len(problems):  # a value that the user has edited has no problem
        is_edited = rows.edits.notna().assign(kind=is_decided(rows.edits))
        edited = {name: set(rows.edits.loc[is_edited[name], "payment_id"]) for name in rows.edits.columns}
        places = zip(problems["field"], problems["payment_id"], strict=True)
        problems = problems[[number not in edited.get(field, ()) for field, number in places]]
    kept, left_out = payments, payments.iloc[:0]
    if not listed.empty:
        kept, refused = refuse_rows(payments, listed)
        left_out = payments[~is_among(payments["payment_id"], kept["payment_id"])]
        problems = pd.concat([problems, refused], ignore_index=True).astype(dict(schema.PROBLEMS))
    problems = problems.drop_duplicates(ignore_index=True)
    if manifest.problems:
        merged = folder.read_frame(manifest.problems)
        in_files = pd.Series(view.ids["payment_id"].drop_nulls().unique().to_list(), dtype=schema.TEXT)
        problems = _add_problems(problems, merged[~is_among(merged["payment_id"], in_files)])
    merged_at = [rows.holder.fetched_at] if rows.holder else []
    fetched_at = service.fetched_at if service else find_end(view.files, payments, *merged_at)
    return Statements(accounts, unnamed, me, fetched_at, listed, kept, left_out, problems, view)


def derive_view(folder: ArchiveFolder, manifest: Manifest, statements: Statements) -> View:
    """Return the view of an archive: what its statements say, united with the service's payments."""
    service, account = manifest.service, str(statements.me.user.id)
    names = match_people(folder, manifest, statements)
    listed = empty_frame(schema.PAYMENTS) if service is None else folder.read_payments(service)
    stated = _describe_people(statements.payments, listed["payment_id"], names.persons, account)
    united = merge_sources(listed, stated) if len(listed) else sort_frame(stated)
    payments = set_dtypes(united.reindex(columns=[*_MERGED]), _MERGED)
    parts = [folder.read_frame(service.problems)] if service else []
    parts.append(statements.problems)
    if names.faults:
        faults = [Problem(PEOPLE_LINE, PEOPLE_FILE, each.line or None, field="person") for each in names.faults]
        sentences = [f"the line is left out: {each.reason}" if each.line else each.reason for each in names.faults]
        parts.append(frame_problems(faults).assign(problem=pd.array(sentences, dtype=schema.TEXT)))
    problems = pd.concat(parts, ignore_index=True).astype(dict(schema.PROBLEMS)) if len(parts) > 1 else parts[0]
    reconciliation = statements.view.reconciliation.assign(account=account).astype({"account": schema.TEXT})
    return View(statements.me, statements.fetched_at, payments, problems, reconciliation, names.people)


def match_people(folder: ArchiveFolder, manifest: Manifest, statements: Statements) -> Names:
    """Return the names of the payments that only statements know, with their people."""
    service, me = manifest.service, statements.me
    people = people_frame([me.user]) if service is None else folder.read_frame(service.people)
    names = ["payment_id", "kind", "counterparty_id", *_NAMES]
    stated = to_polars(statements.payments[names])
    listed = to_polars(statements.listed[["payment_id", "counterparty_id"]])
    both = stated.join(listed.rename({"counterparty_id": "person"}), on="payment_id")
    only = stated.join(both, on="payment_id", how="anti")
    name = "counterparty_name"
    seen, shown = (
        rows.drop_nulls([name, number]).group_by(name, number).len().sort(name, number).rows()
        for rows, number in ((both, "person"), (only, "counterparty_id"))
    )
    shown_ids = only.filter(pl.col("counterparty_id") != str(me.user.id)).select("counterparty_id", *_NAMES).unique()
    if len(shown_ids):
        rows = shown_ids.sort("counterparty_id", *_NAMES).rows()
        frame = pd.DataFrame(rows, columns=["user_id", "display_name", "username"])
        people = merge_people([people, frame.reindex(columns=[*schema.PEOPLE]).astype(schema.PEOPLE)])
    named = only.filter(_IS_PAYMENT, pl.col("counterparty_id").is_null(), pl.col(name).is_not_null()).select(_NAMES)
    counts = dict(named.group_by(name).len().rows())
    known = NamesOfPeople(people, seen, shown)
    try:
        lines, faults = read_file(folder).lines, []
    except ArchiveError as error:  # the payments can be shown without the file
        lines, faults = (), [Fault(0, str(error))]
    matches, wrong = match_names(counts, known, lines, str(folder.path / PEOPLE_FILE), me.user)
    persons: list[tuple[str | None, ...]] = []
    # An empty username is none, and of each pair there is one row: a second one would double payments.
    for alias, username in named.with_columns(pl.col(_NAMES[1]).fill_null("")).unique().rows():
        user_id = known.ids_by_username.get(username.casefold()) if username else None
        if user_id is not None:
            persons.append((alias, username, user_id, known.usernames.get(user_id), None, BY_USERNAME))
        elif match := matches.get(alias):
            username_of = known.usernames.get(match.user_id) if match.user_id else None
            persons.append((alias, username, match.user_id, username_of, match.name, match.matched))
    table = pl.DataFrame(persons, schema=dict.fromkeys((*_NAMES, *_PERSON), pl.String), orient="row")
    return Names(counts, matches, known, people, table, [*faults, *wrong])


def read_file(folder: ArchiveFolder) -> PeopleFile:
    """Return the content of the user's file of people; no lines without the file."""
    body = folder.read_bytes(PEOPLE_FILE)
    return PeopleFile() if body is None else read_aliases(body, str(folder.path / PEOPLE_FILE))


def _add_problems(problems: pd.DataFrame, merged: pd.DataFrame) -> pd.DataFrame:
    """Return problems of statements and merged histories, each once; an imported file has another label."""

    def list_keys(frame: pd.DataFrame) -> list[tuple[Any, ...]]:
        named = {name: frame[name].map(strip_label, na_action="ignore") for name in ("file", "other_file")}
        columns = frame.drop(columns="problem").assign(**named).astype(object)  # the sentence quotes the other file
        return list(columns.where(columns.notna(), None).itertuples(index=False, name=None))

    known = set(list_keys(problems))
    is_new = [key not in known for key in list_keys(merged)]
    united = pd.concat([problems, merged.loc[is_new]], ignore_index=True)
    return united.astype(dict(schema.PROBLEMS)).drop_duplicates(ignore_index=True)


def select_stated(payments: pd.DataFrame) -> pd.DataFrame:
    """Return what statements say of the payments of a history: without other people's ids and usernames.

    A payment that the service lists, too, is there with the values of both.
    """
    is_own = payments["source"] == schema.SOURCE_STATEMENT
    is_shared = ~is_own & (payments["file"].notna() if "file" in payments else False)
    stated = payments[is_own | is_shared]
    is_matched = stated[MATCHED].notna() if MATCHED in stated else pd.Series(data=False, index=stated.index)
    names_other = is_matched | is_shared[stated.index]
    columns: dict[str, pd.Series[Any]] = {}
    for side in ("actor", "target_user", "counterparty"):
        is_other = names_other & (stated[f"{side}_id"] != stated["account_id"])
        columns |= {f"{side}_{name}": stated[f"{side}_{name}"].mask(is_other) for name in ("id", "username")}
    # The actor of a payment sends the money, the actor of a charge receives it.
    is_actor = (stated["direction"] == "in") == (stated["action"] == Action.CHARGE.value)
    in_file = stated["target_user_display_name"].where(is_actor, stated["actor_display_name"])
    name = stated["counterparty_name"].mask(is_matched & in_file.notna(), in_file)
    return stated.assign(**columns, counterparty_name=name, source=schema.SOURCE_STATEMENT)


def _find_holder(view: StatementView, rows: Rows) -> Me:
    """Return the holder of an archive that the service has not described."""
    if view.holders:
        holder = next(iter(view.holders.values()))
        user = replace(holder.user, id=str(holder.user.id).strip().removeprefix("@"))
        end = view.files["period_end"].max()
        if rows.holder and (pd.isna(end) or rows.holder.fetched_at > end):  # the merged rows are the latest
            return Me(user=user, balance_cents=rows.holder.me.balance_cents)
        return replace(holder, user=user)
    return rows.holder.me if rows.holder else Me(user=User(id="unknown"))


def _find_moves(payments: pd.DataFrame, service: str | None) -> list[OtherRow]:
    """Return the settled ones of payments as rows that moved the balance of a service, if it is known."""
    own = payments[payments["status"] == Status.SETTLED.value]
    at, codes = own["date_completed"].fillna(own["date_created"]), fill_codes(own)
    moved = own["flow_cents"].astype(object).where(own["flow_cents"].notna(), None)
    return [
        OtherRow(instant.to_pydatetime(), cents, code, service)
        for instant, cents, code in zip(at, moved, codes, strict=True)
        if not pd.isna(instant) and cents != 0
    ]


def _describe_people(payments: pd.DataFrame, listed: pd.Series[str], persons: pl.DataFrame, owner: str) -> pd.DataFrame:
    """Return payments of statements with the people of their names, except for payments that the service lists."""
    if persons.is_empty():
        return payments.assign(**{MATCHED: pd.Series(index=payments.index, dtype=schema.TEXT)})
    rows = to_polars(payments).with_columns(is_listed=pl.Series(is_among(payments["payment_id"], listed)))
    is_named = _IS_PAYMENT & ~pl.col("is_listed") & pl.col("counterparty_id").is_null()
    keys = [f"key_{name}" for name in _NAMES]
    keyed = rows.with_columns(
        pl.when(is_named & pl.col(_NAMES[0]).is_not_null()).then(pl.col(name).fill_null("")).alias(key)
        for name, key in zip(_NAMES, keys, strict=True)
    )
    found = keyed.join(persons, left_on=keys, right_on=list(_NAMES), how="left", maintain_order="left")
    number, username = pl.col("person_id"), pl.col("person_username")
    columns = {
        "counterparty_id": pl.coalesce("counterparty_id", number),
        "counterparty_username": pl.coalesce(username, "counterparty_username"),
        "counterparty_name": pl.coalesce("person_name", "counterparty_name"),
    }
    for side, other in (("actor", "target_user"), ("target_user", "actor")):
        is_person = (pl.col(f"{other}_id") == owner) & number.is_not_null()
        for name, value in (("id", number), ("username", pl.coalesce(username, f"{side}_username"))):
            columns[f"{side}_{name}"] = pl.when(is_person).then(value).otherwise(f"{side}_{name}")
    return frame_of_polars(found.with_columns(**columns).select(*_MERGED), _MERGED)
