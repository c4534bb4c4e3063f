"""RM603, for what a script's own predictor inherits: Ray 2.6.3, train/predictor.py:141-250."""

import ast

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.phases import Phase
from raymigrate.codemods.predictors.predictors import OTHERS, PIPELINE_PREDICTORS, RM603
from raymigrate.facts.projects.declared import Declared, own_lineage
from raymigrate.facts.ray_train.results import is_set_to_none
from raymigrate.facts.syntax.guards import is_guarded
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, class_named
from raymigrate.facts.values.items import DEEPEST, collections_of, items_of
from raymigrate.facts.values.own_classes import first_of_method
from raymigrate.knowledge.legacy import BATCH_PREDICTORS

BASES = frozenset({*OTHERS, *PIPELINE_PREDICTORS, *BATCH_PREDICTORS})
KEEP = "Keep the preprocessor in an attribute of its own, which __init__ sets, and apply it to the data yourself."
IN_CLASS = "Write what it did into the class."
# What the base class gave, with what to do without it.
INHERITED = {
    "predict": "Call the method with the prediction: the object itself, where that is called __call__. predict()"
    " applied the preprocessor first, turned the data into a DataFrame for _predict_pandas, or into arrays for"
    " _predict_numpy, and the predictions back into what it was given.",
    "set_preprocessor": KEEP,
    "get_preprocessor": KEEP,
    "_preprocessor": KEEP,
    "from_pandas_udf": 'Give the function to ds.map_batches, with batch_format="pandas".',
    "preferred_batch_format": IN_CLASS,
    "_batch_format_to_use": IN_CLASS,
    "_cast_tensor_columns": IN_CLASS,
    "_set_cast_tensor_columns": IN_CLASS,
}
# What TransformersPredictor and TorchPredictor gave in addition.
FROM_CHECKPOINT = "Call the class itself, whose __init__ loads {} from the folder of the checkpoint."
OF_PIPELINES = {
    "from_checkpoint": FROM_CHECKPOINT.format("the pipeline"),
    "_predict_pandas": "Call the pipeline there, with the list of the column, and make a DataFrame of what it returns.",
    "_predict": "Call the pipeline there, and make a DataFrame of what it returns.",
}
OF_TORCH = {
    "from_checkpoint": FROM_CHECKPOINT.format("the model"),
    "call_model": "Call the model itself there, under torch.no_grad().",
    "_predict_numpy": "Call the model there, under torch.no_grad(), with torch.as_tensor of the arrays.",
    "_predict_pandas": "Call the model there, under torch.no_grad(), with torch.as_tensor of the columns.",
}
# What a BatchPredictor gave (Ray 2.6.3, train/batch_predictor.py).
MAPPED = (
    "Give ds.map_batches the class of its predictors, with the checkpoint and what else it takes as"
    " fn_constructor_kwargs."
)
TO_ROWS = "Apply the preprocessor to the rows before ds.map_batches: preprocessor.transform(dataset)."
OF_BATCHES = {
    "from_checkpoint": MAPPED,
    "predict": MAPPED,
    "predict_pipelined": f"{MAPPED} A Dataset is streamed by itself now.",
    "set_preprocessor": TO_ROWS,
    "get_preprocessor": TO_ROWS,
    "from_pandas_udf": INHERITED["from_pandas_udf"],
}
DELETE = "Delete the line."


@codemod(r"\w*Predictor", phase=Phase.RESULTS)
def inherited_methods(context: Context) -> None:
    """Reports what is asked of an own predictor, and was in the base class that is gone."""
    module = context.module
    for node in module.attributes(*dict.fromkeys((*INHERITED, *OF_PIPELINES, *OF_TORCH, *OF_BATCHES))):
        base = _base_with(module, node) if isinstance(node.ctx, ast.Load) else None
        advice = _inherited(base).get(node.attr) if base is not None else None
        if advice is not None and not is_guarded(module, node, node.attr):
            what = f"{node.attr}()" if module.calling(node) is not None else node.attr
            message = f"{what} came from {base}, which is gone: without that base class this raises an AttributeError."
            context.manual(RM603, node, message, DELETE if is_set_to_none(module, node.value) else advice)


def _inherited(base: str) -> dict[str, str]:
    """What a base class gave, with what to do without it."""
    if base in BATCH_PREDICTORS:
        return OF_BATCHES
    more = OF_PIPELINES if base in PIPELINE_PREDICTORS else OF_TORCH if base.endswith("TorchPredictor") else {}
    return INHERITED | more


def _base_with(module: Module, node: ast.Attribute) -> str | None:
    """The predictor of Ray from which an own class inherits what an attribute of it is; None for other attributes."""
    of_super = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "super"
    for home, made in _classes(module, node.value):
        line = list(own_lineage(Declared(home, made)))
        bases = [where.qualified(base) or "" for where, one in line for base in one.bases]
        found = next((base for base in bases if base in BASES), None)
        if of_super and found in BATCH_PREDICTORS:
            continue  # of the class, which goes as a whole
        if found is not None and not any(_has(where, one, node.attr) for where, one in line[of_super:]):
            return found
    return None


def _has(module: Module, home: ast.ClassDef, name: str) -> bool:
    """Whether a class has an attribute itself: in its body, or because a method sets it."""
    stores = (store for store in module.stores(name) if isinstance(store.value, ast.Name))
    return name in module.scope(home).bindings or any(module.inside(store, home) for store in stores)


def _classes(module: Module, node: ast.expr, depth: int = 0) -> list[tuple[Module, ast.ClassDef]]:
    """The classes of the project that a value is, or is an object of."""
    found: list[tuple[Module, ast.ClassDef] | None] = []
    for source in [Source(module, node), *module.origins(node)]:
        made = source.node.func if isinstance(source.node, ast.Call) else source.node
        makers = (made, made.value) if isinstance(made, ast.Attribute) else (made,)  # `P(...)`, `P.load(...)`
        found += [_class(source.module, maker) for maker in makers]
        found.append(_annotated(source.module, source.node))
        for item in [i for whole in collections_of(source) for i in items_of(whole)] if depth < DEEPEST else ():
            found += _classes(item.module, item.node, depth + 1)
    return [home for home in found if home is not None]


def _annotated(module: Module, node: ast.expr) -> tuple[Module, ast.ClassDef] | None:
    """The class that a parameter or a variable is annotated with."""
    definition = module.definition(node)
    made = definition if isinstance(definition, ast.arg) else module.parent_of.get(definition) if definition else None
    annotation = made.annotation if isinstance(made, (ast.arg, ast.AnnAssign)) else None
    return _class(module, annotation) if annotation is not None else None


def _class(module: Module, node: ast.expr) -> tuple[Module, ast.ClassDef] | None:
    """The class that an expression names; that of the method whose first parameter it is, and of `super()` in one."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "super":  # `super().from_checkpoint(...)`
        node = node.func
    if isinstance(node, ast.Name) and node.id == "super":
        around = module.class_around(node)
        return (module, around) if around is not None else None
    if isinstance(module.definition(node), ast.arg):
        _, _, owner = first_of_method(module, node)
        return (module, owner) if owner is not None else None
    return class_named(module, node)
