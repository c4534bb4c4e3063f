"""RM122: functions of the legacy trainers that are not in the project, so that nobody read them."""

import ast
from collections.abc import Iterable

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.projects.callees import Callee, callees
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.literals import shortened_text
from raymigrate.facts.syntax.magics import runs_other_files
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.named_lines import line_of_file

SEEN = "Convert with the function in this file or in another one of its project; or read it by hand"

RM122 = Rule(
    "RM122",
    "an init function or a training loop that was not found",
    "The trainer is converted, but its function is not in the project, or is chosen at run time: it was not read, and"
    " fails where it uses what current Ray and the Hugging Face libraries no longer have.",
    f"{SEEN}.",
    "https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide",
)
# Where a trainer is given None and a test expects the error (RM428).
WITH_ITS_BLOCK = "A test waits for this: take it out with the block around it."
OF_INIT = (
    f"{SEEN}: its Trainer has to run on transformers 5 (evaluation_strategy= is eval_strategy=, tokenizer= is"
    " processing_class=)."
)
# Ray 2.60 train/v2/_internal/util.py:74: RM204 says it of a function that is seen.
ONE_REQUIRED = (
    "Ray >= 2.51 passes it the config only if it has a parameter without a default; else it is called without, and no"
    " error says so."
)
OF_LOOP = (
    f"{SEEN}: it has to run on Ray 2.51 (session.report() is ray.train.report()), transformers 5, accelerate 1.3."
    f" {ONE_REQUIRED}"
)


def report_loop_not_found(context: Context, call: TrainerCall) -> None:
    """Reports a training loop that the project does not show."""
    report_not_found(context, call, not_found(context.module, call.arguments[call.first]), OF_LOOP)


def not_found(module: Module, loop: ast.expr) -> list[Callee]:
    """What a training function may be that the project does not show."""
    return [found for found in callees(module, loop) if found.is_unknown]


def on_its_config(module: Module, loop: ast.expr | None) -> str:
    """What to say of the config of a training function that the project does not show; "" where it does."""
    return f" Of the training function: {ONE_REQUIRED}" if loop is not None and not_found(module, loop) else ""


def report_not_found(context: Context, call: TrainerCall, unfound: Iterable[Callee], advice: str) -> None:
    """Reports functions that the project does not show, each once.

    Args:
        context: The module.
        call: The trainer call, which is converted.
        unfound: What stands for the functions.
        advice: What to do.
    """
    named = dict.fromkeys(_named(context.module, one) for one in unfound)
    if named:
        runs = runs_other_files(context.module)
        where = "in this notebook, and what it runs with %run is not followed" if runs else "in this project"
        message = (
            f"The definition of {' and '.join(named)} was not found {where}: what in it fails on current libraries, or"
            " changes there, is not told."
        )
        if message not in [finding.message for finding in context.findings]:
            context.manual(RM122, call.arguments[call.first], message, advice)


def _named(module: Module, one: Callee) -> str:
    """What stands for a function, with its place where that is in another file."""
    text = shortened_text(one.module.source(one.node))
    return text if one.module is module else f"{text} ({line_of_file(one.module, one.node)})"
