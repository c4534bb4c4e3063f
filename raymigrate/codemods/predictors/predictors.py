"""RM603: the predictors of Ray Train, and BatchPredictor, which ran them over a Dataset.

What they did: Ray 2.6.3, train/predictor.py, train/batch_predictor.py:126-330, and pipeline_predictor.py beside this.
"""

import ast
from collections.abc import Callable

from raymigrate.base.findings import Rule
from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.predictors.batch_predictor import (
    BATCH_SIZE,
    MAP_BATCHES,
    POOL,
    TO_MAP_BATCHES,
    BatchPredictor,
    arguments_of,
    batch_predictor,
    remove_statements,
)
from raymigrate.codemods.predictors.given_data import is_array, is_frame, sources_of_data
from raymigrate.codemods.predictors.instead import (
    ARRAY_OR_ARRAYS,
    NAMED,
    OF_PREDICTOR,
    OF_SUBCLASS,
    OWN_BATCH_PREDICTOR,
    asked_for,
    of_batch_predictor,
    of_ready_model,
    of_ready_pipeline,
    of_subclass,
    of_texts,
    of_torch_checkpoint,
)
from raymigrate.codemods.predictors.model_files import OF_CHECKPOINT, is_of_batch_predictor, of_checkpoint, of_files
from raymigrate.codemods.predictors.own_predictor import own_predictor, used_elsewhere
from raymigrate.codemods.predictors.pipeline_predictor import (
    NotSure,
    PipelinePredictor,
    pipeline_arguments,
    preprocessor_unknown,
    renamed,
)
from raymigrate.codemods.predictors.served import SERVED, SERVED_HERE, SERVED_OWN, of_served
from raymigrate.codemods.shared.checkpoint_files import not_carried
from raymigrate.codemods.shared.generation import RM752
from raymigrate.codemods.shared.torch_models import loads_model
from raymigrate.codemods.shared.written_out import dict_of_its_own, take_out_of_dict
from raymigrate.edits.plan import CallEdit, Code, Part
from raymigrate.facts.ray_train.checkpoint_folders import folder_is_temporary
from raymigrate.facts.ray_train.results import is_set_to_none
from raymigrate.facts.syntax.annotations import in_annotation
from raymigrate.facts.syntax.calls import calls_on
from raymigrate.facts.syntax.guards import goes_on_without, is_ready
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.syntax.scopes import Reference
from raymigrate.facts.values import argument, class_named, has_unpacking, is_none, sources
from raymigrate.knowledge.error_texts import gone_names
from raymigrate.knowledge.legacy import BATCH_PREDICTORS, HF, HF_UNRELEASED, paths_in_ml
from raymigrate.knowledge.successors import WITH_MAP_BATCHES

RM603 = Rule(
    "RM603",
    "a predictor of Ray Train",
    "The predictors are gone from current Ray: the import fails.",
    "Load the model, or a transformers pipeline with it, in a class with __call__(self, batch), and give the class to"
    " ds.map_batches.",
    "https://docs.ray.io/en/latest/data/batch_inference.html",
    errors=(
        *gone_names(HF, "TransformersPredictor", "HuggingFacePredictor"),
        *gone_names(f"{HF}.transformers", "TransformersPredictor"),
        *gone_names("ray.train.torch", "TorchPredictor"),
        f"No module named '{HF}.huggingface_predictor'",
        f"No module named '{HF}.transformers.transformers_predictor'",
        "No module named 'ray.train.batch_predictor'",
        "No module named 'ray.train.predictor'",
        "`BatchPredictor` is deprecated from Ray 2.6",
        "The TransformersPredictor will be hard deprecated in Ray 2.8",
    ),
)

