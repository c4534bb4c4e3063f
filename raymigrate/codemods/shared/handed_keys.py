"""Keys by which converted code hands numbers to its workers: another trainer of the module can have the same ones."""

import ast
from collections.abc import Iterable, Iterator
from itertools import chain, count

from raymigrate.codemods.shared.already_there import definitions_of
from raymigrate.codemods.shared.emitted import TRAIN_SHARD
from raymigrate.facts.ray_train.trainers import TRAIN_LOOP, trainer_calls
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none
from raymigrate.facts.values.nothing import is_none_in_some_case, may_give_none
from raymigrate.knowledge.legacy import TORCH_TRAINERS


def unpacked(module: Module, config: ast.expr, name: str = "$config") -> str:
    """What unpacks a configuration into a dict display; one that is None, as trainers take it, has no entries.

    Args:
        module: The module.
        config: The configuration.
        name: What stands for it in the code.
    """
    value = module.value(config)
    falls_back = isinstance(value, ast.BoolOp) and isinstance(value.op, ast.Or) and not is_none(value.values[-1])
    perhaps = is_none_in_some_case(module, config) or any(may_give_none(each.node) for each in module.origins(config))
    return f"**({name} or {{}})" if perhaps and not falls_back else f"**{name}"


def free_key(modules: Iterable[Module], *names: str) -> str:
    """The first of some names, or of one with a number, that neither a configuration nor what reads it can mean.

    Args:
        modules: The modules in which these are.
        names: The names.
    """
    numbered = (f"{names[0]}_{number}" for number in count(2))
    homes = set(modules)
    return next(name for name in chain(names, numbered) if not any(_spells(home, name) for home in homes))


def _spells(module: Module, key: str) -> bool:
    """Whether a module could mean a key of a configuration by some word, other than one that is handed to workers.

    A training function takes such a key out of its own configuration, before anything else reads that.
    """
    if key not in module.spelled:
        return False
    handed = set(_handed(module))
    words: list[ast.AST] = [*module.texts(key)]
    words += [node for node in module.of_type(ast.keyword) if node.arg == key]
    words += [node for node in module.of_type(ast.arg) if node.arg == key]
    words += module.attributes(key)
    return not handed.issuperset(words)


def _handed(module: Module) -> Iterator[ast.AST]:
    """The words that spell keys which TorchTrainers of the module hand to their training functions."""
    shards = definitions_of(module, TRAIN_SHARD)
    for definition in shards:
        yield from (node for node in module.of_type(ast.arg) if module.inside(node, definition))
    functions = set[ast.AST | None]()
    for call in trainer_calls(module, TORCH_TRAINERS, TRAIN_LOOP):
        functions.update(call.functions)
        config = call.arguments.get("train_loop_config")
        if isinstance(config, ast.Dict):
            yield from (key for key in config.keys if key is not None)
        elif isinstance(config, ast.Call) and ast.unparse(config.func) == "dict":
            yield from config.keywords
    for taken, method in module.method_calls("pop"):
        function, taker = module.function(taken), module.parent_of[taken]
        is_for_shard = isinstance(taker, ast.Call) and module.definition(taker.func) in shards
        if taken.args and isinstance(method.value, ast.Name) and (is_for_shard or function in functions):
            yield taken.args[0]
