"""Import of statements into an archive, and its undo. The plan of an import is the difference of two views."""

from __future__ import annotations

import contextlib
import logging
import shlex
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import pandas as pd
import polars as pl
from msgspec.structs import replace

from p2p_analytics import settings
from p2p_analytics.archive import _batches, _view
from p2p_analytics.archive._batches import Rows
from p2p_analytics.archive._folder import ArchiveFolder
from p2p_analytics.archive._manifest import COUNTS, NAME, Batch, BrokenFileError, Manifest
from p2p_analytics.archive._view import NOT_COMPARED, View, complete_columns, find_key, outline, read_view
from p2p_analytics.display import clean_line, join_first
from p2p_analytics.errors import ArchiveError
from p2p_analytics.files import sync_folder
from p2p_analytics.frames.arrow import frame_of_polars, is_among, to_polars
from p2p_analytics.frames.merge_sources import CONTRADICTS
from p2p_analytics.frames.schema import INSTANT, KIND_PAYMENT, PAYMENTS, PROBLEMS, STATEMENT, TEXT, WHOLE
from p2p_analytics.handles import normalize_account
from p2p_analytics.privacy import Mask
from p2p_analytics.statements import SERVICE, Collected, OtherFile, Statements, find_common_handle, list_other_accounts

log = logging.getLogger(__name__)

_IMPORTS: Final = {
    "number": "int64", "imported_at": INSTANT, "files": TEXT, **dict.fromkeys(COUNTS, "int64"), "undoable": "bool",
}  # fmt: skip
_KEY: Final = "payment_id"
# A row without one of these could not be read: a statement that has it changes the row.
_NEVER_EMPTY: Final = ("status", "amount_cents", "flow_cents", "date_created")
_DETAILS: Final = {"file": TEXT, "line": WHOLE, _KEY: TEXT, "outcome": TEXT, "fields": TEXT}
_KINDS: Final = {"kind": TEXT, **dict.fromkeys(COUNTS, WHOLE)}
_SHOWN: Final = [_KEY, "file", "line", "kind"]


class ImportPlan(NamedTuple):
    """Result of an import, or of its dry run: the difference of the archive's payments before and after it.

    Each transaction of the statements is in exactly one of the first four counts, and so are transactions of earlier
    imports that it changes.

    Attributes
    ----------
    new, known : int
        Transactions that the archive did not hold, and that it held already; further values, such as a fee, are added.
    changed : int
        Transactions that it held with another value, such as pending payments that are settled now, or without an
        amount, date or status, which could not be read; also refunds of earlier imports, if the statements say now
        whether they come from a person or a merchant.
    refused : int
        Transactions that contradict the service's amount, currency or direction of the payment.
    details : DataFrame
        One row per changed, refused or removed transaction, by file and line: ``file``, ``line``, ``payment_id``,
        ``outcome`` ("changed", "refused" or "removed") and ``fields``, the columns that differ, such as
        "status, fee_cents".
    kinds : DataFrame
        The counts by kind, the most frequent first, after "payment": ``kind``, ``new``, ``known``, ``changed`` and
        ``refused``.
    problems : DataFrame
        PROBLEMS that the archive lists after the import: problems of the given files, and others that it did not list
        before, such as a copy of a file of an earlier import.
    new_services : tuple of str
        The services, such as "cash_app", without earlier payments in the archive, if it had others or if the
        statements are of several; "statement" is the service of this package.
    other_accounts : tuple of OtherFile
        The files that name another account than the one with which the statements were read: ``file``, ``account``
        and ``transactions``, the number of its transactions that count for the archive's account.
    removed : int
        Number of transactions of earlier files that a newer snapshot of their group, or the file as it was read again,
        does not have any more.
    payments : DataFrame
        PAYMENTS and STATEMENT of the new transactions, newest first.
    """

    new: int
    known: int
    changed: int
    refused: int
    details: pd.DataFrame
    kinds: pd.DataFrame
    problems: pd.DataFrame
    payments: pd.DataFrame
    new_services: tuple[str, ...] = ()
    other_accounts: tuple[OtherFile, ...] = ()
    removed: int = 0


class UndoPlan(NamedTuple):
    """What an undo takes back: the last import, its files and counts, and the transactions that go with it.

    Attributes
    ----------
    number, files : int and tuple of str
        The number of the import, and the names of its files.
    new, changed : int
        The counts of its `ImportPlan`.
    payments : DataFrame
        PAYMENTS and STATEMENT of the transactions that the archive does not have without it, newest first.
    restored : int
        Number of transactions that the import has removed.
    """

    number: int
    files: tuple[str, ...]
    new: int
    changed: int
    payments: pd.DataFrame
    restored: int


