"""What the offline hub holds, where it is kept, and the environment that leads to it."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from raymigrate.runtime.hub import (
    AssetError,
    HubServer,
    assets,
    build_hub,
    cached_hub,
    ensure_hub,
    hub_environment,
    serve_hub,
)
from tests.conftest import ROOT
from tests.runtime.hub_client import ask


def contents(path: Path) -> dict[str, bytes]:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in path.rglob("*") if file.is_file()}


class TestAssets:
    def test_building_twice_gives_the_same_bytes(self, hub_folder: Path, tmp_path: Path) -> None:
        build_hub(tmp_path / "again")
        assert contents(tmp_path / "again") == contents(hub_folder)

    def test_another_process_gives_the_same_bytes(self, hub_folder: Path, tmp_path: Path) -> None:
        """Hash randomization and the like differ from process to process."""
        script = (
            "import sys, pathlib; from raymigrate.runtime.hub import build_hub; build_hub(pathlib.Path(sys.argv[1]))"
        )
        environment = {**os.environ, "PYTHONHASHSEED": "12345"}
        subprocess.run([sys.executable, "-c", script, tmp_path / "again"], check=True, cwd=ROOT, env=environment)
        assert contents(tmp_path / "again") == contents(hub_folder)

    def test_importing_and_building_needs_no_torch(self, tmp_path: Path) -> None:
        script = (
            "import sys, pathlib, raymigrate.runtime.hub as hub\n"
            "heavy = {'torch', 'numpy', 'pyarrow', 'tokenizers', 'transformers', 'datasets', 'evaluate', 'ray'}\n"
            "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
            "hub.build_hub(pathlib.Path(sys.argv[1]))\n"
            "assert not {'torch', 'transformers', 'datasets', 'ray'} & set(sys.modules)\n"
        )
        subprocess.run([sys.executable, "-c", script, tmp_path / "hub"], check=True, cwd=ROOT)

    def test_task_heads_can_be_left_out(self, hub_folder: Path, tmp_path: Path) -> None:
        """All other weights stay the same."""
        build_hub(tmp_path / "hub", task_heads=False)
        weights = "models/google-bert/bert-base-cased/model.safetensors"
        with_heads, without = tensors(hub_folder / weights), tensors(tmp_path / "hub" / weights)
        assert with_heads.keys() - without.keys() == {"classifier.weight", "classifier.bias"}
        assert {name: with_heads[name] for name in without} == without

    def test_an_unknown_size(self, tmp_path: Path) -> None:
        with pytest.raises(AssetError, match="There is no hub of size huge; sizes are: tiny, full"):
            build_hub(tmp_path / "hub", "huge")
        assert not (tmp_path / "hub").exists()

    @pytest.mark.parametrize("library", ["pyarrow", "tokenizers", "safetensors"])
    def test_a_missing_library(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str) -> None:
        for name in [name for name in sys.modules if name.split(".")[0] == library]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(AssetError, match=rf'{library}.* pip install "raymigrate\[verify\]"'):
            build_hub(tmp_path / "hub")

    def test_a_folder_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        for build in (build_hub, ensure_hub):
            # Which of the two the system says depends on the version of Python.
            with pytest.raises(AssetError, match=r"cannot be built in .*/hub: (File exists|Not a directory): /"):
                build(tmp_path / "file" / "hub")

    def test_a_folder_that_holds_no_hub_is_not_served(self, tmp_path: Path) -> None:
        with pytest.raises(AssetError, match="holds no complete offline hub"):
            HubServer(tmp_path)


class TestCache:
    @pytest.fixture
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
        return tmp_path / "raymigrate/hub"

    def test_it_is_built_once(self, cache: Path, hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        place = cached_hub()
        assert place.parent == cache
        assert contents(place) == contents(hub_folder)
        monkeypatch.setattr(assets, "build_hub", lambda *_, **__: pytest.fail("built twice"))
        assert cached_hub() == place
        with serve_hub() as server:
            assert ask(server, "/api/models/gpt2").status == 200

    def test_an_interrupted_build_leaves_nothing(self, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def interrupted(directory: Path, *_: object, **__: object) -> None:
            (directory / "models").mkdir()
            raise KeyboardInterrupt

        monkeypatch.setattr(assets, "build_hub", interrupted)
        with pytest.raises(KeyboardInterrupt):
            cached_hub()
        assert list(cache.iterdir()) == []

    def test_a_quicker_process_wins(self, cache: Path, hub_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def slow(directory: Path, *_: object, **__: object) -> None:
            (directory / "half built").touch()
            shutil.copytree(hub_folder, cache / assets.assets_version())

        monkeypatch.setattr(assets, "build_hub", slow)
        assert contents(cached_hub()) == contents(hub_folder)
        assert [path.name for path in cache.iterdir()] == [assets.assets_version()]

    def test_each_kind_has_its_own_place(self) -> None:
        assert assets.assets_version() != assets.assets_version(task_heads=False)

    def test_a_folder_with_other_things_is_left_alone(self, tmp_path: Path) -> None:
        (tmp_path / "thesis.txt").write_text("precious")
        with pytest.raises(AssetError, match="holds other files; remove it or name another folder"):
            ensure_hub(tmp_path)
        assert contents(tmp_path) == {"thesis.txt": b"precious"}

    def test_an_old_hub_is_not_taken_for_a_current_one(self, tmp_path: Path) -> None:
        (tmp_path / "version.json").write_text('"tiny-0"')
        with pytest.raises(AssetError, match="holds a hub of another version"):
            ensure_hub(tmp_path)

    def test_an_empty_folder_is_filled(self, tmp_path: Path, hub_folder: Path) -> None:
        (tmp_path / "hub").mkdir()
        ensure_hub(tmp_path / "hub")
        assert contents(tmp_path / "hub") == contents(hub_folder)


class TestEnvironment:
    def test_what_leads_elsewhere_is_overridden(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("HF_DATASETS_CACHE", "/home/me/datasets")
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("NO_PROXY", "example.com,127.0.0.1")
        monkeypatch.delenv("TRANSFORMERS_CACHE", raising=False)
        monkeypatch.delenv("no_proxy", raising=False)
        environment = hub_environment("http://127.0.0.1:1", tmp_path)
        assert environment["HF_ENDPOINT"] == "http://127.0.0.1:1"
        assert environment["HF_HOME"] == str(tmp_path)
        assert environment["HF_DATASETS_CACHE"] == str(tmp_path / "datasets")
        assert environment["HF_HUB_OFFLINE"] == "0"
        assert (environment["NO_PROXY"], environment["no_proxy"]) == ("example.com,127.0.0.1", "127.0.0.1")
        assert "TRANSFORMERS_CACHE" not in environment  # old transformers warns of it


def tensors(path: Path) -> dict[str, Any]:
    """Shape and bytes of each tensor of a safetensors file."""
    data = path.read_bytes()
    start = 8 + int.from_bytes(data[:8], "little")
    entries = {name: entry for name, entry in json.loads(data[8:start]).items() if name != "__metadata__"}
    places = {name: [start + offset for offset in entry["data_offsets"]] for name, entry in entries.items()}
    return {name: (entries[name]["shape"], data[first:last]) for name, (first, last) in places.items()}
