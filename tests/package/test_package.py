"""The built wheel and source distribution: their files, and the commands of an installation away from the checkout."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Callable, Mapping
from email.parser import HeaderParser
from pathlib import Path

import pytest

import p2p_analytics as p2p

ROOT = Path(__file__).parents[2]
LOWEST = Path(sys.prefix) / "lowest"  # an environment with the lowest versions, made by `make soak`
# Folders that test the developers' tools, or start browsers and peers, are left out.
FOLDERS = (
    "analyses archive auth cli client contract export frames history plots privacy records report round_trip sandbox "
    "statements"
)
CLEAN = Path(sys.prefix) / "clean"  # an environment with the dependencies of the package, made by `make test-all`


def build(source: Path, target: str, folder: Path) -> Path:
    """Return the distribution that the build backend writes from a source folder."""
    words = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    subprocess.run(words, cwd=source, capture_output=True, check=True)  # noqa: S603 - our words
    (path,) = folder.iterdir()
    return path


def read_wheel(path: Path) -> dict[str, bytes]:
    """Return the files of a wheel by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel of this checkout."""
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source distribution of this checkout."""
    return build(ROOT, "sdist", tmp_path_factory.mktemp("sdist"))


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    """Each module, template, text and the typing marker are in it; tests, notebooks and caches are not."""
    files = read_wheel(wheel)
    package = ROOT / "p2p_analytics"
    paths = [path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    expected = {str(path.relative_to(ROOT)) for path in paths}
    metadata = {name for name in files if name.partition("/")[0].endswith(".dist-info")}
    assert set(files) - metadata == expected
    assert "p2p_analytics/py.typed" in files
    assert any(name.endswith("licenses/LICENSE") for name in metadata)


def test_the_metadata_is_neutral(wheel: Path) -> None:
    """It has name, version, Python versions and licence, and names no address of a project or an author."""
    (text,) = (content.decode() for name, content in read_wheel(wheel).items() if name.endswith("/METADATA"))
    metadata = HeaderParser().parsestr(text)
    assert (metadata["Name"], metadata["Version"]) == ("p2p_analytics", p2p.__version__)
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "MIT"
    assert re.findall(r"(?m)^Classifier: .* :: 3\.(\d+)$", text) == ["11", "12", "13", "14"]
    assert not {"Home-page", "Project-URL", "Author-email", "Download-URL"} & set(metadata)


def test_the_source_builds_the_same_wheel(source: Path, wheel: Path, tmp_path: Path) -> None:
    """An installation from the source distribution has the files of the wheel, byte for byte."""
    with tarfile.open(source) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = tmp_path.iterdir()
    assert {"LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml"} <= {path.name for path in unpacked.iterdir()}
    rebuilt = build(unpacked, "wheel", tmp_path / "wheel")
    assert read_wheel(rebuilt) == read_wheel(wheel)


@pytest.fixture(scope="module")
def run(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a runner of the installed command in an empty folder, with an empty home and only system tools on PATH."""
    if not CLEAN.is_dir():
        pytest.skip("The package's environment is not installed: `make test-all` installs it if PyPI can be reached")
    words = [sys.executable, "-m", "pip", "--python", str(CLEAN / "bin" / "python"), "install", "--quiet", "--no-deps"]
    words += ["--no-index", "--force-reinstall", "--disable-pip-version-check", "--root-user-action=ignore", str(wheel)]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - our words
    folder = tmp_path_factory.mktemp("folder")
    home = tmp_path_factory.mktemp("home")
    environment: Mapping[str, str] = {"HOME": str(home), "PATH": os.defpath, "LANG": "C.UTF-8"}

    def call(*words: str) -> str:
        command = [str(CLEAN / "bin" / words[0]), *words[1:]]
        ended = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our words
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    return call


def test_the_installed_package_is_the_wheel(run: Callable[..., str]) -> None:
    """Python imports the installed package and not this checkout; the developers' tools are not installed."""
    place = run("python", "-c", "import p2p_analytics; print(p2p_analytics.__file__)").strip()
    assert Path(place).is_relative_to(CLEAN)
    assert shutil.which("pytest", path=str(CLEAN / "bin")) is None
    assert run("p2p-analytics", "--version").strip().endswith(p2p.__version__)


def test_the_installed_commands_work(run: Callable[..., str], tmp_path: Path) -> None:
    """A demo, an import of the files that it wrote, and a report run from the installation alone."""
    demo, archive, report = (str(tmp_path / name) for name in ("demo", "mypayments", "report.html"))
    quiet = ("--progress", "none")
    run("p2p-analytics", "demo", "--statements", "--out", demo, "--people", "8", "--years", "1", *quiet)
    files = sorted(map(str, Path(demo, "statements").glob("*.csv")))
    assert files
    run("p2p-analytics", "import", archive, *files, *quiet)
    run("p2p-analytics", "report", archive, "--out", report, *quiet)
    for page in (Path(demo, "report.html"), Path(report)):
        assert page.read_text(encoding="utf-8").rstrip().endswith("</html>")


@pytest.mark.soak
def test_the_lowest_versions_work() -> None:
    """Their environment has exactly the declared lower bounds, and the tests pass there."""
    python = LOWEST / "bin" / "python"
    if not python.exists():
        pytest.skip("The lowest versions are not installed: `make soak` installs them if uv and PyPI can be reached")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["engines"], *extras["notebook"]]
    code = "import sys; from importlib.metadata import version; print(*[version(name) for name in sys.argv[1:]])"
    bounds = dict(re.fullmatch(r"([\w-]+)>=([\d.]+).*", line).groups() for line in wanted)  # type: ignore[union-attr]
    found = subprocess.run([python, "-c", code, *bounds], capture_output=True, text=True, check=True).stdout.split()  # noqa: S603 - our words
    assert [
        number for number, low in zip(found, bounds.values(), strict=True) if not f"{number}.0.0".startswith(low)
    ] == []
    environment = {name: os.environ[name] for name in ("HOME", "PATH") if name in os.environ}
    tests = [str(ROOT / "tests" / folder) for folder in FOLDERS.split()]
    options = "-m pytest -q -n 2 -p no:cacheprovider -o filterwarnings=default -m"
    words = [python, *options.split(), "not soak"]
    ended = subprocess.run([*words, *tests], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our words
    assert ended.returncode == 0, ended.stdout[-5000:]
