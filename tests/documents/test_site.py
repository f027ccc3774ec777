"""The site of ``make docs`` builds without warnings, and its pages load nothing from other hosts."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.catalogue import ANALYSES

ROOT = Path(__file__).parents[2]
REMOTE = re.compile(r"""<(?:script|img|iframe)[^>]*\ssrc="(?:https?:)?//|<link[^>]*\shref="(?:https?:)?//""")
REMOTE_STYLE = re.compile(r"""(?:@import|url\()\s*["']?(?:https?:)?//""")
pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the site as ``make docs`` does, with every warning an error."""
    folder = tmp_path_factory.mktemp("site")
    where = ["-c", str(ROOT / "docs"), "-d", str(folder / "doctrees"), str(ROOT), str(folder / "site")]
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", *where]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)  # noqa: S603 - fixed
    assert not done.returncode, done.stderr
    return folder / "site"


def test_every_page_is_in_the_site(site: Path) -> None:
    """Each page and notebook becomes a page; no script, style, font or picture has an address on another host."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "notebooks").glob("*.ipynb")]
    assert [page.name for page in pages if not (site / page.relative_to(ROOT).with_suffix(".html")).exists()] == []
    for pattern, suffix in ((REMOTE, "html"), (REMOTE_STYLE, "css")):
        files = list(site.rglob(f"*.{suffix}"))
        assert files
        assert [path.name for path in files if pattern.search(path.read_text(encoding="utf-8"))] == []


def test_the_reference_has_every_public_name(site: Path) -> None:
    """The API page lists all public names of the package, its plots, sandbox and errors, each with its docstring."""
    classes = (
        name for name, value in vars(p2p.errors).items() if isinstance(value, type) and issubclass(value, Exception)
    )
    modules = {
        "p2p": p2p.__all__,
        "p2p.plots": [name for name, value in vars(p2p.plots).items() if callable(value) and name[0] != "_"],
        "p2p.sandbox": p2p.sandbox.__all__,
        "p2p.errors": classes,
    }
    expected = {f"{module}.{name}" for module, names in modules.items() for name in names}
    expected -= {"p2p.plots", "p2p.sandbox", "p2p.errors", "p2p.P2PAnalyticsError"}  # modules, and a name of p2p.errors
    listed = re.findall(r"^- `([\w.]+)`$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    analyses = {f"{module}.{name}" for module in ("p2p", "p2p.plots") for name in ANALYSES}
    assert {*listed} == expected - analyses
    html = (site / "docs" / "api.html").read_text(encoding="utf-8")
    assert [name for name in sorted(expected) if f'id="{name.replace("p2p.", "p2p_analytics.", 1)}"' not in html] == []
    assert "One row per weekday and hour, always 168." in html
