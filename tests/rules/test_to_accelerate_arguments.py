"""RM852, RM856: what the calls are given that accelerate takes over goes on to it, or the loop stays as it is."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated, refusal

PROCESSES = """import os
from datetime import timedelta
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

from job import data

LIMIT = timedelta(hours=2)
UNUSED = True
WORDS = {{}}
dist.init_process_group({group})
device = int(os.environ["LOCAL_RANK"])
sampler = DistributedSampler({sampler})
loader = DataLoader(data, batch_size=8, sampler=sampler)
model = DDP(nn.Linear(4, 2).to(device), {wrapper})
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""


def processes(group: str = '"nccl"', sampler: str = "data", wrapper: str = "[device]") -> str:
    return PROCESSES.format(group=group, sampler=sampler, wrapper=wrapper)


def accelerator(text: str) -> str:
    """The line that makes the Accelerator."""
    return text.replace("\n    ", "").replace(",\n)", ")").split("accelerator = ")[1].split("\n")[0]


GIVEN = {
    "the time that processes wait": (processes('"nccl", timeout=LIMIT'), "InitProcessGroupKwargs(timeout=LIMIT)"),
    "the same by position": (processes("'nccl', None, LIMIT"), "InitProcessGroupKwargs(timeout=LIMIT)"),
    "what wraps the model": (
        processes(wrapper="find_unused_parameters=UNUSED, bucket_cap_mb=50"),
        "DistributedDataParallelKwargs(find_unused_parameters=UNUSED, bucket_cap_mb=50)",
    ),
    "both": (
        processes("'nccl', timeout=LIMIT", wrapper="static_graph=True"),
        "InitProcessGroupKwargs(timeout=LIMIT), DistributedDataParallelKwargs(static_graph=True)",
    ),
    "arguments of the wrapper by position": (
        processes(wrapper="[device], device, 0, False"),
        "DistributedDataParallelKwargs(dim=0, broadcast_buffers=False)",
    ),
    "what changes nothing": (
        processes(wrapper="[device], process_group=None, init_sync=True, static_graph=True"),
        "DistributedDataParallelKwargs(static_graph=True)",
    ),
    "the same time in both branches": (
        processes("'nccl', timeout=LIMIT").replace(
            "dist.init_process_group('nccl', timeout=LIMIT)\n",
            "if UNUSED:\n    dist.init_process_group('nccl', timeout=LIMIT)\n"
            "else:\n    dist.init_process_group('gloo', timeout=LIMIT)\n",
        ),
        "InitProcessGroupKwargs(timeout=LIMIT)",
    ),
    "the same for two models": (
        processes(wrapper="find_unused_parameters=UNUSED")
        + "other = DDP(nn.Linear(4, 2), None, None, find_unused_parameters=True)\n",
        "DistributedDataParallelKwargs(find_unused_parameters=UNUSED)",
    ),
}


@pytest.mark.parametrize(("head", "handlers"), GIVEN.values(), ids=GIVEN)
def test_settings_of_processes_go_to_the_accelerator(head: str, handlers: str) -> None:
    assert accelerator(accelerated(LOOP, head=head).text) == f"Accelerator(kwargs_handlers=[{handlers}])"


@pytest.mark.parametrize("sampler", ["data, shuffle=False", "data, dist.get_world_size(), dist.get_rank(), False"])
def test_rows_of_a_sampler_that_does_not_shuffle_stay_in_order(sampler: str) -> None:
    assert "shuffle=True" not in accelerated(LOOP, head=processes(sampler=sampler)).text


@pytest.mark.parametrize(
    "head", [processes("**WORDS"), processes(sampler="data, **WORDS"), processes(wrapper="**WORDS")]
)
def test_what_is_unpacked_is_not_taken_for_nothing(head: str) -> None:
    assert "unpacked" in refusal(LOOP, head=head)


MODEL = "model = DDP(nn.Linear(4, 2).to(device), [device])\n"
GROUP = 'dist.init_process_group("nccl")\n'
WITHOUT, DIFFERENT, HOOK = (
    "accelerate cannot give",
    "are given different",
    "DistributedDataParallelKwargs(comm_hook=...)",
)
NOT_HANDED_ON = {
    "without a first synchronization": (processes(wrapper="[device], init_sync=False"), f"{WITHOUT} init_sync="),
    "a group of its own": (processes(wrapper="[device], process_group=GROUP"), f"{WITHOUT} process_group="),
    "a precision": (processes(wrapper="[device], mixed_precision=WORDS"), f"{WITHOUT} mixed_precision="),
    "reduced late": (
        processes(wrapper="[device], delay_all_reduce_named_params=[]"),
        f"{WITHOUT} delay_all_reduce_named_params=",
    ),
    "by a place that torch has moved": (processes(wrapper="[device], device, 0, True, None"), "write the names"),
    "two models": (processes() + "other = DDP(nn.Linear(4, 2), [device], static_graph=True)\n", DIFFERENT),
    "two models, the other way": (
        processes(wrapper="[device], static_graph=True") + "other = DDP(nn.Linear(4, 2), [device])\n",
        DIFFERENT,
    ),
    "by a name that changes": (
        processes(wrapper="static_graph=UNUSED")
        + "UNUSED = bool(data)\nother = DDP(nn.Linear(4, 2), static_graph=UNUSED)\n",
        DIFFERENT,
    ),
    "two groups": (
        processes().replace(GROUP, f"if data:\n    {GROUP}else:\n    dist.init_process_group('gloo', timeout=LIMIT)\n"),
        DIFFERENT,
    ),
    "two times": (
        processes().replace(
            GROUP,
            "if data:\n    dist.init_process_group('gloo', timeout=LIMIT)\n"
            "else:\n    dist.init_process_group('nccl', timeout=2 * LIMIT)\n",
        ),
        DIFFERENT,
    ),
    "a hook": (processes() + "model.register_comm_hook(None, data.hook)\n", HOOK),
    "a hook in a function": (
        processes() + "def hook(net):\n    net.register_comm_hook(None, data.hook)\n\n\nhook(model)\n",
        HOOK,
    ),
    "a graph that is set": (processes() + "model._set_static_graph()\n", "write static_graph=True"),
    "rows that end early": (processes() + "with model.join():\n    print(model)\n", "join_uneven_inputs()"),
}


