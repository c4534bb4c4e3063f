"""RM304: checkpoints read as a dict.

The other side of `ray_checkpoint`: what converted code wrote to a file is read from it. `Checkpoint.to_dict` raises an
AttributeError (Ray issue 37868).
"""

import ast
from collections.abc import Iterator

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.ray_air.ray_checkpoint import API
from raymigrate.codemods.shared.checkpoint_files import before_statement
from raymigrate.codemods.shared.emitted import CHECKPOINT_FILE
from raymigrate.codemods.shared.helpers import add
from raymigrate.codemods.shared.local_names import local_name
from raymigrate.codemods.shared.torch_models import BY_CLASS, FROM_DICT, makes_by_class_alone
from raymigrate.edits.plan import Code
from raymigrate.facts.hugging_face.models import models_in
from raymigrate.facts.projects.helpers import Helper
from raymigrate.facts.projects.project_uses import uses_of
from raymigrate.facts.ray_train.framework_checkpoints import CLASSES, framework_class
from raymigrate.facts.ray_train.results import (
    CHECKPOINT_CLASSES,
    CHECKPOINTS,
    GET_CHECKPOINT,
    Layout,
    class_method,
    is_any_checkpoint,
    is_checkpoint,
    layout,
    made_by_script,
)
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.nodes import is_assignment, targets_of
from raymigrate.facts.syntax.scopes import FUNCTIONS, Reference
from raymigrate.facts.values import called_name, is_method_call, is_none, keyword_argument, last_name, sources
from raymigrate.knowledge.legacy import TORCH_TRAINERS, TRAINERS

RM304 = Rule(
    "RM304",
    "a checkpoint read as a dict",
    "ray.train.Checkpoint has no to_dict: it raises an AttributeError.",
    "The dict is loaded from the file that the converted code writes. Legacy Ray wrote it to another file.",
    API,
    errors=("'Checkpoint' object has no attribute 'to_dict'",),
)
MESSAGE = "Checkpoint.to_dict() raises an AttributeError on Ray >= 2.7"
# To the CPU: so legacy Ray read what a TorchTrainer saved (2.4.0 and 2.6.3 train/torch/torch_checkpoint.py,
# _decode_data_dict). The driver may have no GPU, and all workers would load to the same one.
LOAD = f'torch.load(os.path.join({{folder}}, "{CHECKPOINT_FILE}"), map_location="cpu", weights_only=False)'
LOADER = Helper(
    "load_checkpoint",
    f'''
def $name(checkpoint):
    """Reads the dict that the training function saved."""
    with checkpoint.as_directory() as checkpoint_dir:
        return {LOAD.format(folder="checkpoint_dir")}
''',
    (("os", None), ("torch", None)),
)
# Ray 2.4.0 and 2.6.3 air/checkpoint.py, _DICT_CHECKPOINT_FILE_NAME and _FS_CHECKPOINT_KEY.
PACKED = "the dict only carried them along: read them in the folder that checkpoint.as_directory() gives."
OLD_DICT = "A dict that legacy Ray wrote is in the file dict_checkpoint.pkl of the folder: read it with pickle.load()."
OPENED = (
    f"{OLD_DICT} One that converted code wrote is in {CHECKPOINT_FILE}: read it with torch.load(path,"
    f' map_location="cpu", weights_only=False). Of a folder with other files {PACKED}'
)
BY_METHODS = f"{OLD_DICT} What methods of TorchCheckpoint write today is the model alone: {BY_CLASS}."
OLDER = f"A checkpoint that legacy Ray wrote has no {CHECKPOINT_FILE}: resuming from it fails."
READ_OLDER = (
    "Its dict is in dict_checkpoint.pkl of the folder: read that with pickle.load() where it is there, or save the dict"
    f" once more: torch.save(the_dict, os.path.join(folder, {CHECKPOINT_FILE!r}))."
)
FILES = f"This checkpoint is a folder with files, and {PACKED}"
NOT_NEEDED = "Nothing needs the dict once the other checkpoint is made without it: see what is said there."
# Converted code saves into a temporary folder, and deletes it after ray.train.report(), which copies it: no mock does.
KEPT = (
    " Where a mock of report() keeps the checkpoint, its folder is deleted before the test reads it: converted code has"
    " it only until report() returns. Read it in the function that the mock calls, side_effect=."
)
MOCKING = ("mock", "pytest", "pytest_mock", "unittest")
CALLS_OF_MOCKS = ("call_args", "call_args_list", "mock_calls", "await_args", "await_args_list")
# docs/semantics/libraries.md#pickled-models
MODELS = (
    " The model that a dict of this file holds comes from its name, or from a folder of save_pretrained(): call"
    " from_pretrained() where it is used."
)
# They wrote a dict until Ray 2.6 (2.6.3 train/torch/torch_checkpoint.py), and files of their own since.
OF_CLASS = "get_model() of a {name} reads what methods of {name} write today{weights}. "
WEIGHTS = ", and takes the model where these are weights alone"
MADE_WITH = {"from_dict": "Use the dict that the checkpoint was made from.", "from_model": FILES}
MAKERS = frozenset(
    f"{owner}{method}" for owner in (*CHECKPOINTS, *CHECKPOINT_CLASSES, *CLASSES) for method in ("", ".from_dict")
)
USUAL_NAMES = frozenset({"checkpoint", "ckpt", "best_checkpoint", "last_checkpoint"})


