"""Generated programs do after conversion what they mean, in every spelling; what is not converted is told.

`python -m tests.generated.test_generated_programs 100000` tries as many as are asked for.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random

import pytest

from raymigrate.config import Options
from raymigrate.findings import Kind
from raymigrate.session import Job
from tests.generated.libraries import Notes, run
from tests.generated.programs import Meaning, Spelling, meaning, render, spelling
from tests.projects.files import convert

PROGRAMS = 2000
PARTS = 40
# Written for Ray 2.6 however they spell their imports, which would else decide on the size of a mapper's batches.
JOB = Job(Options(from_ray="2.6"))
# What converts but for one argument, and what does not convert: its arguments are not written out.
LEFT = {"RM102", "RM401", "RM402"}


def is_left(means: Meaning, spelled: Spelling) -> bool:
    """Whether something is left for a person, who is told so."""
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
    for name, text in render(means, spelled).items():
        (folder / name).write_text(text, encoding="utf-8")
    found = convert(folder, job=JOB).findings
    told = {finding.code for finding in found if finding.kind in (Kind.MANUAL, Kind.ERROR)}
    if is_left(means, spelled):
        return "" if told & LEFT else "something is left, and nobody is told"
    try:
        notes = run(folder, arguments=("--gpu",) if means.gpu else ())
    except Exception as error:
        return f"it fails: {error!r}; told: {sorted(told)}"
    wanted = expected(means)
    if notes != wanted:
        return f"it does\n  {notes}\nand not\n  {wanted}\ntold: {sorted(told)}"
    if convert(folder, job=JOB).changed:
        return "a second conversion changes it again"
    return ""


def problems_of(problem: Callable[[int, Path], str], seeds: Iterable[int], folder: Path) -> str:
    """What is wrong with some programs, and how they look after conversion; empty if nothing is."""
    texts = []
    for seed in seeds:
        place = folder / str(seed)
        place.mkdir()
        if found := problem(seed, place):
            after = "\n".join(path.read_text(encoding="utf-8") for path in sorted(place.glob("*.py")))
            texts.append(f"program {seed}: {found}\n{after}")
    return "\n\n".join(texts)


def try_out(problem: Callable[[int, Path], str], count: int) -> None:
    """Tries so many programs, and prints those that are converted wrongly."""
    wrong = 0
    for seed in range(count):
        with tempfile.TemporaryDirectory() as name:
            if found := problem(seed, Path(name)):
                wrong += 1
                print(f"program {seed}: {found}")
    print(f"{count} programs, {wrong} converted wrongly")


@pytest.mark.parametrize("part", range(PARTS))
def test_a_generated_program_does_what_it_means(part: int, tmp_path: Path) -> None:
    assert not problems_of(problem, range(part, PROGRAMS, PARTS), tmp_path)


if __name__ == "__main__":
    try_out(problem, int(sys.argv[1]))
