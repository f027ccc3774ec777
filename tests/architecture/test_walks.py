"""How many modules each main walk of CONTRIBUTING.md enters: printed at the end of the run, not limited."""

import sys
import threading

import pytest

import p2p_analytics as p2p
from p2p_analytics.client.desk import PaymentDesk
from p2p_analytics.sandbox import SandboxServer


@pytest.mark.full
def test_walks(tmp_path, record_property):
    """Each main walk runs, and enters at least two modules of the package."""
    counts, entered = {}, set()

    def note(frame, event, _argument):
        if event == "call" and (name := frame.f_globals.get("__name__", "")).startswith("p2p_analytics."):
            entered.add(name)

    def walk(name, work, *arguments, **options):
        entered.clear()
        result = work(*arguments, **options)
        counts[name] = len(entered)
        return result

    threading.setprofile(note)  # of the threads that start from here on, such as the sandbox's
    sys.setprofile(note)
    try:
        with SandboxServer(people=3, years=1) as server:
            content = server.statement(server.viewer, "2025-05-01", "2025-05-31").encode()
            token = server.token(server.viewer, "make_payments", "access_profile", "access_friends")
            client = walk("a token", p2p.Client, token, base_url=server.base_url, cache_dir=False)
            walk("load_history(client)", p2p.load_history, client)
            friend = server.people[1].user_id
            walk("an HTTP body", PaymentDesk(client).pay, amount="1.00", note="tea", user_id=friend)
        statements = walk("read_statements(paths)", p2p.read_statements, ("may.csv", content))
        archive = p2p.Archive(tmp_path / "archive")
        walk("Archive.import_(statements)", archive.import_, statements)
        history = walk("history(privacy)", archive.history, privacy=True)
        walk("render_report(tz)", p2p.render_report, history, as_of="2025-06-30", tz="America/New_York")
        ages = walk("pending_ageing(as_of)", p2p.pending_ageing, history.payments, as_of="2025-06-30")
        walk("a plot", p2p.plots.pending_ageing, ages)
        walk("an export", p2p.to_csv, history.payments, tmp_path / "payments.csv")
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert min(counts.values()) > 1
    lines = [f"{number:>4}  {name}" for name, number in sorted(counts.items(), key=lambda each: each[1])]
    record_property("section", ["modules that the main walks enter", *lines])
