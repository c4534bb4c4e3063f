"""RM802 where a script imports Ray for something else than the training that --to-ray is to move."""

from pathlib import Path

import pytest

from raymigrate.base.options import Options
from raymigrate.run.job import Job
from tests.projects.files import convert
from tests.rules.scripts import converted

HEAD = "from transformers import AutoModel, Trainer, TrainingArguments\n"
MAKE = 'trainer = Trainer(AutoModel.from_pretrained("bert-base-cased"), TrainingArguments("out"), train_dataset=rows)\n'
TRAINED = f"{MAKE}trainer.train()\n"
FIT = f"def fit():\n    {MAKE}    trainer.train()\n\n\n"
IN_MAIN = f"{FIT}def main():\n    fit()\n\n\nif __name__ == '__main__':\n    main()\n"
ACCELERATE = """
from accelerate import Accelerator
accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for batch in loader:
    accelerator.backward(model(batch).loss)
    optimizer.step()
"""
NATIVE = """
import torch
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in loader:
    model(batch).loss.backward()
    optimizer.step()
"""
INIT = "import ray\nray.init()\n"
DATA = "import ray\nrows = ray.data.read_parquet('rows').take_all()\n"
READ = "from ray.data import read_parquet\nrows = read_parquet('rows').take_all()\n"
SPACE = "from ray import tune\nspace = {'learning_rate': tune.loguniform(1e-5, 1e-4)}\n"


def told(script: str) -> list[str]:
    outcome = converted(script, to_ray=True)
    found = zip(outcome.findings, outcome.messages, strict=True)
    return [message for (code, _, _), message in found if code == "RM802"]


@pytest.mark.parametrize("ray", [INIT, DATA, READ, SPACE])
@pytest.mark.parametrize("script", [HEAD + TRAINED, HEAD + IN_MAIN, ACCELERATE, NATIVE])
def test_a_training_beside_ray_is_told(ray: str, script: str) -> None:
    [message] = told(ray + script)
    assert message.startswith("This trains without Ray, which the script uses for something else (ray.")


def test_all_that_is_used_of_ray_is_named_in_order() -> None:
    used = "ray.shutdown()\nprint(ray.nodes(), ray.available_resources(), ray.cluster_resources())\n"
    [message] = told(INIT + HEAD + TRAINED + used)
    assert "(ray.available_resources, ray.cluster_resources, ray.init" in message


@pytest.mark.parametrize(
    "ray",
    [
        SPACE,
        "from ray.tune.schedulers import ASHAScheduler\nfrom ray.tune.search.hyperopt import HyperOptSearch\n"
        "chosen = (ASHAScheduler(), HyperOptSearch())\n",
        f"{INIT}from ray.tune import CLIReporter, choice\nchosen = (CLIReporter(), choice([1, 2]))\n",
    ],
)
@pytest.mark.parametrize("end", ["", "trainer.train()\n"])
def test_a_search_with_ray_tune_is_told_as_one_without(ray: str, end: str) -> None:
    script = f"{HEAD}{MAKE}trainer.hyperparameter_search(lambda trial: space, backend='ray')\n{end}"
    [message] = told(ray + script)
    assert message.startswith("hyperparameter_search starts its own trials")
    assert told(script) == [message]


@pytest.mark.parametrize(
    "script",
    [
        f"import ray.train\n{HEAD}{TRAINED}",  # names nothing of it
        f"{INIT}from ray.train.torch import TorchTrainer\n{HEAD}def train():\n    {MAKE}    trainer.train()\n\n\n"
        "TorchTrainer(train).fit()\n",
        f"{INIT}{HEAD}@ray.remote\ndef train():\n    {MAKE}    trainer.train()\n\n\nray.get(train.remote())\n",
        f"{SPACE}{HEAD}def train(config):\n    {MAKE}    trainer.train()\n\n\ntune.run(train, config=space)\n",
        f"{DATA}{HEAD}def train(config):\n    {MAKE}    trainer.train()\n",  # another file may hand it to Ray
        f"{INIT}{ACCELERATE}ray.train.report({{}})\n",
        f"{INIT}from accelerate import Accelerator\nmodel = Accelerator().prepare(model)\nmodel(batch)\n",
        f"{INIT}{HEAD}{MAKE}trainer.evaluate()\n",
        f"import own as ray\nray.init()\n{HEAD}import ray.data\n",
    ],
)
def test_what_ray_runs_or_trains_nothing_is_not(script: str) -> None:
    assert told(script) == []


@pytest.mark.parametrize("is_handed", [True, False])
def test_a_training_that_another_file_hands_to_ray_is_not(tmp_path: Path, is_handed: bool) -> None:
    (tmp_path / "helper.py").write_text(f"{INIT}{HEAD}{FIT}if __name__ == '__main__':\n    fit()\n")
    scaling = "from ray.air.config import ScalingConfig\n"
    handed = f"{scaling}from ray.train.torch import TorchTrainer\nfrom helper import fit\n\n"
    handed += "TorchTrainer(fit, scaling_config=ScalingConfig(num_workers=2)).fit()\n"
    (tmp_path / "job.py").write_text(handed if is_handed else "print(1)\n")
    found = convert(tmp_path, job=Job(Options(to_ray=True))).findings
    assert any(one.code == "RM802" for one in found) is not is_handed


@pytest.mark.parametrize("script", [INIT + HEAD + TRAINED, DATA + ACCELERATE, INIT + NATIVE])
def test_nothing_is_told_without_the_option(script: str) -> None:
    assert not [finding for finding in converted(script).findings if finding[0] == "RM802"]
