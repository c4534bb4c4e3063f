"""RM757: fields of TrainingArguments that hold something else in transformers 5: local_rank and fsdp.

transformers 4 wrote the rank of the process on its machine into local_rank, from 4.30 on also where there is only one:
0, where 4.28 left -1. The workers of Ray are always a process group (docs/semantics/libraries.md).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import GUIDE
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.argument_objects import is_arguments_object, may_be_arguments_object
from raymigrate.facts.syntax.guards import is_condition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import last_name

RM757 = Rule(
    "RM757",
    "a field of TrainingArguments that now holds something else",
    "transformers 4 wrote the rank of the process into local_rank. transformers 5 leaves it at -1 unless it is given:"
    " `if args.local_rank == 0` is never true, and what only the first process should do, none does. fsdp was a"
    " list, and is None or True: len() and `in` raise a TypeError.",
    "local_process_index is read: it is what local_rank was, 0 where there is only one process. Where len() or `in`"
    " asked whether fsdp is empty, its value is tested.",
    GUIDE,
)

RANK, NEW_RANK = "local_rank", "local_process_index"
ALWAYS = f"{RANK} of TrainingArguments is -1 on every process today"
# Where the device is not known yet, on which the answer depends (transformers 5.23, training_args.py:1843).
TOO_EARLY = ("__post_init__", "_setup_devices", "__init__", "device", NEW_RANK)
FSDP = "fsdp"
NO_LIST = f"{FSDP} of TrainingArguments is None or True today, and no list"
OPTIONS = (
    'Ask for args.fsdp alone; what its strategy and "offload" said is in args.fsdp_config, as reshard_after_forward and'
    " cpu_offload."
)
# What a comparison of len() with a number asks, by the number and the operator.
ASKS_FOR_MORE = ((0, ast.Gt), (0, ast.NotEq), (1, ast.GtE))
ASKS_FOR_NONE = ((0, ast.Eq), (0, ast.LtE), (1, ast.Lt))
OF_ITEMS = ("list", "tuple", "set", "sorted", "any", "all", "iter", "join")


@codemod(RANK, phase=Phase.LIBRARIES)
def local_ranks(context: Context) -> None:
    """Reads the rank of the process where it is today, and tells of what may be such a read."""
    module = context.module
    if _is_stored(module, RANK):
        return
    for node in _reads(module, RANK):
        if is_arguments_object(module, node.value):
            if not _is_too_early(module, node) and context.converts(RM757, node, f"{ALWAYS}; now {NEW_RANK}."):
                context.plan.replace(node, f"$owner.{NEW_RANK}", owner=node.value)
        elif may_be_arguments_object(module, node.value):
            message = f"If {ast.unparse(node.value)} is a TrainingArguments, its {RANK} is -1 on every process today."
            context.manual(RM757, node, message, f"Read {NEW_RANK} of it then.")
    for call in module.named_calls("getattr"):
        names = [module.constant(argument) for argument in call.args[1:2]]
        if names == [RANK] and is_arguments_object(module, call.args[0]):
            if context.converts(RM757, call, f"{ALWAYS}; now {NEW_RANK}."):
                context.plan.replace(call, f"$owner.{NEW_RANK}", owner=call.args[0])


@codemod(FSDP, phase=Phase.LIBRARIES)
def fsdp_options(context: Context) -> None:
    """Asks whether there is a strategy without counting, and tells of other uses of the list that it was."""
    module = context.module
    if _is_stored(module, FSDP):
        return
    for node in _reads(module, FSDP):
        if not (_is_used_as_list(module, node) and is_arguments_object(module, node.value)):
            continue
        outer, template = _asked(module, node)
        if not template:
            context.manual(RM757, node, f"{NO_LIST}.", OPTIONS)
        elif context.converts(RM757, node, f"{NO_LIST}: len() raises a TypeError; now the value itself is tested."):
            context.plan.replace(outer, template, options=node)


def _reads(module: Module, name: str) -> list[ast.Attribute]:
    """Where an attribute of this name is read, of objects."""
    return [
        node for node in module.attributes(name) if isinstance(node.ctx, ast.Load) and module.qualified(node) is None
    ]


def _is_stored(module: Module, name: str) -> bool:
    """Whether a script says itself what a field holds."""
    owners = [store.value for store in module.stores(name)]
    return any(is_arguments_object(module, owner) or may_be_arguments_object(module, owner) for owner in owners)


def _is_too_early(module: Module, node: ast.Attribute) -> bool:
    """Whether a method of the arguments themselves reads the rank while these are made."""
    function = module.function(node)
    if not isinstance(function, ast.FunctionDef) or not isinstance(module.parent_of[function], ast.ClassDef):
        return False
    first = function.args.args[:1]
    if function.name not in TOO_EARLY or not first or module.definition(node.value) is not first[0]:
        return False
    made = (call for call, _ in module.method_calls(function.name) if module.inside(call, function))
    return not any(call.lineno < node.lineno for call in made)  # super().__post_init__() asks for the device


def _is_used_as_list(module: Module, node: ast.Attribute) -> bool:
    parent = module.parent_of[node]
    if isinstance(parent, ast.Call):
        name = last_name(parent.func)
        return node in parent.args and name in ("len", *OF_ITEMS)
    if isinstance(parent, ast.Compare):
        return any(
            right is node and isinstance(operator, (ast.In, ast.NotIn))
            for operator, right in zip(parent.ops, parent.comparators, strict=True)
        )
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is node
    return isinstance(parent, (ast.Subscript, ast.Attribute)) and parent.value is node


def _asked(module: Module, node: ast.Attribute) -> tuple[ast.expr, str]:
    """What only asks whether the list is empty, with what asks the same today; an empty text for all else."""
    call = module.parent_of[node]
    if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "len" or len(call.args) != 1:
        return node, ""
    outer = module.parent_of[call]
    if isinstance(outer, ast.Compare) and outer.left is call and len(outer.ops) == 1:
        asked = (module.constant(outer.comparators[0]), type(outer.ops[0]))
        is_test = is_condition(module, outer)
        if asked in ASKS_FOR_MORE:
            return outer, "$options" if is_test else "bool($options)"
        return (outer, "not $options" if is_test else "(not $options)") if asked in ASKS_FOR_NONE else (node, "")
    return (call, "$options") if is_condition(module, call) else (node, "")
