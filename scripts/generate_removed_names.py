"""Writes `raymigrate/data/removed_names.json`: what legacy scripts could import and the target versions no longer have.

The old libraries cannot be installed beside the new ones, so their wheels are downloaded and only read, nothing of them
is run. What is left of it today is asked of the installed libraries themselves, in a child process for each.

    python scripts/generate_removed_names.py [--cache FOLDER]
"""

import argparse
import importlib
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from library_sources import Library

OUTPUT = Path(__file__).parent.parent / "raymigrate" / "data" / "removed_names.json"

# Legacy scripts name Ray 2.0 to 2.9, and `ray.ml`, the preview of 1.13. The Hugging Face versions go on to the last
# before today's major version, because a script that was half brought up to date names those.
OLD_VERSIONS = {
    "ray": ["1.13.0", "2.0.1", "2.4.0", "2.6.3", "2.7.2", "2.9.3"],
    "transformers": ["4.19.4", "4.26.1", "4.30.2", "4.36.2", "4.46.3", "4.57.1"],
    "accelerate": ["0.12.0", "0.17.1", "0.20.3", "0.25.0", "0.34.2"],
    "datasets": ["1.18.4", "2.11.0", "2.15.0", "2.21.0", "3.6.0"],
    "evaluate": ["0.4.0"],
}
DOWNLOAD = ["--no-deps", "--only-binary=:all:", "--python-version=3.10", "--platform=manylinux2014_x86_64"]

# Modules whose names are compared; every public module of the library is compared as a module.
COVERED = re.compile(
    r"""ray\.(air|ml)(\..+)? | ray\.train(\..+)? | ray\.tune(\..+)? | ray\.util\.ml_utils(\..+)?
    | ray\.data(\.(preprocessors?|dataset|datasource|iterator|read_api|aggregate|block|context|row|group).*)?
    | transformers(\.(trainer|training_args|optimization|deepspeed|integrations|data|utils|file_utils|hf_argparser
        |modeling_utils|tokenization_utils|debug_utils|generation|onnx).*)?
    | (datasets|accelerate|evaluate)(\.(load|metric|utils|state|tasks|accelerator|module|inspect|info|features))?""",
    re.VERBOSE,
)

# Callables whose parameters are compared: today's name, and the module and name in the old wheels.
CALLABLES = {
    "accelerate.Accelerator": "accelerate.accelerator.Accelerator",
    "accelerate.notebook_launcher": "accelerate.launchers.notebook_launcher",
    "accelerate.utils.MegatronLMPlugin": "accelerate.utils.dataclasses.MegatronLMPlugin",
    "datasets.DownloadConfig": "datasets.download.download_config.DownloadConfig",
    "datasets.load_dataset": "datasets.load.load_dataset",
    "datasets.load_dataset_builder": "datasets.load.load_dataset_builder",
    "datasets.load_from_disk": "datasets.load.load_from_disk",
    "ray.train.CheckpointConfig": "ray.air.config.CheckpointConfig",
    "ray.train.FailureConfig": "ray.air.config.FailureConfig",
    "ray.train.RunConfig": "ray.air.config.RunConfig",
    "ray.train.ScalingConfig": "ray.air.config.ScalingConfig",
    "ray.train.torch.TorchTrainer": "ray.train.torch.torch_trainer.TorchTrainer",
    "transformers.Seq2SeqTrainer": "transformers.trainer_seq2seq.Seq2SeqTrainer",
    "transformers.Seq2SeqTrainingArguments": "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
    "transformers.Trainer": "transformers.trainer.Trainer",
    "transformers.TrainingArguments": "transformers.training_args.TrainingArguments",
}


def ask_installed(questions: dict[str, Any]) -> dict[str, Any]:
    """Runs in a child process: what of the modules, names and arguments asked for the installed libraries have."""
    answers: dict[str, Any] = {"modules": {}, "names": {}, "arguments": {}}
    for module in questions["modules"]:
        answers["modules"][module] = state_of_module(module)
    for module, names in questions["names"].items():
        if answers["modules"].get(module) == "here":
            answers["names"][module] = [name for name in names if has(sys.modules[module], name)]
    for qualified, names in questions["arguments"].items():
        answers["arguments"][qualified] = accepted(qualified, names)
    return answers


