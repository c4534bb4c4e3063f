"""RM723: attributes that the objects of transformers and accelerate no longer have.

`raymigrate/data/removed_names.json` knows names and arguments; these are attributes of objects, found where the file
shows what an object is: `args = TrainingArguments(...)`, `self` in a Trainer subclass, `args` in a callback.
Every row is checked against the installed libraries by tests/test_library_drift.py.
"""

import ast
from collections.abc import Mapping

from raymigrate.codemods import codemod
from raymigrate.codemods.argument_changes import TRAINING_ARGUMENTS_CHANGES
from raymigrate.codemods.transformers_arguments import GUIDE
from raymigrate.context import Context
from raymigrate.facts.legacy import ACCELERATORS, HF_TRAINERS, TRAINING_ARGUMENTS
from raymigrate.facts.module import Module
from raymigrate.facts.trainers import is_transformers_trainer
from raymigrate.facts.values import argument
from raymigrate.findings import Rule
from raymigrate.removed_names import load

RM723 = Rule(
    "RM723",
    "an attribute that is gone",
    "Reading it raises an AttributeError on transformers >= 5 and accelerate >= 1; setting it has no effect.",
    "The attribute that took its place is read; else take the use away.",
    GUIDE,
)

PARSERS = frozenset({"transformers.HfArgumentParser", "transformers.hf_argparser.HfArgumentParser"})
PARSES = frozenset({"parse_args_into_dataclasses", "parse_dict", "parse_json_file", "parse_yaml_file"})
CALLBACKS = frozenset({"transformers.TrainerCallback", "transformers.trainer_callback.TrainerCallback"})
# Attributes that were renamed and hold the same kind of value.
ARGUMENTS: Mapping[str, str] = {
    name: change.name
    for name, change in TRAINING_ARGUMENTS_CHANGES.items()
    if change.name is not None and change.value is None and name not in ("warmup_ratio",)
}
TRAINER: Mapping[str, str | None] = {
    "tokenizer": "processing_class",
    **dict.fromkeys(
        [
            "use_apex",
            "use_cuda_amp",
            "use_amp",
            "do_grad_scaling",
            "scaler",
            "sharded_ddp",
            "fsdp",
            "prediction_loop",
            "init_git_repo",
            "torch_jit_model_eval",
            "ipex_optimize_model",
            "_nested_gather",
            "_pad_across_processes",
            "_gather_and_numpify",
            "_rotate_checkpoints",
            "_sorted_checkpoints",
        ]
    ),
}
ACCELERATOR: Mapping[str, str | None] = {"use_fp16": 'mixed_precision == "fp16"'}
WORDS = ("TrainingArguments", "Seq2SeqTrainingArguments", "Trainer", "Seq2SeqTrainer", "TrainerCallback", "Accelerator")


@codemod(*WORDS, order=62)
def attributes(context: Context) -> None:
    """Renames and reports attributes of TrainingArguments, Trainers and Accelerators."""
    if not context.is_ray_script:
        return
    gone = {**dict.fromkeys(load().removed_arguments("transformers.TrainingArguments")), **ARGUMENTS}
    tables: dict[str, Mapping[str, str | None]] = {"arguments": gone, "trainer": TRAINER, "accelerator": ACCELERATOR}
    for node in context.module.of_type(ast.Attribute):
        if not any(node.attr in table for table in tables.values()) or _is_own(context.module, node):
            continue
        if _goes_away(context, node):
            continue
        kinds = kinds_of(context.module, node.value)
        kind = kinds.copy().pop() if len(kinds) == 1 else None
        if kind is not None and node.attr in tables[kind]:
            _attribute(context, node, tables[kind][node.attr])
        elif node.attr in gone and ("arguments" in kinds or _fills_itself(context, node)):
            message = f"If {context.module.source(node.value)} is a TrainingArguments, reading {node.attr}"
            advice = f"Read {gone[node.attr]} of it then." if gone[node.attr] else "Take it away then."
            context.manual(RM723, node, f"{message} raises an AttributeError today.", advice)


def _attribute(context: Context, node: ast.Attribute, new: str | None) -> None:
    stored = not isinstance(node.ctx, ast.Load)
    effect = "Setting" if stored else "Reading"
    outcome = "has no effect" if stored else "raises an AttributeError"
    message = f"{effect} {node.attr} {outcome} today"
    if new is None or (stored and not new.isidentifier()):
        context.manual(RM723, node, f"{message}.", "Take it away, or use what replaces it.")
    elif context.converts(RM723, node, f"{message}; now {new}."):
        template = f"$owner.{new}" if new.isidentifier() else f"($owner.{new})"
        context.plan.replace(node, template, owner=node.value)


