"""Whether a job trains on the CPU is decided by what the script says, in whatever spelling, and never by a default."""

import pytest

from raymigrate.run.engine import convert

ON_DEVICE = 'ray.train.torch.get_device().type == "cpu"'
TRANSFORMERS = """
import torch
import ray
from ray.air import ScalingConfig
from ray.train.huggingface import TransformersTrainer
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments
{head}

def make(train_dataset, eval_dataset=None, **config):
    model = AutoModelForCausalLM.from_pretrained("gpt2")
    args = TrainingArguments("out"{given})
    return Trainer(model=model, args=args, train_dataset=train_dataset)

TransformersTrainer(make, scaling_config={scaling}, datasets={{"train": ray.data.range(8)}}).fit()
"""
ACCELERATE = """
import torch
from accelerate import Accelerator
from ray.air import ScalingConfig
from ray.train.huggingface.accelerate import AccelerateTrainer
{head}

def loop():
    accelerator = Accelerator({given})

AccelerateTrainer(loop, accelerate_config={{}}, scaling_config={scaling}).fit()
"""


def use_cpu(text: str) -> str:
    """What the converted script gives as use_cpu= or cpu=; "" where it gives nothing."""
    after = convert(text).after
    assert after is not None
    for name in ("use_cpu=", "Accelerator(cpu="):
        if name in after:
            value = after.partition(name)[2]
            return value.partition(",")[0].strip() if name == "use_cpu=" else value.partition("\n")[0].removesuffix(")")
    return ""


@pytest.mark.parametrize("script", [TRANSFORMERS, ACCELERATE], ids=["transformers", "accelerate"])
@pytest.mark.parametrize(
    ("head", "scaling", "found"),
    [
        ("", "ScalingConfig(num_workers=2)", "True"),
        ("", "ScalingConfig(num_workers=2, use_gpu=False)", "True"),
        ("", "ScalingConfig(num_workers=2, use_gpu=True)", ""),
        ("", "ScalingConfig(None, 2, True)", ""),
        ("", "{'num_workers': 2, 'use_gpu': True}", ""),
        ("", "dict(num_workers=2)", "True"),
        ("", "{'num_workers': 2}", "True"),
        ("", "make_scaling()", ON_DEVICE),
        ("", "settings.scaling", ON_DEVICE),
        ("def workers(gpu):\n    return ScalingConfig(use_gpu=gpu)", "workers(True)", ON_DEVICE),
        ("def workers():\n    return ScalingConfig(use_gpu=True)", "workers()", ""),
        ("workers = lambda: ScalingConfig(use_gpu=True)", "workers()", ""),
        ("class Team:\n    scaling = ScalingConfig(use_gpu=True)", "Team.scaling", ""),
        ("scaling = ScalingConfig(use_gpu=True)", "scaling", ""),
        ("scaling = ScalingConfig()\nscaling = ScalingConfig(use_gpu=True)", "scaling", ""),
        ("scaling = ScalingConfig()\nif x:\n    scaling = ScalingConfig(use_gpu=True)", "scaling", ON_DEVICE),
        ("", "ScalingConfig(use_gpu=True) if big else ScalingConfig()", ON_DEVICE),
        ("scaling = ScalingConfig(num_workers=2)\nscaling.use_gpu = True", "scaling", ON_DEVICE),
        ("", "ScalingConfig(num_workers=2, **read())", ON_DEVICE),
        ("options = {'num_workers': 2}", "ScalingConfig(**options)", ON_DEVICE),
        ("gpu = False  # a switch", "ScalingConfig(num_workers=2, use_gpu=gpu)", "not gpu"),
        ("gpu = True  # a switch", "ScalingConfig(num_workers=2, use_gpu=gpu)", "not gpu"),
        ("on_cpu = False", "ScalingConfig(num_workers=2, use_gpu=not on_cpu)", "on_cpu"),
        ("gpu = False\nscaling = ScalingConfig(use_gpu=gpu)", "scaling", "not gpu"),
        ("gpu = False\ngpu = True", "ScalingConfig(num_workers=2, use_gpu=gpu)", ON_DEVICE),
        ("gpu = torch.cuda.is_available()", "ScalingConfig(num_workers=2, use_gpu=gpu)", ON_DEVICE),
        ("gpus = 2", "ScalingConfig(num_workers=2, use_gpu=gpus > 0)", ON_DEVICE),
        ("args = parse()", "ScalingConfig(num_workers=2, use_gpu=args.gpu)", ON_DEVICE),
        ("def ScalingConfig(**options): ...", "ScalingConfig(num_workers=2)", ON_DEVICE),
    ],
)
def test_the_cpu_is_used_where_the_workers_have_no_gpu(script: str, head: str, scaling: str, found: str) -> None:
    assert use_cpu(script.format(head=head, scaling=scaling, given="")) == found


