"""Images of plots that are not drawn."""

import pytest


@pytest.fixture
def draw_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace every image by an empty one, for tests of a report's text or of files."""
    from p2p_analytics import plots

    monkeypatch.setattr(plots, "to_image", lambda *_arguments, **_options: b"<svg/>")
