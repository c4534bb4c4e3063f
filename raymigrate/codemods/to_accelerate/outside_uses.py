"""RM857, RM858: what a script does around a training that is converted in another file."""

import ast

from raymigrate.base.findings import Kind
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.to_accelerate.objects import OWN, ObjectView, view_of
from raymigrate.codemods.to_accelerate.obstacles import is_native
from raymigrate.codemods.to_accelerate.rules import RM850, RM857, RM858
from raymigrate.codemods.to_accelerate.shares import MODES, hidden_devices
from raymigrate.codemods.to_accelerate.training import Training
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module

AS_BEFORE = MODES | {"training", "device", "dtype"}  # what a wrapper has, and what is the same of it


@codemod("CUDA_VISIBLE_DEVICES", "state_dict", "model", "net", phase=Phase.POSITIONS, option="to_accelerate")
def tell(context: Context) -> None:
    """Tells of uses of a prepared model, and of GPUs that are hidden, in files that only start the training."""
    module = context.module
    if module.project is None or is_native(Training(module)):
        return
    started = _started(context)
    if not started:
        return
    for told in hidden_devices(module):
        context.manual(RM858, *told)
    homes = {home.module for home in started.values() if isinstance(home.node, ast.ClassDef)}
    models = {home: _models(home) for home in homes}
    for read in module.of_type(ast.Attribute):
        if not isinstance(read.ctx, ast.Load) or _is_as_before(module, read):
            continue
        made = next((started[source.node] for source in module.origins(read.value) if source.node in started), None)
        if made is not None and isinstance(made.node, ast.ClassDef) and read.attr in models[made.module]:
            _tell_model(context, read, made.module.path)


def _tell_model(context: Context, read: ast.Attribute, path: str) -> None:
    """Tells of a use of a model that a file of the project prepares."""
    model, owner = ast.unparse(read), ast.unparse(read.value)
    context.manual(
        RM857,
        read,
        f"`{model}` is prepared in {path}: with several processes it is in a wrapper, its weights are called `module.`"
        " and so on, and each process that saves them writes the same file.",
        f"Take {owner}.accelerator.unwrap_model({model}), and save with {owner}.accelerator.save(): it writes once.",
    )


def _started(context: Context) -> dict[ast.AST, Definition]:
    """The calls of functions and classes of other files whose training this run converts, each with what is called."""
    module, found, converted = context.module, dict[ast.AST, Definition](), dict[str, bool]()
    assert module.project is not None
    for call in module.of_type(ast.Call):
        definition = module.elsewhere(call.func)
        if definition is None:
            continue
        home = definition.module
        if home.path not in converted:
            converted[home.path] = context.may_ask(home.path) and is_native(Training(home)) and _is_converted(home)
        if converted[home.path]:
            found[call] = definition
    return found


def _is_converted(home: Module) -> bool:
    assert home.project is not None
    return any(f.code == RM850.code and f.kind is Kind.CONVERTED for f in home.project.findings(home.path))


def _models(home: Module) -> frozenset[str]:
    """The attributes in which the object that trains keeps its models."""
    view = view_of(home)
    if not isinstance(view, ObjectView):
        return frozenset()
    return frozenset(model.name.removeprefix(OWN) for model in Training(view).models if model.name.startswith(OWN))


def _is_as_before(module: Module, read: ast.Attribute) -> bool:
    """Whether what is done with a model is the same of a prepared one: it is called, or changes its mode."""
    parent = module.parent_of[read]
    if isinstance(parent, ast.Call):
        return parent.func is read
    return isinstance(parent, ast.Attribute) and parent.attr in AS_BEFORE