@pytest.mark.parametrize(
    ("head", "one", "other", "found"),
    [
        ("", "ScalingConfig(num_workers=2)", "ScalingConfig(use_gpu=True)", ON_DEVICE),
        ("", "ScalingConfig(use_gpu=True)", "ScalingConfig(num_workers=2)", ON_DEVICE),
        ("", "ScalingConfig(use_gpu=True)", "dict(num_workers=2)", ON_DEVICE),
        ("gpu = False", "ScalingConfig(use_gpu=gpu)", "ScalingConfig(use_gpu=False)", ON_DEVICE),
        ("gpu = False", "ScalingConfig(use_gpu=gpu)", "ScalingConfig(use_gpu=not gpu)", ON_DEVICE),
        ("", "ScalingConfig(num_workers=2)", "ScalingConfig(num_workers=4)", "True"),
        ("", "ScalingConfig(use_gpu=True)", "ScalingConfig(None, 4, True)", ""),
        ("gpu = False", "ScalingConfig(use_gpu=gpu)", "ScalingConfig(num_workers=4, use_gpu=gpu)", "not gpu"),
    ],
)
def test_a_function_of_two_trainers_is_right_on_the_workers_of_both(
    head: str, one: str, other: str, found: str
) -> None:
    text = ACCELERATE.format(head=head, scaling=one, given="")
    second = text.splitlines()[-1].replace(one, other).replace("accelerate_config={}", "accelerate_config=read()")
    assert use_cpu(f"{text}\ndef job():\n    return {second}\n") == found


def test_an_init_function_of_two_trainers_asks_for_the_device_of_its_worker() -> None:
    text = TRANSFORMERS.format(head="", scaling="ScalingConfig(num_workers=2)", given="")
    second = text.splitlines()[-1].replace("num_workers=2", "num_workers=2, use_gpu=True")
    after = convert(f"{text}{second}\n").after
    assert after is not None
    assert f'if {ON_DEVICE}:\n        os.environ["ACCELERATE_USE_CPU"]' in after


@pytest.mark.parametrize(
    ("given", "scaling", "found"),
    [
        ("no_cuda=not gpu", "ScalingConfig(use_gpu=gpu)", "not gpu"),
        ("no_cuda=not config['gpu']", "make_scaling()", "not config['gpu']"),
        ("no_cuda=not config['gpu']", "ScalingConfig(num_workers=2)", "not config['gpu']"),
        ("no_cuda=True", "ScalingConfig(num_workers=2)", "True"),
        ("no_cuda=False", "ScalingConfig(num_workers=2)", "True"),
        ("no_cuda=False", "make_scaling()", ON_DEVICE),
        ("no_cuda=False", "ScalingConfig(use_gpu=gpu)", "not gpu"),
        ("no_cuda=not gpu", "ScalingConfig(num_workers=2, use_gpu=False)", "not gpu"),
        ("no_cuda=gpu", "ScalingConfig(num_workers=2, use_gpu=False)", "True"),
        ("no_cuda=not torch.cuda.is_available()", "ScalingConfig(num_workers=2)", "True"),
        ("no_cuda=not torch.cuda.is_available()", "make_scaling()", ON_DEVICE),
        ("no_cuda=not found", "ScalingConfig(use_gpu=found)", ON_DEVICE),
        ("no_cuda=not torch.cuda.is_available()", "ScalingConfig(use_gpu=True)", "not torch.cuda.is_available()"),
    ],
)
def test_what_the_user_says_is_kept_where_it_is_right_on_current_ray(given: str, scaling: str, found: str) -> None:
    head = "gpu = False\nfound = torch.cuda.is_available()\n"
    assert use_cpu(TRANSFORMERS.format(head=head, scaling=scaling, given=f", {given}")) == found


