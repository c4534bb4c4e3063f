"""`Trainer.hyperparameter_search()`, which hands its keywords to `ray.tune.run()` where Ray is its backend."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from raymigrate.facts.hugging_face.instances import TRAINER, instance_of
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import argument
from raymigrate.knowledge.libraries import lineage

SEARCH = "hyperparameter_search"
RUN = "ray.tune.run"
BACKEND = 4  # its place among the arguments (transformers 5.23, trainer.py:4502)
RAY = "ray"


@dataclass(frozen=True)
class Search:
    """A search whose backend may be Ray.

    Args:
        call: The call.
        is_sure: Whether Ray is its backend, and not only may be.
    """

    call: ast.Call
    is_sure: bool


def searches(module: Module) -> Iterator[Search]:
    """The searches of a module whose backend may be Ray."""
    for call, method in module.method_calls(SEARCH):
        backends = _backends(module, call)
        kind = instance_of(module, method.value)
        is_trainer = TRAINER in lineage(kind) if kind else RAY in backends
        if is_trainer and backends & {RAY, None}:
            yield Search(call, backends == {RAY})


def _backends(module: Module, call: ast.Call) -> set[str | None]:
    """The backends that a search may use; None among them where that cannot be seen, or the one that is installed."""
    given = argument(call, BACKEND, "backend")
    found = set[str | None]()
    for source in module.origins(given):
        value, name = source.module.constant(source.node), source.module.qualified(source.node) or ""
        is_member = name.rpartition(".")[0].endswith(".HPSearchBackend")
        text = name.rpartition(".")[2].lower() if is_member else value
        found.add(text if isinstance(text, str) else None)
    return found or {None}
