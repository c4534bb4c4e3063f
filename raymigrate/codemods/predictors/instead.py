"""What to do by hand where predictors are left: the advice of RM603.

What they did: Ray 2.6.3, train/predictor.py, train/batch_predictor.py:126-330, train/torch/torch_predictor.py,
train/huggingface/transformers/transformers_predictor.py.
"""

import ast
from collections.abc import Iterable

from raymigrate.base.words import listed
from raymigrate.codemods.context import Context
from raymigrate.codemods.predictors.batch_predictor import MAP_BATCHES, POOL
from raymigrate.codemods.shared.checkpoint_files import not_carried
from raymigrate.codemods.shared.generation import GENERATING, differences, unsaid
from raymigrate.codemods.shared.preprocessor_advice import in_its_place, is_gone, on_rows, stages_of
from raymigrate.codemods.shared.torch_models import loads_model
from raymigrate.facts.ray_train.results import carries_preprocessor
from raymigrate.facts.syntax.calls import calls_on
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import (
    argument,
    class_named,
    given_by_name,
    has_unpacking,
    is_none,
    method_of,
    seen_entries,
    sources,
    unpacked_dicts,
    written,
)

# What TorchPredictor made of the output of the model (Ray 2.6.3, train/_internal/dl_predictor.py:100-104).
ARRAY = '{"predictions": output.cpu().numpy()}'
ARRAYS = "{name: value.cpu().numpy() for name, value in output.items()}"
ARRAY_OR_ARRAYS = f"{ARRAY}, or {ARRAYS} where the output is a dict"
NOTHING_LEFT = "Delete it: without a pipeline it predicts nothing, and a test of the class has nothing left to test."
READY = (
    "Call the pipeline itself where predict() is called, with the list of the column, a list of lists of several:"
    " predict() made a DataFrame of what comes back, of each list of one its item, or arrays where it was given arrays."
)
READY_TORCH = (
    "Put the model into eval mode, and where predict() is called, call the model itself under torch.no_grad(), with"
    " torch.as_tensor() of the array or the column, a dict of tensors of several columns: predict() gave the output as"
    f" arrays, {ARRAY_OR_ARRAYS}; as a DataFrame where it was given one."
)
FIRST = "Apply the preprocessor before that: {0}.transform_batch(data)."
BEFORE = (
    "predict() applied the preprocessor of the checkpoint first, where it held one: do so with the {0} before that."
)
ON_GPU = 'use_gpu=True put the model and what it gets on "cuda".'
NAMED = "Name what takes its place here, or nothing: no class of Ray's is derived from it any more."
OWN_BATCH_PREDICTOR = (
    "Remove the class: what it adds goes to where ds.map_batches is called, with a class that loads the model in"
    " __init__ and predicts in __call__(self, batch)."
)
OF_SUBCLASS = {
    "Predictor": "Remove the base class and the call of its __init__, let __init__ load the model from the folder of"
    " the checkpoint, call the method with the prediction __call__(self, batch), and where a BatchPredictor got the"
    ' class, give it to ds.map_batches with batch_format="numpy" for _predict_numpy, "pandas" for _predict_pandas.'
    " What calls predict(), get_preprocessor() or set_preprocessor() of it calls the base class.",
    "TorchPredictor": "Remove the base class and the call of its __init__: keep the model in __init__, in eval mode,"
    " and write a __call__(self, batch) that makes tensors of the columns with torch.as_tensor, calls call_model() or"
    f" the model under torch.no_grad() and returns {ARRAY_OR_ARRAYS}. Where a BatchPredictor got the class, give it to"
    " ds.map_batches.",
    "": "Remove the base class and the call of its __init__: make the pipeline in __init__, from the folder of the"
    " checkpoint, and write a __call__(self, batch) that calls it with the list of the column and returns a DataFrame."
    ' Where a BatchPredictor got the class, give it to ds.map_batches with batch_format="pandas".',
}
AS_BEFORE = (
    "give it {0}: without that, it {1} since transformers 5, unless the generation_config of the model says otherwise."
    " Before, it {2}, or did what task_specific_params of the model's config says."
)
# What else a predictor had than predict() and pipeline.
PREPROCESSOR = ("get_preprocessor", "set_preprocessor")
OF_PREDICTOR = (
    *PREPROCESSOR,
    *("use_gpu", "from_pandas_udf", "preferred_batch_format", "_preprocessor", "_predict", "_predict_pandas"),
    *("_predict_numpy", "_convert_data_for_pipeline", "_batch_format_to_use", "_set_cast_tensor_columns"),
)
# Arguments of a BatchPredictor's predict() that have no place in map_batches.
DROPPED = ("separate_gpu_stage", "blocks_per_window", "bytes_per_window")