@codemod("to_dict", phase=Phase.CHECKPOINTS)
def to_dict(context: Context) -> None:
    """Rewrites `checkpoint.to_dict()` where this file also writes the checkpoint from a dict."""
    module = context.module
    writers = [reference for reference in module.references if reference.qualified in FROM_DICT]
    written = bool(writers) and all(writer.root in context.rewritten for writer in writers)
    calls = [*module.method_calls("to_dict")]
    by_class = bool(calls) and makes_by_class_alone(module)
    opened = BY_METHODS if by_class else OPENED
    models = MODELS if any(_holds_model(module, writer) for writer in writers) else ""
    for node, method in calls:
        checkpoint = method.value
        is_made_again = _is_made_again(context, node)
        if (name := framework_class(module, checkpoint)) and not is_made_again:
            of_class = OF_CLASS.format(name=name, weights=WEIGHTS if name == "TorchCheckpoint" else "")
            context.manual(RM304, node, f"{MESSAGE}.", of_class + (OLD_DICT if by_class else OPENED))
        elif not is_any_checkpoint(module, checkpoint):
            if may_be_checkpoint(context, checkpoint):
                kept = KEPT if _may_be_kept(module, checkpoint) else ""
                advice = NOT_NEEDED if is_made_again else opened + kept + models
                context.manual(RM304, node, f"If this is a checkpoint of Ray: {MESSAGE}.", advice)
        elif is_made_again:
            context.manual(RM304, node, f"{MESSAGE}.", NOT_NEEDED)
        elif made := _makers(module, checkpoint):
            advice = MADE_WITH.get(made.pop() if len(made) == 1 else "", opened)
            context.manual(RM304, node, f"{MESSAGE}.", advice + models)
        elif layout(module, checkpoint) is Layout.NESTED:
            context.manual(RM304, node, f"{MESSAGE}.", FILES)
        elif not written or node.args or node.keywords or _is_from_elsewhere(module, checkpoint):
            context.manual(RM304, node, f"{MESSAGE}.", opened + models)
        elif context.converts(RM304, node, f"{MESSAGE}; now its file is read."):
            _load(context, module.statement(node), node)
            if _may_be_older(module, node, checkpoint):
                context.manual(RM304, node, OLDER, READ_OLDER)


def _may_be_older(module: Module, node: ast.Call, checkpoint: ast.expr) -> bool:
    """Whether a training function may be given a checkpoint of an earlier run, by resume_from_checkpoint=."""
    made = [(s.module, s.node) for s in module.origins(checkpoint)]
    if not any(called_name(home, get) in GET_CHECKPOINT for home, get in made):
        return False
    here = [(module, call) for call in module.calls(*TORCH_TRAINERS, *TRAINERS)]
    for home, call in (*here, *_trainers_elsewhere(module, node)):
        given = keyword_argument(call, "resume_from_checkpoint")
        if given is not None and not is_none(given) and not is_checkpoint(home, given):
            return True
    return False


def _trainers_elsewhere(module: Module, node: ast.AST) -> Iterator[tuple[Module, ast.Call]]:
    """The calls in other files that are given the function of the module which a node is in."""
    function = next((outer for outer in module.ancestors(node) if outer in module.tree.body), None)
    if module.project is None or not isinstance(function, ast.FunctionDef):
        return
    module.project.read_others(module.path)
    for user, read in uses_of(module.project, Definition(module, function, function.name)).reads:
        call = user.taking(read)
        if call is not None and user.qualified(call.func) in TORCH_TRAINERS | TRAINERS:
            yield user, call


def _holds_model(module: Module, writer: Reference) -> bool:
    """Whether a checkpoint is made from a dict with a model of transformers."""
    call = module.calling(writer.node)
    given = call.args[:1] if call is not None else []
    return any(models_in(module, data) for data in given)


def _is_from_elsewhere(module: Module, checkpoint: ast.expr) -> bool:
    """Whether another file gives a checkpoint: what its run saves need not be what this one does."""
    return any(source.module is not module for source in module.origins(checkpoint))


