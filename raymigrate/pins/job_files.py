"""What the jobs of Databricks, and the shell scripts that set machines up, install beside Ray.

Only those that install Ray too are read: what others install is nobody's concern.
"""

import json
import re
from collections.abc import Iterator

from raymigrate.documents.install_commands import install_commands
from raymigrate.knowledge.versions import LOWEST, Pin, requirement_pins
from raymigrate.pins.needed import installed

OF_RAY = re.compile(r"ray\b(?!-)")
PACKAGE = re.compile(r"\"package\"\s*:\s*\"(?P<item>[^\"\\\n]+)\"")
RUNTIME = re.compile(r"\bspark_version[\"']?\s*:\s*[\"']?(?P<runtime>(?P<version>\d+\.\d+)\.x[\w.-]*)")
# The Python of each runtime of Databricks, from its release notes; those before 13 have one that is too old for Ray.
PYTHONS = {
    **{"9.1": "3.8", "10.4": "3.8", "11.3": "3.9", "12.2": "3.9"},
    **{"13.3": "3.10", "14.3": "3.10", "15.4": "3.11", "16.4": "3.12"},
}
TAKE = "Take the runtime 13.3 LTS of Databricks or a later one, which have Python >= {python}."


def shell_script(text: str) -> Iterator[Pin]:
    """What a script of a shell installs, such as the init script of a cluster."""
    if "ray" in installed(text):
        yield from install_commands(text)


def databricks_job(text: str) -> Iterator[Pin]:
    """The libraries and the runtimes of a job or cluster of Databricks, in JSON as its API takes it."""
    if '"pypi"' not in text:
        return
    listed = {item for items in _libraries(json.loads(text)) if any(map(OF_RAY.match, items)) for item in items}
    for found in PACKAGE.finditer(text):
        if found["item"] in listed:
            yield from requirement_pins(found["item"], found.start("item"))
    if listed:
        yield from runtime_pins(text)


def runtime_pins(text: str) -> Iterator[Pin]:
    """What the runtimes of clusters say of their Python: `spark_version: 11.3.x-gpu-ml-scala2.12`."""
    for found in RUNTIME.finditer(text):
        python = PYTHONS.get(found["version"])
        if python is not None:
            advice = TAKE.format(python=LOWEST["python"])
            yield Pin("python", found["runtime"], found.start("runtime"), f"=={python}.*", obstacle=advice)


def _libraries(value: object) -> Iterator[list[str]]:
    """The packages of PyPI in each list of libraries."""
    if isinstance(value, dict):
        for inner in value.values():
            yield from _libraries(inner)
    elif isinstance(value, list):
        packages = (each.get("pypi") for each in value if isinstance(each, dict))
        yield [str(package.get("package")) for package in packages if isinstance(package, dict)]
        for inner in value:
            yield from _libraries(inner)
