"""The class that takes the place of HuggingFacePredictor and TransformersPredictor in converted code.

What they did, after Ray 2.6.3, train/huggingface/transformers/transformers_predictor.py:102-235: a pipeline with the
model of the checkpoint, on the CPU unless use_gpu; the feature columns as lists, one column by itself, one row of one
column as a bare value; lists of one unwrapped; a DataFrame whose columns have names that are strings.
"""

import ast
from dataclasses import dataclass, field
from textwrap import indent

from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.checkpoint_files import files_in, layout_after
from raymigrate.codemods.shared.generation import GENERATING, unsaid
from raymigrate.codemods.shared.preprocessor_advice import gone_preprocessor, on_rows
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.projects.helpers import OF_PREDICTOR
from raymigrate.facts.ray_train.results import Layout, carries_preprocessor
from raymigrate.facts.values import written

# transformers 5.23, pipelines/__init__.py: SUPPORTED_TASKS and TASK_ALIASES. Table question answering got a DataFrame
# where the others get lists, and is left to a person.
TASKS = frozenset(
    [
        "any-to-any",
        "audio-classification",
        "automatic-speech-recognition",
        "depth-estimation",
        "document-question-answering",
        "feature-extraction",
        "fill-mask",
        "image-classification",
        "image-feature-extraction",
        "image-segmentation",
        "image-text-to-text",
        "mask-generation",
        "ner",
        "object-detection",
        "sentiment-analysis",
        "text-classification",
        "text-generation",
        "text-to-audio",
        "text-to-speech",
        "token-classification",
        "video-classification",
        "zero-shot-audio-classification",
        "zero-shot-classification",
        "zero-shot-image-classification",
        "zero-shot-object-detection",
    ]
)
# Those of them that load an image processor. Where the model is a folder they take it from there and leave aside the
# feature_extractor=, as it was called up to transformers 4.25: an OSError where only the model was saved (measured).
VISION = frozenset(
    [
        "depth-estimation",
        "image-classification",
        "image-feature-extraction",
        "image-segmentation",
        "mask-generation",
        "object-detection",
        "zero-shot-image-classification",
        "zero-shot-object-detection",
    ]
)
# Those that give a list for each row, of as many items as they find: lists of several make no DataFrame beside an item
# that was alone and is unwrapped (ValueError), and the legacy class then unwrapped none.
FINDING = frozenset(
    [
        "image-segmentation",
        "mask-generation",
        "ner",
        "object-detection",
        "token-classification",
        "zero-shot-object-detection",
    ]
)
NO_PIPELINE = (
    "Load the model and the tokenizer from the folder of the checkpoint in a class whose __call__(self, batch) calls"
    " the model itself, for example with generate(), and give the class to ds.map_batches."
)
TRANSFORM = "Transform the rows before that with the preprocessor that the trainer's datasets were transformed with."
PIPELINE = ("transformers", "pipeline")
PANDAS = ("pandas",)

CLASS = '''
class {name}:
    """{of_predictor}{legacy} did."""

    def __init__(self, checkpoint, {parameters}**pipeline_kwargs):
        with checkpoint.as_directory() as checkpoint_dir:
{model}            self.pipeline = {pipeline}(model={source}, **pipeline_kwargs)
{generation}
    def predict(self, data, feature_columns=None, **pipeline_call_kwargs):
        inputs = [data[column].to_list() for column in feature_columns or data.columns]
        while isinstance(inputs, list) and len(inputs) == 1:  # a single column, or its single row, goes in by itself
            inputs = inputs[0]
        outputs = self.pipeline(inputs, **pipeline_call_kwargs)
{frame}'''
UNWRAPPED = "[output[0] if isinstance(output, list) and len(output) == 1 else output for output in outputs]"
FRAME = f"""\
        outputs = {UNWRAPPED}
        return {{pandas}}.DataFrame(outputs).rename(columns=str)
"""
FRAME_OF_FOUND = f"""\
        unwrapped = {UNWRAPPED}
        try:
            predictions = {{pandas}}.DataFrame(unwrapped)
        except Exception:  # rows with one item beside rows with several
            predictions = {{pandas}}.DataFrame(outputs)
        return predictions.rename(columns=str)
"""
MODEL = """            model = {source}
            if model_cls:
                model = model_cls.from_pretrained({kwargs})
"""
# docs/semantics/data.md#predictors. Pipelines of transformers 5.0 to 5.19 generate by their own copy of the settings.
GENERATION = """\
        # Where nothing says otherwise, as in transformers 4; since 5 a pipeline samples 256 new tokens.
        model = self.pipeline.model
        settings = (getattr(model.config, "task_specific_params", None) or {}).get("text-generation", {})
        model.generation_config.update(defaults_only=True, $defaults)
        model.generation_config.update(**{**settings, **pipeline_kwargs})
        self.pipeline.generation_config = model.generation_config  # else a copy before transformers 5.20
"""
ONLY_THEN = '        if self.pipeline.task == "text-generation":\n'
CALL = """
    def __call__(self, batch, **predict_kwargs):
        return self.predict(batch, **predict_kwargs)
"""
CALL_AND_KEEP = """
    def __call__(self, batch, keep_columns=None, **predict_kwargs):
        predictions = self.predict(batch, **predict_kwargs)
        if keep_columns:
            predictions[keep_columns] = batch[keep_columns]
        return predictions
"""


