"""RM206: what an accelerate_config holds goes to the workers' environment, where no Accelerator is made in the file."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """
from accelerate import Accelerator
from ray.air.config import RunConfig, ScalingConfig
from ray.train.huggingface import AccelerateTrainer
from job import make, train


def loop(config):
    {body}


trainer = AccelerateTrainer(
    loop,
    accelerate_config={{"mixed_precision": "bf16"}},
    scaling_config=ScalingConfig(num_workers=2, use_gpu=True),{more}
)
"""
VARIABLES = '{"env_vars": {"ACCELERATE_MIXED_PRECISION": "bf16"}}'


def outcome(body: str, more: str = "") -> Outcome:
    return converted(SCRIPT.format(body=body, more=more))


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ("", f"run_config=RunConfig(worker_runtime_env={VARIABLES})"),
        ('\n    run_config=RunConfig(name="x"),', f'run_config=RunConfig(name="x", worker_runtime_env={VARIABLES})'),
    ],
)
def test_the_workers_get_it_in_their_environment(more: str, expected: str) -> None:
    found = outcome("train(config)", more)
    assert found.lines("RM206", Kind.CONVERTED)
    assert expected in found.text


def test_many_variables_get_a_line_each() -> None:
    values = {"mixed_precision": "bf16", "dynamo_config": {"dynamo_backend": "INDUCTOR", "dynamo_mode": "default"}}
    script = SCRIPT.replace('{{"mixed_precision": "bf16"}}', repr(values).replace("{", "{{").replace("}", "}}"))
    text = converted(script.format(body="train(config)", more='\n    run_config=RunConfig(name="x"),')).text
    assert '"env_vars": {\n' in text
    assert max(len(line) for line in text.splitlines()) <= 100
    assert converted(text).text == text


def test_an_environment_of_their_own_is_left_to_a_person() -> None:
    found = outcome("train(config)", "\n    run_config=RunConfig(worker_runtime_env=make()),")
    assert found.lines("RM206", Kind.MANUAL)
    assert "RunConfig(worker_runtime_env=make())" in found.text


def test_an_accelerator_of_the_file_gets_it_itself() -> None:
    found = outcome("accelerator = Accelerator()\n    train(accelerator)")
    assert 'Accelerator(mixed_precision="bf16")' in found.text
    assert "RM206" not in {code for code, _, _ in found.findings}


def test_the_import_stands_where_that_of_the_trainer_stood() -> None:
    inside = SCRIPT.format(body="train(config)", more="").replace("RunConfig, ", "").replace("\n", "\n    ")
    text = converted(f"def main():{inside}\n\nmain()\n").text
    assert text.startswith("def main():\n") and "    from ray.train import RunConfig, ScalingConfig\n" in text
