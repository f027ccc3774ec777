"""Whatever happens to a file, reading gives the exact history or a typed error; only a complete reload replaces it."""

import functools
import hashlib
import json
import operator
import random
import shutil
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.archive import tables
from p2p_analytics.errors import ArchiveError, PaginationError
from p2p_analytics.files import atomic_file
from support.archives.payments_service import ids
from support.archives.statements import digests, read_manifest, write_manifest

MIDDLE, NEWEST = 2, -1  # of six files of payments


def find_file(archive, place: int) -> Path:
    """Return the path of a file of payments."""
    return archive.path / read_manifest(archive)["service"]["payments"][place]["name"]


@pytest.mark.parametrize(("place", "gone", "status"), [(MIDDLE, "24", "settled"), (NEWEST, "54", "pending")])
def test_one_payment_less_is_refused_until_a_refresh(service, payment, caplog, archive, place, gone, status):  # noqa: PLR0913, PLR0917 - fixtures and a case
    """Payments that are new, or of other files, make up for none; a refresh is the way out and counts the loss."""
    service.payments[gone]["status"] = status
    with service.client() as client:
        archive.sync(client, refresh=True)
        file = find_file(archive, place)
        file.write_bytes(b"broken")
        before = digests(archive.path)
        lost = service.payments.pop(gone)
        made = {f"new {day}": f"2025-06-0{day}T12:00:00" for day in (1, 2)}
        service.payments |= {key: payment(key, date_created=date) for key, date in made.items()}
        with pytest.raises(PaginationError, match=r"lists 9 of the 10 payments .*: try again .* refresh=True"):
            archive.sync(client, on_bad_record="report")
        assert digests(archive.path) == before
        service.payments[gone] = lost
        assert archive.sync(client).set_aside == (file.name,)
        assert ids(archive) == set(service.payments)
        file = find_file(archive, place)
        held = read_manifest(archive)["service"]["payments"][place]["rows"]
        file.write_bytes(b"broken")
        del service.payments[gone]
        assert archive.sync(client, refresh=True, on_bad_record="report").set_aside == (file.name,)
        assert f"lists {held - 1} of the {held} payments" in caplog.text
        assert ids(archive) == set(service.payments)
        assert archive.sync(client, on_bad_record="report").set_aside == ()


def test_merged_payments_that_the_service_does_not_list_are_not_dropped(service, archive, history_of, payment) -> None:
    """A file that holds them too is reloaded by a refresh alone."""
    with service.client() as client:
        archive.merge(history_of(payment("merged", date_created="2024-05-05T12:00:00")))
        find_file(archive, MIDDLE).write_bytes(b"broken")
        with pytest.raises(PaginationError, match=r"from 2024-05-01 before 2024-07-01 .* refresh=True"):
            archive.sync(client)
        archive.sync(client, refresh=True)
        assert ids(archive) == set(service.payments)


def replace_file(archive, kind: str, change) -> str:
    """Replace the newest file of a kind by another table, in a file with a valid digest, and return its name."""
    manifest = read_manifest(archive)
    found = manifest["service"][kind]
    entry = found[-1] if kind == "payments" else found
    sink = pa.BufferOutputStream()
    pq.write_table(change(pq.read_table(archive.path / entry["name"])), sink)
    body = sink.getvalue().to_pybytes()
    digest = hashlib.sha256(body).hexdigest()
    name = f"{entry['name'].rpartition('-')[0]}-{digest[:32]}.parquet"
    entry.update(name=name, size=len(body), sha256=digest)
    (archive.path / name).write_bytes(body)
    write_manifest(archive, manifest)
    return name


