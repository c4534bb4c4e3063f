"""RM519: preprocessors of the user's own, written for a base class that asked for less.

`Preprocessor.fit()` of Ray 2.60 resets what its constructor made, and goes on with what `_fit()` returned
(ray/data/preprocessor.py:224). That of Ray 2.6.3 had no constructor, and handed on what `_fit()` gave it
(docs/semantics/data.md#own-preprocessors).
"""

import ast

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.edits.plan import Code
from raymigrate.facts.ray_data.own_preprocessors import (
    BEFORE_RAY_2,
    PREPROCESSOR,
    bases,
    is_fittable,
    is_own_preprocessor,
    own_line,
)
from raymigrate.facts.syntax.functions import decorators_of, is_generator_or_async, is_static, returns
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import class_named, is_none
from raymigrate.knowledge.libraries import look_up

RM519 = Rule(
    "RM519",
    "a class of your own made from Preprocessor",
    "fit() and fit_transform() of current Ray go on with what _fit() returned, and need what the constructor of"
    " Preprocessor makes. Without a return, or without super().__init__(), they raise an AttributeError.",
    "_fit() returns self, and __init__() calls super().__init__() first.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.preprocessor.Preprocessor.html",
    errors=("'NoneType' object has no attribute '_fit_execute'", "object has no attribute '_stat_computation_plan'"),
)
RETURNS = "fit() of current Ray goes on with what _fit() returned"
NO_CONSTRUCTOR = "fit() raises an AttributeError today where the constructor of Preprocessor did not run"
DATACLASSES = ("dataclasses.dataclass", "dataclass")
LITERALS = (ast.Constant, ast.Dict, ast.List, ast.Set, ast.Tuple, ast.JoinedStr)


@codemod("Preprocessor", "_fit")
def own_preprocessors(context: Context) -> None:
    """Lets the methods of the script's own preprocessors do what the base class needs of them."""
    for home in context.module.of_type(ast.ClassDef):
        if not is_own_preprocessor(context.module, home) or not _uses_fit_of_ray(context.module, home):
            continue
        methods = {made.name: made for made in home.body if isinstance(made, ast.FunctionDef)}
        fit = methods.get("_fit")
        if fit is not None and _is_of_objects(context.module, fit):
            _return_self(context, fit)
        _construct(context, home, methods)


def _uses_fit_of_ray(module: Module, home: ast.ClassDef) -> bool:
    """Whether objects of a class are fitted by the method of Ray: they have a state, and no fit() of their own."""
    bodies = (made for _, line in own_line(module, home) for made in line.body)
    own = any(isinstance(made, ast.FunctionDef) and made.name == "fit" for made in bodies)
    return not own and is_fittable(module, home)


def _is_of_objects(module: Module, fit: ast.FunctionDef) -> bool:
    """Whether a method is called with an object of its class, and runs then: no abstract one."""
    is_abstract = any(ast.unparse(d).endswith("abstractmethod") for d in fit.decorator_list)
    return bool(fit.args.args) and not (is_abstract or is_static(fit) or is_generator_or_async(module, fit))


def _return_self(context: Context, fit: ast.FunctionDef) -> None:
    """Lets `_fit` return its object wherever it returns nothing."""
    module, name = context.module, fit.args.args[0].arg
    ends = returns(module, fit)
    for end in ends:
        if isinstance(end.value, LITERALS) and not is_none(end.value):
            message = f"{RETURNS}, which is to be the preprocessor: this raises an AttributeError."
            context.manual(RM519, end, message, f"Return {name}, and read what this gave from an attribute.")
    bare = [end for end in ends if is_none(end.value) or end.value is None]
    goes_on = fit.body[-1] not in module.leaving
    if not bare and not goes_on:
        return
    if not context.converts(RM519, fit, f"{RETURNS}: None raises an AttributeError; now it returns {name}."):
        return
    for end in bare:
        if end.value is not None:
            context.plan.replace(end.value, name)
        else:
            context.plan.statement(end).replacement = Code(f"return {name}")
    last = fit.body[-1]
    if goes_on and isinstance(last, ast.Pass):
        context.plan.statement(last).replacement = Code(f"return {name}")
    elif goes_on:
        context.plan.statement(last).after.append(Code(f"return {name}"))


def _construct(context: Context, home: ast.ClassDef, methods: dict[str, ast.FunctionDef]) -> None:
    """Lets a class run the constructor of Preprocessor, where its own does not."""
    made_by_dataclass = _is_dataclass(context.module, home) and "__init__" not in methods
    constructor = methods.get("__post_init__" if made_by_dataclass else "__init__")
    if constructor is not None and _runs_another(context.module, constructor):
        return
    if constructor is None and not made_by_dataclass:
        return
    if constructor is None or not _reaches_preprocessor(context.module, home):
        where = "a method __post_init__(self)" if constructor is None else "it"
        advice = f"Call super().__init__() in {where}, with what the constructor of the base class takes."
        context.manual(RM519, constructor or home, f"{NO_CONSTRUCTOR}.", advice)
    elif context.converts(RM519, constructor, f"{NO_CONSTRUCTOR}; now super().__init__() runs it."):
        context.plan.function(constructor).body_start.append(Code("super().__init__()"))


def _is_dataclass(module: Module, home: ast.ClassDef) -> bool:
    decorators = decorators_of(home)
    return any(module.qualified(decorator) in DATACLASSES for decorator in decorators)


def _runs_another(module: Module, constructor: ast.FunctionDef) -> bool:
    """Whether a constructor runs that of a base class, or makes what Ray's would make."""
    return any(
        isinstance(node, ast.Attribute) and node.attr in ("__init__", "_stat_computation_plan")
        for node in module.below(constructor)
    )


def _reaches_preprocessor(module: Module, home: ast.ClassDef) -> bool:
    """Whether `super().__init__()` of a class is the constructor of Preprocessor, which may set `stats_`."""
    for place, line in own_line(module, home):
        bound = place.scope_of[line.body[0]].bindings
        if "stats_" in bound or (line is not home and ("__init__" in bound or _is_dataclass(place, line))):
            return False
        above = bases(place, line)
        if len(above) != 1:
            return False
        name = place.qualified(above[0])
        if name is not None and class_named(place, above[0]) is None:
            return name in BEFORE_RAY_2 or look_up(name).place == PREPROCESSOR
    return False
