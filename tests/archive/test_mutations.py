"""Whatever happens to the manifest or to a Parquet file, reading gives the exact history or a typed error."""

from __future__ import annotations

import hashlib
import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from p2p_analytics.archive._manifest import ManifestError, decode
from p2p_analytics.errors import ArchiveError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from p2p_analytics.archive import Archive

    Change = Callable[[dict[str, Any]], dict[str, Any]]


# How many mutations a test makes.
def _count(few: int, full: int, soak: int) -> pytest.MarkDecorator:
    counts = [few, pytest.param(full, marks=pytest.mark.full_fuzz), pytest.param(soak, marks=pytest.mark.soak)]
    return pytest.mark.parametrize("mutations", counts)


MANY, FEW = _count(20, 170, 1_000), _count(4, 40, 200)


def restore(archive: Archive, files: dict[Path, bytes]) -> None:
    """Make a folder hold these files alone."""
    for path in archive.path.iterdir():
        path.unlink()
    for path, content in files.items():
        path.write_bytes(content)


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


def sign(manifest: Any) -> bytes:
    """Return a manifest with the digest that belongs to it, as whoever knows the rule could write it."""
    body = json.dumps({key: value for key, value in manifest.items() if key != "digest"}, separators=(",", ":"))[:-1]
    return f'{body},"digest":"{hashlib.sha256(body.encode()).hexdigest()}"}}'.encode()


@MANY
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


def of_service(change: Change) -> Change:
    """Return a change of a manifest that changes what it names of the service."""
    return lambda manifest: manifest | {"service": change(manifest["service"])}


def first(service: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return the service's part with other fields for its first payment file."""
    return service | {"payments": [service["payments"][0] | fields, *service["payments"][1:]]}


def without(part: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a part without a member."""
    return {key: value for key, value in part.items() if key != name}


def batch(manifest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a manifest with an import, by default with a file of another kind in place of its rows."""
    counts = dict.fromkeys(("new", "known", "changed", "refused"), 0)
    rows = manifest["service"]["friends"]
    made = {"number": 1, "imported_at": "2024-06-01T12:00:00Z", "files": [], "rows": rows, **counts, **fields}
    return manifest | {"batches": [made]}


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
    "the manifest as a file": lambda it: first(it, name="manifest.json"),
    "another digest than in the name": lambda it: first(it, sha256="0" * 64),
    "a naive instant": lambda it: it | {"fetched_at": "2024-06-01T12:00:00"},
    "a naive date of joining": lambda it: it | {"me": {"user": {"id": "7", "date_joined": "2020-01-01T00:00:00"}}},
    "negative rows": lambda it: first(it, rows=-1),
    "another start": lambda it: it | {"payments": [*it["payments"][:-1], it["payments"][-1] | {"start": "2024-01-02"}]},
    "pending twice": lambda it: first(it, pending=["1", "1"]),
    "more pending than rows": lambda it: first(it, pending=[str(number) for number in range(99)]),
    "no account": lambda it: it | {"me": it["me"] | {"user": {"id": None}}},
    "no owner": lambda it: without(it, "me"),
}  # fmt: skip
WRONG: dict[str, Change] = {
    **{name: of_service(change) for name, change in SERVICE.items()},
    "no format": lambda it: without(it, "format"),
    "nothing": lambda _it: {},
    "friends as edits": lambda it: it | {"edits": it["service"]["friends"]},
    "friends as problems": lambda it: it | {"problems": it["service"]["friends"]},
    "an import of friends": batch,
    "the import 0": lambda it: batch(it, number=0),
    "an import twice": lambda it: it | {"batches": batch(it)["batches"] * 2},
    "a naive instant of an import": lambda it: batch(it, imported_at="2024-06-01T12:00:00"),
    "a negative count of an import": lambda it: batch(it, new=-1),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_manifest_that_contradicts_itself_is_refused(synced_folder, name) -> None:
    """One change each, under a digest that fits."""
    whole = (synced_folder / "manifest.json").read_bytes()
    assert decode(sign(json.loads(whole))) == decode(whole)
    with pytest.raises(ManifestError):
        decode(sign(WRONG[name](json.loads(whole))))


def test_a_wrong_manifest_is_named(archive, history_of, payment) -> None:
    """With what to do, by each reader; also one without its digest, and one that misstates a file."""
    path = archive.path / "manifest.json"
    whole = json.loads(path.read_bytes())
    readers = [lambda: archive.since, lambda: archive.merge(history_of(payment("x"))), lambda: archive.scan("polars")]
    for body in (sign(WRONG["a file outside"](whole)), json.dumps(without(whole, "digest")).encode()):
        path.write_bytes(body)
        for read in (archive.history, *readers):
            with pytest.raises(ArchiveError, match=r"manifest\.json is broken \(.*\): sync the archive"):
                read()
    for fields in ({"rows": whole["service"]["payments"][0]["rows"] - 1}, {"size": 5}):
        path.write_bytes(sign(of_service(lambda it, fields=fields: first(it, **fields))(whole)))
        with pytest.raises(ArchiveError, match=r"payments-.* is broken \(.*\): sync the archive"):
            archive.history()


@FEW
def test_without_a_manifest_no_damaged_file_is_taken_for_whole(archive, history_of, payment, mutations: int) -> None:
    """A file that does not match its name is set aside, and all other payments are restored exactly."""
    chance = random.Random(14)  # noqa: S311 - no secret
    expected = archive.history().payments.set_index("payment_id")
    whole = {path: path.read_bytes() for path in archive.path.iterdir()}
    files = sorted(archive.path.glob("payments-*.parquet"))
    new = history_of(payment("new"))
    for _ in range(mutations):
        file = chance.choice(files)
        lost = set(pq.read_table(file)["payment_id"].to_pylist())
        while file.read_bytes() == whole[file]:
            file.write_bytes(damage(whole[file], chance))
        (archive.path / "manifest.json").unlink()
        archive.merge(new)
        found = archive.history().payments.set_index("payment_id").drop("new")
        assert set(found.index) == set(expected.index) - lost
        assert found.equals(expected.loc[found.index])
        restore(archive, whole)
