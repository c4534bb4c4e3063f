"""A script's own subclass of Predictor that it gives to BatchPredictor, and the class that applies it to batches.

BatchPredictor made one on each actor with `from_checkpoint`, gave it the feature columns, and put the columns to keep
beside its predictions (Ray 2.6.3, train/batch_predictor.py:199-285). `Predictor.predict` only chose the method and the
form of the data (train/predictor.py:205-250).
"""

import ast
from dataclasses import dataclass, field

from raymigrate.codemods.context import Context
from raymigrate.codemods.predictors.pipeline_predictor import NotSure
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.projects.helpers import OF_OWN_PREDICTOR
from raymigrate.facts.syntax.functions import by_name
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import is_call_by_name, written

BASES = frozenset({"ray.train.predictor.Predictor"})
FORMATS = {"_predict_pandas": "pandas", "_predict_numpy": "numpy"}  # pandas is preferred where a class has both
# What the base class gave its subclasses besides.
OF_BASE = frozenset(
    [
        "predict",
        "preferred_batch_format",
        "get_preprocessor",
        "set_preprocessor",
        "_preprocessor",
        "_batch_format_to_use",
        "_cast_tensor_columns",
        "_set_cast_tensor_columns",
    ]
)

CLASS = '''
class {name}:
    """Makes a {predictor}{of_own_predictor}"""

    def __init__(self, checkpoint, **predictor_kwargs):
        self.predictor = {predictor}.from_checkpoint(checkpoint, **predictor_kwargs)

    def __call__(self, batch, {parameters}**predict_kwargs):
{body}'''
FEATURES = {
    "pandas": "        features = batch[feature_columns] if feature_columns else batch\n",
    "numpy": "        features = {name: batch[name] for name in feature_columns} if feature_columns else batch\n",
}
PREDICTIONS = "        {target}self.predictor.{method}({features}, **predict_kwargs)\n"
KEEP = """        for column in keep_columns or []:
            predictions[column] = batch[column]
        return predictions
"""


@dataclass
class OwnPredictor:
    """One such class.

    Args:
        context: The module.
        definition: The class.
        method: The method that predicts.
        columns: Which of feature_columns and keep_columns are given to some predict().
    """

    context: Context
    definition: ast.ClassDef
    method: str
    columns: set[str] = field(default_factory=set)
    _name: str = ""

    @property
    def name(self) -> str:
        """What the class is called that applies it."""
        self._name = self._name or self.context.fresh(f"Batch{self.definition.name}")
        return self._name

    @property
    def batch_format(self) -> str:
        """The form in which it takes data."""
        return FORMATS[self.method]

    def arguments(
        self, given: dict[str, ast.expr], num_gpus: ast.expr | None
    ) -> dict[str, tuple[str, dict[str, Part]]]:
        """What it is made with: templates with parts. BatchPredictor set use_gpu where it is a parameter."""
        arguments: dict[str, tuple[str, dict[str, Part]]] = {k: ("$value", {"value": v}) for k, v in given.items()}
        factory = next(m for m in self._methods() if m.name == "from_checkpoint")
        takes_it = any(p.arg == "use_gpu" for p in by_name(factory))
        gpus = written(num_gpus)
        if takes_it and "use_gpu" not in given and num_gpus is not None and gpus:
            arguments["use_gpu"] = ("$gpus > 0", {"gpus": num_gpus}) if gpus is ... else ("True", {})
        return arguments

    def _methods(self) -> list[ast.FunctionDef]:
        return [node for node in self.definition.body if isinstance(node, ast.FunctionDef)]

    def emit(self) -> None:
        """Takes its base class away, and puts the class that applies it after it."""
        context, module = self.context, self.context.module
        context.plan.without_bases.add(self.definition)
        context.handle(module.reference_at[self.definition.bases[0]], gone=True)
        for statement in ast.walk(self.definition):
            if isinstance(statement, ast.Expr) and _is_init_of_base(module, statement.value):
                edit = context.plan.statement(statement)
                edit.removed = edit.comments_stay = True
                for reference in context.references(*BASES):
                    if module.inside(reference.node, statement):
                        context.handle(reference, gone=True)
        features = "feature_columns" in self.columns
        keeps = "keep_columns" in self.columns
        body = FEATURES[self.batch_format] if features else ""
        body += PREDICTIONS.format(
            target="predictions = " if keeps else "return ",
            method=self.method,
            features="features" if features else "batch",
        )
        code = CLASS.format(
            name=self.name,
            predictor=self.definition.name,
            of_own_predictor=OF_OWN_PREDICTOR,
            parameters="".join(f"{name}=None, " for name in sorted(self.columns)),
            body=body + (KEEP if keeps else ""),
        )
        context.plan.statement(self.definition).after.append(Code(code.strip("\n") + "\n"))


def own_predictor(context: Context, node: ast.expr) -> OwnPredictor:
    """The class that an expression names.

    Raises:
        NotSure: If it is not one, or needs more of its base class than the choice of the method.
    """
    module = context.module
    definition = module.definition(node)
    if not isinstance(definition, ast.ClassDef) or len(definition.bases) != 1:
        raise NotSure("The class of its predictors is not one that can be converted.")
    if module.qualified(definition.bases[0]) not in BASES or definition.keywords or definition.decorator_list:
        raise NotSure("The class of its predictors is not one that can be converted.")
    predictor = OwnPredictor(context, definition, "")
    methods = {method.name for method in predictor._methods()}
    method = next((name for name in FORMATS if name in methods), None)
    if method is None or "from_checkpoint" not in methods or methods & OF_BASE:
        raise NotSure("The class of its predictors does not have the methods that are expected.")
    predictor.method = method
    for part in ast.walk(definition):
        if isinstance(part, ast.Attribute) and part.attr in OF_BASE:
            raise NotSure(f"The class of its predictors uses {part.attr}.")
        if isinstance(part, ast.Name) and part.id == "super":
            call = module.parent_of[module.parent_of[module.parent_of[part]]]
            if not _is_init_of_base(module, call) or not module.is_statement(call):
                raise NotSure("The class of its predictors calls its base class.")
    for reference in module.references_within(*BASES):
        call = module.parent_of[reference.node]
        if module.inside(reference.node, definition) and reference.node is not definition.bases[0]:
            if not _is_init_of_base(module, call) or not module.is_statement(call):
                raise NotSure("The class of its predictors names its base class.")
    return predictor


def _is_init_of_base(module: Module, node: ast.AST) -> bool:
    """Whether a node is `super().__init__(...)` or `Predictor.__init__(self, ...)`."""
    function = node.func if isinstance(node, ast.Call) else None
    base = function.value if isinstance(function, ast.Attribute) and function.attr == "__init__" else None
    if isinstance(base, ast.Call):
        return is_call_by_name(base, "super")
    return base is not None and module.qualified(base) in BASES


def used_elsewhere(context: Context, definition: ast.ClassDef, calls: list[ast.Call]) -> bool:
    """Whether a class is used outside itself by more than these calls, which it is an argument of."""
    module = context.module
    uses = module.uses_of(definition)
    taken = {*calls, *(keyword for call in calls for keyword in call.keywords)}
    return any(module.parent_of[use] not in taken and not module.inside(use, definition) for use in uses)
