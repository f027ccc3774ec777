"""Whatever happens to the manifest or to a Parquet file, reading gives the exact history or a typed error."""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import random
import shutil
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import p2p_analytics as p2p
from p2p_analytics.errors import ArchiveError, P2PAnalyticsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from p2p_analytics.archive import Archive

    Change = Callable[[dict[str, Any]], dict[str, Any]]

EXACT, REFUSED = "exact", "refused"


# How many mutations a test makes.
def _count(few: int, full: int, soak: int) -> pytest.MarkDecorator:
    counts = [few, pytest.param(full, marks=pytest.mark.full_fuzz), pytest.param(soak, marks=pytest.mark.soak)]
    return pytest.mark.parametrize("mutations", counts)


MANY = _count(50, 170, 1_000)
SOME = _count(10, 85, 500)
FEW = _count(5, 20, 120)
PAYMENTS = 40


def date_of(number: int) -> str:
    """Return the day of a payment of the archive."""
    return f"2024-{number % 12 + 1:02}-{number % 27 + 1:02}"


def holder(files: list[Path], day: str) -> Path:
    """Return the payment file of a day: the last one with no later date in its name, or "first"."""
    return max((file for file in files if file.name[9:19] <= day), key=lambda file: file.name[9:19], default=files[-1])


@pytest.fixture(autouse=True, scope="module")
def _small_files() -> Iterator[None]:
    """Fill a file with a few payments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("p2p_analytics.archive._service.MOST_ROWS", 10)
        patch.setattr("p2p_analytics.archive._service._USUAL_ROWS", 8)
        yield


@pytest.fixture(scope="module")
def filled_folder(tmp_path_factory, _small_files, history_of, payment) -> Path:
    """Return a folder with an archive of forty payments, beside a file of the user's that nothing may ever touch."""
    folder: Path = tmp_path_factory.mktemp("filled")
    filled = p2p.open_archive(folder / "archive")
    filled.merge(
        history_of(
            *(
                payment(
                    number,
                    date_created=f"{date_of(number)}T12:00:00",
                    status=("settled", "pending", "novel")[number % 3],
                )
                for number in range(PAYMENTS)
            ),
            friends=5,
        )
    )
    pq.write_table(pq.read_table(next(filled.path.glob("payments-*"))), folder / "victim.parquet")
    return folder


@pytest.fixture
def archive(filled_folder: Path, tmp_path: Path) -> Archive:
    """Return a copy of the archive, which the test may change."""
    shutil.copytree(filled_folder, tmp_path, dirs_exist_ok=True)
    return p2p.open_archive(tmp_path / "archive")


def outcome(read: Callable[[], p2p.History], expected: p2p.History) -> str:
    """Return whether reading gives the exact history, or an error of one sentence."""
    try:
        found = read()
    except ArchiveError as error:
        return "several sentences" if "\n" in str(error) else REFUSED
    same = (
        all(getattr(found, name).equals(getattr(expected, name)) for name in ("payments", "friends", "problems"))
        and found.me == expected.me
        and found.fetched_at == expected.fetched_at
    )
    return EXACT if same else "wrong"


# ---- by bits


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


# ---- by schema