def of_subclass(module: Module, definition: ast.ClassDef, kind: str) -> str:
    """What to do about a class that is derived from a predictor of Ray.

    Args:
        module: The module.
        definition: The class.
        kind: The predictor, without the module that it is in.
    """
    advice = OF_SUBCLASS.get(kind, OF_SUBCLASS[""])
    models = method_of(module, definition, "call_model")
    returned = [node.value for node in module.of_type(ast.Return) if module.function(node) in models]
    outputs = [output for value in returned if value is not None for output in sources(module, value)]
    gives_dict = bool(outputs) and all(isinstance(output, (ast.Dict, ast.DictComp)) for output in outputs)
    return advice.replace(ARRAY_OR_ARRAYS, ARRAYS) if gives_dict else advice


def asked_for(method: str, *, takes_out: bool) -> str:
    """What to do where a predictor is asked for something else than predictions.

    Args:
        method: What is called.
        takes_out: Whether that is set_preprocessor(None).
    """
    if takes_out:
        return "Delete set_preprocessor(None): nothing applies a preprocessor any more."
    if method == "set_preprocessor":
        return "Apply the preprocessor that it is given here to the data before that."
    return BEFORE.format("data") if method in PREPROCESSOR else ""


def of_ready_pipeline(context: Context, call: ast.Call) -> str:
    """What to do where a predictor is made of a pipeline that is there: `TransformersPredictor(pipeline=pipe)`."""
    if is_none(argument(call, 0, "pipeline")) and not unpacked_dicts(call):
        return NOTHING_LEFT
    said = [READY, *_of_preprocessor(context, call)]
    given = _given(context.module, calls_on(context.module, call, "predict"))
    to_pipeline = [f"{name}=" for name in given if name not in ("data", "feature_columns")]
    said += ["feature_columns= named the columns to take."] if "feature_columns" in given else []
    said += [f"The pipeline's own call takes {listed(to_pipeline)} too."] if to_pipeline else []
    return " ".join(said)


def of_ready_model(context: Context, call: ast.Call) -> str:
    """What to do where a predictor is made of a model that is there: `TorchPredictor(model=model)`."""
    return " ".join([READY_TORCH, *_of_tensors(context, call), *_of_preprocessor(context, call)])


def of_torch_checkpoint(context: Context, call: ast.Call) -> str:
    """What to do where one is made of a checkpoint."""
    return " ".join([READY_TORCH, loads_model(context), *_of_tensors(context, call), BEFORE.format("data")])


def _of_tensors(context: Context, call: ast.Call) -> list[str]:
    """What the arguments of a TorchPredictor and of its predict() say of tensors."""
    said = [] if written(argument(call, 2, "use_gpu")) in (None, False) else [ON_GPU]
    return said + ["dtype= is that of the tensors."] * (
        "dtype" in _given(context.module, calls_on(context.module, call, "predict"))
    )


def _of_preprocessor(context: Context, call: ast.Call) -> list[str]:
    """What to do with the preprocessor that a predictor is given, and where it is asked for."""
    given, module = argument(call, 1, "preprocessor"), context.module
    if given is None or is_none(given):
        return []
    name, parts = _named(given), stages_of(module, given)
    said = [f"That is gone too: {in_its_place(context, parts)}."] if is_gone(parts) else []
    asked = [f"{method}()" for method in PREPROCESSOR if calls_on(module, call, method)]
    said += [f"{listed(asked)} of the predictor: use {name} itself."] if asked else []
    return [FIRST.format(name), *said]


def of_batch_predictor(context: Context, call: ast.Call, *, of_function: bool) -> str:
    """Where the arguments of the predict() of a BatchPredictor go, and what becomes of its preprocessor.

    Args:
        context: The module.
        call: What makes it.
        of_function: Whether it applies a function, and not a predictor.
    """
    module = context.module
    calls = calls_on(module, call, "predict", "predict_pipelined")
    said = [of_predict(module, calls, "the function" if of_function else "__call__")]
    gpus = (keyword for made in calls for keyword in made.keywords if keyword.arg == "num_gpus_per_worker")
    if any(written(keyword.value) not in (None, 0) for keyword in gpus) and not (
        of_function or _says_gpu(module, call)
    ):
        said.append("num_gpus_per_worker= also turned use_gpu=True on: the class puts the model on the GPU.")
    set_to = [made.args[0] for made in calls_on(module, call, "set_preprocessor") if made.args]
    for preprocessor in (node for node in set_to if not is_none(node)):
        name, parts = _named(preprocessor), stages_of(module, preprocessor)
        what = on_rows(context, parts) if is_gone(parts) else f"{name}.transform(dataset)"
        said.append(f"Apply the preprocessor to the rows before that: {what}.")
    checkpoint = argument(call, 0, "checkpoint")
    if not set_to and not of_function and checkpoint is not None:
        carries = carries_preprocessor(module, checkpoint, call)  # where it is seen, the reason says so
        said += [BEFORE.format("rows")] if carries is None else []
    if checkpoint is not None:
        said.append(not_carried(module, checkpoint, "actors"))
    return " ".join(filter(None, said))


