"""Which code draws random numbers: seeds that all processes share, and data that is augmented while it is read."""

import ast
import re
from collections.abc import Iterator

from raymigrate.base.expressions import lazy_regex
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.scopes import FUNCTIONS
from raymigrate.facts.values import all_arguments, argument, called_name, is_method_call, keyword_named

MAX_STEPS = 8  # from a dataset to the function that draws
# What draws from a generator that the whole process shares, by that generator.
DRAWS = {
    "torch": lazy_regex(
        r"torch\.(rand(?!om\.)\w*|normal|bernoulli|multinomial|poisson)"
        r"|torchvision\.transforms\.(v2\.)?(functional\.)?"
        r"(Random\w+|ColorJitter|AutoAugment|RandAugment|TrivialAugmentWide|AugMix|ElasticTransform|GaussianBlur"
        r"|GaussianNoise|CutMix|MixUp|ScaleJitter)"
    ),
    "NumPy": lazy_regex(r"numpy\.random\.(?!seed|default_rng|RandomState|Generator|get_state|set_state)\w+"),
    "Python": lazy_regex(r"random\.(?!seed|Random|SystemRandom|getstate|setstate)\w+"),
}
IN_PLACE = frozenset({"normal_", "uniform_", "bernoulli_", "random_", "exponential_"})
ROWS = ("__getitem__", "__getitems__", "__call__", "forward")
MASKING = ("transformers.DataCollatorForLanguageModeling", "transformers.DataCollatorForWholeWordMask")
SEEDS = {
    "transformers.set_seed": 0,
    "transformers.trainer_utils.set_seed": 0,
    "accelerate.utils.set_seed": 0,
    "torch.manual_seed": 0,
    "torch.random.manual_seed": 0,
}
RANK_WORDS = lazy_regex(r"rank|process_index", re.IGNORECASE)


def shared_seed(module: Module) -> ast.Call | None:
    """The first call that sets a seed of torch which is the same in every process; None if there is none."""
    for call in module.calls(*SEEDS):
        apart = argument(call, 1, "device_specific") if "set_seed" in called_name(module, call) else None
        seed = argument(call, 0, "seed")
        is_apart = apart is not None and module.constant(apart) is not False
        if seed is not None and not is_apart and not _is_of_rank(module, seed, MAX_STEPS):
            return call
    return None


def _is_of_rank(module: Module, seed: ast.expr, depth: int) -> bool:
    """Whether a seed is worked out with the rank of the process, under whatever name: `args.seed + process_index`."""
    if RANK_WORDS.search(module.source(seed)):
        return True
    for part in (seed, *module.below(seed)) if depth else ():
        if not isinstance(part, (ast.Name, ast.Attribute)) or module.qualified(part) is not None:
            continue
        behind = [source for source in module.origins(part) if source.node is not part]
        if any(_is_of_rank(source.module, source.node, depth - 1) for source in behind):
            return True
        if isinstance(part, ast.Name) and any(_is_of_rank(module, more, depth - 1) for more in _added(module, part)):
            return True
    return False


def _added(module: Module, name: ast.Name) -> Iterator[ast.expr]:
    """What is added to a name: `seed += rank`."""
    for binding in module.scope_of[name].lookup(name.id):
        statement = module.parent_of.get(binding.node)
        if isinstance(statement, ast.AugAssign):
            yield statement.value


def drawn_while_read(module: Module, loader: ast.Call) -> frozenset[str]:
    """The generators from which a DataLoader's rows are drawn in the main process: by the dataset or the collator.

    Args:
        module: The module that makes the loader.
        loader: The call of `DataLoader`.
    """
    workers = argument(loader, 5, "num_workers")
    if workers is not None and module.constant(workers) not in (0, None, ...):
        return frozenset()
    given = [argument(loader, 0, "dataset"), argument(loader, 6, "collate_fn")]
    return frozenset(kind for value in given if value is not None for kind in _later(module, value, MAX_STEPS))


def draws(module: Module, *generators: str) -> Iterator[ast.Call]:
    """The calls of a module that draw from some of the generators in `DRAWS`."""
    for call in module.of_type(ast.Call):
        if not set(_drawn_from(module, call)).isdisjoint(generators):
            yield call