class Planned(NamedTuple):
    """An import before it is written: the plan, the view after it with its outline, and the rows to store."""

    plan: ImportPlan
    view: View
    outline: pl.DataFrame
    manifest: Manifest
    key: str
    given: Collected
    edits: pd.DataFrame


def plan_import(folder: ArchiveFolder, statements: Statements, *, repair: bool) -> Planned:
    """Return an import before it is written; this changes nothing."""
    return _plan(folder, statements, _read_state(folder, repair=repair, set_aside=False))


def write_planned(folder: ArchiveFolder, statements: Statements, planned: Planned, *, repair: bool) -> ImportPlan:
    """Add statements to an archive as a batch that can be undone; call it within the lock.

    New files are written first and then the manifest, so a crash leaves the old state or the new one.
    """
    state = _read_state(folder, repair=repair, set_aside=True)
    if (state, find_key(folder, state)) != (planned.manifest, planned.key):  # it has changed meanwhile
        planned = _plan(folder, statements, state)
    try:
        listed = folder.read_manifest()
        broken = [entry.name for entry in (listed.entries if listed else ()) if entry not in state.entries]
    except BrokenFileError:
        broken = [NAME]
    for name in broken:
        words = "The file %s of the archive %s was broken and is set aside: import all your statement files again."
        log.warning(words, name, folder.path)
        folder.set_aside(name)
    if folder.read_bytes(NAME) is None:
        folder.commit(state, None)  # from here on, files without a manifest mean that it is lost
    plan, view, before = planned.plan, planned.view, planned.manifest
    account, number = str(view.me.user.id), before.next_number
    known = {path.name for path in folder.list_own_files()}
    try:
        counts = plan.new, plan.known, plan.changed, plan.refused
        batch = _batches.write_import(folder, planned.given, account, number, counts)
        if len(planned.edits):
            holder = _batches.Holder(view.me, view.fetched_at)
            batch = replace(batch, edits=_batches.write_edits(folder, planned.edits, holder, number))
        named = before.account if before.service else account
        after = replace(before, batches=(*before.batches, batch), account=named)
        key = find_key(folder, after)
        if find_key(folder, before) == planned.key:  # else people.csv has changed since the view was derived
            _view.write_outline(folder, key, view, planned.outline)
        folder.commit(after, before)
    except BaseException:  # as on a full disk: the files that were written are removed
        with contextlib.suppress(OSError):
            for path in [path for path in folder.list_own_files() if path.name not in known]:
                path.unlink()
        raise
    return plan


def plan_undo(folder: ArchiveFolder) -> UndoPlan:
    """Return what an undo would take back, and change nothing."""
    manifest, last = require_import(folder)
    left = replace(manifest, batches=manifest.batches[:-1])
    payments, restored = read_view(folder, manifest).payments, 0
    if not left.is_empty:
        kept = read_view(folder, left).payments[_KEY]
        restored = int((~is_among(kept, payments[_KEY])).sum())
        payments = payments[~is_among(payments[_KEY], kept)].reset_index(drop=True)
    mode = settings.privacy()
    files = last.files
    if mode:
        mask = Mask(strict=mode == settings.STRICT)
        files, payments = tuple(_mask_files(files, mask)), mask.frame(payments)
    return UndoPlan(last.number, files, last.new, last.changed, payments, restored)


def undo_import(folder: ArchiveFolder) -> Batch:
    """Take the last import back, and return it; call it within the lock."""
    manifest, last = require_import(folder)
    left = replace(manifest, batches=manifest.batches[:-1])
    if left.has_statements and left.service is None:  # a later file can have shown the handle of the account
        left = replace(left, account=str(read_view(folder, left).me.user.id))
    folder.commit(left, None)
    if left.is_empty:
        (folder.path / NAME).unlink()
        sync_folder(folder.path)
    return last


def require_import(folder: ArchiveFolder) -> tuple[Manifest, Batch]:
    """Return the manifest and the last import; raise an ArchiveError without an import to undo."""
    manifest = folder.read_manifest()
    if manifest is None or not manifest.batches:
        raise ArchiveError(f"{folder.path} holds no import to undo.")
    return manifest, manifest.batches[-1]


def frame_batches(batches: Sequence[Batch], *, undoable: bool) -> pd.DataFrame:
    """Return imports as `Archive.imports` describes them; the last one may be undoable."""
    mask = Mask() if settings.privacy() else None
    rows = [
        {
            "number": batch.number,
            "imported_at": batch.imported_at,
            "files": "; ".join(batch.files if mask is None else _mask_files(batch.files, mask)),
            **{name: getattr(batch, name) for name in COUNTS},
            "undoable": undoable and batch is batches[-1],
        }
        for batch in batches
    ]
    return pd.DataFrame(rows, columns=list(_IMPORTS)).astype(_IMPORTS)


