"""The lock files of the environments with old libraries."""

import hashlib
import re
from pathlib import Path

import pytest

from raymigrate.runtime import environments
from raymigrate.runtime.environments import locks
from tests.runtime.fake_libraries import write_lock


def test_the_three_environments_have_a_lock() -> None:
    assert environments.names() == ("2.6", "2.7", "current")


@pytest.mark.parametrize("name", environments.names())
def test_every_requirement_of_a_lock_is_an_exact_pin_with_hashes(name: str) -> None:
    text = locks.lock(name).text.replace(" \\\n", " ")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    assert all(re.fullmatch(r"[^#]+?(?: +--hash=sha256:[0-9a-f]{64})+", line) for line in lines)
    pins = [locks.PIN.match(re.sub(r" +--hash=\S+", "", line)) for line in lines]
    assert all(pins), [line for line, pin in zip(lines, pins, strict=True) if not pin]
    packages = [pin[1].lower() for pin in pins if pin]
    assert packages == sorted(set(packages))
    assert len(packages) == len(locks.lock(name).versions) > 60


@pytest.mark.parametrize("name", environments.names())
def test_a_lock_leaves_torch_to_the_running_version_and_tells_what_it_is(name: str) -> None:
    lock = locks.lock(name)
    assert not [package for package in lock.versions if package == "torch" or package.startswith("nvidia")]
    comment = "\n".join(line for line in lock.text.splitlines() if line.startswith("#"))
    assert "raymigrate verify" in comment
    assert "Made on 20" in comment
    assert "For Python 3.10 and 3.11." in comment


def test_the_hugging_face_libraries_are_the_same_in_every_environment() -> None:
    shared = ("transformers", "accelerate", "datasets", "evaluate", "tokenizers", "numpy", "huggingface_hub")
    assert len({tuple(locks.lock(name).versions[package] for package in shared) for name in locks.names()}) == 1
    assert [locks.lock(name).versions["ray"] for name in locks.names()] == ["2.6.3", "2.7.2", "2.60.0"]
    assert locks.lock("2.6").title == "Ray 2.6.3, transformers 4.30.2, accelerate 0.20.3"


def test_locks_are_files_of_the_package() -> None:
    assert locks.FOLDER.is_relative_to(Path(environments.__file__).parent)


def test_the_folder_depends_on_pins_and_torch_but_not_on_comments(tmp_path: Path) -> None:
    path = write_lock(tmp_path)
    first = locks.Lock(path).digest("2.13.0")
    path.write_text("# Another comment.\n" + path.read_text())
    assert locks.Lock(path).digest("2.13.0") == first
    assert locks.Lock(path).digest("2.12.0") != first
    write_lock(tmp_path, ray="2.1")
    assert locks.Lock(path).digest("2.13.0") != first


def test_the_digest_of_a_lock_is_a_short_sha256(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("# c\na==1\n")
    assert locks.Lock(path).digest("2") == hashlib.sha256(b"a==1\ntorch==2").hexdigest()[:12]