class NotSure(Exception):
    """Why something is not converted.

    Args:
        reason: A sentence for its finding.
        advice: What to do, where that is not what the rule says.
        first: What to do before that.
    """

    def __init__(self, reason: str, advice: str | None = None, first: str = "") -> None:
        super().__init__(reason)
        self.advice = advice
        self.first = first


@dataclass
class PipelinePredictor:
    """The class as one module needs it.

    Args:
        context: The module.
        legacy: Name of the class that it takes the place of.
        places: Where the files lie in the checkpoints that it is given.
        users: Nodes in which it is used.
        model_classes: Names of the arguments with which some of them choose the class of the model, and load it.
        tasks: What its pipelines are for.
        unsaid: What transformers 4 did by default where they generate texts, by argument.
        batches: Whether it is given to map_batches.
        keeps: Whether columns are kept then.
    """

    context: Context
    legacy: str = ""
    places: set[Layout] = field(default_factory=set)
    users: list[ast.AST] = field(default_factory=list)
    model_classes: set[str] = field(default_factory=set)
    tasks: set[object] = field(default_factory=set)
    unsaid: dict[str, str] = field(default_factory=dict)
    batches: bool = False
    keeps: bool = False
    _name: str = ""

    @property
    def name(self) -> str:
        """What it is called."""
        self._name = self._name or self.context.fresh("PipelinePredictor")
        return self._name

    def check(self) -> None:
        """Sees to it that it can be emitted.

        Raises:
            NotSure: If not.
        """
        if not (_spelling(self.context, *PIPELINE) and _spelling(self.context, *PANDAS)):
            raise NotSure("The name transformers or pandas is taken here.")

    def _spelt(self, first: ast.stmt, module: str, name: str = "") -> str:
        """The spelling of something before a statement: by an import that is there by then, or is asked for."""
        spelling = _spelling(self.context, module, name)
        assert spelling is not None
        bound = self.context.module.scope_of[self.context.module.tree].bindings.get(spelling, ())
        if not any(self.context.module.start(binding.node) < self.context.module.start(first) for binding in bound):
            is_other = bool(bound) and spelling not in (module, name)  # a cell below says `import pandas as pd`
            imported = name if bound or spelling == name else ""
            self.context.plan.need_import(module, f"{imported} as {spelling}" if is_other else imported or None)
        return spelling

    def use(
        self, node: ast.AST, legacy: str, checkpoint: ast.expr, given: dict[str, ast.expr], predictions: list[ast.Call]
    ) -> None:
        """Notes a use of it.

        Args:
            node: Where.
            legacy: Name of the class that it takes the place of.
            checkpoint: The checkpoint that it is given.
            given: Its other arguments.
            predictions: The calls of predict(), as far as they are seen.
        """
        task = self.context.module.constant(given.get("task"))
        self.tasks.add(task)
        self.unsaid |= unsaid(self.context.module, given, predictions) if task == GENERATING else {}
        self.legacy = legacy
        self.places.add(layout_after(self.context, checkpoint) or Layout.UNKNOWN)
        self.users.append(node)
        self.model_classes |= {"model_cls", "pretrained_model_kwargs"} & given.keys()

    def emit(self) -> None:
        """Puts the class before the first statement of the module that uses it, if there is one."""
        if not self.users:
            return
        context = self.context
        place = self.places.pop() if len(self.places) == 1 else Layout.UNKNOWN
        first = next(
            statement
            for statement in context.module.tree.body
            if any(user is statement or context.module.inside(user, statement) for user in self.users)
        )
        source = files_in(context, first, place, "checkpoint_dir")
        more = ", **(pretrained_model_kwargs or {})" if "pretrained_model_kwargs" in self.model_classes else ""
        code = CLASS.format(
            name=self.name,
            of_predictor=OF_PREDICTOR,
            legacy=self.legacy,
            parameters="".join(f"{name}=None, " for name in sorted(self.model_classes)),
            model=MODEL.format(source=source, kwargs=f"model{more}") if self.model_classes else "",
            pipeline=self._spelt(first, *PIPELINE),
            source="model" if self.model_classes else source,
            generation=self._generation(),
            frame=(FRAME if FINDING.isdisjoint(self.tasks) else FRAME_OF_FOUND).format(
                pandas=self._spelt(first, *PANDAS)
            ),
        )
        code += (CALL_AND_KEEP if self.keeps else CALL) if self.batches else ""
        context.plan.statement(first).before.append(Code(code.strip("\n") + "\n"))

    def _generation(self) -> str:
        """The lines that let it generate texts as before."""
        if not self.unsaid:
            return ""
        defaults = ", ".join(f"{name}={value}" for name, value in sorted(self.unsaid.items()))
        lines = GENERATION.replace("$defaults", defaults)
        return lines if self.tasks == {GENERATING} else ONLY_THEN + indent(lines, "    ")


