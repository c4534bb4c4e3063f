"""Versions that a script asks for by itself: in runtime environments of Ray, and in decorators that take packages."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from raymigrate.base.expressions import lazy_regex
from raymigrate.base.submitted_jobs import SubmittedJob
from raymigrate.facts.projects.environment import RUNTIME_ENV
from raymigrate.facts.projects.submitted_jobs import entries_of, submissions
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name, is_call_by_name, named_arguments, seen_items, sources
from raymigrate.facts.values.carried import carried
from raymigrate.knowledge.versions import LOWEST, Pin, conda_pins, package, requirement_pins
from raymigrate.pins.images import image_pin

KEYWORDS = ("runtime_env", "worker_runtime_env")
# Arguments of decorators and steps that take versions by package, as in Metaflow: @pypi(packages={"ray": "2.6.3"}).
BY_PACKAGE = ("packages", "libraries")
# Arguments with lists of packages for what is built from the file: the model that MLflow logs, a component of Kubeflow,
# an environment of Azure ML, an image of ZenML or Flyte, a task of Airflow.
IN_LISTS = (
    *("pip_requirements", "extra_pip_requirements", "packages_to_install", "pip_packages"),
    *("requirements", "packages"),
)
CONDA_ENV = "conda_env"  # of MLflow: a dict with dependencies
INSTALLERS = ("pip_install", "uv_pip_install")  # methods of Modal's images
# Its decorators take ranges as well: plugins/pypi/pip.py and micromamba.py write "==" before plain versions only.
METAFLOW = "metaflow"
NO_RANGE = (
    "What {function}() does with a range is not known, it may run pip install {name}==VERSION: write one version,"
    " {lowest} or later."
)
VERSION = lazy_regex(r"(?:[=<>!~]=?\s*)?\d+(?:\.[\d*]+)*(?:\s*,\s*[=<>!~]=?\s*[\d.*]+)*")


def environment_pins(module: Module) -> Iterator[tuple[ast.Constant, Pin]]:
    """The requirements in the environments that the module describes, each with the string that it is in."""
    for environment in environments(module):
        yield from _pins(module, environment.entries)
    yield from _listed_elsewhere(module)
    for call in dict.fromkeys(call for call, _ in module.keywords(*BY_PACKAGE)):
        given = named_arguments(call)
        packages = [value for name in BY_PACKAGE for value in _entries(module, given.get(name)).items()]
        found = [(value, pin) for name, value in packages if (pin := _version_of(name, value)) is not None]
        python = _version_of("python", given["python"]) if found and "python" in given else None
        if called_name(module, call).partition(".")[0] != METAFLOW:
            found = [(value, _of_own_function(pin, ast.unparse(call.func))) for value, pin in found]
        yield from ((value, pin) for value, pin in found if isinstance(value, ast.Constant))
        if python is not None and isinstance(value := given["python"], ast.Constant):
            yield value, python
    for text in module.of_type(ast.Constant):
        if isinstance(text.value, str) and "ray" in text.value and (pin := image_pin(text.value)) is not None:
            yield text, pin


def _listed_elsewhere(module: Module) -> Iterator[tuple[ast.Constant, Pin]]:
    """The requirements that calls are given for what is built from the file."""
    listed = [keyword.value for _, keyword in module.keywords(*IN_LISTS)]
    strings = [node for value in listed for node in _strings(module, value)]
    for call, _ in module.method_calls(*INSTALLERS):
        for given in call.args:
            several = _strings(module, given)
            strings += several or [s for s in sources(module, given) if isinstance(s, ast.Constant)]
    for node in strings:
        if isinstance(node.value, str):
            yield from ((node, pin) for pin in requirement_pins(node.value))
    for _, keyword in module.keywords(CONDA_ENV):
        yield from _pins(module, {"conda": keyword.value})


def _of_own_function(pin: Pin, function: str) -> Pin:
    """The pin as a function takes it of which nothing is known: one that was given a range takes another one."""
    if not pin.written.removeprefix(f"{pin.name} ")[0].isdigit():
        return pin
    return replace(pin, obstacle=NO_RANGE.format(function=function, name=pin.name, lowest=pin.lowest))


def _version_of(name: str, node: ast.expr) -> Pin | None:
    """The pin that a version is where it is beside the name of its package: `"ray[air]": "2.6.3"`."""
    written = node.value if isinstance(node, ast.Constant) else None
    name = package(name.rpartition("::")[2].partition("[")[0].strip())  # conda names channels: conda-forge::deepspeed
    if name not in LOWEST or not isinstance(written, str) or VERSION.fullmatch(written.strip()) is None:
        return None
    text = written.strip()
    versions = f"=={text}" if text[0].isdigit() else re.sub(r"^=(?!=)", "==", text)
    # "3.9" of Python is any 3.9, as conda and pip tools understand it.
    versions = f"{versions}.*" if name == "python" and text.count(".") == 1 and text[0].isdigit() else versions
    replacement = LOWEST[name] if name == "python" else f">={LOWEST[name]}"
    return Pin(name, f"{name} {text}", 0, versions, (0, len(written)), replacement)


@dataclass(frozen=True)
class Environment:
    """A runtime environment.

    Args:
        entries: Its fields, with their values.
        job: The job that has it; None for one of `ray.init()` or of what is not seen.
        has_owner: Whether it stands where it is used: else a job of the module may be given it.
    """

    entries: dict[str, ast.expr]
    job: SubmittedJob | None = None
    has_owner: bool = True


def environments(module: Module) -> Iterator[Environment]:
    """The runtime environments of a module: first those of the jobs that it submits, then others."""
    submitting = set[ast.Call]()
    for call, job, environment in submissions(module):
        submitting.add(call)
        if environment is not None:
            yield Environment(entries_of(module, environment), job)
    for call in module.calls(*RUNTIME_ENV):
        given = named_arguments(call)
        yield Environment(given, has_owner=False)
    for call, keyword in module.keywords(*KEYWORDS):
        if call not in submitting:
            is_dict = is_call_by_name(call, "dict")
            yield Environment(_entries(module, keyword.value), has_owner=not is_dict)
    for entries in _under_key(module):
        yield Environment(entries, has_owner=False)


def _under_key(module: Module) -> Iterator[dict[str, ast.expr]]:
    """The entries of environments in other dicts: `{"runtime_env": ...}`, `config["runtime_env"]["pip"] = ...`."""
    for key in (key for name in KEYWORDS for key in module.spelling(name) if isinstance(key, ast.Constant)):
        match module.parent_of[key]:
            case ast.Dict(keys=keys, values=values) if key in keys:
                yield _entries(module, values[keys.index(key)])
            case ast.Subscript() as whole if whole.slice is key:
                yield _put_into(module, whole)
            case ast.Call(func=ast.Attribute(attr="setdefault"), args=[first, given]) as whole if first is key:
                yield _entries(module, given) | _put_into(module, whole)


def _put_into(module: Module, environment: ast.expr) -> dict[str, ast.expr]:
    """What a statement makes of an environment, or puts into it: by its keys, or by update()."""
    match module.parent_of[environment]:
        case ast.Assign(value=value) | ast.AugAssign(op=ast.BitOr(), value=value) if value is not environment:
            return _entries(module, value)
        case ast.Subscript(slice=key, ctx=ast.Store()) as field if isinstance(name := module.constant(key), str):
            holder = module.parent_of[field]
            return {name: holder.value} if isinstance(holder, ast.Assign) else {}
        case ast.Attribute(attr="update") as method:
            call = module.parent_of[method]
            given = call.args if isinstance(call, ast.Call) else []
            fields = named_arguments(call) if isinstance(call, ast.Call) else {}
            return {name: value for part in given for name, value in _entries(module, part).items()} | fields
    return {}


def jobs_by_package(module: Module) -> dict[ast.Constant, set[SubmittedJob | None]]:
    """The jobs for which each string with a package is; None among them where it is for the module itself."""
    found: dict[ast.Constant, set[SubmittedJob | None]] = {}
    for environment in environments(module):
        for node in (node for packages in _lists(module, environment.entries) for node in packages):
            if environment.has_owner or node not in found:
                found.setdefault(node, set()).add(environment.job)
    return found


def _entries(module: Module, node: ast.expr | None) -> dict[str, ast.expr]:
    """The entries of a dict that can be seen in this file, of each that a value may be; empty for anything else."""
    found = carried(module, node).entries if node is not None else ()
    return {entry.name: entry.value for entry in found if entry.module is module}


def package_lists(module: Module) -> Iterator[tuple[SubmittedJob | None, list[ast.Constant]]]:
    """The lists of packages in the runtime environments of the module: the job that has each, the strings in it."""
    for environment in environments(module):
        for packages in _lists(module, environment.entries):
            yield environment.job, packages


def _lists(module: Module, environment: dict[str, ast.expr]) -> Iterator[list[ast.Constant]]:
    for key in ("pip", "uv"):
        packages = environment.get(key)
        yield _strings(module, _entries(module, packages).get("packages", packages))
    dependencies = _entries(module, environment.get("conda")).get("dependencies")
    inner = [_entries(module, item).get("pip") for item in _items(module, dependencies)]
    yield [node for part in (dependencies, *inner) for node in _strings(module, part)]


def _pins(module: Module, environment: dict[str, ast.expr]) -> Iterator[tuple[ast.Constant, Pin]]:
    for key in ("pip", "uv"):
        packages = environment.get(key)
        for node in _strings(module, _entries(module, packages).get("packages", packages)):
            yield from ((node, pin) for pin in requirement_pins(str(node.value)))
    dependencies = _entries(module, environment.get("conda")).get("dependencies")
    for node in _strings(module, dependencies):
        yield from ((node, pin) for pin in conda_pins(str(node.value)))
    for item in _items(module, dependencies):
        for node in _strings(module, _entries(module, item).get("pip")):
            yield from ((node, pin) for pin in requirement_pins(str(node.value)))


def _items(module: Module, node: ast.expr | None) -> list[ast.expr]:
    """The items of a list that can be seen, of each that a value may be: by a condition, or as callers give it."""
    found = [] if node is None else seen_items(module, node)
    return found or [item for source in _sources(module, node) for item in seen_items(module, source)]


def _sources(module: Module, node: ast.expr | None) -> list[ast.expr]:
    return [] if node is None else [source for source in sources(module, node) if source is not node]


def _strings(module: Module, node: ast.expr | None) -> list[ast.Constant]:
    found = [source for item in _items(module, node) for source in sources(module, item)]
    return [item for item in found if isinstance(item, ast.Constant) and isinstance(item.value, str)]