CHANGES = {
    "missing": lambda table, name: table.drop_columns(name),
    "other type": lambda table, name: table.set_column(
        table.column_names.index(name), name, pa.array([1.5] * table.num_rows, pa.float64())
    ),
    "no nulls": lambda table, name: pa.table(
        [pa.array([""] * table.num_rows), *table.drop_columns(name).columns],
        pa.schema([pa.field(name, pa.string(), nullable=False), *table.drop_columns(name).schema]),
    ),
    "one more": lambda table, name: table.append_column(f"{name}_more", table[name]),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("kind", ["payments", pytest.param("problems", marks=pytest.mark.full)])
def test_a_file_with_other_columns_is_named_and_loaded_again(service, archive, kind, change) -> None:
    """In a file with a valid digest: every reader names the file, and a sync or refresh replaces it."""
    column = list(tables.SCHEMAS[kind])[0 if change == "missing" else -1]
    with service.client() as client:
        expected = archive.history()
        name = replace_file(archive, kind, lambda table: CHANGES[change](table, column))
        readers = [archive.history, lambda: archive.merge(expected)]
        if kind == "payments":
            readers += [lambda: archive.scan("polars").collect(), lambda: archive.verify(client)]
        for read in readers:
            with pytest.raises(ArchiveError, match=rf"{name} is broken \(.* version wrote it, with .*\): sync"):
                read()
        assert archive.sync(client, refresh=change == "missing").set_aside == (name,)
        pd.testing.assert_frame_equal(archive.history().payments, expected.payments)


@pytest.mark.parametrize(
    ("kind", "content", "loads"),
    [
        ("payments", b"broken", "its payments again"),
        ("payments", None, "its payments again"),
        ("friends", b"broken", "the friends and all payments again"),
        ("people", b"broken", "all payments again, and the people with them, but not their earlier names"),
        ("problems", b"broken", "all payments again, and their problems with them"),
        ("manifest", b"broken", "all payments again"),
    ],
)
def test_the_error_says_what_a_sync_loads(service, archive, kind, content, loads) -> None:
    """A sync then does so: a table that is not split by date takes a load of everything."""
    expected = archive.history()
    broken = next(archive.path.glob(f"{kind}*"))
    broken.unlink() if content is None else broken.write_bytes(content)
    with pytest.raises(ArchiveError, match=rf"which sets it aside and loads {loads}\.$"):
        archive.history()
    with service.client() as client:
        changes = archive.sync(client)
    assert changes.set_aside == (broken.name,)
    assert (changes.loaded == 60) == (kind != "payments")  # a file of payments is loaded with the newest ones
    assert [path.read_bytes() for path in archive.path.glob(f"{broken.name}.corrupt-*")] == [content] * bool(content)
    for table in ("payments", "friends", "people", "problems"):
        pd.testing.assert_frame_equal(getattr(archive.history(), table), getattr(expected, table))


def test_files_that_others_are_writing_into_the_folder_stay(service, tmp_path) -> None:
    """A first sync during an export into the archive's folder removes nothing of the export."""
    archive = p2p.open_archive(tmp_path)
    with service.client() as client, atomic_file(tmp_path / "export.csv") as file:
        file.write(b"whole")
        archive.sync(client)
    assert (tmp_path / "export.csv").read_bytes() == b"whole"


# How many mutations a test makes.
def _count(few: int, full: int, soak: int) -> pytest.MarkDecorator:
    counts = [few, pytest.param(full, marks=pytest.mark.full_fuzz), pytest.param(soak, marks=pytest.mark.soak)]
    return pytest.mark.parametrize("mutations", counts)


def damage(data: bytes, chance: random.Random) -> bytes:
    """Return bytes as a disk, a crash or an editor may leave them."""
    at = chance.randrange(len(data))
    end = min(len(data), at + chance.randint(1, 64))
    kinds = {
        "flip": lambda: data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :],
        "zeros": lambda: data[:at] + bytes(end - at) + data[end:],
        "noise": lambda: data[:at] + chance.randbytes(end - at) + data[end:],
        "cut": lambda: data[:at],
        "lost": lambda: data[:at] + data[end:],
        "twice": lambda: data[:end] + data[at:],
        "more": lambda: data + chance.randbytes(end - at),
    }
    return kinds[chance.choice(["flip"] * 8 + list(kinds))]()


@_count(20, 170, 1_000)
def test_files_that_were_damaged_or_replaced(archive, mutations: int) -> None:
    """The manifest and any table: reading gives the exact history or an error; a scan refuses payments too."""
    chance = random.Random(11)  # noqa: S311 - no secret
    expected, files = archive.history(), sorted(path for path in archive.path.iterdir() if path.name != "lock")
    for number in range(mutations):
        file = chance.choice(files)
        whole = file.read_bytes()
        body = damage(whole, chance) if number % 20 else files[-1].read_bytes()
        file.write_bytes(body)
        try:
            found = archive.history()
        except ArchiveError as error:
            assert "\n" not in str(error)  # noqa: PT017 - whether it is raised depends on the damage
        else:
            assert body == whole
            for name in ("payments", "friends", "problems"):
                assert getattr(found, name).equals(getattr(expected, name))
        if file.name.startswith("payments") and body != whole:
            with pytest.raises(ArchiveError, match=file.name):
                archive.scan("polars")
        file.write_bytes(whole)


def edit(manifest, where: str, value):
    """Return a manifest with another value at a place; a function makes it of what the service has listed."""
    *above, last = (int(each) if each.lstrip("-").isdecimal() else each for each in where.split())
    functools.reduce(operator.getitem, above, manifest)[last] = value(manifest["service"]) if callable(value) else value
    return manifest


def make_imports(count: int = 1, **fields):
    """Return a function that makes imports of what the service has listed; without other fields, one is valid."""
    made = {"number": 1, "imported_at": "2024-06-01T12:00:00Z", "files": [], "new": 0, "known": 0, "changed": 0}

    def make(service) -> list[dict[str, object]]:
        rows = service["friends"] | {"name": service["friends"]["name"].replace("friends", "rows")}
        return [made | {"refused": 0, "rows": rows} | fields] * count

    return make


