"""Options of the commands that run a sandbox: ``demo`` and ``sandbox``."""

from __future__ import annotations

from p2p_analytics.cli import _arguments

TYPE_CHECKING = False  # importing typing would slow --help down
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable


def add_commands(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    """Add ``demo`` and ``sandbox`` to a command line."""
    _add_demo(add_parser)
    _add_sandbox(add_parser)


def _add_demo(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    demo = add_parser(
        "demo",
        help="load a town of invented people from a sandbox and report on one of them",
        description="Start a sandbox, sign in as one of its invented people, load their payments and friends, and "
        "write a report, CSV files and plots. Nothing to configure, nothing leaves this machine.",
        allow_abbrev=False,
    )
    demo.add_argument(
        "--out", metavar="DIR", type=_arguments.parse_folder, default="out", help="where the files go (out)"
    )
    demo.add_argument("--person", metavar="USERNAME", help="the person to report on, by username")
    _arguments.add_privacy(
        demo,
        "invent names, notes, ids and amounts in all that is written and show days only, as P2P_PRIVACY=1 does; "
        "strict shows months only",
    )
    _add_town(demo)
    demo.set_defaults(command=_run_demo)


def _add_sandbox(add_parser: Callable[..., argparse.ArgumentParser]) -> None:
    sandbox = add_parser(
        "sandbox",
        help="serve the sandbox on this machine until Ctrl-C",
        description="Serve a local simulation of the payments service, with a town of invented people, until Ctrl-C.",
        allow_abbrev=False,
    )
    number = _arguments.number_between
    sandbox.add_argument(
        "--port", type=number(int, 0, 65535), default=8400, help="port on 127.0.0.1, 0 for a free one (8400)"
    )
    sandbox.add_argument(
        "--db", metavar="FILE", type=_arguments.parse_path, help="keep the data in this file (a temporary one)"
    )
    sandbox.add_argument(
        "--latency", metavar="MS", type=number(float, 0, 60_000), default=0, help="wait this long before each answer"
    )
    sandbox.add_argument(
        "--dialect",
        choices=("documented", "observed"),
        default="documented",
        help="write answers as the document says, or as real ones were seen (documented)",
    )
    sandbox.add_argument(
        "--strict-redirect",
        action="store_true",
        help="take a redirect_uri only when it is the redirect URL on file, to the letter",
    )
    sandbox.add_argument(
        "--rate-limit",
        metavar="N/SECONDS",
        type=_arguments.parse_rate,
        help="serve at most N requests in SECONDS to each user and application, then answer 429 (no limit)",
    )
    sandbox.add_argument(
        "--rate-limit-status",
        type=int,
        choices=(429, 400),
        default=429,
        help="HTTP status above the rate limit; 400 in the observed dialect only (429)",
    )
    sandbox.add_argument(
        "--faults",
        metavar="SPEC",
        type=_arguments.parse_faults,
        default="",
        help="have faults: rates such as 503:0.1,reset:0.05, or a script such as 'ok*3 503 reset' (none)",
    )
    _add_town(sandbox)
    sandbox.set_defaults(command=_run_sandbox)


def _add_town(parser: argparse.ArgumentParser) -> None:
    number = _arguments.number_between
    parser.add_argument("--people", metavar="N", type=number(int, 3, 2_000), help="how many live in the town (12)")
    parser.add_argument(
        "--years", metavar="N", type=number(int, 1, 20), help="how many years they have been paying (4)"
    )
    parser.add_argument(
        "--seed", metavar="N", type=number(int, 0, 2**63 - 1), default=7, help="another number, another town (7)"
    )


def _run_demo(options: argparse.Namespace) -> None:
    from p2p_analytics.cli import _demo

    _demo.run(
        options.out,
        people=options.people,
        years=options.years,
        seed=options.seed,
        person=options.person,
        privacy=options.privacy,
        interrupted=options.interrupted,
    )


def _run_sandbox(options: argparse.Namespace) -> None:
    from p2p_analytics.sandbox import serve

    serve(
        port=options.port,
        db=options.db,
        seed=options.seed,
        people=options.people,
        years=options.years,
        latency=options.latency / 1000,
        dialect=options.dialect,
        strict_redirect=options.strict_redirect,
        rate_limit=options.rate_limit,
        faults=options.faults,
        rate_limit_status=options.rate_limit_status,
    )