def _drawn_from(module: Module, call: ast.Call) -> list[str]:
    """The generators of the process from which a function draws that is called."""
    name = called_name(module, call)
    return [kind for kind, pattern in DRAWS.items() if pattern.fullmatch(name)]


def drawn_in(module: Module, node: ast.AST) -> Iterator[str]:
    """The generators that code draws from when it runs, in the functions of the module that it calls too."""
    waiting, seen = [node], {node}
    while waiting:
        for part in _executed(waiting.pop()):
            if not isinstance(part, ast.Call):
                continue
            name = called_name(module, part)
            has_own = keyword_named(part, "generator") is not None
            if not has_own:
                yield from _drawn_from(module, part)
            if not name and is_method_call(part, *IN_PLACE) and not has_own:
                yield "torch"
            definition = module.definition(part.func)
            if isinstance(definition, ast.FunctionDef) and definition not in seen:
                seen.add(definition)
                waiting.append(definition)


def _executed(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a statement or the body of a function does."""
    waiting = [*getattr(node, "body", [])] if isinstance(node, ast.FunctionDef) else [node]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += [child for child in ast.iter_child_nodes(part) if not isinstance(child, FUNCTIONS)]


def _later(module: Module, node: ast.expr, depth: int) -> Iterator[str]:
    """The generators from which an object draws when its rows are read: a dataset, a transform, a collator."""
    if not depth:
        return
    if isinstance(node, ast.Lambda):
        yield from drawn_in(module, node.body)
        return
    if isinstance(node, (ast.List, ast.Tuple)):
        for part in node.elts:
            yield from _later(module, part, depth - 1)
        return
    if isinstance(node, (ast.Name, ast.Attribute)):
        definition = module.definition(node)
        if isinstance(definition, ast.FunctionDef):
            yield from drawn_in(module, definition)
            return
    if not isinstance(node, ast.Call):
        for source in module.origins(node):
            if source.node is not node and source.module is module and isinstance(source.node, ast.expr):
                yield from _later(module, source.node, depth - 1)
        return
    yield from _of_made(module, node, depth)


def _of_made(module: Module, call: ast.Call, depth: int) -> Iterator[str]:
    """The generators from which what a call makes draws later on."""
    name = called_name(module, call)
    if DRAWS["torch"].fullmatch(name) and name.startswith("torchvision."):
        yield "torch"
    if name in MASKING and module.constant(argument(call, 1, "mlm") or ast.Constant(value=True)) is not False:
        yield "torch"
    definition = module.definition(call.func)
    if isinstance(definition, ast.ClassDef):
        yield from _of_class(module, definition, depth)
    if isinstance(definition, ast.FunctionDef):
        for part in _executed(definition):
            if isinstance(part, ast.Return) and part.value is not None:
                yield from _later(module, part.value, depth - 1)
    if isinstance(call.func, ast.Attribute) and not name and call.func.attr in ("with_transform", "select", "shuffle"):
        yield from _later(module, call.func.value, depth - 1)
    if not name or name.startswith(("torchvision.", "torch.utils.data.", "torch.nn.", "functools.")):
        for value in all_arguments(call):
            yield from _later(module, value, depth - 1)


def _of_class(module: Module, definition: ast.ClassDef, depth: int) -> Iterator[str]:
    """The generators from which an object of a class draws for a row, by its own code or by what it keeps."""
    methods = {node.name: node for node in definition.body if isinstance(node, ast.FunctionDef)}
    waiting = [methods[name] for name in ROWS if name in methods]
    seen: set[ast.AST] = set()
    while waiting:
        method = waiting.pop()
        if method in seen:
            continue
        seen.add(method)
        yield from drawn_in(module, method)
        called = [part.func for part in _executed(method) if isinstance(part, ast.Call)]
        waiting += [methods[f.attr] for f in called if isinstance(f, ast.Attribute) and f.attr in methods]
    for statement in methods["__init__"].body if "__init__" in methods else ():
        if is_assignment(statement) and isinstance(targets_of(statement)[0], ast.Attribute):
            yield from _later(module, statement.value, depth - 1)
