"""Export of a small town from the sandbox: ``python data/make_town.py`` writes it.

``payments.csv``, ``people.csv`` and ``friends.csv`` in this folder hold one invented person's year as
``load_history`` returns it, for trying the analyses without a server. The folder ``statements`` holds the same year as
statement files. The same seed gives the same bytes.
"""

from __future__ import annotations

from pathlib import Path

import p2p_analytics as p2p

HERE = Path(__file__).parent


def make(folder: Path) -> None:
    """Write all files into a folder."""
    statements = folder / "statements"
    statements.mkdir(exist_ok=True)
    with p2p.sandbox.SandboxServer(seed=7, people=12, years=1) as server:
        token = server.token(server.viewer)
        with p2p.Client(token, base_url=server.base_url, cache_dir=False) as client:
            history = p2p.load_history(client)
        for number, (start, end) in enumerate(server.statement_periods(), 1):
            text = server.statement(server.viewer, start, end)
            (statements / f"statement_{number}.csv").write_text(text, "utf-8", newline="")
    p2p.to_csv(history.payments, folder / "payments.csv")
    p2p.to_csv(history.people, folder / "people.csv")
    p2p.to_csv(history.friends, folder / "friends.csv")


if __name__ == "__main__":
    make(HERE)
