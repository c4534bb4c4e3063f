"""What stays with the driver runs before what moves: names with several values, and objects that are changed."""

import pytest

from raymigrate.base.options import Options
from raymigrate.run.engine import convert
from raymigrate.run.outcome import FileResult

SCRIPT = """
import argparse
import torch
from accelerate import Accelerator
from torch.utils.data import DataLoader
{before}
accelerator = Accelerator()
loader = DataLoader(rows, batch_size={use})
{between}
other = DataLoader(rows, batch_size={use})
model = torch.nn.Linear(1, 1)
model, loader = accelerator.prepare(model, loader)
for x in loader:
    accelerator.backward(model(x).sum())
{behind}
"""


def converted(before: str, between: str, use: str = "size", behind: str = "") -> FileResult:
    text = SCRIPT.format(before=before, between=between, use=use, behind=behind)
    return convert(text, options=Options(to_ray=True, workers=2))


def in_order(text: str, *parts: str) -> bool:
    """Whether some pieces stand in a text, one behind the other."""
    place = 0
    for part in parts:
        place = text.find(part, place) + 1
        if not place:
            return False
    return True


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("size = 8", "size = 16"),
        ("size = 8", "size *= 2"),
        ("size: int = 8", "size: int = 16"),
        ("size, rate = 8, 1", "size, rate = 16, 2"),
        ("size = rate = 8", "size = rate + 1"),
        ("size = 8", "if x:\n    size = 16"),
        ("size = 8", "for size in (1, 2):\n    pass"),
        ("size = 8", "double = (size := 16)"),
        ("size = 8", "try:\n    size = 16\nexcept ValueError:\n    pass"),
        ("size = len('eight')", "size = len('sixteen')"),
        ("# %%\nsize = 8", "# %%\nsize = 16"),
    ],
)
def test_a_name_with_several_values_moves_with_those_that_read_it(before: str, between: str) -> None:
    after = str(converted(before, between).after)
    lines = [line for line in (before + "\n" + between).split("\n") if not line.startswith("#")]
    assert in_order(after, "def train_func", lines[0], "loader = ", *(line.strip() for line in lines[1:]), "other = ")


@pytest.mark.parametrize(
    ("before", "between", "use"),
    [
        ("settings = {'size': 8}", "settings['size'] = 16", "settings['size']"),
        ("settings = {'a': {'size': 8}}", "settings['a']['size'] = 16", "settings['a']['size']"),
        ("class Settings:\n    size = 8", "Settings.size = 16", "Settings.size"),
        ("sizes = [8]", "sizes.append(16)", "sizes[-1]"),
        ("args = argparse.Namespace(size=8)", "args.size = 16", "args.size"),
    ],
)
def test_an_object_is_changed_between_those_that_read_it(before: str, between: str, use: str) -> None:
    assert in_order(str(converted(before, between, use).after), "def train_func", "loader = ", between, "other = ")


def test_a_function_reads_the_value_of_the_time_of_its_call() -> None:
    after = str(converted("size = 8\ndef get():\n    return size", "size = 16", "get()").after)
    assert in_order(after, "def train_func", "size = 8", "def get", "loader = ", "size = 16", "other = ")


def test_of_two_functions_of_one_name_each_is_called_where_it_was() -> None:
    before, between = "def get():\n    return 8", "def get():\n    return 16"
    after = str(converted(before, between, "get()").after)
    assert in_order(after, "def train_func", "return 8", "loader = ", "return 16", "other = ")


def test_what_reads_an_object_that_the_workers_change_is_read_there() -> None:
    before = "args = argparse.ArgumentParser().parse_args()\nargs.device = torch.device('cpu')\ndevice = args.device"
    after = str(converted(before, "print(device)", "args.size").after)
    assert in_order(after, "parse_args()", "def train_func", "args.device = ", "device = args.device", "loader = ")


def test_what_a_later_loop_counts_on_begins_where_the_loop_is() -> None:
    after = str(converted("size = 8\ncount = 0", "", behind="while count < 3:\n    print(count)\n    count += 1").after)
    assert in_order(after, "def train_func", "count = 0", "while count < 3")


