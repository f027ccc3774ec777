"""The progress bar: in terminals and notebooks only."""

import io
import sys

import IPython
import pytest

from p2p_analytics.progress import is_interactive, loading_bar


class Terminal(io.StringIO):
    """Text stream that claims to be a terminal."""

    def isatty(self) -> bool:
        """Return true."""
        return True


@pytest.mark.parametrize("delay", [0, 60])
def test_a_terminal_shows_payments_and_an_estimate(monkeypatch: pytest.MonkeyPatch, delay: float) -> None:
    """The bar is one line, cleared at the end; it has no implausible total, and does not appear before the delay."""
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert is_interactive()
    with loading_bar(delay=delay) as show:
        show(50, 778_163_053)  # more than a client loads
        show(50, 400)
        show(300, 380)
    shown = sys.stderr.getvalue()
    assert ("300/380" in shown, "778163053" in shown, shown.endswith("\r")) == (not delay, False, not delay)


@pytest.mark.parametrize("stream", [io.StringIO(), None], ids=["a file", "none"])
def test_other_streams_show_nothing(monkeypatch: pytest.MonkeyPatch, stream) -> None:
    """A log file holds no bar."""
    monkeypatch.setattr(sys, "stderr", stream)
    with loading_bar(delay=0) as show:
        show(300, 380)
    assert stream is None or stream.getvalue() == ""


def test_a_notebook_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook has no terminal and still shows the bar."""
    monkeypatch.setitem(sys.modules, "ipykernel", IPython)
    monkeypatch.setattr(IPython, "get_ipython", lambda: IPython)
    assert is_interactive()
