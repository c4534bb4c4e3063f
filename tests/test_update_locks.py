"""`scripts/update_locks.py`: which wheels' hashes a lock gets. The index itself is not asked here."""

from __future__ import annotations

import pytest

from raymigrate.runtime.environments import locks
from scripts.update_locks import is_wanted, supported_tags, with_hashes

FOUND = {"ray": ["a" * 64, "b" * 64], "pyyaml": ["c" * 64], "async-timeout": ["d" * 64]}


@pytest.mark.parametrize(
    "wheel",
    [
        "ray-2.6.3-cp310-cp310-manylinux2014_x86_64.whl",
        "ray-2.6.3-cp311-cp311-manylinux2014_aarch64.whl",
        "ray-2.6.3-cp311-cp311-macosx_11_0_arm64.whl",
        "charset_normalizer-3.5.2-cp310-cp310-macosx_10_9_universal2.whl",
        "psutil-7.2.2-cp36-abi3-manylinux2010_x86_64.manylinux_2_12_x86_64.manylinux_2_28_x86_64.whl",
        "protobuf-7.36.2-cp310-abi3-manylinux_2_28_aarch64.whl",
        "six-1.17.0-py2.py3-none-any.whl",
    ],
)
def test_wheels_that_an_environment_may_install_are_kept(wheel: str) -> None:
    assert is_wanted(wheel, supported_tags())


@pytest.mark.parametrize(
    "wheel",
    [
        "ray-2.6.3-cp39-cp39-manylinux2014_x86_64.whl",
        "ray-2.6.3-cp312-cp312-manylinux2014_x86_64.whl",
        "ray-2.6.3-cp310-cp310-macosx_10_15_x86_64.whl",
        "ray-2.6.3-cp310-cp310-win_amd64.whl",
        "psutil-7.2.2-cp313-cp313t-macosx_11_0_arm64.whl",
        "psutil-7.2.2-cp36-abi3-musllinux_1_2_x86_64.whl",
        "grpcio-1.85.1-cp311-cp311-linux_armv7l.whl",
        "numpy-1.26.4-pp310-pypy310_pp73-manylinux_2_17_x86_64.whl",
    ],
)
def test_other_wheels_are_not(wheel: str) -> None:
    assert not is_wanted(wheel, supported_tags())


def test_hashes_stand_below_their_pins_and_the_rest_stays() -> None:
    text = '# A comment.\nasync-timeout==5.0.1 ; python_version < "3.11"\nPyYAML==6.0.3\nray==2.6.3\n'
    written = with_hashes(text, FOUND)
    assert written == (
        "# A comment.\n"
        f'async-timeout==5.0.1 ; python_version < "3.11" \\\n    --hash=sha256:{"d" * 64}\n'
        f"PyYAML==6.0.3 \\\n    --hash=sha256:{'c' * 64}\n"
        f"ray==2.6.3 \\\n    --hash=sha256:{'a' * 64} \\\n    --hash=sha256:{'b' * 64}\n"
    )
    assert with_hashes(written, FOUND) == written


def test_a_pin_without_a_wheel_is_refused() -> None:
    with pytest.raises(SystemExit, match=r"There is no wheel for numpy==1\.26\.4"):
        with_hashes("numpy==1.26.4\n", FOUND)


@pytest.mark.parametrize("name", locks.names())
def test_versions_are_read_beside_hashes(name: str) -> None:
    versions = locks.lock(name).versions
    assert versions["async-timeout"] == "5.0.1"
    assert versions["transformers"] == "4.30.2"
    assert not [version for version in versions.values() if "\\" in version or " " in version]
