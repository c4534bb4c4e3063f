"""Statements behind a magic, as `%time train(...)`: the magic ends with its line, so that they stay on it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from raymigrate.base.options import Options
from scripts.update_twins import converted
from tests.documents.notebooks import OUTPUTS, SERIALISATIONS, notebook, sources

LOOP = """\
import torch
from torch.utils.data import DataLoader
from job import data, held_out, network

model = network()
optimizer = torch.optim.Adam(model.parameters())
train_dataloader, validation_dataloader = DataLoader(data, shuffle=True), DataLoader(held_out)


def train(model, optimizer, criterion, train_dataloader, validation_dataloader, epochs):
    for epoch in range(epochs):
        for x, y in train_dataloader:
            loss = criterion(model(x), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        print(epoch)
"""
CALL = "train(model, optimizer, torch.nn.functional.cross_entropy, train_dataloader, validation_dataloader, epochs=10)"


@pytest.mark.parametrize("head", ["%time ", "%timeit -n1 -r1 "])
def test_a_call_that_grows_stays_behind_its_magic(head: str) -> None:
    content = SERIALISATIONS["indent 1"](notebook([LOOP, f"{head}{CALL}"])).encode()
    after, findings = converted(Path("nb.ipynb"), Options(to_accelerate=True), content)
    assert sources(after)[-1] == [f"{head}{CALL[:-1]}, accelerator=accelerator)"], findings


TUNED = """\
from ray.air import RunConfig, ScalingConfig
from ray.air.integrations.mlflow import MLflowLoggerCallback
from ray.train.torch import TorchTrainer
from job import loop

trainer = TorchTrainer(
    loop,
    scaling_config=ScalingConfig(num_workers=2),
    run_config=RunConfig(name="a", callbacks=[MLflowLoggerCallback(experiment_name="b")]),
)
"""


@pytest.mark.parametrize("head", ["%time ", "%prun -l 5 "])
@pytest.mark.parametrize("cells", [[f"{TUNED}{{}}result = trainer.fit()"], [TUNED, "{}result = trainer.fit()\nresult"]])
def test_what_comes_after_a_statement_behind_a_magic_has_a_line_of_its_own(cells: list[str], head: str) -> None:
    content = SERIALISATIONS["indent 1"](notebook([cell.replace("{}", head) for cell in cells])).encode()
    after, findings = converted(Path("nb.ipynb"), Options(), content)
    lines = "".join(line for cell in sources(after) for line in cell)
    assert f"\n{head}result = trainer.fit()\nmlflow_callback.finish(result)" in f"\n{lines}", findings
    assert converted(Path("nb.ipynb"), Options(), after)[0] == after


@pytest.mark.parametrize("head", ["%time ", "%timeit -n1 -r1 "])
def test_what_takes_the_place_of_a_statement_behind_a_magic_stays_there(head: str) -> None:
    content = SERIALISATIONS["indent 1"](notebook([TUNED, f"{head}trainer.fit()  # long"])).encode()
    after, findings = converted(Path("nb.ipynb"), Options(), content)
    assert sources(after)[-1] == [f"{head}mlflow_callback.finish(trainer.fit())  # long"], findings
    assert converted(Path("nb.ipynb"), Options(), after)[0] == after


def test_what_a_person_has_to_put_on_lines_of_its_own_is_no_fault_to_report() -> None:
    cell = "%time result = trainer.fit(); print(result)"
    content = SERIALISATIONS["indent 1"](notebook([TUNED, cell])).encode()
    after, result = converted(Path("nb.ipynb"), Options(), content)
    [error] = [finding for finding in result.findings if finding.code == "RM903"]
    assert after == content and "this line holds several statements" in error.message
    assert error.advice == "Put each statement on a line of its own, not after a magic, and run raymigrate again."
    content = SERIALISATIONS["indent 1"](notebook([TUNED, cell.replace("; ", "\n")])).encode()
    assert converted(Path("nb.ipynb"), Options(), content)[1].after is not None


def test_what_comes_before_a_statement_behind_a_magic_comes_before_the_magic() -> None:
    made = 'TorchTrainer(loop, run_config=RunConfig(name="a", callbacks=[MLflowLoggerCallback(experiment_name="b")]))'
    cell = f"{TUNED.partition('trainer =')[0]}# one epoch\n%time result = {made}.fit()"
    content = SERIALISATIONS["indent 1"](notebook([cell])).encode()
    after, findings = converted(Path("nb.ipynb"), Options(), content)
    assert [line.rstrip("\n").partition("(loop")[0] for line in sources(after)[-1] if line.strip()][-4:] == [
        'mlflow_callback = MLflowCallback(experiment_name="b")',
        "# one epoch",
        "%time result = TorchTrainer",
        "mlflow_callback.finish(result)",
    ], findings


TRAINER = (
    "from transformers import AutoModel, Trainer, TrainingArguments\n",
    'model = AutoModel.from_pretrained("bert")\n',
    '%%time\nargs = TrainingArguments("out")\n',
    "trainer = Trainer(model, args)\ntrainer.train()\n",
    "",
    "# notes\n",
)


def plain(cells: Sequence[str]) -> dict[str, Any]:
    """A notebook of which no cell has outputs or tags."""
    content = notebook(cells)
    for cell in content["cells"][1:]:
        cell.update(outputs=[], metadata={})
    return content


@pytest.mark.parametrize("form", SERIALISATIONS)
def test_cells_whose_code_has_all_moved_go(form: str) -> None:
    content = SERIALISATIONS[form](plain(TRAINER)).encode()
    after, result = converted(Path("nb.ipynb"), Options(to_ray=True), content)
    assert len(sources(content)) == 7
    assert [lines[-1:] for lines in sources(after)[1:]][-2:] == [[], ["# notes\n"]], "what was empty before stays"
    assert len(sources(after)) == 5
    assert not [finding for finding in result.findings if finding.code.startswith("RM90")]
    assert converted(Path("nb.ipynb"), Options(to_ray=True), after)[0] == after


def test_the_last_cell_goes_too() -> None:
    content = SERIALISATIONS["indent 1"](plain((*TRAINER[:4], "trainer.evaluate()\n"))).encode()
    after, _ = converted(Path("nb.ipynb"), Options(to_ray=True), content)
    assert all(sources(after))


@pytest.mark.parametrize("more", [{"outputs": OUTPUTS}, {"metadata": {"tags": ["x"]}}])
def test_a_cell_with_outputs_or_tags_stays(more: dict[str, Any]) -> None:
    content = plain(TRAINER[:4])
    content["cells"][2].update(more)
    before = SERIALISATIONS["indent 1"](content).encode()
    after, _ = converted(Path("nb.ipynb"), Options(to_ray=True), before)
    [stays] = [cell for cell in json.loads(after)["cells"] if not cell["source"]]
    assert all(stays[key] == value for key, value in more.items())


LEGACY = (
    "from ray.train.batch_predictor import BatchPredictor\n",
    "import ray\nfrom ray.air import RunConfig, ScalingConfig\nfrom ray.train.torch import TorchTrainer\n",
    "run_config = RunConfig(verbose=1)",
    "",
    "TorchTrainer(print, scaling_config=ScalingConfig(num_workers=2), run_config=run_config).fit()",
)


@pytest.mark.parametrize("form", SERIALISATIONS)
def test_cells_of_legacy_code_of_which_nothing_is_left_go(form: str) -> None:
    content = SERIALISATIONS[form](plain(LEGACY)).encode()
    after, _ = converted(Path("nb.ipynb"), Options(), content)
    assert len(sources(content)) - len(sources(after)) == 2
    assert "run_config" not in after.decode()
    assert [] in sources(after), "what was empty before stays"
    assert converted(Path("nb.ipynb"), Options(), after)[0] == after


def test_emptied_cells_with_outputs_or_tags_stay() -> None:
    content = SERIALISATIONS["indent 1"](notebook(LEGACY)).encode()  # the first has outputs, the third tags
    after, _ = converted(Path("nb.ipynb"), Options(), content)
    assert [sources(after)[1], sources(after)[3]] == [[], []]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("marker", ["# %%", "#%%", "# In[3]:\n\n"])
def test_a_bare_marker_goes_with_its_cell(marker: str, end: str) -> None:
    script = "".join(f"{marker}\n{cell.rstrip()}\n\n" for cell in LEGACY[:3] + LEGACY[4:]) + f"{marker}\n{LEGACY[0]}"
    after, _ = converted(Path("job.py"), Options(), script.replace("\n", end).encode())
    assert after.decode().replace("\r\n", "\n") == (
        f"{marker}\nimport ray\nfrom ray.train import ScalingConfig\nfrom ray.train.torch import TorchTrainer\n\n"
        f"{marker}\nTorchTrainer(print, scaling_config=ScalingConfig(num_workers=2)).fit()\n"
    )
    assert converted(Path("job.py"), Options(), after)[0] == after


@pytest.mark.parametrize(
    "head",
    [
        "# %% Imports\n",
        "# %% [markdown]\n",
        '# %% tags=["imports"]\n',
        "# %%\n# Predictors\n",
        "# %%\n%matplotlib inline\n",
    ],
)
def test_a_marker_with_something_to_say_stays(head: str) -> None:
    script = f"{head}{LEGACY[0]}\n# %%\n{LEGACY[1]}\n# %%\n{LEGACY[4]}\n"
    after, _ = converted(Path("job.py"), Options(), script.encode())
    assert after.decode().startswith(
        f"{head}\n# %%\nimport ray\n" if head.count("\n") > 1 else f"{head}# %%\nimport ray\n"
    )


def test_an_empty_cell_of_a_script_stays() -> None:
    script = f"# %%\n# %%\n{LEGACY[1]}\n# %%\n\n# %%\n{LEGACY[4]}\n# %%\n"
    after, _ = converted(Path("job.py"), Options(), script.encode())
    assert after.decode().count("# %%\n") == 5


def test_a_command_of_databricks_goes_with_what_it_parts() -> None:
    mark = "# COMMAND ----------\n"
    cells = [f"# Databricks notebook source\n{LEGACY[0]}", *LEGACY[1:3], f"# DBTITLE 1,Old\n{LEGACY[0]}", LEGACY[4]]
    after, _ = converted(Path("job.py"), Options(), f"\n{mark}\n".join(f"{c.rstrip()}\n" for c in cells).encode())
    parts = after.decode().split(mark)
    assert [part.strip().partition("\n")[0] for part in parts] == [
        "# Databricks notebook source",
        "import ray",
        "# DBTITLE 1,Old",
        "TorchTrainer(print, scaling_config=ScalingConfig(num_workers=2)).fit()",
    ]
