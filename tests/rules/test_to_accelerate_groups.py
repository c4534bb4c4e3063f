"""--to-accelerate: process groups on CPUs stay groups, or it is told that they would not."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from tests.rules.scripts import converted
from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated
from tests.rules.test_to_accelerate_cpu import CHOICE, STAYS

IMPORTS = "import os\nimport torch.distributed as dist\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
ENDS = "would no longer be a group"


def script(group: str, device: str = 'device = torch.device("cpu")\n', wrapped: str = "model = DDP(model)\n") -> str:
    head = HEAD.replace(CHOICE, f"{group}\n{device}")
    return IMPORTS + head.replace("optimizer =", f"{wrapped}optimizer =")


@pytest.mark.parametrize(
    "head",
    [
        script('dist.init_process_group("gloo")'),
        script('dist.init_process_group(backend="gloo", init_method="env://")'),
        script('backend = "gloo"\ndist.init_process_group(backend=backend)', 'device = "cpu"\n'),
        script('dist.init_process_group("gloo")', wrapped="model = DDP(model, device_ids=None, output_device=None)\n"),
        script('dist.init_process_group("gloo")', "").replace(".to(device)", ""),
    ],
)
def test_a_group_on_cpus_stays_one(head: str) -> None:
    loop = LOOP if "device =" in head else LOOP.replace("    x, y = x.to(device), y.to(device)\n", "")
    outcome = accelerated(loop, head=head)
    assert "accelerator = Accelerator(cpu=True)\n" in outcome.text
    assert any(STAYS in message for message in outcome.messages)
    assert any("are started with torchrun" in message for message in outcome.messages)
    assert not any(ENDS in message for message in outcome.messages)


@pytest.mark.parametrize(
    ("group", "device"),
    [
        ('dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")', CHOICE),
        ("dist.init_process_group()", CHOICE),
        ('dist.init_process_group("gloo")', CHOICE),
        ('backend = os.environ["BACKEND"]\ndist.init_process_group(backend)', 'device = "cpu"\n'),
        (
            'dist.init_process_group("cpu:gloo,cuda:nccl")',
            'device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if torch.cuda.is_available() else "cpu"\n',
        ),
    ],
)
def test_a_group_on_either_is_told_of(group: str, device: str) -> None:
    outcome = accelerated(LOOP, head=script(group, device))
    assert "accelerator = Accelerator()\n" in outcome.text
    assert sum(ENDS in message and "ACCELERATE_USE_CPU=true" in message for message in outcome.messages) == 1


RANKED = 'rank = int(os.environ["RANK"])\nmodel.to(rank)\n'


@pytest.mark.parametrize(
    ("group", "device", "more"),
    [
        ('dist.init_process_group("nccl")', CHOICE, ""),
        ('dist.init_process_group(backend="NCCL")', CHOICE, ""),
        ('dist.init_process_group("gloo")', CHOICE, "model.cuda()\n"),
        ("dist.init_process_group()", CHOICE, RANKED),
        ('dist.init_process_group("gloo")', 'device = "cuda"\n', "model.cuda()\n"),
        ("", CHOICE, ""),
        ("", 'device = "cpu"\n', ""),
    ],
)
def test_groups_on_gpus_and_scripts_without_one_are_not(group: str, device: str, more: str) -> None:
    head = script(group, device, f"{more}model = DDP(model)\n" if group else "")
    head = head if group else head.replace(IMPORTS, "")
    assert not any(ENDS in message for message in accelerated(LOOP, head=head).messages)


@pytest.mark.parametrize(("group", "device"), [('"gloo"', 'device = "cpu"\n'), ("", CHOICE)])
def test_where_ray_starts_the_workers_torchrun_is_told_of_as_what_starts_no_more(group: str, device: str) -> None:
    text = script(f"dist.init_process_group({group})", device) + LOOP
    outcome = converted(text, to_accelerate=True, to_ray=True)
    assert "TorchTrainer" in outcome.text
    told = [message for message in outcome.messages if "torchrun" in message]
    assert [message.strip() for message in told] == [
        "It is started with python now: under torchrun each process would start a run of its own."
    ]


@pytest.mark.parametrize(
    ("path", "said"), [("a.py", "under python alone"), ("a.ipynb", "the one process of a notebook")]
)
def test_the_gpus_that_data_parallel_used_are_told(path: str, said: str) -> None:
    text = f"{HEAD}model = nn.DataParallel(model)\n{LOOP}"
    result = convert(text, path, Options(to_accelerate=True))
    assert any(f"DataParallel used all GPUs: {said}" in finding.message for finding in result.findings)
    both = convert(text, path, Options(to_accelerate=True, to_ray=True))
    assert any("DataParallel split each batch" in finding.message for finding in both.findings)
    assert not any("used all GPUs" in finding.message for finding in both.findings)
