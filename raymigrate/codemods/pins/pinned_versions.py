"""RM731: pinned versions that the converted code cannot live with.

Here are those in Python: `ray.init(runtime_env={"pip": ["transformers==4.30.2"]})`. Those in requirements and other
files are found by `raymigrate.run.pins`, after the scripts.
"""

import ast
import re
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.documents.remarks import RM731, pin_message
from raymigrate.facts.values import seen_entries, seen_items, sources
from raymigrate.knowledge.versions import LOWEST, Pin, conda_pins, package, requirement_pins
from raymigrate.pins.evidence import is_converted, is_legacy

KEYWORDS = ("runtime_env", "worker_runtime_env")
# Arguments of decorators and steps that take versions by package, as in Metaflow: @pypi(packages={"ray": "2.6.3"}).
BY_PACKAGE = ("packages", "libraries")
VERSION = re.compile(r"(?:[=<>!~]=?\s*)?\d+(?:\.[\d*]+)*(?:\s*,\s*[=<>!~]=?\s*[\d.*]+)*")
RUNTIME_ENV = ("ray.runtime_env.RuntimeEnv",)


@codemod(*KEYWORDS, "RuntimeEnv", *BY_PACKAGE, order=97)
def runtime_environments(context: Context) -> None:
    """Raises the ranges of requirements in runtime environments, and of versions given by package."""
    found = {node: pin for node, pin in environment_pins(context) if pin.is_too_low}
    if not found:
        return
    if not is_legacy(context.findings) and not is_converted(context.module.text.encode(), found.values()):
        return
    for node, pin in found.items():
        source = context.module.source(node)
        if pin.obstacle or source[1:-1] != node.value:
            context.manual(RM731, node, pin_message(pin), pin.obstacle or f"Write {pin.name}>={LOWEST[pin.name]}.")
        elif context.converts(RM731, node, pin_message(pin), safe=False):
            start, end = pin.place
            context.plan.replace(node, source[: 1 + start] + pin.replacement + source[1 + end :])


def environment_pins(context: Context) -> Iterator[tuple[ast.Constant, Pin]]:
    """The requirements in the environments that the module describes, each with the string that it is in."""
    for environment in _environments(context):
        yield from _pins(context, environment)
    for call in context.module.of_type(ast.Call):
        given = {keyword.arg: keyword.value for keyword in call.keywords}
        packages = [value for name in BY_PACKAGE for value in _entries(context, given.get(name)).items()]
        found = [(value, pin) for name, value in packages if (pin := _version_of(name, value)) is not None]
        python = _version_of("python", given["python"]) if found and "python" in given else None
        yield from ((value, pin) for value, pin in found if isinstance(value, ast.Constant))
        if python is not None and isinstance(value := given["python"], ast.Constant):
            yield value, python


def _version_of(name: str, node: ast.expr) -> Pin | None:
    """The pin that a version is where it is beside the name of its package: `"ray[air]": "2.6.3"`."""
    written = node.value if isinstance(node, ast.Constant) else None
    name = package(name.partition("[")[0].strip())
    if name not in LOWEST or not isinstance(written, str) or VERSION.fullmatch(written.strip()) is None:
        return None
    text = written.strip()
    versions = f"=={text}" if text[0].isdigit() else re.sub(r"^=(?!=)", "==", text)
    # "3.9" of Python is any 3.9, as conda and pip tools understand it.
    versions = f"{versions}.*" if name == "python" and text.count(".") == 1 and text[0].isdigit() else versions
    replacement = LOWEST[name] if name == "python" else f">={LOWEST[name]}"
    return Pin(name, f"{name} {text}", 0, versions, (0, len(written)), replacement)


def _environments(context: Context) -> Iterator[dict[str, ast.expr]]:
    """The runtime environments that the module gives to calls, by key."""
    module = context.module
    for call in (node for node in module.nodes if isinstance(node, ast.Call)):
        if module.qualified(call.func) in RUNTIME_ENV:
            yield {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        for keyword in call.keywords:
            if keyword.arg in KEYWORDS:
                yield _entries(context, keyword.value)


def _entries(context: Context, node: ast.expr | None) -> dict[str, ast.expr]:
    """The entries of a dict that can be seen; empty for anything else."""
    return {} if node is None else seen_entries(context.module, node)


def package_lists(context: Context) -> Iterator[list[ast.Constant]]:
    """The lists of packages in the runtime environments of the module, each as the strings in it."""
    for environment in _environments(context):
        for key in ("pip", "uv"):
            packages = environment.get(key)
            yield _strings(context, _entries(context, packages).get("packages", packages))
        dependencies = _entries(context, environment.get("conda")).get("dependencies")
        inner = [_entries(context, item).get("pip") for item in _items(context, dependencies)]
        yield [node for part in (dependencies, *inner) for node in _strings(context, part)]


def _pins(context: Context, environment: dict[str, ast.expr]) -> Iterator[tuple[ast.Constant, Pin]]:
    for key in ("pip", "uv"):
        packages = environment.get(key)
        for node in _strings(context, _entries(context, packages).get("packages", packages)):
            yield from ((node, pin) for pin in requirement_pins(str(node.value)))
    dependencies = _entries(context, environment.get("conda")).get("dependencies")
    for node in _strings(context, dependencies):
        yield from ((node, pin) for pin in conda_pins(str(node.value)))
    for item in _items(context, dependencies):
        for node in _strings(context, _entries(context, item).get("pip")):
            yield from ((node, pin) for pin in requirement_pins(str(node.value)))


def _items(context: Context, node: ast.expr | None) -> list[ast.expr]:
    return [] if node is None else seen_items(context.module, node)


def _strings(context: Context, node: ast.expr | None) -> list[ast.Constant]:
    found = [source for item in _items(context, node) for source in sources(context.module, item)]
    return [item for item in found if isinstance(item, ast.Constant) and isinstance(item.value, str)]