def _spelling(context: Context, module: str, name: str = "") -> str | None:
    """How a module, or a name in it, is spelt at the top of this module; None if other things have its name."""
    whole = f"{module}.{name}" if name else module
    top = context.module.scope_of[context.module.tree].bindings
    for local, bindings in top.items():
        if all(binding.qualified == whole for binding in bindings):
            return local
    if name and name not in context.module.names:
        return name
    return None if any(binding.qualified != module for binding in top.get(module, [])) else whole


def pipeline_arguments(
    context: Context, given: dict[str, ast.expr], num_gpus: ast.expr | None = None
) -> dict[str, tuple[str, dict[str, Part]]]:
    """The arguments of a legacy predictor as those of PipelinePredictor: templates with parts, by name.

    Args:
        context: The module.
        given: The keyword arguments of `from_checkpoint`.
        num_gpus: GPUs of each worker of a BatchPredictor, which turned use_gpu on.

    Raises:
        NotSure: If they cannot be taken over.
    """
    task = context.module.constant(given.get("task"))
    if not isinstance(task, str):
        raise NotSure("Which pipeline is meant cannot be seen.")
    if task not in TASKS:
        raise NotSure(f"And transformers >= 5 has no pipeline for {task!r}, or one that takes other data.", NO_PIPELINE)
    model_cls = given.get("model_cls")
    if model_cls is not None and ("pipeline_cls" in given or not names_class(context, model_cls)):
        raise NotSure("How it made its model cannot be seen here.")
    if "pretrained_model_kwargs" in given and model_cls is None:
        raise NotSure("Without model_cls= its pretrained_model_kwargs= had no effect.")
    new = renamed(context, given)
    arguments: dict[str, tuple[str, dict[str, Part]]] = {}
    for name, value in given.items():
        if name != "use_gpu":
            arguments[new.get(name, name)] = ("$value", {"value": value})
    if not {"device", "device_map"} & given.keys():
        arguments["device"] = _device(given.get("use_gpu"), num_gpus)
    return arguments


def renamed(context: Context, given: dict[str, ast.expr]) -> dict[str, str]:
    """Old to new names of the arguments of `from_checkpoint` that `pipeline` calls otherwise today."""
    new = {"pipeline_cls": "pipeline_class", "pipeline": "pipeline_class"}  # the latter in Ray 1.13
    if "image_processor" not in given and context.module.constant(given.get("task")) in VISION:
        new["feature_extractor"] = "image_processor"
    return {name: new[name] for name in given if name in new}


def _device(use_gpu: ast.expr | None, num_gpus: ast.expr | None) -> tuple[str, dict[str, Part]]:
    """The device= of a pipeline, which is a GPU by default where one is to be seen (docs/semantics/traps.md#t41)."""
    asked = num_gpus if use_gpu is None else use_gpu
    known = written(asked)
    if known is ...:
        assert asked is not None
        return ("0 if $asked else -1", {"asked": asked})
    return ("0" if known else '"cpu"', {})


def names_class(context: Context, node: ast.expr) -> bool:
    """Whether an expression names a class, and no object: by its definition, or by the capital of an imported name."""
    if isinstance(context.module.definition(node), ast.ClassDef):
        return True
    name = context.module.qualified(node) or ""
    return name.rpartition(".")[2][:1].isupper()


def preprocessor_unknown(context: Context, checkpoint: ast.expr, user: ast.AST) -> bool:
    """Whether a checkpoint may hold a preprocessor for all that can be seen.

    Raises:
        NotSure: If it does hold one.
    """
    carries = carries_preprocessor(context.module, checkpoint, user)
    if carries:
        parts = gone_preprocessor(context, checkpoint)
        first = f"Apply it to the rows before that: {on_rows(context, parts)}." if parts else TRANSFORM
        reason = "It applied the preprocessor of the trainer, which the checkpoint held, before it predicted."
        raise NotSure(reason, first=first)
    return carries is None