OF_PIPELINE = ("HuggingFacePredictor", "TransformersPredictor")
PIPELINE_PREDICTORS = tuple(
    f"{module}.{name}"
    for module in (
        HF,
        f"{HF}.transformers",
        f"{HF}.huggingface_predictor",
        f"{HF}.transformers.transformers_predictor",
        HF_UNRELEASED,
        f"{HF_UNRELEASED}.transformers_predictor",
    )
    for name in OF_PIPELINE
) + paths_in_ml("HuggingFacePredictor")
OTHERS = (
    "ray.train.predictor.Predictor",
    "ray.train.torch.TorchPredictor",
    "ray.train.torch.torch_predictor.TorchPredictor",
    *paths_in_ml("TorchPredictor"),
)
UNKNOWN_PREPROCESSOR = " A preprocessor that the checkpoint may hold is not applied any more."
LONG_PROMPTS = (
    "Texts get as long as before: where nothing says otherwise, 20 tokens with the prompt. A prompt that has as many"
    " raises a ValueError since transformers 5, where one token was added."
)
ONLY_FRAMES = (
    "If this gives predict() an array or a dict of arrays, which Ray's took too, that raises an AttributeError now:"
    " the new class takes a DataFrame."
)
OF_FUNCTION = "BatchPredictor of a function"
PIPELINE = WITH_MAP_BATCHES.replace("the model", "a transformers pipeline")
# What takes the place of the methods by which the others made predictions.
ADVICE = {
    "Predictor": OF_SUBCLASS["Predictor"],
    "BatchPredictor of an own class": "Give the class of its predictors to ds.map_batches, with the checkpoint and what"
    " else it takes as fn_constructor_kwargs; its method with the prediction is called __call__(self, batch) there.",
    "BatchPredictor of another class": WITH_MAP_BATCHES,
    **dict.fromkeys(OF_PIPELINE, PIPELINE),
    OF_FUNCTION: 'Give the function to ds.map_batches, with batch_format="pandas".',
    "TorchPredictor": "Load the model in a class whose __call__(self, batch) makes tensors of the columns with"
    " torch.as_tensor, calls the model in eval mode under torch.no_grad() and returns"
    f" {ARRAY_OR_ARRAYS}, and give the class to ds.map_batches.",
}

MAKES_PIPELINE = (RM603.fix, PIPELINE, OF_CHECKPOINT, OF_SUBCLASS[""], SERVED, SERVED_HERE, SERVED_OWN)


@codemod("(?:HuggingFace|Transformers|Batch|Torch)?Predictor", phase=Phase.RESULTS)
def predictors(context: Context) -> None:
    """Converts predictors that apply a pipeline, and names every use of the others."""
    if not context.options.enabled(RM603.code):
        return
    pipeline = PipelinePredictor(context)
    for reference in context.references(*BATCH_PREDICTORS):
        _convert(context, reference, pipeline, _batch_predictor)
    for reference in context.references(*PIPELINE_PREDICTORS):
        _convert(context, reference, pipeline, _predictor)
    pipeline.emit()
    if "max_length" in pipeline.unsaid:
        context.note(RM752, pipeline.users[0], LONG_PROMPTS)
    for reference in context.references(*OTHERS):
        _report(context, reference)


def _convert(
    context: Context,
    reference: Reference,
    pipeline: PipelinePredictor,
    conversion: Callable[[Context, Reference, PipelinePredictor], None],
) -> None:
    """Converts what a reference is part of, or reports why not."""
    statement = reference.binding.statement
    if statement is not None and goes_on_without(context.module, statement):
        context.handle(reference, gone=False)
        return
    try:
        conversion(context, reference, pipeline)
    except NotSure as reason:
        _report(context, reference, str(reason), reason.advice, reason.first)


