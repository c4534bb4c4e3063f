"""RM501, RM502: the `preprocessor=` of a trainer becomes explicit transforms of its datasets.

Legacy Ray fitted the preprocessor on the training data unless it was fitted, and transformed every dataset once, before
training (Ray 2.6.3, train/_internal/dataset_spec.py, `preprocess_datasets`; docs/semantics/data.md#preprocessors).
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from raymigrate.base.findings import Rule
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.batch_mappers import (
    LETTERS,
    change_helper,
    made_once,
    map_batches_arguments,
    remove_mappers,
)
from raymigrate.codemods.shared.import_cleanup import is_exported
from raymigrate.codemods.shared.preprocessor_advice import KEPT_IN_FILE
from raymigrate.edits.plan import Code, Part
from raymigrate.facts.projects.requests import DatasetFunction
from raymigrate.facts.ray_data.preprocessor_uses import (
    goes_to_trainers,
    is_missed_elsewhere,
    may_become_function,
    other_readers,
)
from raymigrate.facts.ray_data.preprocessors import (
    Helper,
    Imported,
    Mapper,
    Stage,
    Transformer,
    helper,
    imported,
    stages,
)
from raymigrate.facts.ray_train.trainers import TrainerCall
from raymigrate.facts.syntax.comments import comments_of
from raymigrate.facts.syntax.definitions import Definition
from raymigrate.facts.syntax.literals import string_literal
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.syntax.scopes import Scope
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

PREPROCESSOR_REFUSED = "TorchTrainer has no preprocessor argument: this raises a TypeError."
# Where every DatasetConfig says transform=False.
PREPROCESSOR_KEPT = (
    "Drop it: no dataset was transformed with it, it was only kept in the checkpoints. What read it from there can take"
    f" it itself; {KEPT_IN_FILE}."
)
WITHOUT_MAPPERS = (
    "Drop it: a BatchMapper is gone. Before the trainer is built, call for each dataset {0}, with"
    " .materialize() after the last; where rows are counted for the trainer, count those of the new dataset."
)
CALL_THERE = (
    "There, call what it gives with the dataset, in place of transform(dataset), and the function inside it with the"
    " batch, in place of transform_batch(batch)."
)


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
            source: Name of the dict of datasets, or a placeholder for it.
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
                    letter, once = LETTERS[number], made_once(self.context, stage)
                    chain += f".map_batches({map_batches_arguments(self.context, stage, letter, parts)})"
                    if once is not None:
                        name = parts[f"fn_{letter}"] = self.context.fresh("preprocess", "preprocess_batch")
                        found.append(Code(f"{name} = $made", {"made": once}))
                    number += 1
                found.append(transformed(source, target, f"dataset{chain}.materialize()", choices, parts))
            else:
                found += self._fit_and_transform(members, source, target, choices)
            source = target
        return found

    @property
    def reads_source_once(self) -> bool:
        """Whether the lines of `codes` read the dict of datasets once, so that it can stand there itself."""
        made = self.helper is not None or self._is_changed_elsewhere
        return made or isinstance(self.stages[0], Mapper)

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
        return module.is_bound_once(whole) and any(
            isinstance(method := module.parent_of[use], ast.Attribute)
            and method.attr in ("fit", "fit_transform")
            and use.lineno < statement.lineno
            and module.parent_of[module.statement(use)] is module.parent_of[statement]
            for use in module.uses_of(whole)
        )

    def _is_new(self, nodes: list[ast.expr], whole: ast.expr) -> bool:
        """Whether the stages cannot have been fitted before: they are made here, and nothing else uses them."""
        module = self.context.module
        if self.imported is not None and not self.imported.is_new:
            return False
        for node in (*nodes, whole):
            if not isinstance(node, ast.Name) or module.bound_in(node) is None:
                continue
            uses = [use for use in module.uses_of(node) if not module.inside(use, self.call.node)]
            before = [use for use in uses if use.lineno < self.call.node.lineno]
            if module.bound_in(node) is not module.scope_of[self.call.node] or before:
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
    elif not _only_the_trainer_uses(context, given) or not context.converts(
        RM501, given, "The preprocessor is applied to each dataset with map_batches."
    ):
        return None
    if made is not None and mappers:
        _tell_other_readers(context, made)
    return Preprocessing(context, call, found, made if mappers else None)


def _tell_other_readers(context: Context, made: Helper) -> None:
    """Names the other files that work with what a helper gave: nothing can give them a BatchMapper today."""
    name = made.function.name
    if files := other_readers(Definition(context.module, made.function, name)):
        message = f"{name}() gives a function that maps a dataset now, which has no method of a preprocessor"
        context.manual(RM501, made.function, f"{message}: {' and '.join(files)} cannot call one any more.", CALL_THERE)


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


def _only_the_trainer_uses(context: Context, given: ast.expr) -> bool:
    """Whether a name for BatchMappers is read by this trainer call alone: elsewhere it would be missing."""
    module = context.module
    return all(
        scope is not None
        and all(use is name or goes_to_trainers(module, use) for use in module.uses(name.id, scope))
        and not (scope is module.scope_of[module.tree] and _others_need(module, name.id, scope))
        for name in names_of(module, given)
        for scope in (module.bound_in(name),)
    )


def _others_need(module: Module, name: str, scope: Scope) -> bool:
    """Whether other files need a variable of this one that holds a BatchMapper, or may, as it is exported."""
    bindings = scope.bindings[name]
    return is_exported(module, name) or any(is_missed_elsewhere(Definition(module, b.node, name)) for b in bindings)


def transformed(source: str, target: str, expression: str, choices: Choices, parts: Mapping[str, Part]) -> Code:
    """A dict of the datasets, each transformed by an expression of `dataset`.

    Materialized, as legacy Ray ran a preprocessor once, before training; alone it would run again in every epoch.
    """
    if choices.untransformed:
        listed = ", ".join(map(string_literal, choices.untransformed))
        is_one = f"== {listed}" if len(choices.untransformed) == 1 else f"in ({listed})"
        expression = f"dataset\n    if name {is_one}\n    else {expression}"
    return Code(f"{target} = {{\n    name: {expression}\n    for name, dataset in {source}.items()\n}}", parts)
