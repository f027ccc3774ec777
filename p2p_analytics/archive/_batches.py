"""What an archive stores of statements: the rows of each import, and the payments that the user has edited or merged.

The file of an import is never changed, and says by itself what it is, so that it can be read without the manifest.
"""

from __future__ import annotations

import io
import itertools
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

import msgspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
from msgspec.structs import replace

from p2p_analytics.archive._folder import ArchiveFolder
from p2p_analytics.archive._manifest import COUNTS, EDITS, ROWS, Batch, Entry, Manifest
from p2p_analytics.archive.tables import SCHEMAS, arrow_schema, empty_frame, metadata_of, tabulate
from p2p_analytics.forks import refuse_marked
from p2p_analytics.frames.merge_sources import sort_frame
from p2p_analytics.frames.schema import set_dtypes
from p2p_analytics.records import Me
from p2p_analytics.statements import Collected, FileInfo, Problem
from p2p_analytics.statements.rows import encode_rows, polars_schema

_SAYS: Final = b"p2p_analytics.import"
_HOLDER: Final = b"p2p_analytics.holder"
_NUMBER: Final = b"p2p_analytics.number"
_MERGED: Final = 0  # in place of the number of an import


class _Import(msgspec.Struct, frozen=True):
    """What the file of an import says beside its rows."""

    number: int
    imported_at: datetime
    counts: tuple[int, int, int, int]
    files: tuple[FileInfo, ...]
    problems: tuple[Problem, ...]


class Holder(msgspec.Struct, frozen=True):
    """The holder of an account, and the date of the data."""

    me: Me
    fetched_at: datetime


class Rows(NamedTuple):
    """What an archive stores of statements."""

    # A file that was imported again is there once, as it was read last; another one of its name has a number behind it.
    collected: Collected
    labels: tuple[dict[str, str], ...]  # of each import, the name of each of its files in ``collected``
    edits: pd.DataFrame  # PAYMENTS and STATEMENT of the payments that the user has edited or merged
    holder: Holder | None  # of the merged payments


def read_rows(folder: ArchiveFolder, manifest: Manifest) -> Rows:
    """Return what an archive stores of statements; raise a BrokenFileError if a file is broken."""
    refuse_marked()
    none = Collected(encode_rows(pl.DataFrame(schema=polars_schema())), (), ())
    rows = Rows(none, (), empty_frame(SCHEMAS[EDITS]), None)
    for batch in manifest.batches:
        body = folder.read_content(batch.rows)
        said = msgspec.json.decode(metadata_of(folder.parse_content(batch.rows, body))[_SAYS], type=_Import)
        frame: Any = pl.read_parquet(io.BytesIO(body)).select(*polars_schema())
        rows = add_import(rows, Collected(encode_rows(frame.cast(polars_schema())), said.files, said.problems))
    edits = [batch.edits for batch in manifest.batches if batch.edits]
    if manifest.edits is not None:
        rows = rows._replace(holder=read_holder(folder.open_file(manifest.edits)))
        edits.append(manifest.edits)
    for entry in edits:
        rows = add_edits(rows, folder.read_frame(entry))
    return rows


def add_edits(rows: Rows, edits: pd.DataFrame) -> Rows:
    """Return stored rows with further edits; each value is later than earlier ones of the same payment."""
    if edits.empty or rows.edits.empty:
        return rows._replace(edits=rows.edits if edits.empty else edits)
    joined = pd.concat([edits, rows.edits], ignore_index=True).groupby("payment_id", sort=False, as_index=False).first()
    return rows._replace(edits=set_dtypes(joined.reindex(columns=edits.columns), edits.dtypes.to_dict()))