def _report(
    context: Context, reference: Reference, reason: str = "", advice: str | None = None, first: str = ""
) -> None:
    name = _name(reference)
    kind = name.rpartition(".")[2]
    if name in BATCH_PREDICTORS:
        kind = _predicting_class(context, reference)
        made = _call(context, reference, "", "from_checkpoint", "from_pandas_udf")
        more = of_batch_predictor(context, made, of_function=kind == OF_FUNCTION) if made is not None else ""
        first = f"{more} {first}".strip()
    advice = advice or _by_use(context, reference, kind)
    reason = "" if advice == NAMED else reason  # nothing is done with it there
    message = f"{name} is gone: current Ray raises an ImportError. {reason}".rstrip()
    if not is_ready(context.module, reference, name.rpartition(".")[2]):
        advice = of_served(context.module, reference.node, advice)
        is_base = isinstance(context.module.parent_of[reference.node], ast.ClassDef)
        loads = loads_model(context) if kind == "TorchPredictor" and (advice is None or is_base) else ""
        advice = advice or ADVICE.get(kind) or RM603.fix
        if advice.startswith(MAKES_PIPELINE) and name not in OTHERS:
            first = f"{of_texts(context.module, reference.node)} {first}".strip()
            made = _call(context, reference, "", "from_checkpoint")
            if not is_of_batch_predictor(context.module, reference.node):
                loads = of_files(context, made, of_pipeline=kind in OF_PIPELINE)
        context.manual(RM603, reference.node, message, " ".join(filter(None, (advice, loads, first))))
    context.handle(reference, gone=False)


def _predicting_class(context: Context, reference: Reference) -> str:
    """What class a BatchPredictor is given, as a key of the advice."""
    if _call(context, reference, "from_pandas_udf") is not None:
        return OF_FUNCTION
    call = _call(context, reference, "", "from_checkpoint")
    given = argument(call, 1, "predictor_cls") if call is not None else None
    name = context.module.qualified(given) if given is not None else None
    if given is not None and class_named(context.module, given) is not None:
        return "BatchPredictor of an own class"
    if name in PIPELINE_PREDICTORS:
        return name.rpartition(".")[2]
    return "BatchPredictor of another class" if name is not None else ""


def _by_use(context: Context, reference: Reference, kind: str) -> str | None:
    """What to do about a class by what is done with it here; None where that says no more."""
    module = context.module
    outer = module.parent_of[reference.node]
    if isinstance(outer, ast.ClassDef):
        is_batch = reference.qualified in BATCH_PREDICTORS
        return OWN_BATCH_PREDICTOR if is_batch else of_subclass(module, outer, kind)
    if in_annotation(module, reference.node) or (isinstance(outer, ast.Call) and outer.args[1:] == [reference.node]):
        is_type = not isinstance(outer, ast.Call) or ast.unparse(outer.func) in ("isinstance", "issubclass")
        return NAMED if is_type else None
    if _call(context, reference, "from_pandas_udf") is not None and kind == "Predictor":
        return "Call the function itself: predict() gave it a DataFrame."
    if kind == "TorchPredictor" and (call := _call(context, reference, "")) is not None:
        return of_ready_model(context, call)
    if kind == "TorchPredictor" and (call := _call(context, reference, "from_checkpoint")) is not None:
        return of_torch_checkpoint(context, call)
    is_one = kind in OF_PIPELINE and _name(reference) not in BATCH_PREDICTORS
    if is_one and (call := _call(context, reference, "from_checkpoint")) is not None:
        return of_checkpoint(module, call)
    return None


def _name(reference: Reference) -> str:
    """The name of the class that a reference leads to."""
    return next(name for name in (*BATCH_PREDICTORS, *PIPELINE_PREDICTORS, *OTHERS) if reference.is_within(name))


def _call(context: Context, reference: Reference, *methods: str) -> ast.Call | None:
    """The call of the class, or of one of these methods of it, that a reference is the function of."""
    method = reference.qualified.removeprefix(_name(reference)).removeprefix(".")
    return context.module.calling(reference.node) if method in methods else None