def test_options_whose_default_a_library_gives_stay_with_their_parser() -> None:
    option = "parser.add_argument('--device', default=str(torch.cuda.is_available()))"
    before = f"parser = argparse.ArgumentParser()\n{option}\nargs = parser.parse_args()"
    assert in_order(str(converted(before, "", "args.size").after), option, "parse_args()", "def train_func")


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("from a import size", "from b import size"),
        ("import a as size", "import b as size"),
        ("from a import size", "size = 16"),
        (
            "parser = argparse.ArgumentParser()\nsize = parser.parse_args().size",
            "parser.add_argument('--x')\nsize = parser.parse_args().size",
        ),
        ("size = None\ndef grow():\n    global size\n    size = 16", "size = 3\ngrow()"),
    ],
)
def test_a_name_that_cannot_move_is_told(before: str, between: str) -> None:
    result = converted(before, between)
    assert result.after is None
    assert [f.code for f in result.findings if "size` " in f.message] == ["RM802"]


@pytest.mark.parametrize(
    ("before", "between"),
    [
        ("size = 8\nsize = 16", ""),  # both before all that moves
        ("size = 8\nprint(size)\nsize *= 2", "print('half')"),
        ("from a import size", "from a import size"),
        ("size = 8", "def grow(size):\n    size = 16\n    return size"),
        ("size = 8", "sizes = [size for size in range(3)]"),
        ("size = 8\ndef grow():\n    global size\n    size = 16", "grow()"),
    ],
)
def test_a_name_stays_where_moving_changes_nothing(before: str, between: str) -> None:
    after = str(converted(before, between).after)
    assert in_order(after, before.partition("\n")[0], "def train_func", "loader = ")


def test_a_global_that_the_function_sets_which_moves_stays_one() -> None:
    text = "rank = None\ndef tell(text):\n    print(rank, text)\n"
    main = "def main():\n    global rank\n    accelerator = Accelerator()\n    rank = accelerator.process_index\n"
    loop = "    model = accelerator.prepare(make())\n    tell(1)\n    accelerator.backward(model())\nmain()\n"
    after = str(convert(f"from accelerate import Accelerator\n{text}{main}{loop}", options=Options(to_ray=True)).after)
    assert in_order(after, "rank = None", "def tell", "def train_func", "    global rank", "rank = accelerator")


LAST = """
from transformers import Trainer, TrainingArguments
{before}
trainer = Trainer(make(size), TrainingArguments("/out"), train_dataset=rows())
{between}
trainer.train()
print("done")
{behind}
"""


@pytest.mark.parametrize(
    ("before", "between", "behind", "stays"),
    [
        ("size = 1\ncount = 0", "", "print(count)", True),
        ("size = 1", "", "size = 2\nprint(size)", True),
        ("size = 1\nsizes = {}", "", "sizes['a'] = size\nprint(sizes)", True),
        ("size = [1]", "trainer.args.x = size.append(2)", "size = [3]\nprint(size)", True),
        ("size = [1]", "trainer.args.x = size.append(2)", "print(size)", False),
        ("size = 1\ndef grow():\n    global size\n    size += 1", "grow()", "print(size)", False),
    ],
)
def test_what_comes_last_goes_to_the_driver_unless_workers_changed_it(
    before: str, between: str, behind: str, *, stays: bool
) -> None:
    text = LAST.format(before=before, between=between, behind=behind)
    after = str(convert(text, options=Options(to_ray=True)).after)
    last = behind.rpartition("\n")[2]
    assert in_order(after, "def train_func", ".fit()", f"\n{last}") == stays
    assert in_order(after, "def train_func", f"    {last}", ".fit()") != stays


COLLECTS = """
from transformers import Trainer, TrainerCallback, TrainingArguments


class Best(TrainerCallback):
    found = None

    def __init__(self, losses=None, patience=3):
        self.losses, self.patience, self.best = losses, patience, None

    def on_evaluate(self, args, state, control, metrics=None, **kwargs):
        {change}

    def show(self):
        print(self.best)


{before}
trainer = Trainer("gpt2", TrainingArguments("out"), train_dataset=rows{given})
{between}
trainer.train()
{behind}
"""
KEPT = "self.best = metrics['eval_loss']"


def _of_callback(before: str, given: str, behind: str, change: str = KEPT, between: str = "") -> list[str]:
    """The lines of a training function whose Trainer has a callback."""
    text = COLLECTS.format(before=before, given=given, behind=behind, change=change, between=between)
    after = str(convert(text, options=Options(to_ray=True, workers=2)).after)
    function = after[after.index("\ndef train_func") : after.index("trainer = TorchTrainer")]
    return [line.strip() for line in function.splitlines()]