@pytest.mark.parametrize(("head", "reason"), NOT_HANDED_ON.values(), ids=NOT_HANDED_ON)
def test_settings_that_the_accelerator_has_no_place_for_leave_the_loop_native(head: str, reason: str) -> None:
    assert reason in refusal(LOOP, head=head)


NOT_CALLED = {
    "a function": "wrap = functools.partial(DDP, static_graph=True)\nmodel = wrap(nn.Linear(4, 2))\n",
    "a choice": "wrap = DDP if UNUSED else nn.DataParallel\nmodel = wrap(nn.Linear(4, 2))\n",
    "a table": "wrap = {'ddp': DDP}\nmodel = wrap['ddp'](nn.Linear(4, 2))\n",
    "a class": "class Own(DDP):\n    pass\n\n\nmodel = Own(nn.Linear(4, 2))\n",
    "an argument": "def wrap(kind):\n    return kind(nn.Linear(4, 2))\n\n\nmodel = wrap(kind=DDP)\n",
    "the group": MODEL + "start = functools.partial(dist.init_process_group, timeout=LIMIT)\nstart('nccl')\n",
}


@pytest.mark.parametrize("rows", NOT_CALLED.values(), ids=NOT_CALLED)
def test_what_is_called_by_another_name_leaves_the_loop_native(rows: str) -> None:
    head = processes().replace(MODEL, f"import functools\n{rows}")
    assert "is used here without being called" in refusal(LOOP, head=head)


@pytest.mark.parametrize(
    "asks",
    [
        "print(isinstance(model, (DDP, nn.DataParallel)))\n",
        "KINDS = (DDP, nn.DataParallel)\nprint(isinstance(model, KINDS), type(model) in KINDS)\n",
        "print(type(model) is DDP)\n",
        "def show(net: DDP | nn.Module) -> DDP:\n    print(net)\n\n\nshow(model)\n",
        "match model:\n    case DDP():\n        print(model)\n",
        "print(', '.join(map(str, data)), os.path.join('a', 'b'))\n",
    ],
)
def test_a_test_of_a_type_does_not(asks: str) -> None:
    assert "accelerator.prepare(" in accelerated(LOOP, head=processes() + asks).text


CLIPPED = {
    "clip_grad_norm_(model.parameters(), 1.0)": "accelerator.clip_grad_norm_(model.parameters(), 1.0)",
    "clip_grad_norm_(model.parameters(), max_norm=1.0, norm_type=1)": (
        "accelerator.clip_grad_norm_(model.parameters(), max_norm=1.0, norm_type=1)"
    ),
    "clip_grad_norm_(model.parameters(), 1.0, 1.0, False, foreach=True)": (
        "accelerator.clip_grad_norm_(model.parameters(), 1.0, 1.0)"
    ),
    "clip_grad_value_(model.parameters(), clip_value=0.5, foreach=False)": (
        "accelerator.clip_grad_value_(model.parameters(), clip_value=0.5)"
    ),
    "clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)": (
        "nn.utils.clip_grad_norm_(model.parameters(), 1.0, error_if_nonfinite=True)"
    ),
}


@pytest.mark.parametrize(("call", "becomes"), CLIPPED.items())
def test_the_accelerator_limits_gradients_where_it_takes_what_is_given(call: str, becomes: str) -> None:
    """accelerate's methods take no `error_if_nonfinite=` and no `foreach=`: a TypeError."""
    loop = LOOP.replace("    optimizer.step()", f"    nn.utils.{call}\n    optimizer.step()")
    assert f"    {becomes}\n" in accelerated(loop).text


SCALED = HEAD + "scaler = torch.amp.GradScaler('cuda')\n"
HALF = """for x, y in loader:
    with torch.autocast("cuda"):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    {clip}
    scaler.step(optimizer)
    scaler.update()
"""
NOT_TAKEN = {
    "error_if_nonfinite=True": "clip_grad_norm_() is given error_if_nonfinite=, which the Accelerator's does not take",
    "error_if_nonfinite=strict": "clip_grad_norm_() is given error_if_nonfinite=",
    "**words": "clip_grad_norm_() is given `**words`",
    "*more": "clip_grad_norm_() is given `*more`",
}


@pytest.mark.parametrize(("given", "reason"), NOT_TAKEN.items())
def test_gradients_that_are_scaled_need_the_method_of_the_accelerator(given: str, reason: str) -> None:
    clip = f"nn.utils.clip_grad_norm_(model.parameters(), 1.0, {given})"
    message = refusal(HALF.format(clip=clip), head=SCALED)
    assert reason in message and "take that away, or call scaler.unscale_(optimizer) before" in message
    unscaled = accelerated(HALF.format(clip=f"scaler.unscale_(optimizer)\n    {clip}"), head=SCALED).text
    assert f"accelerator.unscale_gradients(optimizer)\n    {clip}\n" in unscaled