NAME = "service payments 0 name"
WRONG = {
    "no files": ("service payments", []),
    "a file twice": ("service payments", lambda it: [*it["payments"], it["payments"][-1]]),
    "files back to front": ("service payments", lambda it: it["payments"][::-1]),
    "friends among payments": ("service payments", lambda it: [*it["payments"], it["friends"]]),
    "payments as friends": ("service friends", lambda it: it["payments"][0]),
    "an unknown kind": (NAME, lambda it: "things-" + it["payments"][0]["name"].partition("-")[2]),
    "a file outside": (NAME, "../victim.parquet"),
    "a file outside, behind a good name": (NAME, lambda it: it["payments"][0]["name"] + "/../../v.parquet"),
    "a name with a line break": (NAME, lambda it: it["payments"][0]["name"] + "\n"),
    "a name with NUL": (NAME, "payments-first-\0.parquet"),
    "another digest than in the name": ("service payments 0 sha256", "0" * 64),
    "a naive instant": ("service fetched_at", "2024-06-01T12:00:00"),
    "a naive date of joining": ("service me user date_joined", "2020-01-01T00:00:00"),
    "negative rows": ("service payments 0 rows", -1),
    "another start": ("service payments -1 start", "2024-01-02"),
    "pending twice": ("service payments 0 pending", ["1", "1"]),
    "more pending than rows": ("service payments 0 pending", [str(number) for number in range(99)]),
    "no account": ("service me user id", None),
    "no owner": ("service me", None),
    "no format": ("format", None),
    "friends as edits": ("edits", lambda it: it["friends"]),
    "friends as problems": ("problems", lambda it: it["friends"]),
    "an import of friends": ("batches", lambda it: make_imports(rows=it["friends"])(it)),
    "the import 0": ("batches", make_imports(number=0)),
    "an import twice": ("batches", make_imports(2)),
    "a naive instant of an import": ("batches", make_imports(imported_at="2024-06-01T12:00:00")),
    "a negative count of an import": ("batches", make_imports(new=-1)),
}


@pytest.mark.parametrize(("where", "value"), WRONG.values(), ids=WRONG)
def test_a_manifest_that_contradicts_itself_is_refused(synced_folder, tmp_path, where, value) -> None:
    """One change each, under a digest that fits."""
    archive, whole = p2p.open_archive(tmp_path), p2p.open_archive(synced_folder)
    write_manifest(archive, edit(read_manifest(whole), "batches", make_imports()))
    assert len(archive.imports) == 1
    write_manifest(archive, edit(read_manifest(whole), where, value))
    with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(.*\): sync the archive"):
        archive.history()


def test_a_wrong_manifest_is_named(archive, history_of, payment) -> None:
    """With what to do, by each reader; also one without its digest, and one that misstates a file."""
    path, whole = archive.path / "manifest.json", read_manifest(archive)
    readers = [lambda: archive.since, lambda: archive.merge(history_of(payment("x"))), lambda: archive.scan("polars")]
    without_digest = json.dumps({name: value for name, value in whole.items() if name != "digest"})
    for text in (without_digest, "{}"):
        path.write_text(text)
        for read in (archive.history, *readers):
            with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(.*\): sync the archive"):
                read()
    for name, value in (("rows", whole["service"]["payments"][0]["rows"] - 1), ("size", 5)):
        write_manifest(archive, edit(whole, f"service payments 0 {name}", value))
        with pytest.raises(ArchiveError, match=r"payments-.* is broken \(.*\): sync the archive"):
            archive.history()


@_count(4, 40, 200)
def test_without_a_manifest_no_damaged_file_is_taken_for_whole(
    archive, synced_folder, history_of, payment, mutations: int
) -> None:
    """A file that does not match its name is set aside, and all other payments are restored exactly."""
    chance = random.Random(14)  # noqa: S311 - no secret
    expected = archive.history().payments.set_index("payment_id")
    for number in range(mutations):
        file = chance.choice(sorted(archive.path.glob("payments-*.parquet")))
        whole, lost = file.read_bytes(), set(pq.read_table(file)["payment_id"].to_pylist())
        while file.read_bytes() == whole:
            file.write_bytes(damage(whole, chance))
        (archive.path / "manifest.json").unlink()
        if number == 0:
            with pytest.raises(ArchiveError, match="another account"):
                archive.merge(history_of(payment("new"), account="9"))
        archive.merge(history_of(payment("new")))
        found = archive.history().payments.set_index("payment_id").drop("new")
        assert set(found.index) == set(expected.index) - lost
        assert found.equals(expected.loc[found.index])
        shutil.rmtree(archive.path)
        shutil.copytree(synced_folder, archive.path)
