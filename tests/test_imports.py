"""Where new imports stand: before what needs them, in its cell, sorted where the file was sorted."""

import ast
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raymigrate.base.findings import Kind
from raymigrate.edits.plan import Code, Plan
from raymigrate.edits.rewriter import rewrite
from raymigrate.facts.syntax.execution import unbound_names
from raymigrate.facts.syntax.module import Module
from raymigrate.run.engine import convert
from tests.conftest import DOCUMENTS, case_name

JOB = """\
def build(train_dataset, eval_dataset=None, **config):
    return Trainer(model=make(), args=TrainingArguments("out"), train_dataset=train_dataset)


trainer = TransformersTrainer(build, scaling_config=ScalingConfig(num_workers=2, use_gpu=True), datasets={"train": ds})
result = trainer.fit()
"""
OLD = [
    "from ray.air.config import ScalingConfig\n",
    "from ray.train.huggingface import TransformersTrainer\n",
    "from transformers import Trainer, TrainingArguments\n",
    "from job import ds, make\n",
]


def converted(text: str) -> str:
    result = convert(text, "train.py")
    assert not [finding for finding in result.findings if finding.kind is Kind.ERROR]
    assert result.after is not None
    return result.after


def unbound(text: str) -> set[str]:
    return {node.id for node in unbound_names(Module(text))}


@pytest.mark.parametrize(
    "late",
    [
        "import os\nimport torch\nprint(torch.cuda.is_available(), os.getcwd())\n",
        "from torch.utils.data import DataLoader\n\nDataLoader([])\n",
        "import ray.train\nfrom ray.train import Checkpoint\nfrom ray.train.torch import get_device\n",
        "if result:\n    import os, torch\n\n    print(os, torch)\n",
        "def report():\n    import os\n    import torch\n\n    return os, torch\n\n\nreport()\n",
        "_cell_5__\nimport torch\nimport os\n_cell_6__\nimport ray.train\n",
        "from transformers.trainer_pt_utils import IterableDatasetShard as Shard, get_parameter_names\n",
    ],
)
def test_an_import_that_stands_later_does_not_count(late: str) -> None:
    text = "".join(OLD) + "\n\n" + JOB + late
    assert unbound(converted(text)) <= unbound(text)
    before = "_cell_2__\n".join(["import ray\n", *OLD[:2], *OLD[2:]]) + "_cell_3__\n" + JOB + "_cell_4__\n" + late
    assert unbound(converted(before)) <= unbound(before)


PIECES = [
    "import torch\n",
    "import os\n",
    "import ray\n",
    "import ray.train\n",
    "from torch.utils.data import DataLoader\n",
    "from ray.train import Checkpoint, DataConfig\n",
    "from ray.train.torch import TorchTrainer\n",
    "try:\n    import torch\nexcept ImportError:\n    torch = None\n",
    "if ds:\n    import os\n",
    "def other():\n    import os\n    import torch\n",
    "x = 1\n",
]


@given(st.lists(st.sampled_from(PIECES), max_size=6), st.integers(0, 8), st.integers(0, 8), st.booleans())
@settings(max_examples=80, deadline=None)
def test_every_name_of_the_result_is_bound_wherever_imports_stand(
    pieces: list[str], first: int, second: int, has_cells: bool
) -> None:
    """A result that reads a name too early would be refused; so none may be refused."""
    definition, start = JOB.split("\n\n\n")
    parts = [*pieces]
    parts.insert(min(first, len(parts)), f"{definition}\n\n\n")
    parts.insert(max(parts.index(f"{definition}\n\n\n") + 1, min(second, len(parts))), start)
    text = "".join(OLD) + "".join(f"_cell_{n}__\n{part}" if has_cells else part for n, part in enumerate(parts, 2))
    assert unbound(converted(text)) <= unbound(text)


def _unsorted(folder: Path) -> set[str]:
    """The files whose imports are not in the order of isort's black profile; how long they may be is another test."""
    command = [
        sys.executable,
        "-m",
        "ruff",
        "check",
        "--isolated",
        "--select",
        "I",
        "--config",
        "line-length=120",
        "--output-format",
        "json",
        str(folder),
    ]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    return {Path(found["filename"]).name for found in json.loads(outcome.stdout)}


