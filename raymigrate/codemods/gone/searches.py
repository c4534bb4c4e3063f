"""RM697 and RM693 through `Trainer.hyperparameter_search()`, which hands its keywords to ray.tune.run()."""

import ast
from collections.abc import Iterator

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.gone.refused_calls import ADVICE, RM697
from raymigrate.codemods.gone.rescan import RM693
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.instances import TRAINER
from raymigrate.facts.ray_tune.searches import RUN, SEARCH, searches
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_none
from raymigrate.facts.values.carried import carried
from raymigrate.knowledge.libraries import look_up, member, parameters, refusal, takes


@codemod(SEARCH, phase=Phase.GONE, in_ray_scripts=True)
def arguments_of_searches(context: Context) -> None:
    """Reports the arguments of such searches that tune.run() refuses."""
    module, run = context.module, look_up(RUN)
    taken, refused = parameters(run), refusal(run.place)
    if taken is None or refused is None:
        return
    for search in searches(module):
        unless = "" if search.is_sure else ", if Ray is its backend"
        for name, where in _given(module, search.call):
            if is_guarded(module, where, name):
                continue
            hands = f"{SEARCH}({name}=) hands it to {RUN}()"
            if name in refused.parameters:
                message = f"{hands}, which raises a {refused.error_of([name])} on Ray >= 2.51{unless}."
                context.manual(RM697, where, message, ADVICE.get(name) or refused.advice or None)
            elif not takes(taken, name):
                context.manual(RM693, where, f"{hands}, which refuses it today{unless}.")


def _given(module: Module, call: ast.Call) -> Iterator[tuple[str, ast.AST]]:
    """The arguments that go to the backend, each with its place; None says nothing, as Ray takes it."""
    method = member(TRAINER, SEARCH)
    own = frozenset(method.parameters or ()) if method is not None else frozenset[str]()
    for keyword in call.keywords:
        if keyword.arg is not None:
            if keyword.arg not in own and not is_none(keyword.value):
                yield keyword.arg, keyword
            continue
        for entry in carried(module, keyword.value).entries:
            if entry.name not in own and not is_none(entry.value):
                yield entry.name, keyword
