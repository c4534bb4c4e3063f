"""Wheels and a lock of libraries that have their names from the real ones, and nothing else."""

import hashlib
import io
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


def wheel_bytes(name: str, version: str) -> bytes:
    """A wheel of empty modules, as small as pip accepts it; the same bytes each time."""
    info = f"{name}-{version}.dist-info"
    files = {f"{name}/__init__.py": f"__version__ = {version!r}\n"}
    for module in ("data", "train/__init__", "train/huggingface", "train/torch") if name == "ray" else ():
        files[f"{name}/{module}.py"] = ""
    files[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    files[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    files[f"{info}/RECORD"] = ""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as wheel:
        for path, text in files.items():
            wheel.writestr(zipfile.ZipInfo(path), text)
    return data.getvalue()


def write_wheel(folder: Path, name: str, version: str) -> None:
    """A wheel where pip finds it."""
    (folder / f"{name}-{version}-py3-none-any.whl").write_bytes(wheel_bytes(name, version))


def write_lock(folder: Path, name: str = "tiny", **changes: str) -> Path:
    """A lock of these libraries with the hashes of their wheels."""
    pins = {library: version for library, version in LIBRARIES.items() if library != "torch"} | changes
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.txt"
    lines = ["# For tests."]
    for library, version in pins.items():
        digest = hashlib.sha256(wheel_bytes(library, version)).hexdigest()
        lines += [f"{library}=={version} \\", f"    --hash=sha256:{digest}"]
    path.write_text("\n".join(lines) + "\n")
    return path
