"""RM701 where a class made from transformers' Trainer is called: it hands `tokenizer=` on, and Trainer refuses it."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.libraries.argument_rules import RM701
from raymigrate.codemods.phases import Phase
from raymigrate.facts.constructors import constructors, reaches
from raymigrate.facts.instances import TRAINING_ARGUMENTS, instance_of, library_base
from raymigrate.facts.values import class_named
from raymigrate.knowledge.libraries import LIBRARIES, constructor, lineage, look_up, takes

OLD, NEW = "tokenizer", "processing_class"


@codemod(OLD, phase=Phase.LIBRARIES)
def tokenizer_of_subclasses(context: Context) -> None:
    """Renames the argument where it is seen to reach Trainer, and reports it where it may."""
    module = context.module
    for call, keyword in module.keywords(OLD):
        if NEW in {other.arg for other in call.keywords}:
            continue
        line = constructors(module, call)
        if not any(isinstance(found, str) and _is_trainer(found) for found in line):
            if not _looks_like_trainer(context, call):
                continue
        arrives = reaches(line, OLD, _is_trainer)
        message = f"{OLD}= raises a TypeError today"
        if arrives and context.converts(RM701, keyword, f"{message}; now {NEW}=."):
            context.plan.call(call).rename[OLD] = NEW
        elif arrives is None:
            name = ast.unparse(call.func)
            advice = f"Write {NEW}= here, and wherever {name} itself takes the tokenizer or hands it on."
            context.manual(RM701, keyword, f"{message}, if {name} hands its arguments to Trainer.", advice)


def _is_trainer(name: str) -> bool:
    """Whether a class of a library is a Trainer, for all that its constructor shows."""
    taken = constructor(look_up(name).place)
    return taken is not None and takes(taken, NEW)


def _looks_like_trainer(context: Context, call: ast.Call) -> bool:
    """Whether a class of which not all can be seen is called as a Trainer: with a model and TrainingArguments."""
    name = context.module.qualified(call.func)
    made = class_named(context.module, call.func)
    is_derived = made is not None and bool(made[1].bases) and not library_base(*made)
    if not is_derived and (name is None or name.partition(".")[0] in LIBRARIES):
        return False
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    return {"model", "args"} <= given.keys() and (
        TRAINING_ARGUMENTS in lineage(instance_of(context.module, given["args"]))
    )
