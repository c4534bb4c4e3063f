"""The right answers: what a program of each grammar does, however it is spelled, and where it is left for a person."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.generated.libraries import Notes
from tests.generated.loops import LoopMeaning, LoopSpelling, loop_meaning, loop_spelling, render_loop
from tests.generated.program_text import render
from tests.generated.programs import RATES, Meaning, Spelling, meaning, spelling
from tests.generated.trials import Program

# Written for Ray 2.6 however they spell their imports, which would else decide on the size of a mapper's batches.
RAY_26 = Job(Options(from_ray="2.6"))
# What converts but for one argument, which is not written out.
NOT_WRITTEN_OUT = frozenset({"RM401", "RM402", "RM405"})
PRINTED = {
    "metrics": "{'loss': 0.5}",
    "folder": "/results/run",
    "model": "AutoModelForSequenceClassification.from_pretrained('/checkpoint/checkpoint')",
}
READ_ELSEWHERE = frozenset({"RM303", "RM304"})


def trainer_program(random: Random) -> Program:
    """A script with a TransformersTrainer."""
    means, spelled = meaning(random), spelling(random)
    left = NOT_WRITTEN_OUT if is_left(means, spelled) else frozenset[str]()
    arguments = ("--gpu",) if means.gpu else ()
    return Program(render(means, spelled), expected(means), RAY_26, left, arguments)


def loop_program(random: Random) -> Program:
    """A script with an AccelerateTrainer and a loop of its own."""
    means, spelled = loop_meaning(random), loop_spelling(random)
    left = READ_ELSEWHERE if is_loop_left(means, spelled) else frozenset[str]()
    return Program(render_loop(means, spelled), expected_of_loop(means), left=left)


def is_left(means: Meaning, spelled: Spelling) -> bool:
    """Whether something is left for a person, and reported."""
    hidden = spelled.run_config in ("unpacked", "pieces")
    folder = means.folder is not None and hidden
    tuned = means.tuned and hidden and bool(means.name or means.folder or means.kept or means.resumes)
    return folder or tuned


def is_loop_left(means: LoopMeaning, spelled: LoopSpelling) -> bool:
    """Whether something is left for a person: the checkpoint goes through a helper, or another file reads it."""
    through_helper = means.saves and spelled.report == "helper"
    return through_helper or (means.reads and spelled.loop == "elsewhere")


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
    trainer: dict[str, object] = {
        "scaling": f"ScalingConfig(num_workers={means.workers}, use_gpu={means.gpu})",
        "run": written("RunConfig", run_config),
        "datasets": datasets,
        "whole": ["evaluation"] if means.data == "ray" else [],
    }
    printed = [PRINTED[means.reads]]
    rates = RATES if means.tuned else (means.learning_rate,)
    starts = (None, "/checkpoint/checkpoint")
    trainings = [training(means, datasets, rate, start) for rate in rates for start in starts]
    if not means.tuned:
        return Notes([trainer], trainings, printed=printed)
    trials = [
        trainer | {"run": written("RunConfig", of_trial(run_config, f"{means.name or 'train'}-{number}"))}
        for number in range(len(RATES))
    ]
    of_tuner = {name: run_config[name] for name in ("name", "storage_path")}
    tuner: dict[str, object] = {
        "config": "TuneConfig(metric='loss', mode='min')",
        "run": written("TuneRunConfig", of_tuner),
    }
    return Notes(trials, trainings, printed=printed, tuners=[tuner])


def written(name: str, arguments: Mapping[str, str | None]) -> str:
    """A configuration as it is noted."""
    return f"{name}({', '.join(f'{key}={arguments[key]}' for key in sorted(arguments) if arguments[key])})"


def of_trial(run_config: Mapping[str, str | None], name: str) -> dict[str, str | None]:
    """The part of a RunConfig that the trainer of a trial has."""
    return {**run_config, "name": repr(name), "callbacks": "[TuneReportCallback()]"}


def training(means: Meaning, datasets: dict[str, str], rate: float, resumed: str | None) -> dict[str, object]:
    """What a worker trains with."""
    rows, evaluated = "stanfordnlp/imdb[train]", "stanfordnlp/imdb[test]"
    if datasets:
        rows, evaluated = f"shard of {datasets['train']}", repr([{"text": datasets.get("evaluation")}])
    arguments: dict[str, object] = {
        "output_dir": "out",
        "learning_rate": rate,
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


def expected_of_loop(means: LoopMeaning) -> Notes:
    """What a program does, however it is spelled."""
    accelerator: dict[str, object] = {"on the CPU": not means.gpu, "precision": means.precision or "no"}
    if means.accumulated:
        accelerator["gradient_accumulation_steps"] = means.accumulated
    trainer: dict[str, object] = {
        "scaling": f"ScalingConfig(num_workers={means.workers}, use_gpu={means.gpu})",
        "run": "RunConfig()",
        "datasets": {},
        "whole": [],
    }
    rates = RATES if means.tuned else (means.learning_rate,)
    epochs = [epoch for start in (0, int(means.resumes)) for epoch in range(start, means.epochs)]
    reports = [report(means, rate, epoch) for rate in rates for epoch in epochs]
    last = reports[-1][0] if means.epochs else {}
    printed = f"{last['epoch']} {[last['loss']]}" if means.reads else "{'loss': 0.5}"
    if not means.tuned:
        return Notes([trainer], [], [accelerator] * 2, reports, [printed])
    trials = [trainer | {"run": written("RunConfig", of_trial({}, f"train-{number}"))} for number in range(len(RATES))]
    tuner: dict[str, object] = {"config": "TuneConfig(metric='loss', mode='min')", "run": "TuneRunConfig()"}
    return Notes(trials, [], [accelerator] * 4, reports, [printed], [tuner])


def report(means: LoopMeaning, rate: float, epoch: int) -> tuple[dict[str, object], object]:
    """What a worker reports after an epoch; the second time it goes on from the first checkpoint."""
    loss = rate * epoch
    content = {"epoch": epoch, "weights": [loss]}
    return {"loss": loss, "epoch": epoch}, {"checkpoint.pt": content} if means.saves else None