def _mask_files(files: Sequence[str], mask: Mask) -> list[str]:
    """Return invented names of files, the same as in masked statements."""
    return mask.frame(pd.DataFrame({"file": list(files)}, dtype=TEXT))["file"].tolist()


def _read_state(folder: ArchiveFolder, *, repair: bool, set_aside: bool) -> Manifest:
    """Return the manifest before an import, without broken files to repair; a lost one is made of the other files."""
    try:
        manifest = folder.read_manifest()
    except BrokenFileError:
        if not folder.holds_statements_only():
            raise
        manifest = None
    if manifest is None:
        folder.require_no_payments()
        return _batches.recover_statements(folder, set_aside=set_aside)
    if manifest.problems and manifest.service is None and not folder.is_sound(manifest.problems):
        manifest = replace(manifest, problems=None)  # no sync can repair them
    broken = [entry for entry in manifest.statement_entries if not folder.is_sound(entry)]
    if not broken:
        return manifest
    if not repair:
        folder.open_file(broken[0])
    batches = [batch for batch in manifest.batches if batch.rows not in broken]
    batches = [replace(batch, edits=None) if batch.edits in broken else batch for batch in batches]
    edits = None if manifest.edits in broken else manifest.edits
    return replace(manifest, batches=tuple(batches), edits=edits)


def _plan(folder: ArchiveFolder, statements: Statements, manifest: Manifest) -> Planned:
    """Return an import before it is written."""
    if statements.private or settings.privacy():
        raise ArchiveError(
            "Statements in privacy mode hold invented names and amounts: import the original ones, with "
            f"{settings.PRIVACY_VARIABLE}=0."
        )
    payments = statements.payments
    if payments[_KEY].isna().any():
        raise ArchiveError("A payment without an id cannot be identified: leave it out of the statements.")
    repeated = payments.duplicated(["account_id", _KEY])
    if repeated.any():
        raise ArchiveError(
            f"The payment_id {payments.loc[repeated, _KEY].iloc[0]} is repeated: leave all of its rows out but one."
        )
    key = find_key(folder, manifest)  # before people.csv is read, which the user may change at any time
    given, edited = statements.collect()
    stored = _batches.read_rows(folder, manifest)
    rows = _batches.add_edits(_batches.add_import(stored, given), edited)
    after = _view.derive_statements(folder, manifest, rows)
    _require_account(folder, statements, manifest, after)
    view = _view.derive_view(folder, manifest, after)
    own = outline(view.payments)
    plan = _compare(folder, manifest, view, own, after, rows)
    services = {info.service for info in stored.collected.files} | ({SERVICE} if manifest.service else set())
    given_services = {info.service for info in given.files}
    new = sorted(given_services - services) if services or len(given_services) > 1 else ()
    return Planned(plan._replace(new_services=tuple(new)), view, own, manifest, key, given, edited)


def _require_account(
    folder: ArchiveFolder, statements: Statements, manifest: Manifest, after: _view.Statements
) -> None:
    """Raise an ArchiveError unless all rows, before and after an import, are of the archive's account."""
    service = manifest.service
    own = manifest.account if manifest.has_statements else None
    if service is not None:
        own = service.me.user.username or str(service.me.user.id)
    names = set(after.accounts)
    if not names or names & set(after.unnamed):
        raise ArchiveError(
            'The statements name no account: read them with yours, such as account="ada" (--account ada).'
        )
    if len(names) == 1 and (service is None or {*map(normalize_account, names)} == {normalize_account(own or "")}):
        return
    given = statements.accounts
    if len(given) > 1 or own is None:
        handle = find_common_handle(statements)
        advice = f"; if they are one account, read the files again with account={handle!r}" if handle else ""
        raise ArchiveError(
            f"The statements are of {len(given)} accounts ({clean_line(', '.join(given))}), and an archive holds one "
            f"account: import each into an archive of its own, as select_account() returns it{clean_line(advice)}."
        )
    holding, name = clean_line(own), clean_line(given[0])
    files = join_first(statements.files["file"].unique().tolist())
    raise ArchiveError(
        f"The statements ({files}) are of the account {name}, and {folder.path} is the archive of {holding}: name "
        f'another archive or, if the account is the same, read them with account="{holding}" '
        f"(--account {shlex.quote(holding)})."
    )


