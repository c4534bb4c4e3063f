"""RM105 and RM106: what an init function asks for that the legacy trainer ignored or did in a way of its own."""

import ast
from collections.abc import Iterator, Sequence

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.train_function import TrainFunction
from raymigrate.facts.hugging_face.later_settings import later_settings, unseen_settings
from raymigrate.facts.hugging_face.own_arguments import names_it
from raymigrate.facts.projects.indirect import unseen_makers
from raymigrate.facts.syntax.literals import shortened_text
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, keyword_argument
from raymigrate.facts.values.carried import carried
from raymigrate.facts.values.constructors import constructors
from raymigrate.facts.values.dicts import value_of_key
from raymigrate.facts.values.keys import keys_of
from raymigrate.knowledge.legacy import HF_TRAINERS, TRAINING_ARGUMENTS

GUIDE = "https://docs.ray.io/en/latest/train/getting-started-transformers.html#transformerstrainer-migration-guide"

OFF: tuple[object, ...] = (None, "none", [], ["none"])  # values of report_to that start nothing
LOADER_PROCESSES = "dataloader_num_workers"
NO_PROCESSES = (
    " has no effect on the training rows of Ray Data: no process beside the worker's own can read its shard, so the"
    " collator runs in that. Do what is slow in it beforehand, in map_batches() of the Dataset."
)

RM105 = Rule(
    "RM105",
    "report_to, which the legacy trainer ignored",
    "The legacy trainer removed every logging integration; on current Ray report_to starts them on the workers.",
    'report_to becomes "none", as it was in effect, or the training function removes the loggers. Set it again to start'
    " logging.",
    "https://docs.ray.io/en/latest/train/user-guides/experiment-tracking.html",
)
RM106 = Rule(
    "RM106",
    "a Trainer or a dataset used in a way that the Ray Data loader cannot keep",
    "The legacy trainer handed over a Hugging Face IterableDataset and patched get_train_dataloader().",
    "Check this place by hand.",
    GUIDE,
)


def check_use_of_datasets(context: Context, function: TrainFunction) -> None:
    """Reports attributes of the dataset arguments, and Trainer subclasses with their own loader."""
    module = context.module
    if not function.uses_ray_data:
        return
    for name in function.read_dataset_parameters:
        for use in module.uses(name, module.scope(function.init)):  # type: ignore[arg-type]
            parent = module.parent_of[use]
            if isinstance(parent, ast.Attribute):
                context.manual(RM106, parent, f"{name}.{parent.attr} was a Hugging Face IterableDataset's attribute.")
    for node in module.of_type(ast.FunctionDef) if function.loads_shard else ():
        if node.name == "get_train_dataloader":
            context.manual(
                RM106, node, "This get_train_dataloader() is not called: the shard's loader takes its place."
            )


def tell_loader_processes(context: Context, function: TrainFunction) -> None:
    """Tells that the training rows of Ray Data come without the loader processes that a script asks for.

    The legacy trainer started them, and mostly broke: docs/semantics/traps.md#t37.

    Args:
        context: The module.
        function: The training function.
    """
    if not function.loads_shard:
        return
    made = [arguments for _, arguments in _made(function)]
    for home in dict.fromkeys((*function.shown.modules, context.module)):
        others = [call for call in home.calls(*TRAINING_ARGUMENTS) if call not in made]
        for place in dict.fromkeys(_settings(home, LOADER_PROCESSES, (None, 0))):
            if home.parent_of[place] in others:
                continue
            is_here = home is context.module
            where = "" if is_here else f" in {home.path}"
            context.note(RM106, place if is_here else function.call.node, f"{LOADER_PROCESSES}{where}{NO_PROCESSES}")


def _made(function: TrainFunction) -> list[tuple[Module, ast.Call]]:
    """The calls that make the arguments of a function's Trainer; all of its files where not all of them are seen."""
    seen = function.shown.seen_arguments
    if seen is None:
        return [(home, made) for home in function.shown.modules for made in home.calls(*TRAINING_ARGUMENTS)]
    return [(source.module, source.node) for source in seen if isinstance(source.node, ast.Call)]


def silence_loggers(context: Context, function: TrainFunction) -> None:
    """Keeps the loggers off that the legacy trainer removed, wherever report_to is set.

    In the TrainingArguments of an init function that becomes the training function, report_to gets the value that it
    had in effect. Elsewhere it may be meant for others too: there the training function removes the loggers.

    Args:
        context: The module.
        function: The training function.
    """
    module = function.body_module
    anywhere = _made(function)
    inside = [(home, made) for home, made in anywhere if home is module and home.inside(made, function.body)]
    made = inside or anywhere
    ours = bool(inside) and function.inline and module is context.module
    for _, arguments in made if ours else ():
        for keyword in arguments.keywords:
            if keyword.arg == "report_to" and _starts_loggers(module, keyword.value):
                message = 'report_to had no effect under the legacy trainer; current Ray starts loggers; now "none".'
                if context.converts(RM105, keyword, message):
                    context.plan.call(arguments).set("report_to", '"none"')
    found = next(_places(context, function, made, ours=ours), None)
    if found is not None:
        _remove_loggers(context, function, *found, _spelled(found[1]))
    elif function.shown.unfound:
        given = Source(context.module, function.given)
        _remove_loggers(context, function, given.module, given.node, _unseen(given))
    elif function.shown.unseen_arguments:
        unseen = function.shown.unseen_arguments[0]
        _remove_loggers(context, function, unseen.module, unseen.node, _unseen(unseen))


