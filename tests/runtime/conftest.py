"""The offline hub, built and served once for each file of tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from raymigrate.runtime.hub import HubServer, build_hub


@pytest.fixture(scope="module")
def hub_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hub") / "assets"
    build_hub(path)
    return path


@pytest.fixture(scope="module")
def hub(hub_folder: Path) -> Iterator[HubServer]:
    with HubServer(hub_folder) as server:
        yield server
