"""RM705 for fsdp= of TrainingArguments: strategies that only FSDP1 has.

transformers 5.23, training_args.py:2887-2930: FSDP2 is the default, and takes "full_shard" and "shard_grad_op" only
(docs/semantics/traps.md#t40). FSDP1 is still there, for `fsdp_config={"version": 1}`.
"""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.transformers_arguments import RM705, keyword_arguments
from raymigrate.codemods.phases import Phase
from raymigrate.facts.legacy import TRAINING_ARGUMENTS
from raymigrate.facts.module import Module
from raymigrate.facts.values import is_none

REFUSED = ("hybrid_shard", "hybrid_shard_zero2", "no_shard")
ADVICE = 'Give fsdp_config={"version": 1}, which asks for FSDP1, or write "full_shard" and verify the job.'


@codemod("fsdp", phase=Phase.LIBRARIES, after=[keyword_arguments])
def fsdp_strategies(context: Context) -> None:
    """Reports `fsdp="hybrid_shard auto_wrap"`."""
    for call in context.module.calls(*TRAINING_ARGUMENTS):
        given = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        refused = [name for name in REFUSED if "fsdp" in given and name in _options(context.module, given["fsdp"])]
        if refused and _is_fsdp2(context.module, given.get("fsdp_config")):
            message = (
                f"fsdp={refused[0]!r} raises a ValueError today: FSDP2, the default since transformers 5, lacks it."
            )
            context.manual(RM705, given["fsdp"], message, ADVICE)


def _options(module: Module, node: ast.expr) -> list[str]:
    """The options that are written out: in a text, or as the items of a list."""
    value = module.value(node)
    items = value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return [word for item in items if isinstance(text := module.constant(item), str) for word in text.split()]


def _is_fsdp2(module: Module, config: ast.expr | None) -> bool:
    """Whether no other version is asked for, for all that can be seen; a file, or a dict from elsewhere, may do so."""
    if is_none(config):
        return True
    assert config is not None
    entries = module.entries(config)
    return entries is not None and "version" not in entries and "fsdp_version" not in entries
