"""The command ``demo``: the whole pipeline from the sandbox to the report, with a town of invented people."""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

import pandas as pd

from p2p_analytics import analyses, display, plots, settings
from p2p_analytics.analyses import monthly_flow, pending_requests
from p2p_analytics.analyses.pending import EDGES, MONTH_EDGES
from p2p_analytics.auth import authorize_url, token_from_redirect
from p2p_analytics.cli import _output, _statement_files
from p2p_analytics.cli._commands import DEFAULT_GENERATION
from p2p_analytics.client import Client
from p2p_analytics.display import format_count, format_money
from p2p_analytics.errors import ConfigurationError, describe_os_error
from p2p_analytics.export import to_csv
from p2p_analytics.files import atomic_file, refuse_archive, require_replaceable
from p2p_analytics.frames.schema import select_payments
from p2p_analytics.history import History, load_history
from p2p_analytics.progress import is_interactive, loading_bar
from p2p_analytics.report import render_report
from p2p_analytics.sandbox import SandboxServer
from p2p_analytics.settings import STRICT, Privacy
from p2p_analytics.statements import read_statements
from p2p_analytics.vocabulary import Scope

_CSV_FILES: Final = ("payments.csv", "people.csv", "friends.csv")
_STATEMENT_FOLDER: Final = "statements"


def run_command(options: argparse.Namespace) -> None:
    """Write one person's report, CSV files and plots into a folder, and print a short summary.

    A new folder is private to its owner, an existing one keeps its mode. Each file is replaced atomically, and only its
    owner can read it. Statement files stay in the folder, except in privacy mode, because they show real names and
    amounts of the town.
    """
    privacy = settings.privacy(options.privacy)
    out = options.out
    is_new = not out.exists()
    _make_writable(out)

    def check_interrupt() -> None:
        if options.interrupted():  # Python swallows the exception of a Ctrl-C while an object is being finalized
            raise KeyboardInterrupt

    say = _output.Progress("none" if options.progress == "none" else "log").log
    try:
        say("Building a town of invented people and starting its sandbox ...")
        with SandboxServer(options.seed, people=options.people, years=options.years) as server:
            person = server.viewer if options.person is None else options.person.removeprefix("@")
            tables: dict[str, pd.DataFrame] = {}
            kept = 0
            if options.statements:
                say("Writing and reading statement files ...")
                with tempfile.TemporaryDirectory(prefix="p2p-demo-") as temporary:
                    folder = Path(temporary) if privacy else out / _STATEMENT_FOLDER
                    paths = _statement_files.write_statement_files(server, folder, person, DEFAULT_GENERATION)
                    reading = read_statements(paths)
                reading = reading.masked(strict=privacy == STRICT) if privacy else reading
                history, tables = reading.history(), {"reconciliation": reading.reconciliation}
                kept = 0 if privacy else int(reading.files["file"].nunique())
            else:
                shows_bar = options.progress == "bar" and is_interactive()
                if not shows_bar:
                    say("Loading payments ...")
                count = _output.Progress(options.progress).callback
                with loading_bar(delay=0) if shows_bar else contextlib.nullcontext() as bar:

                    def on_progress(payments: int) -> None:
                        check_interrupt()
                        if bar is not None:
                            bar(payments, 0)
                        elif count:
                            count(payments)

                    history = _load(server, person, on_progress, privacy=privacy)
            as_of = server.now
        check_interrupt()
        say("Drawing and writing ...")
        files = _write(history, tables, out, as_of, check_interrupt)
    except BaseException:
        if is_new:
            with contextlib.suppress(OSError):  # not empty any more
                out.rmdir()
        raise
    sys.stdout.write(_summarize(history, as_of, files, out, kept) + "\n")


def _make_writable(out: Path) -> None:
    try:
        refuse_archive(out)
        settings.make_private(out)
        if not out.is_dir():
            raise FileExistsError
        with tempfile.TemporaryFile(dir=out):  # permission bits miss the superuser and a full disk
            pass
    except OSError as error:
        occupied = "it is a file" if out.is_file() else "it is no folder"
        reason = occupied if isinstance(error, FileExistsError) else describe_os_error(error)
        raise ConfigurationError(f"Cannot write into {out}: {reason}; name another folder with --out.") from None


