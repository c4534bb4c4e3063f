"""RM609 and RM304 of what is looked for on disk: the folders of trials, and the file that held a dict."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import converted

HEAD = "import glob\nimport os\nimport pickle\nimport re\nfrom pathlib import Path\n\nimport ray\n\n"


@pytest.mark.parametrize(
    "line",
    [
        'glob.glob(os.path.join(root, "TorchTrainer_*", "checkpoint_*"))',
        'glob.glob(root + "/HuggingFaceTrainer_*/checkpoint_*")',
        'glob.glob(f"{root}/AccelerateTrainer_*/*.json")',
        'Path(root).glob("TransformersTrainer_?????_*")',
        '[name for name in os.listdir(root) if name.startswith("TorchTrainer")]',
        '[name for name in os.listdir(root) if name.startswith("TorchTrainer_")]',
        're.match(r"^TorchTrainer_\\w+", name)',
        'fnmatch.fnmatch(name, "TorchTrainer_[0-9a-f]*")',
        'FOLDERS = "TorchTrainer_*/checkpoint_*.tar"; glob.glob(FOLDERS)',
    ],
)
def test_the_folder_of_a_trial_is_told(line: str) -> None:
    assert converted(f"{HEAD}{line}\n").lines("RM609", Kind.MANUAL) == [9]


@pytest.mark.parametrize(
    "line",
    [
        'os.listdir("runs/TorchTrainer_f638a_00000_0_2023-05-01_10-00-00")',
        'glob.glob("TorchTrainer")',
        'print("TorchTrainer_")',
        'glob.glob("MyTorchTrainer_*")',
        '"""Ray 2.6 had TorchTrainer_* below it."""',
        'name.startswith("Torch")',
        'type(trainer).__name__.startswith("TorchTrainer_")',
        '[test for test in tests if test.name.startswith("TorchTrainer")]',
        'glob.glob("docs/TorchTrainer_*.md")',
        'print("TorchTrainer_run did not end. Is it alive?")',
        'logging_format = "TorchTrainer_%s[%(asctime)s]"',
        'names = {"AccelerateTrainer_*": 1}',
        're.findall(word, read("TorchTrainer_*"))',
    ],
)
def test_other_names_and_runs_that_are_over_are_no_news(line: str) -> None:
    assert not converted(f"{HEAD}{line}\n").lines("RM609", Kind.MANUAL)


OF_RUN = """
import os
from glob import glob
from pathlib import Path
from ray.air.config import RunConfig, ScalingConfig
from ray.train.huggingface import TransformersTrainer

STORAGE, NAME = "/mnt/runs", "ner"
def start(init, rows, args):
    config = {config}
    trainer = TransformersTrainer(init, scaling_config=ScalingConfig(num_workers=2), run_config=config, datasets=rows)
    result = trainer.fit()
    folder = os.path.join(STORAGE, args.name)
    return {search}
