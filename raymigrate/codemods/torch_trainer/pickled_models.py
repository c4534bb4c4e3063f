"""RM429: models of transformers that go to another process by pickle (facts/hugging_face/models.py).

docs/semantics/libraries.md#pickled-models. Run with the cloudpickle of Ray 2.60, transformers 5.23 and torch 2.13: a
SegFormer that has been called, one that has not, and a Wav2Vec2 in either case.
"""

import ast
from collections.abc import Collection, Iterator
from functools import cached_property

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.facts.hugging_face.models import MadeModel, asks_for_states, may_hold_models, models_in
from raymigrate.facts.ray_train.own_objects import is_sent_by_name
from raymigrate.facts.ray_train.pickling import given_functions, sent_functions, sent_values
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.runs_before import RunsBefore
from raymigrate.facts.syntax.scopes import FunctionNode
from raymigrate.facts.values import is_method_call
from raymigrate.knowledge.pickled_models import Pickling

RM429 = Rule(
    "RM429",
    "a model of transformers that Ray pickles",
    "transformers 5 captures hidden states and attentions by hooks. A model that has captured some cannot be pickled;"
    " one that was unpickled captures none in a process that never made a model of its class: they are None, and models"
    " that need them fail. Models with parametrized weights, such as Wav2Vec2, cannot be pickled at all.",
    "Make the model in the process that uses it: give that its name, or a folder from save_pretrained(), and call"
    " from_pretrained() there.",
    "https://docs.ray.io/en/latest/ray-core/objects/serialization.html",
    errors=(
        "cannot pickle '_contextvars.ContextVar' object",
        "'install_output_capuring_hook.<locals>.output_capturing_hook'",
        "Serialization of parametrized modules is only supported through state_dict()",
    ),
    unproven="What comes depends on the kind of model, and the hub of the tests has none that needs its hidden states.",
)
REFUSED = "torch cannot pickle this kind of model, which has parametrized weights: this raises a RuntimeError."
CAPTURED = (
    "This model has been called before. Since transformers 5 one that has captured hidden states or attentions cannot"
    " be pickled: this raises a TypeError."
)
FAILS = (
    "In a process that never made such a model, one that was unpickled captures no hidden states since transformers 5."
    " This kind needs its own: a TypeError there."
)
NONE = (
    "In a process that never made such a model, one that was unpickled captures no hidden states or attentions since"
    " transformers 5: they are None there."
)
SAVED = "Save it with save_pretrained(folder), or its weights alone: torch.save(model.state_dict(), path)."
RUNNING = frozenset({"forward", "generate", "predict"})
SAVING = ("torch.save", "pickle.dump", "pickle.dumps", "cloudpickle.dump", "cloudpickle.dumps")


@codemod("transformers", "get_model", phase=Phase.LIBRARIES, in_ray_scripts=True)
def pickled_models(context: Context) -> None:
    """Reports models that go to another process, or to a file, where that fails or changes what they give."""
    module = context.module
    if context.keeps_transformers or not may_hold_models(module):
        return
    fates = _Fates(module)
    by_name = [] if is_sent_by_name(module) else _taken_along(module, sent_functions(module, context.places))
    for place in (*sent_values(module), *given_functions(module), *by_name):
        if told := fates.of(place):
            context.manual(RM429, place, told)
    for call in module.calls(*SAVING):
        if call.args and (told := fates.of(call.args[0])) in (REFUSED, CAPTURED):
            context.manual(RM429, call.args[0], told, SAVED)


class _Fates:
    """Tells what happens to models that are pickled; what concerns a model is looked up once.

    Args:
        module: The module.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self._asked: dict[ast.Call, bool] = {}

    def of(self, place: ast.expr) -> str:
        """What happens to the models that a value holds; empty where nothing does."""
        texts = {self._of_model(place, made) for made in models_in(self.module, place)}
        return next((text for text in (REFUSED, CAPTURED, FAILS, NONE) if text in texts), "")

    def _of_model(self, place: ast.expr, made: MadeModel) -> str:
        if made.pickling in (Pickling.REFUSED, Pickling.COLLECTS):
            return REFUSED if made.pickling is Pickling.REFUSED else ""
        if made.call not in self._asked:
            self._asked[made.call] = asks_for_states(self.module, made)
        asked = self._asked[made.call]
        if made.pickling is Pickling.USUAL and not asked:
            return ""
        if any(self._runs.before(call, place) for call in self._uses.get(made.call, ())):
            return CAPTURED
        if made.pickling is Pickling.NEEDS_STATES:
            return FAILS
        return NONE if asked else ""

    @cached_property
    def _runs(self) -> RunsBefore:
        return RunsBefore(self.module)

    @cached_property
    def _uses(self) -> dict[ast.Call, list[ast.Call]]:
        """The calls that run a model, itself or a pipeline with it, by the call that makes it."""
        found: dict[ast.Call, list[ast.Call]] = {}
        for call in self.module.of_type(ast.Call):
            runs = call.func.value if is_method_call(call, *RUNNING) else call.func
            for made in models_in(self.module, runs) if self.module.qualified(runs) is None else ():
                found.setdefault(made.call, []).append(call)
        return found


def _taken_along(module: Module, functions: Collection[FunctionNode]) -> Iterator[ast.expr]:
    """The names and values by which models may be pickled with functions: globals, and attributes of classes."""
    classes = set[ast.ClassDef]()
    for function in sorted(functions, key=module.start):
        names = set[str]()
        for name in module.below(function):
            if isinstance(name, ast.Name) and name.id not in names and _is_from_outside(module, name, function):
                names.add(name.id)
                yield name
        home = module.parent_of[function]
        if isinstance(home, ast.ClassDef) and home not in classes:
            classes.add(home)
            yield from (
                node.value for node in home.body if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value
            )


def _is_from_outside(module: Module, name: ast.Name, function: FunctionNode) -> bool:
    scope = module.bound_in(name) if isinstance(name.ctx, ast.Load) else None
    return scope is not None and scope.node is not function and not module.inside(scope.node, function)
