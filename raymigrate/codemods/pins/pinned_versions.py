"""RM731: pinned versions that the converted code cannot live with.

Here are those in Python: `ray.init(runtime_env={"pip": ["transformers==4.30.2"]})`. Those in requirements and other
files are found by `raymigrate.run.pins`, after the scripts.
"""

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.documents.remarks import RM731
from raymigrate.pins.environments import BY_PACKAGE, KEYWORDS, environment_pins
from raymigrate.pins.evidence import is_converted, is_legacy, uses_ray


@codemod(*KEYWORDS, "RuntimeEnv", *BY_PACKAGE, "ray", phase=Phase.PINS)
def runtime_environments(context: Context) -> None:
    """Raises the ranges of requirements in runtime environments, and of versions given by package."""
    found = {node: pin for node, pin in environment_pins(context.module) if pin.is_too_low}
    if not found:
        return
    text = context.module.text.encode()
    is_asked_for = context.options.names(RM731.code) and uses_ray(text)
    if not is_asked_for and not is_legacy(context.found) and not is_converted(text, found.values()):
        return
    for node, pin in found.items():
        source = context.module.source(node)
        if pin.obstacle or source[1:-1] != node.value:
            context.manual(RM731, node, pin.message, pin.obstacle or f"Write {pin.name}>={pin.lowest}.")
        elif context.converts(RM731, node, pin.message, safe=False):
            start, end = pin.place
            context.plan.replace(node, source[: 1 + start] + pin.replacement + source[1 + end :])