def _load(server: SandboxServer, person: str, on_progress: Callable[[int], object], *, privacy: Privacy) -> History:
    """Sign in by the document's client-side flow, and load everything that the token allows."""
    scopes = (Scope.PROFILE, Scope.EMAIL, Scope.PHONE, Scope.BALANCE, Scope.FRIENDS)
    address = server.sign_in(authorize_url(server.base_url, server.client_id, scopes), person)
    with (
        tempfile.TemporaryDirectory(prefix="p2p-demo-") as cache,
        Client(token_from_redirect(address), base_url=server.base_url, cache_dir=cache) as client,
    ):
        return load_history(client, progress=on_progress, privacy=privacy)


def _write(
    history: History, tables: dict[str, pd.DataFrame], out: Path, as_of: datetime, check_interrupt: Callable[[], None]
) -> list[Path]:
    """Write report, CSV files and plots, `tables` by the name of their plot among them, and return their paths."""
    contents = {"report.html": render_report(history, as_of=as_of).encode()}
    contents |= {
        f"{name}.png": plots.to_image(
            getattr(plots, name), table, "png", private=history.private, strict=history.strict
        )
        for name, table in (_build_tables(history, as_of) | tables).items()
    }
    check_interrupt()
    # All contents exist before the first file changes, so a failure leaves a consistent set of files of the last run.
    for name in (*contents, *_CSV_FILES):
        require_replaceable(out / name)
    for name, content in contents.items():
        with atomic_file(out / name) as file:
            file.write(content)
    for name, table in zip(_CSV_FILES, (history.payments, history.people, history.friends), strict=True):
        to_csv(table, out / name)
    report, *images = contents
    return [out / name for name in (report, *_CSV_FILES, *images)]


def _build_tables(history: History, as_of: datetime) -> dict[str, pd.DataFrame]:
    payments = history.payments
    return {
        "spend_by_friend": analyses.spend_by_friend(payments, history.friends, top=15),
        "status_mix": analyses.status_mix(payments),
        "pending_ageing": analyses.pending_ageing(
            payments, as_of=as_of, edges=MONTH_EDGES if history.strict else EDGES
        ),
        "monthly_flow": analyses.monthly_flow(payments),
    }


def _summarize(history: History, as_of: datetime, files: list[Path], out: Path, statement_files: int) -> str:
    me, payments = history.me.user, select_payments(history.payments)
    others = len(history.payments) - len(payments)
    months = monthly_flow(payments)
    sent, received = months["sent"].sum(), months["received"].sum()
    dates = payments["date_created"]
    form = "%Y-%m" if history.strict else "%Y-%m-%d"
    period = f", {dates.min():{form}} to {dates.max():{form}}" if len(payments) else ""
    requests = pending_requests(payments, as_of=as_of)
    sides = {side: requests.loc[requests["direction"] == side, "amount"] for side in ("in", "out")}
    opened = {side: f"{len(amounts):,} worth {format_money(amounts.sum())}" for side, amounts in sides.items()}
    net = f"{'-' if received < sent else '+'}{format_money(abs(received - sent))}"
    lines = [
        "",
        f"{me.display_name or me.username or me.id} (@{me.username})",
        f"  {len(payments):,} payments{period}; "
        + (f"{others:,} other transactions" if others else f"{len(history.friends):,} friends"),
        f"  sent {format_money(sent)}, received {format_money(received)}, net {net}",
        f"  open: {opened['in']} to come in, {opened['out']} to go out",
    ]
    if len(history.problems):
        lines.append(f"  {format_count(len(history.problems), 'problem', 'problems')}, listed in the report")
    if history.private:
        lines.append(f"  {display.STRICT if history.strict else display.PRIVATE}")
    kinds = {".html": "open it in a browser", ".csv": "table", ".png": "plot"}
    lines += ["", f"In {out.resolve()}:"]
    described = {file.name: kinds[file.suffix] for file in files}
    if statement_files:
        described[f"{_STATEMENT_FOLDER}/"] = format_count(statement_files, "statement file", "statement files")
    width = max(map(len, described))
    lines += [f"  {name:<{width}}  {text}" for name, text in described.items()]
    lines += ["", f"The town is invented, and its clock stands at {as_of:%Y-%m-%d %H:%M} UTC."]
    return "\n".join(lines)
