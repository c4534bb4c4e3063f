"""Small projects of a few files: what stands in them, and how they are written and converted."""

from pathlib import Path
from textwrap import dedent

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.files.discovery import SUFFIXES, discover
from raymigrate.files.needles import needles
from raymigrate.run.job import Job
from raymigrate.run.outcome import Summary
from raymigrate.run.session import run

DRIVER = """
from ray.train.huggingface import TransformersTrainer
{imports}
trainer = TransformersTrainer(trainer_init_per_worker={init}, trainer_init_config={{"lr": 1e-3}})
"""
INIT = """
from transformers import Trainer, TrainingArguments


def init(train_dataset, eval_dataset=None, **config):
    args = TrainingArguments("out", no_cuda=True, report_to="wandb")
    return Trainer(model=make_model(), args=args, train_dataset=make_data())
"""
MAPPED = """
from ray.train.huggingface import AccelerateTrainer
{imports}
trainer = AccelerateTrainer(print, accelerate_config={{}}, datasets={{"train": make()}}, preprocessor={preprocessor})
"""
MAPPER = """
from ray.data.preprocessors import BatchMapper


def double(batch):
    return {name: 2 * column for name, column in batch.items()}


mapper = BatchMapper(double, batch_format="numpy")


def get_mapper():
    return BatchMapper(double, batch_format="numpy")
"""


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text).lstrip("\n"))


def convert(*paths: Path, job: Job | None = None, exclude: tuple[str, ...] = ()) -> Summary:
    job = job or Job(Options())
    words = needles(to_ray=job.options.to_ray, to_accelerate=job.options.to_accelerate)
    found = discover([str(path) for path in paths], needles=words, exclude=exclude, suffixes=SUFFIXES)
    return run(found, job, jobs=1)


def codes(summary: Summary, kind: Kind, name: str) -> set[str]:
    return {f.code for f in summary.findings if f.kind is kind and Path(f.path).name == name}
