"""RM803, RM821: an option of the script that decided whether it trains on the CPU, which ScalingConfig decides now."""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.literals import shortened_text
from raymigrate.facts.values import free_name

SEES_GPUS = ("torch", "accelerate", "transformers")  # is_available(): that of the machine, which nobody chooses
NO_EFFECT = (
    "`{}` decided whether this trains on the CPU, and has no effect any more: ScalingConfig(use_gpu=) decides that now."
)
IDLE = (
    "Where `{}` is true, this trains on the CPU of workers that hold a GPU each, in a process group that Ray made for"
    " GPUs: let it decide use_gpu= of the ScalingConfig too."
)


def tell_cpu_option(context: Context, rule: Rule, given: ast.expr | None, *, use_gpu: bool) -> None:
    """Tells of what is given for `cpu=` or `use_cpu=`, where the user of the script may choose it.

    Args:
        context: The module.
        rule: The rule that tells.
        given: The value; None where there is none.
        use_gpu: Whether the workers have GPUs.
    """
    module = context.module
    if given is None or module.constant(given) is not ...:
        return
    names = [part for part in ast.walk(module.value(given)) if isinstance(part, ast.Name)]
    if any(not (module.qualified(name) or "").startswith(SEES_GPUS) and not free_name(module, name) for name in names):
        context.note(rule, given, (IDLE if use_gpu else NO_EFFECT).format(shortened_text(module.source(given))))
