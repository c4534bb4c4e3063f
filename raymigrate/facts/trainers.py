"""Calls of the legacy trainers, and the functions handed to them."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

from raymigrate.facts.module import DefinitionNode, Module
from raymigrate.facts.project import Definition


@dataclass(frozen=True)
class Datasets:
    """What is known of a `datasets=` argument.

    Args:
        node: The argument; None where there is none.
        keys: The dataset names with their expressions, where the argument leads to a dict display.
    """

    node: ast.expr | None
    keys: dict[str, ast.expr] | None

    def may_have(self, key: str) -> bool:
        """Whether a dataset of this name can be among them."""
        return self.node is not None and (self.keys is None or key in self.keys)

    def has(self, key: str) -> bool:
        """Whether a dataset of this name is among them for sure."""
        return self.keys is not None and key in self.keys


@dataclass(frozen=True, eq=False)
class TrainerCall:
    """One construction of a trainer.

    Args:
        module: The module it stands in.
        node: The call.
        first: Name of the parameter that may be given by position.
    """

    module: Module
    node: ast.Call
    first: str
    arguments: dict[str, ast.expr] = field(init=False)
    unpacked: bool = field(init=False)

    def __post_init__(self) -> None:
        arguments = {keyword.arg: keyword.value for keyword in self.node.keywords if keyword.arg}
        if self.node.args and not isinstance(self.node.args[0], ast.Starred):
            arguments[self.first] = self.node.args[0]
        starred = any(isinstance(argument, ast.Starred) for argument in self.node.args)
        object.__setattr__(self, "arguments", arguments)
        object.__setattr__(self, "unpacked", starred or any(keyword.arg is None for keyword in self.node.keywords))

    @cached_property
    def function(self) -> ast.AST | None:
        """The definition of the function handed over, if it stands in this module and has no other binding."""
        given = self.arguments.get(self.first)
        return given if isinstance(given, ast.Lambda) else self.module.definition(given) if given is not None else None

    @cached_property
    def imported(self) -> Definition | None:
        """The definition of the function handed over, if it stands in another file of the project."""
        given = self.arguments.get(self.first)
        return self.module.elsewhere(given) if given is not None else None

    @cached_property
    def datasets(self) -> Datasets:
        """The datasets handed over."""
        node = self.arguments.get("datasets")
        if node is None or (isinstance(node, ast.Constant) and node.value is None):
            return Datasets(None, {})
        value = self.module.value(node)
        if not isinstance(value, ast.Dict) or self._filled_later(node):
            return Datasets(node, None)
        keys: dict[str, ast.expr] = {}
        for key, expression in zip(value.keys, value.values, strict=True):
            name = self.module.constant(key) if key is not None else ...
            if name == ... and key is not None:
                name = WELL_KNOWN_KEYS.get(self.module.qualified(key) or "", ...)
            if not isinstance(name, str):
                return Datasets(node, None)
            keys[name] = expression
        return Datasets(node, keys)

    def _filled_later(self, node: ast.expr) -> bool:
        """Whether a name gets more entries somewhere: `datasets["evaluation"] = ...`."""
        if not isinstance(node, ast.Name):
            return False
        scope = self.module.scope_of[node].find(node.id)
        return scope is not None and any(
            (isinstance(parent := self.module.parent_of[use], ast.Subscript) and isinstance(parent.ctx, ast.Store))
            or (isinstance(parent, ast.Attribute) and parent.attr in ("update", "setdefault", "pop"))
            for use in self.module.uses(node.id, scope)
        )

    @cached_property
    def use_gpu(self) -> bool | None:
        """Whether the workers have a GPU; None where that is decided at run time."""
        config = self.arguments.get("scaling_config")
        if config is None:
            return False
        module, value = self.module.followed(config)
        if not isinstance(value, ast.Call) or any(keyword.arg is None for keyword in value.keywords):
            return None
        name = ast.unparse(value.func)
        if module is not self.module and name.rpartition(".")[2] != "ScalingConfig":
            return None  # what a function of another file returns
        for keyword in value.keywords:
            if keyword.arg == "use_gpu":
                literal = module.constant(keyword.value)
                return literal if isinstance(literal, bool) else None
        return len(value.args) > 2 and None

    @property
    def statement(self) -> ast.stmt:
        """The statement that the construction is part of."""
        return self.module.statement(self.node)


WELL_KNOWN_KEYS = {
    "ray.train.constants.TRAIN_DATASET_KEY": "train",
    "ray.train.constants.EVALUATION_DATASET_KEY": "evaluation",
    "ray.train.TRAIN_DATASET_KEY": "train",
}


def trainer_calls(module: Module, names: frozenset[str], first: str) -> Iterator[TrainerCall]:
    """Constructions of the classes with these qualified names, in source order."""
    for call in module.calls(*names):
        yield TrainerCall(module, call, first)


def parameters(function: DefinitionNode | ast.Lambda) -> list[ast.arg]:
    """All parameters of a function as `inspect.signature` counts them, `*args` and `**kwargs` included."""
    arguments = function.args
    return [
        *arguments.posonlyargs,
        *arguments.args,
        *([arguments.vararg] if arguments.vararg else []),
        *arguments.kwonlyargs,
        *([arguments.kwarg] if arguments.kwarg else []),
    ]


def returns(module: Module, function: DefinitionNode) -> list[ast.Return]:
    """The return statements of a function, not those of functions inside it."""
    return [n for n in module.nodes if isinstance(n, ast.Return) and module.function(n) is function]


def is_generator_or_async(module: Module, function: DefinitionNode) -> bool:
    """Whether calling the function does not run it."""
    if isinstance(function, ast.AsyncFunctionDef):
        return True
    return any(isinstance(n, (ast.Yield, ast.YieldFrom)) and module.function(n) is function for n in module.nodes)
