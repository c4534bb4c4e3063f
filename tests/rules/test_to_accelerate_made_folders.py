"""RM857, RM806, RM828: a folder that is made if it is not there may be there by then, under several processes."""

from pathlib import Path

import pytest

from raymigrate.base.findings import Kind
from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import convert, write
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

RACE = "Several processes ask for this folder"
IMPORTS = "import os\nfrom os import makedirs, path as paths\nfrom pathlib import Path\nfolder = Path('runs')\n"


@pytest.mark.parametrize(
    ("made", "now"),
    [
        ("if not os.path.exists('a'):\n    os.makedirs('a')", "os.makedirs('a', exist_ok=True)"),
        ("if not os.path.isdir(folder):\n    os.makedirs(name=folder)", "os.makedirs(name=folder, exist_ok=True)"),
        ("if not paths.exists('a'):\n    makedirs('a', 0o755)", "makedirs('a', 0o755, exist_ok=True)"),
        ("if os.path.exists('a') is False:\n    print()\n    os.makedirs('a')", "os.makedirs('a', exist_ok=True)"),
        ("if os.path.exists('a'):\n    pass\nelse:\n    os.makedirs('a')", "os.makedirs('a', exist_ok=True)"),
        ("if folder and not folder.exists():\n    folder.mkdir(parents=True)", "mkdir(parents=True, exist_ok=True)"),
        ("if not Path('a').is_dir():\n    Path('a').mkdir()", "Path('a').mkdir(exist_ok=True)"),
        ("if not os.path.exists('a'):\n    os.makedirs('a', exist_ok=False)", "os.makedirs('a', exist_ok=True)"),
        (
            "def make(d):\n    if not os.path.exists(d):\n        os.makedirs(d)\nmake('a')",
            "os.makedirs(d, exist_ok=True)",
        ),
    ],
)
def test_the_folder_may_be_there(made: str, now: str) -> None:
    outcome = accelerated(IMPORTS, f"{made}\n", LOOP)
    assert now in outcome.text
    assert [message.startswith(RACE) for message in outcome.messages].count(True) == 1
    assert len(outcome.lines("RM857", Kind.CONVERTED)) == 1


@pytest.mark.parametrize(
    "made", ["if not os.path.exists('a'):\n    os.mkdir('a')", "if not paths.isdir('a'):\n    makedirs('a', 0, False)"]
)
def test_where_exist_ok_cannot_be_given_it_is_told(made: str) -> None:
    outcome = accelerated(IMPORTS, f"{made}\n", LOOP)
    assert made in outcome.text
    assert len(outcome.lines("RM857", Kind.MANUAL)) == 1


@pytest.mark.parametrize(
    "made",
    [
        "os.makedirs('a', exist_ok=True)",
        "if not os.path.exists('a'):\n    os.makedirs('a', exist_ok=True)",
        "if not os.path.exists('a'):\n    os.makedirs('b')",  # each raises by itself where b is there
        "if os.path.exists('a'):\n    os.makedirs('a')",
        "if not os.path.exists('a'):\n    try:\n        os.makedirs('a')\n    except FileExistsError:\n        pass",
        "if int(os.environ['RANK']) == 0:\n    if not os.path.exists('a'):\n        os.makedirs('a')",
        "if not store.exists('a'):\n    store.mkdir('a')",
    ],
)
def test_what_is_left(made: str) -> None:
    outcome = accelerated(IMPORTS, "store = Path\n", f"{made}\n", LOOP)
    assert "accelerator.backward(loss)" in outcome.text
    assert not [message for message in outcome.messages if message.startswith(RACE)]


SCRIPTS = {
    "RM828": """
        import os
        from accelerate import Accelerator
        accelerator = Accelerator()
        model, optimizer, loader = accelerator.prepare(*make())
        {made}
        for epoch in range(3):
            for batch in loader:
                accelerator.backward(model(batch).mean())
                optimizer.step()
    """,
    "RM806": """
        import os
        from transformers import Trainer, TrainingArguments
        trainer = Trainer(make_model(), TrainingArguments("out"), train_dataset=make_data())
        {made}
        trainer.train()
    """,
}
MADE = "if not os.path.exists({folder}): os.makedirs({folder})"