def _predictor(context: Context, reference: Reference, pipeline: PipelinePredictor) -> None:
    """`TransformersPredictor.from_checkpoint(checkpoint, task=...)`: an object with the same predict()."""
    module = context.module
    call = _call(context, reference, "from_checkpoint")
    if (ready := _call(context, reference, "")) is not None:
        raise NotSure("", of_ready_pipeline(context, ready))
    if call is None:
        is_base = isinstance(module.parent_of[reference.node], ast.ClassDef)
        given_away = is_base or is_of_batch_predictor(module, reference.node)
        raise NotSure("" if given_away else "Only its from_checkpoint() is converted.")
    given = arguments_of(module, call)
    checkpoint = call.args[0] if len(call.args) == 1 else given.pop("checkpoint", None)
    if checkpoint is None or (has_unpacking(call) and dict_of_its_own(module, call) is None):
        raise NotSure("Its arguments cannot be seen here.")
    unknown = preprocessor_unknown(context, checkpoint, call)
    arguments = pipeline_arguments(context, given)
    predictions = _predictions(context, call)
    pipeline.check()
    if not context.converts(RM603, reference.node, _message(reference, "pipeline", unknown), safe=not unknown):
        context.handle(reference, gone=False)
        return
    pipeline.use(call, _name(reference).rpartition(".")[2], checkpoint, given, predictions)
    unseen = [predict for predict in predictions if not is_frame(module, predict)]
    if unseen:
        context.note(RM603, unseen[0], ONLY_FRAMES)
    take_out_of_dict(context, call)
    edit = context.plan.call(call)
    edit.function = pipeline.name
    edit.rename |= renamed(context, given)
    if "use_gpu" in given:
        edit.remove.add("use_gpu")
    if "device" in arguments and "device" not in given:
        template, parts = arguments["device"]
        edit.set("device", template, **parts)
    context.handle(reference, gone=True)


def _predictions(context: Context, call: ast.Call) -> list[ast.Call]:
    """The calls of predict() on a predictor, through every way to it that is seen: they get a DataFrame.

    Raises:
        NotSure: If something else is.
    """
    module = context.module
    for node in module.attributes(*OF_PREDICTOR):
        if call in sources(module, node.value):
            first = asked_for(node.attr, takes_out=is_set_to_none(module, node.value))
            raise NotSure(f"Its {node.attr} has no counterpart.", first=first)
    found = calls_on(module, call, "predict")
    for predict in found:
        if any(is_array(module, data) for data in sources_of_data(module, predict)):
            raise NotSure("It is given arrays, and gave arrays back.")
    return found


def _message(reference: Reference, now: str, unknown: bool) -> str:
    gone = f"{_name(reference)} is gone: current Ray raises an ImportError; now a class with a {now}."
    return gone + (UNKNOWN_PREPROCESSOR if unknown else "")


def _batch_predictor(context: Context, reference: Reference, pipeline: PipelinePredictor) -> None:
    """`BatchPredictor.from_checkpoint(checkpoint, Class, ...)` and its predict() become `map_batches`."""
    call = _call(context, reference, "", "from_checkpoint")
    if call is None:
        raise NotSure("What is done with it cannot be followed.")
    batch = batch_predictor(context, call)
    unknown = not batch.preprocessor_taken_out and preprocessor_unknown(context, batch.checkpoint, call)
    of_ray = context.module.reference_at.get(batch.predictor)
    own = None
    if of_ray is not None and of_ray.qualified in PIPELINE_PREDICTORS:
        for predict in batch.predictions:
            pipeline_arguments(context, batch.arguments, _num_gpus(context, predict))
        pipeline.check()
    else:
        own = own_predictor(context, batch.predictor)
        if used_elsewhere(context, own.definition, [call]):
            raise NotSure("The class of its predictors is used in other places too.")
    message = _message(reference, "pipeline for map_batches" if own is None else "predictor for map_batches", unknown)
    if not context.converts(RM603, reference.node, message, safe=not unknown):
        context.handle(reference, gone=False)
        if own is None and of_ray is not None:  # it goes with this one
            context.handle(of_ray, gone=False)
        return
    for predict in batch.predictions:
        num_gpus = _num_gpus(context, predict)
        given = {name for name, value in arguments_of(context.module, predict).items() if not is_none(value)}
        if own is not None:
            own.columns |= {"feature_columns", "keep_columns"} & given
            made_with = own.arguments(batch.arguments, num_gpus)
            _map_batches(context, batch, predict, own.name, own.batch_format, made_with)
        else:
            assert of_ray is not None
            pipeline.use(predict, _name(of_ray).rpartition(".")[2], batch.checkpoint, batch.arguments, [predict])
            pipeline.batches = True
            pipeline.keeps |= "keep_columns" in given
            made_with = pipeline_arguments(context, batch.arguments, num_gpus)
            _map_batches(context, batch, predict, pipeline.name, "pandas", made_with)
            context.handle(of_ray, gone=True)
    if own is not None:
        own.emit()
    remove_statements(context, batch)
    context.handle(reference, gone=True)


