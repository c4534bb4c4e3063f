"""Predictors that a script hands to Ray Serve, which gave them one request after another, and no dataset.

`PredictorDeployment.bind(TransformersPredictor, checkpoint)`, `deployment.set_predictor(predictor)`, and a predictor
that a class with @serve.deployment makes.
"""

import ast
from collections.abc import Iterator

from raymigrate.facts.projects.callers import is_used_elsewhere
from raymigrate.facts.syntax.annotations import in_annotation
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import called_name
from raymigrate.knowledge.successors import APPLIES_PREPROCESSOR

SERVE = "ray.serve"
DEPLOYMENT = "ray.serve.deployment"
SERVED = (
    "Load the model, or a transformers pipeline with it, in __init__ of a class with @serve.deployment, answer in its"
    f" __call__(self, request), and deploy it with serve.run(TheClass.bind()). {APPLIES_PREPROCESSOR}"
)
SERVED_HERE = (
    "Load the model, or a transformers pipeline with it, in __init__ of this class, which has @serve.deployment"
    f" already, and answer with it there. {APPLIES_PREPROCESSOR}"
)
SERVED_OWN = (
    "Remove the base class and the call of its __init__, and write @serve.deployment over the class: it loads the model"
    " in __init__, answers in __call__(self, request), and serve.run(TheClass.bind()) deploys it."
    f" {APPLIES_PREPROCESSOR}"
)
SERVED_TOO = (
    "For Ray Serve write a class with @serve.deployment: it makes one of this class in __init__, answers with it in"
    f" __call__(self, request), and serve.run(TheDeployment.bind()) deploys it. {APPLIES_PREPROCESSOR}"
)


def of_served(module: Module, node: ast.expr, advice: str | None) -> str | None:
    """What to do about a predictor that is handed to Ray Serve, or what was said already of one that is not.

    A class that a decorator turns into a deployment is no longer a class: only one that nothing else uses becomes one.

    Args:
        module: The module.
        node: What names the class.
        advice: What there is to do where Serve has no part in it.
    """
    if not is_served(module, node):
        return advice
    own = module.parent_of[node]
    if not isinstance(own, ast.ClassDef):
        return SERVED_HERE if is_in_deployment(module, node) else SERVED
    if advice is None or not _is_used_besides(module, own):
        return SERVED_OWN
    return f"{advice} {SERVED_TOO}"


def _is_used_besides(module: Module, own: ast.ClassDef) -> bool:
    """Whether something else than Ray Serve gets a class or what is made of it, here or in another file."""
    if is_used_elsewhere(module, own):
        return True
    return any(
        not any(_is_given_to_serve(module, value) for value in _uses(module, use))
        for use in _uses_of_class(module, own)
        if not in_annotation(module, use)
    )


def is_served(module: Module, node: ast.expr) -> bool:
    """Whether a predictor, by its class, is handed to Ray Serve or is part of a deployment.

    Args:
        module: The module.
        node: What names the class.
    """
    return is_in_deployment(module, node) or any(_is_given_to_serve(module, use) for use in _uses(module, node))


def is_in_deployment(module: Module, node: ast.expr) -> bool:
    """Whether what names the class is part of a class with @serve.deployment."""
    classes = (outer for outer in module.ancestors(node) if isinstance(outer, ast.ClassDef))
    decorators = (decorator for home in classes for decorator in home.decorator_list)
    return any(module.qualified(made.func if isinstance(made, ast.Call) else made) == DEPLOYMENT for made in decorators)


def _uses(module: Module, node: ast.expr) -> Iterator[ast.expr]:
    """The class, what is derived from it, and the objects that are made of them, where they are used."""
    yield node
    outer = module.parent_of[node]
    if isinstance(outer, ast.ClassDef) and node in outer.bases:
        for use in _uses_of_class(module, outer):
            yield from _uses(module, use)
    call = module.parent_of[outer] if isinstance(outer, ast.Attribute) else outer
    if isinstance(call, ast.Call) and call.func in (node, outer):
        yield call
        yield from module.uses_of(module.name_of(call))


def _uses_of_class(module: Module, own: ast.ClassDef) -> Iterator[ast.expr]:
    """Where a class is named outside itself."""
    for use in module.uses_of(own):
        if not module.inside(use, own):
            yield use


def _is_given_to_serve(module: Module, value: ast.expr) -> bool:
    """Whether a value is an argument of a call of Ray Serve, or of a method of what such a call gives."""
    call = module.taking(value)
    if call is None:
        return False
    function: ast.expr = call.func
    while isinstance(function, (ast.Attribute, ast.Call)):
        if (module.qualified(function) or "").startswith(SERVE):
            return True
        function = function.func if isinstance(function, ast.Call) else function.value
    made = module.value(function)
    return made is not function and called_name(module, made).startswith(SERVE)
