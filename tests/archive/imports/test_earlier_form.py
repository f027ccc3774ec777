"""An archive of statements that an earlier version wrote, without the origin of its rows, is read and continued.

The files in `earlier_form` were written by that version from two statements of ada: the payment 500 in May; the payment
501, the pending charge 502 and the refund 503 of an unknown kind in June.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import p2p_analytics as p2p
from support.archives.statements import row, statements_of


@pytest.fixture
def archive(tmp_path) -> p2p.Archive:
    """Return a copy of the archive."""
    folder = tmp_path / "archive"
    shutil.copytree(Path(__file__).parent / "earlier_form", folder)
    return p2p.open_archive(folder)


def _list_states(archive: p2p.Archive) -> dict[str, tuple[str, str, int]]:
    payments = archive.history().payments
    names = ["status", "kind", "flow_cents"]
    return dict(zip(payments["payment_id"], payments[names].itertuples(index=False, name=None), strict=True))


BEFORE = {
    "503": ("settled", "unknown", 425), "502": ("pending", "payment", -750), "501": ("settled", "payment", -1000),
    "500": ("settled", "payment", -500),
}  # fmt: skip


def test_it_is_read_unchanged(archive) -> None:
    """No file changes, and the last import can be undone."""
    before = {path.name: path.read_bytes() for path in archive.path.iterdir()}
    assert _list_states(archive) == BEFORE
    assert archive.imports["undoable"].tolist() == [False, True]
    assert {path.name: path.read_bytes() for path in archive.path.iterdir()} == before
    archive.undo()
    assert list(_list_states(archive)) == ["500"]


def test_an_import_continues_it(archive) -> None:
    """A file that ends before June changes no state of June, and fills in; a later one does; an undo restores all."""
    before = {path.name: path.read_bytes() for path in archive.path.iterdir()}
    bill = {"amount_cents": 1000, "date": "2024-06-03T10:00:05"}
    older = [
        row(501, "Bo Lund", note="coffee", fee_cents=5, file="early.csv", **bill),
        row(502, "Bo Lund", amount_cents=750, action="charge", status="cancelled", file="early.csv"),
    ]
    plan = archive.import_(statements_of(*older))
    assert plan[:4] == (0, 1, 1, 0)
    assert plan.new_services == ()  # that version did not keep the services of its imports
    history = archive.history().payments.set_index("payment_id")
    assert history.loc["501", ["note", "fee_cents"]].tolist() == ["tea", 5]
    assert history.loc["502", "status"] == "cancelled"
    later = row(501, "Bo Lund", note="coffee", file="july.csv", **bill)
    archive.import_(statements_of(later, row(504, date="2024-07-01T00:00:01", file="july.csv")))
    assert archive.history().payments.set_index("payment_id").loc["501", "note"] == "coffee"
    archive.undo()
    archive.undo()
    after = {path.name: path.read_bytes() for path in archive.path.iterdir() if path.name != "lock"}
    assert {**after, "batches.json": b""} == {**before, "batches.json": b""}