def add_import(rows: Rows, given: Collected) -> Rows:
    """Return stored rows with the rows of a further import; of each content, a line counts as it was read last.

    A file keeps its account until it is imported with another one.
    """
    before = rows.collected
    accounts = {info.digest: info.account for info in before.files}
    files = tuple(replace(info, account=info.account or accounts.get(info.digest)) for info in given.files)
    given = given._replace(files=files)
    digests = {info.file: info.digest for info in before.files}
    known = {(name, digests[label]): label for labels in rows.labels for name, label in labels.items()}
    labels: dict[str, str] = {}
    taken = set(digests)
    for info in given.files:
        label = known.get((info.file, info.digest)) if info.digest else None
        names = itertools.chain([info.file], (f"{info.file} ({number})" for number in itertools.count(2)))
        labels[info.file] = label or next(name for name in names if name not in taken)
        taken.add(labels[info.file])
    own = [_relabel(given, labels)]
    read_again = {info.digest: info.file for info in given.files if info.digest}
    again = {label: read_again[digest] for label, digest in digests.items() if digest in read_again}
    own += [_relabel(given, {name: label}) for label, name in again.items() if label not in labels.values()]
    earlier = before.rows
    if again:
        earlier = earlier.join(pl.concat([each.rows for each in own]), on=["file", "line"], how="anti")
    joined = Collected(
        pl.concat([earlier, *(each.rows for each in own)]),
        (*(info for info in before.files if info.file not in again), *(info for each in own for info in each.files)),
        (
            *(each for each in before.problems if each.file not in again),
            *(one for each in own for one in each.problems),
        ),
    )
    return rows._replace(collected=joined, labels=(*rows.labels, labels))


def _relabel(given: Collected, labels: dict[str, str]) -> Collected:
    """Return the files that have a label, with their labels as names."""
    rows, file = given.rows, pl.col("file").cast(pl.String)
    if len(labels) < len(given.files):
        rows = rows.filter(file.is_in(list(labels)))
    if any(name != label for name, label in labels.items()):
        rows = rows.with_columns(file.replace(labels).cast(rows["file"].dtype).alias("file"))
    return Collected(
        rows,
        tuple(replace(info, file=labels[info.file]) for info in given.files if info.file in labels),
        tuple(each._replace(file=labels[each.file]) for each in given.problems if each.file in labels),
    )


def write_import(
    folder: ArchiveFolder, given: Collected, account: str, number: int, counts: tuple[int, int, int, int]
) -> Batch:
    """Write the rows of an import to a new file, and return its entry in the manifest."""
    files = {info.file for info in given.files}
    problems = tuple(problem for problem in given.problems if problem.file in files)
    says = _Import(number, datetime.now(UTC), counts, given.files, problems)
    columns = arrow_schema(ROWS)
    plain = given.rows.with_columns(pl.col(pl.Categorical).cast(pl.String))
    table = pa.table({name: plain[name].to_arrow(compat_level=pl.CompatLevel.oldest()) for name in columns.names})
    entry = folder.write(ROWS, table.cast(columns), account, metadata={_SAYS: msgspec.json.encode(says)})
    return _describe(says, entry)


def recover_statements(folder: ArchiveFolder, *, set_aside: bool = True) -> Manifest:
    """Return a manifest of the statements in readable files, in place of a lost manifest; others may be set aside."""
    batches: dict[int, Batch] = {}
    edits: dict[int, list[tuple[int, int, Entry]]] = {}
    for entry, file, changed in folder.recover(ROWS, EDITS, set_aside=set_aside):
        if entry.kind == ROWS:
            said = msgspec.json.decode(metadata_of(file)[_SAYS], type=_Import)
            batches.setdefault(said.number, _describe(said, entry))
        else:
            edits.setdefault(int(metadata_of(file)[_NUMBER]), []).append((entry.rows, changed, entry))
    # A merge writes the rows of the merges before too, and the file of the previous one is there until the next.
    last = {number: max(found, key=lambda each: each[:2])[2] for number, found in edits.items()}
    imports = [replace(batches[number], edits=last.get(number)) for number in sorted(batches)]
    return Manifest(batches=tuple(imports), edits=last.get(_MERGED))


def write_edits(folder: ArchiveFolder, edits: pd.DataFrame, holder: Holder, number: int = _MERGED) -> Entry:
    """Write the payments that the user has edited before the import of a number, or merged."""
    says = {**encode_holder(holder), _NUMBER: str(number).encode()}
    return folder.write(EDITS, tabulate(EDITS, sort_frame(edits)), str(holder.me.user.id), metadata=says)


def encode_holder(holder: Holder) -> dict[bytes, bytes]:
    """Return a holder as a file states it beside its rows."""
    return {_HOLDER: msgspec.json.encode(holder)}


def read_holder(file: pq.ParquetFile) -> Holder:
    """Return the holder that a file states."""
    return msgspec.json.decode(metadata_of(file)[_HOLDER], type=Holder)


def _describe(said: _Import, entry: Entry) -> Batch:
    files = tuple(info.file for info in said.files)
    counts: dict[str, Any] = dict(zip(COUNTS, said.counts, strict=True))
    return Batch(number=said.number, imported_at=said.imported_at, files=files, rows=entry, **counts)
