"""Stand-ins for ray, transformers and torch that note what a converted program does, in a few milliseconds.

They have the names and arguments of the current libraries that a conversion may use, and no others: what is gone
raises, as it does there.
"""

from __future__ import annotations

import copy
import inspect
import json
import os
import runpy
import shutil
import sys
import tempfile
import types
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from tests.generated.configurations import (
    CheckpointConfig,
    DataConfig,
    ExecutionOptions,
    FailureConfig,
    RunConfig,
    ScalingConfig,
    TuneConfig,
    TuneRunConfig,
)
from tests.generated.things import (
    Checkpoint,
    RayTrainReportCallback,
    Rows,
    Thing,
    TrainerCallback,
    TrainingArguments,
    described,
    from_huggingface,
    gone,
    hooks,
    load,
    load_dataset,
    prepare_trainer,
    remote,
    save,
)

OF_TRAIN = (CheckpointConfig, DataConfig, FailureConfig, RunConfig, ScalingConfig)


@dataclass
class Notes:
    """What a program did.

    Args:
        trainers: Of each TorchTrainer that was fitted, what it was given.
        trainings: Of each training on a worker, what it was done with.
        accelerators: Of each Accelerator, its settings.
        reports: Of each report, the metrics and what the files of its checkpoint hold.
        printed: What was printed.
        tuners: Of each Tuner that was fitted, its configurations.
    """

    trainers: list[dict[str, object]] = field(default_factory=list)
    trainings: list[dict[str, object]] = field(default_factory=list)
    accelerators: list[dict[str, object]] = field(default_factory=list)
    reports: list[tuple[dict[str, object], object]] = field(default_factory=list)
    printed: list[str] = field(default_factory=list)
    tuners: list[dict[str, object]] = field(default_factory=list)


