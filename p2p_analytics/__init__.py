"""See through years of peer-to-peer payments: load, flatten, analyse, plot and export them.

Every public name is here and loads on first use, so that importing the package stays light::

    import p2p_analytics as p2p

    client = p2p.Client(token, base_url="https://host/v1")
    history = p2p.load_history(client)
    friends = p2p.spend_by_friend(history.payments, history.friends)
    p2p.plots.spend_by_friend(friends)
"""

from __future__ import annotations

import os
import sys

from p2p_analytics import accessor

__version__ = "0.1.0"

TYPE_CHECKING = False  # type checkers take it for True; importing it from typing takes most of the time of a start
if TYPE_CHECKING:
    from p2p_analytics import errors, plots, sandbox
    from p2p_analytics.analyses import (
        activity,
        categories,
        categorise,
        default_rules,
        exposure,
        monthly_flow,
        pending_ageing,
        pending_requests,
        people_by_year,
        recurring,
        request_outcomes,
        sensitive_notes,
        spend_by_friend,
        spending_over_time,
        split_bills,
        status_mix,
        time_to_settle,
        unusual,
    )
    from p2p_analytics.archive import Archive, Archives, open_archive, open_archives
    from p2p_analytics.auth import AccessToken, authorize_url, token_from_redirect
    from p2p_analytics.bank import match_bank
    from p2p_analytics.client import Client
    from p2p_analytics.errors import P2PAnalyticsError
    from p2p_analytics.export import (
        read_csv,
        read_parquet,
        to_beancount,
        to_csv,
        to_excel,
        to_hledger,
        to_jsonl,
        to_parquet,
        to_sqlite,
    )
    from p2p_analytics.frames.currency import units
    from p2p_analytics.history import History, combine, household, load_history
    from p2p_analytics.messages import reminders
    from p2p_analytics.report import render_report, render_year
    from p2p_analytics.statements import (
        ColumnFormat,
        Statements,
        describe_file,
        read_format,
        read_statements,
        register_format,
    )
    from p2p_analytics.widgets import Explorer, TokenForm

__all__ = [
    "AccessToken",
    "Archive",
    "Archives",
    "Client",
    "ColumnFormat",
    "Explorer",
    "History",
    "P2PAnalyticsError",
    "Statements",
    "TokenForm",
    "activity",
    "authorize_url",
    "categories",
    "categorise",
    "combine",
    "default_rules",
    "describe_file",
    "errors",
    "exposure",
    "household",
    "load_history",
    "match_bank",
    "monthly_flow",
    "open_archive",
    "open_archives",
    "pending_ageing",
    "pending_requests",
    "people_by_year",
    "plots",
    "read_csv",
    "read_format",
    "read_parquet",
    "read_statements",
    "recurring",
    "register_format",
    "reminders",
    "render_report",
    "render_year",
    "request_outcomes",
    "sandbox",
    "sensitive_notes",
    "spend_by_friend",
    "spending_over_time",
    "split_bills",
    "status_mix",
    "time_to_settle",
    "to_beancount",
    "to_csv",
    "to_excel",
    "to_hledger",
    "to_jsonl",
    "to_parquet",
    "to_sqlite",
    "token_from_redirect",
    "units",
    "unusual",
]

_HOMES = {
    "AccessToken": "auth",
    "Archive": "archive",
    "Archives": "archive",
    "Client": "client",
    "ColumnFormat": "statements",
    "Explorer": "widgets",
    "History": "history",
    "P2PAnalyticsError": "errors",
    "Statements": "statements",
    "TokenForm": "widgets",
    "activity": "analyses",
    "authorize_url": "auth",
    "categories": "analyses",
    "categorise": "analyses",
    "combine": "history",
    "default_rules": "analyses",
    "describe_file": "statements",
    "exposure": "analyses",
    "household": "history",
    "load_history": "history",
    "match_bank": "bank",
    "monthly_flow": "analyses",
    "open_archive": "archive",
    "open_archives": "archive",
    "pending_ageing": "analyses",
    "pending_requests": "analyses",
    "people_by_year": "analyses",
    "read_csv": "export",
    "read_format": "statements",
    "read_parquet": "export",
    "read_statements": "statements",
    "recurring": "analyses",
    "register_format": "statements",
    "reminders": "messages",
    "render_report": "report",
    "render_year": "report",
    "request_outcomes": "analyses",
    "sensitive_notes": "analyses",
    "spend_by_friend": "analyses",
    "spending_over_time": "analyses",
    "split_bills": "analyses",
    "status_mix": "analyses",
    "time_to_settle": "analyses",
    "to_beancount": "export",
    "to_csv": "export",
    "to_excel": "export",
    "to_hledger": "export",
    "to_jsonl": "export",
    "to_parquet": "export",
    "to_sqlite": "export",
    "token_from_redirect": "auth",
    "units": "frames.currency",
    "unusual": "analyses",
}


def _mark_fork() -> None:
    if "polars" in sys.modules:
        from importlib import import_module

        import_module(f"{__name__}.forks").mark_process()


accessor.register()

# Here, because the analyses may be loaded only after the fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_mark_fork)


def __getattr__(name: str) -> object:
    """Load a public name from its home on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    home = import_module(f"{__name__}.{_HOMES.get(name, name)}")
    value = getattr(home, name) if name in _HOMES else home
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names before they are loaded."""
    return [*__all__, "__version__"]
