"""Statements as `read_statements` returns them, from literal rows, and what an archive stores."""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from p2p_analytics.archive import Archive
from p2p_analytics.statements import ROWS, Collected, FileInfo, Problem, Statements, build_statements, complete_rows
from p2p_analytics.statements.rows import encode_rows, polars_schema


def row(payment_id: int | str, name: str = "Bo", **fields: Any) -> dict[str, Any]:
    """Return a row of a statement: 5.00 from the account holder to a person, settled."""
    fields = {"amount_cents": 500, "direction": "out", "action": "pay", "status": "settled", **fields}
    is_actor = (fields["direction"] == "out") == (fields["action"] == "pay")
    sign = 1 if fields["direction"] == "in" else -1
    date = datetime.fromisoformat(fields.pop("date", "2024-05-01T12:00:00")).replace(tzinfo=UTC)
    sides = ("actor", "target_user") if is_actor else ("target_user", "actor")
    account = fields.get("account_id", "ada")
    return {
        "payment_id": str(payment_id), "note": f"note {payment_id}", "date_created": date,
        "date_completed": date if fields["status"] == "settled" else None,
        f"{sides[0]}_id": account, f"{sides[0]}_username": account, f"{sides[0]}_display_name": "Ada",
        f"{sides[1]}_display_name": name, "target_type": "user", "counterparty_name": name,
        "source": "statement", "account_id": account, "kind": "payment", "currency": "USD",
        "flow_cents": sign * abs(fields["amount_cents"]), "type": "Payment", "funding_source": "balance",
        "tip_cents": 0, "file": "may.csv", "line": 4, **fields,
    }  # fmt: skip


def statements_of(*rows: dict[str, Any], account: str | None = "ada", problems: Sequence[Problem] = ()) -> Statements:
    """Return the statements of an account with these rows, as if a file had them."""
    read = [_to_row(each) for each in rows]
    names = list(dict.fromkeys(each["file"] for each in rows)) or ["empty.csv"]
    handles = {each["file"] for each in rows if each["account_id"]}
    files = tuple(
        FileInfo(
            file=name, format="own", service="own", account_service="own", digest=f"{name} {len(rows)} {rows}",
            account=None if name in handles else account,
        )
        for name in names
    )  # fmt: skip
    frame = complete_rows(pl.DataFrame(read, schema=polars_schema(), strict=False))
    return build_statements(Collected(encode_rows(frame), files, tuple(problems)))


def _to_row(given: dict[str, Any]) -> dict[str, Any]:
    """Return a row of ROWS with the values of a row of PAYMENTS and STATEMENT."""
    names = {
        "account": "account_id", "date": "date_created", "from_name": "actor_display_name",
        "to_name": "target_user_display_name", "counterparty_id": "counterparty_id",
    }  # fmt: skip
    known = {name: given.get(names.get(name, name)) for name in ROWS}
    account = given["account_id"] and given["account_id"].removeprefix("@")
    return known | {"owner": given.get("owner", "Ada"), "moved_cents": 0, "account": account}


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of each file of an archive, except the lock and cached tables."""
    files = [path for path in folder.iterdir() if path.name != "lock" and not path.name.startswith("view_")]
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def read_manifest(archive: Archive) -> dict[str, Any]:
    """Return the manifest as JSON."""
    return json.loads((archive.path / "manifest.json").read_bytes())


def write_manifest(archive: Archive, manifest: dict[str, Any]) -> None:
    """Write a manifest with the digest that belongs to it, as whoever knows the rule could write it."""
    body = json.dumps({key: value for key, value in manifest.items() if key != "digest"}, separators=(",", ":"))[:-1]
    signed = f'{body},"digest":"{hashlib.sha256(body.encode()).hexdigest()}"}}'
    (archive.path / "manifest.json").write_text(signed, "utf-8")


def list_stored(archive: Archive) -> dict[str, str]:
    """Return the manifest and the digest of each file that it lists."""
    path = archive.path / "manifest.json"
    if not path.exists():
        return {}
    listed = {entry.name for entry in archive._folder.read_manifest().entries}
    stored = {name: digest for name, digest in digests(archive.path).items() if name in listed}
    assert stored.keys() == listed
    return {"manifest.json": path.read_text("utf-8")} | stored