class World:
    """The libraries as modules, and the notes that they take.

    Args:
        storage: An empty folder for what is reported.
    """

    def __init__(self, storage: Path) -> None:
        self.notes = Notes()
        self.storage = storage
        self.kept: list[Checkpoint] = []
        self.first = Checkpoint(str(storage / "checkpoint"))  # of the Trainer of transformers, whose files lie below
        (storage / "checkpoint" / "checkpoint").mkdir(parents=True)
        self.datasets: dict[str, Rows] = {}
        self.scaling = ScalingConfig()
        self.trial = ""
        self.checkpoint: Checkpoint | None = None

    def modules(self) -> dict[str, types.ModuleType]:
        """What stands in sys.modules in place of the libraries."""
        train = {
            **{each.__name__: each for each in OF_TRAIN},
            "Checkpoint": Checkpoint,
            "get_checkpoint": lambda: self.checkpoint,
            "get_context": lambda: types.SimpleNamespace(get_world_size=lambda: 1, get_world_rank=lambda: 0),
            "get_dataset_shard": lambda name: self.datasets[name],
            "report": self.report,
        }
        integration = {"RayTrainReportCallback": RayTrainReportCallback, "prepare_trainer": prepare_trainer}
        names = "AutoModelForSequenceClassification DataCollatorWithPadding AutoTokenizer"
        transformers = {
            **{name: Thing(name) for name in names.split()},
            **{each.__name__: each for each in (TrainingArguments, TrainerCallback)},
            "Trainer": self.trainer_class(),
        }
        contents: dict[str, dict[str, Any]] = {
            "ray": {
                "init": lambda **keywords: None,
                "is_initialized": lambda: True,
                "cluster_resources": dict,
                "remote": remote,
                "get": lambda value: value,
            },
            "omegaconf": {"OmegaConf": types.SimpleNamespace(create=lambda entries: types.SimpleNamespace(**entries))},
            "ray.data": {"from_huggingface": from_huggingface, "ExecutionOptions": ExecutionOptions},
            "ray.data.preprocessors": {"Chain": Thing("Chain")},
            "ray.air": {},
            "ray.air.session": dict.fromkeys(("get_checkpoint", "get_world_rank", "report"), gone),
            "ray.train": train,
            "ray.train.torch": {"TorchTrainer": self.torch_trainer_class(), "get_device": self.device},
            "ray.train.huggingface": {},
            "ray.train.huggingface.transformers": integration,
            "torch": {"save": save, "load": load},
            "accelerate": {"Accelerator": self.accelerator},
            "torch.distributed": {"barrier": lambda: None},
            "torch.utils": {},
            "torch.utils.data": {"DataLoader": Thing("DataLoader"), "IterableDataset": type("IterableDataset", (), {})},
            **self.tune_modules(),
            "transformers": transformers,
            "transformers.trainer_pt_utils": {"IterableDatasetShard": Thing("IterableDatasetShard")},
            "datasets": {"load_dataset": load_dataset},
        }
        return linked(contents)

    def tune_modules(self) -> dict[str, dict[str, Any]]:
        """What stands in place of Ray Tune."""
        tuner = self.tuner_class()
        tune = {
            "Tuner": tuner,
            "TuneConfig": TuneConfig,
            "RunConfig": TuneRunConfig,
            "grid_search": lambda values: {"grid_search": values},
            "get_context": lambda: types.SimpleNamespace(get_trial_id=lambda: self.trial),
        }
        return {
            "ray.tune": tune,
            "ray.tune.tuner": {"Tuner": tuner},
            "ray.tune.integration": {},
            "ray.tune.schedulers": {"ASHAScheduler": Thing("ASHAScheduler")},
            "ray.tune.search": {},
            "ray.tune.search.optuna": {"OptunaSearch": Thing("OptunaSearch")},
            "ray.tune.integration.ray_train": {"TuneReportCallback": lambda: Thing("TuneReportCallback()")},
        }

    def report(self, metrics: dict[str, object], checkpoint: Checkpoint | None = None) -> None:
        content = None
        if checkpoint is not None:  # it is gone when report() returns
            kept = Checkpoint(str(self.storage / str(len(self.kept))))
            shutil.copytree(checkpoint.path, kept.path)
            self.kept.append(kept)
            content = {path.name: load(path) for path in Path(kept.path).iterdir()}
        self.notes.reports.append((metrics, content))

    def accelerator(self, **keywords: object) -> Thing:
        on_cpu = keywords.pop("cpu", None) or os.environ.get("ACCELERATE_USE_CPU") == "true"
        precision = keywords.pop("mixed_precision", None) or os.environ.get("ACCELERATE_MIXED_PRECISION") or "no"
        self.notes.accelerators.append({**keywords, "on the CPU": bool(on_cpu), "precision": precision})
        return Thing("accelerator")

    def note_print(self, *values: object) -> None:
        self.notes.printed.append(" ".join(map(str, values)).replace(str(self.storage), ""))

    def device(self) -> Any:
        return types.SimpleNamespace(type="cuda" if self.scaling.use_gpu else "cpu")

    def trainer_class(self) -> type:
        world = self

        class Trainer:
            def __init__(
                self,
                model: object = None,
                args: TrainingArguments | None = None,
                data_collator: object = None,
                train_dataset: object = None,
                eval_dataset: object = None,
            ) -> None:
                self.model, self.args, self.data_collator = model, args, data_collator
                self.train_dataset, self.eval_dataset = train_dataset, eval_dataset
                self.callbacks: list[TrainerCallback] = []

            def add_callback(self, callback: TrainerCallback) -> None:
                self.callbacks.append(callback)

            def train(self, resume_from_checkpoint: str | None = None) -> None:
                arguments = dict(vars(self.args))
                on_cpu = arguments.pop("use_cpu") or os.environ.get("ACCELERATE_USE_CPU") == "true"
                world.notes.trainings.append(
                    {
                        "arguments": arguments,
                        "on the CPU": bool(on_cpu),
                        "model": repr(self.model),
                        "collator": repr(self.data_collator),
                        "rows": described(self.train_dataset),
                        "evaluated rows": described(self.eval_dataset),
                        "own loader": "get_train_dataloader" in vars(self),
                        "callbacks": sorted(hooks(callback) for callback in self.callbacks),
                        "prepared": getattr(self, "prepared", False),
                        "resumed from": resume_from_checkpoint
                        and resume_from_checkpoint.removeprefix(str(world.storage)),
                    }
                )

        return Trainer

    def tuner_class(self) -> type:
        world = self

        class Tuner:
            def __init__(
                self,
                trainable: Any,
                *,
                param_space: dict[str, dict[str, dict[str, list[object]]]] | None = None,
                tune_config: TuneConfig | None = None,
                run_config: TuneRunConfig | None = None,
            ) -> None:
                self.trainable, self.space = trainable, param_space or {}
                config = tune_config or TuneConfig()
                config.given.pop("max_concurrent_trials", None)  # as many as there is room for
                self.given: dict[str, object] = {"config": repr(config), "run": repr(run_config or TuneRunConfig())}

            def fit(self) -> object:
                world.notes.tuners.append(self.given)
                [[group, space]] = self.space.items()
                [[name, search]] = space.items()
                for number, value in enumerate(search["grid_search"]):
                    world.trial = str(number)
                    self.trainable({group: {name: value}})
                return types.SimpleNamespace(get_best_result=lambda: types.SimpleNamespace(metrics={"loss": 0.5}))

        return Tuner

    def torch_trainer_class(self) -> type:
        world = self

        class TorchTrainer:
            def __init__(
                self,
                train_loop_per_worker: Any,
                *,
                train_loop_config: dict[str, object] | None = None,
                scaling_config: ScalingConfig | None = None,
                run_config: RunConfig | None = None,
                datasets: dict[str, Rows] | None = None,
                dataset_config: DataConfig | None = None,
            ) -> None:
                self.loop, self.config = train_loop_per_worker, train_loop_config
                self.scaling = scaling_config or ScalingConfig()
                self.datasets = datasets or {}
                run_config = run_config or RunConfig()
                environment: Any = run_config.given.pop("worker_runtime_env", {})
                self.variables = environment.get("env_vars", {})
                self.given: dict[str, object] = {
                    "scaling": repr(self.scaling),
                    "run": repr(run_config),
                    "datasets": {name: repr(rows) for name, rows in self.datasets.items()},
                    "whole": sorted(self.datasets.keys() - (dataset_config or DataConfig(list(self.datasets))).split),
                }

            def fit(self) -> object:
                world.notes.trainers.append(self.given)
                before = len(world.kept)
                for goes_on in (False, True):  # a worker that begins, and one that goes on
                    world.datasets, world.scaling = self.datasets, self.scaling
                    world.checkpoint = [*world.kept[before:], world.first][0] if goes_on else None
                    with patch.dict(os.environ, self.variables):
                        if inspect.signature(self.loop).parameters:
                            self.loop(copy.deepcopy(self.config or {}))
                        else:
                            self.loop()
                checkpoint = [world.first, *world.kept][-1]
                return types.SimpleNamespace(metrics={"loss": 0.5}, checkpoint=checkpoint, path="/results/run")

        return TorchTrainer


