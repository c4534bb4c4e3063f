"""What the jobs of Databricks, and the shell scripts that set machines up, install beside Ray.

Only those that install Ray too are read: what others install does not matter.
"""

import json
import re
from collections.abc import Iterator, Sequence

from raymigrate.base.expressions import lazy_regex
from raymigrate.documents.install_commands import install_commands
from raymigrate.documents.json_spans import elements, members, start_of_value
from raymigrate.knowledge.versions import LOWEST, Pin, requirement_pins
from raymigrate.pins.needed import installed

OF_RAY = lazy_regex(r"ray\b(?!-)")
RUNTIME = lazy_regex(r"\bspark_version[\"']?\s*:\s*[\"']?(?P<runtime>(?P<version>\d+\.\d+)\.x[\w.-]*)")
# The Python of the runtimes of Databricks whose Python is too old for Ray, from their release notes; 13.3 has 3.10.
PYTHONS = {"9.1": "3.8", "10.4": "3.8", "11.3": "3.9", "12.2": "3.9"}
TAKE = "Take the runtime 13.3 LTS of Databricks or a later one, which have Python >= {python}."
# Those for machine learning bring a torch: 1.12.1 in 11.3, 2.0.1 in 13.3, 2.3.1 in 15.4, 2.6.0 in 16.4 (release notes).
# transformers takes an older one than 2.6 for none (5.23 utils/import_utils.py, `is_torch_available`).
OF_ML = lazy_regex(r"-ml(?![\w.])")
OLD_TORCH = ((15, 4), "<=2.3.1")  # the last of them, and what it and those before it have
LIST_TORCH = "List torch>={torch} among the libraries, or take a runtime with it: 16.4 LTS ML or a later one."


# The environment that `ray job submit` is given, in quotes of either kind; lists in it, and their items.
JOB_ENVIRONMENT = lazy_regex(
    r"\bray[ \t]+job[ \t]+submit\b(?:[^\n;&|#\\]|\\\r?\n|\\[^\r\n])*?--runtime-env-json(?:=|(?:[ \t]|\\\r?\n)+)"
    r"(?P<quote>[\"'])(?P<json>(?:\\[\s\S]|(?!(?P=quote))[^\\])*)(?P=quote)"
)
PACKAGES_OF_JOB = lazy_regex(r"\\?\"(?:pip|uv|packages)\\?\"\s*:\s*(?P<items>\[(?:\"[^\"\n]*\"|[^\]\"])*\])")
COMMENTED = lazy_regex(r"^[ \t]*#[^\n]*", re.MULTILINE)
PACKAGE_OF_JOB = lazy_regex(r"\"(?P<item>[^\"\\]+)\\?\"")


def shell_script(text: str) -> Iterator[Pin]:
    """What a script of a shell installs, such as the init script of a cluster, and what a job gets that it submits."""
    if "ray" in installed(text):
        yield from install_commands(text)
    yield from submitted_packages(text)


def submitted_packages(text: str) -> Iterator[Pin]:
    """The packages that `ray job submit --runtime-env-json '{"pip": [...]}'` lists."""
    text = COMMENTED.sub(lambda found: " " * len(found[0]), text)
    for environment in JOB_ENVIRONMENT.finditer(text):
        for listed in PACKAGES_OF_JOB.finditer(text, *environment.span("json")):
            for item in PACKAGE_OF_JOB.finditer(text, *listed.span("items")):
                yield from requirement_pins(item["item"], item.start("item"))


def databricks_job(text: str) -> Iterator[Pin]:
    """The libraries and the runtimes of a job or cluster of Databricks, in JSON as its API takes it."""
    if '"pypi"' not in text:
        return
    json.loads(text)  # of other texts no places can be told
    lists = [items for items in _libraries(text, start_of_value(text)) if any(OF_RAY.match(item) for item, _ in items)]
    for item, start in (library for items in lists for library in items):
        yield from requirement_pins(item, start)
    if lists:
        yield from runtime_pins(text, [[item for item, _ in items] for items in lists])


def runtime_pins(text: str, lists: Sequence[Sequence[str]]) -> Iterator[Pin]:
    """What the runtimes of clusters say of their Python and their torch: `spark_version: 11.3.x-gpu-ml-scala2.12`.

    Args:
        text: The text of the file.
        lists: The packages in each list of libraries that has Ray. pip leaves a torch as it is that is there already,
            unless it is listed with a version.
    """
    lists_torch = all(any(pin.name == "torch" for item in items for pin in requirement_pins(item)) for items in lists)
    for found in RUNTIME.finditer(text):
        python, place = PYTHONS.get(found["version"]), (found["runtime"], found.start("runtime"))
        version = tuple(map(int, found["version"].split(".")))
        has_old = not lists_torch and OF_ML.search(found["runtime"]) is not None and version <= OLD_TORCH[0]
        advice = LIST_TORCH.format(torch=LOWEST["torch"])
        pins = [Pin("torch", *place, OLD_TORCH[1], obstacle=advice)] if has_old else []
        if python is not None:
            take = TAKE.format(python=LOWEST["python"])
            pin = Pin("python", *place, f"=={python}.*", obstacle=f"{take} {advice}" if has_old else take)
            pins = [pin] if pin.is_too_low else [pin, *pins]
        yield from pins


def _libraries(text: str, start: int) -> Iterator[list[tuple[str, int]]]:
    """The packages of PyPI in each list of libraries of a value that starts at a place, and where each stands."""
    if text[start] == "{":
        for inner, _ in members(text, start).values():
            yield from _libraries(text, inner)
    elif text[start] == "[":
        inside = [begin for begin, _ in elements(text, start)]
        yield [found for begin in inside if (found := _package(text, begin)) is not None]
        for begin in inside:
            yield from _libraries(text, begin)


def _package(text: str, start: int) -> tuple[str, int] | None:
    """The package of a library that starts at a place, `{"pypi": {"package": "ray==2.3.0"}}`, and where it stands."""
    for key in ("pypi", "package"):
        if text[start] != "{" or (span := members(text, start).get(key)) is None:
            return None
        start, end = span
    item = text[start + 1 : end - 1]
    return (item, start + 1) if text[start] == '"' and "\\" not in item else None
