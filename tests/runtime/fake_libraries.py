"""Wheels and a lock of libraries that have their names from the real ones, and nothing else."""

import zipfile
from pathlib import Path

LIBRARIES = {
    "ray": "2.0",
    "transformers": "4.0",
    "accelerate": "0.2",
    "datasets": "2.1",
    "evaluate": "0.4",
    "torch": "9.9.1",
}


def write_wheel(folder: Path, name: str, version: str) -> None:
    """A wheel of empty modules, as small as pip accepts it."""
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}/__init__.py", f"__version__ = {version!r}\n")
        for module in ("data", "train/__init__", "train/huggingface", "train/torch") if name == "ray" else ():
            wheel.writestr(f"{name}/{module}.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")


def write_lock(folder: Path, name: str = "tiny", **changes: str) -> Path:
    pins = {library: version for library, version in LIBRARIES.items() if library != "torch"} | changes
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.txt"
    path.write_text("# For tests.\n" + "".join(f"{library}=={version}\n" for library, version in pins.items()))
    return path
