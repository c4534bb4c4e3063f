"""RM828: end_training() ends the process group, so it comes behind the last thing that needs that."""

import pytest

from raymigrate.base.findings import Kind
from tests.rules.scripts import Outcome, converted

SCRIPT = """import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader

from job import Net, rows, save


def main(track=True):
    accelerator = Accelerator(log_with="tensorboard", project_dir="runs")
    model, loader = Net(), DataLoader(rows, batch_size=4)
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    accelerator.init_trackers("net")
    for epoch in range(3):
        for batch in loader:
            loss = model(batch).mean()
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        accelerator.print(epoch)
{end}

if __name__ == "__main__":
    main()
"""
SAVE = """    accelerator.wait_for_everyone()
    save(accelerator.unwrap_model(model))
"""


def moved(end: str) -> Outcome:
    outcome = converted(SCRIPT.format(end=end), to_ray=True)
    assert "TorchTrainer(" in outcome.text
    return outcome


@pytest.mark.parametrize(
    "step",
    [
        "    accelerator.end_training()\n",
        "    # the curves\n    accelerator.end_training()\n",
        "    if track:\n        accelerator.end_training()\n",
    ],
)
@pytest.mark.parametrize("save", [SAVE, f"    if accelerator.num_processes:\n{SAVE.replace('    ', '        ')}"])
def test_it_goes_behind_what_is_saved(step: str, save: str) -> None:
    outcome = moved(step + save)
    assert not outcome.lines("RM828", Kind.MANUAL) and len(outcome.lines("RM828", Kind.CONVERTED)) == 1
    assert f"{save}\n{step}\n" in outcome.text and outcome.text.count("end_training()") == 1
    assert not converted(outcome.text, to_ray=True).lines("RM828", Kind.CONVERTED)


@pytest.mark.parametrize(
    "end",
    [
        "    if track:\n        accelerator.end_training()\n    track = accelerator.gather(loss)\n",
        "    accelerator.end_training()\n    if not track:\n        return\n    accelerator.wait_for_everyone()\n",
        "    if track:\n        accelerator.end_training()\n        accelerator.wait_for_everyone()\n"
        "    accelerator.wait_for_everyone()\n",
        "    done = accelerator.end_training()\n    accelerator.wait_for_everyone()\n",
        "    if track:\n        accelerator.end_training()\n    else:\n        print(1)\n"
        "    accelerator.wait_for_everyone()\n",
        '    if track["on"]:\n        accelerator.end_training()\n    track["on"] = 0\n'
        "    accelerator.wait_for_everyone()\n",
        "    if track:\n        accelerator.end_training()\n    track.clear()\n    accelerator.wait_for_everyone()\n",
    ],
)
def test_it_is_told_where_it_would_not_mean_the_same_there(end: str) -> None:
    outcome = moved(end)
    assert outcome.lines("RM828", Kind.MANUAL) and not outcome.lines("RM828", Kind.CONVERTED)


@pytest.mark.parametrize(
    "end", [f"{SAVE}    accelerator.end_training()\n", "    accelerator.end_training()\n    print(1)\n"]
)
def test_last_it_stays(end: str) -> None:
    outcome = moved(end)
    assert end in outcome.text and "RM828" not in [code for code, _, _ in outcome.findings]


@pytest.mark.parametrize(
    "behind",
    [
        "    acc = accelerator\n    {}\n    accelerator.wait_for_everyone()\n    acc.save_state('state')\n",
        "    {}\n    finish(accelerator)\n",
        "    {}; accelerator.wait_for_everyone()\n    accelerator.print(1)\n",
    ],
)
def test_what_needs_the_group_may_have_another_name_and_be_in_a_function(behind: str) -> None:
    call = "accelerator.end_training()"
    finish = "def finish(accelerator):\n    accelerator.wait_for_everyone()\n\n\ndef main("
    text = SCRIPT.format(end=behind.format(call)).replace("def main(", finish)
    outcome = converted(text, to_ray=True)
    assert len(outcome.lines("RM828", Kind.CONVERTED)) == 1 and not outcome.lines("RM828", Kind.MANUAL)
    train_func = outcome.text[outcome.text.index("def train_func(") :]
    assert train_func.partition("\n\n\n")[0].endswith(call)


def test_methods_of_other_objects_need_no_group() -> None:
    end = "    accelerator.end_training()\n    print(loss.gather(0, rows), rows.prepare(), reduce(max, rows))\n"
    outcome = moved(end)
    assert end in outcome.text and "RM828" not in [code for code, _, _ in outcome.findings]


def test_comments_over_it_go_with_it_and_others_stay() -> None:
    end = "            # deep\n    # one $x\n\n    # two\n    accelerator.end_training()  # three\n\n"
    text = moved(end + "    # four\n    accelerator.wait_for_everyone()\n").text
    assert (
        "    # four\n    accelerator.wait_for_everyone()\n\n    # one $ x\n\n    # two\n    # three\n    accelerator.e"
        in text
    )
    assert [text.count(comment) for comment in ("# deep", "# one", "# two", "# three", "# four")] == [1] * 5


