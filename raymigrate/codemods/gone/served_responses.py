"""RM697: what a handle of Ray Serve answers, treated as the ObjectRef that it once was.

`handle.method.remote()` gives a DeploymentResponse today, which `ray.get()` refuses; to `await` it gives the result
(docs/semantics/names.md#deployments-of-ray-serve).
"""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.refused_calls import RM697
from raymigrate.codemods.phases import Phase
from raymigrate.facts.alternatives import kinds_of
from raymigrate.facts.guards import is_guarded, waits_for
from raymigrate.facts.instances import DEPLOYMENT, instance_of
from raymigrate.facts.module import Module
from raymigrate.facts.values import argument

HANDLE = "ray.serve.handle.DeploymentHandle"
ERRORS = (ValueError, TypeError)
RESULT = "Call its result() instead, or in a deployment await it."
ONCE = "Use what the first await gives; with a result that is an ObjectRef itself it may stay."


@codemod("serve", phase=Phase.GONE, in_ray_scripts=True)
def served_responses(context: Context) -> None:
    """Tells of responses that are handed to Ray, or awaited twice."""
    module = context.module
    for call in module.calls("ray.get", "ray.wait"):
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("object_refs", "ray_waitables"))]
        for refs, several in ((refs, several) for node in given for refs, several in _elements(module, node)):
            if _is_response(module, refs) and not _is_expected(module, call):
                name = module.qualified(call.func)
                error = "ValueError" if name == "ray.get" and not several else "TypeError"
                context.manual(
                    RM697, call, f"{name}() of a DeploymentResponse of Serve raises a {error} today.", RESULT
                )
    for awaited in module.of_type(ast.Await):
        sources = module.origins(awaited.value, elsewhere=False)
        inner = [source.node for source in sources if isinstance(source.node, ast.Await)]
        if inner and len(inner) == len(sources) and all(_is_response(module, first.value) for first in inner):
            message = "The first await gives the result today: to await that raises a TypeError."
            context.manual(RM697, awaited, message, ONCE)


def _is_expected(module: Module, call: ast.Call) -> bool:
    """Whether the code reckons with the error."""
    tried = (outer for outer in module.ancestors(call) if isinstance(outer, ast.Try))
    kinds = {kind for outer in tried for handler in outer.handlers for kind in kinds_of(handler)}
    waited = any(waits_for(module, call, error) for error in ERRORS)
    return waited or is_guarded(module, call, "get") or any(error.__name__ in kinds for error in ERRORS)


def _elements(module: Module, refs: ast.expr) -> Iterator[tuple[ast.expr, bool]]:
    """What a call is given: each item of a list, or the one thing, and whether it is in a list."""
    for source in module.origins(refs, elsewhere=False):
        if isinstance(source.node, ast.List):
            yield from ((item, True) for item in source.node.elts)
        elif isinstance(source.node, ast.ListComp):
            yield source.node.elt, True
        else:
            yield source.node, False


def _is_response(module: Module, node: ast.expr) -> bool:
    """Whether a value is surely what a handle answers: `handle.remote(x)`, `handle.options(...).method.remote(x)`."""
    sources = [source.node for source in module.origins(node, elsewhere=False)]
    return bool(sources) and all(
        isinstance(made, ast.Call)
        and isinstance(made.func, ast.Attribute)
        and made.func.attr == "remote"
        and _is_handle(module, made.func.value)
        for made in sources
    )


def _is_handle(module: Module, node: ast.expr) -> bool:
    """Whether what has `.remote()` is a handle, or a method of one."""
    while True:
        if instance_of(module, node) == HANDLE or _is_bound_attribute(module, node):
            return True
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "options":
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            return False


def _is_bound_attribute(module: Module, node: ast.expr) -> bool:
    """Whether `self.translate` is a parameter of `__init__` that every `bind()` of the class gives a deployment."""
    home = next((outer for outer in module.ancestors(node) if isinstance(outer, ast.ClassDef)), None)
    if home is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return False
    stored = [place for place in module.stores(node.attr) if module.inside(place, home)]
    holder = module.parent_of[stored[0]] if len(stored) == 1 else None
    function = module.function(stored[0]) if stored else None
    given = holder.value if isinstance(holder, ast.Assign) else None
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__" or not isinstance(given, ast.Name):
        return False
    names = [parameter.arg for parameter in function.args.args]
    if given.id not in names[1:]:
        return False
    bound = [argument(call, names.index(given.id) - 1, given.id) for call in _binds(module, home)]
    return bool(bound) and all(value is not None and _is_application(module, value) for value in bound)


def _binds(module: Module, home: ast.ClassDef) -> Iterator[ast.Call]:
    """The calls of `bind` of a deployment that a class is, also behind `options()`."""
    for call, method in module.method_calls("bind"):
        owner = method.value
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Attribute) and owner.func.attr == "options":
            owner = owner.func.value
        if isinstance(owner, ast.Name) and module.definition(owner) is home:
            yield call


def _is_application(module: Module, node: ast.expr) -> bool:
    """Whether a value is a deployment with its arguments: `Translate.bind()`."""
    made = module.value(node)
    is_bind = isinstance(made, ast.Call) and isinstance(made.func, ast.Attribute) and made.func.attr == "bind"
    return is_bind and instance_of(module, made.func.value) == DEPLOYMENT  # type: ignore[attr-defined]
