"""RM854, --to-accelerate: a scheduler is prepared where its length counts the batches of one process alone."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.test_to_accelerate import LOOP, OPTIM, accelerated, refusal

WARMUP = "get_linear_schedule_with_warmup"
BATCH, EPOCH = "    scheduler.step()\n", "scheduler.step()\n"


def scheduled(made: str, before: str = "") -> str:
    return f"from transformers import {WARMUP}\n{before}scheduler = {made}\n"


@pytest.mark.parametrize(
    ("made", "step", "reason"),
    [
        (
            f"{WARMUP}(optimizer, 0, 3 * len(loader))",
            BATCH,
            "is prepared: its length counts the batches of one",
        ),
        (f"{OPTIM}.CosineAnnealingLR(optimizer, T_max=500)", BATCH, "it counts optimizer steps, each of which sees"),
        (f"{OPTIM}.StepLR(optimizer, 2)", EPOCH, "it counts epochs, and a prepared one would count once for each"),
        (f"{OPTIM}.ReduceLROnPlateau(optimizer)", "scheduler.step(loss)\n", "it acts on a number of epochs"),
    ],
    ids=["batches", "optimizer steps", "epochs", "plateau"],
)
def test_the_finding_says_why_it_is_prepared_or_not(made: str, step: str, reason: str) -> None:
    outcome = accelerated(scheduled(made), LOOP, step)
    assert len(outcome.lines("RM854", Kind.CONVERTED)) == 1
    [message] = [message for message in outcome.messages if message.startswith("`scheduler` is ")]
    assert reason in message
    assert ("is not prepared" in message) is ("scheduler = accelerator.prepare(" not in outcome.text)


@pytest.mark.parametrize("before", ["", "steps = 3 * len(loader)\n", "def count():\n    return len(loader)\n\n\n"])
def test_a_length_is_followed_through_names_and_functions(before: str) -> None:
    length = "steps" if before.startswith("steps") else "count()" if before else "len(loader)"
    text = accelerated(scheduled(f"{WARMUP}(optimizer, 0, {length})", before), LOOP, BATCH).text
    assert "scheduler = accelerator.prepare(" in text


def test_each_of_several_schedulers_has_its_finding() -> None:
    second = f"plateau = {OPTIM}.ReduceLROnPlateau(optimizer)\n"
    first = scheduled(f"{WARMUP}(optimizer, 0, len(loader))")
    outcome = accelerated(first, second, LOOP, BATCH, "plateau.step(loss)\n")
    assert len(outcome.lines("RM854", Kind.CONVERTED)) == 2
    assert "plateau = accelerator" not in outcome.text


def test_one_that_steps_by_batch_and_by_epoch_is_refused() -> None:
    made = scheduled(f"{OPTIM}.StepLR(optimizer, 2)")
    assert "`scheduler` takes steps both for each batch and for each epoch" in refusal(made, LOOP, BATCH, EPOCH)


OWN = "class Warmup({base}):\n    def __init__(self, optimizer, total):\n        self.total = total\n\n\n"
TAKEN = "from {module} import {name}\nscheduler = {name}(optimizer, {length})\n"


@pytest.mark.parametrize(
    ("module", "name"), [("warmup_scheduler", "GradualWarmupScheduler"), ("cosine", "CosineAnnealingWarmupRestarts")]
)
def test_a_class_that_gets_an_optimizer_which_takes_steps_itself_is_a_schedule(module: str, name: str) -> None:
    """It was prepared as a second optimizer: one that counts epochs was through after 1/N of them."""
    outcome = accelerated(TAKEN.format(module=module, name=name, length=10), LOOP, EPOCH)
    assert any("`scheduler` is not prepared: it counts epochs" in message for message in outcome.messages)
    assert "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)" in outcome.text


def test_an_optimizer_within_another_is_none() -> None:
    wrapped = "from torch_optimizer import Lookahead\ninner = optimizer\noptimizer = Lookahead(inner, k=5)\n"
    outcome = accelerated(wrapped, LOOP)
    assert "RM854" not in {code for code, *_ in outcome.findings}
    assert "model, optimizer, loader = accelerator.prepare(" in outcome.text


@pytest.mark.parametrize("base", [f"{OPTIM}.LRScheduler", f"{OPTIM}._LRScheduler", "object"])
@pytest.mark.parametrize("made", ["Warmup", "{'warm': Warmup}['warm']"])
def test_a_schedule_that_is_none_of_torch_is_left_as_it_is_by_prepare(base: str, made: str) -> None:
    outcome = accelerated(OWN.format(base=base), f"scheduler = {made}(optimizer, len(loader))\n", LOOP, BATCH)
    is_other = base == "object"
    assert bool(outcome.lines("RM854", Kind.MANUAL)) is is_other
    assert ("scheduler = accelerator.prepare(" in outcome.text) is not is_other


@pytest.mark.parametrize(
    "module",
    ["from timm.scheduler import CosineLRScheduler as Made", "import timm\nMade = timm.scheduler.StepLRScheduler"],
)
def test_the_schedules_of_timm_are_none_of_torch(module: str) -> None:
    outcome = accelerated(f"{module}\nscheduler = Made(optimizer, len(loader))\n", LOOP, BATCH)
    assert outcome.lines("RM854", Kind.MANUAL) and "scheduler = accelerator.prepare(" not in outcome.text


@pytest.mark.parametrize(
    ("made", "told"),
    [
        ("other.Warmup(optimizer, len(loader))", True),
        ("other.make_schedule(optimizer, len(loader))", False),  # which may well give one of torch's
        (f"{OPTIM}.CosineAnnealingLR(optimizer, len(loader))", False),
    ],
)
def test_of_a_class_of_another_library_it_is_said_what_it_has_to_be(made: str, told: bool) -> None:
    outcome = accelerated(f"import other\nscheduler = {made}\n", LOOP, BATCH)
    assert bool(outcome.lines("RM854", Kind.NOTE)) is told and "scheduler = accelerator.prepare(" in outcome.text


def test_a_training_without_a_scheduler_says_nothing_of_one() -> None:
    assert "RM854" not in {code for code, *_ in accelerated(LOOP).findings}


HALF = """\
for x, y in loader:
    with torch.autocast("cuda"{kind}):
        loss = F.cross_entropy(model(x.to(device)), y.to(device))
    optimizer.zero_grad()
    {backward}
    scheduler.step()