@pytest.mark.parametrize(
    "parts",
    [
        {"before": "best = Best()", "given": ", callbacks=[best]", "behind": "print(best.best)"},
        {"before": "best = Best()", "given": ", callbacks=[best]", "behind": "best.show()"},
        {"before": "best = Best()\nall = [best]", "given": ", callbacks=all", "behind": "print(best.best)"},
        {"before": "best = Best()", "given": "", "between": "trainer.add_callback(best)", "behind": "print(best.best)"},
        {
            **{"before": "losses = []", "given": ", callbacks=[Best(losses)]", "behind": "print(losses)"},
            "change": "self.losses.append(metrics)",
        },
        {
            **{"before": "losses = {}", "given": ", callbacks=[Best(losses=losses)]", "behind": "print(losses)"},
            "change": "self.losses[state.epoch] = metrics",
        },
        {
            **{"before": "", "given": ", callbacks=[Best]", "behind": "print(Best.found)"},
            "change": "Best.found = metrics['eval_loss']",
        },
        {
            **{"before": "average = Best()", "given": ", callbacks=[average]", "behind": "print(average.best)"},
            "change": "self.best['weight'].mul_(0.9)",
        },
    ],
)
def test_what_a_callback_collects_is_read_where_it_was_collected(parts: dict[str, str]) -> None:
    assert parts["behind"] in _of_callback(**parts)


@pytest.mark.parametrize(
    ("before", "given", "behind", "change"),
    [
        ("best = Best()", ", callbacks=[best]", "print(best.patience)", "print(metrics)"),
        ("names = ['a']", ", callbacks=[Best(names)]", "print(names)", KEPT),
        ("patience = 3", ", callbacks=[Best(patience=patience)]", "print(patience)", KEPT),
    ],
    ids=["changes nothing", "only holds a list", "a number"],
)
def test_what_no_callback_changes_is_read_on_the_driver(before: str, given: str, behind: str, change: str) -> None:
    assert behind not in _of_callback(before, given, behind, change)


OF_MAIN = """
from transformers import AutoModel, Trainer, TrainingArguments
count = 0
def size():
    return count
def main():
    global count
    {before}
    trainer = Trainer(AutoModel.from_pretrained("m"), TrainingArguments("out", num_train_epochs={epochs}))
    trainer.train()
    {behind}
main()
{end}
"""


@pytest.mark.parametrize(
    ("before", "epochs", "behind", "end", "moves"),
    [
        ("count = load()", "size()", "pass", "", True),  # a worker sets what its functions read
        ("count = load()", "count", "pass", "print(1)", True),
        ("count = int(input())", "size()", "pass", "", False),
        ("pass", "1", "count = trainer.state.global_step", "print(count)", False),
        ("pass", "1", "count = 1", "print(count)", False),
        ("count = load()", "1", "pass", "print(size())", False),
    ],
)
def test_a_global_of_main_is_set_where_it_is_read(before: str, epochs: str, behind: str, end: str, moves: bool) -> None:
    text = OF_MAIN.format(before=before, epochs=epochs, behind=behind, end=end)
    found = convert(text, options=Options(to_ray=True, workers=2))
    assert (found.after is not None and "TorchTrainer(" in found.after) is moves
    assert any(each.code == "RM802" for each in found.findings) is not moves


@pytest.mark.parametrize(
    "behind", ['print("done")', 'if True:\n        print("done")', 'open("/out/done", "w").close()']
)
def test_what_comes_after_a_main_that_gets_to_the_training_by_a_function_stays_with_the_driver(behind: str) -> None:
    script = f"""\
from transformers import AutoModel, Trainer, TrainingArguments


def train(lr):
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out", learning_rate=lr))
    trainer.train()


def main():
    train(0.1)


if __name__ == "__main__":
    main()
    {behind}
"""
    done = convert(script, options=Options(to_ray=True, workers=2))
    assert not any(finding.code == "RM802" for finding in done.findings)
    assert done.after is not None and done.after.index("trainer.fit()") < done.after.index(behind)


@pytest.mark.parametrize("kept", ['RUN = {"again": again}\n', 'RUN = {}\nRUN["again"] = again\n'])
def test_a_training_that_the_driver_keeps_and_somebody_calls_is_not_given_to_the_driver(kept: str) -> None:
    script = f"""\
from transformers import AutoModel, Trainer, TrainingArguments


def train(lr):
    trainer = Trainer(AutoModel.from_pretrained("bert"), TrainingArguments("/out", learning_rate=lr))
    trainer.train()


def again():
    train(0.2)


{kept}

def main():
    train(0.1)


if __name__ == "__main__":
    main()
    RUN["again"]()
"""
    done = convert(script, options=Options(to_ray=True, workers=2))
    is_refused = any(finding.code == "RM802" for finding in done.findings)
    after = done.after or ""
    assert is_refused or after.index("trainer.fit()") > after.index('RUN["again"]()')