def _compare(  # noqa: PLR0913, PLR0917 - the archive before and after the import
    folder: ArchiveFolder, manifest: Manifest, view: View, own: pl.DataFrame, after: _view.Statements, rows: Rows
) -> ImportPlan:
    """Return the difference of the views before and after an import."""
    before, known_problems = _view.read_outline(folder, manifest)
    labels = list(rows.labels[-1].values())
    of_given = rows.collected.rows["file"].cast(pl.String).is_in(labels)
    given = after.view.ids.filter(of_given)[_KEY].drop_nulls().unique().implode()
    wrong = after.problems[after.problems["code"] == CONTRADICTS].groupby(_KEY)["field"].agg(", ".join)
    refused = to_polars(after.refused[_SHOWN].assign(fields=after.refused[_KEY].map(wrong).astype(TEXT)))
    refused = refused.filter(pl.col(_KEY).is_in(given))
    payments = to_polars(view.payments[_SHOWN]).with_columns(own["digest"])
    both = payments.join(before.rename({"digest": "before"}), on=_KEY, how="left", maintain_order="left")
    held = both.filter(pl.col("before").is_not_null()).join(refused, on=_KEY, how="anti")
    changed = _list_changes(folder, manifest, view, held.filter(pl.col("digest") != pl.col("before"))[_KEY])
    removed = view.payments.iloc[:0]
    if both["before"].count() < len(before):
        removed = _select_payments(read_view(folder, manifest), before.join(own, on=_KEY, how="anti")[_KEY])
    parts = {
        "new": both.filter(pl.col(_KEY).is_in(given), pl.col("before").is_null()),
        "known": held.filter(pl.col(_KEY).is_in(given)).join(changed, on=_KEY, how="anti"),
        "changed": changed,
        "refused": refused,
        "removed": to_polars(removed[_SHOWN]).with_columns(fields=pl.lit("")),
    }
    every = pl.concat([part.with_columns(outcome=pl.lit(name)) for name, part in parts.items()], how="diagonal")
    details = every.filter(~pl.col("outcome").is_in(["new", "known"]))
    details = details.sort("file", "line", _KEY, nulls_last=True, maintain_order=True)
    counted = every.filter(pl.col("outcome") != "removed").drop_nulls("kind").group_by("kind")
    kinds = counted.agg((pl.col("outcome") == name).sum().cast(pl.Int64).alias(name) for name in COUNTS)
    kinds = kinds.sort(pl.col("kind") != KIND_PAYMENT, -pl.sum_horizontal(COUNTS), "kind")
    known = view.problems.merge(known_problems.drop_duplicates(), how="left", on=[*PROBLEMS], indicator=True)
    is_of_file = view.problems[["file", "other_file"]].isin(labels).any(axis="columns")
    problems = view.problems[(known["_merge"] == "left_only") | is_of_file].reset_index(drop=True)
    numbers: dict[str, Any] = {name: len(parts[name]) for name in (*COUNTS, "removed")}
    return ImportPlan(
        **numbers,
        details=frame_of_polars(details, _DETAILS),
        kinds=frame_of_polars(kinds, _KINDS).astype(dict.fromkeys(COUNTS, "int64")),
        problems=problems,
        payments=_select_payments(view, parts["new"][_KEY]),
        other_accounts=list_other_accounts(problems, view.payments),
    )


def _list_changes(folder: ArchiveFolder, manifest: Manifest, view: View, ids: pl.Series) -> pl.DataFrame:
    """Return the payments of some ids that have another value than before, and the names of these columns."""
    if ids.is_empty():
        return to_polars(view.payments[_SHOWN].iloc[:0]).with_columns(fields=pl.lit(""))
    names = [name for name in (*PAYMENTS, *STATEMENT) if name not in NOT_COMPARED]
    before = read_view(folder, manifest)
    own, earlier = (to_polars(complete_columns(_select_payments(each, ids))) for each in (view, before))
    both = own.join(earlier, on=_KEY, how="inner", suffix="_before", maintain_order="left")
    values = {name: pl.col(f"{name}_before") for name in names}
    # A value that was not known before is not a change.
    is_known = {name: value.is_not_null() | (name in _NEVER_EMPTY) for name, value in values.items()}
    differs = {name: pl.col(name).ne_missing(values[name]) & is_known[name] for name in names}
    words = (pl.when(each).then(pl.lit(name)) for name, each in differs.items())
    fields = pl.concat_str(*words, separator=", ", ignore_nulls=True)
    return both.filter(pl.any_horizontal(*differs.values())).select(*_SHOWN, fields=fields)


def _select_payments(view: View, ids: pl.Series) -> pd.DataFrame:
    """Return the payments of some ids."""
    is_wanted = is_among(view.payments[_KEY], pd.Series(ids.to_list(), dtype=TEXT))
    return view.payments[is_wanted].reset_index(drop=True)
