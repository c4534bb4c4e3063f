"""RM306: the CPUs of a worker, read from the resources of a trial, which session or ray.train.get_context() gave."""

import ast
from collections.abc import Callable

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.facts.syntax.scopes import Reference

RM306 = Rule(
    "RM306",
    "the CPUs of a worker, read from its trial's resources",
    "On Ray >= 2.51 session.get_trial_resources() returns None on a worker, so reading its bundles raises;"
    " ray.train.get_context().get_trial_resources() raises itself.",
    "OMP_NUM_THREADS is taken from the CPUs that Ray assigned to the worker.",
    "https://docs.ray.io/en/latest/ray-core/api/doc/ray.get_runtime_context.html",
    errors=("'NoneType' object has no attribute 'bundles'",),
)
ASSIGNED = "ray.get_runtime_context().get_assigned_resources()"
RAISES = "get_trial_resources() raises a DeprecationWarning on a worker"


def read_worker_cpus(context: Context, function: ast.expr, reference: Reference) -> bool:
    """Rewrites `session.get_trial_resources().bundles[-1].get("CPU", 1)`: 25 of 159 public legacy files have it.

    Args:
        context: The module.
        function: The function that is called for the resources of the trial.
        reference: What its owner is: `session`, or `ray.train.get_context`.

    Returns:
        Whether that is what the code does, so that it is dealt with.
    """
    parents = context.module.parent_of
    node: ast.AST = function
    expected: list[Callable[[ast.AST], bool]] = [
        lambda n: isinstance(n, ast.Call) and not n.args,
        lambda n: isinstance(n, ast.Attribute) and n.attr == "bundles",
        lambda n: isinstance(n, ast.Subscript) and ast.unparse(n.slice) == "-1",
    ]
    for matches in expected:
        node = parents[node]
        if not matches(node):
            return False
    assert isinstance(node, ast.expr)
    bundles: list[ast.expr] = [*_uses_of_variable(context, node)] or [node]
    reads = [_cpu_read(context, bundle) for bundle in bundles]
    if not all(reads) or not context.can_import("ray", reference):
        return False
    happens = "session.get_trial_resources() is None on a worker" if reference.node is function else RAISES
    if context.converts(RM306, function, f"{happens} of Ray >= 2.51; now those of the worker are read."):
        context.plan.need_import("ray", near=reference.binding.statement)
        if node not in bundles:
            context.plan.replace(node, ASSIGNED)
        for bundle, read in zip(bundles, reads, strict=True):
            assert read is not None
            resources = ASSIGNED if bundle is node else context.module.source(bundle)
            source = f'{resources}.get("CPU", 1)'
            context.plan.replace(read, source if _is_int_argument(context, read) else f"int({source})")
        if reference.node in ast.walk(function):  # else a variable holds the context
            context.handle(reference, gone=True)
    return True


def _is_int_argument(context: Context, node: ast.expr) -> bool:
    call = context.module.parent_of[node]
    return isinstance(call, ast.Call) and node in call.args and ast.unparse(call.func) == "int"


def _uses_of_variable(context: Context, node: ast.expr) -> list[ast.Name]:
    """The reads of the variable that an expression is assigned to, if it is bound nowhere else."""
    name = context.module.name_of(node)
    return context.module.uses_of(name) if context.module.is_bound_once(name) else []


def _cpu_read(context: Context, bundle: ast.expr) -> ast.expr | None:
    """The expression that reads the number of CPUs from a bundle: `bundle["CPU"]` or `bundle.get("CPU", 1)`."""
    node = context.module.parent_of[bundle]
    if isinstance(node, ast.Attribute) and node.attr == "get":
        node = context.module.parent_of[node]
        key = node.args[0] if isinstance(node, ast.Call) and node.args else None
    else:
        key = node.slice if isinstance(node, ast.Subscript) and node.value is bundle else None
    return node if isinstance(node, ast.expr) and key is not None and context.module.constant(key) == "CPU" else None