def _places(
    context: Context, function: TrainFunction, made: Sequence[tuple[Module, ast.Call]], *, ours: bool
) -> Iterator[tuple[Module, ast.AST]]:
    """Where report_to is set, or may be, for the Trainer of a job; each place with its file.

    Args:
        made: The calls that make the arguments.
        ours: Whether those that start loggers in them were changed.
    """
    homes = dict.fromkeys((*function.shown.modules, context.module, *(home for home, _ in made)))
    for home in homes:
        places = _set_later(home, "report_to", OFF) if made else _settings(home, "report_to", OFF)
        yield from ((home, place) for place in (*places, *unseen_settings(home)))
    for home, arguments in made:
        yield from ((home, place) for place in _left_in(home, arguments, ours=ours))
        if keyword_argument(arguments, "report_to") is None and names_it(constructors(home, arguments), "report_to"):
            yield home, arguments
    for home in homes if function.shown.seen_arguments is None else ():
        yield from ((home, call) for call in unseen_makers(home, HF_TRAINERS, TRAINING_ARGUMENTS))


def _unseen(source: Source) -> str:
    """How a message names report_to, which something sets that is not seen."""
    if isinstance(source.node, ast.Call):  # its arguments are no matter of this
        where = f"{source.module.source(source.node.func)}()"
    else:
        where = source.module.source(source.node)
    return f"report_to, if it is set in {shortened_text(where)},"


def _spelled(place: ast.AST) -> str:
    """How a message names report_to, which a place sets or may set."""
    is_hidden = isinstance(place, ast.Call) or (isinstance(place, ast.keyword) and place.arg is None)
    return "report_to, if it is among these," if is_hidden else "report_to"


def _left_in(module: Module, arguments: ast.Call, *, ours: bool) -> Iterator[ast.keyword]:
    """The arguments of TrainingArguments that start loggers, or may, and stay as they are."""
    given = [keyword for keyword in arguments.keywords if keyword.arg == "report_to"]
    if given:
        yield from (keyword for keyword in given if not ours and _starts_loggers(module, keyword.value))
    else:
        yield from (k for k in arguments.keywords if k.arg is None and _may_set(module, k.value))


def _settings(module: Module, name: str, off: Sequence[object]) -> Iterator[ast.AST]:
    """Where an argument gets a value that is not one of those given: a keyword, a key of a dict, an attribute."""
    for keyword in module.of_type(ast.keyword):
        if keyword.arg == name and module.constant(keyword.value) not in off:
            yield keyword
    for word in module.spelling(name):
        outer = module.parent_of[word]
        if (value := value_of_key(module, word)) is not None:
            if module.constant(value) not in off:
                yield word
        elif isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Store):
            yield word
    yield from _set_later(module, name, off)


def _set_later(module: Module, name: str, off: Sequence[object]) -> Iterator[ast.AST]:
    """Where TrainingArguments get a value once they are made, and one by a call that is not one of those given."""
    for setting in later_settings(module, name):
        value = None if setting.value is None else module.constant(setting.value)
        if isinstance(setting.place, ast.Attribute) or not (setting.is_default or value in off):
            yield setting.place


def _may_set(module: Module, unpacked: ast.expr) -> bool:
    """Whether a dict that is unpacked has report_to, or may: what it comes from cannot be seen.

    One that sets it to nothing starts no loggers, if all that it may hold is seen where it is written.
    """
    seen = carried(module, unpacked)
    given = [entry for entry in seen.entries if entry.name == "report_to"]
    if seen.whole and all(isinstance(entry.key, ast.Constant | ast.keyword) for entry in given):
        return any(_starts_loggers(entry.module, entry.value) for entry in given)
    keys = keys_of(module, unpacked)
    if "report_to" in keys.names or not keys.hidden:
        return "report_to" in keys.names
    entries = [source.module.entries(source.node) for source in module.origins(unpacked)]
    return any(known is None or "report_to" in known for known in entries)


def _starts_loggers(module: Module, value: ast.expr) -> bool:
    return module.constant(value) not in OFF


def _remove_loggers(context: Context, function: TrainFunction, home: Module, place: ast.AST, what: str) -> None:
    """Lets the training function take the loggers out of its Trainer, for what a place in a file says of them."""
    here = home is context.module
    where = "" if here or what != "report_to" else f" in {home.path}"
    message = (
        f"{what}{where} had no effect under the legacy trainer; the loggers that it starts on current Ray are removed."
    )
    if context.converts(RM105, place if here else function.call.node, message):
        context.plan.need_import(
            "transformers.integrations", "get_reporting_integration_callbacks", near=function.nested_import
        )
        function.before_training.append(
            "for {callback} in get_reporting_integration_callbacks({trainer}.args.report_to):\n"
            "    {trainer}.remove_callback({callback})"
        )
