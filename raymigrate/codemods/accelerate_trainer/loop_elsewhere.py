"""RM206: values that have to reach an Accelerator which is not made in this file, as where the loop is imported."""

import ast
import textwrap

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.already_there import same_definition
from raymigrate.codemods.shared.emitted import ON_CPU, ON_GPU
from raymigrate.codemods.shared.loss_scale import ARGUMENT, MESSAGE, RM110
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.ray_tune.tuners import config_names, made
from raymigrate.facts.syntax.functions import parameters
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.values import is_none
from raymigrate.knowledge.legacy import TRAINING_ARGUMENTS

RM206 = Rule(
    "RM206",
    "an Accelerator that is not made in this file",
    "The values of accelerate_config, and cpu=True on CPU workers, have to reach an Accelerator made elsewhere.",
    "They go to the workers' environment, which accelerate reads: RunConfig(worker_runtime_env=...).",
    "https://docs.ray.io/en/latest/train/api/doc/ray.train.RunConfig.html",
)

ON_CPU_WORKERS = "ACCELERATE_USE_CPU"


def set_environment(context: Context, call: TrainerCall, environment: dict[str, str], on_gpus: set[str]) -> None:
    """Passes variables to the workers through the RunConfig, or around the loop.

    Args:
        context: The module.
        call: The trainer call.
        environment: The variables.
        on_gpus: Those that only workers with a GPU get.
    """
    given = call.arguments.get("run_config")
    run_config = made(context.module, given, *config_names("RunConfig"))
    listed = ", ".join(sorted(environment))
    use_gpu = _use_gpu_source(context, call)
    quoted = {name: string_literal(value) for name, value in environment.items()}
    if ON_CPU_WORKERS in quoted and call.use_gpu is None and use_gpu:
        quoted[ON_CPU_WORKERS] = f"str(not {use_gpu}).lower()".replace("not not ", "")
    varies = on_gpus & environment.keys() if call.use_gpu is None else set()
    entries = [f'"{name}": {value}' for name, value in quoted.items() if name not in varies]
    if varies:
        inner = ", ".join(f'"{name}": {value}' for name, value in quoted.items() if name in varies)
        entries.append(f"**({{{inner}}} if {use_gpu or 'use_gpu'} else {{}})")
    source = f'{{"env_vars": {{{", ".join(entries)}}}}}'
    unseen = run_config is None and not is_none(given)
    undecided = call.use_gpu is None and not use_gpu and bool(varies or ON_CPU_WORKERS in environment)
    if (unseen or undecided) and wrap_loop(context, call, environment, varies):
        return
    message = "No Accelerator is made in this file"
    advice = f"Give the workers an environment, RunConfig(worker_runtime_env={source})"
    if undecided:
        advice += ", with ACCELERATE_USE_CPU only where they have no GPU"
        context.manual(RM206, call.node, f"{message}, and use_gpu is not known.", f"{advice}.")
    elif unseen or (run_config is not None and "worker_runtime_env" in {k.arg for k in run_config.keywords}):
        context.manual(RM206, call.node, f"{message}.", f"{advice}.")
    elif context.converts(RM206, call.node, f"{message}; now the environment of the workers has {listed}."):
        if run_config is not None:
            context.plan.call(run_config).set("worker_runtime_env", source)
        else:
            near = context.module.import_of(call.node.func)
            context.plan.need_import("ray.train", "RunConfig", near=near)
            context.plan.call(call.node).set("run_config", f"RunConfig(worker_runtime_env={source})")


def _use_gpu_source(context: Context, call: TrainerCall) -> str:
    """The expression that decides whether workers have a GPU, where it can be written a second time at the call."""
    source, module = call.gpus.decided_by, context.module
    repeatable = (ast.Name, ast.Attribute, ast.UnaryOp, ast.Not, ast.Load)
    if source is None or source.module is not module:
        return ""
    parts = list(ast.walk(source.node))
    names = [part for part in parts if isinstance(part, ast.Name)]
    if not all(isinstance(part, repeatable) for part in parts) or not all(_reads_same(call, name) for name in names):
        return ""
    return module.source(source.node)


def _reads_same(call: TrainerCall, name: ast.Name) -> bool:
    """Whether a name stands for the same at a trainer call as where it is written."""
    module = call.module
    scope = module.bound_in(name)
    if scope is None or module.inside(name, call.node):
        return scope is not None
    return scope is module.scope_of[call.node].find(name.id) and len(scope.bindings[name.id]) == 1


def wrap_loop(context: Context, call: TrainerCall, environment: dict[str, str], on_gpus: set[str]) -> bool:
    """Sets variables in a function that calls the loop, where the RunConfig is not made in this file.

    Args:
        context: The module.
        call: The trainer call.
        environment: The variables.
        on_gpus: Those that workers without a GPU must not get.

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
    lines = {
        variable: f'os.environ["{variable}"] = {string_literal(environment[variable])}' for variable in environment
    }
    on_cpus = {ON_CPU_WORKERS} & environment.keys() if call.use_gpu is None else set()
    if on_cpus or on_gpus:
        context.plan.need_import("ray.train.torch")
    body = _block("", [lines[name] for name in sorted(environment) if name not in on_cpus | on_gpus])
    body += _block(f"if {ON_CPU}:", [lines[name] for name in sorted(on_cpus)])
    body += _block("else:" if on_cpus else f"if {ON_GPU}:", [lines[name] for name in sorted(on_gpus)])
    body += f"{context.module.source(given)}({config})\n"
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


def _block(head: str, lines: list[str]) -> str:
    """Lines of code, under the head of a block where there is one."""
    code = "".join(f"{line}\n" for line in lines)
    return f"{head}\n{textwrap.indent(code, '    ')}" if head and code else code


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
