"""Files in their earlier form: payments with the profiles of people in each row, statements without their origin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from p2p_analytics.currencies import US_DOLLARS
from p2p_analytics.frames import schema
from p2p_analytics.frames.arrow import arrow_type

if TYPE_CHECKING:
    import pyarrow as pa

_ADDED: Final = ("account_id", "kind", "currency", "counterparty_username")
_PROFILE: Final = ("first_name", "last_name", "about", "profile_picture_url", "date_joined")
PROFILES: Final = [f"{side}_{name}" for side in ("actor", "target_user") for name in _PROFILE]


def is_earlier_form(found: pa.Schema, kind: str) -> bool:
    """Return whether a file of this kind and schema is in the earlier form."""
    if kind == "statements":
        return set(schema.ORIGIN).isdisjoint(found.names)
    return kind == "payments" and not set(PROFILES).isdisjoint(found.names)


def earlier_schema(present: pa.Schema) -> pa.Schema:
    """Return the schema of the earlier form, in any order, from that of the present form."""
    import pyarrow as pa

    if set(schema.ORIGIN) <= set(present.names):
        return pa.schema([field for field in present if field.name not in schema.ORIGIN])
    fields = [(field.name, field.type) for field in present if field.name not in _ADDED]
    instant = present.field("date_created").type
    return pa.schema(fields + [(name, instant if name.endswith("_joined") else pa.string()) for name in PROFILES])


def to_present_form(rows: pa.Table, account: str) -> pa.Table:
    """Return rows in the present form: payments, followed by the columns of `PROFILES`, or those of statements.

    Parameters
    ----------
    rows : Table
        All columns of a file in the earlier form.
    account : str
        The user id of the archive's owner.
    """
    return _add_people(rows, account) if set(PROFILES) <= set(rows.column_names) else _add_origin(rows)


def _add_origin(rows: pa.Table) -> pa.Table:
    """Return rows of statements with null as their origin."""
    import pyarrow as pa

    for name, dtype in schema.ORIGIN.items():
        rows = rows.append_column(name, pa.nulls(rows.num_rows, arrow_type(dtype)))
    return rows


def _add_people(rows: pa.Table, account: str) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    # The counterparty is the target's user if its id says so, else the actor or an address.
    target = pc.fill_null(pc.equal(rows["counterparty_id"], rows["target_user_id"]), fill_value=False)
    actor = pc.fill_null(pc.equal(rows["counterparty_id"], rows["actor_id"]), fill_value=False)
    of_actor = pc.if_else(actor, rows["actor_username"], pa.scalar(None, pa.string()))
    added = {
        "account_id": pa.scalar(account),
        "kind": pa.scalar(schema.KIND_PAYMENT),
        "currency": pa.scalar(US_DOLLARS),
    }
    columns = {name: pa.repeat(value, rows.num_rows) for name, value in added.items()}
    columns["counterparty_username"] = pc.if_else(target, rows["target_user_username"], of_actor)
    for name, column in columns.items():
        rows = rows.append_column(name, column)
    return rows
