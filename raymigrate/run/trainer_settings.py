"""What is reported of a trainer that hydra makes of YAML: keys that TorchTrainer refuses, and scripts that make it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from raymigrate.base.findings import Finding, Kind, Rule
from raymigrate.codemods.accelerate_trainer.accelerate_settings import RM202
from raymigrate.codemods.data.preprocessors import PREPROCESSOR_REFUSED, RM502
from raymigrate.codemods.torch_trainer.train_v2_arguments import (
    METADATA,
    REFUSED_BY_TRAINER,
    RESUME,
    RESUME_TRANSFORMERS,
    RM403,
)
from raymigrate.codemods.transformers_trainer.transformers_trainer import RM103
from raymigrate.facts.ray_train.hydra_trainers import makers_of, named_in
from raymigrate.facts.syntax.named_lines import line_of_file
from raymigrate.knowledge.legacy import ACCELERATE_TRAINERS, TORCH_TRAINERS, TRAINERS, TRANSFORMERS_TRAINERS

if TYPE_CHECKING:
    from raymigrate.facts.projects.project import Project
    from raymigrate.facts.projects.settings import Key

IN_CODE = "accelerate_config"
NO_CONFIG = "TorchTrainer has no accelerate_config argument: it raises a TypeError."
CONFIG_ADVICE = (
    "Give its values to Accelerator(...) in the training function, and take it out. `raymigrate config FILE`, with"
    " these keys in a file of their own, shows what each of them did, and where it goes."
)
OF_INIT = ("trainer_init_per_worker", "trainer_init_config")
INIT_ADVICE = (
    "Give train_loop_per_worker a function that makes the Trainer, passes it to prepare_trainer() and calls train(),"
    " as the migration guide shows; train_loop_config takes what trainer_init_config held."
)
TRAIN_ROWS = "Transform the datasets in Python before the trainer gets them, and take it out."
NONE = ("", "null", "~")
MAKES_IT = " hydra makes it on {}; what its fit() gives there is a Result of today."


def refused_by_trainer(keys: Sequence[Key], named: str | None, path: str) -> Iterator[Finding]:
    """What TorchTrainer refuses among the keys beside the `_target_` of a trainer.

    Args:
        keys: The keys.
        named: What `_target_` names.
        path: The file.
    """
    if named not in TRAINERS | TORCH_TRAINERS:
        return
    for key in keys:
        if (told := _told(key, named or "")) is not None:
            rule, message, advice = told
            yield Finding(rule.code, Kind.MANUAL, message, advice, key.line, key.column, path)


def _told(key: Key, named: str) -> tuple[Rule, str, str] | None:
    if key.name == IN_CODE and named in ACCELERATE_TRAINERS:
        return RM202, NO_CONFIG, CONFIG_ADVICE
    of_transformers = named in TRANSFORMERS_TRAINERS
    if key.name in OF_INIT and of_transformers:
        return RM103, f"TorchTrainer has no {key.name} argument: it raises a TypeError.", INIT_ADVICE
    if key.name not in REFUSED_BY_TRAINER or key.value in NONE:
        return None
    if key.name == "preprocessor":
        return RM502, PREPROCESSOR_REFUSED, TRAIN_ROWS
    resume = RESUME_TRANSFORMERS if of_transformers else RESUME
    advice = METADATA if key.name == "metadata" else resume
    return RM403, f"TorchTrainer({key.name}=) raises on Ray >= 2.51.", advice


def where_made(text: str, path: str, project: Project) -> dict[int, str]:
    """What there is to add, by the line of a trainer's name: the scripts in which hydra makes the trainer."""
    return {
        trainer.line: MAKES_IT.format(" and ".join(places))
        for trainer in named_in(text, path)
        if (places := [line_of_file(module, call) for module, call in makers_of(project, trainer)])
    }
