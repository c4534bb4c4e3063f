"""The files that the benchmarks work on: a large tree, legacy scripts, one long file. Kept between runs."""

import ast
import itertools
import os
import shutil
import sys
import sysconfig
import textwrap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from measure import REPOSITORY

sys.path.insert(0, str(REPOSITORY))

from raymigrate.files.discovery import SKIPPED
from raymigrate.files.needles import NEEDLES
from raymigrate.run.engine import convert

# No directory that raymigrate would skip: all tools must read the same files.
LEFT_OUT = SKIPPED | {"ray", "raymigrate"}
FIXTURES = REPOSITORY / "fixtures"
LONG_FILE_LINES = 20_000
LONG_FILE_HEADER = """\
import os

import numpy as np
import ray
import ray.train
import torch
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments
"""
LEGACY_JOBS = ("transformers_trainer/gpt2_wikitext_ray_data", "accelerate_trainer/bert_mrpc", "tuner/tune_function")


def clean_tree(cache: Path, files: int) -> Path:
    """A tree of so many Python files, none with a word that raymigrate looks for; made once.

    They are this interpreter's packages and standard library, over and over again.
    """
    folder = cache / f"clean-{files}"
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        for source, target in itertools.islice(_library_files(), files):
            destination = unfinished / target
            destination.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, destination)
        unfinished.rename(folder)
    return folder


def _library_files() -> Iterator[tuple[Path, Path]]:
    sources = {name: Path(sysconfig.get_path(name)) for name in ("purelib", "stdlib")}
    for round_number in itertools.count():
        for label, source in sources.items():
            for directory, subdirectories, names in os.walk(source):
                subdirectories[:] = sorted(name for name in set(subdirectories) - LEFT_OUT if not name.startswith("."))
                for name in sorted(names):
                    path = Path(directory, name)
                    if name.endswith(".py") and not _holds_needle(path):
                        yield path, Path(str(round_number), label, path.relative_to(source))


def _holds_needle(path: Path) -> bool:
    data = path.read_bytes()
    return any(needle in data for needle in NEEDLES)


def legacy_scripts(folder: Path, files: int) -> Path:
    """A fresh folder of so many legacy scripts: the fixtures in turn, each in a folder of its own, and so alone."""
    shutil.rmtree(folder, ignore_errors=True)
    scripts = sorted(FIXTURES.rglob("before.py"))
    for number, script in zip(range(files), itertools.cycle(scripts), strict=False):
        place = folder / f"job_{number:04}" / f"train_{number:04}.py"
        place.parent.mkdir(parents=True)
        shutil.copyfile(script, place)
    return folder


def clean_files(cache: Path, files: int) -> list[Path]:
    """So many ordinary modules without Ray."""
    sources = (path for path in sorted((REPOSITORY / "raymigrate").rglob("*.py")) if not _holds_needle(path))
    return _copied(itertools.islice(sources, files), cache / "clean")


def modern_files(cache: Path, files: int) -> list[Path]:
    """So many scripts for current Ray, in which nothing is legacy: they pass the search for words."""
    script = FIXTURES / "false_friends" / "modern_transformers_script.py"
    return _copied(itertools.repeat(script, files), cache / "modern")


def _copied(sources: Iterable[Path], folder: Path) -> list[Path]:
    folder.mkdir(exist_ok=True)
    return [Path(shutil.copyfile(source, folder / f"module_{number:02}.py")) for number, source in enumerate(sources)]


def megabytes(folder: Path) -> int:
    """The size of the files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*.py")) // 1_000_000


def long_file(place: Path, *, legacy: bool) -> Path:
    """A file of 20,000 lines: functions of the fixtures under new names, and legacy jobs at three places, or none."""
    sections = [LONG_FILE_HEADER]
    lines = 0
    jobs = [FIXTURES / job / "before.py" for job in LEGACY_JOBS] if legacy else []
    for number, (name, source) in enumerate(itertools.cycle(_modern_functions())):
        if lines > LONG_FILE_LINES:
            break
        if jobs and lines > LONG_FILE_LINES * (len(LEGACY_JOBS) - len(jobs)) / len(LEGACY_JOBS):
            job = jobs.pop(0)
            sections.append(f"def {job.parent.name}():\n{textwrap.indent(job.read_text(), '    ')}")
        sections.append(source.replace(f"def {name}(", f"def {name}_{number}(", 1))
        lines += sections[-1].count("\n") + 3
    place.write_text("\n\n\n".join(section.strip() for section in sections) + "\n")
    return place


@cache
def _modern_functions() -> list[tuple[str, str]]:
    """Functions of converted fixtures of which raymigrate has nothing to say, with their names."""
    found = []
    for path in sorted(FIXTURES.rglob("after.py")):
        text = path.read_text()
        try:
            body = ast.parse(text).body
        except SyntaxError:  # an exported notebook, with magics
            continue
        for node in body:
            source = ast.get_source_segment(text, node) or ""
            if isinstance(node, ast.FunctionDef) and not convert(f"{LONG_FILE_HEADER}\n\n{source}\n").findings:
                found.append((node.name, source))
    return found