@pytest.mark.parametrize("code", SCRIPTS)
def test_on_ray_the_workers_make_it(code: str) -> None:
    read = "trainer.args.output_dir" if code == "RM806" else "accelerator.project_dir"
    script = SCRIPTS[code].format(made=MADE.format(folder=read))
    outcome = converted(script, to_ray=True, workers=2)
    assert f"os.makedirs({read}, exist_ok=True)" in outcome.text
    assert len(outcome.lines(code, Kind.CONVERTED)) == 1


def test_on_ray_one_worker_makes_it_alone() -> None:
    guard = "if accelerator.is_main_process:\n            "
    made = guard + MADE.format(folder="accelerator.project_dir").replace(": os", ":\n                os")
    outcome = converted(SCRIPTS["RM828"].format(made=made), to_ray=True, workers=2)
    assert "TorchTrainer(" in outcome.text
    assert "exist_ok" not in outcome.text


DATA = "import torchvision\nfrom torchvision import datasets\n"


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("torchvision.datasets.CIFAR10(root='./data', train=True, download=True)", 1),
        ("datasets.MNIST('data', download=True)", 1),
        ("datasets.MNIST('data', download=False)", 0),
        ("datasets.MNIST('data')", 0),
        ("fetch('data', download=True)", 0),
    ],
)
def test_data_that_all_processes_download_is_told(made: str, told: int) -> None:
    outcome = accelerated(DATA, "from job import fetch\n", f"rows = {made}\n", LOOP)
    assert [message.startswith("Several processes download") for message in outcome.messages].count(True) == told


@pytest.mark.parametrize(("code", "workers", "told"), [("RM828", 2, 1), ("RM828", 1, 0), ("RM806", 2, 1)])
def test_so_it_is_on_ray(code: str, workers: int, told: int) -> None:
    script = (
        SCRIPTS[code]
        .format(made="print(datasets.MNIST('data', download=True), trainer)")
        .replace("import os", "from torchvision import datasets")
    )
    outcome = converted(script.replace(", trainer", "") if code == "RM828" else script, to_ray=True, workers=workers)
    assert "TorchTrainer(" in outcome.text
    assert [message.startswith("Several workers download this into") for message in outcome.messages].count(
        True
    ) == told


HELPER = """
from torchvision import datasets
def rows(train):
    return datasets.MNIST("data", train=train, {keyword})
def loaders():
    return rows(True)
class Rows:
    def __init__(self):
        self.rows = rows(False)
"""


@pytest.mark.parametrize(
    ("made", "keyword", "told"),
    [
        ("loaders()", "download=True", " (helper.py:3)"),
        ("rows(train=True)", "download=True", " (helper.py:3)"),
        ("Rows()", "download=True", " (helper.py:3)"),
        ("loaders()", "download=False", ""),
        ("print", "download=True", ""),
    ],
)
@pytest.mark.parametrize("both", [False, True])
def test_so_it_is_in_another_file(made: str, keyword: str, told: str, tmp_path: Path, *, both: bool) -> None:
    script = f"{HEAD}from helper import Rows, loaders, rows\nmore = {made}\n{LOOP}"
    write(tmp_path, {"helper.py": HELPER.format(keyword=keyword), "train.py": script})
    options = Options(to_accelerate=True, to_ray=both, workers=2)
    messages = [finding.message for finding in convert(tmp_path, job=Job(options)).findings]
    found = [
        message.partition(" into")[0].replace(f"{tmp_path}/", "") for message in messages if "download this" in message
    ]
    who = "workers" if both else "processes"
    assert found == ([f"Several {who} download this{told}"] if told else [])
