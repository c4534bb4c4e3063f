"""RM206: values that have to reach an Accelerator which is not made in this file, as where the loop is imported."""

import ast
import textwrap

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.already_there import same_definition
from raymigrate.codemods.shared.emitted import ON_CPU
from raymigrate.codemods.shared.loss_scale import ARGUMENT, MESSAGE, RM110
from raymigrate.edits.plan import Code
from raymigrate.facts.functions import parameters
from raymigrate.facts.legacy import TRAINING_ARGUMENTS
from raymigrate.facts.literals import string_literal
from raymigrate.facts.trainers import TrainerCall

RM206 = Rule(
    "RM206",
    "an Accelerator that is not made in this file",
    "The values of accelerate_config, and cpu=True on CPU workers, have to reach an Accelerator made elsewhere.",
    "They go to the workers' environment, which accelerate reads: RunConfig(worker_runtime_env=...).",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.RunConfig.html",
)


def wrap_loop(context: Context, call: TrainerCall, environment: dict[str, str]) -> bool:
    """Sets variables in a function that calls the loop, where the RunConfig is not made in this file.

    Args:
        context: The module.
        call: The trainer call.
        environment: The variables.

    Returns:
        Whether it could be done: the parameters of the loop have to be known.
    """
    given = call.arguments[call.first]
    function = call.imported.function if call.imported is not None else call.function
    root = ast.unparse(given).partition(".")[0]
    if not isinstance(function, ast.FunctionDef) or not isinstance(given, (ast.Name, ast.Attribute)):
        return False
    listed = ", ".join(sorted(environment))
    message = f"Neither Accelerator nor RunConfig is made in this file; set around the training function: {listed}."
    if not context.converts(RM206, call.node, message):
        return False
    name = context.fresh("train_func")
    config = ("train_loop_config" if root == "config" else "config") if parameters(function) else ""
    lines = []
    for variable, value in sorted(environment.items()):
        line = f'os.environ["{variable}"] = {string_literal(value)}\n'
        if variable == "ACCELERATE_USE_CPU" and call.use_gpu is None:
            context.plan.need_import("ray.train.torch")
            line = f"if {ON_CPU}:\n    {line}"
        lines.append(line)
    body = f"{''.join(lines)}{context.module.source(given)}({config})\n"
    code = f"def {name}({config}):\n{textwrap.indent(body, '    ')}"
    there = same_definition(context.module, code, [call.statement])
    if there is not None:
        context.give_back(name)
        name = there
    else:
        context.plan.statement(call.statement).before.append(Code(code))
    context.plan.need_import("os")
    edit = context.plan.call(call.node)
    if call.node.args:
        edit.set_first(name)
    else:
        edit.set(call.first, name)
    context.emitted["loop", call.node] = name
    return True


def is_wrapped(context: Context, call: TrainerCall) -> bool:
    """Whether a function that takes the configuration calls the loop of a trainer."""
    return ("loop", call.node) in context.emitted


def report_loss_scale(context: Context, call: TrainerCall) -> None:
    """Reports a loop of another file whose TrainingArguments let the loss grow with the workers (RM110)."""
    found = call.imported
    if found is None or not context.current_transformers:
        return
    for arguments in found.module.calls(*TRAINING_ARGUMENTS):
        if found.module.inside(arguments, found.node) and ARGUMENT not in {k.arg for k in arguments.keywords}:
            context.manual(
                RM110,
                call.node,
                f"{MESSAGE[:-1]}: the TrainingArguments of {found.name}() in {found.module.path}.",
                f"Give {ARGUMENT}=False to the TrainingArguments there.",
            )