def linked(contents: dict[str, dict[str, Any]]) -> dict[str, types.ModuleType]:
    """Modules with these names, each an attribute of the one above it."""
    modules = {}
    for name, values in contents.items():
        modules[name] = module = types.ModuleType(name)
        module.__path__ = []
        vars(module).update(values)
        above, _, last = name.rpartition(".")
        if above:
            setattr(modules[above], last, module)
    return modules


def run(folder: Path, script: str = "train.py", arguments: tuple[str, ...] = ()) -> Notes:
    """Runs a program with these libraries in place of the real ones, in this process.

    Args:
        folder: Of the program.
        script: The file to start.
        arguments: Of its command line.

    Returns:
        What it did.
    """
    with tempfile.TemporaryDirectory() as storage:
        world = World(Path(storage))
        _run(world, folder, script, arguments)
    return world.notes


def _run(world: World, folder: Path, script: str, arguments: tuple[str, ...]) -> None:
    modules = world.modules()
    path = folder / script
    if not path.exists():  # a notebook: its cells, one after the other
        cells = json.loads(path.with_suffix(".ipynb").read_text(encoding="utf-8"))["cells"]
        path = world.storage / script
        path.write_text("\n\n".join("".join(cell["source"]) for cell in cells), encoding="utf-8")
    roots = {name.partition(".")[0] for name in modules}
    hidden = {name for name in sys.modules if name.partition(".")[0] in roots}
    with patch.dict(sys.modules), patch.object(sys, "path", [str(folder), *sys.path]):
        for name in hidden | {path.stem for path in folder.glob("*.py")}:
            sys.modules.pop(name, None)
        sys.modules.update(modules)
        with patch.object(sys, "argv", [script, *arguments]), patch("builtins.print", world.note_print):
            runpy.run_path(str(path), run_name="__main__")
