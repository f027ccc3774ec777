"""A scripted service, and an archive of its payments."""

import shutil
from pathlib import Path

import pytest

import p2p_analytics as p2p
from p2p_analytics.limits import LIMITS
from support.archives.payments_service import Service
from support.scripted import ScriptedService

_TEN_IN_A_FILE = 11  # sixty payments are then in six files, and a file may have one or two more


@pytest.fixture
def new(tmp_path) -> p2p.Archive:
    """Return an archive that is not there yet."""
    return p2p.open_archive(tmp_path / "new")


@pytest.fixture
def service(start_service, payment) -> Service:
    """Serve sixty payments."""
    return Service(start_service, payment)


@pytest.fixture(scope="session")
def synced_folder(tmp_path_factory, payment) -> Path:
    """Return the folder of an archive of the service's payments, ten in a file."""
    folder = tmp_path_factory.mktemp("synced") / "archive"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LIMITS, "archive_rows", _TEN_IN_A_FILE)
        service = Service(ScriptedService, payment)
        with service.client() as client:
            assert p2p.open_archive(folder).sync(client).added == 60
    service.running.close()
    return folder


@pytest.fixture
def archive(synced_folder, tmp_path, set_limit) -> p2p.Archive:
    """Return a copy of this archive."""
    set_limit("archive_rows", _TEN_IN_A_FILE)
    return p2p.open_archive(shutil.copytree(synced_folder, tmp_path / "archive"))