def _says_gpu(module: Module, call: ast.Call) -> bool:
    """Whether a BatchPredictor is given use_gpu=, or a class of the module whose from_checkpoint() has no such one."""
    given = {name for k in call.keywords for name in ([k.arg] if k.arg else seen_entries(module, k.value))}
    predictor = argument(call, 1, "predictor_cls")
    own = class_named(module, predictor) if predictor is not None else None
    makers = method_of(*own, "from_checkpoint") if own is not None else []
    parameters = [by_name(m) for m in makers]
    return "use_gpu" in given or any("use_gpu" not in [a.arg for a in names] for names in parameters)


def _named(preprocessor: ast.expr) -> str:
    return preprocessor.id if isinstance(preprocessor, ast.Name) else "preprocessor"


def of_texts(module: Module, predictor: ast.expr) -> str:
    """What keeps texts as they were, where the pipeline of a predictor may generate some.

    Args:
        module: The module.
        predictor: What stands for the class of the predictor, or for the method that makes it.
    """
    call = module.parent_of[predictor]
    call = module.parent_of[call] if isinstance(call, ast.keyword) else call
    given = given_by_name(module, call) if isinstance(call, ast.Call) else {}
    task = module.constant(given["task"]) if "task" in given else None
    is_open = "task" in given or (isinstance(call, ast.Call) and has_unpacking(call)) or GENERATING in module.text
    if task != GENERATING and (isinstance(task, str) or not is_open):
        return ""
    calls = calls_on(module, call, "predict", "predict_pipelined") if isinstance(call, ast.Call) else []
    if isinstance(call, ast.ClassDef):
        calls = [made for made, method in module.method_calls("pipeline") if module.inside(method, call)]
    left = unsaid(module, given, calls)
    if not left:
        return ""
    today, before = differences(left)
    said = AS_BEFORE.format(listed([f"{name}={value}" for name, value in left.items()]), today, before)
    return f'Where its task is "{GENERATING}", {said}' if task != GENERATING else f"{said[0].upper()}{said[1:]}"


def of_predict(module: Module, calls: Iterable[ast.Call], predicts: str) -> str:
    """Where the arguments go that calls of a BatchPredictor's predict() are given; empty where there are none.

    Args:
        module: The module.
        calls: The calls.
        predicts: What is given to map_batches and gets the batches.
    """
    given = [name for name in _given(module, calls) if name != "data"]
    taken = [f"{name}= as {MAP_BATCHES[name]}=" for name in given if name in MAP_BATCHES]
    taken += ["batch_size="] if "batch_size" in given else []
    if pool := [name for name in given if name in POOL]:
        sizes = ", ".join(f"{POOL[name]}=..." for name in pool)
        taken.append(f"{listed([f'{name}=' for name in pool])} as compute=ray.data.ActorPoolStrategy({sizes})")
    taken += ["the entries of ray_remote_args="] if "ray_remote_args" in given else []
    known = {*MAP_BATCHES, *POOL, *DROPPED, "batch_size", "ray_remote_args", "feature_columns", "keep_columns"}
    if others := [name for name in given if name not in known]:
        entries = ", ".join(f'"{name}": ...' for name in others)
        taken.append(f"{listed([f'{name}=' for name in others])} as fn_kwargs={{{entries}}}, which {predicts} gets")
    said = [f"Of the arguments of predict(), map_batches takes {'; '.join(taken)}."] if taken else []
    does = ["takes the feature_columns= from the batch"] if "feature_columns" in given else []
    does += ["puts the keep_columns= of the batch beside its predictions"] if "keep_columns" in given else []
    said += [f"{predicts[0].upper()}{predicts[1:]} {' and '.join(does)}."] if does else []
    dropped = [f"{name}=" for name in given if name in DROPPED]
    return " ".join([*said, *([f"Drop {listed(dropped)}."] if dropped else [])])


def _given(module: Module, calls: Iterable[ast.Call]) -> list[str]:
    """The names of the arguments that calls are given, other than None; those that are unpacked, as far as seen."""
    found: dict[str, None] = {}
    for call in calls:
        given = given_by_name(module, call).items()
        found |= {name: None for name, value in given if name == "batch_size" or not is_none(value)}
    return list(found)