def test_an_object_is_not_taken_along_for_one_attribute() -> None:
    head = "settings = read()\n"
    scaling = "ScalingConfig(num_workers=2, use_gpu=settings.gpu)"
    assert use_cpu(ACCELERATE.format(head=head, scaling=scaling, given="")) == ON_DEVICE
    with_object = ACCELERATE.replace("def loop():", "def loop():\n    print(settings)")
    assert use_cpu(with_object.format(head=head, scaling=scaling, given="")) == "not settings.gpu"


def test_a_search_space_may_hold_another_scaling_config() -> None:
    text = ACCELERATE.format(head="", scaling="None", given="").replace(
        ").fit()", ")\nspace = {'scaling_config': ScalingConfig(use_gpu=True)}"
    )
    assert use_cpu(text) == ON_DEVICE


ALONE_TOO = """
from accelerate import Accelerator
from ray.air.config import ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments

def loop(config):
    made = {made}
    Trainer(args=made).train()

{inner}

def fit(settings):
    TorchTrainer({handed}, scaling_config=ScalingConfig(**settings)).fit()

{call}
"""


INNER = "def inner(config):\n    return loop(config)"


@pytest.mark.parametrize("made", ["Accelerator()", 'TrainingArguments("out", evaluation_strategy="no")'])
@pytest.mark.parametrize(
    "call",
    [
        "loop({})",
        "if standalone:\n    loop({})\nelse:\n    fit(read())",
        "def main():\n    loop({})",
        "def main():\n    inner({})",
        "run = loop\nrun({})",
        "class Job:\n    def start(self):\n        loop(self.config)",
    ],
    ids=["module", "branch", "function", "through another", "alias", "method"],
)
def test_a_function_that_runs_without_a_trainer_too_does_not_ask_ray_for_its_device(made: str, call: str) -> None:
    result = convert(ALONE_TOO.format(made=made, call=call, handed="loop", inner=INNER))
    assert "get_device" not in (result.after or "")
    assert any("runs without a trainer" in finding.message for finding in result.findings)


@pytest.mark.parametrize(
    ("call", "handed"),
    [("fit(read())", "loop"), ("fit(read())", "inner"), ("loop_over(3)", "loop"), ("job.loop()", "loop")],
)
def test_a_function_that_only_workers_run_asks_ray_for_its_device(call: str, handed: str) -> None:
    inner = INNER if handed == "inner" else ""
    after = convert(ALONE_TOO.format(made="Accelerator()", call=call, handed=handed, inner=inner)).after
    assert after is not None and f"Accelerator(cpu={ON_DEVICE})" in after


UNPACKED = """
from accelerate import Accelerator
from own import others
from ray.train import RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer
from transformers import Trainer, TrainingArguments


def loop(config):
    Trainer(args=TrainingArguments("out", evaluation_strategy="no"), train_dataset=config["rows"]).train()


{trainer}.fit()
"""
SEVERAL = "common = dict(run_config=RunConfig(){scaling})\nTorchTrainer(loop, **common)"


@pytest.mark.parametrize(
    ("trainer", "found"),
    [
        (SEVERAL.format(scaling=", scaling_config=ScalingConfig(num_workers=2, use_gpu=True)"), ""),
        (SEVERAL.format(scaling=", scaling_config=ScalingConfig(num_workers=2)"), "True"),
        (SEVERAL.format(scaling=""), "True"),
        ("common = {}\ncommon['scaling_config'] = ScalingConfig(use_gpu=True)\nTorchTrainer(loop, **common)", ""),
        ("TorchTrainer(loop, **others)", ON_DEVICE),
        ("def make(**more):\n    return TorchTrainer(loop, **more)\n\n\nmake(scaling_config=others)", ON_DEVICE),
    ],
    ids=["GPUs", "CPUs", "none", "filled", "elsewhere", "parameters"],
)
def test_a_scaling_config_may_be_among_what_is_unpacked(trainer: str, found: str) -> None:
    assert use_cpu(UNPACKED.format(trainer=trainer)) == found
