"""RM697: what a handle of Ray Serve answers, treated as the ObjectRef that it once was.

`handle.method.remote()` gives a DeploymentResponse today, which `ray.get()` refuses; to `await` it gives the result
(docs/semantics/names.md#deployments-of-ray-serve).
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.refused_calls import RM697
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.instances import DEPLOYMENT, instance_of, is_deployment
from raymigrate.facts.projects.declared import is_declared
from raymigrate.facts.syntax.alternatives import kinds_of
from raymigrate.facts.syntax.guards import is_guarded, waits_for
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment
from raymigrate.facts.values import argument, is_method_call

Kind = Callable[[Module, ast.expr], bool]

HANDLE = "ray.serve.handle.DeploymentHandle"
ERRORS = (ValueError, TypeError)
RESULT = "Call its result() instead, or in a deployment await it."
TWICE = "first await gives the result today: to await that raises a TypeError"
GIVEN = "The await gives the result itself today"
GATHERS = ("asyncio.gather", "asyncio.wait")
OF_A_HANDLE = "this class is bound with a deployment here"
# What of Ray Serve made a deployment and is gone (RM692).
GONE_DEPLOYMENTS = ("PredictorDeployment", "ModelWrapperDeployment", "DAGDriver")
HANDLES = tuple(
    f"ray.serve.handle.{name}"
    for name in ("DeploymentHandle", "RayServeHandle", "RayServeDeploymentHandle", "RayServeSyncHandle")
)
ONCE = "Use what the first await gives. The second may stay where that is itself an ObjectRef."


@dataclass(frozen=True)
class Given:
    """A value that a call is given, by itself or in a list.

    Args:
        node: The value.
        several: Whether it is in a list.
        awaited: Whether an await gave what is in the list: the value is what was awaited.
    """

    node: ast.expr
    several: bool = False
    awaited: bool = False


@codemod("serve", phase=Phase.GONE, in_ray_scripts=True)
def served_responses(context: Context) -> None:
    """Tells of responses that are handed to Ray, or awaited twice."""
    module = context.module
    for call in module.calls("ray.get", "ray.wait"):
        given = [*call.args[:1], *(k.value for k in call.keywords if k.arg in ("object_refs", "ray_waitables"))]
        for one in (one for node in given for one in _elements(module, node)):
            if _is_expected(module, call):
                continue
            name = module.qualified(call.func)
            if not one.awaited and _is_response(module, one.node, _is_handle):
                error = "ValueError" if name == "ray.get" and not one.several else "TypeError"
                context.manual(
                    RM697, call, f"{name}() of a DeploymentResponse of Serve raises a {error} today.", RESULT
                )
            elif _is_result(module, one, _is_handle):
                context.manual(RM697, call, f"{GIVEN}: {name}() refuses it.", ONCE)
    for awaited in module.of_type(ast.Await):
        _awaited_again(context, awaited, [Given(awaited.value)])
    for call in module.calls(*GATHERS):
        _awaited_again(context, call, list(_gathered(module, call)))


def _awaited_again(context: Context, place: ast.expr, values: list[Given]) -> None:
    """Tells of values that are awaited where an await gave them already."""
    kinds: tuple[tuple[Kind, str], ...] = ((_is_handle, "The"), (_may_be_bound, f"Where {OF_A_HANDLE}, the"))
    for kind, where in kinds:
        if any(_is_result(context.module, value, kind) for value in values):
            if not _is_expected(context.module, place):
                context.manual(RM697, place, f"{where} {TWICE}.", ONCE)
            return


def _is_expected(module: Module, call: ast.expr) -> bool:
    """Whether the code reckons with the error."""
    tried = (outer for outer in module.ancestors(call) if isinstance(outer, ast.Try))
    kinds = {kind for outer in tried for handler in outer.handlers for kind in kinds_of(handler)}
    waited = any(waits_for(module, call, error) for error in ERRORS)
    return waited or is_guarded(module, call, "get") or any(error.__name__ in kinds for error in ERRORS)


def _elements(module: Module, refs: ast.expr, seen: set[ast.AST] | None = None) -> Iterator[Given]:
    """What a call is given: each item of a list, or the one thing.

    Args:
        seen: The calls that led here: in a loop `refs = await asyncio.gather(*refs)` is given what it gave.
    """
    seen = seen if seen is not None else set()
    for source in module.origins(refs, elsewhere=False):
        gathered = source.node.value if isinstance(source.node, ast.Await) else None
        if gathered in seen:
            continue
        if isinstance(gathered, ast.Call) and module.qualified(gathered.func) == GATHERS[0]:
            seen.add(gathered)
            yield from (Given(one.node, several=True, awaited=True) for one in _gathered(module, gathered, seen))
        elif isinstance(source.node, ast.List):
            yield from (Given(item, several=True) for item in source.node.elts)
        elif isinstance(source.node, ast.ListComp):
            yield Given(source.node.elt, several=True)
        else:
            yield Given(source.node)


def _gathered(module: Module, call: ast.Call, seen: set[ast.AST] | None = None) -> Iterator[Given]:
    """What `asyncio.gather(one, *others)` is given."""
    for arg in call.args:
        if isinstance(arg, ast.Starred):
            yield from _elements(module, arg.value, seen)
        else:
            yield Given(arg)


def _is_result(module: Module, given: Given, kind: Kind) -> bool:
    """Whether a value is what the await of a response gave, or of several: `await asyncio.gather(*responses)`."""
    if given.awaited:
        return _is_response(module, given.node, kind)
    sources = module.origins(given.node, elsewhere=False)
    awaited = [source.node.value for source in sources if isinstance(source.node, ast.Await)]
    return bool(awaited) and len(awaited) == len(sources) and all(_is_response(module, one, kind) for one in awaited)


def _is_response(module: Module, node: ast.expr, kind: Kind) -> bool:
    """Whether a value is what a handle answers: `handle.remote(x)`, `handle.options(...).method.remote(x)`.

    Args:
        kind: What is asked of the handle.
    """
    sources = [source.node for source in module.origins(node, elsewhere=False)]
    return bool(sources) and all(
        is_method_call(made, "remote") and any(kind(module, owner) for owner in _owners(made.func.value))
        for made in sources
    )


def _owners(node: ast.expr) -> Iterator[ast.expr]:
    """What may be the handle in what has `.remote()`: it, what it is a method of, what `options()` is called on."""
    while True:
        yield node
        if is_method_call(node, "options"):
            node = node.func.value
        elif isinstance(node, ast.Attribute):
            node = node.value
        else:
            return


def _is_handle(module: Module, node: ast.expr) -> bool:
    """Whether a value surely is a handle: of its class, declared to be, or given by every `bind()` of its class."""
    if instance_of(module, node) == HANDLE or is_declared(module, node, HANDLES):
        return True
    bound = _bound_with(module, node)
    return bool(bound) and all(value is not None and _is_application(module, value) for value in bound or ())


def _may_be_bound(module: Module, node: ast.expr) -> bool:
    """Whether `self.translate` is a parameter of `__init__` of a deployment that this file binds nowhere."""
    return _bound_with(module, node) == []


def _bound_with(module: Module, node: ast.expr) -> list[ast.expr | None] | None:
    """What the calls of `bind()` give for `self.translate`, a parameter of `__init__`; None where it is none."""
    home = module.class_around(node)
    if home is None or not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
        return None
    stored = [place for place in module.stores(node.attr) if module.inside(place, home)]
    holder = module.parent_of[stored[0]] if len(stored) == 1 else None
    function = module.function(stored[0]) if stored else None
    given = holder.value if is_assignment(holder) else None
    if not isinstance(function, ast.FunctionDef) or function.name != "__init__" or not isinstance(given, ast.Name):
        return None
    names = [parameter.arg for parameter in function.args.args]
    if given.id not in names[1:] or not is_deployment(module, home):
        return None
    bound = [argument(call, names.index(given.id) - 1, given.id) for call in _binds(module, home)]
    annotation = function.args.args[names.index(given.id)].annotation
    is_other = annotation is not None and not is_declared(module, given, HANDLES)
    return None if is_other and not bound else bound


def _binds(module: Module, home: ast.ClassDef) -> Iterator[ast.Call]:
    """The calls of `bind` of a deployment that a class is, also behind `options()`."""
    for call, method in module.method_calls("bind"):
        owner = method.value
        if is_method_call(owner, "options"):
            owner = owner.func.value
        if isinstance(owner, ast.Name) and module.definition(owner) is home:
            yield call


def _is_application(module: Module, node: ast.expr) -> bool:
    """Whether a value is a deployment with its arguments: `Translate.bind()`, `PredictorDeployment.bind(...)`."""
    made = module.value(node)
    if not is_method_call(made, "bind"):
        return False
    owner = made.func.value
    if is_method_call(owner, "options"):
        owner = owner.func.value
    name = module.qualified(owner) or ""
    is_gone = name.startswith("ray.serve.") and name.rpartition(".")[2] in GONE_DEPLOYMENTS
    return is_gone or instance_of(module, made.func.value) == DEPLOYMENT
