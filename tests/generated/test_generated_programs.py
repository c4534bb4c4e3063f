"""Generated programs do after conversion what they mean, in every spelling; what is not converted is reported.

`python -m tests.generated.test_generated_programs 100000` tries as many as are asked for.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random

import pytest

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.generated.libraries import Notes
from tests.generated.programs import Meaning, Spelling, meaning, render, spelling
from tests.generated.trials import PARTS, judged, problems_of, try_out

PROGRAMS = 2000
# Written for Ray 2.6 however they spell their imports, which would else decide on the size of a mapper's batches.
JOB = Job(Options(from_ray="2.6"))
# What converts but for one argument, and what does not convert: its arguments are not written out.
LEFT = frozenset({"RM102", "RM401", "RM402"})


def is_left(means: Meaning, spelled: Spelling) -> bool:
    """Whether something is left for a person, and reported."""
    hidden_folder = means.folder is not None and spelled.run_config in ("unpacked", "pieces")
    return spelled.given == "unpacked" or hidden_folder


def expected(means: Meaning) -> Notes:
    """What a program does, however it is spelled."""
    run_config = {
        "checkpoint_config": f"CheckpointConfig(num_to_keep={means.kept})" if means.kept else None,
        "failure_config": f"FailureConfig(max_failures={means.resumes})" if means.resumes else None,
        "name": repr(means.name) if means.name else None,
        "storage_path": repr(means.folder) if means.folder else None,
    }
    mapped = ".map_batches(tokenize, batch_format='pandas', batch_size=1024)" if means.mapped else ""
    splits = {"ray": {"train": "train", "evaluation": "test"}, "train": {"train": "train"}, "own": {}}[means.data]
    datasets = {key: f"stanfordnlp/imdb[{split}]{mapped}" for key, split in splits.items()}
    trainer = {
        "scaling": f"ScalingConfig(num_workers={means.workers}, use_gpu={means.gpu})",
        "run": f"RunConfig({', '.join(f'{name}={value}' for name, value in run_config.items() if value)})",
        "datasets": datasets,
        "data": "DataConfig(datasets_to_split=['train'])" if len(datasets) == 2 else "",
    }
    trainings = [training(means, datasets, resumed) for resumed in (None, "/checkpoint/checkpoint")]
    return Notes([trainer], trainings, printed=["{'loss': 0.5}"])


def training(means: Meaning, datasets: dict[str, str], resumed: str | None) -> dict[str, object]:
    """What a worker trains with."""
    rows, evaluated = "stanfordnlp/imdb[train]", "stanfordnlp/imdb[test]"
    if datasets:
        rows, evaluated = f"shard of {datasets['train']}", repr([{"text": datasets.get("evaluation")}])
    arguments: dict[str, object] = {
        "output_dir": "out",
        "learning_rate": means.learning_rate,
        "num_train_epochs": means.epochs,
        "eval_strategy": "no" if means.data == "train" else "epoch",
        "average_tokens_across_devices": False,
    }
    if means.save:
        arguments["save_strategy"] = means.save
    return {
        "arguments": arguments,
        "on the CPU": not means.gpu,
        "model": "AutoModelForSequenceClassification.from_pretrained('bert-base-cased')",
        "collator": "DataCollatorWithPadding('tokenizer')" if means.collator else "None",
        "rows": rows,
        "evaluated rows": "None" if means.data == "train" else evaluated,
        "own loader": bool(datasets),
        "callbacks": ["on_epoch_end on_save on_train_end"],
        "prepared": True,
        "resumed from": resumed,
    }


def problem(seed: int, folder: Path) -> str:
    """What is wrong with the conversion of a program; empty if nothing is."""
    random = Random(seed)
    means, spelled = meaning(random), spelling(random)
    arguments = ("--gpu",) if means.gpu else ()
    left = LEFT if is_left(means, spelled) else frozenset[str]()
    return judged(render(means, spelled), folder, JOB, expected(means), left, arguments)


@pytest.mark.parametrize("part", range(PARTS))
def test_a_generated_program_does_what_it_means(part: int, tmp_path: Path) -> None:
    assert not problems_of(problem, range(part, PROGRAMS, PARTS), tmp_path)


if __name__ == "__main__":
    try_out(problem, int(sys.argv[1]))