"""
SCALED = "scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()"
PLAIN = "loss.backward()\n    optimizer.step()"


@pytest.mark.parametrize(
    ("kind", "backward", "length", "is_told"),
    [
        ("", SCALED, "len(loader)", True),
        (", torch.float16", SCALED, "3 * len(loader)", True),
        ("", SCALED, "500", False),  # not prepared: it steps as before
        (", torch.bfloat16", PLAIN, "len(loader)", False),
    ],
)
def test_steps_that_a_prepared_scheduler_skips_with_fp16_are_told(
    kind: str, backward: str, length: str, *, is_told: bool
) -> None:
    scaler = "scaler = torch.amp.GradScaler('cuda')\n" if backward == SCALED else ""
    made = scheduled(f"{WARMUP}(optimizer, 0, {length})", scaler)
    outcome = accelerated(made, HALF.format(kind=kind, backward=backward))
    assert "accelerator.backward(loss)" in outcome.text
    assert bool(outcome.lines("RM854", Kind.NOTE)) is is_told
    assert any("where fp16 overflows" in message for message in outcome.messages) is is_told


SAMPLED = """from torch.utils.data.distributed import DistributedSampler
sampler = DistributedSampler(data)
loader = DataLoader(data, batch_size=8, sampler=sampler)
"""
RESUMED = "state = torch.load('last.pt')\nscheduler.load_state_dict(state['scheduler'])\n"


@pytest.mark.parametrize(
    ("before", "made", "resumed", "told"),
    [
        (SAMPLED, f"{WARMUP}(optimizer, 0, 3 * len(loader))", RESUMED, 1),
        (SAMPLED, f"{OPTIM}.OneCycleLR(optimizer, 0.1, epochs=3, steps_per_epoch=len(loader))", RESUMED, 1),
        ("", f"{WARMUP}(optimizer, 0, 3 * len(loader))", RESUMED, 0),
        (SAMPLED, f"{WARMUP}(optimizer, 0, 3 * len(loader))", "", 0),
        (SAMPLED, f"{WARMUP}(optimizer, 0, 500)", RESUMED, 0),
        (SAMPLED, f"{WARMUP}(optimizer, 0, 3 * len(loader))", RESUMED.replace("scheduler.load", "optimizer.load"), 0),
    ],
)
def test_a_saved_state_counts_the_steps_of_one_process(before: str, made: str, resumed: str, told: int) -> None:
    outcome = accelerated(before, scheduled(made), resumed, LOOP, BATCH)
    assert len([m for m in outcome.messages if "is at 1/N of its place in the schedule" in m]) == told


@pytest.mark.parametrize(
    ("before", "made", "after"),
    [
        (SAMPLED, f"{WARMUP}(optimizer, 100, 3 * len(loader))", "100 * accelerator.num_processes"),
        (SAMPLED, f"{WARMUP}(optimizer, settings['w'], 3 * len(loader))", "settings['w'] * accelerator.num_processes"),
        (
            SAMPLED,
            f"{WARMUP}(optimizer, num_warmup_steps=settings.w + 1, num_training_steps=len(loader))",
            "num_warmup_steps=(settings.w + 1) * accelerator.num_processes",
        ),
        (
            f"{SAMPLED}from transformers import get_scheduler\n",
            "get_scheduler('linear', optimizer, 100, len(loader))",
            "100 * accelerator.num_processes",
        ),
        (SAMPLED, f"{WARMUP}(optimizer, 0, 3 * len(loader))", ""),
        (SAMPLED, f"{WARMUP}(optimizer, int(0.1 * len(loader)), len(loader))", ""),
        (SAMPLED, f"{WARMUP}(optimizer, 100, 500)", ""),  # not prepared
        (f"{SAMPLED}from job import {WARMUP}\n", f"{WARMUP}(optimizer, 100, 3 * len(loader))", ""),
        ("", f"{WARMUP}(optimizer, 100, 3 * len(loader))", ""),  # one process: steps are rows seen
    ],
)
def test_a_warm_up_that_each_process_counted_by_itself_keeps_its_steps(before: str, made: str, after: str) -> None:
    start = f"scheduler = {made}\n" if "job" in before else scheduled(made)
    text = accelerated("from job import settings\n", before, start, LOOP, BATCH).text
    assert "accelerator.prepare(" in text
    assert after in text
    assert ("num_processes" in text) is bool(after)


@pytest.mark.parametrize(
    ("before", "is_prepared"),
    [
        ("steps = 3 * (len(data) // (4 * dist.get_world_size()))\n", False),
        ("world_size = dist.get_world_size()\nrows = 4 * world_size\nsteps = len(data) // rows * 3\n", False),
        ("steps = int(len(data) / 4 / int(os.environ.get('WORLD_SIZE', 1)))\n", False),
        ("def count(rows):\n    return rows // (4 * dist.get_world_size())\n\nsteps = count(len(data))\n", False),
        ("steps = len(data) // (4 * max(1, args.world_size))\n", False),
        ("size = 64 // dist.get_world_size()\nsteps = len(data) // size\n", True),  # its own rows in each batch
        ("steps = len(data) // 4 // args.accumulation\n", True),
        (f"{SAMPLED}steps = len(loader) // dist.get_world_size()\n", True),  # a share of a share
    ],
)
def test_a_length_that_is_the_share_of_one_process_is_not_multiplied(before: str, is_prepared: bool) -> None:
    head = "import os\nimport torch.distributed as dist\nfrom job import args\n"
    made = scheduled(f"{WARMUP}(optimizer, 5, steps)", before)
    outcome = accelerated(head, made, LOOP, BATCH)
    assert ("scheduler = accelerator.prepare(" in outcome.text) is is_prepared
    told = any("its length is divided by the number of processes already" in message for message in outcome.messages)
    assert told is not is_prepared


@pytest.mark.parametrize(
    ("length", "is_told"),
    [
        ("3 * ((len(loader.sampler) + 7) // 8)", False),
        ("3 * ((len(loader.sampler) + SIZE - 1) // SIZE)", False),
        ("(SIZE - 1 + len(loader.sampler)) // SIZE * 3", False),
        ("(len(loader.sampler) + (settings.size - 1)) // settings.size", False),
        ("(len(loader) + 500) // 8", True),
        ("3 * ((len(loader.sampler) + 7) // 8) + 500", True),
        ("(len(loader) + settings.extra) // settings.size", True),
        ("len(loader) // 8 - 500", True),
    ],
)
def test_what_rounds_a_division_up_is_no_number_of_steps(length: str, is_told: bool) -> None:
    made = scheduled(f"{WARMUP}(optimizer, 0, {length})", f"{SAMPLED}SIZE = 8\n")
    outcome = accelerated("from job import settings\n", made, LOOP, BATCH)
    assert "scheduler = accelerator.prepare(" in outcome.text
    assert bool(outcome.lines("RM854", Kind.MANUAL)) is is_told
