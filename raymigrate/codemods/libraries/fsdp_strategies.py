"""RM705 for fsdp= of TrainingArguments: FSDP2 takes the place of FSDP1, which alone has some strategies.

transformers 5.23, training_args.py:2775-2930: FSDP2 is the default, and takes "full_shard" and "shard_grad_op" only
(docs/semantics/traps.md#t40). FSDP1 is still there, for `fsdp_config={"version": 1}`.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM705
from raymigrate.codemods.libraries.old_transformers import is_for_old_transformers
from raymigrate.codemods.libraries.transformers_arguments import keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.own_arguments import calls_without_own
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none, named_arguments

REFUSED = ("hybrid_shard", "hybrid_shard_zero2", "no_shard")
ADVICE = 'Give fsdp_config={"version": 1}, which asks for FSDP1, or write "full_shard" and verify the job.'
OTHER = (
    "fsdp= meant FSDP1, and means FSDP2 since transformers 5, which wraps each layer of the model, also without"
    ' "auto_wrap": losses need not agree to the last digit'
)
OTHER_ADVICE = (
    'Give fsdp_config={"version": 1}, which asks for FSDP1 as long as transformers has it, or keep FSDP2 and verify the'
    " job."
)


@codemod("fsdp", phase=Phase.LIBRARIES, after=[keyword_arguments])
def fsdp_strategies(context: Context) -> None:
    """Reports `fsdp="hybrid_shard auto_wrap"`, and in a job of legacy Ray every other strategy."""
    module = context.module
    for call in calls_without_own(module, "fsdp"):
        given = named_arguments(call)
        if "fsdp" not in given or _is_off(module, given["fsdp"]):
            continue
        names_version = _names_version(module, given.get("fsdp_config"))
        refused = [name for name in REFUSED if name in _options(module, given["fsdp"])]
        if refused and names_version is False:
            message = (
                f"fsdp={refused[0]!r} raises a ValueError today: FSDP2, the default since transformers 5, lacks it."
            )
            context.manual(RM705, given["fsdp"], message, ADVICE)
        elif is_for_old_transformers(context) and names_version is not True:
            unseen = "" if names_version is False else ', unless its configuration has "version": 1'
            context.manual(RM705, given["fsdp"], f"{OTHER}{unseen}.", OTHER_ADVICE)


def _is_off(module: Module, node: ast.expr) -> bool:
    """Whether nothing is sharded, for all that can be seen."""
    value = module.value(node)
    if isinstance(value, (ast.List, ast.Tuple)):
        return not value.elts
    return isinstance(value, ast.Constant) and not value.value


def _options(module: Module, node: ast.expr) -> list[str]:
    """The options that are written out: in a text, or as the items of a list."""
    value = module.value(node)
    items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return [word for item in items if isinstance(text := module.constant(item), str) for word in text.split()]


def _names_version(module: Module, config: ast.expr | None) -> bool | None:
    """Whether a configuration asks for a version; None where it cannot be seen: a file, or a dict from elsewhere."""
    if is_none(config):
        return False
    assert config is not None
    entries = module.entries(config)
    return None if entries is None else "version" in entries or "fsdp_version" in entries
