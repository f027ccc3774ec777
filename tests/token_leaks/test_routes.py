"""Known routes by which programs leak a token, each with the test that covers it.

A row has the route, and the file (below ``tests/``) and name of its test. A route that our code can neither open nor
close, such as other people's tools, has no row.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Final

import pytest

from p2p_analytics import cli
from p2p_analytics.cli import _commands
from support.canary import CANARY

TESTS = Path(__file__).parents[1]
PACKAGE = TESTS.parent / "p2p_analytics"

LAB, FORM, SAVED = "browser/test_lab.py", "widgets/test_form.py", "token_leaks/test_saved_widgets.py"
WIRE, CACHE, TOKEN = "client/http/test_transport.py", "client/http/test_cache.py", "auth/test_token.py"
LISTENER, CANARIES, OWN = "auth/test_listener.py", "token_leaks/test_outputs.py", "token_leaks/test_routes.py"
MASKING = "client/http/test_token_masking.py"
STOPS, ANYWHERE = "token_leaks/test_interrupts.py", "token_leaks/test_interrupts_anywhere.py"
PRINTERS = "token_leaks/test_traceback_printers.py"
KERNEL = "widgets/test_form_in_kernel.py"

WIDGETS: Final = {
    "repeated by the kernel to all its clients": (
        "token_leaks/test_widget_messages.py",
        "test_no_message_holds_what_was_pasted",
    ),
    "typed and not entered, then saved with the state of widgets": (LAB, "test_by_pasting_and_by_declining"),
    "entered, then saved, and the checkpoint": (LAB, "test_by_pasting_and_by_declining"),
    "signed in, expired and signed in again, then saved": (LAB, "test_from_the_link_to_a_saved_plot"),
    "pasted while the kernel is busy": (LAB, "test_a_busy_kernel_disables_the_box"),
    "prompt by getpass": (LAB, "test_a_prompt_survives_run_all"),
    "prompt by input()": (OWN, "test_functions_that_show_secrets_are_never_used"),
    "repr of a widget as the text of an output": (SAVED, "test_no_route_saves_a_token"),
    "nbconvert --execute, the form shown": (SAVED, "test_no_route_saves_a_token"),
    "nbconvert --execute, the form never shown": (SAVED, "test_no_route_saves_a_token"),
    "nbconvert to HTML": (SAVED, "test_no_route_saves_a_token"),
    "our notebooks, executed with widget state": (CANARIES, "test_an_executed_notebook_holds_no_token"),
    "our notebooks, as committed": ("notebooks/test_guard.py", "test_nothing_private_is_saved"),
}
REQUESTS: Final = {
    "text of 401, 403 and 404": (CANARIES, "test_no_error_quotes_the_token"),
    "text of 429 and 500": (CANARIES, "test_no_broken_answer_quotes_the_token"),
    "connection refused": (CANARIES, "test_no_error_quotes_the_token"),
    "no answer in time, with its retries": (CANARIES, "test_no_broken_answer_quotes_the_token"),
    "a redirect, a reset, no JSON": (CANARIES, "test_no_broken_answer_quotes_the_token"),
    "texts of all other errors: DNS, TLS, retries, schema": (
        WIRE,
        "test_every_error_of_requests_and_urllib3_is_mapped",
    ),
    "the request attribute of an error": (CANARIES, "test_no_broken_answer_quotes_the_token"),
    "urllib3's warnings of retries, and its log at DEBUG": (CANARIES, "test_no_broken_answer_quotes_the_token"),
    "exceptions and frames of a log record of urllib3": (MASKING, "test_a_log_record_leads_to_no_frame_with_the_token"),
    "debuglevel of http.client": (MASKING, "test_debuglevel_prints_no_request_of_ours"),
    "address, history and Location of a response": (MASKING, "test_only_the_wire_holds_the_token"),
    "a pickled session or response": (MASKING, "test_only_the_wire_holds_the_token"),
    "parameters of the session": (CANARIES, "test_a_load_leaves_no_token_behind"),
    "a token that the service repeats": (MASKING, "test_a_token_in_a_next_link_is_masked"),
    "the same, in a next link with escaped characters": (
        MASKING,
        "test_a_token_after_an_escaped_equals_sign_is_masked",
    ),
    "the same, in a record": (MASKING, "test_a_token_in_a_record_is_masked"),
    "the form of a write": (
        "client/test_desk_connections.py",
        "test_a_reset_before_the_form_was_read_is_an_unknown_outcome",
    ),
    "the cache: request, key, answer": (CACHE, "test_the_files_are_private_and_hold_no_token_or_cookie"),
    "the cache: another user's answers": (CACHE, "test_two_users_share_a_folder_and_nothing_else"),
    "the cache: the mode of its files": (CACHE, "test_the_files_are_private_and_hold_no_token_or_cookie"),
    "a URL with the service's URL as a prefix": (WIRE, "test_a_session_reaches_only_the_service"),
    "a header from netrc": (WIRE, "test_netrc_adds_nothing"),
    "a proxy for plain http": (WIRE, "test_loopback_bypasses_proxies"),
    "a token that the service repeats in another encoding": (
        MASKING,
        "test_a_token_that_the_service_reencodes_is_not_quoted",
    ),
    "the same, in the usual encodings": ("auth/test_redaction.py", "test_every_encoding_is_redacted"),
    "the same, a fragment": ("auth/test_redaction.py", "test_a_fragment_of_eight_characters_is_redacted"),
}
OBJECTS: Final = {
    "repr, str and format of the token": (TOKEN, "test_no_way_of_printing_shows_the_token"),
    "pickle, copy, %store, vars, hash": (TOKEN, "test_a_token_cannot_be_serialised"),
    "comparison": (TOKEN, "test_equality_is_identity"),
    "debuggers, rich.inspect, inspect.getmembers, __getstate__": (TOKEN, "test_introspection_shows_no_secret"),
    "asdict, pickle, deepcopy and multiprocessing of objects with a token": (
        TOKEN,
        "test_objects_with_a_token_do_not_show_it",
    ),
    "repr of objects with a token": (CANARIES, "test_the_server_flow_leaves_no_secret_behind"),
}
ELSEWHERE: Final = {
    "the listener's log of requests": (LISTENER, "test_nothing_is_logged"),
    "the address bar, and the browser's session restore": (LAB, "test_from_the_link_to_a_saved_plot"),
    "the listener's pages in the browser's cache, and as a referrer": (LISTENER, "test_headers"),
    "a traceback with variables: %xmode Verbose, rich and pytest -l": (
        CANARIES, "test_no_error_quotes_the_token",
    ),
    "%xmode Verbose in a notebook": (SAVED, "test_no_route_saves_a_token"),
    "the same, when a prompt is interrupted": (KERNEL, "test_an_interrupted_prompt_does_not_show_pasted_text"),
    "the same, for a malformed variable": ("auth/test_sources.py", "test_a_malformed_token_is_in_no_traceback"),
    "defaults in --help": (OWN, "test_help_shows_no_variable"),
    "an argument in process lists and shell histories": (OWN, "test_no_command_takes_a_token"),
    "the nonce of the redirect, as an argument of the browser": (
        "cli/sign_in/test_browser.py", "test_no_process_list_shows_where_the_browser_is_sent",
    ),
    "the process list during a command": (CANARIES, "test_signing_in_leaves_the_token_in_the_state_file_alone"),
    "the output of the demo and its sandbox at DEBUG": (CANARIES, "test_the_demo_leaves_no_token_behind"),
    "summaries as JSON, logged progress, tables on standard output and completion scripts": (
        "token_leaks/test_command_output.py", "test_no_command_prints_the_token",
    ),
    "the statements, journal and people.csv of an archive": (
        "token_leaks/test_command_output.py", "test_no_command_prints_the_token",
    ),
    "statements: frames, reprs, errors, pairing with a bank, imports, their undo and files": (
        "token_leaks/test_statements.py", "test_the_token_of_the_environment_is_in_nothing",
    ),
    "a token in a note of a statement": (
        "token_leaks/test_statements.py", "test_a_token_in_a_note_is_quoted_by_nothing",
    ),
    "the statement files of a sandbox": ("sandbox/statements/test_arguments.py", "test_no_file_holds_a_token"),
    "the sign-in without a connection": ("cli/sign_in/test_whoami.py", "test_offline"),
    "logs of a sandbox in this process, down to level 1": ("sandbox/test_logging.py", "test_no_record_holds_a_token"),
    "debuglevel of http.client, in the sandbox's scripted browser": (
        "sandbox/test_logging.py", "test_a_process_that_debugs_its_http",
    ),
    "IPython's history of cells": (LAB, "test_by_pasting_and_by_declining"),
    "a parameters cell for papermill": ("notebooks/test_guard.py", "test_no_cell_hides_a_failure"),
    "attrs of a frame, Parquet and pickle": (CANARIES, "test_a_load_leaves_no_token_behind"),
    "CSV, report and plots": (CANARIES, "test_a_load_leaves_no_token_behind"),
}  # fmt: skip
INTERRUPTS: Final = {
    "Ctrl-C, or any other exception, in the middle of a request": (STOPS, "test_in_the_middle_of_a_request"),
    "the same, while waiting for a retry": (STOPS, "test_in_the_wait_before_a_retry"),
    "the same, from a signal handler": (STOPS, "test_by_a_signal"),
    "the same, set by another thread": (STOPS, "test_by_another_thread"),
    "the same, in a worker of a load": (STOPS, "test_in_a_thread_of_a_load"),
    "the same, twice at once": (STOPS, "test_by_a_second_one_while_the_first_is_redacted"),
    "the same, wherever else a secret is handled": (ANYWHERE, "test_at_any_place"),
    "tools that print errors with variables, logs with stacks, asyncio's debug mode": (
        PRINTERS,
        "test_no_tool_prints_the_token",
    ),
}
ROWS: Final = {**INTERRUPTS, **WIDGETS, **REQUESTS, **OBJECTS, **ELSEWHERE}


@pytest.mark.parametrize("route", ROWS)
def test_each_route_has_its_test(route: str) -> None:
    """The test of the row exists under its name and asserts something."""
    path, name = ROWS[route]
    tree = ast.parse((TESTS / path).read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    assert len(found) == 1
    assert any(isinstance(node, ast.Assert | ast.With) for node in ast.walk(found[0]))


def test_functions_that_show_secrets_are_never_used() -> None:
    """No code echoes typed input, prints traffic, or shows variables and defaults."""
    shows = re.compile(
        r"(?<![\w.])input\(|set_debuglevel(?!\(0\))|debuglevel = (?!0)|show_locals|capture_locals"
        r"|ArgumentDefaultsHelpFormatter"
    )
    files = sorted(PACKAGE.rglob("*.py"))
    assert len(files) > 100
    assert [path.name for path in files if shows.search(path.read_text(encoding="utf-8"))] == []
    assert shows.search("token = input('Token: ')")


def commands() -> list[str]:
    """Return the names of all commands."""
    return re.findall(r"^    (\w+) ", _commands.build_parser().format_help().partition("commands:")[2], re.MULTILINE)


def test_help_shows_no_variable(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With all variables set, help shows no value of them."""
    for name in ("ACCESS_TOKEN", "CLIENT_SECRET", "CLIENT_ID", "BASE_URL"):
        monkeypatch.setenv(f"P2P_{name}", CANARY)
    assert {"login", "whoami", "demo"} <= set(commands())
    for words in ([], *([command] for command in commands())):
        with pytest.raises(SystemExit):
            cli.main([*words, "--help"])
        printed = capsys.readouterr()
        assert "usage:" in printed.out
        assert CANARY not in printed.out + printed.err


@pytest.mark.parametrize("option", ["--token", "--access-token", "--secret", "--client-secret", "--refresh-token"])
def test_no_command_takes_a_token(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No command has an option for a secret."""
    for command in commands():
        for words in ([], ["archive"], ["archive", "out.csv"]):  # The number of arguments differs by command.
            with pytest.raises(SystemExit) as caught:
                cli.main([command, *words, f"{option}=x"])
            assert caught.value.code == 2
            printed = capsys.readouterr().err
            if f": unrecognized arguments: {option}" in printed:
                break
        else:
            pytest.fail(f"{command} has an option {option}: {printed}")