def test_imports_that_were_sorted_stay_sorted(tmp_path: Path) -> None:
    """As ruff sees it, which sorts as isort does."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        for document in DOCUMENTS:
            if document.suffix == ".py":
                twin = document.with_name(f"{name}.py")
                (tmp_path / name / f"{case_name(document).replace('/', '_')}.py").write_bytes(twin.read_bytes())
    unsorted = _unsorted(tmp_path / "before")
    assert len(unsorted) < len(DOCUMENTS) / 3
    assert sorted(_unsorted(tmp_path / "after") - unsorted) == []


def placed(text: str, *imports: tuple[str, str | None], use: str = "") -> str:
    """Needs imports, for code that comes before the last statement."""
    module, plan = Module(text), Plan()
    for source, name in imports:
        plan.need_import(source, name)
    plan.statement(module.tree.body[-1]).before.append(Code(use or "use(torch, os, ray, DataLoader)"))
    return rewrite(module, plan)


@pytest.mark.parametrize(
    ("late", "kept"),
    [
        ("import os\nprint(os.getcwd())\n", ""),
        ("# where we are\nimport os, sys\nprint(os.getcwd(), sys.path)\n", "# where we are\nimport sys\n"),
        ("from torch.utils.data import DataLoader, Dataset\nprint(Dataset)\n", "import Dataset\n"),
        ("import os as system\nprint(system)\n", "import os as system\n"),
        ("if len(OLD):\n    import os\n", "    import os\n"),
        ("def f():\n    import os\n    return os\n", "    import os\n"),
    ],
)
def test_the_users_late_import_goes_where_the_new_code_needs_an_early_one(late: str, kept: str) -> None:
    text = converted("".join(OLD) + "\n\n" + JOB + late)
    behind = text[text.rindex(".fit()") :]
    assert kept in behind and text.startswith("import os\n") and "\nimport os\n" not in text
    assert kept or "import" not in behind


@pytest.mark.parametrize(
    ("late", "kept"),
    [
        ("import os\n    print(os)", ""),
        ("import os, sys\n    print(os, sys)", "    import sys\n"),
        ("from torch.utils.data import DataLoader, Dataset\n    DataLoader(Dataset())", "import Dataset\n"),
        ("import ray\n    print(ray)", ""),
        ("import os as system\n    print(system)", "    import os as system\n"),
    ],
)
def test_an_import_in_a_function_does_not_hide_the_name_from_new_code_above_it(late: str, kept: str) -> None:
    module = Module(f"import json\n\n\ndef f():\n    first(json)\n    {late}\n")
    plan = Plan()
    for source, name in (("os", None), ("torch.utils.data", "DataLoader"), ("ray.train", None)):
        plan.need_import(source, name)
    function = module.tree.body[-1]
    assert isinstance(function, ast.FunctionDef)
    plan.statement(function.body[0]).before.append(Code("use(os, DataLoader, ray.train.report)"))
    text = rewrite(module, plan)
    assert unbound(text) <= {"use", "first"}
    inside = text[text.index("def f") :]
    assert kept in inside
    assert kept or "import" not in inside


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "import numpy\nimport torch\nfrom a import b\nx = 1\n",
            "import numpy\nimport ray\nimport torch\nfrom a import b\n",
        ),
        (
            "import numpy\nfrom a import b\nimport torch\nx = 1\n",
            "import numpy\nfrom a import b\nimport torch\nimport ray\n",
        ),
        ("from a import b\nimport numpy\nx = 1\n", "from a import b\nimport numpy\nimport ray\n"),
        (
            "import zzz\nfrom ray.data import range\nimport abc\nx = 1\n",
            "import zzz\nfrom ray.data import range\nimport ray\nimport abc\n",
        ),
        ("import os\n\nfrom .a import b\nx = 1\n", "import os\n\nimport ray\n\nfrom .a import b\n"),
        ("import os\n\nx = 1\n", "import os\n\nimport ray\n\n"),
        ('"""Text."""\n\nx = 1\n', '"""Text."""\n\nimport ray\n\n'),
        ("_cell_mask_1__\n_cell_2__\nx = 1\n", "_cell_mask_1__\n_cell_2__\nimport ray\n\n"),
    ],
)
def test_an_import_stands_among_its_like(before: str, after: str) -> None:
    assert placed(before, ("ray", None), use="ray").startswith(after)


def test_comments_over_the_first_import_stay_over_it() -> None:
    text = '"""Text."""\n\n# The packages\nimport json\n\nimport ray\n\nx = 1\n'
    expected = '"""Text."""\n\n# The packages\nimport contextlib\nimport json\n\nimport ray\n'
    assert placed(text, ("contextlib", None), use="contextlib").startswith(expected)


def test_the_cell_that_needs_an_import_gets_it() -> None:
    cells = [
        "import ray\n",
        "from evaluate import load\ndef f(): pass\n",
        "import torch\nx = 1\n",
        "import late\n",
        "y = 1\n",
    ]
    text = "_cell_9__\n".join(cells)
    module, plan = Module(text), Plan()
    plan.need_import("torch.utils.data", "DataLoader")
    plan.need_import("os")
    assignment = next(s for s in module.tree.body if module.source(s) == "x = 1")
    plan.statement(assignment).before.append(Code("use(DataLoader, os)"))
    cells[2] = "import os\n\nimport torch\nfrom torch.utils.data import DataLoader\nuse(DataLoader, os)\nx = 1\n"
    assert rewrite(module, plan) == "_cell_9__\n".join(cells)


@pytest.mark.parametrize(("first", "place"), [("import os\n", 0), ("print()\nimport os\n", 1), ("z = 1\n", 1)])
def test_a_cell_without_imports_has_them_in_one_that_begins_with_them(first: str, place: int) -> None:
    cells = [first, "y = 1\nimport torch\n", "x = 1\n"]
    module, plan = Module("_cell_9__\n".join(cells)), Plan()
    plan.need_import("shutil")
    plan.statement(next(s for s in module.tree.body if module.source(s) == "x = 1")).before.append(Code("use(shutil)"))
    after = rewrite(module, plan).split("_cell_9__\n")
    assert ["import shutil\n" in cell for cell in after] == [number == place for number in range(3)]


def test_a_long_import_is_laid_out_as_black_does() -> None:
    names = [f"NameNumber{n}" for n in range(8)]
    text = placed("import os\n\nx = 1\n", *(("ray.train", name) for name in names), use=" + ".join(names))
    assert "from ray.train import (\n    NameNumber0,\n    NameNumber1,\n" in text


@pytest.mark.parametrize(
    "imports", ["import ray\nfrom ray import tune", "import transformers\nfrom datasets import Dataset"]
)
def test_new_sections_in_a_function_come_first_and_have_no_spaces_between_them(imports: str) -> None:
    local = f"{imports}\nfrom ray.train.huggingface import TransformersTrainer\nfrom datasets import load_dataset\n\n"
    job = local + "def build(train_dataset" + JOB.partition("def build(train_dataset")[2]
    text = f"{OLD[0]}{OLD[2]}{OLD[3]}\n\ndef run():\n{textwrap.indent(job, '    ')}"
    after = converted(text)
    head = after.partition("def run():\n")[2]
    assert head.startswith(f"    import os\n\n    {imports.splitlines()[0]}\n")
    assert not [line for line in after.splitlines() if line != line.rstrip()]


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("from datasets import load_metric; x = load_metric('f1')", "x = evaluate.load('f1')"),
        ("a = 1; from datasets import load_metric; load_metric('f1')", "a = 1; evaluate.load('f1')"),
        ("import datasets, json; datasets.load_metric('f1')", "import datasets, json; evaluate.load('f1')"),
    ],
)
def test_an_import_stands_before_the_line_that_uses_it(line: str, after: str) -> None:
    text = converted(f"import ray\n\n\ndef f():\n    {line}\n    return ray.init()\n")
    before, used, _ = text.partition(f"    {after}\n")
    assert used and "    import evaluate\n" in before
