"""RM50x: the `preprocessor=` of a trainer becomes explicit transforms of its datasets.

Legacy Ray fitted the preprocessor on the training data unless it was fitted, and transformed every dataset once, before
training (Ray 2.6.3, train/_internal/dataset_spec.py, `preprocess_datasets`; docs/semantics/data.md#preprocessors).
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.batch_functions import BatchFunction
from raymigrate.facts.comments import comments_of
from raymigrate.facts.literals import string_literal
from raymigrate.facts.preprocessor_uses import goes_to_trainers, is_preprocessor_argument, may_become_function
from raymigrate.facts.preprocessors import (
    BATCH_MAPPERS,
    CHAINS,
    Helper,
    Imported,
    Mapper,
    Stage,
    Transformer,
    arguments,
    class_name,
    helper,
    imported,
    stages,
)
from raymigrate.facts.requests import DatasetFunction
from raymigrate.facts.trainers import TrainerCall
from raymigrate.facts.values import is_none, names_of
from raymigrate.knowledge.error_texts import gone_names, refused_arguments

DATA = "https://docs.ray.io/en/latest/train/user-guides/data-loading-preprocessing.html#preprocessing-data"

RM501 = Rule(
    "RM501",
    "a BatchMapper given to a trainer as preprocessor",
    "TorchTrainer has no preprocessor argument (TypeError), and Ray >= 2.13 has no BatchMapper.",
    "The function is applied to each dataset with map_batches before the trainer is built.",
    DATA,
    errors=gone_names("ray.data.preprocessors", "BatchMapper"),
)
RM502 = Rule(
    "RM502",
    "a preprocessor given to a trainer",
    "TorchTrainer has no preprocessor argument: this raises a TypeError.",
    "Apply it to the datasets before the trainer is built: fit it on the training data if it is not fitted, then"
    " call transform() on each dataset.",
    DATA,
    errors=refused_arguments("TorchTrainer", "preprocessor"),
)
RM503 = Rule(
    "RM503",
    "a batch that is changed in place",
    "Current Ray hands out read-only batches where it need not copy (ValueError: assignment destination is read-only),"
    " and since pandas 3 a change to a part of a DataFrame that is a copy has no effect.",
    "batch_size= together with zero_copy_batch=False gives the function a copy that it may change.",
    "https://docs.ray.io/en/latest/data/api/doc/ray.data.Dataset.map_batches.html",
)

PREPROCESSOR_REFUSED = "TorchTrainer has no preprocessor argument: this raises a TypeError."
STRICT_MODE_SINCE = (2, 5)
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass
class Choices:
    """What a DatasetConfig says of preprocessing (see dataset_config.py).

    Args:
        fit: The dataset that the preprocessor is fitted on.
        untransformed: The datasets that are left as they are.
    """

    fit: str = "train"
    untransformed: list[str] = field(default_factory=list)


@dataclass
class Preprocessing:
    """What takes the place of a `preprocessor=`.

    Args:
        context: The module.
        call: The trainer call.
        stages: Its stages, in order.
        helper: The function that makes it, if that has to be changed.
        imported: What it is, if another file of the project defines it.
    """

    context: Context
    call: TrainerCall
    stages: list[Stage]
    helper: Helper | None = None
    imported: Imported | None = None

    def codes(self, source: str, target: str, choices: Choices) -> list[Code]:
        """The lines that fit the preprocessor and transform the datasets.

        Args:
            source: Name of the dict of datasets.
            target: Name for the dict of transformed datasets.
            choices: Which dataset to fit on and which to leave.
        """
        if self.helper is not None or self._is_changed_elsewhere:
            return self._helper_codes(source, target, choices)
        found: list[Code] = []
        number = 0
        for is_mapper, run in groupby(self.stages, lambda stage: isinstance(stage, Mapper)):
            members = list(run)
            if is_mapper:
                chain, parts = "", dict[str, Part]()
                for stage in members:
                    assert isinstance(stage, Mapper)
                    chain += f".map_batches({map_batches_arguments(self.context, stage, LETTERS[number], parts)})"
                    number += 1
                found.append(transformed(source, target, f"dataset{chain}.materialize()", choices, parts))
            else:
                found += self._fit_and_transform(members, source, target, choices)
            source = target
        return found

    @property
    def _is_changed_elsewhere(self) -> bool:
        """Whether the other file is asked to give a function that maps a dataset."""
        return self.imported is not None and any(isinstance(stage, Mapper) for stage in self.stages)

    def _fit_and_transform(self, members: list[Stage], source: str, target: str, choices: Choices) -> list[Code]:
        """Lines for stages that current Ray still has."""
        whole = self.call.arguments["preprocessor"]
        nodes = [stage.node for stage in members if isinstance(stage, Transformer)]
        found: list[Code] = []
        if isinstance(nodes[0], ast.Name) and len(nodes) == 1:
            name = nodes[0].id
        else:
            name = self.context.fresh("preprocessor", "fitted_preprocessor")
            if len(nodes) == 1:
                found.append(Code(f"{name} = $value", {"value": nodes[0]}))
            else:
                parts: dict[str, Part] = {f"stage_{LETTERS[i]}": node for i, node in enumerate(nodes)}
                found.append(Code(f"{name} = Chain({', '.join(f'${part}' for part in parts)})", parts))
        if len(members) == len(self.stages):
            self.context.emitted["preprocessor", self.call.node] = name
        if any(isinstance(stage, Transformer) and stage.fittable for stage in members):
            fit = f"{name}.fit({source}[{string_literal(choices.fit)}])"
            if self._is_fitted(whole):
                fit = ""
            elif not self._is_new(nodes, whole):
                fit = f"if {name}.fit_status() != {name}.FitStatus.FITTED:\n    {fit}"
            found += [Code(fit)] if fit else []
        parts = {"preprocessor": nodes[0] if isinstance(nodes[0], ast.Name) and len(nodes) == 1 else name}
        return [*found, transformed(source, target, "$preprocessor.transform(dataset).materialize()", choices, parts)]

    def _is_fitted(self, whole: ast.expr) -> bool:
        """Whether a statement of the same block, before the trainer call, calls fit() or fit_transform()."""
        module, statement = self.context.module, self.call.statement
        scope = module.scope_of[whole].find(whole.id) if isinstance(whole, ast.Name) else None
        if scope is None or not isinstance(whole, ast.Name) or len(scope.bindings[whole.id]) != 1:
            return False
        return any(
            isinstance(method := module.parent_of[use], ast.Attribute)
            and method.attr in ("fit", "fit_transform")
            and use.lineno < statement.lineno
            and module.parent_of[module.statement(use)] is module.parent_of[statement]
            for use in module.uses(whole.id, scope)
        )

    def _is_new(self, nodes: list[ast.expr], whole: ast.expr) -> bool:
        """Whether the stages cannot have been fitted before: they are made here, and nothing else uses them."""
        module = self.context.module
        if self.imported is not None and not self.imported.is_new:
            return False
        for node in (*nodes, whole):
            scope = module.scope_of[node].find(node.id) if isinstance(node, ast.Name) else None
            if scope is None or not isinstance(node, ast.Name):
                continue
            uses = [use for use in module.uses(node.id, scope) if not module.inside(use, self.call.node)]
            before = [use for use in uses if use.lineno < self.call.node.lineno]
            if scope is not module.scope_of[self.call.node] or before:
                return False
        return True

    def _helper_codes(self, source: str, target: str, choices: Choices) -> list[Code]:
        """Lines that use the function which a helper returns in place of its BatchMappers."""
        given = self.call.arguments["preprocessor"]
        found = []
        name: Part = given  # as a part of the code, so that its import stays
        if not isinstance(given, ast.Name):
            name = self.context.fresh("preprocess", "preprocess_dataset")
            found.append(Code(f"{name} = $value", {"value": given}))
        return [
            *found,
            transformed(source, target, "$preprocess(dataset).materialize()", choices, {"preprocess": name}),
        ]

    def finish(self) -> str:
        """Takes away what only the trainer used; returns its comments."""
        if self.helper is not None:
            change_helper(self.context, self.helper)
        given = self.call.arguments["preprocessor"]
        if self.helper is None and self.imported is None and any(isinstance(stage, Mapper) for stage in self.stages):
            return remove_mappers(self.context, given)
        return "" if isinstance(given, ast.Name) else comments_of(self.context.module, given, moved=True)


def change_helper(context: Context, made: Helper) -> None:
    """Lets a helper return a function that maps a dataset."""
    body, parts = function_body(context, made.stages)
    name = context.fresh("preprocess", "preprocess_dataset")
    returned = context.module.parent_of[made.value]
    assert isinstance(returned, ast.Return)
    inner = f"def {name}(dataset):\n{body}\nreturn {name}\n"
    context.plan.statement(returned).replacement = Code(inner, parts)
    context.plan.function(made.function).drop_return_annotation = made.function.returns is not None
    if made.function.returns is not None:
        _forget(context, made.function.returns)
    remove_mappers(context, made.value)


def _forget(context: Context, annotation: ast.expr) -> None:
    """What an annotation refers to is read there no longer."""
    for node in ast.walk(annotation):
        if node in context.module.reference_at:
            context.handle(context.module.reference_at[node], gone=True)


def function_body(context: Context, mappers: list[Stage]) -> tuple[str, dict[str, Part]]:
    """The body of a function of `dataset` that does what BatchMappers did, and the parts of its template."""
    parts, lines = dict[str, Part](), list[str]()
    for number, stage in enumerate(mappers):
        assert isinstance(stage, Mapper)
        lines.append(f"dataset.map_batches({map_batches_arguments(context, stage, LETTERS[number], parts)})")
    return "".join(f"    dataset = {line}\n" for line in lines[:-1]) + f"    return {lines[-1]}\n", parts


def preprocessing(context: Context, call: TrainerCall) -> Preprocessing | None:
    """What to do in place of the preprocessor of a trainer call; None where there is none or it is not understood.

    The latter is reported by `train_v2_arguments`, which also finds it in converted scripts.
    """
    given = call.arguments.get("preprocessor")
    if given is None or is_none(given):
        return None
    other = imported(context.module, given)
    if other is not None:
        return preprocessing_elsewhere(context, call, given, other)
    made = helper(context.module, given)
    found = made.stages if made is not None else stages(context.module, given)
    if not found:
        return None
    mappers = [stage for stage in found if isinstance(stage, Mapper)]
    if made is not None and mappers and not _helper_is_ours(context, made, given):
        return None
    if not mappers:
        if not call.datasets.may_have("train"):
            return None  # it was never fitted
        made = None
        found = [Transformer(given, any(isinstance(s, Transformer) and s.fittable for s in found))]
        if not context.converts(RM502, given, "The preprocessor is fitted and applied to each dataset here."):
            return None
    elif not _only_the_trainer_uses(context, given, call) or not context.converts(
        RM501, given, "The preprocessor is applied to each dataset with map_batches."
    ):
        return None
    return Preprocessing(context, call, found, made if mappers else None)


def preprocessing_elsewhere(
    context: Context, call: TrainerCall, given: ast.expr, found: Imported
) -> Preprocessing | None:
    """What to do in place of a preprocessor that another file of the project defines.

    That file has to change where there is a BatchMapper in it: it then gives a function that maps a dataset.
    """
    mappers = [stage for stage in found.stages if isinstance(stage, Mapper)]
    path = found.definition.module.path
    if not mappers:
        fittable = any(isinstance(stage, Transformer) and stage.fittable for stage in found.stages)
        message = "The preprocessor is fitted and applied to each dataset here."
        if not call.datasets.may_have("train") or not context.converts(RM502, given, message):
            return None
        return Preprocessing(context, call, [Transformer(given, fittable)], imported=found)
    if len(mappers) < len(found.stages) or not may_become_function(context.module.project, found.definition):
        return None
    if not context.converts(RM501, given, f"{found.definition.name} of {path} maps a dataset now, and is called here."):
        return None
    context.ask(DatasetFunction(path, found.definition.name))
    return Preprocessing(context, call, found.stages, imported=found)


def _helper_is_ours(context: Context, made: Helper, given: ast.expr) -> bool:
    """Whether a helper that returns BatchMappers, and what it returns, are used for this trainer only."""
    module = context.module
    scope = module.scope_of[made.function]
    return (
        all(isinstance(stage, Mapper) for stage in made.stages)
        and module.uses(made.function.name, scope) == [made.call.func]
        and not is_exported(module, made.function.name)
        and (given is made.call or isinstance(given, ast.Name))
    )


def _only_the_trainer_uses(context: Context, given: ast.expr, call: TrainerCall) -> bool:
    """Whether a name for BatchMappers is read by this trainer call alone: elsewhere it would be missing."""
    module = context.module
    return all(
        scope is not None and all(use is name or goes_to_trainers(module, use) for use in module.uses(name.id, scope))
        for name in names_of(module, given)
        for scope in (module.scope_of[name].find(name.id),)
    )


def transformed(source: str, target: str, expression: str, choices: Choices, parts: Mapping[str, Part]) -> Code:
    """A dict of the datasets, each transformed by an expression of `dataset`.

    Materialized, as legacy Ray ran a preprocessor once, before training; alone it would run again in every epoch.
    """
    if choices.untransformed:
        listed = ", ".join(map(string_literal, choices.untransformed))
        is_one = f"== {listed}" if len(choices.untransformed) == 1 else f"in ({listed})"
        expression = f"dataset\n    if name {is_one}\n    else {expression}"
    return Code(f"{target} = {{\n    name: {expression}\n    for name, dataset in {source}.items()\n}}", parts)


def default_batch_size(context: Context) -> int:
    """The rows that BatchMapper and map_batches handed out at a time by default; today it is all of a block.

    Ray 2.4.0 data/dataset.py, map_batches: DEFAULT_BATCH_SIZE, 4096. Ray 2.5.1 and 2.6.3 data/block.py,
    _apply_strict_mode_batch_size: 1024, also for BatchMapper, whose documentation still says 4096.
    """
    return 1024 if context.from_ray.lowest >= STRICT_MODE_SINCE else 4096


def map_batches_arguments(context: Context, mapper: Mapper, letter: str, parts: dict[str, Part]) -> str:
    """A template for the arguments of map_batches that do what a BatchMapper did; its parts go to `parts`."""
    given = arguments(mapper.call)
    constant = context.module.constant
    parts[f"fn_{letter}"] = given["fn"]
    template = f"$fn_{letter}"
    batch_format = constant(given.get("batch_format"))
    if batch_format in (None, "default"):  # what Ray 2.0 to 2.3 allowed: DataFrames
        batch_format = "pandas"
        template += ', batch_format="pandas"'
    else:
        parts[f"batch_format_{letter}"] = given["batch_format"]
        template += f", batch_format=$batch_format_{letter}"
    if "batch_size" in given and constant(given["batch_size"]) != "default":
        parts[f"batch_size_{letter}"] = given["batch_size"]
        template += f", batch_size=$batch_size_{letter}"
    else:
        template += f", batch_size={default_batch_size(context)}"
    function = BatchFunction(context.module, given["fn"])
    if batch_format == "pandas":
        for place in function.lost_assignments if function.visible else ():
            report_lost_assignment(context, place, function, mapper.call)
    # A function that cannot be seen may change its batch, as it could with legacy Ray.
    copied = not function.visible or function.writes_to_arrays(str(batch_format))
    return f"{template}, zero_copy_batch=False" if copied else template


def report_lost_assignment(context: Context, place: ast.AST, function: BatchFunction, call: ast.Call) -> None:
    """Reports a change to a column of a DataFrame that goes to a copy; at the call, if it is in another file."""
    what = "this"
    if function.elsewhere:
        line, _ = function.module.start(place)
        place, what = call, f"line {line} of {function.module.path}"
    context.manual(
        RM503,
        place,
        f"Since pandas 3 {what} changes a copy of the column, and the batch stays as it was, without an error.",
        'Assign to the frame: frame.loc[rows, "column"] = value, or frame["column"] = frame["column"].method(...).',
    )


def _is_used_besides(context: Context, node: ast.Name) -> bool:
    """Whether a name for BatchMappers has other readers than trainers whose preprocessor= is removed."""
    module = context.module
    scope = module.scope_of[node].find(node.id)
    others = [use for use in module.uses(node.id, scope) if use is not node] if scope is not None else [node]
    return not all(
        context.plan.statement(module.statement(use)).removed
        or (
            is_preprocessor_argument(module, use)
            and isinstance(call := module.parent_of[module.parent_of[use]], ast.Call)
            and call in context.plan.calls
            and "preprocessor" in context.plan.calls[call].remove
        )
        for use in others
    )


def remove_mappers(context: Context, node: ast.expr) -> str:
    """Takes away `preprocessor = BatchMapper(...)` lines that only the trainer used; returns their comments."""
    module = context.module
    value = module.value(node)
    if not isinstance(value, ast.Call) or class_name(module, value) is None:
        return ""
    if module.qualified(value.func) not in BATCH_MAPPERS | CHAINS:
        return ""
    if module.qualified(value.func) in CHAINS and not any(isinstance(s, Mapper) for s in stages(module, node) or ()):
        return ""
    comments = "" if isinstance(node, ast.Name) else comments_of(module, value)
    for name in names_of(module, node):
        statement = module.statement(module.definition(name) or name)
        if _is_used_besides(context, name) or not isinstance(statement, (ast.Assign, ast.AnnAssign)):
            return comments
        context.plan.statement(statement).removed = True
        comments += comments_of(module, statement)
        if isinstance(statement, ast.AnnAssign):
            _forget(context, statement.annotation)
    reference = module.reference_at.get(value.func)
    if reference is not None:
        context.handle(reference, gone=True)
    if module.qualified(value.func) in CHAINS:
        comments += "".join(
            remove_mappers(context, argument) for argument in value.args if isinstance(argument, ast.Name)
        )
        for argument in value.args:
            if not isinstance(argument, ast.Name):
                remove_mappers(context, argument)  # its comments are those of the Chain
    return comments