def state_of_module(module: str) -> str:
    """ "here", "gone", or "unknown" when it does not import for the lack of another library."""
    try:
        importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            return "unknown"
        parent, _, name = module.rpartition(".")
        return (
            "here as a name"
            if parent and state_of_module(parent) == "here" and has(sys.modules[parent], name)
            else "gone"
        )
    except DeprecationWarning:  # raised, not warned: Ray says so that the module is gone
        return "gone"
    except Exception:
        return "unknown"
    return "here"


def has(owner: object, name: str) -> bool:
    """Whether a name is there: another error than AttributeError says that it is, but lacks another library."""
    try:
        return hasattr(owner, name)
    except Exception:
        return True


def accepted(qualified: str, names: list[str]) -> list[str]:
    """The arguments that the installed callable takes and does not refuse whatever their value."""
    module, _, name = qualified.rpartition(".")
    function = getattr(importlib.import_module(module), name)
    return [n for n in names if n in inspect.signature(function).parameters and not refused(qualified, function, n)]


def refused(qualified: str, function: Callable[..., object], argument: str) -> bool:
    """Whether Ray Train V2 raises for an argument: it keeps old ones in its signatures to say that they are gone."""
    if not qualified.startswith("ray.train."):
        return False
    required = [lambda: None] if qualified.endswith("Trainer") else []
    for value in (0, False, "text", {"CPU": 1}):
        try:
            function(*required, **{argument: value})
        except DeprecationWarning:  # raised, not warned
            return True
        except Exception:
            continue
    return False


def installed(library: str, questions: dict[str, Any]) -> dict[str, Any]:
    """The answers of a child process to `ask_installed`; one per library, so that none changes what another offers."""
    command = [sys.executable, __file__, "--answer"]
    done = subprocess.run(command, input=json.dumps(questions), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{library}: {done.stderr}")
    answers: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answers


def download(cache_folder: Path, library: str, old: str) -> Library:
    """The sources of an old version, fetched once."""
    wheels = f"{library}-{old}-*.whl"
    if not list(cache_folder.glob(wheels)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", *DOWNLOAD, f"--dest={cache_folder}"]
        subprocess.run([*command, f"{library}=={old}"], check=True)
    return Library(next(cache_folder.glob(wheels)))


def compare(library: str, old_versions: list[Library]) -> dict[str, Any]:
    """What of a library's old versions is gone."""
    modules = sorted(set().union(*(old.public_modules() for old in old_versions)))
    names: dict[str, set[str]] = {module: set() for module in modules if COVERED.fullmatch(module)}
    for old in old_versions:
        for module in names.keys() & old.sources.keys():
            names[module] |= old.names(module)
    arguments = {
        qualified: sorted(set().union(*(old.parameters(place) for old in old_versions)))
        for qualified, place in CALLABLES.items()
        if qualified.partition(".")[0] == library
    }
    asked = {module: sorted(found) for module, found in names.items()}
    answers = installed(library, {"modules": modules, "names": asked, "arguments": arguments})

    location = find_spec(library)
    assert location is not None and location.origin is not None
    today = Library(Path(location.origin).parent)
    # A module that lacks another library here cannot be asked: its source tells. So do names bound under a condition.
    silent = {module for module, state in answers["modules"].items() if state == "unknown" and module in today.sources}
    removed = {
        module: found - set(answers["names"].get(module, ())) - today.may_offer(module)
        for module, found in names.items()
        if module in answers["names"] or module in silent
    }
    gone = {module for module, state in answers["modules"].items() if state == "gone"}
    return {
        "removed": {module: sorted(found) for module, found in removed.items() if found},
        "removed_arguments": {q: sorted(set(old) - set(answers["arguments"][q])) for q, old in arguments.items()},
        "removed_modules": sorted(module for module in gone if module.rpartition(".")[0] not in gone),
    }


def main() -> None:
    """Writes the table anew."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "raymigrate" / "wheels")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.answer:
        print(json.dumps(ask_installed(json.load(sys.stdin))))
        return
    table: dict[str, Any] = {"versions": {}, "removed": {}, "removed_arguments": {}, "removed_modules": []}
    for library, old_versions in OLD_VERSIONS.items():
        found = compare(library, [download(arguments.cache, library, old) for old in old_versions])
        table["versions"][library] = version(library)
        table["removed"] |= found["removed"]
        table["removed_arguments"] |= found["removed_arguments"]
        table["removed_modules"] += found["removed_modules"]
        print(
            f"{library}: {sum(map(len, found['removed'].values()))} names, {len(found['removed_modules'])} modules gone"
        )
    OUTPUT.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
