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
    ],
)
def test_other_names_and_runs_that_are_over_are_no_news(line: str) -> None:
    assert not converted(f"{HEAD}{line}\n").lines("RM609", Kind.MANUAL)


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
