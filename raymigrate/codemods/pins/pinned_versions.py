"""RM731: pinned versions that the converted code cannot live with.

Here are those in Python: `ray.init(runtime_env={"pip": ["transformers==4.30.2"]})`, and what MLflow, Kubeflow and
others are given: `log_model(pip_requirements=["transformers==4.30.2"])`. Those in requirements and other files are
found by `raymigrate.run.pins`, after the scripts.
"""

from collections.abc import Collection

from raymigrate.base.submitted_jobs import JobScript
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.pins.listed_for import ListedFor
from raymigrate.codemods.pins.needed_packages import METADATA, uncommented
from raymigrate.documents.remarks import RM731
from raymigrate.knowledge.versions import Pin
from raymigrate.pins.environments import BY_PACKAGE, CONDA_ENV, IN_LISTS, INSTALLERS, KEYWORDS, environment_pins
from raymigrate.pins.evidence import is_converted, is_legacy, uses_ray
from raymigrate.pins.toml import toml_pins

TABLE = "[project]\n"  # in which a pyproject.toml has what such a block has at its top
AT_THE_TOP = "in the dependencies at the top of the script"


@codemod(*KEYWORDS, "RuntimeEnv", *BY_PACKAGE, *IN_LISTS, CONDA_ENV, *INSTALLERS, "ray", phase=Phase.PINS)
def runtime_environments(context: Context) -> None:
    """Raises the ranges of requirements in runtime environments, and of versions that calls are given."""
    found = {node: pin for node, pin in environment_pins(context.module) if pin.is_too_low}
    if not found:
        return
    listed_for = ListedFor(context)
    is_asked_for = context.options.names(RM731.code) and uses_ray(context.module.text.encode())
    for node, pin in found.items():
        scripts = listed_for.scripts([node])
        if not pin.matters_to(script.text for script in scripts):
            continue
        if not is_asked_for and not any(_concerns(script, found.values()) for script in scripts):
            continue
        source = context.module.source(node)
        if pin.obstacle or source[1:-1] != node.value:
            context.manual(RM731, node, pin.message, pin.obstacle or f"Write {pin.name}>={pin.lowest}.")
        elif context.converts(RM731, node, pin.message, safe=False):
            start, end = pin.place
            context.plan.replace(node, source[: 1 + start] + pin.replacement + source[1 + end :])


@codemod("/// script", phase=Phase.PINS)
def dependencies_of_script(context: Context) -> None:
    """Raises the ranges at the top of a script, by which uv and pipx make its environment."""
    module = context.module
    block = METADATA.search(module.text)
    if block is None or not module.tree.body:  # nothing runs there
        return
    pins = [pin for pin in toml_pins(f"{TABLE}{uncommented(block)}") if pin.is_too_low]
    own = JobScript(context.path, module.text, tuple(context.findings))
    is_asked_for = context.options.names(RM731.code) and uses_ray(module.text.encode())
    if not is_asked_for and not _concerns(own, pins):
        return
    raised, place = list[Pin](), module.tree.body[0]
    for pin in (pin for pin in pins if pin.matters_to([module.text])):
        if not pin.replaceable:
            context.manual(RM731, place, pin.message, pin.obstacle or f"Write {pin.name}>={pin.lowest} {AT_THE_TOP}.")
        elif context.converts(RM731, place, pin.message, safe=False):
            raised.append(pin)
    changed, before = block[0], block.start(1) - block.start() - len(TABLE)
    for pin in reversed(raised):  # so that the places of the others stay
        start, end = (before + edge for edge in pin.place)
        changed = f"{changed[:start]}{pin.replacement}{changed[end:]}"
    if raised:
        context.plan.comments[block[0]] = changed


def _concerns(script: JobScript, pins: Collection[Pin]) -> bool:
    """Whether a script is legacy, or was converted: only then are the versions that it runs with anybody's concern."""
    return is_legacy(script.findings) or is_converted(script.text.encode(), pins)