def _num_gpus(context: Context, predict: ast.Call) -> ast.expr | None:
    return arguments_of(context.module, predict).get("num_gpus_per_worker")


def _map_batches(
    context: Context,
    batch: BatchPredictor,
    predict: ast.Call,
    name: str,
    batch_format: str,
    made_with: dict[str, tuple[str, dict[str, Part]]],
) -> None:
    """Plans `data.map_batches(Class, ...)` in place of a call of predict()."""
    given = arguments_of(context.module, predict)
    data = predict.args[0] if predict.args else given.pop("data")
    # None is the default of all of these but the batch size, for which it means whole blocks, then and now.
    given = {k: v for k, v in given.items() if k == "batch_size" or not is_none(v)}
    edit = context.plan.call(predict)
    edit.function = Code("$data.map_batches", {"data": data})
    edit.set_first(name)
    take_out_of_dict(context, predict)
    edit.remove |= {name for name in arguments_of(context.module, predict) if name != "data"}
    _set_dict(edit, "fn_constructor_kwargs", {"checkpoint": ("$value", {"value": batch.checkpoint}), **made_with})
    to_predict = {k: v for k, v in given.items() if k not in (*TO_MAP_BATCHES, "batch_size")}
    if to_predict:
        _set_dict(edit, "fn_kwargs", {name: ("$value", {"value": value}) for name, value in to_predict.items()})
    edit.set("batch_format", string_literal(batch_format))
    if batch_format == "numpy":
        edit.set("zero_copy_batch", "False")  # current Ray hands out read-only arrays, legacy Ray did not
    edit.set("batch_size", "$value", value=given.get("batch_size", BATCH_SIZE))
    pool = {POOL[name]: value for name, value in given.items() if name in POOL}
    if pool:
        context.plan.need_import("ray")
        sizes = ", ".join(f"{name}=${name}" for name in pool)
        edit.set("compute", f"ray.data.ActorPoolStrategy({sizes})", **pool)
    for old, new in MAP_BATCHES.items():
        if old in given:
            edit.set(new, "$value", value=given[old])
    if told := not_carried(context.module, batch.checkpoint, "actors"):
        context.note(RM603, batch.checkpoint, told)
    if folder_is_temporary(context.module, batch.checkpoint, predict):
        # The checkpoint held its files; a Checkpoint of today is a path, and map_batches runs when rows are asked for.
        context.plan.replace(predict, "$predictions.materialize()", predictions=predict)


def _set_dict(edit: CallEdit, keyword: str, entries: dict[str, tuple[str, dict[str, Part]]]) -> None:
    """Sets a keyword argument to a dict, of templates whose parts are one each."""
    items: list[str] = []
    parts: dict[str, Part] = {}
    for number, (key, (template, given)) in enumerate(entries.items()):
        for name, part in given.items():
            parts[f"{name}_{number}"] = part
            template = template.replace(f"${name}", f"${name}_{number}")
        items.append(f"{string_literal(key)}: {template}")
    edit.set(keyword, f"{{{', '.join(items)}}}", **parts)
