"""The list of a service and the statement files of one account, merged into an archive in either order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import p2p_analytics as p2p
from support.servers import sandbox_fixture

if TYPE_CHECKING:
    from pathlib import Path

    from p2p_analytics.sandbox import SandboxServer

town = sandbox_fixture(seed=4, people=6, years=1)


def read_files(server: SandboxServer, folder: Path, generation: str) -> p2p.Statements:
    """Return the statements of the viewer."""
    paths = []
    for start, end in server.statement_periods():
        paths.append(folder / f"{start}.{'json' if generation == 'JSON' else 'csv'}")
        paths[-1].write_bytes(server.statement(server.viewer, start, end, generation).encode())
    return p2p.read_statements(paths)


@pytest.mark.parametrize("generation", ["D", "JSON"])
def test_a_merged_archive_is_equal_to_both(town: SandboxServer, tmp_path: Path, generation: str) -> None:
    """What the service lists is as listed, everything else as in the files, whichever comes first."""
    statements = read_files(town, tmp_path, generation)
    first, second, alone = (p2p.open_archive(tmp_path / name) for name in ("first", "second", "alone"))
    with p2p.Client(town.token(town.viewer), base_url=town.base_url, cache_dir=tmp_path / "cache") as client:
        listed = p2p.load_history(client, progress=False).payments
        first.sync(client)
        plan = first.import_(statements)
        second.import_(statements)
        second.sync(client)
    alone.import_(statements)
    between = statements.payments["kind"] == "payment"
    assert (plan.known, plan.new, plan.refused) == (len(listed), int((~between).sum()), 0)
    merged = first.history().payments
    assert second.history().payments.equals(merged)
    is_listed = merged["payment_id"].isin(listed["payment_id"])
    assert merged.loc[is_listed, listed.columns].reset_index(drop=True).equals(listed)
    columns = [name for name in statements.payments.columns if name != "account_id"]  # in the archive, the user id
    found = merged.loc[~is_listed, columns].sort_values("payment_id").reset_index(drop=True)
    wanted = statements.payments.loc[~between, columns].sort_values("payment_id").reset_index(drop=True)
    assert found.equals(wanted)
    flows = [p2p.monthly_flow(frame) for frame in (merged, listed, statements.payments, alone.history().payments)]
    assert all(flow.equals(flows[0]) for flow in flows)
    assert len(flows[0]) > 10