def _goes_away(context: Context, node: ast.Attribute) -> bool:
    """Whether a node is the value of an argument that is taken out."""
    keyword = context.module.parent_of[node]
    call = context.module.parent_of[keyword]
    edit = context.plan.calls.get(call) if isinstance(call, ast.Call) else None
    return isinstance(keyword, ast.keyword) and edit is not None and keyword.arg in edit.remove


def _fills_itself(context: Context, node: ast.Attribute) -> bool:
    """Whether a TrainingArguments is given this under the old name: `evaluation_strategy=x.evaluation_strategy`.

    Then `x` may well be one too, unless the file shows what it is.
    """
    module = context.module
    keyword = module.parent_of[node]
    call = module.parent_of[keyword]
    if not isinstance(keyword, ast.keyword) or keyword.arg != node.attr or not isinstance(call, ast.Call):
        return False
    if module.qualified(call.func) not in TRAINING_ARGUMENTS:
        return False
    known = any(isinstance(source.node, (ast.Call, ast.Dict)) for source in module.origins(node.value))
    return not known and [source.node for source in module.origins(node)] == [node]


def kinds_of(module: Module, node: ast.expr) -> set[str | None]:
    """What an expression can be, in this file and others: see `kind_of`."""
    return {kind_of(source.module, source.node) for source in module.origins(node)}


def kind_of(module: Module, node: ast.expr) -> str | None:
    """What an expression is, where the file shows it: "arguments", "trainer" or "accelerator"."""
    if isinstance(node, ast.Attribute) and node.attr == "args":
        return "arguments" if kind_of(module, node.value) == "trainer" else None
    if isinstance(node, ast.Name) and (parameter := module.definition(node)) is not None:
        if isinstance(parameter, ast.arg):
            return _kind_of_parameter(module, parameter)
    value = module.value(node)
    name = module.qualified(value.func) if isinstance(value, ast.Call) else None
    if name in TRAINING_ARGUMENTS or _is_parsed(module, node):
        return "arguments"
    if name in HF_TRAINERS or (isinstance(value, ast.Call) and _is_trainer(module, module.definition(value.func))):
        return "trainer"
    return "accelerator" if name in ACCELERATORS else None


def _is_parsed(module: Module, node: ast.expr) -> bool:
    """Whether a name holds the TrainingArguments that an HfArgumentParser made."""
    target = module.definition(node)
    place = module.parent_of.get(target) if target is not None else None
    assigned = module.parent_of.get(place) if isinstance(place, ast.Tuple) else place
    call = assigned.value if isinstance(assigned, ast.Assign) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr not in PARSES:
        return False
    parser = module.value(call.func.value)
    if not isinstance(parser, ast.Call) or module.qualified(parser.func) not in PARSERS:
        return False
    given = argument(parser, 0, "dataclass_types")
    classes = module.value(given) if given is not None else None
    listed = classes.elts if isinstance(classes, (ast.Tuple, ast.List)) else [classes] if classes is not None else []
    position = place.elts.index(target) if isinstance(place, ast.Tuple) else 0  # type: ignore[arg-type]
    return position < len(listed) and module.qualified(listed[position]) in TRAINING_ARGUMENTS


def _kind_of_parameter(module: Module, parameter: ast.arg) -> str | None:
    """`self` of a Trainer subclass, or the second parameter of a callback's method."""
    function = module.function(parameter)
    owner = module.parent_of.get(function) if function is not None else None
    if not isinstance(function, ast.FunctionDef) or not isinstance(owner, ast.ClassDef):
        return None
    position = function.args.args.index(parameter) if parameter in function.args.args else None
    if position == 0 and _is_trainer(module, owner) and not function.decorator_list:
        return "trainer"
    if position == 1 and function.name.startswith("on_") and _is_callback(module, owner):
        return "arguments"
    return None


def _is_trainer(module: Module, node: ast.AST | None) -> bool:
    return isinstance(node, ast.ClassDef) and is_transformers_trainer(module, node)


def _is_callback(module: Module, node: ast.ClassDef) -> bool:
    return any(module.qualified(base) in CALLBACKS for base in node.bases)


def _is_own(module: Module, node: ast.Attribute) -> bool:
    """Whether a class of this file sets or defines an attribute of that name itself."""
    return any(
        (
            (
                isinstance(other, ast.Attribute)
                and isinstance(other.ctx, ast.Store)
                and ast.unparse(other.value) == "self"
            )
            and other.attr == node.attr
        )
        or (isinstance(other, ast.FunctionDef) and other.name == node.attr)
        for other in module.nodes
    )
