"""RM205 where the datasets reach a trainer out of a dict, or by another name than that of its class.

`TorchTrainer(**options)`, `self.trainer_cls(...)`, `partial(TorchTrainer, ...)`, `super().__init__(...)`. What a call
of the class itself unpacks is converted where that is sure (`trainer_data.py`); of the others it is told.
"""

import ast
from dataclasses import dataclass, field

from raymigrate.codemods import codemod
from raymigrate.codemods.context import Context
from raymigrate.codemods.data.split_datasets import RM205, SPLIT_ALL_SINCE, TRAIN_DATA_ONLY, UNKNOWN, UNSEEN
from raymigrate.codemods.data.trainer_classes import SPLIT_ALL, TRAINERS_WITH_DATA
from raymigrate.codemods.phases import Phase
from raymigrate.facts.projects.indirect import calls_in_other_ways
from raymigrate.facts.projects.unpacked_options import carried_from_callers
from raymigrate.facts.ray_train.scaling import has_one_worker
from raymigrate.facts.syntax.module import Module
from raymigrate.facts.values import Source, has_starred, is_none
from raymigrate.facts.values.carried import carried

NAMES = TRAINERS_WITH_DATA - SPLIT_ALL
GIVE = 'Give dataset_config=ray.train.DataConfig(datasets_to_split=["train"]) with the datasets.'
NOTHING_ELSE = "Else there is nothing to do; --from-ray 2.7 says so."
GIVE_IF_OLDER = (
    'If the job ran on Ray <= 2.6, give dataset_config=ray.train.DataConfig(datasets_to_split=["train"]) with the'
    f" datasets. {NOTHING_ELSE}"
)
GIVE_IF_NONE = (
    "If the job ran on Ray <= 2.6 and it has none, give dataset_config=ray.train.DataConfig(datasets_to_split="
    f'["train"]) with the datasets. {NOTHING_ELSE}'
)


@dataclass
class Handed:
    """What some calls give a trainer by name, also out of dicts.

    Args:
        values: What each argument may be, the last one where there are several.
        places: Where each of them is written, or unpacked if that is in another file.
        whole: Whether these are all arguments.
    """

    values: dict[str, Source] = field(default_factory=dict)
    places: dict[str, ast.AST] = field(default_factory=dict)
    whole: bool = True

    def leaves_split_open(self) -> bool:
        """Whether there are datasets besides the training data, and nothing says which ones are split."""
        given = self.values.get("datasets")
        if given is None or is_none(given.node) or not self.says_nothing("dataset_config"):
            return False
        found = carried(given.module, given.node)
        return not found.whole or any(entry.name != "train" for entry in found.entries)

    def says_nothing(self, argument: str) -> bool:
        """Whether an argument is not given, as far as can be seen, or is None."""
        given = self.values.get(argument)
        return given is None or is_none(given.module.value(given.node))


def handed(module: Module, *calls: ast.Call) -> Handed:
    """What calls give a trainer, those of partial() before those of what it makes.

    Args:
        module: The module.
        calls: The calls.
    """
    found = Handed()
    for call in calls:
        found.whole = found.whole and not has_starred(call.args)
        for keyword in call.keywords:
            if keyword.arg is not None:
                found.values[keyword.arg], found.places[keyword.arg] = Source(module, keyword.value), keyword.value
                continue
            behind = carried_from_callers(module, keyword.value)
            found.whole = found.whole and behind.whole
            for entry in behind.entries:
                found.values[entry.name] = Source(entry.module, entry.value)
                found.places[entry.name] = entry.key if entry.module is module else keyword.value
    return found


def is_surely_one(preprocessor: Source | None) -> bool:
    """Whether a preprocessor that a person has to apply is there: with one only the training data was split."""
    made = preprocessor.module.origins(preprocessor.node) if preprocessor is not None else []
    return bool(made) and all(isinstance(source.node, ast.Call) for source in made)


@codemod("datasets", phase=Phase.CONFIGURATION, in_ray_scripts=True)
def tell_split_of_handed(context: Context) -> None:
    """Tells of datasets that every worker saw whole, where no call of the trainer's class shows them."""
    if context.options.guide or context.from_ray.lowest >= SPLIT_ALL_SINCE:
        return
    module = context.module
    for calls in calls_in_other_ways(module, NAMES, ("datasets", "dataset_config")):
        given = handed(module, *calls)
        if not given.leaves_split_open() or any(has_one_worker(module, call) for call in calls):
            continue
        place = given.places["datasets"]
        if not given.whole and context.of_legacy_job:
            context.manual(RM205, place, UNSEEN, GIVE_IF_NONE)
        elif context.from_ray.surely_before(SPLIT_ALL_SINCE) or is_surely_one(given.values.get("preprocessor")):
            context.manual(RM205, place, TRAIN_DATA_ONLY, GIVE)
        elif context.of_legacy_job:
            context.manual(RM205, place, UNKNOWN, GIVE_IF_OLDER)
