"""RM104 and RM203: CPU workers that would train alone (SEMANTICS.md T3).

accelerate >= 1.0 wraps a model in DistributedDataParallel on CPU only when it is told `cpu=True`; TrainingArguments
tells it with `use_cpu=True`. Without, every worker trains its own model and no error says so.
"""

import ast

from raymigrate.codemods.emitted import ON_CPU
from raymigrate.codemods.train_function import TrainFunction
from raymigrate.context import Context
from raymigrate.facts.legacy import TRAINING_ARGUMENTS
from raymigrate.facts.trainers import TrainerCall
from raymigrate.findings import Rule

RM104 = Rule(
    "RM104",
    "Transformers on CPU workers without use_cpu=True",
    "accelerate >= 1.0 joins CPU workers only when told to: without use_cpu=True every worker trains a model of its"
    " own, and nothing says so.",
    "use_cpu is set where the workers have no GPU.",
    "https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments.use_cpu",
)

MESSAGE = "On CPU workers accelerate >= 1.0 trains one model per worker unless use_cpu=True is given."
ENVIRONMENT = "# Without it accelerate would train one model per CPU worker.\n"


def train_together_on_cpu(context: Context, call: TrainerCall, function: TrainFunction) -> None:
    """Sets `use_cpu` in the TrainingArguments of an init function, or accelerate's environment where there are none."""
    if call.use_gpu is True:
        return
    module = context.module
    inside = [
        c for c in module.calls(*TRAINING_ARGUMENTS) if function.init is not None and module.inside(c, function.init)
    ]
    if function.inline and inside and not any(has_unpacking(c) for c in inside):
        for arguments in inside:
            _set_use_cpu(context, call, arguments, function)
        return
    if inside and all(_is_decided(context, call, c) for c in inside):
        return
    if context.converts(RM104, call.node, MESSAGE):
        context.plan.need_import("os", near=function.nested_import)
        line = 'os.environ["ACCELERATE_USE_CPU"] = "true"'
        if call.use_gpu is None:
            context.plan.need_import("ray.train.torch", near=function.nested_import)
            line = f"if {ON_CPU}:\n    {line}"
        function.start.append(ENVIRONMENT + line)


def has_unpacking(call: ast.Call) -> bool:
    """Whether a call has arguments that cannot be seen."""
    return any(keyword.arg is None for keyword in call.keywords)


def _is_decided(context: Context, call: TrainerCall, arguments: ast.Call) -> bool:
    """Whether TrainingArguments are told about the CPU by the user, who may know more than can be seen here."""
    given = {k.arg: k.value for k in arguments.keywords}
    present = given.get("use_cpu", given.get("no_cuda"))
    literal = context.module.constant(present)
    return literal is True or (literal is ... and call.use_gpu is None)


def _set_use_cpu(context: Context, call: TrainerCall, arguments: ast.Call, function: TrainFunction) -> None:
    if _is_decided(context, call, arguments):
        return
    if not context.converts(RM104, arguments, MESSAGE):
        return
    name = "use_cpu" if context.current_transformers else "no_cuda"
    if call.use_gpu is None:
        context.plan.need_import("ray.train.torch", near=function.nested_import)
        context.plan.call(arguments).set(name, ON_CPU)
    else:
        context.plan.call(arguments).set(name, "True")