"""
BY_NAME = "RunConfig(name=NAME, storage_path=STORAGE)"
BY_ARGUMENT = "RunConfig(**{'name': args.name, 'local_dir': args.storage})"
OF_NO_TRIAL = "This finds no checkpoint of a new run"


def says_none_below(config: str, search: str) -> bool:
    script = OF_RUN.replace("{config}", config).replace("{search}", search)
    return any(message.startswith(OF_NO_TRIAL) for message in converted(script).messages)


@pytest.mark.parametrize(
    ("config", "search"),
    [
        (BY_NAME, 'sorted(Path(STORAGE, NAME).glob("*/checkpoint_*"))[-1]'),
        (BY_NAME, 'max((Path(STORAGE) / NAME).glob("*/checkpoint_*/config.json"))'),
        (BY_NAME, 'Path(STORAGE).joinpath("ner").glob(pattern="*/checkpoint_*")'),
        (BY_NAME, 'glob(f"{STORAGE}/{NAME}/*/checkpoint_*")'),
        (BY_NAME, 'glob("/mnt/runs/ner/*_00000_*/checkpoint_*")'),
        (BY_NAME, 'glob(str(Path(STORAGE) / "ner" / "*" / "checkpoint_*"))'),
        (BY_NAME, 'glob(os.path.expanduser("~/ray_results/ner/*/checkpoint*"))'),
        (BY_NAME, 'Path(STORAGE).glob("ner/*/checkpoint_*")'),
        (BY_ARGUMENT, 'glob(os.path.join(args.storage, args.name, "*", "checkpoint_*"))'),
        (BY_ARGUMENT, 'glob(folder + "/*/checkpoint_*")'),
        ("RunConfig('runs', local_dir=args.storage)", 'glob(args.storage + "/runs/*/checkpoint_*")'),
    ],
)
def test_a_pattern_with_a_folder_of_a_trial_below_that_of_the_run_is_told(config: str, search: str) -> None:
    assert says_none_below(config, search)


@pytest.mark.parametrize(
    ("config", "search"),
    [
        (BY_NAME, 'Path(STORAGE).glob("*/checkpoint_[0-9]*")'),  # of all runs
        (BY_NAME, 'glob(f"{STORAGE}/{NAME}/checkpoint_[0-9]*")'),
        (BY_NAME, 'glob(f"{STORAGE}/{NAME}/**/checkpoint_*", recursive=True)'),
        (BY_NAME, 'glob("/mnt/runs/banner/*/checkpoint_*")'),
        (BY_NAME, 'glob(f"{STORAGE}/{NAME}/*/config.json")'),
        (BY_NAME, "glob(args.pattern)"),
        (BY_NAME, 'glob("/mnt/other/ner/*/checkpoint-*")'),  # of Transformers
        (BY_ARGUMENT, 'Path(args.storage, NAME).glob("*/checkpoint_*")'),
        ("RunConfig(name='runs', storage_path='/mnt/runs/')", 'glob("/mnt/runs/*/checkpoint_*")'),
        ("None", 'glob("/mnt/runs/ner/*/checkpoint_*")'),
    ],
)
def test_a_pattern_for_other_folders_is_not(config: str, search: str) -> None:
    assert not says_none_below(config, search)


@pytest.mark.parametrize(
    "line",
    [
        'pickle.load(open(os.path.join(path, "dict_checkpoint.pkl"), "rb"))',
        'pickle.loads((Path(path) / "dict_checkpoint.pkl").read_bytes())',
        'pickle.load(open(f"{path}/dict_checkpoint.pkl", "rb"))',
    ],
)
def test_the_file_that_held_a_dict_is_told(line: str) -> None:
    assert converted(f"{HEAD}{line}\n").lines("RM304", Kind.MANUAL) == [9]
    both = f'{HEAD}{line}\ntorch.load(os.path.join(path, "checkpoint.pt"))\n'
    assert not converted(both).lines("RM304", Kind.MANUAL)


@pytest.mark.parametrize(
    "write",
    [
        'pickle.dump(state, open(os.path.join(path, "dict_checkpoint.pkl"), "wb"))',
        'with open(f"{path}/dict_checkpoint.pkl", mode="wb") as file:\n    pickle.dump(state, file)',
        'file = Path(path) / "dict_checkpoint.pkl"\nfile.write_bytes(pickle.dumps(state))',
        'with (Path(path) / "dict_checkpoint.pkl").open("wb") as file:\n    pickle.dump(state, file)',
    ],
)
def test_a_file_that_the_script_writes_itself_is_its_own(write: str) -> None:
    read = 'pickle.load(open(os.path.join(path, "dict_checkpoint.pkl"), "rb"))'
    assert not converted(f"{HEAD}{write}\n{read}\n").lines("RM304", Kind.MANUAL)


@pytest.mark.parametrize("line", ['open("my_dict_checkpoint.pkl")', '"""It is in dict_checkpoint.pkl."""'])
def test_other_files_are_not(line: str) -> None:
    assert not converted(f"{HEAD}{line}\n").lines("RM304", Kind.MANUAL)


def test_a_script_without_ray_is_left_alone() -> None:
    assert not converted('import glob\nglob.glob("TorchTrainer_*")\nopen("dict_checkpoint.pkl")\n').findings
