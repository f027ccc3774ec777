"""The progress bar: in terminals and notebooks only."""

from __future__ import annotations

import io
import sys

import pytest

from p2p_analytics.progress import is_interactive, loading_bar


class Terminal(io.StringIO):
    """Text stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return true."""
        return True


def test_a_terminal_shows_payments_and_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bar is one line with the count and the estimated total, cleared at the end."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert is_interactive()
    with loading_bar(delay=0) as show:
        show(50, 778_163_053)
        show(50, 400)
        show(300, 380)
    assert "300/380" in terminal.getvalue()
    assert "778163053" not in terminal.getvalue()  # more than a client loads: no estimate
    assert terminal.getvalue().endswith("\r")


@pytest.mark.parametrize("stream", [io.StringIO(), None], ids=["a file", "none"])
def test_other_streams_show_nothing(monkeypatch: pytest.MonkeyPatch, stream) -> None:
    """A log file holds no bar."""
    monkeypatch.setattr(sys, "stderr", stream)
    with loading_bar(delay=0) as show:
        show(300, 380)
    assert stream is None or stream.getvalue() == ""


def test_a_short_load_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bar appears if the load ends before the delay."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with loading_bar(delay=60) as show:
        show(300, 300)
    assert "300" not in terminal.getvalue()


def test_a_notebook_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook has no terminal and still shows the bar."""
    IPython = pytest.importorskip("IPython")  # noqa: N806 - a module
    monkeypatch.setitem(sys.modules, "ipykernel", IPython)
    monkeypatch.setattr(IPython, "get_ipython", lambda: IPython)
    assert is_interactive()