VALUES = (
    None, True, -1, 0, 2**70, 1.5, "", "x", "\0", "x" * 5000, "../victim.parquet", "2024-05-01", "2024-05-01T12:00:00",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", [], {}, [None], ["1"], "\u202e",
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths to all members of a JSON value."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, member in members for deeper in places(member, (*path, key)))]


def reshape(manifest: Any, chance: random.Random) -> Any:
    """Return a manifest in which one member is gone, doubled, moved or another value."""
    manifest = copy.deepcopy(manifest)
    path = chance.choice([place for place in places(manifest) if place and place[0] != "digest"])
    parent = manifest
    for key in path[:-1]:
        parent = parent[key]
    kind = chance.choice(("other", "other", "gone", "doubled", "moved"))
    if kind == "other":
        parent[path[-1]] = chance.choice(VALUES)
    elif kind == "gone":
        del parent[path[-1]]
    elif isinstance(parent, list):
        parent.append(parent[path[-1]]) if kind == "doubled" else parent.reverse()
    else:
        other = chance.choice(list(parent))
        parent[path[-1]], parent[other] = parent[other], parent[path[-1]]
    return manifest


def sign(manifest: Any) -> bytes:
    """Return a manifest with the digest that belongs to it, as whoever knows the rule could write it."""
    body = json.dumps({key: value for key, value in manifest.items() if key != "digest"}, separators=(",", ":"))[:-1]
    return f'{body},"digest":"{hashlib.sha256(body.encode()).hexdigest()}"}}'.encode()


@MANY
def test_manifests_that_were_damaged_or_edited(archive, mutations: int) -> None:
    """Half of them by bits, half by schema."""
    chance = random.Random(11)  # noqa: S311 - no secret
    path, expected = archive.path / "manifest.json", archive.history()
    whole = path.read_bytes()
    found: Counter[str] = Counter()
    for number in range(mutations):
        body = damage(whole, chance) if number % 2 else json.dumps(reshape(json.loads(whole), chance)).encode()
        path.write_bytes(body)
        result = outcome(archive.history, expected)
        found[result] += 1
        assert result in {EXACT, REFUSED} if body != whole else EXACT, body
    assert found[REFUSED] > 0.9 * mutations


@SOME
@pytest.mark.parametrize("digest", [True, False], ids=["digest fits", "no digest"])
def test_manifests_that_are_wrong_and_look_right(archive, history_of, payment, digest, mutations: int) -> None:
    """Where the digest fits, or is not there, nothing but a typed error, and no file outside moves."""
    chance = random.Random(12)  # noqa: S311 - no secret
    path = archive.path / "manifest.json"
    whole = json.loads(path.read_bytes())
    files = {file.name: file.read_bytes() for file in archive.path.iterdir()}
    outside = archive.path.parent / "victim.parquet"
    kept = outside.read_bytes()
    new = history_of(payment("x"))
    for _ in range(mutations):
        edited = reshape(whole, chance)
        if digest:
            path.write_bytes(sign(edited))
        else:
            edited.pop("digest", None)
            path.write_bytes(json.dumps(edited).encode())
        for call in (
            archive.history,
            lambda: archive.scan("polars").collect(),
            lambda: archive.merge(new),
        ):
            with contextlib.suppress(P2PAnalyticsError):  # any other error fails the test
                call()
        assert outside.read_bytes() == kept
        for file in archive.path.iterdir():
            file.unlink()
        for name, content in files.items():
            (archive.path / name).write_bytes(content)


def of_service(change: Change) -> Change:
    """Return a change of a manifest that changes what it names of the service."""
    return lambda manifest: manifest | {"service": change(manifest["service"])}


def first(service: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the service's part with other fields for its first payment file."""
    return service | {"payments": [service["payments"][0] | fields, *service["payments"][1:]]}


def batch(manifest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return an import with a file of another kind in place of its rows."""
    counts = dict.fromkeys(("new", "known", "changed", "refused"), 0)
    rows = manifest["service"]["friends"]
    return {"number": 1, "imported_at": "2024-06-01T12:00:00Z", "files": [], "rows": rows, **counts, **fields}


SERVICE: dict[str, Change] = {
    "no files": lambda it: it | {"payments": []},
    "a file twice": lambda it: it | {"payments": [*it["payments"], it["payments"][-1]]},
    "files back to front": lambda it: it | {"payments": it["payments"][::-1]},
    "friends among payments": lambda it: it | {"payments": [*it["payments"], it["friends"]]},
    "payments as friends": lambda it: it | {"friends": it["payments"][0]},
    "an unknown kind": lambda it: first(it, name="things-" + it["payments"][0]["name"].partition("-")[2]),
    "a file outside": lambda it: first(it, name="../victim.parquet"),
    "a file outside, behind a good name": lambda it: first(it, name=it["payments"][0]["name"] + "/../../v.parquet"),
    "an absolute path": lambda it: first(it, name="/etc/hostname"),
    "a name with a line break": lambda it: first(it, name=it["payments"][0]["name"] + "\n"),
    "a name with NUL": lambda it: first(it, name="payments-first-\0.parquet"),
    "an overlong name": lambda it: first(it, name="payments-first-" + "0" * 9999 + ".parquet"),
    "the manifest as a file": lambda it: first(it, name="manifest.json"),
    "a naive instant": lambda it: it | {"fetched_at": "2024-06-01T12:00:00"},
    "a naive instant of the friends": lambda it: it | {"friends_at": "2024-06-01T12:00:00"},
    "a naive date of joining": lambda it: it | {"me": {"user": {"id": "7", "date_joined": "2020-01-01T00:00:00"}}},
    "negative rows": lambda it: first(it, rows=-1),
    "fewer rows": lambda it: first(it, rows=it["payments"][0]["rows"] - 1),
    "negative size": lambda it: first(it, size=-1),
    "another size": lambda it: first(it, size=5),
    "another start": lambda it: it | {"payments": [*it["payments"][:-1], it["payments"][-1] | {"start": "2024-01-02"}]},
    "pending twice": lambda it: first(it, pending=["1", "1"]),
    "more pending than rows": lambda it: first(it, pending=[str(number) for number in range(99)]),
    "rows as text": lambda it: first(it, rows="8"),
    "no account": lambda it: it | {"me": it["me"] | {"user": {"id": None}}},
    "no owner": lambda it: {key: value for key, value in it.items() if key != "me"},
    "no friends": lambda it: {key: value for key, value in it.items() if key != "friends"},
    "a number as the payments": lambda it: it | {"payments": 5},
}  # fmt: skip
WRONG: dict[str, Change] = {
    **{name: of_service(change) for name, change in SERVICE.items()},
    "no format": lambda it: {key: value for key, value in it.items() if key != "format"},
    "nothing": lambda _it: {},
    "a number as the service": lambda it: it | {"service": 5},
    "friends as edits": lambda it: it | {"edits": it["service"]["friends"]},
    "friends as problems": lambda it: it | {"problems": it["service"]["friends"]},
    "an import of friends": lambda it: it | {"batches": [batch(it)]},
    "the import 0": lambda it: it | {"batches": [batch(it, number=0)]},
    "an import twice": lambda it: it | {"batches": [batch(it), batch(it)]},
    "a naive instant of an import": lambda it: it | {"batches": [batch(it, imported_at="2024-06-01T12:00:00")]},
    "a negative count of an import": lambda it: it | {"batches": [batch(it, new=-1)]},
}


@pytest.mark.parametrize("name", WRONG)
def test_a_manifest_that_contradicts_itself_is_named(archive, history_of, payment, name) -> None:
    """Reading and merging refuse it with the file's name and what to do; nothing outside the folder changes."""
    path = archive.path / "manifest.json"
    path.write_bytes(sign(WRONG[name](json.loads(path.read_bytes()))))
    listing = sorted(file.name for file in archive.path.parent.rglob("*"))
    readers = {
        "since": lambda: archive.since,
        "history": archive.history,
        "merge": lambda: archive.merge(history_of(payment("x"))),
        "scan": lambda: archive.scan("polars"),
    }
    # All of them read the manifest first; only history opens the files, and sees their sizes and rows.
    wanted = {"fewer rows": ["history"], "another size": ["history"], "a file outside": [*readers]}
    for reader in wanted.get(name, ["since"]):
        with pytest.raises(ArchiveError, match=r"is broken \(.*\): sync the archive"):
            readers[reader]()
    assert sorted(file.name for file in archive.path.parent.rglob("*")) == listing


def test_a_manifest_without_its_digest_is_named(archive) -> None:
    """Also if nothing else is wrong."""
    path = archive.path / "manifest.json"
    manifest = json.loads(path.read_bytes())
    del manifest["digest"]
    path.write_bytes(json.dumps(manifest).encode())
    with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(its content is not as it was written\): sync"):
        archive.history()


def test_a_digest_of_a_file_that_is_not_the_one_in_its_name(archive) -> None:
    """The digest in the manifest, and the start of it in the name, have to agree."""
    path = archive.path / "manifest.json"
    manifest = json.loads(path.read_bytes())
    entry = manifest["service"]["payments"][0]
    assert entry["sha256"].startswith(entry["name"].removesuffix(".parquet").rpartition("-")[2])
    entry["sha256"] = "".join("1" if digit == "0" else "0" for digit in entry["sha256"])
    path.write_bytes(sign(manifest))
    with pytest.raises(ArchiveError, match=f"the digest of {entry['name']} is not the one in its name"):
        archive.history()


def rewritten(table: pa.Table, chance: random.Random) -> pa.Table:
    """Return a well-formed table that is not what was written."""
    column = chance.choice(table.column_names)
    place = table.column_names.index(column)
    kinds = {
        "fewer rows": lambda: table.slice(0, table.num_rows // 2),
        "no rows": lambda: table.slice(0, 0),
        "rows twice": lambda: pa.concat_tables([table, table]),
        "back to front": lambda: table.take(list(range(table.num_rows))[::-1]),
        "a column less": lambda: table.drop_columns(column),
        "a column more": lambda: table.append_column("more", pa.nulls(table.num_rows, pa.string())),
        "another name": lambda: table.rename_columns([name.replace(column, "other") for name in table.column_names]),
        "nulls": lambda: table.set_column(place, column, pa.nulls(table.num_rows, table[column].type)),
        "another type": lambda: table.set_column(place, column, pa.array([1.5] * table.num_rows)),
        "other amounts": lambda: table.set_column(place, column, pc.add(table["amount_cents"], 1))
        if "amount_cents" in table.column_names
        else table.slice(1),
    }  # fmt: skip
    return chance.choice(list(kinds.values()))()


def parquet_mutation(file: Path, others: list[Path], chance: random.Random, number: int) -> None:
    """Change one file, by bits or by schema."""
    if number % 2:
        file.write_bytes(damage(file.read_bytes(), chance))
    elif number % 20 == 0:
        file.write_bytes(chance.choice(others).read_bytes())
    else:
        pq.write_table(rewritten(pq.read_table(file), chance), file)


@MANY
def test_parquet_files_that_were_damaged_or_replaced(archive, mutations: int) -> None:
    """Half of them by bits, half by schema; a scan refuses them too."""
    chance = random.Random(13)  # noqa: S311 - no secret
    expected = archive.history()
    files = sorted(archive.path.glob("*.parquet"))
    found: Counter[str] = Counter()
    for number in range(mutations):
        file = chance.choice(files)
        whole = file.read_bytes()
        parquet_mutation(file, files, chance, number)
        same = file.read_bytes() == whole
        result = outcome(archive.history, expected)
        found[result] += 1
        assert result == (EXACT if same else REFUSED)
        if file.name.startswith("payments") and not same:
            with pytest.raises(ArchiveError, match=file.name):
                archive.scan("polars")
        file.write_bytes(whole)
    assert found[REFUSED] > 0.9 * mutations


@FEW
def test_without_a_manifest_no_damaged_file_is_taken_for_whole(archive, history_of, payment, mutations: int) -> None:
    """A file that does not match its name is set aside, and all other payments are restored exactly."""
    chance = random.Random(14)  # noqa: S311 - no secret
    expected = archive.history().payments.set_index("payment_id")
    whole = {path: path.read_bytes() for path in archive.path.iterdir()}
    files = sorted(archive.path.glob("payments-*.parquet"))
    new = history_of(payment("new"))
    for number in range(mutations):
        file = chance.choice(files)
        parquet_mutation(file, files, chance, number)
        lost = {str(n) for n in range(PAYMENTS) if file == holder(files, date_of(n))}
        same = file.read_bytes() == whole[file]
        (archive.path / "manifest.json").unlink()
        archive.merge(new)
        found = archive.history().payments.set_index("payment_id").drop("new")
        assert set(found.index) == {str(number) for number in range(PAYMENTS)} - (set() if same else lost)
        assert found.equals(expected.loc[found.index])
        for path in archive.path.iterdir():
            path.unlink()
        for path, content in whole.items():
            path.write_bytes(content)
