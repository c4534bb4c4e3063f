"""RM858: what prepared loaders, optimizers and schedulers do not have is asked of what they wrap."""

import pytest

from tests.rules.test_to_accelerate import HEAD, LOOP, accelerated

ASKED = "loader.batch_sampler.batch_size"


@pytest.mark.parametrize(
    "script",
    [
        f"{LOOP}    print(loss.item() * loader.batch_size)\n",
        f"def rows(loader):\n    return len(loader) * loader.batch_size\n\n{LOOP}print(rows(loader))\n",
        f"batches = loader\n{LOOP}print(batches.batch_size)\n".replace("batches.", "loader."),
    ],
)
def test_the_batch_sampler_is_asked(script: str) -> None:
    outcome = accelerated(script)
    assert ASKED in outcome.text and "loader.batch_size" not in outcome.text


def test_it_is_that_of_each_loader_of_a_dict() -> None:
    loop = LOOP.replace("in loader", "in loaders['train']")
    text = accelerated(
        "loaders = {'train': loader, 'test': test_loader}\n", loop, "print(loaders['train'].batch_size)\n"
    ).text
    assert "print(loaders['train'].batch_sampler.batch_size)" in text


@pytest.mark.parametrize(
    "script",
    [
        f"{LOOP}print(args.batch_size)\n",
        f"{LOOP}print(test_loader.batch_size)\n",
        f"{LOOP}job.loader.batch_size = 4\n",
    ],
)
def test_other_sizes_stay(script: str) -> None:
    assert "batch_sampler" not in accelerated(script, head=f"import job\nfrom job import args\n{HEAD}").text


def test_a_loader_that_is_not_prepared_yet_is_asked_itself() -> None:
    early = HEAD.replace("model = ", "print(loader.batch_size)\nmodel = ")
    assert "print(loader.batch_size)" in accelerated(LOOP, head=early).text


def test_a_loader_of_an_iterable_dataset_keeps_its_size() -> None:
    stream = 'from datasets import load_dataset\nrows = load_dataset("c4", split="train", streaming=True)\n'
    head = HEAD.replace("DataLoader(data, batch_size=8, shuffle=True)", "DataLoader(rows, batch_size=8)")
    assert "batch_sampler" not in accelerated(LOOP, "print(loader.batch_size)\n", head=f"{stream}{head}").text


SCHEDULE = "schedule = transformers.get_linear_schedule_with_warmup(optimizer, 0, 3 * len(loader))\n"
STEPS = f"{LOOP}    schedule.step()\n"


@pytest.mark.parametrize(
    ("use", "asked"),
    [
        ("print(schedule.last_epoch)\n", "schedule.scheduler.last_epoch"),
        ("rates = schedule.base_lrs\n", "schedule.scheduler.base_lrs"),
        ("    log.add(schedule.last_epoch)\n", "schedule.scheduler.last_epoch"),
        ("print(schedule.get_last_lr())\n", "schedule.get_last_lr()"),
        ("job.keep(schedule.state_dict())\n", "schedule.state_dict()"),
        ("optimizer.register_step_post_hook(job.hook)\n", "optimizer.optimizer.register_step_post_hook(job.hook)"),
        ("print(optimizer.param_groups[0]['lr'])\n", "optimizer.param_groups[0]['lr']"),
        ("optimizer.zero_grad(set_to_none=True)\n", "optimizer.zero_grad(set_to_none=True)"),
    ],
)
def test_what_the_wrapper_lacks_is_asked_inside(use: str, asked: str) -> None:
    text = accelerated(SCHEDULE, STEPS, use, head=f"import job\nimport transformers\nfrom job import log\n{HEAD}").text
    assert asked in text.replace("accelerator.print", "print")


def test_a_scheduler_that_is_not_prepared_is_asked_itself() -> None:
    body = f"{LOOP}schedule.step()\nprint(schedule.last_epoch)\n"
    text = accelerated("schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1)\n", body).text
    assert "schedule.last_epoch" in text and "schedule = accelerator" not in text
