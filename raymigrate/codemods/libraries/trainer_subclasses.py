"""RM701 where a class made from transformers' Trainer is called: it hands `tokenizer=` on, and Trainer refuses it."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.transformers_arguments import RM701
from raymigrate.codemods.phases import Phase
from raymigrate.facts.instances import TRAINER, TRAINING_ARGUMENTS, instance_of, library_base
from raymigrate.facts.values import definition
from raymigrate.knowledge.libraries import LIBRARIES, lineage

OLD, NEW = "tokenizer", "processing_class"


@codemod(OLD, phase=Phase.LIBRARIES)
def tokenizer_of_subclasses(context: Context) -> None:
    """Renames the argument where the class is in the file, and reports it where the class cannot be seen."""
    for call, keyword in context.module.keywords(OLD):
        if NEW in {other.arg for other in call.keywords}:
            continue
        made = definition(context.module, call.func)
        known = isinstance(made, ast.ClassDef) and TRAINER in lineage(library_base(context.module, made))
        if not known and not _looks_like_trainer(context, call, made):
            continue
        init = _constructor(context, made)
        if _takes(init):
            continue
        message = f"{OLD}= raises a TypeError today"
        if known and init is None:
            if context.converts(RM701, keyword, f"{message}; now {NEW}=."):
                context.plan.call(call).rename[OLD] = NEW
            continue
        name = ast.unparse(call.func)
        context.manual(
            RM701,
            keyword,
            f"{message}, if {name} hands its arguments to Trainer.",
            f"Write {NEW}= here and in the parameters of {name}.",
        )


def _looks_like_trainer(context: Context, call: ast.Call, made: ast.AST | None) -> bool:
    """Whether a class of which not all can be seen is called as a Trainer: with a model and TrainingArguments."""
    name = context.module.qualified(call.func)
    is_derived = isinstance(made, ast.ClassDef) and bool(made.bases) and not library_base(context.module, made)
    if not is_derived and (name is None or name.partition(".")[0] in LIBRARIES):
        return False
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    return {"model", "args"} <= given.keys() and (
        TRAINING_ARGUMENTS in lineage(instance_of(context.module, given["args"]))
    )


def _takes(init: ast.FunctionDef | None) -> bool:
    """Whether a constructor has a parameter of that name itself, and so may do with it what it wants."""
    return init is not None and OLD in {a.arg for a in (*init.args.args, *init.args.kwonlyargs)}


def _constructor(context: Context, made: ast.AST | None, depth: int = 0) -> ast.FunctionDef | None:
    """The `__init__` of a class of the file, its own or that of a base in the file."""
    if not isinstance(made, ast.ClassDef) or depth > 20:
        return None
    own = (node for node in made.body if isinstance(node, ast.FunctionDef) and node.name == "__init__")
    bases = (_constructor(context, definition(context.module, base), depth + 1) for base in made.bases)
    return next(own, None) or next(filter(None, bases), None)
