"""Which Python the files of pyenv, uv, asdf, Heroku, Binder and containers of editors ask for."""

import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.knowledge.versions import LOWEST, Pin
from raymigrate.pins.images import image_pin, python_image_pin

VERSION = r"3(?:\.\d+){1,2}"
OF_PYENV = lazy_regex(
    rf"^[ \t]*(?:cpython[-@]|python-)?(?P<version>{VERSION})(?:/envs/\S*)?[ \t]*(?:#[^\n]*)?\r?$", re.M
)
OF_ASDF = lazy_regex(rf"^[ \t]*python[ \t]+(?P<version>{VERSION})(?=[ \t\r\n#]|\Z)", re.M)
OF_HEROKU = lazy_regex(rf"^[ \t]*python-(?P<version>{VERSION})[ \t]*\r?$", re.M)
COMMENT = lazy_regex(r"^[ \t]*//[^\n]*", re.M)
IMAGE = lazy_regex(r"\"image\"[ \t]*:[ \t]*\"(?P<image>[^\"\n]+)\"")
# The feature that installs Python, and the argument of the templates' Dockerfiles: "3.8", "0-3.8-buster".
FEATURE = lazy_regex(rf"features/python(?::[\w.]+)?\"\s*:\s*\{{[^{{}}]*?\"version\"\s*:\s*\"(?P<version>{VERSION})\"")
VARIANT = lazy_regex(rf"\"(?:VARIANT|PYTHON_VERSION)\"\s*:\s*\"(?:\d+-)?(?P<version>{VERSION})(?=[-\"])")


def _pins(pattern: re.Pattern[str], text: str) -> Iterator[Pin]:
    """The versions that a pattern finds, each with what takes its place; "3.8" stands for any 3.8."""
    for found in pattern.finditer(text):
        version = found["version"]
        versions = f"=={version}" + ("" if version.count(".") > 1 else ".*")
        place = found.span("version")
        yield Pin("python", f"python {version}", place[0], versions, place, LOWEST["python"])


def python_version(text: str) -> Iterator[Pin]:
    """`.python-version` of pyenv and uv: a version in a line, or several."""
    return _pins(OF_PYENV, text)


def tool_versions(text: str) -> Iterator[Pin]:
    """`.tool-versions` of asdf and mise."""
    return _pins(OF_ASDF, text)


def runtime_text(text: str) -> Iterator[Pin]:
    """`runtime.txt` of Heroku and Binder."""
    return _pins(OF_HEROKU, text)


def devcontainer(text: str) -> Iterator[Pin]:
    """`devcontainer.json`: its image, or the Python that is put into it."""
    text = COMMENT.sub(lambda found: " " * len(found[0]), text)
    for found in IMAGE.finditer(text):
        start = found.start("image")
        pin = image_pin(found["image"], start) or python_image_pin(found["image"], start)
        if pin is not None:
            yield pin
    yield from _pins(FEATURE, text)
    yield from _pins(VARIANT, text)