JOB = """import torch
from accelerate import Accelerator

from job import Net, loader


class Job:
    def __init__(self):
        self.accelerator = Accelerator(log_with="tensorboard", project_dir="runs")
        self.model = Net()
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.model, self.optimizer, self.loader = self.accelerator.prepare(self.model, self.optimizer, loader)

    def train(self):
        for epoch in range(3):
            for batch in self.loader:
                loss = self.model(batch).mean()
                self.accelerator.backward(loss)
                self.optimizer.step()
            print(epoch)
        {in_train}

    def save(self):
        self.accelerator.wait_for_everyone()
        self.accelerator.print(1)

    def show(self):
        print(self.model)


def finish(job):
    return job.save()


def evaluate(accelerator, model):
    return accelerator.gather(model(1))


def main(mode="train"):
    job = Job()
    {in_main}


if __name__ == "__main__":
    main()
"""
END = "self.accelerator.end_training()"


@pytest.mark.parametrize(
    ("in_train", "in_main", "told"),
    [
        (END, "job.train()\n    job.save()", "job.save()"),
        (END, "job.train()\n    finish(job)", "finish(job)"),
        (END, "job.train()\n    print(evaluate(job.accelerator, job.model))", "evaluate(job.accelerator, job.model)"),
        (END, 'if mode == "train":\n        job.train()\n    job.save()', "job.save()"),
        (END, "while True:\n        job.train()\n        break\n    job.save()", "job.save()"),
    ],
)
def test_what_needs_the_group_behind_a_call_of_its_function_is_told(in_train: str, in_main: str, told: str) -> None:
    text = JOB.format(in_train=in_train, in_main=in_main)
    outcome = converted(text, to_ray=True)
    assert "TorchTrainer(" in outcome.text
    [line] = outcome.lines("RM828", Kind.MANUAL)
    assert told in text.splitlines()[line - 1]


@pytest.mark.parametrize(
    ("in_train", "in_main"),
    [
        (END, "job.train()\n    job.show()"),
        (END, "job.save()\n    job.train()"),
        (END, 'if mode == "train":\n        job.train()\n    else:\n        job.save()'),
        (END, 'if mode == "train":\n        job.train()\n        return\n    job.save()'),
        (END, 'if mode == "train":\n        return job.train()\n    job.save()'),
        ("pass", "job.train()\n    job.save()\n    job.accelerator.end_training()"),
    ],
)
def test_what_runs_in_its_place_or_before_it_needs_no_word(in_train: str, in_main: str) -> None:
    outcome = converted(JOB.format(in_train=in_train, in_main=in_main), to_ray=True)
    assert "TorchTrainer(" in outcome.text and not outcome.lines("RM828", Kind.MANUAL)


def test_the_last_step_of_a_method_is_told_of_a_method_that_waits() -> None:
    outcome = converted(JOB.format(in_train=f"{END}\n        self.save()", in_main="job.train()"), to_ray=True)
    assert len(outcome.lines("RM828", Kind.CONVERTED)) == 1 and not outcome.lines("RM828", Kind.MANUAL)


@pytest.mark.parametrize("before", ["", "    # the curves\n"])
def test_the_blank_line_before_it_stays_behind_the_loop(before: str) -> None:
    text = moved(f"\n{before}    accelerator.end_training()\n{SAVE}").text
    above, _, below = text.partition("    accelerator.wait_for_everyone()\n")
    assert (
        above.endswith('ray.train.report({"epoch": epoch})\n\n')
        and f"\n\n{before}    accelerator.end_training()\n" in below
    )


@pytest.mark.parametrize(
    ("in_main", "told"),
    [
        ("for fold in range(3):\n        job.train()\n        print(fold)", "job.train()"),
        ("for fold in range(3):\n        if mode:\n            job.train()", "job.train()"),
        ("for fold in range(3):\n        job.save()\n        job.train()", "job.save()"),
        ("for fold in range(3):\n        if fold == 2:\n            job.train()", None),
        ("for fold in range(3):\n        job.train()\n        break", None),
        ("for fold in range(3):\n        job.train()\n        return", None),
        ("for fold in range(3):\n        return job.train()", None),
    ],
)
def test_the_next_round_of_a_loop_needs_the_group_too(in_main: str, told: str | None) -> None:
    text = JOB.format(in_train=f"self.accelerator.wait_for_everyone()\n        {END}", in_main=in_main)
    outcome = converted(text, to_ray=True)
    assert "TorchTrainer(" in outcome.text
    lines = [text.splitlines()[line - 1].strip() for line in outcome.lines("RM828", Kind.MANUAL)]
    assert lines == ([told] if told else [])


@pytest.mark.parametrize(
    "in_main",
    [
        'if mode == "train":\n        job.train()\n        sys.exit()\n    job.save()',
        'match mode:\n        case "train":\n            job.train()\n        case _:\n            job.save()',
        "try:\n        job.train()\n    except ValueError:\n        job.save()",
        "while mode:\n        if mode != 3:\n            job.train()\n            break\n        job.save()",
    ],
)
def test_what_another_way_leads_to_is_not_behind_it(in_main: str) -> None:
    text = JOB.format(in_train=END, in_main=in_main)
    outcome = converted(f"import sys\n{text}", to_ray=True)
    assert "TorchTrainer(" in outcome.text
    assert not any("destroyed" in message for message in outcome.messages)