def _makers(module: Module, checkpoint: ast.expr) -> set[str]:
    """The methods of checkpoint classes with which the script makes a checkpoint itself."""
    found: set[str] = set()
    for source in sources(module, checkpoint):
        by_script = made_by_script(module, source)
        method = class_method(module, source) if by_script is None else by_script
        found |= {method} if method is not None and method != "from_checkpoint" else set()
    return found


def _is_made_again(context: Context, node: ast.Call) -> bool:
    """Whether a dict is there for another checkpoint only, which no edit makes: `Checkpoint.from_dict(c.to_dict())`."""
    module = context.module
    name = module.name_of(node)
    uses = module.uses_of(name) if module.is_bound_once(name) else [node]
    outer = [module.parent_of[use] for use in uses]
    makers = [module.parent_of[node] if isinstance(node, ast.keyword) else node for node in outer]
    references = [module.reference_at.get(call.func) for call in makers if isinstance(call, ast.Call)]
    return len(references) == len(uses) > 0 and all(
        reference is not None and reference.qualified in MAKERS and reference.root not in context.rewritten
        for reference in references
    )


def may_be_checkpoint(context: Context, node: ast.expr) -> bool:
    """Whether an expression of which nothing is known is called a checkpoint, in a module that uses Ray."""
    module = context.module
    argument = module.definition(node)
    if isinstance(argument, ast.arg) and argument.annotation is not None:
        return False
    if isinstance(module.value(node), ast.Call):
        return False  # made by a call of something else
    name: object = last_name(node)
    if isinstance(node, ast.Subscript):
        name = module.constant(node.slice)  # `call_args.kwargs["checkpoint"]`
    ray = any(reference.qualified.startswith(("ray.air", "ray.train")) for reference in module.references)
    return (ray or context.options.part_of_job) and name in USUAL_NAMES


def _may_be_kept(module: Module, checkpoint: ast.expr) -> bool:
    """Whether a checkpoint may be what a report was called with that is over: `report.call_args.kwargs["checkpoint"]`.

    A function that is called in place of the report has it in a dict of its own parameters, `**kwargs`.
    """
    function = module.function(checkpoint)
    if any(module.function(read) is function for read in module.attributes(*CALLS_OF_MOCKS)):
        return True
    if not isinstance(checkpoint, ast.Subscript) or not _has_mocks(module, checkpoint):
        return False
    parameters = [outer.args.kwarg for outer in module.ancestors(checkpoint) if isinstance(outer, FUNCTIONS)]
    return module.definition(checkpoint.value) not in [parameter for parameter in parameters if parameter is not None]


def _has_mocks(module: Module, node: ast.AST) -> bool:
    """Whether there may be mocks: the module imports what makes them, or asks them for their calls, or it is a test."""
    around = (getattr(outer, "name", "") for outer in module.ancestors(node) if isinstance(outer, FUNCTIONS))
    is_test = any(name.startswith("test") for name in around)
    imports = any(reference.qualified.partition(".")[0] in MOCKING for reference in module.references)
    return is_test or imports or any(module.attributes(*CALLS_OF_MOCKS))


def _load(context: Context, statement: ast.stmt, node: ast.Call) -> None:
    assert isinstance(node.func, ast.Attribute)
    in_place = before_statement(context, node) and _is_only_dict(statement, node)
    if not in_place or not is_assignment(statement) or len(targets_of(statement)) != 1:
        context.plan.replace(node, f"{_loader(context, node)}($checkpoint)", checkpoint=node.func.value)
        return
    for need in ("os", "torch"):
        context.plan.need_import(need)
    folder = local_name(context, statement, "checkpoint_dir")
    parts: dict[str, ast.expr | str] = {"target": targets_of(statement)[0], "checkpoint": node.func.value}
    value = LOAD.format(folder=folder)
    if statement.value is not node:
        context.plan.replace(node, value)
        parts["value"], value = statement.value, "$value"
    target = "$target"
    if isinstance(statement, ast.AnnAssign):
        parts["type"], target = statement.annotation, "$target: $type"
    template = f"with $checkpoint.as_directory() as {folder}:\n    {target} = {value}"
    context.plan.statement(statement).replacement = Code(template, parts)


def _is_only_dict(statement: ast.stmt, node: ast.Call) -> bool:
    """Whether a statement reads no other checkpoint as a dict: both would be opened under one name."""
    calls = (other for other in ast.walk(statement) if isinstance(other, ast.Call) and other is not node)
    return not any(is_method_call(other, "to_dict") for other in calls)


def _loader(context: Context, node: ast.AST) -> str:
    """The name of the function that loads the dict; put before the code that saves it, or that reads it first."""
    if ("load_checkpoint", None) not in context.emitted:
        writers = [reference.node for reference in context.module.references if reference.qualified in FROM_DICT]
        first = min((node, *writers), key=context.module.start)
        context.emitted["load_checkpoint", None] = add(context, LOADER, first)
    return context.emitted["load_checkpoint", None]
